//! `/v1/pause` and `/v1/resume`: nothing new is begun on this machine, until it is. `/v1/fleet/pause`
//! and `/v1/fleet/resume` do the same on every machine of the mesh; one that cannot be reached is
//! named, for it goes on as it was.

use std::sync::Arc;

use axum::Json;
use axum::extract::Extension;
use serde::Serialize;
use serde_json::{Value, json};
use shrooms_core::desk::Request;
use shrooms_core::{Kind, Principal};
use shrooms_engine::CallError;
use shrooms_mesh::Machine;
use tokio::task::JoinSet;

use super::fleet::ANSWER;
use super::input::{Body, Nothing};
use super::status::{self, Status};
use super::tasks;
use crate::app::{App, Caller, State};
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

#[derive(Serialize)]
pub(super) struct Machines {
    machines: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<String>,
    reachable: bool,
    /// Who paused everything there.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<String>,
    /// Why it was not reached, or did not do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

pub(super) async fn pause_all(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Machines>, Problem> {
    everywhere(&app, &by, "/v1/pause", Request::Pause { by: by.clone() }).await
}

pub(super) async fn resume_all(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    Body(Nothing {}): Body<Nothing>,
) -> Result<Json<Machines>, Problem> {
    everywhere(&app, &by, "/v1/resume", Request::Resume { by: by.clone() }).await
}

/// Here first, then on all others side by side.
async fn everywhere(app: &App, by: &Principal, path: &'static str, here: Request) -> Result<Json<Machines>, Problem> {
    tasks::owner(by, "pausing every machine")?;
    app.engine.request(here).await?;
    let paused = app.engine.read(|r| r.meta()).await?.paused;
    let (me, all) = (app.engine.mesh().me(), app.engine.mesh().machines());
    let mut telling = JoinSet::new();
    for (place, machine) in all.iter().cloned().enumerate().filter(|(_, m)| m.id != me.id) {
        let app = app.clone();
        telling.spawn(async move { (place, tell(&app, &machine, path).await) });
    }
    let own = Shown { machine: me.name.clone(), mesh: me.mesh.clone(), reachable: true, paused, why: None };
    let mut shown = vec![(0, own)];
    while let Some(told) = telling.join_next().await {
        shown.push(told.map_err(|e| Problem::new(Kind::Internal, format!("telling a machine broke off: {e}")))?);
    }
    shown.sort_by_key(|(place, _)| *place);
    Ok(Json(Machines { machines: shown.into_iter().map(|(_, shown)| shown).collect() }))
}

async fn tell(app: &App, machine: &Arc<Machine>, path: &str) -> Shown {
    let peer = app.engine.peer(machine);
    let answer = app.engine.outbound().post_json(&peer, path, &json!({}), ANSWER).await;
    let (machine, mesh) = (machine.name.clone(), machine.mesh.clone());
    match answer {
        Ok(status) => {
            let paused = status.get("paused").and_then(Value::as_str).map(|by| shrooms_core::text::cut(by, 200));
            Shown { machine, mesh, reachable: true, paused, why: None }
        }
        Err(error) => {
            let reachable = matches!(error, CallError::Http { .. } | CallError::Refused(_));
            Shown { machine, mesh, reachable, paused: None, why: Some(error.to_string()) }
        }
    }
}
