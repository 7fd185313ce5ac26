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

use crate::app::{App, Caller};
use crate::problem::Problem;

/// What a group of routes is.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) app: App,
    pub(crate) action: Action,
}

/// Lets a request through that its caller may make.
pub(crate) async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let Some(Caller(by)) = request.extensions().get::<Caller>().cloned() else {
        return Problem::refused("nobody asks").into_response();
    };
    let (verb, path) = (request.method().clone(), request.uri().path().to_string());
    match allowed(&gate, by, verb, &path).await {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

async fn allowed(gate: &Gate, by: Principal, verb: Method, path: &str) -> Result<(), Problem> {
    if by.may(gate.action) {
        return Ok(());
    }
    let action = gate.action;
    if [Method::GET, Method::HEAD].contains(&verb) {
        allows(&by, action, &gate.app.engine.machine(), "looking at this")?;
    }
    let what = format!("{verb} {}", text::cut(path, 200));
    gate.app.engine.request(desk::Request::Attempt { by, action, what }).await?;
    Err(Problem::refused("this may not be done from here"))
}
