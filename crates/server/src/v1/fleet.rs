//! `GET /v1/fleet`: every machine of the mesh with its sessions, asked side by side. A machine
//! that does not answer is listed with why, so that the list never looks whole when it is not.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::{Deserialize, Serialize};
use shrooms_core::Kind;
use shrooms_mesh::Machine;
use tokio::task::JoinSet;

use super::sessions::{self, Session, Sessions};
use crate::app::App;
use crate::problem::Problem;

/// A machine that is there answers in milliseconds; a person waits for the slowest one.
pub(super) const ANSWER: Duration = Duration::from_secs(4);

#[derive(Serialize)]
pub(super) struct Fleet {
    machines: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<String>,
    me: bool,
    reachable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    sessions: Vec<Session>,
}

/// A machine and what it has, or why that is not known.
pub(super) struct Found {
    pub(super) machine: Arc<Machine>,
    pub(super) sessions: Result<Vec<Session>, String>,
}

pub(super) async fn show(State(app): State<App>) -> Result<Json<Fleet>, Problem> {
    let me = app.engine.mesh().me();
    let shown = |found: Found| {
        let (reachable, why, sessions) = match found.sessions {
            Ok(sessions) => (true, None, sessions),
            Err(why) => (false, Some(why), Vec::new()),
        };
        Shown {
            machine: found.machine.name.clone(),
            mesh: found.machine.mesh.clone(),
            me: found.machine.id == me.id,
            reachable,
            why,
            sessions,
        }
    };
    Ok(Json(Fleet { machines: machines(&app).await?.into_iter().map(shown).collect() }))
}

/// All machines, this one first.
pub(super) async fn machines(app: &App) -> Result<Vec<Found>, Problem> {
    let (me, all) = (app.engine.mesh().me(), app.engine.mesh().machines());
    let mut asking = JoinSet::new();
    for (place, machine) in all.iter().cloned().enumerate().filter(|(_, m)| m.id != me.id) {
        let app = app.clone();
        asking.spawn(async move { (place, Found { sessions: ask(&app, &machine).await, machine }) });
    }
    let mut found = vec![(0, Found { machine: me, sessions: Ok(sessions::own(app).await?) })];
    while let Some(answer) = asking.join_next().await {
        found.push(answer.map_err(|e| Problem::new(Kind::Internal, format!("asking a machine broke off: {e}")))?);
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

async fn ask(app: &App, machine: &Machine) -> Result<Vec<Session>, String> {
    let peer = app.engine.peer(machine);
    let answer = app.engine.outbound().get_json(&peer, "/v1/sessions", ANSWER).await.map_err(|e| e.to_string())?;
    let read = Sessions::deserialize(answer);
    read.map(|s| s.sessions).map_err(|e| format!("{}: its answer cannot be read: {e}", machine.name))
}
