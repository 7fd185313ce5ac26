//! `GET /v1/status`: which daemon this is.

use axum::Json;
use axum::extract::State;
use serde::Serialize;

use crate::app::App;

#[derive(Serialize)]
pub(super) struct Status {
    version: String,
    machine: String,
    /// The label of its mesh; empty where it has none.
    mesh: String,
    addresses: Vec<String>,
    state: String,
    pid: u32,
    boot: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
}

pub(super) async fn show(State(app): State<App>) -> Json<Status> {
    let engine = &app.engine;
    Json(Status {
        version: app.config.version.clone(),
        machine: engine.machine().to_string(),
        mesh: engine.mesh().me().mesh.clone().unwrap_or_default(),
        addresses: app.addresses.to_vec(),
        state: engine.state().display().to_string(),
        pid: std::process::id(),
        boot: engine.boot().0,
        notice: engine.mesh().notice().map(str::to_string),
    })
}
