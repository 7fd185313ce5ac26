//! What the owner does with a session beside adding and removing it: interrupt it, name it anew,
//! bring it back, begin a new conversation, set it.

use axum::Json;
use axum::extract::{Extension, State};
use serde::Deserialize;
use shrooms_core::desk::Request;
use shrooms_core::name::FilesFrom;
use shrooms_core::row::SessionSet;
use shrooms_core::text::cut;

use super::input::{self, Body, Nothing, Part};
use super::sessions::{self, Session};
use crate::app::{App, Caller};
use crate::problem::Problem;

async fn shown(app: &App, request: Request, name: &str) -> Result<Json<Session>, Problem> {
    app.engine.request(request).await?;
    Ok(Json(sessions::one(app, name).await?))
}

pub(super) async fn interrupt(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    shown(&app, Request::Interrupt { by, name: name.clone() }, &name).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rename {
    name: String,
}

pub(super) async fn rename(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(to): Body<Rename>,
) -> Result<Json<Session>, Problem> {
    shown(&app, Request::RenameSession { by, name, to: to.name.clone() }, &to.name).await
}

pub(super) async fn undo_remove(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    shown(&app, Request::UndoRemove { by, name: name.clone() }, &name).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    /// Cancel what is open.
    #[serde(default)]
    cancel: bool,
}

pub(super) async fn new_conversation(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(new): Body<New>,
) -> Result<Json<Session>, Problem> {
    shown(&app, Request::NewConversation { by, name: name.clone(), cancel: new.cancel }, &name).await
}

/// Settings as they are given: dollars, not their millionths.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settings {
    auto_approve: Option<bool>,
    fresh_by_agents: Option<bool>,
    /// The whole list.
    accept_files_from: Option<Vec<String>>,
    model: Option<String>,
    /// US dollars a day; 0 = no cap.
    daily_usd: Option<f64>,
}

pub(super) async fn settings(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(given): Body<Settings>,
) -> Result<Json<Session>, Problem> {
    // A million a day is no cap that anybody means.
    let bad = |usd: f64| !(0.0..=1e6).contains(&usd);
    if given.daily_usd.is_some_and(bad) {
        return Err(Problem::bad("daily_usd: must be from 0 (no cap) to 1000000"));
    }
    let from = given.accept_files_from.map(files_from).transpose()?;
    let names_devices = from.is_some();
    let set = SessionSet {
        accept_files_from: from,
        auto_approve: given.auto_approve,
        fresh_by_agents: given.fresh_by_agents,
        model: input::model(given.model)?,
        daily_micros: given.daily_usd.map(|usd| (usd * 1e6).round() as u64),
    };
    if set.is_empty() {
        return Err(Problem::bad(
            "nothing to set: give auto_approve, fresh_by_agents, accept_files_from, model or daily_usd",
        ));
    }
    let session = shown(&app, Request::SetSession { by, name: name.clone(), set }, &name).await?;
    if names_devices {
        // From now on the names in the list are those devices.
        app.engine.bind_rights().await?;
    }
    Ok(session)
}

/// Senders that a list of this kind may have: more is no list that anybody looks after.
const MAX_SENDERS: usize = 100;

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
