//! What becomes of a session's program and conversation by its owner's hand: restarted, handed to a
//! terminal and taken back; and the conversations of terminals that a session could go on with.

use axum::Json;
use axum::extract::Extension;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::desk::Request;

use super::input::{Asked, Body, Nothing, Part, within};
use super::sessions::{self, Session};
use crate::app::{App, Caller, State};
use crate::problem::Problem;

pub(super) async fn restart(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Session>, Problem> {
    app.engine.request(Request::RestartSession { by, name: name.clone() }).await?;
    Ok(Json(sessions::one(&app, &name).await?))
}

/// How the conversation goes on in a terminal.
#[derive(Serialize)]
pub(super) struct Attach {
    program: Vec<String>,
    dir: String,
    /// Variables that the program is not to have.
    env_remove: Vec<String>,
    /// Where the harness keeps its conversations.
    config_dir: String,
    /// A file to hold a lock (`flock`) on for as long as the program is there; within 30 s.
    lock: String,
}

pub(super) async fn attach(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Attach>, Problem> {
    app.engine.request(Request::Attach { by: by.clone(), name: name.clone() }).await?;
    match app.engine.terminal(&name).await {
        Ok(terminal) => Ok(Json(Attach {
            program: terminal.program,
            dir: terminal.dir,
            env_remove: terminal.env_remove,
            config_dir: terminal.config_dir.display().to_string(),
            lock: terminal.lock.display().to_string(),
        })),
        Err(error) => {
            app.engine.request(Request::Detach { by, name }).await?;
            Err(error.into())
        }
    }
}

pub(super) async fn detach(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Part(name): Part,
    Body(Nothing {}): Body<Nothing>,
) -> Result<StatusCode, Problem> {
    app.engine.request(Request::Detach { by, name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Conversations in one answer if nothing is said, and the most (seed).
const CONVERSATIONS: usize = 30;
const CONVERSATIONS_MAX: usize = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    limit: Option<usize>,
}

#[derive(Serialize)]
pub(super) struct Conversations {
    conversations: Vec<Conversation>,
}

#[derive(Serialize)]
struct Conversation {
    id: String,
    harness: &'static str,
    dir: String,
    title: String,
    /// The process that has it open now.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<i32>,
    last: String,
}

pub(super) async fn conversations(
    State(app): State<App>,
    Asked(query): Asked<Query>,
) -> Result<Json<Conversations>, Problem> {
    let limit = within("limit", query.limit.unwrap_or(CONVERSATIONS), 1, CONVERSATIONS_MAX)?;
    let found = app.engine.conversations(limit).await?.into_iter();
    let conversations = found.map(|c| Conversation {
        id: c.id,
        harness: "claude",
        dir: c.dir,
        title: c.title,
        open: c.open,
        last: Timestamp(c.last).to_string(),
    });
    Ok(Json(Conversations { conversations: conversations.collect() }))
}
