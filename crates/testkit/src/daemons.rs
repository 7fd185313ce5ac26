//! Fakes of the mesh's daemons: a small HTTP server on a unix socket that answers as a test says, also
//! badly: late, cut short, in odd pieces, not at all. It must not know who asks.

mod shrooms;
mod tailscaled;

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub use shrooms::FakeShrooms;
pub use tailscaled::FakeTailscaled;

/// How a fake answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As HTTP/1.0 does: the end of the body is the end of the connection.
    Plain,
    /// As Go answers HTTP/1.1: in chunks, here of one byte, seven bytes and so on.
    Chunked,
    /// It takes the question and says nothing.
    Silent,
    /// It says something that is no HTTP.
    Garbage,
    /// It says that it is HTTP, with a body that is no JSON.
    NoJson,
    /// It refuses, with this status.
    Refusing(u16),
    /// It breaks off in the middle of the body.
    CutShort,
    /// Its answer never ends.
    Endless,
}

/// What the daemon would answer to a target: a status and a body.
type Answers = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// A server that can be stopped, and started again on the same path.
struct Server {
    path: PathBuf,
    shared: Arc<Shared>,
    running: Option<Running>,
}

struct Shared {
    answers: Box<Answers>,
    manner: Mutex<Manner>,
    asked: Mutex<Vec<String>>,
}

struct Running {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Server {
    fn start(path: &Path, answers: Box<Answers>) -> Server {
        let shared = Shared { answers, manner: Mutex::new(Manner::Chunked), asked: Mutex::default() };
        let mut server = Server { path: path.to_owned(), shared: Arc::new(shared), running: None };
        server.resume();
        server
    }

    fn resume(&mut self) {
        if self.running.is_some() {
            return;
        }
        let listener = UnixListener::bind(&self.path).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, ended) = (self.shared.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let (stream, shared) = (stream.unwrap(), shared.clone());
                // One that hangs ends with whoever asked.
                std::thread::spawn(move || {
                    // Whoever asked may be gone.
                    let _ = shared.serve(stream);
                });
            }
        });
        self.running = Some(Running { stop, thread });
    }

    /// Stops listening and takes the socket away.
    fn stop(&mut self) {
        let Some(Running { stop, thread }) = self.running.take() else { return };
        stop.store(true, Ordering::Release);
        // Wakes the one that listens.
        let _ = UnixStream::connect(&self.path);
        thread.join().unwrap();
        fs::remove_file(&self.path).unwrap();
    }

    fn manner(&self, manner: Manner) {
        *self.shared.manner.lock().unwrap_or_else(PoisonError::into_inner) = manner;
    }

    fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn serve(&self, mut stream: UnixStream) -> std::io::Result<()> {
        let head = head_of(&mut stream)?;
        let mut words = head.split_whitespace();
        let (verb, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let host = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("host: ").map(str::to_owned));
        let asked = format!("{verb} {target} for {}", host.unwrap_or_default());
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
        let (status, body) = (self.answers)(target);
        let manner = self.manner.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let head =
            |status: u16, more: &str| format!("HTTP/1.1 {status} Fake\r\nContent-Type: application/json\r\n{more}\r\n");
        match manner {
            Manner::Plain => write!(stream, "{}{body}", head(status, "Connection: close\r\n")),
            Manner::Chunked => {
                stream.write_all(head(status, "Transfer-Encoding: chunked\r\n").as_bytes())?;
                let mut rest = body.as_bytes();
                for size in [1, 7, 4_096].into_iter().cycle() {
                    let (piece, more) = rest.split_at(rest.len().min(size));
                    write!(stream, "{:x}\r\n", piece.len())?;
                    stream.write_all(piece)?;
                    stream.write_all(b"\r\n")?;
                    if piece.is_empty() {
                        break;
                    }
                    rest = more;
                }
                Ok(())
            }
            Manner::Silent => stream.read_to_end(&mut Vec::new()).map(|_| ()),
            Manner::Garbage => stream.write_all(b"\x00\x01SSH-2.0-nothing of the kind\r\n\r\n"),
            Manner::NoJson => write!(stream, "{}<html>", head(200, "Content-Length: 6\r\n")),
            Manner::Refusing(status) => write!(stream, "{}no", head(status, "Content-Length: 2\r\n")),
            Manner::CutShort => {
                let half = body.len() / 2;
                let length = format!("Content-Length: {}\r\n", body.len());
                write!(stream, "{}", head(status, &length))?;
                stream.write_all(&body.as_bytes()[..half])
            }
            Manner::Endless => {
                stream.write_all(head(status, "").as_bytes())?;
                loop {
                    stream.write_all(&[b' '; 65_536])?;
                }
            }
        }
    }
}

fn head_of(stream: &mut UnixStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0u8; 1];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte)? == 1 {
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// What a fake holds and a test may change at any time.
#[derive(Default)]
struct Held<T>(Mutex<T>);

impl<T: Clone> Held<T> {
    fn get(&self) -> T {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn change(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
