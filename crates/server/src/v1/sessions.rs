//! `/v1/sessions`: the sessions of this machine: listed, added, stopped, started, removed, spoken
//! to, and what they said.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::desk::Request;
use shrooms_core::name::check_session_name;
use shrooms_core::rights::Action;
use shrooms_core::row::{Harness, SessionState};
use shrooms_core::{Kind, Refusal, Text, near, refusal, text};
use shrooms_engine::SessionRow;

use super::input::{Asked, Body, Nothing, Part, message_id, model, within};
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
    /// Permissions are answered by the daemon.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    auto_approve: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// The harness's own id of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    conversation: Option<String>,
    /// Agents may have a task begun on a fresh conversation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    fresh_by_agents: bool,
    /// Whose files it takes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    accept_files_from: Vec<String>,
    /// What it has spent today, in US dollars, and what it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spent_usd: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    daily_usd: Option<f64>,
    /// Tokens that its conversation holds, and that fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_used: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
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
    pub(super) fn of(app: &App, row: SessionRow) -> Session {
        let limits = &app.engine.settings().limits;
        Session::at(row, app.engine.wall(), limits.daily_micros)
    }

    /// As it is at this wall time; `machine_micros` is what the machine may spend a day.
    fn at(row: SessionRow, wall: i64, machine_micros: u64) -> Session {
        let today = wall.div_euclid(86_400_000);
        let spent = |(day, micros): (i64, u64)| if day == today { micros } else { 0 };
        let cap = row.session.daily_micros;
        let over = cap > 0 && spent(row.session.spent) >= cap;
        let machine_over = machine_micros > 0 && spent(row.machine_spent) >= machine_micros;
        let held = match (&row.paused, row.lane.limited) {
            (Some(by), _) => Some(format!("everything is paused, by {by}")),
            (_, Some(until)) => Some(format!("its account is at its limit until {}", refusal::when(until))),
            _ if over => Some("its daily spend cap is reached".to_string()),
            _ if machine_over => Some("the machine's daily spend cap is reached".to_string()),
            _ => Some(row.lane.waits_for.clone()).filter(|w| !w.is_empty()),
        };
        let (state, why) = match &row.session.state {
            SessionState::Stopped { why } => ("stopped", Some(why.clone())),
            SessionState::Removed => ("stopped", Some("removed".to_string())),
            SessionState::Ready if row.prompts > 0 => ("waiting", Some("for an answer: prompt list".to_string())),
            SessionState::Ready if row.works => ("working", held),
            SessionState::Ready => ("idle", held),
        };
        let harness = row.session.harness.name().to_string();
        let (command, model, auto_approve) = match row.session.harness {
            Harness::Command { argv, .. } => (argv, None, false),
            Harness::Claude { model, auto_approve } => (Vec::new(), model, auto_approve),
        };
        Session {
            name: row.session.name,
            harness,
            command,
            dir: row.session.dir,
            state: state.to_string(),
            why,
            auto_approve,
            model,
            conversation: row.lane.conversation,
            fresh_by_agents: row.session.fresh_by_agents,
            accept_files_from: row.session.accept_files_from,
            spent_usd: Some(spent(row.session.spent)).filter(|m| *m > 0).map(|m| m as f64 / 1e6),
            daily_usd: (cap > 0).then_some(cap as f64 / 1e6),
            context_used: Some(row.lane.context.used).filter(|n| *n > 0),
            context_window: Some(row.lane.context.window).filter(|n| *n > 0),
            tasks_open: u32::try_from(row.open).unwrap_or(u32::MAX),
            tasks_waiting: u32::try_from(row.waiting).unwrap_or(u32::MAX),
            created: Timestamp(row.session.created.wall).to_string(),
        }
    }
}

/// All of this machine's, by name.
pub(super) async fn own(app: &App) -> Result<Vec<Session>, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    Ok(rows.into_iter().map(|row| Session::of(app, row)).collect())
}

/// The one of this name, or who was perhaps meant.
pub(super) async fn row(app: &App, name: &str) -> Result<SessionRow, Problem> {
    let mut rows = app.engine.read(|r| r.sessions()).await?;
    let at = rows.iter().position(|r| r.session.name == name).ok_or_else(|| Refusal::NoSession {
        name: text::cut(name, 80),
        machine: app.engine.machine(),
        hint: near::hint(&near::near(name, rows.iter().map(|r| r.session.name.as_str()))),
    })?;
    Ok(rows.swap_remove(at))
}

/// Who may ask and not look sees which agents there are, and whether they are at work.
pub(super) async fn list(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
) -> Result<Json<Listed>, Problem> {
    let own = own(&app).await?;
    Ok(Json(match by.may(Action::Look) {
        true => Listed::Whole { sessions: own },
        false => Listed::Names { sessions: own.into_iter().map(|s| Agent { name: s.name, state: s.state }).collect() },
    }))
}

/// What is listed, for whom.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Listed {
    Whole { sessions: Vec<Session> },
    Names { sessions: Vec<Agent> },
}

/// A session as those know it who may only ask it.
#[derive(Serialize)]
pub(super) struct Agent {
    name: String,
    state: String,
}

pub(super) async fn get(State(app): State<App>, Part(name): Part) -> Result<Json<Session>, Problem> {
    Ok(Json(Session::of(&app, row(&app, &name).await?)))
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
    #[serde(default)]
    auto_approve: bool,
    model: Option<String>,
}

impl New {
    /// What it runs; the program of the owner's choice is checked, and Claude Code must be there.
    async fn harness(self, app: &App) -> Result<(Harness, String), Problem> {
        let kind = kind(self.harness.as_deref(), app.config.allow_scripted)?;
        let claude = kind == HarnessKind::Claude;
        match (claude, self.command.is_empty()) {
            (true, false) => return Err(Problem::bad("command: Claude Code takes none")),
            (false, _) if self.auto_approve => return Err(Problem::bad("auto_approve: a command asks for nothing")),
            (false, _) if self.model.is_some() => return Err(Problem::bad("model: a command has none")),
            _ => {}
        }
        let command = if claude { vec![app.config.claude.clone()] } else { self.command };
        let model = model(self.model)?.filter(|m| !m.is_empty());
        let (config, dir) = (app.config.clone(), self.dir);
        let checked = tokio::task::spawn_blocking(move || program::check(&dir, command, &config.path)).await;
        let checked =
            checked.map_err(|e| Problem::new(Kind::Internal, format!("the check of files broke off: {e}")))?;
        let checked = checked.map_err(|problem| match claude && problem.detail.starts_with("command:") {
            true => Problem::bad(format!(
                "harness: Claude Code is not there ('{}'): install it (https://code.claude.com), or start the daemon \
                 with --claude PATH",
                app.config.claude
            )),
            false => problem,
        })?;
        let harness = match kind {
            HarnessKind::Claude => Harness::Claude { model, auto_approve: self.auto_approve },
            HarnessKind::Command | HarnessKind::Scripted => Harness::Command {
                argv: checked.argv,
                framed: self.framed,
                rerun_on_crash: self.rerun_on_crash,
                takes_turns: kind == HarnessKind::Scripted,
            },
        };
        Ok((harness, checked.dir))
    }
}

/// A harness that a session can be made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HarnessKind {
    Command,
    Scripted,
    Claude,
}

pub(super) async fn add(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(new): Body<New>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    check_session_name(&new.name)?;
    let name = new.name.clone();
    let (harness, dir) = new.harness(&app).await?;
    app.engine.request(Request::AddSession { by, name: name.clone(), harness, dir }).await?;
    Ok((StatusCode::CREATED, Json(Session::of(&app, row(&app, &name).await?))))
}

/// The harness of this name.
fn kind(harness: Option<&str>, allow_scripted: bool) -> Result<HarnessKind, Problem> {
    match harness.unwrap_or("command") {
        "command" => Ok(HarnessKind::Command),
        "claude" => Ok(HarnessKind::Claude),
        "scripted" if allow_scripted => Ok(HarnessKind::Scripted),
        other => {
            let other = text::cut(other, 40);
            Err(Problem::bad(format!("harness: '{other}' is not in this version: it can be command or claude")))
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
    Ok(Json(Session::of(&app, row(&app, &name).await?)))
}

pub(super) async fn start(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    app.engine.request(Request::StartSession { by, name: name.clone() }).await?;
    Ok(Json(Session::of(&app, row(&app, &name).await?)))
}

/// A person's words.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    text: String,
    id: Option<String>,
}

pub(super) async fn say(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(words): Body<Words>,
) -> Result<StatusCode, Problem> {
    let mid = message_id(&app.engine, words.id)?;
    app.engine.request(Request::Say { by, session: name, mid, text: Text::new(words.text) }).await?;
    Ok(StatusCode::ACCEPTED)
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
            (None, false, Some(HarnessKind::Command)),
            (Some("command"), false, Some(HarnessKind::Command)),
            (Some("scripted"), true, Some(HarnessKind::Scripted)),
            (Some("scripted"), false, None),
            (Some("claude"), false, Some(HarnessKind::Claude)),
            (Some("codex"), true, None),
        ] {
            let got = kind(harness, scripted);
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
                    daily_micros: 0,
                    spent: (0, 0),
                    fresh_by_agents: false,
                    accept_files_from: Vec::new(),
                    asked: Default::default(),
                    removed: None,
                },
                lane: Lane {
                    no: LaneNo(2),
                    session: SessionUid(1),
                    kind: LaneKind::Main,
                    generation: 0,
                    conversation: None,
                    used: false,
                    renew: false,
                    limited: None,
                    resumed: false,
                    context: Default::default(),
                    quiet_since: 0,
                    reminded: Vec::new(),
                    recap: false,
                    crashes: Vec::new(),
                    turn: turn.map(TurnNo),
                    holder: None,
                    not_before: None,
                    waits_for: waits_for.into(),
                },
                paused: None,
                machine_spent: (0, 0),
                works: turn.is_some(),
                prompts: 0,
                open: 2,
                waiting: 1,
            };
            serde_json::to_value(Session::at(row, 1_800_000_000_000, 0)).unwrap()
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
