//! `/v1/sessions/NAME/wanted`: whether a session that waits for another agent should stop waiting,
//! because something waits for it: a word of a person or of whoever asked it, or a task from the very
//! agent it waits for (`spec/tasks.md`, "The asker's side"). Two that wait for each other would stand
//! still.

use std::time::Duration;

use axum::Json;
use serde::{Deserialize, Serialize};
use shrooms_core::Principal;
use shrooms_core::row::{Delivery, DeliveryKind, DeliveryState, Task};
use shrooms_engine::{Reader, StoreError};

use super::input::{Asked, Part, within};
use super::sessions;
use crate::app::{App, State};
use crate::problem::Problem;
use crate::wait;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Query {
    /// The agent that is waited for, `MACHINE/SESSION`.
    by: Option<String>,
    /// Seconds.
    wait: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct Wanted {
    /// By what, for people; null = by nothing.
    wanted: Option<String>,
}

pub(super) async fn get(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<Query>,
) -> Result<Json<Wanted>, Problem> {
    let seconds = within("wait", query.wait.unwrap_or(0), 0, wait::LONGEST.as_secs())?;
    let lane = sessions::row(&app, &name).await?.lane.no;
    let by = query.by.unwrap_or_default();
    let mut feed = app.engine.feed();
    let deadline = tokio::time::sleep(Duration::from_secs(seconds));
    tokio::pin!(deadline);
    loop {
        feed.mark_unchanged();
        let (by, machine) = (by.clone(), app.engine.machine());
        let wanted = app.engine.read(move |r| {
            let said = r.deliveries(lane)?.iter().find_map(said);
            let asked = || -> Result<Option<String>, StoreError> {
                for task in r.open_tasks(lane)?.iter().filter(|t| !t.dispatched) {
                    if let Some(why) = asked(r, task, &by, &machine)? {
                        return Ok(Some(why));
                    }
                }
                Ok(None)
            };
            match said {
                Some(said) => Ok(Some(said)),
                None => asked(),
            }
        });
        let wanted = wanted.await?;
        if wanted.is_some() || deadline.is_elapsed() || app.shutdown.is_cancelled() {
            return Ok(Json(Wanted { wanted }));
        }
        tokio::select! {
            changed = feed.changed() => if changed.is_err() { return Ok(Json(Wanted { wanted: None })) },
            () = &mut deadline => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

/// A word for the turn that waits.
fn said(delivery: &Delivery) -> Option<String> {
    let unread = matches!(delivery.state, DeliveryState::Planned | DeliveryState::Attempting);
    match delivery.kind {
        DeliveryKind::Say if unread => Some("a message of your owner".into()),
        DeliveryKind::Correction if unread => Some("more on the task that you work on".into()),
        _ => None,
    }
}

/// A task from the owner, or from the agent that is waited for.
fn asked(r: &Reader, task: &Task, by: &str, machine: &str) -> Result<Option<String>, StoreError> {
    let from = match &task.sender.principal {
        Principal::Owner => return Ok(Some(format!("a task of your owner, {}", task.id))),
        Principal::Session(uid) => r.session(*uid)?.map(|s| format!("{machine}/{}", s.name)),
        Principal::Device { .. } => task.sender.claim.clone(),
    };
    Ok(from.filter(|from| from == by).map(|from| format!("a task of {from}, which you wait for: {}", task.id)))
}
