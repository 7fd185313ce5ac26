//! The agents of the mesh, a line each: its name, and what it is.
//! Must not know who shows them.

use crate::api::{Fleet, Machine, Session, Skill};
use crate::output::to_the_minute;

/// Name and description of every session, sorted.
pub fn rows(fleet: &Fleet) -> Vec<[String; 2]> {
    let of = |machine: &Machine| {
        let name = name(machine, fleet);
        let row = |session: &Session| {
            // Where this machine may only ask, no more is shown to it.
            let is = match session.harness.as_str() {
                "" => session.state.clone(),
                harness => {
                    let why = session.why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                    format!("{harness}, {}{why}, in {}{}", session.state, session.dir, can(session))
                }
            };
            [format!("{name}/{}", session.name), is]
        };
        machine.sessions.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<[String; 2]> = fleet.machines.iter().flat_map(of).collect();
    rows.sort();
    rows
}

/// What its owner says of it: what it is good at, and what it is there for.
fn can(session: &Session) -> String {
    let skill = |skill: &Skill| match skill.description.as_str() {
        "" => skill.name.clone(),
        what => format!("{} ({what})", skill.name),
    };
    let skills: Vec<String> = session.skills.iter().map(skill).collect();
    let mut out = String::new();
    if !skills.is_empty() {
        out.push_str(&format!("; skills: {}", skills.join(", ")));
    }
    if !session.responsibilities.is_empty() {
        out.push_str(&format!("; responsible for: {}", session.responsibilities.join(", ")));
    }
    out
}

/// Of each machine that did not answer, that it did not, since when, and why; and of one that did
/// what keeps its sessions from being shown.
pub fn silent(fleet: &Fleet) -> impl Iterator<Item = String> {
    fleet.machines.iter().filter(|machine| !machine.reachable || machine.why.is_some()).map(|machine| {
        let (name, why) = (name(machine, fleet), machine.why.as_deref().unwrap_or("no answer"));
        let seen = match &machine.last_seen {
            Some(at) => format!("last seen {}", to_the_minute(at)),
            None => "never seen from here".to_string(),
        };
        match machine.reachable {
            true => format!("{name}: {why}"),
            false => format!("{name} is unreachable ({seen}): {why}"),
        }
    })
}

/// With its mesh where another mesh has a machine of that name.
fn name(machine: &Machine, fleet: &Fleet) -> String {
    let same = fleet.machines.iter().filter(|other| other.machine == machine.machine).count();
    match &machine.mesh {
        Some(mesh) if same > 1 => format!("{}.{mesh}", machine.machine),
        _ => machine.machine.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;
    use serde_json::json;

    #[test]
    fn a_row_an_agent_is_its_name_and_what_it_is() {
        let session = |name: &str| json!({"name": name, "harness": "command", "state": "idle", "dir": "/srv/a b"});
        let machine = |name: &str, mesh: &str, sessions: &[&str]| {
            let sessions: Vec<_> = sessions.iter().map(|name| session(name)).collect();
            json!({"machine": name, "mesh": mesh, "me": false, "reachable": true, "sessions": sessions})
        };
        let away = json!({"machine": "desk", "mesh": "home", "me": false, "reachable": false, "why": "no route"});
        let seen =
            json!({"machine": "nas", "reachable": false, "why": "late", "last_seen": "2026-11-30T09:15:04.120Z"});
        let shut = json!({"machine": "old", "reachable": true, "why": "its right is 'none'"});
        let asked = json!({"machine": "tv", "reachable": true, "sessions": [{"name": "x", "state": "idle"}]});
        let machines = [
            machine("laptop", "home", &["b", "a"]),
            machine("laptop", "work", &["c"]),
            machine("box", "home", &["d"]),
            away,
            seen,
            shut,
            asked,
        ];
        let fleet: Fleet = api::read(&json!({"machines": machines})).unwrap();
        let names: Vec<_> = rows(&fleet).into_iter().map(|[name, _]| name).collect();
        assert_eq!(names, ["box/d", "laptop.home/a", "laptop.home/b", "laptop.work/c", "tv/x"]);
        assert_eq!(rows(&fleet)[0][1], "command, idle, in /srv/a b");
        assert_eq!(rows(&fleet)[4][1], "idle");
        let able = json!({"name": "x", "harness": "claude", "state": "idle", "dir": "/srv", "responsibilities": ["releases"],
            "skills": [{"name": "rust", "description": "Reviews it"}, {"name": "sql"}]});
        let one: Fleet = api::read(&json!({"machines": [{"machine": "box", "sessions": [able]}]})).unwrap();
        let said = "claude, idle, in /srv; skills: rust (Reviews it), sql; responsible for: releases";
        assert_eq!(rows(&one)[0][1], said);
        assert_eq!(
            silent(&fleet).collect::<Vec<_>>(),
            [
                "desk is unreachable (never seen from here): no route".to_string(),
                format!("nas is unreachable (last seen {}): late", to_the_minute("2026-11-30T09:15:04.120Z")),
                "old: its right is 'none'".to_string(),
            ]
        );
    }
}
