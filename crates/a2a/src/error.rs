//! What a refusal looks like on every binding: one value, printed as a JSON-RPC error object or as
//! the body of an HTTP answer, with `google.rpc` details in both.
//! Must not know why something is refused, nor hold inner errors' texts.

mod code;
mod detail;
mod remote;

use std::fmt;

use serde::Serialize;

pub use code::{A2A_DOMAIN, ErrorCode, SHROOMS_DOMAIN};
pub use detail::{Detail, FieldViolation};
pub use remote::RemoteError;

use crate::decode::Invalid;
use crate::shrooms;

/// A refusal. `message` is for the caller: it says what to do next.
#[derive(Debug, Clone, PartialEq)]
pub struct A2aError {
    pub code: ErrorCode,
    pub message: String,
    /// The first one is always the ErrorInfo of `code`.
    pub details: Vec<Detail>,
}

impl A2aError {
    /// A refusal with the ErrorInfo of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        A2aError { code, message: message.into(), details: vec![Detail::info(code)] }
    }

    /// Adds one entry to the ErrorInfo's metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<String>) -> Self {
        for detail in &mut self.details {
            if let Detail::ErrorInfo { metadata, .. } = detail {
                metadata.insert(key.to_owned(), value.into());
                break;
            }
        }
        self
    }

    /// An entry of the ErrorInfo's metadata.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.details.iter().find_map(|detail| match detail {
            Detail::ErrorInfo { metadata, .. } => metadata.get(key).map(String::as_str),
            _ => None,
        })
    }

    /// No such task, or none that the caller may see: the two answer alike.
    pub fn task_not_found(task_id: &str) -> Self {
        A2aError::new(ErrorCode::TaskNotFound, "no such task").with("taskId", task_id)
    }

    /// No method of this name. A long one is cut: an answer does not give a large request back.
    pub fn method_not_found(name: &str) -> Self {
        A2aError::new(ErrorCode::MethodNotFound, format!("no method `{}`", shrooms::title(name)))
    }

    /// A bad value in the params, with the path of its field.
    pub fn invalid_params(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Invalid { field: field.into(), problem: problem.into() }.into()
    }

    /// The `error` member of a JSON-RPC response: `{code, message, data}`.
    pub fn json_rpc(&self) -> impl Serialize + '_ {
        JsonRpcError { code: self.code.json_rpc(), message: &self.message, data: &self.details }
    }

    /// The body of an HTTP+JSON answer; its status is [`ErrorCode::http_status`].
    pub fn http_body(&self) -> Vec<u8> {
        http_body(self.code.http_status(), self.code.grpc_status(), &self.message, &self.details)
    }
}

/// The body of an HTTP refusal that no [`ErrorCode`] fits, such as 413 or 415:
/// `{"error":{"code","status","message","details"}}` (specification 11.6).
/// `grpc_status` is the status' name, such as `INVALID_ARGUMENT`.
pub fn http_body(status: u16, grpc_status: &str, message: &str, details: &[Detail]) -> Vec<u8> {
    let body = HttpBody { error: HttpError { code: status, status: grpc_status, message, details } };
    // Text, numbers and maps with text keys: nothing in it can fail to print.
    serde_json::to_vec(&body).unwrap_or_default()
}

#[derive(Serialize)]
struct JsonRpcError<'a> {
    code: i32,
    message: &'a str,
    data: &'a [Detail],
}

#[derive(Serialize)]
struct HttpBody<'a> {
    error: HttpError<'a>,
}

#[derive(Serialize)]
struct HttpError<'a> {
    code: u16,
    status: &'a str,
    message: &'a str,
    details: &'a [Detail],
}

impl From<Invalid> for A2aError {
    fn from(invalid: Invalid) -> Self {
        let mut error = A2aError::new(ErrorCode::InvalidParams, invalid.to_string());
        error.details.push(Detail::BadRequest {
            field_violations: vec![FieldViolation { field: invalid.field, description: invalid.problem }],
        });
        error
    }
}

impl fmt::Display for A2aError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for A2aError {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json, to_value};

    fn check(error: &A2aError, json_rpc: Value, http: Value) {
        assert_eq!(to_value(error.json_rpc()).unwrap(), json_rpc);
        assert_eq!(serde_json::from_slice::<Value>(&error.http_body()).unwrap(), http);
    }

    #[test]
    fn a_refusal_carries_its_error_info_on_every_binding() {
        let details = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "TASK_NOT_FOUND", "domain": "a2a-protocol.org", "metadata": {"taskId": "t"},
        }]);
        check(
            &A2aError::task_not_found("t"),
            json!({"code": -32001, "message": "no such task", "data": details}),
            json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "no such task", "details": details}}),
        );
    }

    #[test]
    fn ours_are_in_our_own_domain() {
        let details = json!([{
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "QUEUE_FULL", "domain": "shrooms-agent", "metadata": {},
        }]);
        check(
            &A2aError::new(ErrorCode::QueueFull, "full"),
            json!({"code": -32058, "message": "full", "data": details}),
            json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "full", "details": details}}),
        );
    }

    #[test]
    fn a_bad_value_names_its_field() {
        let details = json!([
            {
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": "INVALID_PARAMS", "domain": "a2a-protocol.org", "metadata": {},
            },
            {
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{"field": "message.parts[1]", "description": "is bad"}],
            },
        ]);
        let message = "message.parts[1]: is bad";
        check(
            &A2aError::invalid_params("message.parts[1]", "is bad"),
            json!({"code": -32602, "message": message, "data": details}),
            json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": message, "details": details}}),
        );
    }

    #[test]
    fn an_unknown_method_is_named_but_not_given_back_whole() {
        assert_eq!(A2aError::method_not_found("sendMessage").message, "no method `sendMessage`");
        let long = A2aError::method_not_found(&"x".repeat(100_000));
        assert_eq!(long.message, format!("no method `{}…`", "x".repeat(120)));
    }

    #[test]
    fn metadata_reads_back() {
        let error = A2aError::new(ErrorCode::LoopGuard, "stop").with("limit", "30");
        assert_eq!(error.metadata("limit"), Some("30"));
        assert_eq!(error.metadata("other"), None);
    }
}
