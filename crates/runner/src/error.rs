//! What can go wrong before a run exists, and when leftovers of one do not go away.
//! How a run itself ends is no error: see `Ended`.

use std::io;
use std::path::PathBuf;

/// No launcher was started; nothing ran and nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The launcher's program could not be started.
    #[error("cannot start the launcher {program}: {source}")]
    Launcher {
        program: PathBuf,
        #[source]
        source: io::Error,
    },
    /// The channel to the launcher could not be made.
    #[error("cannot make the channel to the launcher: {0}")]
    Channel(#[source] io::Error),
    /// The spec does not fit into one message.
    #[error("the run's input and environment are too large: {size} bytes, at most {limit}")]
    TooLarge { size: usize, limit: usize },
}

/// The lane is not known to be clear: start nothing on it.
#[derive(Debug, thiserror::Error)]
pub enum Leftover {
    /// These processes were still there when the time was over.
    #[error("processes of an earlier run do not end: {pids:?}; end them by hand, or restart the machine")]
    Alive { pids: Vec<i32> },
    /// Nothing was found, and yet the lock is held (by a process that this user may not look into).
    #[error("the lock {lock} is held by a process that cannot be found; `lslocks` as root names it")]
    Held { lock: PathBuf },
    /// An empty prefix would match the runs of every daemon.
    #[error("an empty mark prefix would end the runs of other daemons")]
    NoPrefix,
    /// The lock or `/proc` could not be read.
    #[error("cannot look for leftovers of an earlier run: {0}")]
    Io(#[from] io::Error),
}
