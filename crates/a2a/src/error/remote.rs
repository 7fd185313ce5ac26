//! What another agent refused with, read from either binding into one value, so that nothing further
//! in asks which binding it came by. Lenient, for the agent is not ours.
//! Must not know what the caller does about it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{A2aError, Detail, ErrorCode};

/// A refusal that was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RemoteError {
    /// The number of JSON-RPC, also where the refusal came over HTTP+JSON; a status of HTTP (from
    /// 400 up) where that binding gave a refusal that has no such number.
    pub code: i64,
    pub message: String,
    /// Of its ErrorInfo, if it gave one.
    pub reason: Option<String>,
    /// Of its ErrorInfo, if it gave one.
    pub domain: Option<String>,
    /// Of its ErrorInfo: values that are text. Empty if it gave none.
    pub metadata: BTreeMap<String, String>,
}

impl RemoteError {
    /// What it means, by domain and reason first, then by number; `None` if unknown here.
    pub fn known(&self) -> Option<ErrorCode> {
        let by_reason = match (&self.domain, &self.reason) {
            (Some(domain), Some(reason)) => ErrorCode::from_reason(domain, reason),
            _ => None,
        };
        by_reason.or_else(|| ErrorCode::from_json_rpc(self.code))
    }

    /// From the `error` member of a JSON-RPC answer.
    pub fn of_json_rpc(mut error: Map<String, Value>) -> Self {
        let data = error.remove("data").unwrap_or_default();
        let code = error.get("code").and_then(Value::as_i64).unwrap_or(0);
        RemoteError::of(code, error.get("message"), &data)
    }

    /// From the body of an HTTP answer, or from an event of a stream over HTTP+JSON, that is
    /// `{"error": {…}}` with at least a code or a status in it; `None` for any other body. `status`
    /// is the one of the answer; without one, the body's own number counts.
    pub fn of_http(status: Option<u16>, body: &[u8]) -> Option<Self> {
        let Value::Object(mut body) = serde_json::from_slice(body).ok()? else { return None };
        let Some(Value::Object(error)) = body.remove("error") else { return None };
        let number = error.get("code").and_then(Value::as_i64);
        let name = error.get("status").and_then(Value::as_str);
        if number.is_none() && name.is_none() {
            return None;
        }
        // Some agents answer here as they do over JSON-RPC.
        if number.is_some_and(|number| number < 0) {
            return Some(RemoteError::of_json_rpc(error));
        }
        let details = error.get("details").unwrap_or(&Value::Null);
        let status = status.or_else(|| number.and_then(|number| u16::try_from(number).ok())).unwrap_or(0);
        let mut refusal = RemoteError::of(i64::from(status), error.get("message"), details);
        let known = refusal.known().or_else(|| ErrorCode::from_http(status, name.unwrap_or_default()));
        if let Some(code) = known {
            refusal.code = i64::from(code.json_rpc());
        }
        Some(refusal)
    }

    fn of(code: i64, message: Option<&Value>, details: &Value) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        // An array by 1.0.1; a bare object from older agents.
        let details = match details {
            Value::Array(details) => details.as_slice(),
            other => std::slice::from_ref(other),
        };
        let is_info = |detail: &&Value| {
            let kind = detail.get("@type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.ends_with("google.rpc.ErrorInfo"))
        };
        let info = details.iter().find(is_info);
        let metadata = info
            .and_then(|info| info.get("metadata")?.as_object())
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect();
        RemoteError {
            code,
            message: text(message).unwrap_or_default(),
            reason: info.and_then(|info| text(info.get("reason"))),
            domain: info.and_then(|info| text(info.get("domain"))),
            metadata,
        }
    }
}

/// As the other side would have read it: a refusal that is said before a call, from what is known.
impl From<A2aError> for RemoteError {
    fn from(error: A2aError) -> Self {
        let info = error.details.into_iter().find_map(|detail| match detail {
            Detail::ErrorInfo { metadata, .. } => Some(metadata),
            _ => None,
        });
        RemoteError {
            code: i64::from(error.code.json_rpc()),
            message: error.message,
            reason: Some(error.code.reason().to_owned()),
            domain: Some(error.code.domain().to_owned()),
            metadata: info.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The code and its meaning; `None`: the body is no refusal of an agent.
    #[track_caller]
    fn check(status: u16, body: Value, expected: Option<(i64, Option<ErrorCode>)>) {
        let got = RemoteError::of_http(Some(status), body.to_string().as_bytes());
        assert_eq!(got.map(|refusal| (refusal.code, refusal.known())), expected, "{status} {body}");
    }

    fn info(domain: &str, reason: &str) -> Value {
        json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": domain, "reason": reason})
    }

    #[test]
    fn every_refusal_is_the_same_on_both_bindings() {
        for code in ErrorCode::all() {
            let sent = A2aError::new(code, "why").with("k", "v");
            let got = RemoteError::of_http(Some(code.http_status()), &sent.http_body()).unwrap();
            assert_eq!(got.known(), Some(code));
            assert_eq!(got.code, i64::from(code.json_rpc()));
            assert_eq!(got, RemoteError::from(sent.clone()));
            let Value::Object(error) = serde_json::to_value(sent.json_rpc()).unwrap() else { panic!() };
            assert_eq!(got, RemoteError::of_json_rpc(error));
        }
    }

    #[test]
    fn the_reason_goes_before_the_status() {
        let of = |domain, reason| {
            json!({"error": {"code": 400, "status": "FAILED_PRECONDITION", "message": "no",
                "details": [{"@type": "x"}, info(domain, reason)]}})
        };
        let not_found = Some((-32001, Some(ErrorCode::TaskNotFound)));
        check(400, of("a2a-protocol.org", "TASK_NOT_FOUND"), not_found);
        check(418, of("a2a-protocol.org", "TASK_NOT_FOUND"), not_found);
        check(429, of("shrooms-agent", "QUEUE_FULL"), Some((-32058, Some(ErrorCode::QueueFull))));
        // Somebody else's reason: the status says what it can.
        check(404, of("example.org", "NO_SUCH_THING"), not_found);
        check(400, of("example.org", "ODD"), Some((400, None)));
    }

    #[test]
    fn without_a_reason_the_status_says_what_it_can() {
        for (status, name, known) in [
            (404, "NOT_FOUND", Some(ErrorCode::TaskNotFound)),
            (404, "UNIMPLEMENTED", Some(ErrorCode::MethodNotFound)),
            (400, "INVALID_ARGUMENT", Some(ErrorCode::InvalidParams)),
            (500, "INTERNAL", Some(ErrorCode::InternalError)),
            (501, "UNIMPLEMENTED", Some(ErrorCode::UnsupportedOperation)),
            // As 1.0.0 had them.
            (409, "FAILED_PRECONDITION", Some(ErrorCode::TaskNotCancelable)),
            (415, "INVALID_ARGUMENT", Some(ErrorCode::ContentTypeNotSupported)),
            // Of several meanings, or of none.
            (400, "FAILED_PRECONDITION", None),
            (401, "UNAUTHENTICATED", None),
            (403, "PERMISSION_DENIED", None),
            (429, "RESOURCE_EXHAUSTED", None),
            (503, "UNAVAILABLE", None),
        ] {
            let code = known.map_or(i64::from(status), |known| i64::from(known.json_rpc()));
            check(status, json!({"error": {"code": status, "status": name}}), Some((code, known)));
        }
    }

    #[test]
    fn what_is_no_agents_refusal_is_told_apart() {
        for body in [json!({}), json!({"error": "no"}), json!({"error": {}}), json!([]), json!({"error": {"m": 1}})] {
            check(404, body, None);
        }
        assert_eq!(RemoteError::of_http(Some(404), b"<html>"), None);
        let rpc = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32002, "message": "no"}});
        check(400, rpc, Some((-32002, Some(ErrorCode::TaskNotCancelable))));
        let event = json!({"error": {"code": 404, "status": "NOT_FOUND", "message": "gone"}}).to_string();
        let got = RemoteError::of_http(None, event.as_bytes()).unwrap();
        assert_eq!((got.code, got.message.as_str()), (-32001, "gone"));
    }

    #[test]
    fn a_refusal_is_known_by_its_reason_first() {
        let known = |code: i64, domain: &str, reason: &str| {
            let error = json!({"code": code, "data": info(domain, reason)});
            RemoteError::of_json_rpc(error.as_object().unwrap().clone()).known()
        };
        assert_eq!(known(-1, "a2a-protocol.org", "TASK_NOT_FOUND"), Some(ErrorCode::TaskNotFound));
        assert_eq!(known(-32002, "example.org", "ODD"), Some(ErrorCode::TaskNotCancelable));
        assert_eq!(known(-1, "example.org", "ODD"), None);
    }
}
