//! The daemon's side of a run: starts the launcher, passes on what it says, asks it to stop, reaps
//! it. Always tells how it ended, once and last. It must not know what a lost run means.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::StartError;
use crate::wire::{self, ExitRecord, LAUNCHER_MARK, MARK, MAX_LINE, MAX_SPEC, Refusal, RunSpec, ToDaemon, ToLauncher};

/// 256 events, at most 4 MiB of the largest pieces, wait for who reads them.
const EVENTS: usize = 256;

/// 1 s: a reader that is away for longer loses lines (counted), so that the end of the run, which
/// comes behind them, is read while the launcher still waits to hand it over.
const PATIENCE: Duration = Duration::from_secs(1);

/// 15 s for a launcher to go after its last word; it needs none, and up to 10 s if we did not read.
const LAST_STEPS: Duration = Duration::from_secs(15);

/// What happens in a run, in order. [`RunEvent::Ended`] always comes, once and last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// `started` is on disk and the program runs, as the leader of its own process group.
    Started {
        pid: i32,
    },
    /// A line the program printed, without its end; at most 16 KiB of it, a longer one comes in
    /// pieces. Bytes that are no UTF-8 are replaced.
    Words {
        line: String,
        stderr: bool,
    },
    /// So many lines were lost here because they were not read fast enough.
    Dropped(u64),
    Ended(Ended),
}

/// How a run ended. The launcher is gone then; with `Exit` and `Refused` the lock is free of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The program, and everything it started, ended or could not be started.
    Exit(ExitRecord),
    /// The program was not run and will not be.
    Refused { why: Refusal, text: String },
    /// The launcher went without a word: it was killed. The program may still run: call
    /// [`clear_leftovers`](crate::clear_leftovers), then [`read_trace`](crate::read_trace) (it may
    /// have died after it wrote how the run ended).
    Lost,
}

/// A run under its launcher. Dropping it ends the run, as if the daemon were gone.
#[derive(Debug)]
pub struct Run {
    launcher: i32,
    events: mpsc::Receiver<RunEvent>,
    stop: watch::Sender<bool>,
}

impl Run {
    /// The launcher's process number.
    pub fn launcher_pid(&self) -> i32 {
        self.launcher
    }

    /// Ask the launcher to stop: TERM to everything, KILL after the spec's grace. Returns at once;
    /// the end comes as an event. Asking again changes nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// The next event; `None` after [`RunEvent::Ended`]. Cancel safe. Who does not read for a
    /// second loses lines, never the end.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.events.recv().await
    }
}

/// Start a run: `launcher launcher_args…` must call [`launcher_main`](crate::launcher_main).
///
/// Must be called within a Tokio runtime with I/O and time. The caller must have made the run's
/// directory, and be a subreaper ([`become_subreaper`](crate::become_subreaper)) if it wants to find
/// what a killed launcher leaves.
///
/// # Errors
/// Only when no launcher was started: then nothing ran and nothing was written.
pub async fn start(launcher: &Path, launcher_args: &[&str], spec: RunSpec) -> Result<Run, StartError> {
    let channel = |e| StartError::Channel(e);
    let line = wire::line(&spec).map_err(|e| channel(e.into()))?;
    if line.len() > MAX_SPEC {
        return Err(StartError::TooLarge { size: line.len(), limit: MAX_SPEC });
    }
    let (ours, theirs) = StdUnixStream::pair().map_err(channel)?;
    // Only our end: the launcher has threads that wait.
    ours.set_nonblocking(true).map_err(channel)?;
    let (from, to) = UnixStream::from_std(ours).map_err(channel)?.into_split();

    let child = spawn(launcher, launcher_args, &spec.mark, theirs.into())
        .map_err(|source| StartError::Launcher { program: launcher.to_owned(), source })?;
    // Absent only for a child that was waited for.
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();

    let (events_in, events) = mpsc::channel(EVENTS);
    let (stop, stops) = watch::channel(false);
    detach(talk(to, line, stops));
    detach(follow(child, from, events_in, spec.mark));
    Ok(Run { launcher: pid, events, stop })
}

#[allow(clippy::disallowed_methods, reason = "the one place where the daemon starts a process: a launcher")]
fn spawn(launcher: &Path, arguments: &[&str], mark: &str, control: OwnedFd) -> std::io::Result<Child> {
    // The command, and with it this process's copy of the launcher's end, goes with this function:
    // a copy kept here would hide the launcher's death.
    Command::new(launcher)
        .args(arguments)
        .stdin(Stdio::from(control))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        // The daemon may itself run in somebody's run, whose mark is not the launcher's.
        .env_remove(MARK)
        .envs(BTreeMap::from([(LAUNCHER_MARK, mark)]))
        // Of its own, so that an interrupt typed at the daemon's terminal is the daemon's alone.
        .process_group(0)
        .kill_on_drop(false)
        .spawn()
}

#[allow(
    clippy::disallowed_methods,
    reason = "both tasks end with the launcher or the handle, and must outlive a dropped handle to reap"
)]
fn detach(task: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(task));
}

/// Write the spec, then the stop when it is asked for; close the channel when the handle is gone.
/// Failed writes mean a launcher that is gone, which `follow` sees.
async fn talk(mut to: OwnedWriteHalf, spec: Vec<u8>, mut stops: watch::Receiver<bool>) {
    let mut gone = stops.clone();
    tokio::select! {
        written = to.write_all(&spec) => if written.is_err() { return },
        // A launcher that gets half a spec does nothing.
        () = closed(&mut gone) => return,
    }
    drop(spec);
    if stops.wait_for(|stop| *stop).await.is_ok() {
        if let Ok(line) = wire::line(&ToLauncher::Stop(true)) {
            let _ = to.write_all(&line).await;
        }
        closed(&mut stops).await;
    }
}

async fn closed(stops: &mut watch::Receiver<bool>) {
    while stops.changed().await.is_ok() {}
}

/// Pass on what the launcher says until it is silent for good, reap it, and tell how it ended.
async fn follow(mut child: Child, from: OwnedReadHalf, events: mpsc::Sender<RunEvent>, mark: String) {
    let mut from = BufReader::new(from);
    let mut relay = Relay { events, dropped: 0, behind: false };
    let mut end = Ended::Lost;
    while let Some(message) = read(&mut from, &mark).await {
        match message {
            ToDaemon::Started { pid } => relay.tell(RunEvent::Started { pid }).await,
            ToDaemon::Words { line, stderr } => relay.words(line, stderr).await,
            ToDaemon::Dropped(n) => relay.dropped += n,
            ToDaemon::Exit(record) => end = Ended::Exit(record),
            ToDaemon::Refused { why, text } => end = Ended::Refused { why, text },
        }
    }
    // Before the end is told: the lock frees only with the launcher, and who hears of the end may
    // start the next run at once.
    match timeout(LAST_STEPS, child.wait()).await {
        Ok(Ok(status)) => tracing::debug!(%mark, %status, "launcher ended"),
        // Somebody reaped it in our place; it is gone all the same.
        Ok(Err(e)) => tracing::debug!(%mark, error = %e, "launcher ended"),
        Err(_) => {
            tracing::warn!(%mark, "launcher does not go after its last word: killed");
            let _ = child.kill().await;
        }
    }
    relay.tell(RunEvent::Ended(end)).await;
}

/// The next message; `None` when the launcher is gone. What cannot be read is skipped: our own
/// program does not send it, and the end behind it must not be lost.
async fn read(from: &mut BufReader<OwnedReadHalf>, mark: &str) -> Option<ToDaemon> {
    loop {
        let mut line = Vec::new();
        // An error is the end, too: a launcher that went without reading our stop resets it.
        let read = from.take(MAX_LINE).read_until(b'\n', &mut line).await.unwrap_or(0);
        if read == 0 {
            return None;
        }
        match serde_json::from_slice(&line) {
            Ok(message) => return Some(message),
            Err(e) => tracing::warn!(%mark, error = %e, "unreadable line from the launcher"),
        }
    }
}

/// The bounded way to who holds the handle. A dropped handle takes everything silently.
struct Relay {
    events: mpsc::Sender<RunEvent>,
    dropped: u64,
    /// The reader was away for longer than we wait; no line waits until there is room again.
    behind: bool,
}

impl Relay {
    async fn words(&mut self, line: String, stderr: bool) {
        // Two places, for the gap and the line, or neither. Who is behind is not waited for, also
        // not by a timer of zero, which takes until its next tick.
        let places = if self.behind {
            self.events.try_reserve_many(2).ok()
        } else {
            match timeout(PATIENCE, self.events.reserve_many(2)).await {
                Ok(places) => places.ok(),
                Err(_) => None,
            }
        };
        let Some(mut places) = places else {
            self.behind = true;
            self.dropped += 1;
            return;
        };
        self.behind = false;
        if self.dropped > 0
            && let Some(place) = places.next()
        {
            place.send(RunEvent::Dropped(self.dropped));
            self.dropped = 0;
        }
        if let Some(place) = places.next() {
            place.send(RunEvent::Words { line, stderr });
        }
    }

    /// What is never dropped waits as long as it takes.
    async fn tell(&mut self, event: RunEvent) {
        if self.dropped > 0 {
            let gap = RunEvent::Dropped(std::mem::take(&mut self.dropped));
            let _ = self.events.send(gap).await;
        }
        let _ = self.events.send(event).await;
    }
}
