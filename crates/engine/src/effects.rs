//! Carries out what is due, each effect in a file of its own. Rows are read here, at the time of
//! their commit; the work itself runs beside the desk and comes back as an observation.

mod ask;
mod report;
mod run;
mod settle;

use std::path::PathBuf;
use std::sync::Arc;

use shrooms_core::desk::{Desk, Effect};
use shrooms_core::id::LaneNo;
use shrooms_core::row::{Fence, Turn};
use tokio::runtime::Handle;

use crate::engine::Inner;

/// Starts an effect whose rows are committed.
pub(crate) fn start(inner: &Arc<Inner>, desk: &Desk, effect: Effect, on: &Handle) {
    let me = inner.clone();
    match effect {
        Effect::Run { fence, delivery } => {
            let rows = run::Rows::of(desk, fence, delivery);
            inner.spawn(on, async move { run::run(&me, fence, rows).await });
        }
        Effect::Stop { fence } => inner.live.stop(fence.turn, fence.session),
        Effect::Settle { fence, .. } => inner.spawn(on, async move { settle::settle(&me, fence).await }),
        Effect::Send { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            let (id, by) = (desk.ask_id(ask), ask::claim(inner, desk, &row));
            inner.spawn(on, async move { ask::send(&me, &row, attempt, id, by).await });
        }
        Effect::Look { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            inner.spawn(on, async move { ask::look(&me, &row, attempt).await });
        }
        Effect::CancelAway { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            inner.spawn(on, async move { ask::cancel(&me, &row, attempt).await });
        }
        Effect::Report { outbox, .. } => {
            let Some(row) = desk.outbox_row(outbox).cloned() else { return };
            inner.spawn(on, async move { report::report(&me, &row).await });
        }
    }
}

/// Removes what a turn that has ended left on the disk, now that its end is committed.
pub(crate) fn tidy(inner: &Arc<Inner>, turn: &Turn, on: &Handle) {
    let dir = run_dir(inner, turn.lane, turn.no);
    inner.live.end(turn.no);
    inner.spawn(on, async move {
        let gone = tokio::fs::remove_dir_all(&dir).await;
        if let Err(error) = gone
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%error, dir = %dir.display(), "a run's directory stays behind");
        }
    });
}

fn lane_dir(inner: &Inner, lane: LaneNo) -> PathBuf {
    inner.state.join("run").join(format!("lane-{}", lane.0))
}

fn run_dir(inner: &Inner, lane: LaneNo, turn: shrooms_core::id::TurnNo) -> PathBuf {
    lane_dir(inner, lane).join(format!("turn-{}", turn.0))
}

fn lock_file(inner: &Inner, lane: LaneNo) -> PathBuf {
    lane_dir(inner, lane).join("lock")
}

/// What every process of a lane bears in its environment.
fn lane_mark(inner: &Inner, lane: LaneNo) -> String {
    format!("{}/{}/", inner.incarnation, lane.0)
}

fn run_mark(inner: &Inner, fence: &Fence) -> String {
    format!("{}{}", lane_mark(inner, fence.lane), fence.turn.0)
}
