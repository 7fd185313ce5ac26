//! A result or a refusal as a binding writes it: one JSON-RPC answer, or the bare value of HTTP+JSON.
//! Must not know what it frames.

use serde::Serialize;
use shrooms_a2a::jsonrpc::{self, Id};
use shrooms_a2a::types::ListTasksResult;
use shrooms_a2a::{A2aError, ErrorCode, SendMessageResponse, StreamResponse, Task};

/// What an operation gives.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Sent(SendMessageResponse),
    Task(Task),
    List(ListTasksResult),
    Event(StreamResponse),
}

/// How a request's answers are framed.
#[derive(Clone)]
pub(super) enum Frame {
    Rpc(Id),
    Http,
}

impl Frame {
    /// A whole answer, or the data of a stream's event.
    pub(super) fn bytes(&self, outcome: &Result<Outcome, A2aError>) -> Vec<u8> {
        match (self, outcome) {
            (Frame::Rpc(id), Ok(outcome)) => jsonrpc::success(id, outcome),
            (Frame::Rpc(id), Err(error)) => jsonrpc::failure(id, error),
            (Frame::Http, Ok(outcome)) => serde_json::to_vec(outcome).unwrap_or_else(|_| {
                A2aError::new(ErrorCode::InternalError, "the result could not be written").http_body()
            }),
            (Frame::Http, Err(error)) => error.http_body(),
        }
    }

    /// The HTTP status of an answer that is known at once: a refusal of JSON-RPC is still an answer.
    pub(super) fn status(&self, outcome: &Result<Outcome, A2aError>) -> u16 {
        match (self, outcome) {
            (Frame::Http, Err(error)) => error.code.http_status(),
            (Frame::Rpc(_), _) | (Frame::Http, Ok(_)) => 200,
        }
    }
}
