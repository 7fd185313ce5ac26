//! What the owner does with a session beside adding and removing it: interrupt it, name it anew,
//! bring it back, begin a new conversation.

use axum::Json;
use axum::extract::Extension;
use serde::Deserialize;
use shrooms_core::desk::Request;

use super::input::{Body, Nothing, Part};
use super::sessions::{self, Session};
use crate::app::{App, Caller, State};
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
