//! Whether a request is its caller's to make: one layer before the handlers, by what the route is.
//! The table of who may what is in the core; what a refused caller tried is in the audit log.

use axum::extract::{Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use shrooms_core::Principal;
use shrooms_core::refusal::allows;
use shrooms_core::rights::Action;
use shrooms_core::{desk, text};

use crate::app::{App, Caller, Doorway};
use crate::problem::Problem;

/// What a group of routes is.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) door: Doorway,
    pub(crate) action: Action,
}

/// Lets a request through that its caller may make.
pub(crate) async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let Some(Caller(by)) = request.extensions().get::<Caller>().cloned() else {
        return Problem::refused("nobody asks").into_response();
    };
    let (verb, path) = (request.method().clone(), request.uri().path().to_string());
    match allowed(gate.door.unseen(), &by, gate.action, &verb, &path).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Whether a request of this kind is theirs to make; one that would change something is in the log.
///
/// # Errors
/// It is not, and whose it is.
pub(crate) async fn allowed(
    app: &App,
    by: &Principal,
    action: Action,
    verb: &Method,
    path: &str,
) -> Result<(), Problem> {
    let refused = allows(by, action, &app.engine.machine(), "this");
    if refused.is_err() && ![Method::GET, Method::HEAD].contains(verb) {
        let what = format!("{verb} {}", text::cut(path, 200));
        app.engine.request(desk::Request::Attempt { by: by.clone(), action, what }).await?;
    }
    Ok(refused?)
}
