//! `a2a list`: the agents of the mesh.

use crate::api::{self, Fleet, Machine};
use crate::context::Context;
use crate::output::Output;
use crate::report::{self, Exit, Failure};

/// List the agents on the mesh: MACHINE/SESSION, what it is, where it works
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent a2a list
  shrooms-agent a2a list --json

Machines that do not answer are named on stderr.")]
pub struct Args {}

pub async fn run(_args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get("/v1/fleet").await?;
    let fleet: Fleet = api::read(&answer)?;
    context.out.show(&answer, |out| agents(&fleet, out))?;
    if context.out.json {
        return Ok(Exit::Done);
    }
    for machine in fleet.machines.iter().filter(|machine| !machine.reachable) {
        let why = machine.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        report::note(&format!("{} is unreachable{why}", name(machine, &fleet)));
    }
    if fleet.machines.iter().all(|machine| machine.sessions.is_empty()) {
        report::note("no sessions; add one with: shrooms-agent session add NAME -- COMMAND");
    }
    Ok(Exit::Done)
}

/// A line a session, sorted.
fn agents(fleet: &Fleet, out: Output) -> String {
    let of = |machine: &Machine| {
        let name = name(machine, fleet);
        let row = |session: &api::Session| {
            let is = format!("{}, {}, in {}", session.harness, session.state, session.dir);
            [format!("{name}/{}", session.name), is]
        };
        machine.sessions.iter().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<[String; 2]> = fleet.machines.iter().flat_map(of).collect();
    rows.sort();
    out.table(["AGENT", "IS"], &rows)
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
    use serde_json::json;

    #[test]
    fn a_line_an_agent_is_its_name_a_tab_and_what_it_is() {
        let session = |name: &str| json!({"name": name, "harness": "command", "state": "idle", "dir": "/srv/a b"});
        let machine = |name: &str, mesh: &str, sessions: &[&str]| {
            let sessions: Vec<_> = sessions.iter().map(|name| session(name)).collect();
            json!({"machine": name, "mesh": mesh, "me": false, "reachable": true, "sessions": sessions})
        };
        let machines =
            [machine("laptop", "home", &["b", "a"]), machine("laptop", "work", &["c"]), machine("box", "home", &["d"])];
        let fleet: Fleet = api::read(&json!({"machines": machines})).unwrap();
        assert_eq!(
            agents(&fleet, Output { json: false, terminal: false }),
            "box/d\tcommand, idle, in /srv/a b\n\
             laptop.home/a\tcommand, idle, in /srv/a b\n\
             laptop.home/b\tcommand, idle, in /srv/a b\n\
             laptop.work/c\tcommand, idle, in /srv/a b\n"
        );
    }
}
