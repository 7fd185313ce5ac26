//! `/v1/pause` and `/v1/resume`: nothing new is begun on this machine, until it is.

use axum::Json;
use axum::extract::{Extension, State};
use shrooms_core::desk::Request;

use super::input::{Body, Nothing};
use super::status::{self, Status};
use crate::app::{App, Caller};
use crate::problem::Problem;

pub(super) async fn pause(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Status>, Problem> {
    app.engine.request(Request::Pause { by: by.clone() }).await?;
    status::of(&app, &by).await.map(Json)
}

pub(super) async fn resume(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Status>, Problem> {
    app.engine.request(Request::Resume { by: by.clone() }).await?;
    status::of(&app, &by).await.map(Json)
}
