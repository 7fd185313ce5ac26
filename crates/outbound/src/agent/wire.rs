//! One operation on the wire of either binding: the request that it becomes, and its result or
//! refusal in what comes back. Nothing further in asks which binding it was.
//! Must not know operations' meanings, nor send anything.

use reqwest::Method as Verb;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use serde_json::Value;
use shrooms_a2a::error::RemoteError;
use shrooms_a2a::jsonrpc::{self, Id, ResponseError};
use shrooms_a2a::rest::{RestRequest, WriteError};
use shrooms_a2a::{A2aError, Operation};

use super::choice::{Binding, Chosen};
use crate::CallError;
use crate::call::Call;
use crate::http::{Answer, JSON, VERSION};

/// The type of HTTP+JSON bodies since 1.0.1.
const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");
/// Agents of 1.0.0 answer the second.
const ACCEPT_REST: HeaderValue = HeaderValue::from_static("application/a2a+json, application/json");
/// A refusal before the first event comes as plain JSON.
const ACCEPT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream, application/json");

/// Each call has a connection of its own, so that any id will do.
fn id() -> Id {
    Id::from(1)
}

/// The request that asks an interface for an operation. `extensions` is the header of that name.
///
/// # Errors
/// It cannot be written: an id that is no path's segment.
pub(super) fn call(
    operation: &Operation,
    chosen: &Chosen,
    extensions: Option<&HeaderValue>,
) -> Result<Call, CallError> {
    let tenant = chosen.tenant.as_deref();
    let streams = operation.method().is_streaming();
    match chosen.binding {
        Binding::JsonRpc => {
            let params = operation.params(tenant).map_err(|error| unwritable(error.into()))?;
            let body = jsonrpc::request(&id(), operation.method(), &params);
            let body = body.map_err(|error| unwritable(error.into()))?;
            let accept = if streams { ACCEPT_STREAM } else { JSON };
            let mut headers = headers(accept, extensions);
            headers.insert(CONTENT_TYPE, JSON);
            Ok(Call { verb: Verb::POST, target: chosen.target.clone(), headers, body: Some(body) })
        }
        Binding::HttpJson => {
            let request = RestRequest::of(operation, tenant).map_err(unwritable)?;
            Ok(rest(request, chosen, streams, extensions))
        }
    }
}

/// The subscription as a GET, for an agent that does not take it as a POST.
///
/// # Errors
/// It cannot be written: an id that is no path's segment.
pub(super) fn subscribe_by_get(id: &str, chosen: &Chosen, extensions: Option<&HeaderValue>) -> Result<Call, CallError> {
    let request = RestRequest::subscribe_by_get(id, chosen.tenant.as_deref()).map_err(unwritable)?;
    Ok(rest(request, chosen, true, extensions))
}

/// The same call with the type that bodies had in 1.0.0.
pub(super) fn as_plain_json(mut call: Call) -> Call {
    call.headers.insert(CONTENT_TYPE, JSON);
    call
}

fn rest(request: RestRequest, chosen: &Chosen, streams: bool, extensions: Option<&HeaderValue>) -> Call {
    let mut headers = headers(if streams { ACCEPT_STREAM } else { ACCEPT_REST }, extensions);
    if request.body.is_some() {
        headers.insert(CONTENT_TYPE, A2A_JSON);
    }
    let verb = match request.verb {
        "GET" => Verb::GET,
        "DELETE" => Verb::DELETE,
        _ => Verb::POST,
    };
    Call { verb, target: format!("{}{}", chosen.target, request.path), headers, body: request.body }
}

fn headers(accept: HeaderValue, extensions: Option<&HeaderValue>) -> HeaderMap {
    let mut headers = HeaderMap::from_iter([VERSION, (ACCEPT, accept)]);
    if let Some(extensions) = extensions {
        headers.insert("a2a-extensions", extensions.clone());
    }
    headers
}

/// Nothing that was asked for can be so named: as the agent would say it.
fn unwritable(error: WriteError) -> CallError {
    let field = match &error {
        WriteError::NoSegment { what, .. } => what,
        WriteError::Json(_) => "params",
    };
    CallError::Refused(A2aError::invalid_params(field, error.to_string()).into())
}

/// The result in a whole answer. `name` is of the peer, for errors.
///
/// # Errors
/// `Refused` and `Http` for a refusal, `Unsure` for what is no answer to the call.
pub(super) fn result(binding: Binding, name: &str, answer: &Answer) -> Result<Value, CallError> {
    match binding {
        Binding::JsonRpc => match jsonrpc::parse_response(&answer.body, &id()) {
            // A refusal is one under any status: agents differ in that.
            Err(ResponseError::Remote(refusal)) => Err(refusal.into()),
            _ if !answer.status.is_success() => Err(CallError::http(answer)),
            Ok(result) => Ok(result),
            Err(malformed) => Err(CallError::Unsure(format!("{name}: {malformed}"))),
        },
        Binding::HttpJson if !answer.status.is_success() => Err(refusal(answer)),
        // A deletion has nothing to say.
        Binding::HttpJson if answer.body.is_empty() => Ok(Value::Null),
        Binding::HttpJson => {
            let not_json = |_| CallError::Unsure(format!("{name}: its answer is not JSON"));
            if !shrooms_a2a::decode::is_small_enough(&answer.body) {
                return Err(CallError::Unsure(format!("{name}: its answer holds too many values")));
            }
            serde_json::from_slice(&answer.body).map_err(not_json)
        }
    }
}

/// The result in one event of a stream.
///
/// # Errors
/// As [`result`].
pub(super) fn event(binding: Binding, name: &str, data: &str) -> Result<Value, CallError> {
    match binding {
        Binding::JsonRpc => jsonrpc::parse_response(data.as_bytes(), &id()).map_err(|error| match error {
            ResponseError::Remote(refusal) => refusal.into(),
            malformed => CallError::Unsure(format!("{name}: {malformed}")),
        }),
        Binding::HttpJson => {
            let not_json = |_| CallError::Unsure(format!("{name}: an event of its stream is not JSON"));
            let value: Value = serde_json::from_str(data).map_err(not_json)?;
            match value.get("error").and_then(|_| RemoteError::of_http(None, data.as_bytes())) {
                Some(refusal) => Err(refusal.into()),
                None => Ok(value),
            }
        }
    }
}

/// What an answer of HTTP+JSON that is no success says. Of a server's failure nobody knows what was
/// done, and a limit is of this moment only, so that these are refusals only under a known reason.
fn refusal(answer: &Answer) -> CallError {
    let status = answer.status.as_u16();
    match RemoteError::of_http(Some(status), &answer.body) {
        Some(refusal) if refusal.known().is_some() => refusal.into(),
        Some(refusal) if answer.status.is_client_error() && !matches!(status, 408 | 429) => refusal.into(),
        Some(refusal) if !refusal.message.is_empty() => CallError::Http { status, detail: refusal.message },
        _ => CallError::http(answer),
    }
}

/// Whether a refused subscription may be one that this agent takes as a GET.
pub(super) fn may_be_a_get(error: &CallError) -> bool {
    match error {
        // No agent's word: whatever is there has no such path, or not with this verb.
        CallError::Http { status, .. } => matches!(status, 404 | 405),
        CallError::Refused(refusal) => refusal.code == 405,
        CallError::Away(_) | CallError::Unsure(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use serde_json::json;
    use shrooms_a2a::{ErrorCode, Method};

    fn chosen(binding: Binding) -> Chosen {
        Chosen { binding, target: "/a2a/review".into(), tenant: Some("w".into()) }
    }

    #[test]
    fn a_call_names_version_types_tenant_and_extensions_on_both_bindings() {
        let extensions = HeaderValue::from_static("urn:x");
        let asked = Operation::decode(Method::CancelTask, Some(json!({"id": "t"}))).unwrap();
        let rpc = call(&asked, &chosen(Binding::JsonRpc), Some(&extensions)).unwrap();
        assert_eq!((rpc.verb, rpc.target.as_str()), (Verb::POST, "/a2a/review"));
        let body: Value = serde_json::from_slice(&rpc.body.unwrap()).unwrap();
        assert_eq!(body["params"], json!({"id": "t", "tenant": "w"}));
        let rest = call(&asked, &chosen(Binding::HttpJson), Some(&extensions)).unwrap();
        assert_eq!((rest.verb, rest.target.as_str()), (Verb::POST, "/a2a/review/w/tasks/t:cancel"));
        for (headers, kind) in [(rpc.headers, "application/json"), (rest.headers, "application/a2a+json")] {
            assert_eq!(headers["a2a-version"], "1.0");
            assert_eq!(headers["a2a-extensions"], "urn:x");
            assert_eq!(headers[CONTENT_TYPE], kind);
        }
        let listed = Operation::decode(Method::ListTasks, None).unwrap();
        let rest = call(&listed, &chosen(Binding::HttpJson), None).unwrap();
        assert_eq!((rest.body, rest.headers.get(CONTENT_TYPE)), (None, None));
    }

    #[test]
    fn an_id_that_is_no_segment_is_refused_before_anything_is_sent() {
        let asked = Operation::decode(Method::GetTask, Some(json!({"id": ".."}))).unwrap();
        let Err(CallError::Refused(refusal)) = call(&asked, &chosen(Binding::HttpJson), None) else { panic!() };
        assert_eq!(refusal.known(), Some(ErrorCode::InvalidParams));
        assert!(call(&asked, &chosen(Binding::JsonRpc), None).is_ok());
    }

    /// What an answer of HTTP+JSON is: `Ok`, the code of a refusal, or a word.
    #[track_caller]
    fn check(status: u16, body: &str, expected: Result<Value, &str>) {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() };
        let got = result(Binding::HttpJson, "homeserver", &answer).map_err(|error| match error {
            CallError::Refused(refusal) => format!("refused {} {}", refusal.code, refusal.message),
            CallError::Http { status, detail } => format!("http {status} {detail}"),
            other => other.to_string(),
        });
        assert_eq!(got, expected.map_err(str::to_owned), "{status} {body}");
    }

    #[test]
    fn an_answer_is_a_result_a_refusal_or_a_failure_of_which_nobody_knows() {
        let error =
            |code: u16, status: &str| json!({"error": {"code": code, "status": status, "message": "why"}}).to_string();
        check(200, "", Ok(Value::Null));
        check(200, "  {\"a\":1}", Ok(json!({"a": 1})));
        check(200, "<html>", Err("homeserver: its answer is not JSON"));
        check(404, &error(404, "NOT_FOUND"), Err("refused -32001 why"));
        check(403, &error(403, "PERMISSION_DENIED"), Err("refused 403 why"));
        check(404, "<html>nginx", Err("http 404 <html>nginx"));
        check(429, &error(429, "RESOURCE_EXHAUSTED"), Err("http 429 why"));
        check(503, &error(503, "UNAVAILABLE"), Err("http 503 why"));
        check(500, &error(500, "INTERNAL"), Err("refused -32603 why"));
        check(302, "", Err("http 302 Found"));
        let paused = String::from_utf8(A2aError::new(ErrorCode::Paused, "paused").http_body()).unwrap();
        check(503, &paused, Err("refused -32059 paused"));
    }

    #[test]
    fn a_subscription_is_a_get_where_the_post_has_no_place() {
        for (status, body, expected) in [
            (405, "", true),
            (405, r#"{"error":{"code":405,"status":"UNIMPLEMENTED"}}"#, true),
            (404, "<html>", true),
            (404, r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#, false),
            (400, "", false),
            (500, "", false),
        ] {
            let status = StatusCode::from_u16(status).unwrap();
            let answer = Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() };
            assert_eq!(may_be_a_get(&refusal(&answer)), expected, "{status} {body}");
        }
    }
}
