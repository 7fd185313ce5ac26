//! `/v1/sessions`: the sessions of this machine: listed, added, stopped, started, removed, spoken
//! to, and what they said.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::desk::Request;
use shrooms_core::name::check_session_name;
use shrooms_core::row::{Harness, SessionState};
use shrooms_core::{Kind, Principal, Refusal, near, text};
use shrooms_engine::SessionRow;

use super::input::{Asked, Body, Nothing, Part, within};
use super::program;
use crate::app::{App, Caller};
use crate::problem::Problem;

/// A session as everybody is shown it, and as other machines' daemons show theirs.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Session {
    pub(super) name: String,
    #[serde(default)]
    harness: String,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default)]
    tasks_open: u32,
    #[serde(default)]
    tasks_waiting: u32,
    #[serde(default)]
    created: String,
}

/// `GET /v1/sessions`, here and of other machines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sessions {
    pub(super) sessions: Vec<Session>,
}

impl Session {
    fn of(row: SessionRow) -> Session {
        let (state, why) = match &row.session.state {
            SessionState::Stopped { why } => ("stopped", Some(why.clone())),
            SessionState::Removed => ("stopped", Some("removed".to_string())),
            SessionState::Ready if row.lane.turn.is_some() => ("working", None),
            SessionState::Ready => ("idle", Some(row.lane.waits_for).filter(|w| !w.is_empty())),
        };
        let harness = row.session.harness.name().to_string();
        let argv = match row.session.harness {
            Harness::Command { argv, .. } => argv,
            Harness::Claude { .. } => Vec::new(),
        };
        Session {
            name: row.session.name,
            harness,
            command: argv,
            dir: row.session.dir,
            state: state.to_string(),
            why,
            tasks_open: u32::try_from(row.open).unwrap_or(u32::MAX),
            tasks_waiting: u32::try_from(row.waiting).unwrap_or(u32::MAX),
            created: Timestamp(row.session.created.wall).to_string(),
        }
    }
}

/// All of this machine's, by name.
pub(super) async fn own(app: &App) -> Result<Vec<Session>, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    Ok(rows.into_iter().map(Session::of).collect())
}

/// The one of this name, or who was perhaps meant.
pub(super) async fn row(app: &App, name: &str) -> Result<SessionRow, Problem> {
    let mut rows = app.engine.read(|r| r.sessions()).await?;
    let at = rows.iter().position(|r| r.session.name == name).ok_or_else(|| Refusal::NoSession {
        name: text::cut(name, 80),
        machine: app.engine.machine().to_string(),
        hint: near::hint(&near::near(name, rows.iter().map(|r| r.session.name.as_str()))),
    })?;
    Ok(rows.swap_remove(at))
}

pub(super) async fn list(State(app): State<App>) -> Result<Json<Sessions>, Problem> {
    Ok(Json(Sessions { sessions: own(&app).await? }))
}

pub(super) async fn get(State(app): State<App>, Part(name): Part) -> Result<Json<Session>, Problem> {
    Ok(Json(Session::of(row(&app, &name).await?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    name: String,
    dir: String,
    harness: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    framed: bool,
    #[serde(default)]
    rerun_on_crash: bool,
}

pub(super) async fn add(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(new): Body<New>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    // Before any file is looked at: what is there is not for everybody.
    if matches!(by, Principal::Session(_)) {
        return Err(Refusal::OwnersOnly { what: "adding a session" }.into());
    }
    check_session_name(&new.name)?;
    let takes_turns = takes_turns(new.harness.as_deref(), app.config.allow_scripted)?;
    let (config, dir, command) = (app.config.clone(), new.dir, new.command);
    let checked = tokio::task::spawn_blocking(move || program::check(&dir, command, &config.path)).await;
    let checked = checked.map_err(|e| Problem::new(Kind::Internal, format!("the check of files broke off: {e}")))??;
    let harness =
        Harness::Command { argv: checked.argv, framed: new.framed, rerun_on_crash: new.rerun_on_crash, takes_turns };
    let request = Request::AddSession { by, name: new.name.clone(), harness, dir: checked.dir };
    app.engine.request(request).await?;
    Ok((StatusCode::CREATED, Json(Session::of(row(&app, &new.name).await?))))
}

/// Whether the harness of this name takes turns.
fn takes_turns(harness: Option<&str>, allow_scripted: bool) -> Result<bool, Problem> {
    match harness.unwrap_or("command") {
        "command" => Ok(false),
        "scripted" if allow_scripted => Ok(true),
        other => {
            let other = text::cut(other, 40);
            Err(Problem::bad(format!("harness: '{other}' is not in this version: it can be command")))
        }
    }
}

pub(super) async fn remove(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
) -> Result<StatusCode, Problem> {
    app.engine.request(Request::RemoveSession { by, name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn stop(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    app.engine.request(Request::StopSession { by, name: name.clone() }).await?;
    Ok(Json(Session::of(row(&app, &name).await?)))
}

pub(super) async fn start(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    app.engine.request(Request::StartSession { by, name: name.clone() }).await?;
    Ok(Json(Session::of(row(&app, &name).await?)))
}

/// A person's words; read whole, so that a wrong request is told from a session that takes none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    #[serde(rename = "text")]
    _text: String,
    #[serde(rename = "id")]
    _id: Option<String>,
}

pub(super) async fn say(State(app): State<App>, Part(name): Part, Body(_): Body<Words>) -> Result<StatusCode, Problem> {
    let row = row(&app, &name).await?;
    Err(Refusal::NoConversation { name: row.session.name }.into())
}

/// Lines that one answer holds if nothing is said: some screens.
const LOG_LINES: usize = 200;
/// The most: all that are kept of a session.
const LOG_LINES_MAX: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogQuery {
    after: Option<i64>,
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Log {
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    seq: i64,
    at: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    text: String,
}

pub(super) async fn log(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<LogQuery>,
) -> Result<Json<Log>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(LOG_LINES), 1, LOG_LINES_MAX)?;
    let session = row(&app, &name).await?.session.uid;
    // To the log 0 means the newest; a caller's 0 means from the beginning.
    let after = query.after.map_or(0, |after| if after <= 0 { -1 } else { after });
    let lines = app.engine.log_lines(session.0, after, limit).await?;
    let lines = lines.into_iter().map(|line| Line {
        seq: line.seq,
        at: Timestamp(line.at).to_string(),
        kind: line.kind,
        task: line.task,
        text: line.text,
    });
    Ok(Json(Log { lines: lines.collect() }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shrooms_core::Stamp;
    use shrooms_core::id::{LaneNo, SessionUid, TurnNo};
    use shrooms_core::row::{Lane, LaneKind};

    use super::*;

    #[test]
    fn a_harness_is_taken_only_if_it_is_in_this_version() {
        for (harness, scripted, want) in [
            (None, false, Some(false)),
            (Some("command"), false, Some(false)),
            (Some("scripted"), true, Some(true)),
            (Some("scripted"), false, None),
            (Some("claude"), true, None),
        ] {
            let got = takes_turns(harness, scripted);
            assert_eq!(got.as_ref().ok().copied(), want, "{harness:?}");
            assert!(got.is_ok() || got.unwrap_err().detail.contains("not in this version"));
        }
    }

    #[test]
    fn a_session_is_shown_with_what_it_does() {
        let shown = |state: SessionState, turn: Option<i64>, waits_for: &str| {
            let row = SessionRow {
                session: shrooms_core::row::Session {
                    uid: SessionUid(1),
                    name: "tests".into(),
                    harness: Harness::Command {
                        argv: vec!["/bin/true".into()],
                        framed: false,
                        rerun_on_crash: false,
                        takes_turns: false,
                    },
                    dir: "/srv".into(),
                    state,
                    lane: LaneNo(2),
                    created: Stamp { wall: 1_800_000_000_000, served: 0 },
                    removed: None,
                },
                lane: Lane {
                    no: LaneNo(2),
                    session: SessionUid(1),
                    kind: LaneKind::Main,
                    generation: 0,
                    conversation: None,
                    turn: turn.map(TurnNo),
                    holder: None,
                    not_before: None,
                    waits_for: waits_for.into(),
                },
                open: 2,
                waiting: 1,
            };
            serde_json::to_value(Session::of(row)).unwrap()
        };
        let stopped = || SessionState::Stopped { why: "by the owner".into() };
        assert_eq!(
            shown(SessionState::Ready, None, ""),
            json!({"name": "tests", "harness": "command", "command": ["/bin/true"], "dir": "/srv", "state": "idle",
                   "tasks_open": 2, "tasks_waiting": 1, "created": "2027-01-15T08:00:00.000Z"})
        );
        for (state, turn, waits_for, word, why) in [
            (SessionState::Ready, Some(3), "", "working", None),
            (SessionState::Ready, None, "the disk is full", "idle", Some("the disk is full")),
            (stopped(), None, "", "stopped", Some("by the owner")),
            (stopped(), Some(3), "", "stopped", Some("by the owner")),
        ] {
            let shown = shown(state, turn, waits_for);
            assert_eq!((shown["state"].as_str(), shown["why"].as_str()), (Some(word), why));
        }
    }
}
