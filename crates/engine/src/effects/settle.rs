//! Finds out what became of a turn that nobody watches any more: ends every process of it, then
//! reads its trace. Asked until there is an answer; nothing else runs in the lane before.

use std::sync::Arc;
use std::time::Duration;

use shrooms_core::desk::{Input, TurnFact};
use shrooms_core::row::Fence;
use shrooms_runner::crash;

use crate::engine::Inner;

/// How long one try to end the leftovers may take: a launcher that is writing its record has half
/// of it.
const TRY: Duration = Duration::from_secs(20);
/// Between two tries.
const GAP: Duration = Duration::from_secs(1);

/// The trace of what never began.
const NOTHING: shrooms_runner::Trace = shrooms_runner::Trace { started: false, exit: None, result: None };

/// The trace of what began and left no end.
const CUT_OFF: shrooms_runner::Trace = shrooms_runner::Trace { started: true, exit: None, result: None };

pub(super) async fn settle(inner: &Arc<Inner>, fence: Fence) {
    crash::point("before_settle");
    let lock = super::lock_file(inner, fence.lane);
    let mark = super::lane_mark(inner, fence.lane);
    let dir = super::run_dir(inner, fence.lane, fence.turn);
    let trace = loop {
        // Also where somebody has removed it: what runs is found by its marks all the same.
        if let Some(lane) = lock.parent()
            && let Err(error) = super::make_dir(lane)
        {
            tracing::warn!(%error, "the directory of a lane cannot be made");
        }
        match shrooms_runner::clear_leftovers(&lock, &mark, TRY).await {
            Ok(_) => {
                let at = dir.clone();
                match tokio::task::spawn_blocking(move || shrooms_runner::read_trace(&at)).await {
                    Ok(Ok(trace)) => break trace,
                    // Its directory was never made.
                    Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotFound => break NOTHING,
                    // Something else is in its place: it was there, and what became of it cannot be
                    // said. It is not run again.
                    Ok(Err(error)) if error.kind() == std::io::ErrorKind::NotADirectory => break CUT_OFF,
                    Ok(Err(error)) => tracing::warn!(%error, dir = %dir.display(), "a trace cannot be read yet"),
                    Err(error) => tracing::warn!(%error, "reading a trace failed"),
                }
            }
            Err(error) => tracing::warn!(%error, "what a run left behind does not end yet"),
        }
        tokio::select! {
            () = tokio::time::sleep(GAP) => {}
            () = inner.draining.cancelled() => return,
        }
    };
    inner.reap();
    crash::point("after_settle");
    let result = trace.result;
    let exit = trace.exit.map(|record| super::run::exit(record, result));
    inner.observe(Input::Turn(fence, TurnFact::Trace { began: trace.started, exit, landed: Vec::new() })).await;
}
