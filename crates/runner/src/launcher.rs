//! The launcher: the process between daemon and program. It holds the lane's lock, writes what must
//! survive, and outlives everything the program started. Threads only: it must be small, start fast
//! and have nothing that can be half shut down. It must not know what the program is for.

mod input;
mod output;
mod tree;

use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::WaitOptions;

use self::input::Feed;
use self::output::{Outbox, Sink};
use self::tree::{Note, Outcome, Watch};
use crate::clock::wall_ms;
use crate::record::{self, Reserved};
use crate::wire::{
    ExitRecord, Input, LAUNCHER_MARK, MARK, MAX_SPEC, MAX_STREAM_LINE, MAX_TO_LAUNCHER, RESULT, Refusal, RunSpec,
    ToDaemon, ToLauncher,
};
use crate::{become_subreaper, crash, lock};

/// 10 s to hand the end to a daemon that is slow to read: it is on disk already, and the lock must
/// not wait for long.
const REPORT: Duration = Duration::from_secs(10);

/// Notes between the launcher's threads; senders wait when it is full, and the main thread reads all
/// the time, so that any number would do.
const NOTES: usize = 64;

/// What a process started as a launcher does, from first to last. Its stdin is the control channel
/// of [`start`](crate::start). It must be called before the process has other threads or children.
pub fn launcher_main() -> ExitCode {
    crash::arm_from_env();
    match launch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            log(&format!("launcher: {e}"));
            ExitCode::FAILURE
        }
    }
}

/// To stderr, which is the daemon's log; the launcher has no other place to speak.
fn log(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn launch() -> io::Result<()> {
    // A copy that programs do not inherit; descriptor 0 itself is replaced in them.
    let control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut from_daemon = BufReader::new(control.try_clone()?);
    let Some(spec) = read_spec(&mut from_daemon)? else { return Ok(()) };
    let outbox = Outbox::start(control)?;
    let end = match Ready::make(&spec, from_daemon, &outbox) {
        Ok(ready) => ToDaemon::Exit(ready.run(&spec, &outbox)),
        Err(Refused { why, text }) => ToDaemon::Refused { why, text },
    };
    outbox.tell(end);
    outbox.finish(REPORT);
    Ok(())
}

/// `None` when the daemon went away before it had said everything: nothing was asked for.
fn read_spec(from: &mut BufReader<UnixStream>) -> io::Result<Option<RunSpec>> {
    let mut line = Vec::new();
    from.by_ref().take(MAX_SPEC as u64).read_until(b'\n', &mut line)?;
    if line.last() != Some(&b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

struct Refused {
    why: Refusal,
    text: String,
}

impl Refused {
    fn other(text: impl Into<String>) -> Self {
        Self { why: Refusal::Other, text: text.into() }
    }

    fn io(what: &str, e: &io::Error) -> Self {
        let why = match e.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Refusal::Disk,
            _ => Refusal::Other,
        };
        Self { why, text: format!("{what}: {e}") }
    }
}

/// Everything that can be refused is behind us: the lock is held, the end has its place on disk,
/// the threads exist, `started` is written.
struct Ready {
    /// Inherited by the program; free when the last process that has it is gone.
    _lock: File,
    stdin: Stdio,
    feed: Option<Feed>,
    exit: Reserved,
    sink: Sink,
    outputs: (PipeWriter, PipeWriter),
    hold: Hold,
    notes: Receiver<Note>,
    reap: SyncSender<()>,
}

impl Ready {
    fn make(spec: &RunSpec, from_daemon: BufReader<UnixStream>, outbox: &Outbox) -> Result<Self, Refused> {
        if spec.program.is_empty() {
            return Err(Refused::other("no program to run"));
        }
        if !spec.dir.is_absolute() || !spec.lock.is_absolute() {
            return Err(Refused::other("the run's directory and lock must be absolute paths"));
        }
        become_subreaper().map_err(|e| Refused::io("cannot become a subreaper", &e))?;
        crash::point("launcher_before_lock");
        let lock =
            lock::take(&spec.lock).map_err(|e| Refused::io("cannot take the lane's lock", &e))?.ok_or_else(|| {
                Refused {
                    why: Refusal::LockBusy,
                    text: "an earlier run of the lane, or something it left, still runs".into(),
                }
            })?;
        // Only now, with the lock held: a daemon that was alive at this moment finds the lock held
        // when it comes back, and one that was not has perhaps been replaced by one that found the
        // lane clear and read that this run did not start.
        if !daemon_waits(&from_daemon) {
            return Err(Refused::other("stopped before it started"));
        }
        if record::used(&spec.dir).map_err(|e| Refused::io("cannot read the run's directory", &e))? {
            return Err(Refused::other("the run's directory was used before: a run runs once"));
        }
        let prepared =
            record::prepare(&spec.dir, &spec.stdin).map_err(|e| Refused::io("cannot write the run's files", &e))?;
        crash::point("launcher_before_started");
        let threads = Threads::start(from_daemon, outbox, spec.stdin == Input::Stream).map_err(|e| {
            record::undo(&spec.dir);
            Refused::io("cannot make the launcher's threads", &e)
        })?;
        record::write_started(&spec.dir, &spec.mark)
            .map_err(|e| Refused::io("cannot write that the run started", &e))?;
        crash::point("launcher_after_started");
        let Threads { sink, input, outputs, hold, notes, reap } = threads;
        let (stdin, feed) = match (input, prepared.stdin) {
            (Some((pipe, feed)), _) => (pipe.into(), Some(feed)),
            (None, Some(text)) => (text.into(), None),
            (None, None) => (Stdio::null(), None),
        };
        Ok(Self { _lock: lock, stdin, feed, exit: prepared.exit, sink, outputs, hold, notes, reap })
    }

    /// Run the program to its end and write the end down. The lock frees with this process.
    fn run(self, spec: &RunSpec, outbox: &Outbox) -> ExitRecord {
        let mut watch = Watch::new(self.notes, Duration::from_millis(spec.grace_ms), self.feed);
        let mut spawn_error = None;
        let mut outcome = Outcome { code: None, signal: None, stopped: false };
        match spawn(spec, self.stdin, self.outputs) {
            Ok(pid) => {
                crash::point("launcher_after_spawn");
                outbox.tell(ToDaemon::Started { pid });
                drop(self.hold);
                // Not before: it would take a child that failed to start from under the standard
                // library, which waits for that one itself.
                let _ = self.reap.send(());
                outcome = watch.watch(pid);
            }
            Err(e) => {
                drop(self.hold);
                spawn_error = Some(e);
            }
        }
        // Who asked for the stop waits for the lock, not for the last lines.
        watch.drain(|| outbox.is_stuck() && !outcome.stopped);
        outbox.end_lines();
        crash::point("launcher_before_exit");
        let record = ExitRecord {
            code: outcome.code,
            signal: outcome.signal,
            spawn_error,
            stopped: outcome.stopped,
            tail: self.sink.tail(),
            at_ms: wall_ms(),
        };
        let record = match self.exit.write(&spec.dir, record.clone()) {
            Ok(written) => written,
            Err(e) => {
                log(&format!("launcher: cannot write how {} ended: {e}", spec.mark));
                record
            }
        };
        crash::point("launcher_after_exit");
        record
    }
}

/// Whether the daemon is there and has not said anything since the spec (which could only be stop).
fn daemon_waits(from_daemon: &BufReader<UnixStream>) -> bool {
    let mut byte = [0_u8; 1];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    from_daemon.buffer().is_empty()
        && matches!(
            rustix::net::recv(from_daemon.get_ref(), &mut byte[..], flags),
            Err(Errno::WOULDBLOCK | Errno::INTR)
        )
}

/// The threads that a running program needs, made before it runs so that they cannot be missing.
struct Threads {
    sink: Sink,
    /// Of a stream: the program's end, and the way there.
    input: Option<(PipeReader, Feed)>,
    outputs: (PipeWriter, PipeWriter),
    hold: Hold,
    notes: Receiver<Note>,
    reap: SyncSender<()>,
}

/// Output is read when this is dropped: what the program prints comes behind the word that it runs,
/// which a stream's input waits for.
type Hold = [SyncSender<()>; 2];

impl Threads {
    fn start(from_daemon: BufReader<UnixStream>, outbox: &Outbox, is_stream: bool) -> io::Result<Self> {
        let (tell, notes) = mpsc::sync_channel(NOTES);
        let input = if is_stream {
            let (program, ours) = io::pipe()?;
            Some((program, Feed::start(ours, outbox.clone())?))
        } else {
            None
        };
        listen(from_daemon, tell.clone(), input.as_ref().map(|(_, feed)| feed.clone()))?;
        let sink = Sink::new(outbox.clone());
        let (out, out_end) = io::pipe()?;
        let (err, err_end) = io::pipe()?;
        let hold_out = pump(tell.clone(), {
            let sink = sink.clone();
            move || if is_stream { sink.pump_lines(out) } else { sink.pump(out, false) }
        })?;
        let hold_err = pump(tell.clone(), {
            let sink = sink.clone();
            move || sink.pump(err, true)
        })?;
        let (reap, go) = mpsc::sync_channel(1);
        thread::Builder::new().name("reaper".into()).spawn(move || {
            if go.recv().is_ok() {
                reap_all(&tell);
            }
        })?;
        Ok(Self { sink, input, outputs: (out_end, err_end), hold: [hold_out, hold_err], notes, reap })
    }
}

fn pump(to: SyncSender<Note>, read_all: impl FnOnce() + Send + 'static) -> io::Result<SyncSender<()>> {
    let (hold, held) = mpsc::sync_channel(1);
    thread::Builder::new().name("output".into()).spawn(move || {
        // Ends with the sender.
        let _ = held.recv();
        read_all();
        let _ = to.send(Note::OutputEnded);
    })?;
    Ok(hold)
}

/// Reap every child, also the orphans that come back, until there is none: then nothing is below
/// this process any more, since each descendant's line of parents leads here.
fn reap_all(to: &SyncSender<Note>) {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let pid = pid.as_raw_nonzero().get();
                let note = Note::Reaped(pid, status.exit_status(), status.terminating_signal());
                if to.send(note).is_err() {
                    return;
                }
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => {
                let _ = to.send(Note::NoChildren);
                return;
            }
        }
    }
}

/// Hear the daemon until it is gone. Nothing here waits for the program.
fn listen(mut from: BufReader<UnixStream>, to: SyncSender<Note>, feed: Option<Feed>) -> io::Result<()> {
    thread::Builder::new().name("from-daemon".into()).spawn(move || {
        while let Some(message) = hear(&mut from) {
            let told = match (message, &feed) {
                (Heard::Stop, _) => to.send(Note::Stop).is_ok(),
                (Heard::Input(bytes), Some(feed)) => {
                    feed.put(bytes);
                    true
                }
                (Heard::CloseInput, Some(feed)) => {
                    feed.close();
                    true
                }
                (Heard::Input(_) | Heard::CloseInput | Heard::Nothing, _) => true,
            };
            if !told {
                return;
            }
        }
        let _ = to.send(Note::DaemonGone);
    })?;
    Ok(())
}

enum Heard {
    Stop,
    Input(Vec<u8>),
    CloseInput,
    Nothing,
}

/// The next message; `None` when the daemon is gone, or says what it never would.
fn hear(from: &mut BufReader<UnixStream>) -> Option<Heard> {
    let mut line = Vec::new();
    if from.take(MAX_TO_LAUNCHER).read_until(b'\n', &mut line).ok()? == 0 {
        return None;
    }
    match serde_json::from_slice(&line) {
        Ok(ToLauncher::Stop(true)) => Some(Heard::Stop),
        Ok(ToLauncher::CloseInput(true)) => Some(Heard::CloseInput),
        Ok(ToLauncher::Input(length)) if length <= MAX_STREAM_LINE + 1 => {
            let mut bytes = vec![0; length];
            from.read_exact(&mut bytes).ok()?;
            Some(Heard::Input(bytes))
        }
        Ok(ToLauncher::Input(_)) => None,
        Ok(ToLauncher::Stop(false) | ToLauncher::CloseInput(false)) | Err(_) => Some(Heard::Nothing),
    }
}

/// The program's number, or why it could not be started.
#[allow(
    clippy::disallowed_methods,
    reason = "the launcher is where programs are started: it ends them, whatever happens"
)]
fn spawn(spec: &RunSpec, stdin: Stdio, outputs: (PipeWriter, PipeWriter)) -> Result<i32, String> {
    use std::os::unix::process::CommandExt;

    let Some((program, arguments)) = spec.program.split_first() else {
        return Err("no program to run".into());
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&spec.cwd);
    for name in spec.env_remove.iter().map(String::as_str).chain([LAUNCHER_MARK, crash::CRASH_AT]) {
        command.env_remove(name);
    }
    command
        .envs(&spec.env)
        .env(MARK, &spec.mark)
        .env(RESULT, spec.dir.join(record::RESULT_FILE))
        .stdin(stdin)
        .stdout(Stdio::from(OwnedFd::from(outputs.0)))
        .stderr(Stdio::from(OwnedFd::from(outputs.1)))
        // Of its own, so that what the program sends to its group does not reach the launcher.
        .process_group(0);
    match command.spawn() {
        // The number always fits: the kernel's largest is 2^22.
        Ok(child) => i32::try_from(child.id()).map_err(|e| e.to_string()),
        Err(e) if !spec.cwd.is_dir() => {
            Err(format!("cannot start {program} in {}: {e}: no such directory", spec.cwd.display()))
        }
        Err(e) => Err(format!("cannot start {program}: {e}")),
    }
}
