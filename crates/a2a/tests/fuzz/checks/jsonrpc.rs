//! Any body of a call becomes an operation or a proper refusal.

use serde_json::{Map, Value, to_value, to_vec};
use shrooms_a2a::jsonrpc::{Id, Request, request};
use shrooms_a2a::{A2aError, ErrorCode, Method, Operation, rest, version};

use super::answer::check_rpc;
use super::first_line;

/// The first line is the version that the call names, in the header or in the query; the rest is the
/// body.
pub fn check_jsonrpc(data: &[u8]) {
    let (version, body) = first_line(data);
    let call = match Request::parse(body) {
        Ok(call) => call,
        Err(refused) => {
            assert!(matches!(refused.error.code, ErrorCode::ParseError | ErrorCode::InvalidRequest));
            assert_eq!(refused.to_bytes(), shrooms_a2a::jsonrpc::failure(&refused.id, &refused.error));
            check_rpc(&refused.id, &refused.error);
            return;
        }
    };
    check_call(&call, body);
    let named = version.trim();
    let digits = |patch: &str| !patch.is_empty() && patch.bytes().all(|byte| byte.is_ascii_digit());
    let is_ours = named == version::SPOKEN || named.strip_prefix("1.0.").is_some_and(digits);
    let mut spoken = false;
    for strict in [false, true] {
        for (header, query) in [(Some(version.as_str()), None), (None, Some(version.as_str()))] {
            match version::negotiate(header, query, &call.method, strict) {
                Ok(()) => {
                    assert!(is_ours || (named.is_empty() && !strict), "{named:?} is not spoken");
                    spoken = true;
                }
                Err(error) => {
                    let code = if is_ours { ErrorCode::MethodNotFound } else { ErrorCode::VersionNotSupported };
                    assert_eq!(error.code, code, "{named:?}");
                    check_rpc(&call.id, &error);
                }
            }
        }
    }
    if !spoken {
        return;
    }
    let Some(method) = Method::parse(&call.method) else {
        return check_rpc(&call.id, &A2aError::method_not_found(&call.method));
    };
    match Operation::decode(method, call.params) {
        Ok(operation) => {
            assert_eq!(operation.method(), method);
            check_operation(&operation);
        }
        Err(error) => {
            assert_eq!(error.code, ErrorCode::InvalidParams);
            check_rpc(&call.id, &error);
        }
    }
}

/// What another reader of JSON finds in the body.
fn check_call(call: &Request, body: &[u8]) {
    // That reader knows no number beyond the doubles.
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return };
    let id: Value = serde_json::from_str(&call.id.to_string()).unwrap();
    assert_eq!((&value["jsonrpc"], value.get("id")), (&Value::from("2.0"), Some(&id)));
    assert_eq!((&value["method"], call.method.is_empty()), (&Value::from(call.method.as_str()), false));
    assert_eq!(value.get("params").filter(|params| !params.is_null()), call.params.as_ref());
}

/// Written by our client and read by our server, on each binding, it is the same operation.
pub fn check_operation(operation: &Operation) {
    let params = params(operation);
    let method = operation.method();
    let body = request(&Id::from(1), method, &params).unwrap();
    let call = Request::parse(&body).unwrap();
    assert_eq!(&Operation::decode(method, call.params).unwrap(), operation);
    if let Some((verb, path, query, body)) = as_http(operation, params) {
        let read = rest::parse(verb, &path, Some(&query), &body);
        assert_eq!(read.as_ref(), Ok(operation), "{verb} {path}?{query}");
    }
}

fn params(operation: &Operation) -> Map<String, Value> {
    let params = match operation {
        Operation::SendMessage(params) | Operation::SendStreamingMessage(params) => to_value(params),
        Operation::GetTask(params) => to_value(params),
        Operation::ListTasks(params) => to_value(params),
        Operation::CancelTask(params) | Operation::SubscribeToTask(params) | Operation::AckTask(params) => {
            to_value(params)
        }
        Operation::GetExtendedAgentCard => Ok(Value::Object(Map::new())),
        Operation::Push(_, params) => return params.clone(),
    };
    let Ok(Value::Object(params)) = params else { panic!("params are an object") };
    params
}

/// Verb, path, query, body. None for what that binding cannot say.
fn as_http(operation: &Operation, mut params: Map<String, Value>) -> Option<(&'static str, String, String, Vec<u8>)> {
    let mut id = |name: &str| Some(encoded(params.remove(name)?.as_str().filter(|id| !id.is_empty())?));
    let (verb, path) = match operation {
        Operation::SendMessage(_) => ("POST", "/message:send".to_owned()),
        Operation::SendStreamingMessage(_) => ("POST", "/message:stream".to_owned()),
        Operation::GetTask(_) => ("GET", format!("/tasks/{}", id("id")?)),
        Operation::ListTasks(_) => ("GET", "/tasks".to_owned()),
        Operation::CancelTask(_) => ("POST", format!("/tasks/{}:cancel", id("id")?)),
        Operation::SubscribeToTask(_) => ("POST", format!("/tasks/{}:subscribe", id("id")?)),
        Operation::AckTask(_) => ("POST", format!("/tasks/{}:ack", id("id")?)),
        Operation::GetExtendedAgentCard => ("GET", "/extendedAgentCard".to_owned()),
        Operation::Push(Method::CreateTaskPushNotificationConfig, _) => {
            ("POST", format!("/tasks/{}/pushNotificationConfigs", id("taskId")?))
        }
        // Their params are unread, and a query is all text.
        Operation::Push(..) => return None,
    };
    if verb == "POST" {
        return Some((verb, path, String::new(), to_vec(&params).ok()?));
    }
    let pairs = params.into_iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={}", encoded(&value))
    });
    Some((verb, path, pairs.collect::<Vec<_>>().join("&"), Vec::new()))
}

/// Each byte by its number, as no path or query may misread it.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
