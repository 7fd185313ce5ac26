//! The daemon's side of a run: starts the launcher, passes on what it says, asks it to stop, reaps
//! it. Always tells how it ended, once and last. It must not know what a lost run means.

mod talk;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, Command};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::time::timeout;

use self::talk::{Lines, talk};
use crate::StartError;
use crate::proc;
use crate::wire::{
    self, ExitRecord, Input, LAUNCHER_MARK, MARK, MAX_LINE, MAX_SPEC, MAX_STREAM_LINE, Refusal, RunSpec, ToDaemon,
};

pub use self::talk::WriteError;

/// 256 events, at most 4 MiB of the largest pieces, wait for who reads them.
const EVENTS: usize = 256;

/// 4 MiB of a stream's lines wait for who reads them, in KiB; a longer line waits alone.
const LINES_KIB: u32 = 4 * 1024;

/// 1 s: a reader that is away for longer loses lines (counted), so that the end of the run, which
/// comes behind them, is read while the launcher still waits to hand it over.
const PATIENCE: Duration = Duration::from_secs(1);

/// 15 s for a launcher to go after its last word; it needs none, and up to 10 s if we did not read.
const LAST_STEPS: Duration = Duration::from_secs(15);

/// What happens in a run, in order. [`RunEvent::Ended`] always comes, once and last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    /// `started` is on disk and the program runs, as the leader of its own process group. Before
    /// anything it prints.
    Started {
        pid: i32,
    },
    /// A line the program printed, without its end; at most 16 KiB of it, a longer one comes in
    /// pieces. Bytes that are no UTF-8 are replaced.
    Words {
        line: String,
        stderr: bool,
    },
    /// A line the program of a stream printed on stdout, whole and without its end; at most 64 MiB,
    /// longer ones are left out and counted. Bytes that are no UTF-8 are replaced.
    Line(String),
    /// So many lines were lost here because they were not read fast enough. In a stream only those
    /// that nobody read for ten seconds after everything had ended.
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
    events: mpsc::Receiver<Told>,
    stop: watch::Sender<bool>,
    lines: Lines,
}

/// An event, with the room it takes until it is read.
#[derive(Debug)]
struct Told {
    event: RunEvent,
    _room: Option<OwnedSemaphorePermit>,
}

impl From<RunEvent> for Told {
    fn from(event: RunEvent) -> Self {
        Self { event, _room: None }
    }
}

impl Run {
    /// The launcher's process number.
    pub fn launcher_pid(&self) -> i32 {
        self.launcher
    }

    /// Write a line, given without its end, to the program of a stream. Done when it is on its way,
    /// which says nothing of whether the program has read it; waits for room while the program does
    /// not read. Lines arrive in the order in which they were first polled, whole or not at all.
    ///
    /// Wait for it beside [`Run::next`], not instead: a program that waits for its output to be read
    /// may not read its input.
    ///
    /// # Errors
    /// [`WriteError`]: the line was not written and will not be.
    pub fn write(&self, line: String) -> impl Future<Output = Result<(), WriteError>> + Send + use<> {
        self.lines.write(line)
    }

    /// End the input of a stream, behind what was written. Returns at once.
    pub fn close_input(&self) {
        self.lines.close();
    }

    /// Ask the launcher to stop: in a stream the end of input and the spec's grace, then TERM to
    /// everything, KILL after the grace. Returns at once; the end comes as an event. Asking again
    /// changes nothing.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Kill the launcher outright: for one that does not answer a stop (it may have been stopped
    /// itself). What it ran is then found by [`clear_leftovers`](crate::clear_leftovers); the end comes
    /// as [`Ended::Lost`].
    pub fn kill(&self) {
        if let Some(launcher) = proc::look(self.launcher) {
            // It may end by itself at this very moment.
            let _ = proc::signal(&launcher, rustix::process::Signal::KILL);
        }
    }

    /// The next event; `None` after [`RunEvent::Ended`]. Cancel safe. Who does not read for a
    /// second loses words, never the end and no line of a stream.
    pub async fn next(&mut self) -> Option<RunEvent> {
        self.events.recv().await.map(|told| told.event)
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
    let (started, starts) = watch::channel(false);
    let (lines, written) = Lines::new();
    let is_stream = spec.stdin == Input::Stream;
    if !is_stream {
        lines.end();
    }
    detach(talk(to, line, stops, is_stream.then_some(written), starts));
    detach(follow(child, from, Relay::new(events_in), lines.clone(), started, spec.mark));
    Ok(Run { launcher: pid, events, stop, lines })
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

/// Pass on what the launcher says until it is silent for good, reap it, and tell how it ended.
async fn follow(
    mut child: Child,
    from: OwnedReadHalf,
    mut relay: Relay,
    lines: Lines,
    started: watch::Sender<bool>,
    mark: String,
) {
    let mut from = BufReader::new(from);
    let mut end = Ended::Lost;
    while let Some(message) = read(&mut from, &mark).await {
        match message {
            ToDaemon::Started { pid } => {
                lines.open();
                started.send_replace(true);
                relay.tell(RunEvent::Started { pid }).await;
            }
            ToDaemon::Words { line, stderr } => relay.words(line, stderr).await,
            ToDaemon::Dropped(n) => relay.dropped += n,
            ToDaemon::Line(length) => match relay.line(&mut from, length).await {
                Ok(()) => {}
                Err(e) => {
                    tracing::warn!(%mark, error = %e, "a line from the launcher is cut off");
                    break;
                }
            },
            ToDaemon::Taken(bytes) => lines.taken(bytes),
            ToDaemon::Exit(record) => end = Ended::Exit(record),
            ToDaemon::Refused { why, text } => end = Ended::Refused { why, text },
        }
    }
    lines.end();
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
    events: mpsc::Sender<Told>,
    dropped: u64,
    /// The reader was away for longer than we wait; no line waits until there is room again.
    behind: bool,
    /// KiB of a stream's lines that may wait.
    room: Arc<Semaphore>,
}

impl Relay {
    fn new(events: mpsc::Sender<Told>) -> Self {
        Self { events, dropped: 0, behind: false, room: Arc::new(Semaphore::new(LINES_KIB as usize)) }
    }

    /// A line of a stream, read only when there is room for it: the launcher waits meanwhile, and
    /// the program with it.
    async fn line(&mut self, from: &mut BufReader<OwnedReadHalf>, length: usize) -> std::io::Result<()> {
        if length > MAX_STREAM_LINE {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let kib = u32::try_from(length / 1024 + 1).unwrap_or(LINES_KIB).min(LINES_KIB);
        // Never closed; with the reader gone all room is free.
        let room = self.room.clone().acquire_many_owned(kib).await.ok();
        let mut line = vec![0; length];
        from.read_exact(&mut line).await?;
        let line =
            String::from_utf8(line).unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned());
        self.gap().await;
        let _ = self.events.send(Told { event: RunEvent::Line(line), _room: room }).await;
        Ok(())
    }

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
            place.send(RunEvent::Dropped(self.dropped).into());
            self.dropped = 0;
        }
        if let Some(place) = places.next() {
            place.send(RunEvent::Words { line, stderr }.into());
        }
    }

    /// What is never dropped waits as long as it takes.
    async fn tell(&mut self, event: RunEvent) {
        self.gap().await;
        let _ = self.events.send(event.into()).await;
    }

    async fn gap(&mut self) {
        if self.dropped > 0 {
            let gap = RunEvent::Dropped(std::mem::take(&mut self.dropped));
            let _ = self.events.send(gap.into()).await;
        }
    }
}
