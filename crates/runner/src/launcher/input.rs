//! The program's stdin in a stream: what the daemon writes, as fast as the program reads it.
//! Who hands it in never waits for the program, so that a stop behind it is always heard; the daemon
//! holds the queue small by waiting for what is taken. It must not know what the lines mean.

use std::collections::VecDeque;
use std::io::{self, PipeWriter, Write};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;

use super::output::{Outbox, guard};
use crate::wire::ToDaemon;

/// 50 ms between looks for a cut while the program does not read: as often as for newcomers.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The way to the program's stdin.
#[derive(Clone)]
pub(super) struct Feed(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    /// The end of input comes behind what waits.
    closing: bool,
    /// The end of input comes now.
    cut: bool,
}

impl Feed {
    /// # Errors
    /// When the system has no thread left.
    pub(super) fn start(pipe: PipeWriter, outbox: Outbox) -> io::Result<Self> {
        // So that a program that does not read cannot hold the thread, and with it the pipe, open.
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        let feed = Self(Arc::default());
        let writer = feed.clone();
        thread::Builder::new().name("to-program".into()).spawn(move || writer.write_all(pipe, &outbox))?;
        Ok(feed)
    }

    pub(super) fn put(&self, bytes: Vec<u8>) {
        let mut state = guard(&self.0.0);
        if !state.closing && !state.cut {
            state.waiting.push_back(bytes);
            self.0.1.notify_all();
        }
    }

    /// End the input behind what waits.
    pub(super) fn close(&self) {
        guard(&self.0.0).closing = true;
        self.0.1.notify_all();
    }

    /// End the input now; what waits is lost.
    pub(super) fn cut(&self) {
        guard(&self.0.0).cut = true;
        self.0.1.notify_all();
    }

    fn write_all(&self, mut pipe: PipeWriter, outbox: &Outbox) {
        let mut broken = false;
        while let Some(bytes) = self.take() {
            // A program that has closed its input takes everything, as a terminal's would.
            broken = broken || self.write(&mut pipe, &bytes).is_err();
            outbox.tell(ToDaemon::Taken(bytes.len()));
        }
    }

    fn take(&self) -> Option<Vec<u8>> {
        let (state, changed) = &*self.0;
        let mut state = guard(state);
        loop {
            if state.cut {
                return None;
            }
            if let Some(bytes) = state.waiting.pop_front() {
                return Some(bytes);
            }
            if state.closing {
                return None;
            }
            state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn write(&self, pipe: &mut PipeWriter, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() && !guard(&self.0.0).cut {
            match pipe.write(bytes) {
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    match poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&TICK)) {
                        Ok(_) | Err(Errno::INTR) => {}
                        Err(e) => return Err(e.into()),
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;
    use std::time::{Duration, Instant};

    use super::*;

    fn feed() -> (Feed, io::PipeReader) {
        let (reader, writer) = io::pipe().unwrap();
        let (_daemon, control) = UnixStream::pair().unwrap();
        (Feed::start(writer, Outbox::start(control).unwrap()).unwrap(), reader)
    }

    #[test]
    fn what_waits_arrives_before_the_end() {
        let (feed, mut reader) = feed();
        let text = "x".repeat(300_000);
        feed.put(text.clone().into_bytes());
        feed.put(b"end".to_vec());
        feed.close();
        feed.put(b"too late".to_vec());
        let mut got = String::new();
        reader.read_to_string(&mut got).unwrap();
        assert_eq!(got, format!("{text}end"));
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the wait is the case")]
    fn a_cut_ends_the_input_of_a_program_that_does_not_read() {
        let (feed, mut reader) = feed();
        for _ in 0..4 {
            feed.put(vec![b'x'; 300_000]);
        }
        feed.cut();
        let asked = Instant::now();
        let mut got = Vec::new();
        reader.read_to_end(&mut got).unwrap();
        assert!(got.len() < 1_200_000 && asked.elapsed() < Duration::from_secs(20));
    }
}
