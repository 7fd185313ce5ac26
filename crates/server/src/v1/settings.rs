//! `PATCH /v1/sessions/NAME`, and `POST /v1/sessions/NAME/settings`: what the owner sets about a session.
//! Their bounds are the core's; here is how they are written, and what this machine has for them.

use axum::Json;
use axum::extract::Extension;
use serde::Deserialize;
use serde_json::{Map, Value};
use shrooms_core::desk::Request;
use shrooms_core::name::FilesFrom;
use shrooms_core::near;
use shrooms_core::row::{SessionSet, Skill};
use shrooms_core::text::cut;

use super::input::{self, Body, Part};
use super::sessions::{self, Session};
use crate::app::{App, Caller, State};
use crate::problem::Problem;

/// All that can be set, as they are written.
const NAMES: [&str; 13] = [
    "accept_files_from",
    "args",
    "auto_approve",
    "daily_usd",
    "fresh_by_agents",
    "keep_running",
    "meshes",
    "model",
    "prompt_timeout",
    "responsibilities",
    "role",
    "skills",
    "starred",
];
/// Those of a program that is started with them.
const AT_START: [&str; 3] = ["args", "model", "role"];
/// Senders that a list of this kind may have: more is no list that anybody looks after.
const MAX_SENDERS: usize = 100;

/// Settings as they are given: dollars, not their millionths.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    pub(super) auto_approve: Option<bool>,
    pub(super) fresh_by_agents: Option<bool>,
    /// The whole list.
    pub(super) accept_files_from: Option<Vec<String>>,
    pub(super) model: Option<String>,
    /// US dollars a day; 0 = no cap.
    pub(super) daily_usd: Option<f64>,
    /// The whole list.
    pub(super) skills: Option<Vec<SkillGiven>>,
    /// The whole list.
    pub(super) responsibilities: Option<Vec<String>>,
    pub(super) role: Option<String>,
    /// The whole list.
    pub(super) args: Option<Vec<String>>,
    pub(super) starred: Option<bool>,
    pub(super) keep_running: Option<bool>,
    /// The whole list; empty = all.
    pub(super) meshes: Option<Vec<String>>,
    /// Seconds; 0 = no limit.
    pub(super) prompt_timeout: Option<u32>,
}

/// A skill by its name alone, or with what it is.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a skill is its name, or {\"name\", \"description\"?}")]
pub(super) enum SkillGiven {
    Name(String),
    Whole(Skill),
}

impl From<SkillGiven> for Skill {
    fn from(given: SkillGiven) -> Skill {
        match given {
            SkillGiven::Name(name) => Skill { name, description: String::new() },
            SkillGiven::Whole(skill) => skill,
        }
    }
}

impl Settings {
    /// As the desk takes them, with what can be known here checked.
    pub(super) fn read(self, app: &App) -> Result<SessionSet, Problem> {
        // A million a day is no cap that anybody means.
        let bad = |usd: f64| !(0.0..=1e6).contains(&usd);
        if self.daily_usd.is_some_and(bad) {
            return Err(Problem::bad("daily_usd: must be from 0 (no cap) to 1000000"));
        }
        let set = SessionSet {
            accept_files_from: self.accept_files_from.map(files_from).transpose()?,
            auto_approve: self.auto_approve,
            fresh_by_agents: self.fresh_by_agents,
            model: input::model(self.model)?,
            daily_micros: self.daily_usd.map(|usd| (usd * 1e6).round() as u64),
            skills: self.skills.map(|all| all.into_iter().map(Skill::from).collect()),
            responsibilities: self.responsibilities,
            role: self.role,
            args: self.args,
            starred: self.starred,
            keep_running: self.keep_running,
            meshes: self.meshes.map(|given| meshes(given, &app.engine.mesh_labels())).transpose()?,
            prompt_timeout: self.prompt_timeout,
        };
        app.engine.check_set(&set).map_err(Problem::bad)?;
        Ok(set)
    }
}

pub(super) async fn set(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(members): Body<Map<String, Value>>,
) -> Result<Json<Session>, Problem> {
    known(&members)?;
    let at_start: Vec<&str> = AT_START.into_iter().filter(|key| members.contains_key(*key)).collect();
    let set = input::object::<Settings>(members)?.read(&app)?;
    if set.is_empty() {
        return Err(Problem::bad(format!("nothing to set: give {}", NAMES.join(", "))));
    }
    let names_devices = set.accept_files_from.is_some();
    app.engine.request(Request::SetSession { by, name: name.clone(), set }).await?;
    if names_devices {
        // From now on the names in the list are those devices.
        app.engine.bind_rights().await?;
    }
    let row = sessions::row(&app, &name).await?;
    let runs = row.lane.turn.is_some();
    let mut shown = Session::of(&app, row);
    if runs {
        shown.from_next_start = at_start.into_iter().map(str::to_string).collect();
    }
    Ok(Json(shown))
}

/// Whether there are settings of these names.
fn known(members: &Map<String, Value>) -> Result<(), Problem> {
    let Some(unknown) = members.keys().find(|key| !NAMES.contains(&key.as_str())) else { return Ok(()) };
    let hint = match near::near(unknown, NAMES).first() {
        Some(name) => format!("did you mean {name}?"),
        None => format!("there are {}", NAMES.join(", ")),
    };
    Err(Problem::bad(format!("there is no setting '{}'; {hint}", cut(unknown, 80))))
}

fn files_from(list: Vec<String>) -> Result<Vec<FilesFrom>, Problem> {
    if list.len() > MAX_SENDERS {
        return Err(Problem::bad(format!("accept_files_from: at most {MAX_SENDERS} senders")));
    }
    let read = |text: &String| {
        let bad = || format!("accept_files_from: '{}' is not MACHINE/SESSION or MACHINE/*", cut(text, 120));
        FilesFrom::parse(text).map_err(|_| Problem::bad(bad()))
    };
    list.iter().map(read).collect()
}

/// Labels of this machine's meshes, each once.
fn meshes(mut given: Vec<String>, there_are: &[String]) -> Result<Vec<String>, Problem> {
    given.sort();
    given.dedup();
    let Some(unknown) = given.iter().find(|label| !there_are.contains(label)) else { return Ok(given) };
    let hint = near::hint(&near::near(unknown, there_are.iter().map(String::as_str)));
    let there_are = match there_are {
        [] => "its meshes have no labels, so a session is there for all of them".to_string(),
        some => format!("it is on {}", some.join(", ")),
    };
    Err(Problem::bad(format!("meshes: this machine is on no mesh '{}'{hint} ({there_are})", cut(unknown, 80))))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn members(given: Value) -> Map<String, Value> {
        serde_json::from_value(given).unwrap()
    }

    #[test]
    fn every_name_is_a_setting_and_there_is_no_other() {
        for name in NAMES {
            let given = members(json!({name: null}));
            assert!(known(&given).is_ok() && input::object::<Settings>(given).is_ok(), "{name}");
        }
        for (given, hint) in [
            (json!({"auto_aprove": true}), "there is no setting 'auto_aprove'; did you mean auto_approve?"),
            (json!({"skill": []}), "did you mean skills?"),
            (json!({"mesh": []}), "did you mean meshes?"),
            (json!({"cage": {}}), "there is no setting 'cage'; there are accept_files_from, args"),
        ] {
            let detail = known(&members(given)).unwrap_err().detail;
            assert!(detail.contains(hint), "{detail}");
        }
    }

    #[test]
    fn a_skill_is_a_name_or_a_name_with_what_it_is() {
        let read = |given: Value| input::object::<Settings>(members(json!({"skills": given}))).map_err(|p| p.detail);
        let skills = read(json!(["rust", {"name": "sql", "description": "Plans queries"}])).unwrap().skills.unwrap();
        let skills: Vec<Skill> = skills.into_iter().map(Skill::from).collect();
        let named = |name: &str, description: &str| Skill { name: name.into(), description: description.into() };
        assert_eq!(skills, [named("rust", ""), named("sql", "Plans queries")]);
        for bad in [json!([1]), json!([{"name": "x", "tags": []}]), json!([{"description": "x"}])] {
            let detail = read(bad).unwrap_err();
            assert!(detail.contains("a skill is its name"), "{detail}");
        }
    }

    #[test]
    fn a_mesh_is_one_of_this_machines() {
        let there_are = ["home".to_string(), "work".to_string()];
        for (given, want) in [
            (vec![], Ok(vec![])),
            (vec!["work", "home", "work"], Ok(vec!["home", "work"])),
            (vec!["wrk"], Err("meshes: this machine is on no mesh 'wrk'; did you mean work? (it is on home, work)")),
            (vec!["x"], Err("meshes: this machine is on no mesh 'x' (it is on home, work)")),
        ] {
            let got = meshes(given.into_iter().map(str::to_string).collect(), &there_are).map_err(|p| p.detail);
            let want = want.map(|all: Vec<&str>| all.into_iter().map(str::to_string).collect::<Vec<_>>());
            assert_eq!(got, want.map_err(str::to_string));
        }
        assert!(meshes(vec!["home".into()], &[]).unwrap_err().detail.contains("have no labels"));
    }
}
