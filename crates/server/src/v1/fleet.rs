//! `GET /v1/fleet`: every machine of the mesh with its sessions, asked side by side, each with its own
//! time limit. A machine that does not answer is listed with why, and with when it was last seen, so
//! that the list never looks whole when it is not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::Extension;
use axum::http::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use shrooms_a2a::Timestamp;
use shrooms_core::Kind;
use shrooms_core::desk::MAX_SESSIONS;
use shrooms_core::greeting::Greeting;
use shrooms_engine::CallError;
use shrooms_mesh::Machine;
use tokio::task::JoinSet;

use super::machines::asked_by;
use super::sessions::{self, Session, Sessions};
use crate::app::{App, Caller, From, State};
use crate::problem::Problem;

/// A machine that is there answers in milliseconds; a person waits for the slowest one.
pub(super) const ANSWER: Duration = Duration::from_secs(4);
/// The largest greeting and list that are read of a machine: a thousand sessions, with what they are for.
const GREETING_MAX: usize = 16 << 10;
const SESSIONS_MAX: usize = 8 << 20;

#[derive(Serialize)]
pub(super) struct Fleet {
    machines: Vec<Shown>,
}

#[derive(Serialize)]
struct Shown {
    machine: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    mesh: Option<String>,
    /// Its stable identity: what rights are bound to.
    id: String,
    me: bool,
    reachable: bool,
    /// Why it was not reached, or does not show its sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// When it last called or answered this machine; absent where it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen: Option<String>,
    /// Of its daemon, as it last said.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What it may do here.
    #[serde(skip_serializing_if = "Option::is_none")]
    right: Option<&'static str>,
    /// What this machine may do there.
    #[serde(skip_serializing_if = "Option::is_none")]
    allows: Option<String>,
    sessions: Vec<Session>,
}

/// A machine and what it has, or why that is not known.
pub(super) struct Found {
    pub(super) machine: Arc<Machine>,
    pub(super) sessions: Result<Vec<Session>, String>,
    /// It answered, whatever it said.
    reachable: bool,
    /// What its daemon says of itself; absent of one that is older than greetings.
    greeting: Option<Greeting>,
}

pub(super) async fn show(
    State(app): State<App>,
    Extension(Caller(by)): Extension<Caller>,
    from: Option<Extension<From>>,
) -> Result<Json<Fleet>, Problem> {
    let me = app.engine.mesh().me();
    // Each machine shows what it shows to whoever asks through this one.
    let asked_by = asked_by(&by, from.map(|Extension(from)| from))?;
    let found = machines(&app, asked_by).await?;
    let met = app.engine.read(|r| r.devices()).await?;
    let met: BTreeMap<String, _> = met.into_iter().map(|device| (device.id.clone(), device)).collect();
    let shown = |found: Found| {
        let (why, sessions) = match found.sessions {
            Ok(sessions) => (found.greeting.as_ref().and_then(Greeting::misfit).map(str::to_string), sessions),
            Err(why) => (Some(why), Vec::new()),
        };
        let (device, is_me) = (met.get(&found.machine.id.0), found.machine.id == me.id);
        let (version, allows) = match found.greeting {
            Some(greeting) => (Some(greeting.version), greeting.right),
            None => (device.map(|d| d.version.clone()), None),
        };
        Shown {
            machine: found.machine.name.clone(),
            mesh: found.machine.mesh.clone(),
            id: found.machine.id.0.clone(),
            me: is_me,
            reachable: found.reachable,
            why,
            last_seen: device.filter(|_| !is_me).map(|d| Timestamp(d.seen).to_string()),
            version: version.filter(|version| !version.is_empty()),
            right: app.engine.right_of(&found.machine.id.0).filter(|_| !is_me).map(shrooms_core::rights::Right::word),
            allows: allows.filter(|_| !is_me),
            sessions,
        }
    };
    Ok(Json(Fleet { machines: found.into_iter().map(shown).collect() }))
}

/// A header that names the device which asks through this machine.
type AskedBy = Option<(HeaderName, HeaderValue)>;

/// All machines, this one first.
pub(super) async fn machines(app: &App, asked_by: AskedBy) -> Result<Vec<Found>, Problem> {
    let (me, all) = (app.engine.mesh().me(), app.engine.mesh().machines());
    let mut asking = JoinSet::new();
    for (place, machine) in all.iter().cloned().enumerate().filter(|(_, m)| m.id != me.id) {
        let (app, asked_by) = (app.clone(), asked_by.clone());
        asking.spawn(async move { (place, ask(&app, machine, asked_by).await) });
    }
    let own = Found {
        machine: me,
        sessions: Ok(sessions::own(app).await?),
        reachable: true,
        greeting: Some(Greeting::own(&app.config.version)),
    };
    let mut found = vec![(0, own)];
    while let Some(answer) = asking.join_next().await {
        found.push(answer.map_err(|e| Problem::new(Kind::Internal, format!("asking a machine broke off: {e}")))?);
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, found)| found).collect())
}

/// The greeting and the sessions at once: one that hangs costs no more than the limit.
async fn ask(app: &App, machine: Arc<Machine>, asked_by: AskedBy) -> Found {
    let (peer, out) = (app.engine.peer(&machine), app.engine.outbound());
    let greeting = out.get_small(&peer, "/v1/greeting", ANSWER, asked_by.clone(), GREETING_MAX);
    let sessions = out.get_small(&peer, "/v1/sessions", ANSWER, asked_by, SESSIONS_MAX);
    let (greeting, sessions) = tokio::join!(greeting, sessions);
    let greeting = greeting.ok().and_then(|said| Greeting::deserialize(said).ok()).map(Greeting::bounded);
    let reachable = match &sessions {
        Ok(_) | Err(CallError::Http { .. } | CallError::Refused(_)) => true,
        Err(CallError::Away(_) | CallError::Unsure(_)) => false,
    };
    if reachable {
        app.engine.met(&machine, greeting.as_ref().map_or("", |said| &said.version)).await;
    }
    let sessions = match sessions {
        Ok(answer) => {
            let read = Sessions::deserialize(answer).map(|s| s.sessions);
            match read {
                Ok(sessions) if sessions.len() > MAX_SESSIONS => {
                    Err(format!("{}: it lists {} sessions, and {MAX_SESSIONS} are taken", machine.name, sessions.len()))
                }
                read => read.map_err(|e| format!("{}: its answer cannot be read: {e}", machine.name)),
            }
        }
        Err(error) => Err(error.to_string()),
    };
    Found { machine, sessions, reachable, greeting }
}
