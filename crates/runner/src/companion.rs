//! Programs that this one starts beside itself, outside every session: the demo's daemons, the
//! `git` that makes its repository. They end when their stdin does, or are ended.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command};

/// A program beside this one.
pub struct Companion {
    child: Child,
}

/// Starts `program` in `dir`, with its output in the file `log`, in a process group of its own,
/// so that a terminal's Ctrl-C does not reach it: it is ended through its stdin.
#[allow(clippy::disallowed_methods, reason = "runner is the crate that starts processes")]
pub fn companion(program: &Path, args: &[&str], dir: &Path, log: &Path) -> io::Result<Companion> {
    let log = File::create(log)?;
    let child = Command::new(program)
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    Ok(Companion { child })
}

/// Runs a short program to its end. `Err` inside = it failed, with what it said.
#[allow(clippy::disallowed_methods, reason = "runner is the crate that starts processes")]
pub async fn run_to_end(program: &Path, args: &[&str], dir: &Path) -> io::Result<Result<String, String>> {
    let output =
        Command::new(program).args(args).current_dir(dir).stdin(Stdio::null()).kill_on_drop(true).output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}

impl Companion {
    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// Tells it to end.
    pub fn close_stdin(&mut self) {
        self.child.stdin.take();
    }

    /// Waits for its end, and kills it when `within` is over.
    pub async fn end_within(&mut self, within: Duration) {
        if tokio::time::timeout(within, self.child.wait()).await.is_err() {
            // It may end at this very moment by itself.
            let _ = self.child.kill().await;
        }
    }
}
