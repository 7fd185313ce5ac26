//! `/v1/sessions`: the sessions of this machine: listed, added, stopped, started, removed, spoken
//! to, and what they said.

mod add;
mod beside;
mod shown;

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_core::desk::Request;
use shrooms_core::rights::Action;
use shrooms_core::{Refusal, Text, near, text};
use shrooms_engine::SessionRow;

use super::input::{Body, Nothing, Part, message_id};
use crate::app::{App, Caller, State};
use crate::problem::Problem;
pub(super) use add::add;
use beside::Beside;
pub(super) use shown::Session;

/// `GET /v1/sessions`, here and of other machines.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sessions {
    pub(super) sessions: Vec<Session>,
}

/// All of this machine's, by name.
pub(super) async fn own(app: &App) -> Result<Vec<Session>, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    let beside = Beside::of(&rows);
    let shown = |row: SessionRow| {
        let warning = beside.warning(&row);
        Session::of(app, row).in_list().warned(warning)
    };
    Ok(rows.into_iter().map(shown).collect())
}

/// One of them as it is shown.
pub(super) async fn one(app: &App, name: &str) -> Result<Session, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    let beside = Beside::of(&rows);
    let row = found(app, rows, name)?;
    let warning = beside.warning(&row);
    Ok(Session::of(app, row).warned(warning))
}

/// The one of this name, or who was perhaps meant.
pub(super) async fn row(app: &App, name: &str) -> Result<SessionRow, Problem> {
    let rows = app.engine.read(|r| r.sessions()).await?;
    found(app, rows, name)
}

fn found(app: &App, mut rows: Vec<SessionRow>, name: &str) -> Result<SessionRow, Problem> {
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
    Ok(Json(one(&app, &name).await?))
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
    Ok(Json(one(&app, &name).await?))
}

pub(super) async fn start(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    app.engine.request(Request::StartSession { by, name: name.clone() }).await?;
    Ok(Json(one(&app, &name).await?))
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
