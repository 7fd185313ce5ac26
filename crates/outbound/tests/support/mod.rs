//! A server made by hand, so that it can misbehave as real ones do.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of it; a test may stop at a surprise")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread::{JoinHandle, spawn};

/// What the server does with one connection.
#[derive(Clone)]
pub enum Act {
    /// Reads the request, writes these bytes, closes.
    Answer(Vec<u8>),
    /// Closes without reading.
    Close,
    /// Reads the request, closes.
    ReadAndClose,
}

/// What came in on one connection.
#[derive(Debug, Default)]
pub struct Seen {
    pub from: Option<IpAddr>,
    pub head: String,
    pub body: String,
}

/// An answer with its length.
pub fn answer(status: &str, kind: &str, body: &str) -> Act {
    let length = body.len();
    Act::Answer(
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes(),
    )
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

fn act_on<S: Read + Write>(mut stream: S, act: &Act) -> Seen {
    if matches!(act, Act::Close) {
        return Seen::default();
    }
    let mut reader = BufReader::new(&mut stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap() > 0 {}
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).unwrap();
    if let Act::Answer(bytes) = act {
        // The client may have hung up on purpose.
        let _ = stream.write_all(bytes);
    }
    Seen { from: None, head, body: String::from_utf8(body).unwrap() }
}
