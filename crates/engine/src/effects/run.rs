//! Runs a program for a delivery, under its launcher, and tells the desk what is seen of it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use shrooms_core::Text;
use shrooms_core::desk::{Desk, Exit, Input, Retry, TurnFact};
use shrooms_core::id::DeliveryNo;
use shrooms_core::row::{Ask, Delivery, Fence, Harness, Lane, Session, Task};
use shrooms_runner::{Ended, ExitRecord, Input as Stdin, Refusal, RunEvent, RunSpec, crash};
use shrooms_store::LogLine;

use super::stream;
use crate::engine::Inner;
use crate::live::Pass;
use crate::wording;

/// How long what an earlier run left may take to end: a launcher that is writing its record has
/// half of it.
pub(super) const CLEAR: Duration = Duration::from_secs(20);
/// How long beyond its graces a launcher may take to end what it was told to end, and to write it
/// down; one that was stopped itself (SIGSTOP) would never.
pub(super) const ANSWER: Duration = Duration::from_secs(15);
/// Our own variables, which a daemon that was started from inside a session must not hand on.
pub(super) const OURS: [&str; 4] =
    ["SHROOMS_AGENT_SESSION", "SHROOMS_AGENT_STATE", "SHROOMS_AGENT_PASS", "SHROOMS_AGENT_RUN"];

/// The rows that a run needs, as committed.
pub(super) struct Rows {
    pub(super) session: Option<Arc<Session>>,
    pub(super) delivery: Option<Arc<Delivery>>,
    pub(super) task: Option<Arc<Task>>,
    pub(super) ask: Option<Arc<Ask>>,
    pub(super) lane: Option<Arc<Lane>>,
}

impl Rows {
    pub(super) fn of(desk: &Desk, fence: Fence, delivery: DeliveryNo) -> Rows {
        let delivery = desk.delivery(delivery).cloned();
        Rows {
            session: desk.session(fence.session).cloned(),
            task: delivery.as_ref().and_then(|d| d.task).and_then(|t| desk.task(t).cloned()),
            ask: delivery.as_ref().and_then(|d| d.ask).and_then(|a| desk.ask_row(a).cloned()),
            lane: desk.lane(fence.lane).cloned(),
            delivery,
        }
    }
}

pub(super) async fn run(inner: &Arc<Inner>, fence: Fence, rows: Rows) {
    if let Some(session) = rows.session.clone().filter(|s| s.harness.stays()) {
        return stream::run(inner, fence, session, rows.lane).await;
    }
    let task = rows.task.clone();
    let fact = match prepare(inner, fence, rows).await {
        Ok(spec) => drive(inner, fence, task, spec).await,
        Err((why, retry)) => TurnFact::NeverBegan { why, retry },
    };
    inner.observe(Input::Turn(fence, fact)).await;
}

async fn prepare(inner: &Arc<Inner>, fence: Fence, rows: Rows) -> Result<RunSpec, (String, Retry)> {
    let me = inner.clone();
    let made = tokio::task::spawn_blocking(move || spec(&me, fence, &rows)).await;
    made.unwrap_or_else(|e| Err((format!("internal: {e}"), Retry::Counted)))
}

fn spec(inner: &Inner, fence: Fence, rows: &Rows) -> Result<RunSpec, (String, Retry)> {
    let (Some(session), Some(delivery)) = (&rows.session, &rows.delivery) else {
        return Err(("its session or delivery is gone".into(), Retry::Counted));
    };
    let Harness::Command { argv, .. } = &session.harness else {
        return Err(("its harness is not in this version".into(), Retry::Counted));
    };
    let given =
        wording::compose(&inner.reader, &inner.machine(), session, delivery, rows.task.as_deref(), rows.ask.as_deref())
            .map_err(|e| (e.to_string(), Retry::Counted))?;
    let dir = super::run_dir(inner, fence.lane, fence.turn);
    super::make_dir(&dir).map_err(|e| {
        let retry = if is_full(&e) { Retry::Disk } else { Retry::Counted };
        (format!("cannot make {}: {e}", dir.display()), retry)
    })?;
    let mut env: BTreeMap<String, String> = given.env;
    env.insert("SHROOMS_AGENT_SESSION".into(), session.name.clone());
    env.insert("SHROOMS_AGENT_STATE".into(), inner.state.display().to_string());
    Ok(RunSpec {
        dir,
        lock: super::lock_file(inner, fence.lane),
        mark: super::run_mark(inner, &fence),
        program: argv.clone(),
        cwd: session.dir.clone().into(),
        env,
        env_remove: OURS.iter().map(|v| v.to_string()).collect(),
        stdin: Stdin::Text(given.stdin),
        grace_ms: u64::try_from(inner.grace.as_millis()).unwrap_or(shrooms_runner::DEFAULT_GRACE_MS),
    })
}

/// Whether a start failed for want of processes, memory or descriptors: that passes, and is not the
/// program's fault.
pub(super) fn lacks_something(e: &shrooms_runner::StartError) -> bool {
    let source = std::error::Error::source(e).and_then(|s| s.downcast_ref::<io::Error>());
    // EAGAIN, ENOMEM, ENFILE, EMFILE.
    source.and_then(io::Error::raw_os_error).is_some_and(|no| [11, 12, 23, 24].contains(&no))
}

pub(super) fn is_full(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

async fn drive(inner: &Arc<Inner>, fence: Fence, task: Option<Arc<Task>>, mut spec: RunSpec) -> TurnFact {
    let id = task.as_ref().map(|t| t.id.clone());
    let pass = match Pass::make() {
        Ok(pass) => pass,
        Err(e) => return TurnFact::NeverBegan { why: format!("no random bits: {e}"), retry: Retry::Counted },
    };
    spec.env.insert("SHROOMS_AGENT_PASS".into(), pass.expose().to_string());
    let crate::live::Begun { stopped, stop, .. } = inner.live.begin(fence.turn, fence.session, pass);
    if stopped {
        return TurnFact::NeverBegan { why: "it was stopped before it began".into(), retry: Retry::Soon };
    }
    crash::point("before_start");
    let dir = spec.dir.clone();
    let mut run = match shrooms_runner::start(&inner.launcher, &["__run"], spec).await {
        Ok(run) => run,
        Err(e) => {
            let retry = if lacks_something(&e) { Retry::Disk } else { Retry::Counted };
            return TurnFact::NeverBegan { why: e.to_string(), retry };
        }
    };
    inner.live.started(fence.turn, run.launcher_pid());
    crash::point("after_start");
    let patience = inner.grace * 2 + ANSWER;
    let mut overdue: Option<std::pin::Pin<Box<tokio::time::Sleep>>> = None;
    loop {
        let late = async {
            match overdue.as_mut() {
                Some(sleep) => sleep.await,
                None => std::future::pending().await,
            }
        };
        let event = tokio::select! {
            event = run.next() => event,
            () = stop.notified() => {
                run.stop();
                overdue.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
                continue;
            }
            () = late => {
                tracing::warn!(turn = fence.turn.0, "a launcher does not answer a stop: it is killed");
                run.kill();
                overdue = None;
                continue;
            }
        };
        match event {
            Some(RunEvent::Started { .. }) => {
                crash::point("began_seen");
                inner.observe(Input::Turn(fence, TurnFact::Began)).await;
            }
            Some(RunEvent::Words { line, stderr }) => {
                if let Some(task) = task.as_ref().filter(|_| !stderr) {
                    inner.say(task.no, &format!("{line}\n"));
                }
                log(inner, fence, id.clone(), if stderr { "error" } else { "words" }, line);
            }
            // Of a stream, which this is not.
            Some(RunEvent::Line(_)) => {}
            Some(RunEvent::Dropped(n)) => {
                log(inner, fence, id.clone(), "note", format!("({n} lines came too fast and were not kept here)"));
            }
            Some(RunEvent::Ended(ended)) => return end(inner, fence, &dir, ended).await,
            None => return TurnFact::Lost,
        }
    }
}

async fn end(inner: &Arc<Inner>, fence: Fence, dir: &Path, ended: Ended) -> TurnFact {
    match ended {
        Ended::Exit(record) => {
            crash::point("exit_seen");
            let result = match read_result(dir).await {
                Ok(result) => result,
                // The exit is in our hands: it does not depend on what the program left of its
                // directory.
                Err(error) => {
                    tracing::warn!(%error, "the result of a run cannot be read; its last lines stand for it");
                    None
                }
            };
            TurnFact::Ended(exit(record, result))
        }
        ended => not_run(inner, fence, ended).await,
    }
}

/// The end of a run that left no exit.
pub(super) async fn not_run(inner: &Arc<Inner>, fence: Fence, ended: Ended) -> TurnFact {
    match ended {
        Ended::Exit(_) | Ended::Lost => TurnFact::Lost,
        Ended::Refused { why: Refusal::LockBusy, text } => {
            let cleared = shrooms_runner::clear_leftovers(
                &super::lock_file(inner, fence.lane),
                &super::lane_mark(inner, fence.lane),
                CLEAR,
                false,
            )
            .await;
            if let Err(error) = cleared {
                tracing::warn!(%error, "an earlier run of this lane does not end");
            }
            TurnFact::NeverBegan { why: text, retry: Retry::Soon }
        }
        Ended::Refused { why: Refusal::Disk, text } => TurnFact::NeverBegan { why: text, retry: Retry::Disk },
        Ended::Refused { why: Refusal::Other, text } => TurnFact::NeverBegan { why: text, retry: Retry::Counted },
    }
}

async fn read_result(dir: &Path) -> io::Result<Option<String>> {
    let dir = dir.to_path_buf();
    let read = tokio::task::spawn_blocking(move || shrooms_runner::read_trace(&dir)).await;
    read.map_err(io::Error::other)?.map(|trace| trace.result)
}

/// A program's end as the desk takes it: what it wrote as its result, else its last lines.
pub(super) fn exit(record: ExitRecord, result: Option<String>) -> Exit {
    let words = result.filter(|r| !r.trim().is_empty()).unwrap_or(record.tail);
    Exit {
        code: record.code,
        signal: record.signal,
        spawn_error: record.spawn_error,
        stopped: record.stopped,
        words: Text::new(words),
    }
}

pub(super) fn log(inner: &Inner, fence: Fence, task: Option<String>, kind: &'static str, text: String) {
    inner.log_line(LogLine { seq: 0, session: fence.session.0, at: inner.clock.wall(), kind, task, text });
}
