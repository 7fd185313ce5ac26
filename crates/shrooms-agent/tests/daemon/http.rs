//! A raw HTTP client for the tests: what is sent is what is written here, from the address that
//! is named here.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};
use serde_json::Value;

/// What came back; status 0 = nothing did.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", self.body))
    }

    fn parse(raw: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(raw);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { return Answer::default() };
        let status = head.split(' ').nth(1).and_then(|s| s.parse().ok()).unwrap_or(0);
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if chunked { dechunk(body) } else { body.to_string() };
        Answer { status, head: head.to_string(), body }
    }
}

fn dechunk(mut body: &str) -> String {
    let mut out = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        out.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    out
}

fn request(method: &str, path: &str, host: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    if !body.is_empty() {
        text.push_str(&format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

fn exchange(mut stream: impl Read + Write, text: &str) -> Answer {
    // A server that refuses early may close while we still write; what it said counts.
    let _ = stream.write_all(text.as_bytes());
    let mut raw = Vec::new();
    let _ = stream.read_to_end(&mut raw);
    Answer::parse(&raw)
}

/// Over the daemon's socket.
pub fn unix(socket: &Path, method: &str, path: &str, body: &str) -> Answer {
    unix_with(socket, method, path, &[], body)
}

pub fn unix_with(socket: &Path, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let Ok(stream) = UnixStream::connect(socket) else { return Answer::default() };
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    exchange(stream, &request(method, path, "localhost", headers, body))
}

/// Over TCP, from `from`.
pub fn tcp(from: IpAddr, to: SocketAddr, method: &str, path: &str, body: &str) -> Answer {
    tcp_with(from, to, method, path, &[], body)
}

pub fn tcp_with(
    from: IpAddr,
    to: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let Some(stream) = connect(from, to) else { return Answer::default() };
    exchange(stream, &request(method, path, &to.to_string(), headers, body))
}

/// Exactly these bytes.
pub fn raw(from: IpAddr, to: SocketAddr, bytes: &str) -> Answer {
    let Some(stream) = connect(from, to) else { return Answer::default() };
    exchange(stream, bytes)
}

/// What comes until this text does, or nothing comes for a while; of an answer that does not end.
pub fn raw_until(from: IpAddr, to: SocketAddr, bytes: &str, end: &str) -> String {
    let Some(mut stream) = connect(from, to) else { return String::new() };
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream.write_all(bytes.as_bytes()).unwrap();
    let (mut all, mut piece) = (Vec::new(), [0; 65_536]);
    while let Ok(n @ 1..) = stream.read(&mut piece) {
        all.extend_from_slice(&piece[..n]);
        if String::from_utf8_lossy(&all).contains(end) {
            break;
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

pub fn connect(from: IpAddr, to: SocketAddr) -> Option<TcpStream> {
    let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket(family, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddr::new(from, 0)).unwrap();
    rustix::net::connect(&socket, &to).ok()?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    Some(stream)
}

/// A task's id as one segment of a path.
pub fn segment(id: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    id.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
