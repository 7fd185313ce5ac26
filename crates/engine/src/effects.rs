//! Carries out what is due, each effect in a file of its own. Rows are read here, at the time of
//! their commit; the work itself runs beside the desk and comes back as an observation.

pub(crate) mod ask;
mod report;
pub(crate) mod run;
mod settle;
pub(crate) mod stream;

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shrooms_core::desk::{Desk, Effect};
use shrooms_core::id::LaneNo;
use shrooms_core::row::{Fence, Open, Turn};
use tokio::runtime::Handle;

use crate::engine::Inner;
use crate::live::{Command, Written};

/// Starts an effect whose rows are committed.
pub(crate) fn start(inner: &Arc<Inner>, desk: &Desk, effect: Effect, on: &Handle) {
    let me = inner.clone();
    match effect {
        Effect::Run { fence, delivery } => {
            let rows = run::Rows::of(desk, fence, delivery);
            inner.spawn(on, async move { run::run(&me, fence, rows).await });
        }
        Effect::Interrupt { fence, .. } => inner.live.tell(fence.turn, fence.session, Command::Interrupt),
        Effect::Write { fence, delivery, attempt } => {
            let rows = run::Rows::of(desk, fence, delivery);
            let Some(row) = rows.delivery else { return };
            let about = row.about.iter().filter_map(|no| desk.task(*no).cloned()).collect();
            let quiet = desk.lane(fence.lane).map_or(0, |l| desk.meta().served - l.quiet_since);
            let written = Written {
                no: delivery,
                attempt,
                delivery: row,
                task: rows.task,
                ask: rows.ask,
                about,
                quiet_secs: u64::try_from(quiet / 1_000).unwrap_or_default(),
                reminders: inner.settings.watchdog.reminders(),
            };
            inner.live.tell(fence.turn, fence.session, Command::Write(Box::new(written)));
        }
        Effect::Answer { fence, prompt } => {
            let Some(prompt) = desk.prompt(prompt).cloned() else { return };
            inner.live.tell(fence.turn, fence.session, Command::Answer(prompt));
        }
        Effect::Stop { fence } => inner.live.stop(fence.turn, fence.session),
        Effect::Settle { fence, .. } => {
            let written = desk.written_in(fence.turn);
            let conversation = desk.conversation_id(fence.lane);
            let turn = desk.turn(fence.turn).cloned();
            inner.spawn(on, async move { settle::settle(&me, fence, conversation, turn, written).await });
        }
        Effect::Send { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            let (id, by) = (desk.ask_id(ask), ask::claim(inner, desk, &row));
            inner.spawn_away(on, async move { ask::send(&me, &row, attempt, id, by).await });
        }
        Effect::Look { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            inner.spawn_away(on, async move { ask::look(&me, &row, attempt).await });
        }
        Effect::CancelAway { ask, attempt } => {
            let Some(row) = desk.ask_row(ask).cloned() else { return };
            inner.spawn_away(on, async move { ask::cancel(&me, &row, attempt).await });
        }
        Effect::Report { outbox, .. } => {
            let Some(row) = desk.outbox_row(outbox).cloned() else { return };
            inner.spawn_away(on, async move { report::report(&me, &row).await });
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

/// Makes a directory, and those above it, private to the user.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)
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
    format!("{}/{}/", inner.mark, lane.0)
}

/// Removes what runs left that are over, and lanes that are gone: a crash or a drain leaves them.
pub(crate) fn tidy_all(state: &Path, open: &Open) {
    let run = state.join("run");
    let lanes: Vec<String> = open.lanes.iter().map(|l| format!("lane-{}", l.no.0)).collect();
    let turns: Vec<PathBuf> =
        open.turns.iter().map(|t| run.join(format!("lane-{}", t.lane.0)).join(format!("turn-{}", t.no.0))).collect();
    for lane in entries(&run).filter(|e| is_named(e, "lane-")) {
        for turn in entries(&lane).filter(|e| is_named(e, "turn-") && !turns.contains(e)) {
            remove(&turn);
        }
        let name = lane.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let used = turns.iter().any(|t| t.starts_with(&lane));
        if !used && !lanes.contains(&name) {
            remove(&lane);
        }
    }
}

fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path())
}

fn is_named(path: &Path, prefix: &str) -> bool {
    path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(prefix))
}

fn remove(path: &Path) {
    let gone = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    if let Err(error) = gone {
        tracing::warn!(%error, path = %path.display(), "what an earlier run left stays behind");
    }
}

/// The id under which a delivery is written to a harness: another for each time that something is
/// said once more although it may have been read.
fn wire_id(inner: &Inner, delivery: &shrooms_core::row::Delivery) -> String {
    let repeat = if delivery.repeat { delivery.attempt } else { 0 };
    shrooms_core::id::wire_id(&inner.incarnation, delivery.no, repeat)
}

fn run_mark(inner: &Inner, fence: &Fence) -> String {
    format!("{}{}", lane_mark(inner, fence.lane), fence.turn.0)
}
