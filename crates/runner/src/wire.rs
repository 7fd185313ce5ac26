//! What daemon and launcher say to each other, over a socket pair, so that no secret lands in a file
//! or on a command line: one JSON value a line, behind some of them so many bytes as they are.
//! It must not know how either side works.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The environment variable that carries [`RunSpec::mark`] in everything a run starts.
pub const MARK: &str = "SHROOMS_AGENT_RUN";

/// The environment variable that names the file for the run's result, `<dir>/result`.
pub const RESULT: &str = "SHROOMS_RESULT";

/// The launcher's own mark. It differs from [`MARK`] because a launcher that lost its daemon is
/// given time to write its record, and what it runs is not.
pub(crate) const LAUNCHER_MARK: &str = "SHROOMS_AGENT_LAUNCHER";

/// 5 s: what the agents we know need to write their conversation down when asked to end.
pub const DEFAULT_GRACE_MS: u64 = 5_000;

/// 16 MiB: a message of 1 MiB whose every byte is escaped (six bytes each), an environment of 2 MiB,
/// and room.
pub(crate) const MAX_SPEC: usize = 16 * 1024 * 1024;

/// 1 MiB: the longest line a launcher sends is an exit record (at most 128 KiB) or a piece of
/// 16 KiB in which every byte is escaped or replaced.
pub(crate) const MAX_LINE: u64 = 1024 * 1024;

/// 64 MiB: the longest line of a stream, either way. A harness prints whole files and images in one.
pub const MAX_STREAM_LINE: usize = 64 * 1024 * 1024;

/// What the program reads on stdin.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// This text, whole; then the end of input.
    Text(String),
    /// Lines, as they are written to the [`Run`](crate::Run), until that closes it. Stdout is then
    /// told in whole lines, none of which is dropped: who does not read them slows the program down.
    Stream,
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Everything the launcher needs.
#[derive(Serialize, Deserialize, Clone)]
pub struct RunSpec {
    /// This run's own directory: absolute, exists, private to the user. `started`, `exit`, `result`
    /// and `stdin` live in it. A directory is good for one run.
    pub dir: PathBuf,
    /// The lane's lock file: absolute; made when missing.
    pub lock: PathBuf,
    /// Unique to this run. Begins with what is unique to the daemon's state, so that
    /// [`clear_leftovers`](crate::clear_leftovers) can tell its own from others'.
    pub mark: String,
    /// The command line, at least one word. The first is looked up in the `PATH` of the program's
    /// environment unless it has a slash.
    pub program: Vec<String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Set on top of the daemon's environment.
    pub env: BTreeMap<String, String>,
    /// Taken out of the daemon's environment before `env` is set.
    pub env_remove: Vec<String>,
    /// What the program reads on stdin.
    pub stdin: Input,
    /// Milliseconds between TERM and KILL, and in a stream between the end of input and TERM, too.
    #[serde(default = "default_grace")]
    pub grace_ms: u64,
}

fn default_grace() -> u64 {
    DEFAULT_GRACE_MS
}

/// Without the environment's values and the text: both may be secret.
impl fmt::Debug for RunSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSpec")
            .field("dir", &self.dir)
            .field("lock", &self.lock)
            .field("mark", &self.mark)
            .field("program", &self.program.first())
            .field("cwd", &self.cwd)
            .field("grace_ms", &self.grace_ms)
            .finish_non_exhaustive()
    }
}

/// How a run ended, as kept in `exit`. Everything the run started is gone when it is written.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct ExitRecord {
    /// The program's exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Why the program could not be started; nothing ran then.
    pub spawn_error: Option<String>,
    /// It was still running when the stop, or the end of the daemon, reached its launcher.
    pub stopped: bool,
    /// The last 40 lines of stdout and stderr, interleaved as read, at most 64 KiB; in a stream those
    /// of stderr alone.
    pub tail: String,
    /// When everything had ended: wall time, Unix milliseconds.
    pub at_ms: i64,
}

/// Why a launcher did not run the program. Nothing ran, and nothing of the run is left on disk.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// An earlier run of the lane, or something it left, holds the lock.
    LockBusy,
    /// The disk is full, or a quota is: the end of the run could not have been written down.
    Disk,
    /// Stopped before it began, a directory that was used before, or anything else; the text says.
    Other,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToDaemon {
    Started {
        pid: i32,
    },
    Words {
        line: String,
        stderr: bool,
    },
    Dropped(u64),
    /// A line of a stream: so many bytes follow, without its end.
    Line(usize),
    /// So many bytes of input have left the launcher.
    Taken(usize),
    Exit(ExitRecord),
    Refused {
        why: Refusal,
        text: String,
    },
}

/// After the spec, which is the first line.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToLauncher {
    Stop(bool),
    /// Input of a stream: so many bytes follow, with the end of the line.
    Input(usize),
    /// No more input will come.
    CloseInput(bool),
}

/// The longest line that is not followed by bytes: a number in a word.
pub(crate) const MAX_TO_LAUNCHER: u64 = 4096;

/// `message` as one line.
pub(crate) fn line<T: Serialize>(message: &T) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(message)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_agreed_shape() {
        let text = |m: &ToDaemon| serde_json::to_string(m).unwrap();
        assert_eq!(text(&ToDaemon::Started { pid: 7 }), r#"{"started":{"pid":7}}"#);
        assert_eq!(text(&ToDaemon::Dropped(3)), r#"{"dropped":3}"#);
        assert_eq!(
            text(&ToDaemon::Refused { why: Refusal::LockBusy, text: "x".into() }),
            r#"{"refused":{"why":"lock_busy","text":"x"}}"#
        );
        assert_eq!(line(&ToLauncher::Stop(true)).unwrap(), b"{\"stop\":true}\n");
        assert_eq!(line(&ToLauncher::Input(3)).unwrap(), b"{\"input\":3}\n");
        let text = |input: Input| serde_json::to_string(&input).unwrap();
        assert_eq!(text("x".into()), r#"{"text":"x"}"#);
        assert_eq!(text(Input::Stream), r#""stream""#);
    }

    #[test]
    fn a_spec_shows_neither_its_environment_nor_its_text() {
        let spec = RunSpec {
            dir: "/d".into(),
            lock: "/l".into(),
            mark: "m".into(),
            program: vec!["p".into(), "hidden".into()],
            cwd: "/".into(),
            env: [("PASS".to_owned(), "hidden".to_owned())].into(),
            env_remove: vec![],
            stdin: "hidden".into(),
            grace_ms: 1,
        };
        assert!(!format!("{spec:?}").contains("hidden"));
    }
}
