//! What a refusal's bytes must be, read by hand: nothing of the crate's own readers.

use serde_json::Value;
use serde_json::value::RawValue;
use shrooms_a2a::A2aError;
use shrooms_a2a::error::ErrorCode;
use shrooms_a2a::jsonrpc::{Id, ResponseError, failure, parse_response};
use shrooms_a2a::rest::RestError;

/// A refusal says what is wrong; it does not give a large request back. In bytes: a name of 120
/// characters may stand there twice, each of them written as `\u0001`.
const ANSWER_MAX: usize = 2048;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RpcAnswer<'a> {
    jsonrpc: String,
    #[serde(borrow)]
    id: &'a RawValue,
    error: RpcError,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct RpcError {
    code: i32,
    message: String,
    data: Vec<Value>,
}

/// Proper JSON-RPC: the call's id as it was sent, code, message, typed details.
pub fn check_rpc(id: &Id, error: &A2aError) {
    let bytes = failure(id, error);
    let answer: RpcAnswer<'_> = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(answer.jsonrpc, "2.0");
    assert_eq!(answer.id.get(), id.to_string());
    assert_eq!(answer.error.code, error.code.json_rpc());
    check_message(&answer.error.message);
    check_details(&answer.error.data, Some(error.code));
    assert!(bytes.len() <= ANSWER_MAX + id.to_string().len(), "{} bytes", bytes.len());
    // A number beyond all doubles is echoed; no client of ours sends one.
    if serde_json::from_str::<Value>(answer.id.get()).is_ok() {
        let Err(ResponseError::Remote(remote)) = parse_response(&bytes, id) else { panic!("not read by our client") };
        assert_eq!(remote.known(), Some(error.code));
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpAnswer {
    error: HttpError,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct HttpError {
    code: u16,
    status: String,
    message: String,
    details: Vec<Value>,
}

/// An AIP-193 body with a status of the 400s; `Allow` for a 405, and for nothing else.
pub fn check_http(error: &RestError) {
    let bytes = error.to_bytes();
    let answer: HttpAnswer = serde_json::from_slice(&bytes).unwrap();
    assert!((400..500).contains(&error.status), "{error:?}");
    assert_eq!(answer.error.code, error.status);
    let known = ["INVALID_ARGUMENT", "NOT_FOUND", "UNIMPLEMENTED"];
    assert!(known.contains(&answer.error.status.as_str()), "{error:?}");
    check_message(&answer.error.message);
    check_details(&answer.error.details, None);
    assert!(!answer.error.details.is_empty(), "{error:?}");
    assert_eq!(error.allow.is_some(), error.status == 405, "{error:?}");
    assert!(bytes.len() <= ANSWER_MAX, "{} bytes", bytes.len());
}

fn check_message(message: &str) {
    assert!(!message.trim().is_empty());
}

/// The first one is the ErrorInfo; each has its type and what belongs to that.
fn check_details(details: &[Value], code: Option<ErrorCode>) {
    const TYPES: &str = "type.googleapis.com/google.rpc.";
    for (index, detail) in details.iter().enumerate() {
        let kind = detail["@type"].as_str().and_then(|kind| kind.strip_prefix(TYPES));
        match kind {
            Some("ErrorInfo") => {
                assert_eq!(index, 0, "{detail}");
                let known = ErrorCode::from_reason(text(&detail["domain"]), text(&detail["reason"]));
                assert!(known.is_some() && (code.is_none() || known == code), "{detail}");
                assert!(detail["metadata"].as_object().unwrap().values().all(Value::is_string), "{detail}");
            }
            Some("BadRequest") => {
                let violations = detail["fieldViolations"].as_array().unwrap();
                assert!(!violations.is_empty(), "{detail}");
                violations
                    .iter()
                    .for_each(|one| assert!(one["field"].is_string() && !text(&one["description"]).is_empty()));
            }
            _ => panic!("a detail of no known type: {detail}"),
        }
    }
    assert!(code.is_none() || !details.is_empty());
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}
