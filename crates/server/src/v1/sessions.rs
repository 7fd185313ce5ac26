//! `/v1/sessions`: the sessions of this machine: listed, added, stopped, started, removed, spoken
//! to, and what they said.

mod shown;

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::desk::Request;
use shrooms_core::name::check_session_name;
use shrooms_core::rights::Action;
use shrooms_core::row::{Harness, SessionSet};
use shrooms_core::{Kind, Refusal, Text, near, text};
use shrooms_engine::SessionRow;

use super::input::{Asked, Body, Nothing, Part, message_id, model, within};
use super::program;
use super::settings::{Settings, SkillGiven};
use crate::app::{App, Caller, State};
use crate::problem::Problem;
pub(super) use shown::Session;

/// `GET /v1/sessions`, here and of other machines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sessions {
    pub(super) sessions: Vec<Session>,
}

/// All of this machine's, by name.
pub(super) async fn own(app: &App) -> Result<Vec<Session>, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    Ok(rows.into_iter().map(|row| Session::of(app, row).in_list()).collect())
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
    fresh_by_agents: Option<bool>,
    skills: Option<Vec<SkillGiven>>,
    responsibilities: Option<Vec<String>>,
    role: Option<String>,
    args: Option<Vec<String>>,
    starred: Option<bool>,
    keep_running: Option<bool>,
    meshes: Option<Vec<String>>,
    prompt_timeout: Option<u32>,
}

impl New {
    /// What is set of it from the beginning; its model and whether it asks are its harness's.
    fn set(&mut self, app: &App) -> Result<SessionSet, Problem> {
        let given = Settings {
            fresh_by_agents: self.fresh_by_agents,
            skills: self.skills.take(),
            responsibilities: self.responsibilities.take(),
            role: self.role.take(),
            args: self.args.take(),
            starred: self.starred,
            keep_running: self.keep_running,
            meshes: self.meshes.take(),
            prompt_timeout: self.prompt_timeout,
            ..Settings::default()
        };
        given.read(app)
    }

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
    Body(mut new): Body<New>,
) -> Result<(StatusCode, Json<Session>), Problem> {
    check_session_name(&new.name)?;
    let name = new.name.clone();
    let set = new.set(&app)?;
    let (harness, dir) = new.harness(&app).await?;
    app.engine.request(Request::AddSession { by, name: name.clone(), harness, dir, set }).await?;
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
}
