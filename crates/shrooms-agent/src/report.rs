//! How a run ends: its exit code, and for an error the message and what to do next, on stderr.
//! Must not know any verb.

use std::io::{self, Write};
use std::process::ExitCode;

use shrooms_outbound::LocalError;

use crate::output::plain;

/// The name that messages on stderr begin with.
const NAME: &str = "shrooms-agent";

/// How a verb ended that did what it was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is well; also for a task that was canceled, or that waits for its asker.
    Done,
    /// The task that was shown ended `failed` or `rejected`.
    TaskFailed,
    /// The wait ran out, and the task goes on.
    WaitOver,
    /// Ctrl-C while waiting; the task goes on.
    Interrupted,
}

impl Exit {
    /// The number for the shell. An error is 1; 130 is what shells give for Ctrl-C.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::TaskFailed => 2,
            Exit::WaitOver => 3,
            Exit::Interrupted => 130,
        }
    }
}

/// Why a verb could not do what it was asked.
#[derive(Debug, PartialEq, Eq)]
pub enum Failure {
    /// For the person: what is wrong, and what to do next if the text does not say it.
    Said { text: String, hint: Option<String> },
    /// Whoever read stdout has closed it: they have what they wanted.
    ReaderGone,
}

impl Failure {
    /// An error that says all itself.
    pub fn new(text: impl Into<String>) -> Self {
        Failure::Said { text: text.into(), hint: None }
    }

    /// Adds what to do next, unless the error says so already.
    #[must_use]
    pub fn hint(mut self, next: impl Into<String>) -> Self {
        if let Failure::Said { hint, .. } = &mut self {
            hint.get_or_insert_with(|| next.into());
        }
        self
    }

    /// From a call to the daemon; `start` is the command that starts it.
    pub fn of(error: LocalError, start: &str) -> Self {
        let no_daemon = matches!(error, LocalError::NoDaemon { .. });
        let failure = Failure::new(error.to_string());
        if no_daemon { failure.hint(format!("start it with: {start}")) } else { failure }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Said { text, hint: None } => f.write_str(text),
            Failure::Said { text, hint: Some(hint) } => write!(f, "{text}: {hint}"),
            Failure::ReaderGone => f.write_str("whoever read the output is gone"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<anyhow::Error> for Failure {
    /// With its causes, but for those that it names itself.
    fn from(error: anyhow::Error) -> Self {
        let add = |said: String, cause: &(dyn std::error::Error + 'static)| {
            let cause = cause.to_string();
            if said.contains(&cause) { said } else { format!("{said}: {cause}") }
        };
        Failure::new(error.chain().skip(1).fold(error.to_string(), add))
    }
}

/// Says something on stderr that is not the result. If even that fails there is nobody to tell.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{NAME}: {}", plain(text));
}

/// The exit code of a run, after its error was said.
pub fn end(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => exit.code().into(),
        Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Said { text, hint }) => {
            note(&text);
            if let Some(hint) = hint {
                let _ = writeln!(io::stderr(), "hint: {}", plain(&hint));
            }
            ExitCode::FAILURE
        }
    }
}

/// The exit code after a command line that is help, or that cannot be read.
pub fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let text = error.to_string();
    note(text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_as_documented() {
        for (exit, code) in [(Exit::Done, 0), (Exit::TaskFailed, 2), (Exit::WaitOver, 3), (Exit::Interrupted, 130)] {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
        assert_eq!(end(Err(Failure::new("no"))), ExitCode::FAILURE);
        assert_eq!(end(Err(Failure::ReaderGone)), ExitCode::SUCCESS);
    }

    #[test]
    fn a_cause_is_said_once() {
        let cause = || io::Error::other("in use");
        for (error, text) in [
            (anyhow::Error::new(cause()), "in use"),
            (anyhow::Error::new(cause()).context("cannot start"), "cannot start: in use"),
            (anyhow::Error::new(cause()).context("in use. Choose another"), "in use. Choose another"),
        ] {
            assert_eq!(Failure::from(error), Failure::new(text));
        }
    }

    #[test]
    fn without_a_daemon_the_error_says_how_to_start_it() {
        let gone = LocalError::NoDaemon { socket: "/s/agent.sock".into(), why: "No such file".into() };
        assert_eq!(
            Failure::of(gone, "shrooms-agent serve"),
            Failure::Said {
                text: "no daemon answers at /s/agent.sock (No such file)".into(),
                hint: Some("start it with: shrooms-agent serve".into()),
            }
        );
        let broken = Failure::of(LocalError::Broken("cut".into()), "shrooms-agent serve");
        assert_eq!(broken, Failure::new("cut"));
        assert_eq!(broken.hint("a").hint("b"), Failure::new("cut").hint("a"));
    }
}
