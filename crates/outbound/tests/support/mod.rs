//! A server made by hand, so that it can misbehave as real ones do.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of it; a test may stop at a surprise")]

pub mod agent;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// What the server does with one connection.
#[derive(Clone)]
pub enum Act {
    /// Reads the request, writes these bytes, closes.
    Answer(Vec<u8>),
    /// Closes without reading.
    Close,
    /// Reads the request, closes.
    ReadAndClose,
    /// Reads the request, does one after the other, closes.
    Pieces(Vec<Piece>),
}

/// A step of an answer that comes in pieces.
#[derive(Clone)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// Goes on when the test says so.
    Gate(Gate),
    /// Says nothing until the client hangs up.
    Silence,
}

/// No wait of a test's server is longer: a client that never comes fails the test by other means.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a server waits at.
#[derive(Clone)]
pub struct Gate(Arc<Mutex<Receiver<()>>>);

impl Gate {
    /// A gate, and what opens it.
    pub fn new() -> (SyncSender<()>, Gate) {
        let (opens, waits) = sync_channel(1);
        (opens, Gate(Arc::new(Mutex::new(waits))))
    }
}

/// What came in on one connection.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    pub from: Option<IpAddr>,
    pub head: String,
    pub body: String,
}

/// An answer with its length.
pub fn answer(status: &str, kind: &str, body: &str) -> Act {
    answer_with(status, &format!("Content-Type: {kind}"), body)
}

/// The same with header lines of one's own.
pub fn answer_with(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    let headers = headers.trim_end();
    Act::Answer(format!("HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes())
}

/// Serves one connection after the other; gives what it saw.
pub fn serve(address: &str, acts: Vec<Act>) -> (u16, JoinHandle<Vec<Seen>>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let work = move || {
        let one = |act: &Act| {
            let (stream, from) = listener.accept().unwrap();
            Seen { from: Some(from.ip()), ..act_on(stream, act) }
        };
        acts.iter().map(one).collect()
    };
    (port, spawn(work))
}

/// The same on a unix socket.
pub fn serve_unix(path: &Path, acts: Vec<Act>) -> JoinHandle<Vec<Seen>> {
    let listener = UnixListener::bind(path).unwrap();
    spawn(move || acts.iter().map(|act| act_on(listener.accept().unwrap().0, act)).collect())
}

/// A server whose connections are served side by side, each by the next act; those beyond the last
/// act are closed unread. It goes with the test.
pub struct Server {
    pub port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// `acts` is made for the port, which a card has to name.
    pub fn start(acts: impl FnOnce(u16) -> Vec<Act>) -> Server {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let acts = acts(port);
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let all = Arc::clone(&seen);
        spawn(move || {
            for act in acts {
                let (stream, from) = listener.accept().unwrap();
                // In the order of the connections, whichever request is read first.
                let index = {
                    let mut all = all.lock().unwrap();
                    all.push(Seen { from: Some(from.ip()), ..Seen::default() });
                    all.len() - 1
                };
                let all = Arc::clone(&all);
                spawn(move || serve_one(stream, &act, |seen| all.lock().unwrap()[index] = seen));
            }
            while listener.accept().is_ok() {}
        });
        Server { port, seen }
    }

    /// What came in so far. A request is in here before its answer goes out.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve_one(mut stream: TcpStream, act: &Act, saw: impl FnOnce(Seen)) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_nodelay(true).unwrap();
    if matches!(act, Act::Close) {
        return;
    }
    saw(read_request(&mut stream));
    perform(&mut stream, act);
}

fn act_on<S: Read + Write>(mut stream: S, act: &Act) -> Seen {
    if matches!(act, Act::Close) {
        return Seen::default();
    }
    let seen = read_request(&mut stream);
    perform(&mut stream, act);
    seen
}

fn read_request<S: Read>(stream: &mut S) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    Seen { from: None, head, body: String::from_utf8(body).unwrap() }
}

fn perform<S: Read + Write>(stream: &mut S, act: &Act) {
    match act {
        // The client may have hung up on purpose.
        Act::Answer(bytes) => {
            let _ = stream.write_all(bytes);
        }
        Act::Pieces(pieces) => {
            for piece in pieces {
                match piece {
                    Piece::Bytes(bytes) => {
                        let _ = stream.write_all(bytes).and_then(|()| stream.flush());
                    }
                    Piece::Gate(Gate(gate)) => {
                        let _ = gate.lock().unwrap().recv_timeout(PATIENCE);
                    }
                    Piece::Silence => {
                        let _ = stream.read(&mut [0]);
                    }
                }
            }
        }
        Act::Close | Act::ReadAndClose => {}
    }
}
