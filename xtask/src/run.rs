//! Runs one line: streams what it prints, counts what it says, ends it and its children on Ctrl-C
//! or when it hangs. It must not know what the line is for.

use std::cell::RefCell;
use std::fmt;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};

use crate::suites::Line;
use crate::tally::Tally;

/// How long children may take to end on SIGTERM, and how long output is waited for after the end:
/// enough for a daemon's drain, short for the person who pressed Ctrl-C.
const GRACE: Duration = Duration::from_secs(3);

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Well,
    Badly,
    /// It was ended, because it ran longer than allowed.
    Hung,
}

/// What happens to the output of a line that is counted.
pub struct Counted<'a> {
    pub tally: &'a mut Tally,
    /// Shows a line, with its end, of this stream.
    pub show: fn(Stream, &[u8]),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

/// Passes a line on to where ours go. A closed terminal must not end the count.
pub fn show(stream: Stream, line: &[u8]) {
    let _ = match stream {
        Stream::Out => std::io::stdout().write_all(line),
        Stream::Err => std::io::stderr().write_all(line),
    };
}

/// The person stopped the run.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("interrupted")
    }
}

impl std::error::Error for Interrupted {}

/// Listens for the signals that end a run.
pub struct Stop([Signals; 3]);

impl Stop {
    pub fn new() -> Result<Self> {
        let on = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self([on(SignalKind::interrupt())?, on(SignalKind::terminate())?, on(SignalKind::hangup())?]))
    }

    /// Returns when one came.
    pub async fn asked(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Runs `line` in `root`, for at most `limit`. Its output is counted while it is shown, or else goes
/// where ours goes.
///
/// # Errors
/// [`Interrupted`]; or the program cannot be started.
pub async fn run(
    line: &Line,
    root: &Path,
    limit: Duration,
    counted: Option<Counted<'_>>,
    stop: &mut Stop,
) -> Result<Ended> {
    let mut child = start(line, root, counted.is_some())?;
    // Its own group, so that one signal reaches everything below it.
    let group = child.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
    let mut nothing = Tally::default();
    let Counted { tally, show } = counted.unwrap_or(Counted { tally: &mut nothing, show });
    let tally = RefCell::new(tally);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let output = async {
        tokio::join!(
            copy(stdout, &tally, |line| show(Stream::Out, line)),
            copy(stderr, &tally, |line| show(Stream::Err, line)),
        )
    };
    tokio::pin!(output);
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    let mut shown = false;
    let ended = loop {
        tokio::select! {
            status = child.wait() => {
                break if status?.success() { Ended::Well } else { Ended::Badly };
            }
            _ = &mut output, if !shown => shown = true,
            () = stop.asked() => {
                end(&mut child, group).await;
                return Err(Interrupted.into());
            }
            () = &mut deadline => {
                end(&mut child, group).await;
                break Ended::Hung;
            }
        }
    };
    // A process that it left behind may keep the pipe open; its words are not waited for.
    if !shown && tokio::time::timeout(GRACE, output).await.is_err() {
        eprintln!("warning: something that it started is still running");
    }
    signal_group(group, Signal::KILL);
    Ok(ended)
}

fn start(line: &Line, root: &Path, counted: bool) -> Result<Child> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let program = if line.program == "cargo" { &cargo } else { &line.program };
    let mut command = Command::new(program);
    command.args(&line.args).envs(line.env.iter().copied()).current_dir(root);
    // `cargo xtask` describes this crate in the environment; to others it would be wrong, and some
    // build scripts would run again because of it.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    if counted {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
    }
    command
        .stdin(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot start {program}"))
}

/// Ends the whole group: asks, waits a little, then does not ask.
async fn end(child: &mut Child, group: Option<Pid>) {
    signal_group(group, Signal::TERM);
    let _ = tokio::time::timeout(GRACE, child.wait()).await;
    signal_group(group, Signal::KILL);
}

fn signal_group(group: Option<Pid>, signal: Signal) {
    if let Some(group) = group {
        // Nobody left is the good case.
        let _ = kill_process_group(group, signal);
    }
}

/// Shows and counts each line as it comes.
async fn copy(from: Option<impl AsyncRead + Unpin>, tally: &RefCell<&mut Tally>, show: impl Fn(&[u8])) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        show(&line);
        tally.borrow_mut().line(&String::from_utf8_lossy(&line));
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[track_caller]
    fn check(script: &str, limit: Duration, expected: Ended) -> Tally {
        let line = Line { program: "sh".to_owned(), args: vec!["-c".to_owned(), script.to_owned()], env: Vec::new() };
        let mut tally = Tally::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        // Not shown: it would be counted with the output of this test itself.
        let counted = Counted { tally: &mut tally, show: |_, _| {} };
        let ended = runtime
            .block_on(async { run(&line, Path::new("/"), limit, Some(counted), &mut Stop::new().unwrap()).await });
        assert_eq!(ended.unwrap(), expected, "for {script:?}");
        tally
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_of_both_kinds_is_counted_while_it_runs() {
        let results = "echo 'test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured'; echo 'SKIPPED: a: b' >&2";
        let tally = check(results, LONG, Ended::Well);
        assert_eq!((tally.passed(), tally.skipped()), (1, 1));
        check("exit 3", LONG, Ended::Badly);
        check("kill -9 $$", LONG, Ended::Badly);
    }

    #[test]
    fn what_hangs_is_ended_with_its_children() {
        let start = Instant::now();
        check("sleep 50 & sleep 50", Duration::from_millis(200), Ended::Hung);
        check("trap '' TERM; sleep 50 & wait; sleep 50", Duration::from_millis(200), Ended::Hung);
        assert!(start.elapsed() < Duration::from_secs(20));
    }
}
