//! `GET /v1/greeting`: which daemon this is, for another machine's, and what the caller may here.

use axum::Json;
use axum::extract::Extension;
use shrooms_core::Principal;
use shrooms_core::greeting::Greeting;

use crate::app::{App, Caller, State};

pub(super) async fn show(State(app): State<App>, Extension(Caller(by)): Extension<Caller>) -> Json<Greeting> {
    let right = match by {
        Principal::Device { right, .. } => right.word(),
        Principal::Owner => "owner",
        Principal::Session(_) => "session",
    };
    Json(Greeting { right: Some(right.to_string()), ..Greeting::own(&app.config.version) })
}
