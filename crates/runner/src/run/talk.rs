//! From the daemon to the launcher: the spec, the input of a stream as far as there is room for it,
//! the stop. It must not know what comes back.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::{Semaphore, mpsc, watch};

use crate::wire::{self, MAX_STREAM_LINE, ToLauncher};

/// 4 MiB of input that the program has not read yet: a few messages of the largest kind. A longer
/// line goes alone.
const WINDOW: usize = 4 * 1024 * 1024;

/// 64 lines between who writes and the channel: they are in the window, so that any number would do.
const LINES: usize = 64;

/// The line was not written and will not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The run has ended, its input was closed, or it reads no stream.
    #[error("the program takes no input any more")]
    Gone,
    /// The line has an end inside it, or is longer than [`MAX_STREAM_LINE`](crate::MAX_STREAM_LINE).
    #[error("a line of input must be one line of at most 64 MiB")]
    NotALine,
}

/// The input of a stream, on the side of who writes.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Bytes that may be on the way; none before the program runs, since what a launcher hears
    /// earlier is a stop to it.
    window: Arc<Semaphore>,
    to: Arc<Mutex<Option<mpsc::Sender<Vec<u8>>>>>,
}

impl Lines {
    pub(super) fn new() -> (Self, mpsc::Receiver<Vec<u8>>) {
        let (to, lines) = mpsc::channel(LINES);
        (Self { window: Arc::new(Semaphore::new(0)), to: Arc::new(Mutex::new(Some(to))) }, lines)
    }

    pub(super) fn open(&self) {
        self.window.add_permits(WINDOW);
    }

    pub(super) fn taken(&self, bytes: usize) {
        self.window.add_permits(bytes.min(WINDOW));
    }

    /// Nothing more is taken, also from those who wait.
    pub(super) fn end(&self) {
        self.window.close();
        self.close();
    }

    /// Nothing more is taken from who begins now.
    pub(super) fn close(&self) {
        self.to.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    pub(super) fn write(&self, line: String) -> impl Future<Output = Result<(), WriteError>> + Send + use<> {
        // At the call, not at the first poll: a close after the call does not overtake the line.
        let to = self.to.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let window = self.window.clone();
        async move {
            let mut line = line.into_bytes();
            if line.len() > MAX_STREAM_LINE || line.contains(&b'\n') {
                return Err(WriteError::NotALine);
            }
            line.push(b'\n');
            let to = to.ok_or(WriteError::Gone)?;
            // At most 4 MiB, which fits.
            let need = u32::try_from(line.len().min(WINDOW)).unwrap_or(u32::MAX);
            let room = window.acquire_many(need).await.map_err(|_| WriteError::Gone)?;
            to.send(line).await.map_err(|_| WriteError::Gone)?;
            // Comes back when the launcher says that the line has left it.
            room.forget();
            Ok(())
        }
    }
}

/// Write the spec, then input and the stop as they come; close the channel when the handle is gone.
/// Failed writes mean a launcher that is gone, which `follow` sees.
pub(super) async fn talk(
    mut to: OwnedWriteHalf,
    spec: Vec<u8>,
    mut stops: watch::Receiver<bool>,
    mut lines: Option<mpsc::Receiver<Vec<u8>>>,
    mut started: watch::Receiver<bool>,
) {
    let mut gone = stops.clone();
    // A launcher that gets half a spec does nothing.
    if !write(&mut to, &spec, &mut gone).await {
        return;
    }
    drop(spec);
    loop {
        let next = tokio::select! {
            biased;
            stopped = stops.wait_for(|stop| *stop) => if stopped.is_ok() { break } else { return },
            next = next(&mut lines, &mut started) => next,
        };
        let message = match &next {
            Some(line) => ToLauncher::Input(line.len()),
            None => {
                lines = None;
                ToLauncher::CloseInput(true)
            }
        };
        let Ok(mut bytes) = wire::line(&message) else { return };
        bytes.extend(next.unwrap_or_default());
        // Not given up for a stop: what comes behind half a line would be read as its rest. The
        // launcher reads all the time.
        if !write(&mut to, &bytes, &mut gone).await {
            return;
        }
    }
    drop(lines);
    if let Ok(line) = wire::line(&ToLauncher::Stop(true)) {
        let _ = to.write_all(&line).await;
    }
    closed(&mut gone).await;
}

/// False when the handle or the launcher is gone.
async fn write(to: &mut OwnedWriteHalf, bytes: &[u8], gone: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        written = to.write_all(bytes) => written.is_ok(),
        () = closed(gone) => false,
    }
}

/// The next line of input, or that there will be none; not before the program runs.
async fn next(lines: &mut Option<mpsc::Receiver<Vec<u8>>>, started: &mut watch::Receiver<bool>) -> Option<Vec<u8>> {
    match lines {
        Some(lines) if started.wait_for(|started| *started).await.is_ok() => lines.recv().await,
        _ => std::future::pending().await,
    }
}

async fn closed(stops: &mut watch::Receiver<bool>) {
    while stops.changed().await.is_ok() {}
}
