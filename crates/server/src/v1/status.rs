//! `GET /v1/status`: which daemon this is, who it takes the caller for, and what holds its work up.

use axum::Json;
use axum::extract::Extension;
use serde::Serialize;
use shrooms_core::Principal;

use crate::app::{App, Caller, State};
use crate::listen::Heard;
use crate::problem::Problem;

#[derive(Serialize)]
pub(super) struct Status {
    version: String,
    machine: String,
    /// The label of its mesh; empty where it has none.
    mesh: String,
    /// Those that are listened on.
    addresses: Vec<String>,
    /// Every address of this machine on its meshes, and why it is not listened on.
    listening: Vec<Address>,
    state: String,
    pid: u32,
    boot: u32,
    /// The session that the caller is a process of, by its present name.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Who paused everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<String>,
    /// What was spent today (of UTC), and what may be, in US dollars.
    spent_usd: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    daily_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<String>,
    /// What is wrong with the mesh's list, with the rights that are given to names of it, or with the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// Why no mesh is served, or why its names are old.
    #[serde(skip_serializing_if = "Option::is_none")]
    trouble: Option<String>,
}

#[derive(Serialize)]
struct Address {
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    why_not: Option<String>,
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
) -> Result<Json<Status>, Problem> {
    of(&app, &by).await.map(Json)
}

pub(super) async fn of(app: &App, by: &Principal) -> Result<Status, Problem> {
    let engine = &app.engine;
    let uid = match by {
        Principal::Session(uid) => Some(*uid),
        Principal::Owner | Principal::Device { .. } => None,
    };
    let (meta, session) = engine
        .read(move |r| {
            let session = uid.map(|uid| r.session(uid)).transpose()?.flatten();
            Ok((r.meta()?, session))
        })
        .await?;
    let today = engine.wall().div_euclid(86_400_000);
    let spent = meta.spent.1 as f64 / 1e6;
    let cap = engine.settings().limits.daily_micros;
    Ok(Status {
        version: app.config.version.clone(),
        machine: engine.machine(),
        mesh: engine.mesh().me().mesh.clone().unwrap_or_default(),
        addresses: app.listening.addresses().iter().map(ToString::to_string).collect(),
        listening: app.listening.state().into_iter().map(address).collect(),
        state: engine.state().display().to_string(),
        pid: std::process::id(),
        boot: engine.boot().0,
        session: session.map(|s| s.name),
        paused: meta.paused,
        spent_usd: if meta.spent.0 == today { spent } else { 0.0 },
        daily_usd: (cap > 0).then_some(cap as f64 / 1e6),
        notice: engine.mesh().notice(),
        warnings: engine.warnings().into_iter().chain(engine.log_troubles()).collect(),
        trouble: engine.mesh().trouble(),
    })
}

fn address((address, why_not): Heard) -> Address {
    Address { address: address.to_string(), why_not }
}
