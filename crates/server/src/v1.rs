//! `/v1`, the API of the command line and the page, and of other machines' daemons: one file per
//! resource, JSON in and out, every refusal a [`Problem`]. Who asks was established before.

mod asks;
mod audit;
mod events;
mod fleet;
mod greeting;
mod harnesses;
mod input;
mod life;
mod log;
mod machines;
mod made;
mod owner;
mod pause;
mod program;
mod prompts;
mod record;
mod remote;
mod sessions;
mod settings;
mod status;
mod tasks;
mod usage;
mod wanted;

use axum::http::StatusCode;
use axum::routing::{any, delete, get, post};
use axum::{Router, middleware};
use shrooms_core::rights::Action;

use crate::app::Doorway;
use crate::problem::Problem;
use crate::rights::{self, Gate};
pub(crate) use machines::{ASKED_BY, for_another};
pub(crate) use made::MAX_FILE;

/// All routes under `/v1`, by what they are as far as rights go.
pub(crate) fn routes(door: &Doorway) -> Router<Doorway> {
    let all = [
        (Action::Find, find()),
        (Action::Look, look()),
        (Action::See, see()),
        (Action::Work, work()),
        (Action::Own, own()),
    ];
    let gated = all.into_iter().fold(Router::new(), |gated, (action, routes)| {
        let gate = Gate { door: door.clone(), action };
        gated.merge(routes.route_layer(middleware::from_fn_with_state(gate, rights::check)))
    });
    gated.method_not_allowed_fallback(no_such_method)
}

fn find() -> Router<Doorway> {
    Router::new()
        .route("/v1/greeting", get(greeting::show))
        .route("/v1/sessions", get(sessions::list))
        // From whom a report may come is decided by its ask.
        .route("/v1/asks/report", post(asks::report))
}

fn look() -> Router<Doorway> {
    Router::new()
        .route("/v1/status", get(status::show))
        .route("/v1/sessions/{name}", get(sessions::get))
        .route("/v1/fleet", get(fleet::show))
        .route("/v1/harnesses", get(harnesses::list))
        .route("/v1/meshes", get(harnesses::meshes))
        .route("/v1/tasks", get(tasks::list))
        .route("/v1/tasks/{reference}", get(tasks::get))
        .route("/v1/asks", get(asks::list))
}

fn see() -> Router<Doorway> {
    Router::new()
        .route("/v1/conversations", get(life::conversations))
        .route("/v1/sessions/{name}/log", get(log::page))
        .route("/v1/sessions/{name}/events", get(log::stream::stream))
        .route("/v1/sessions/{name}/search", get(log::search))
        .route("/v1/sessions/{name}/history", get(log::history))
        .route("/v1/sessions/{name}/export", get(log::export::export))
        .route("/v1/search", get(log::search_all))
        .route("/v1/prompts", get(prompts::list))
        .route("/v1/prompts/{id}", get(prompts::get))
        .route("/v1/events", get(events::stream))
        .route("/v1/audit", get(audit::list))
        .route("/v1/usage", get(usage::show))
        .route("/v1/machines/{machine}/{*rest}", any(machines::forward))
}

/// What a session's tools do.
fn work() -> Router<Doorway> {
    Router::new()
        .route("/v1/sessions/{name}/wanted", get(wanted::get))
        .route("/v1/asks", post(asks::ask))
        .route("/v1/tasks/{reference}", post(tasks::update))
        .route("/v1/tasks/{reference}/answer", post(tasks::answer))
        .route("/v1/tasks/{reference}/cancel", post(tasks::cancel))
        .route("/v1/tasks/{reference}/ack", post(tasks::ack))
}

fn own() -> Router<Doorway> {
    Router::new()
        .route("/v1/sessions", post(sessions::add))
        .route("/v1/sessions/{name}", delete(sessions::remove).patch(settings::set))
        .route("/v1/sessions/{name}/stop", post(sessions::stop))
        .route("/v1/sessions/{name}/start", post(sessions::start))
        .route("/v1/sessions/{name}/restart", post(life::restart))
        .route("/v1/sessions/{name}/attach", post(life::attach))
        .route("/v1/sessions/{name}/detach", post(life::detach))
        .route("/v1/sessions/{name}/interrupt", post(owner::interrupt))
        .route("/v1/sessions/{name}/rename", post(owner::rename))
        .route("/v1/sessions/{name}/undo-remove", post(owner::undo_remove))
        .route("/v1/sessions/{name}/new", post(owner::new_conversation))
        .route("/v1/sessions/{name}/settings", post(settings::set))
        .route("/v1/sessions/{name}/messages", post(sessions::say))
        .route("/v1/sessions/{name}/prompts/{id}", post(prompts::answer_in_session))
        .route("/v1/prompts/{id}", post(prompts::answer))
        .route("/v1/tasks/{reference}/move", post(tasks::move_to))
        .route("/v1/tasks/{reference}/park", post(tasks::park))
        .route("/v1/tasks/{reference}/release", post(tasks::release))
        .route("/v1/pause", post(pause::pause))
        .route("/v1/resume", post(pause::resume))
        .route("/v1/fleet/pause", post(pause::pause_all))
        .route("/v1/fleet/resume", post(pause::resume_all))
}

async fn no_such_method() -> Problem {
    Problem::bad("this address does not take that method: see the API's list")
        .with_status(StatusCode::METHOD_NOT_ALLOWED)
}
