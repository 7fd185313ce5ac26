//! An agent on that server: its card, its answers on both bindings, its streams.

#![allow(dead_code, clippy::unwrap_used, reason = "each test file uses a part of it; a test may stop at a surprise")]

use std::time::Duration;

use serde_json::{Value, json};
use shrooms_outbound::{Agent, AgentOptions, Binding, CallError, Outbound, Peer, StreamLimits};

use super::{Act, Piece, Server, answer};

pub const HOME: &str = "127.0.0.1";

/// Any moment will do where no card grows old.
pub const NOW: Duration = Duration::ZERO;

pub fn peer(port: u16) -> Peer {
    Peer { name: "homeserver".into(), addresses: vec![HOME.parse().unwrap()], port, bind: None, interface: None }
}

/// A card with both bindings at `/a2a/review`, that offers all there is.
pub fn card(port: u16, first: Binding) -> Value {
    let second = if first == Binding::JsonRpc { Binding::HttpJson } else { Binding::JsonRpc };
    let interface = |binding: Binding| {
        json!({"url": format!("http://{HOME}:{port}/a2a/review"), "protocolBinding": binding.name(),
            "protocolVersion": "1.0"})
    };
    json!({
        "name": "homeserver/review", "description": "d", "version": "1", "skills": [],
        "supportedInterfaces": [interface(first), interface(second)],
        "capabilities": {"streaming": true, "pushNotifications": true, "extendedAgentCard": true,
            "extensions": [{"uri": shrooms_a2a::shrooms::EXTENSION_URI}]},
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })
}

pub fn json_answer(status: &str, body: &Value) -> Act {
    answer(status, "application/json", &body.to_string())
}

/// A result as the binding has it.
pub fn result(binding: Binding, result: &Value) -> Act {
    match binding {
        Binding::JsonRpc => json_answer("200 OK", &framed(binding, result)),
        Binding::HttpJson => answer("200 OK", "application/a2a+json", &result.to_string()),
    }
}

pub fn framed(binding: Binding, result: &Value) -> Value {
    match binding {
        Binding::JsonRpc => json!({"jsonrpc": "2.0", "id": 1, "result": result}),
        Binding::HttpJson => result.clone(),
    }
}

/// Small gaps and bounds, so that a test is over soon.
pub fn options(binding: Binding) -> AgentOptions {
    let limits = StreamLimits {
        silence: Duration::from_secs(10),
        tries: 3,
        first_gap: Duration::from_millis(1),
        longest_gap: Duration::from_millis(4),
        ..StreamLimits::default()
    };
    AgentOptions { binding: Some(binding), limits, ..AgentOptions::default() }
}

/// An agent whose card is fetched first; the acts are for what comes after.
pub async fn start(binding: Binding, acts: Vec<Act>) -> (Agent, Server) {
    start_with(options(binding), card, acts).await
}

pub async fn start_with(
    options: AgentOptions,
    card: impl Fn(u16, Binding) -> Value,
    acts: Vec<Act>,
) -> (Agent, Server) {
    let server = Server::start(|port| {
        let card = json_answer("200 OK", &card(port, Binding::JsonRpc));
        [vec![card], acts].concat()
    });
    let agent = make(&server, options).await.unwrap();
    (agent, server)
}

pub async fn make(server: &Server, options: AgentOptions) -> Result<Agent, CallError> {
    Outbound::new("0.1.0").agent(&peer(server.port), "/a2a/review", options, NOW).await
}

/// The head of a stream that ends with the connection.
pub fn stream_head() -> Piece {
    Piece::Bytes(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n\r\n".to_vec())
}

/// The head of a stream in chunks: without the last one of them it is cut.
pub fn chunked_head() -> Piece {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    Piece::Bytes(head.to_vec())
}

pub fn chunk(bytes: &[u8]) -> Piece {
    let mut piece = format!("{:x}\r\n", bytes.len()).into_bytes();
    piece.extend_from_slice(bytes);
    piece.extend_from_slice(b"\r\n");
    Piece::Bytes(piece)
}

pub fn last_chunk() -> Piece {
    Piece::Bytes(b"0\r\n\r\n".to_vec())
}

/// An event of a stream.
pub fn event(binding: Binding, event: &Value) -> Vec<u8> {
    format!("data: {}\n\n", framed(binding, event)).into_bytes()
}

/// A stream of whole events that the agent ends.
pub fn stream(binding: Binding, events: &[Value]) -> Act {
    let events: Vec<u8> = events.iter().flat_map(|value| event(binding, value)).collect();
    Act::Pieces(vec![chunked_head(), chunk(&events), last_chunk()])
}

/// The same, cut off after the last event.
pub fn cut_stream(binding: Binding, events: &[Value]) -> Act {
    let events: Vec<u8> = events.iter().flat_map(|value| event(binding, value)).collect();
    Act::Pieces(vec![chunked_head(), chunk(&events)])
}

/// A refusal of A2A as the binding has it.
pub fn refusal(binding: Binding, code: shrooms_a2a::ErrorCode) -> Act {
    let error = shrooms_a2a::A2aError::new(code, "why");
    match binding {
        Binding::JsonRpc => {
            let body = json!({"jsonrpc": "2.0", "id": 1, "error": serde_json::to_value(error.json_rpc()).unwrap()});
            json_answer("200 OK", &body)
        }
        Binding::HttpJson => {
            let status = format!("{} Refused", code.http_status());
            answer(&status, "application/a2a+json", &String::from_utf8(error.http_body()).unwrap())
        }
    }
}

pub fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}})
}

pub fn snapshot(state: &str) -> Value {
    json!({"task": task(state)})
}

pub fn now(state: &str) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": format!("TASK_STATE_{state}")}}})
}

/// A piece of the artifact `a`.
pub fn piece(text: &str) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"text": text}]}}})
}

/// The texts of the artifact `a`.
pub fn texts(task: &shrooms_a2a::Task) -> Vec<String> {
    let parts = task.artifacts.iter().flatten().filter(|artifact| artifact.artifact_id == "a");
    parts.flat_map(|artifact| &artifact.parts).filter_map(|part| part.as_text().map(str::to_owned)).collect()
}
