//! The A2A endpoint of every session, and of the machine: two bindings over one handler.
//!
//! - `entry`: which binding and which session a path under `/a2a` means, and its frame
//! - `handler`: what every operation does, one file each; `scope`: the sessions and tasks in reach
//! - `parts`, `files`: what a message holds; `stream`: what follows a task; `frame`: results and refusals as bytes of a binding

mod cancel_task;
pub(crate) mod cards;
mod changed;
mod entry;
mod files;
mod frame;
mod get_task;
mod handler;
mod list_tasks;
mod media;
mod parts;
mod refusal;
mod scope;
mod send_message;
mod stream;

use axum::Router;
use axum::routing::any;

use crate::app::Doorway;
pub(crate) use changed::Changed;
pub(crate) use entry::refuse;
pub(crate) use media::is_json;
pub(crate) use parts::digest_of_text;
pub(crate) use stream::EVENTS_KIB;

/// The endpoint's routes: all below `/a2a` is one handler's, which splits raw paths itself.
pub(crate) fn routes() -> Router<Doorway> {
    let all = || any(entry::serve);
    Router::new().route("/a2a", all()).route("/a2a/", all()).route("/a2a/{*rest}", all())
}
