//! Finds out what became of a turn that nobody watches any more: ends every process of it, then
//! reads its trace. Asked until there is an answer; nothing else runs in the lane before.

use std::sync::Arc;
use std::time::Duration;

use shrooms_core::desk::{Input, Landed, TurnFact};
use shrooms_core::id::DeliveryNo;
use shrooms_core::row::{Delivery, DeliveryKind, Fence, Turn};
use shrooms_runner::{claude, crash};

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

pub(super) async fn settle(
    inner: &Arc<Inner>,
    fence: Fence,
    conversation: String,
    turn: Option<Arc<Turn>>,
    written: Vec<Arc<Delivery>>,
) {
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
        match shrooms_runner::clear_leftovers(&lock, &mark, TRY, true).await {
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
    if let Some(turn) = turn.filter(|t| t.stream && !t.counted) {
        super::stream::count::settled(inner, fence, conversation.clone(), dir, turn).await;
    }
    let result = trace.result;
    let exit = trace.exit.map(|record| super::run::exit(record, result));
    let said: Vec<DeliveryNo> = written.iter().filter(|d| d.kind == DeliveryKind::Say).map(|d| d.no).collect();
    let landed = landed(inner, conversation, written).await;
    for (no, landed) in landed.iter().filter(|(no, _)| said.contains(no)) {
        let note = match landed {
            Landed::No => continue,
            Landed::Yes => "a message of yours was read; what was done about it was cut off",
            Landed::Unknown => "whether a message of yours was read cannot be said; it is not repeated",
        };
        tracing::debug!(delivery = no.0, note);
        super::run::log(inner, fence, None, "note", note.to_string());
    }
    inner.observe(Input::Turn(fence, TurnFact::Trace { began: trace.started, exit, landed })).await;
}

/// What the conversation that the harness kept says of each message that was written. Read when
/// nothing of the run is alive any more.
async fn landed(inner: &Arc<Inner>, conversation: String, written: Vec<Arc<Delivery>>) -> Vec<(DeliveryNo, Landed)> {
    if written.is_empty() {
        return Vec::new();
    }
    let numbers: Vec<DeliveryNo> = written.iter().map(|d| d.no).collect();
    let me = inner.clone();
    let read = move || -> std::io::Result<Vec<(DeliveryNo, Landed)>> {
        let Some(dir) = &me.harnesses.claude_dir else {
            return Err(std::io::Error::other("it is not known where Claude Code keeps its conversations"));
        };
        let file = claude::conversation_file(dir, &conversation)?;
        let one = |d: Arc<Delivery>| {
            let landed = match &file {
                None => claude::Landed::No,
                Some(file) => claude::landed(file, &super::wire_id(&me, &d))?,
            };
            Ok(match landed {
                claude::Landed::No => (d.no, Landed::No),
                claude::Landed::Yes | claude::Landed::YesUnanswered => (d.no, Landed::Yes),
            })
        };
        written.into_iter().map(one).collect()
    };
    let read = tokio::task::spawn_blocking(read).await;
    match read.map_err(std::io::Error::other).and_then(|read| read) {
        Ok(landed) => landed,
        Err(error) => {
            tracing::warn!(%error, "a conversation cannot be read: what was written to it is not repeated");
            numbers.into_iter().map(|no| (no, Landed::Unknown)).collect()
        }
    }
}
