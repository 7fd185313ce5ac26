//! A program in the terminal of whoever calls, holding a lock for as long as it, and all that it
//! starts, is there. It must not know what the lock is about.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// Whether nobody holds the lock now; a missing file is a free one.
///
/// # Errors
/// The file is there and cannot be opened.
pub fn is_free(lock: &Path) -> io::Result<bool> {
    crate::lock::is_free(lock)
}

/// Runs `program` (the first word is looked up on the search path) in `dir`, on this process's own
/// terminal, and waits for it. What is typed to end it (Ctrl-C, Ctrl-\) is the program's alone.
///
/// # Errors
/// `WouldBlock`: another holds the lock. Else the lock cannot be taken, or the program not be started.
#[allow(clippy::disallowed_methods, reason = "runner is the crate that starts processes")]
pub async fn run(
    program: &[String],
    dir: &Path,
    env: &[(String, String)],
    env_remove: &[String],
    lock: &Path,
) -> io::Result<ExitStatus> {
    let Some(_held) = crate::lock::take(lock)? else {
        return Err(io::ErrorKind::WouldBlock.into());
    };
    let (name, arguments) = program.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    // Ours are taken and left alone from here on; the program has its own.
    let _ours = [SignalKind::interrupt(), SignalKind::quit()].map(signal);
    let mut command = Command::new(name);
    command.args(arguments).current_dir(dir).stdin(Stdio::inherit());
    for name in env_remove {
        command.env_remove(name);
    }
    command.envs(env.iter().map(|(name, value)| (name, value)));
    command.status().await
}
