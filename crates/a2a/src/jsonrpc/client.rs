//! The client's side: writing a call, and reading what another agent answered.
//! Lenient in what it reads, for the agent is not ours; a result is lost if it is refused here.
//! Must not know how the bytes travel.

use serde::Serialize;
use serde_json::Value;

use super::Id;
use crate::decode::{Invalid, decode, is_small_enough};
use crate::error::RemoteError;
use crate::method::Method;
use crate::types::Task;

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResponseError {
    /// The agent answered, with a refusal.
    #[error(transparent)]
    Remote(#[from] RemoteError),
    /// What came is no answer to the call: another program, a proxy's page, another call's answer.
    #[error("not a JSON-RPC answer: {0}")]
    Malformed(&'static str),
}

/// A call's body.
///
/// # Errors
/// The params cannot be written as JSON (a map whose keys are not text).
pub fn request<T: Serialize + ?Sized>(id: &Id, method: Method, params: &T) -> Result<Vec<u8>, serde_json::Error> {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    id.write(&mut out);
    out.extend_from_slice(b",\"method\":\"");
    out.extend_from_slice(method.name().as_bytes());
    out.extend_from_slice(b"\",\"params\":");
    serde_json::to_writer(&mut out, params)?;
    out.push(b'}');
    Ok(out)
}

/// Reads an answer, or one event of a stream, to the call of this id. A refusal may come under a
/// null id: so answers an agent that could not read the call.
///
/// # Errors
/// The agent's refusal, or that this is no answer to the call.
pub fn parse_response(bytes: &[u8], id: &Id) -> Result<Value, ResponseError> {
    let malformed = ResponseError::Malformed;
    if !is_small_enough(bytes) {
        return Err(malformed("it holds too many values"));
    }
    let answer: Value = serde_json::from_slice(bytes).map_err(|_| malformed("it is not JSON"))?;
    let Value::Object(mut answer) = answer else {
        return Err(malformed("it is not an object"));
    };
    if answer.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Err(malformed("`jsonrpc` is not \"2.0\""));
    }
    let answered = answer.remove("id").unwrap_or_default();
    let error = answer.remove("error").filter(|error| !error.is_null());
    let is_ours = is_same(&answered, id) || (answered.is_null() && error.is_some());
    if !is_ours {
        return Err(malformed("its id is not the call's"));
    }
    match (error, answer.remove("result")) {
        (Some(Value::Object(error)), _) => Err(RemoteError::of_json_rpc(error).into()),
        (Some(_), _) => Err(malformed("`error` is not an object")),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(malformed("it has neither `result` nor `error`")),
    }
}

/// The task in a result: bare, as A2A has it, or as `{"task": …}`, as the original shrooms does.
///
/// # Errors
/// It is not a task; with the path of what is wrong.
pub fn task_result(mut result: Value) -> Result<Task, Invalid> {
    let wrapped = result.as_object_mut().filter(|map| !map.contains_key("id")).and_then(|map| map.remove("task"));
    decode(wrapped.unwrap_or(result))
}

/// Numbers by value, for an agent may write `1.0` for `1`.
fn is_same(answered: &Value, id: &Id) -> bool {
    match id {
        Id::String(text) => answered == text.as_str(),
        Id::Number(number) => answered.is_number() && answered.as_f64() == number.as_str().parse().ok(),
        Id::Null => answered.is_null(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{A2aError, ErrorCode};
    use crate::jsonrpc::{Request, failure, success};
    use serde_json::json;

    /// Reads an answer to call 1.
    fn check(answer: Value, expected: Result<Value, &str>) {
        let got = parse_response(answer.to_string().as_bytes(), &Id::from(1));
        assert_eq!(got.map_err(|error| error.to_string()), expected.map_err(str::to_owned), "{answer}");
    }

    #[test]
    fn a_call_is_read_by_our_own_server() {
        let body = request(&Id::from("c-1"), Method::AckTask, &json!({"id": "t"})).unwrap();
        let request = Request::parse(&body).unwrap();
        assert_eq!(request.id, Id::from("c-1"));
        assert_eq!(request.method, "AckTask");
        assert_eq!(request.params, Some(json!({"id": "t"})));
    }

    #[test]
    fn an_answer_has_a_result_or_a_refusal() {
        check(json!({"jsonrpc": "2.0", "id": 1, "result": {"a": 1}}), Ok(json!({"a": 1})));
        check(json!({"jsonrpc": "2.0", "id": 1.0, "result": null, "error": null}), Ok(json!(null)));
        check(json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -5, "message": "no"}}), Err("no (-5)"));
        check(json!({"jsonrpc": "2.0", "id": null, "error": {"code": -5, "message": "no"}}), Err("no (-5)"));
        check(json!({"jsonrpc": "2.0", "error": {}}), Err(" (0)"));
    }

    #[test]
    fn what_is_no_answer_to_the_call_is_told_apart() {
        let malformed = |what: &str| format!("not a JSON-RPC answer: {what}");
        for (answer, what) in [
            (json!("hi"), "it is not an object"),
            (json!({"result": 1, "id": 1}), "`jsonrpc` is not \"2.0\""),
            (json!({"jsonrpc": "2.0", "id": 2, "result": 1}), "its id is not the call's"),
            (json!({"jsonrpc": "2.0", "id": "1", "result": 1}), "its id is not the call's"),
            (json!({"jsonrpc": "2.0", "result": 1}), "its id is not the call's"),
            (json!({"jsonrpc": "2.0", "id": 1}), "it has neither `result` nor `error`"),
            (json!({"jsonrpc": "2.0", "id": 1, "error": "no"}), "`error` is not an object"),
        ] {
            check(answer, Err(&malformed(what)));
        }
        let page = parse_response(b"<html>", &Id::from(1)).unwrap_err();
        assert_eq!(page, ResponseError::Malformed("it is not JSON"));
    }

    #[test]
    fn our_own_answers_read_back() {
        let id = Id::from("x");
        assert_eq!(parse_response(&success(&id, &json!([1])), &id), Ok(json!([1])));
        for code in ErrorCode::all() {
            let sent = A2aError::new(code, "why").with("k", "v");
            let Err(ResponseError::Remote(got)) = parse_response(&failure(&id, &sent), &id) else {
                panic!("{code:?}");
            };
            assert_eq!((got.known(), got.message.as_str()), (Some(code), "why"));
            assert_eq!(got.reason.as_deref(), Some(code.reason()));
            assert_eq!(got.domain.as_deref(), Some(code.domain()));
            assert_eq!(got.metadata.get("k").map(String::as_str), Some("v"));
        }
    }

    #[test]
    fn a_task_is_taken_bare_or_wrapped() {
        let task = json!({"id": "t", "status": {"state": 1}});
        assert_eq!(task_result(task.clone()).unwrap().id, "t");
        assert_eq!(task_result(json!({"task": task})).unwrap().id, "t");
        assert_eq!(task_result(json!({"x": 1})).unwrap_err().to_string(), "id: is required");
        assert!(task_result(json!(null)).is_err());
    }
}
