//! Waiting for a task's outcome, with the progress on stderr where that is a terminal. A wait ends
//! nothing: when it is over or broken off, the task goes on, and what is printed says how to go on.
//! Must not know which verb waits.

use std::future::pending;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use shrooms_outbound::LocalError;
use tokio::sync::watch;
use tokio::time::{interval, sleep};

use crate::context::{Context, task_path};
use crate::output::one_line;
use crate::report::{self, Exit, Failure};
use crate::task::Known;

/// How long a wait is if nothing else is said: as long as agents wait for each other.
const DEFAULT_SECS: u64 = 600;

/// The most seconds that the daemon holds one request.
const HOLD_SECS: u64 = 600;

/// Beyond what the daemon was told to hold: it answers for another machine, which may be slow.
const SLACK: Duration = Duration::from_secs(30);

/// Between two tries when the daemon is gone, and between two requests when it answered at once
/// without anything new: nobody sees a second, and it costs nothing.
const PAUSE: Duration = Duration::from_secs(1);

/// The most while it has not started: the worker's machine is looked at again and again, for it does
/// not report that a task moves up in its queue. The first looks come sooner.
const QUEUE_SECS: u64 = 5;

/// A daemon that is restarted is back within seconds; half a minute covers a slow machine.
const TRIES: u32 = 30;

/// The argument of verbs that wait.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct WaitArgs {
    /// Wait for the outcome and print it
    #[arg(long)]
    pub wait: bool,
    /// How long to wait, in seconds
    #[arg(long, value_name = "SECS", requires = "wait", default_value_t = DEFAULT_SECS)]
    pub timeout: u64,
}

/// How often a daemon that was there may be gone before that is an error.
#[derive(Debug)]
pub struct Patience(u32);

impl Patience {
    /// All of it.
    pub fn new() -> Self {
        Patience(TRIES)
    }

    /// The daemon answers again.
    pub fn restore(&mut self) {
        self.0 = TRIES;
    }

    /// Waits a moment where a next try may help.
    ///
    /// # Errors
    /// It may not: the daemon refused, or has been gone for too long.
    pub async fn after(&mut self, error: LocalError) -> Result<(), LocalError> {
        let may_pass = match &error {
            LocalError::NoDaemon { .. } | LocalError::Broken(_) => true,
            LocalError::Api { status, .. } => *status == 503,
        };
        if !may_pass || self.0 == 0 {
            return Err(error);
        }
        self.0 -= 1;
        sleep(PAUSE).await;
        Ok(())
    }
}

enum End {
    Outcome,
    TimeOver,
    Interrupted,
}

/// Prints the task: now if it has an outcome or none is waited for, else when it has one.
///
/// # Errors
/// The daemon refused, or is gone.
pub async fn show(context: &Context, known: Known, args: WaitArgs) -> Result<Exit, Failure> {
    if !args.wait || known.has_outcome() {
        context.out.show(&known.answer, |_| known.text())?;
        return Ok(known.exit());
    }
    let (known, seen) = watch::channel(known);
    let progress = Progress::new();
    let end = tokio::select! {
        biased;
        () = interrupt() => Ok(End::Interrupted),
        asked = until_outcome(context, &known, args.timeout) => asked.map(|()| End::Outcome),
        () = sleep(Duration::from_secs(args.timeout)) => Ok(End::TimeOver),
        () = progress.run(&seen) => Ok(End::TimeOver),
    };
    progress.clear();
    let known = seen.borrow().clone();
    let go_on = context.place.command(&format!("a2a get --wait {}", known.reference));
    match end.map_err(|failure| failure.hint(format!("the task goes on; to wait again: {go_on}")))? {
        End::Outcome => {
            context.out.show(&known.answer, |_| known.text())?;
            Ok(known.exit())
        }
        End::TimeOver => {
            context.out.show(&known.answer, |_| known.text())?;
            report::note(&format!("no outcome within {} s; the task goes on; to wait again: {go_on}", args.timeout));
            Ok(Exit::WaitOver)
        }
        End::Interrupted => {
            report::note(&format!("task {} goes on; to wait again: {go_on}", known.reference));
            Ok(Exit::Interrupted)
        }
    }
}

/// Until Ctrl-C; for ever where that cannot be told, for then it ends the program as always.
pub async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}

/// Keeps `known` as the task stands, until it has an outcome. Nothing else ends it.
///
/// # Errors
/// The daemon refused, or has been gone for too long.
pub async fn until_outcome(context: &Context, known: &watch::Sender<Known>, secs: u64) -> Result<(), Failure> {
    let mut patience = Patience::new();
    let mut looks = 1;
    loop {
        let (reference, seen, most) = {
            let known = known.borrow();
            if known.has_outcome() {
                return Ok(());
            }
            let most = if known.has_started() { HOLD_SECS } else { QUEUE_SECS.min(looks) };
            (known.reference.clone(), known.seq(), most)
        };
        looks += 1;
        let seen = seen.map(|seq| format!("&seen={seq}")).unwrap_or_default();
        let hold = secs.min(most);
        let pause = sleep(PAUSE);
        let path = task_path(&reference, &format!("?wait={hold}{seen}"))?;
        let answer = match context.client.get_within(&path, Duration::from_secs(hold) + SLACK).await {
            Ok(answer) => answer,
            Err(error) => {
                patience.after(error).await.map_err(|error| context.failure(error))?;
                continue;
            }
        };
        patience.restore();
        let newer = Known::read(answer, &reference)?;
        let same = newer.seq() == known.borrow().seq() && !newer.has_outcome();
        known.send_replace(newer);
        if same {
            pause.await;
        }
    }
}

/// One line on stderr that is written over, if that is a terminal.
struct Progress {
    terminal: bool,
}

impl Progress {
    fn new() -> Self {
        Progress { terminal: io::stderr().is_terminal() }
    }

    /// Shows where the task stands, every second, and never returns.
    async fn run(&self, known: &watch::Receiver<Known>) {
        if !self.terminal {
            return pending().await;
        }
        let mut ticks = interval(PAUSE);
        let started = ticks.tick().await;
        loop {
            let elapsed = ticks.tick().await.duration_since(started).as_secs();
            let stands = one_line(&known.borrow().stands());
            self.draw(&format!("{stands}, waiting for {}", duration(elapsed)));
        }
    }

    fn clear(&self) {
        if self.terminal {
            self.draw("");
        }
    }

    /// Back to the line's begin, the rest of it erased. Progress that cannot be shown is no error.
    fn draw(&self, text: &str) {
        let mut stderr = io::stderr();
        let _ = write!(stderr, "\r\x1b[K{text}").and_then(|()| stderr.flush());
    }
}

/// Seconds for people.
pub fn duration(secs: u64) -> String {
    match (secs / 60, secs % 60) {
        (0, secs) => format!("{secs} s"),
        (mins, secs) => format!("{mins} min {secs} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_in_minutes_and_seconds() {
        assert_eq!(duration(0), "0 s");
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(601), "10 min 1 s");
    }

    #[tokio::test(start_paused = true)]
    async fn patience_is_for_a_daemon_that_is_gone_and_ends() {
        let gone = || LocalError::NoDaemon { socket: "/s".into(), why: "refused".into() };
        let api = |status| LocalError::Api { status, title: "t".into(), detail: "d".into() };
        let mut patience = Patience::new();
        for _ in 0..TRIES {
            assert_eq!(patience.after(gone()).await, Ok(()));
        }
        assert_eq!(patience.after(gone()).await, Err(gone()));
        patience.restore();
        assert_eq!(patience.after(api(503)).await, Ok(()));
        assert_eq!(patience.after(api(404)).await, Err(api(404)));
    }
}
