//! The lane's lock: a file lock on a description that everything the run starts inherits, so that
//! it is free only when the last of them is gone. It must not know who holds it, or why.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

/// Take the lock for this process and all it will start; `None` when another holds it.
pub(crate) fn take(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
    if !try_exclusive(&file)? {
        return Ok(None);
    }
    // Inherited from here on: this is what keeps the lock held when the launcher is killed.
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(Some(file))
}

/// Whether nobody holds the lock now. A missing file is a free lock.
pub(crate) fn is_free(path: &Path) -> io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(e) => return Err(e),
    };
    if !try_exclusive(&file)? {
        return Ok(false);
    }
    // Said aloud, not left to the close: a process being started elsewhere in the daemon may have a
    // copy of the descriptor until its exec.
    flock(&file, FlockOperation::Unlock)?;
    Ok(true)
}

fn try_exclusive(file: &File) -> io::Result<bool> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}
