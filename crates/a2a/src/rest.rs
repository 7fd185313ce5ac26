//! The HTTP+JSON binding (specification 11): verb, path, query and body become an operation.
//! Ids may hold colons: the last raw `:verb` is split off before a path is percent-decoded.
//! Must not know where the binding is mounted, nor headers.

mod client;

use std::borrow::Cow;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

pub use client::{RestRequest, WriteError, segment};

use crate::decode::{TOO_MANY_VALUES, is_small_enough};
use crate::error::{A2aError, Detail, ErrorCode, http_body};
use crate::method::Method;
use crate::operation::Operation;
use crate::shrooms::title;

/// Why a request is no operation, as an HTTP answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RestError {
    /// The HTTP status.
    pub status: u16,
    /// The name of the gRPC status in the body.
    pub grpc_status: &'static str,
    /// For the caller: what to do.
    pub message: String,
    pub details: Vec<Detail>,
    /// For the header `Allow` of a 405.
    pub allow: Option<&'static str>,
}

impl RestError {
    /// The answer's body.
    pub fn to_bytes(&self) -> Vec<u8> {
        http_body(self.status, self.grpc_status, &self.message, &self.details)
    }

    fn no_path() -> Self {
        RestError {
            status: 404,
            grpc_status: "NOT_FOUND",
            message: "there is no operation of A2A 1.0 at this path: see section 11.3 of the specification".into(),
            details: vec![Detail::info(ErrorCode::MethodNotFound)],
            allow: None,
        }
    }

    /// A verb that the path does not take; `allow` lists those that it does.
    pub fn no_verb(allow: &'static str) -> Self {
        RestError {
            status: 405,
            grpc_status: "UNIMPLEMENTED",
            message: format!("this path takes {allow}"),
            details: vec![Detail::info(ErrorCode::MethodNotFound)],
            allow: Some(allow),
        }
    }
}

impl From<A2aError> for RestError {
    fn from(error: A2aError) -> Self {
        RestError {
            status: error.code.http_status(),
            grpc_status: error.code.grpc_status(),
            message: error.message,
            details: error.details,
            allow: None,
        }
    }
}

/// What a path names, with the ids in it.
#[derive(Debug, PartialEq)]
enum Place<'a> {
    Send,
    Stream,
    Tasks,
    Task(&'a str),
    /// A task and the verb behind its last colon.
    TaskVerb(&'a str, Verb),
    PushConfigs(&'a str),
    PushConfig(&'a str, &'a str),
    ExtendedCard,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Cancel,
    Subscribe,
    Ack,
}

impl Verb {
    fn parse(word: &str) -> Option<Verb> {
        match word {
            "cancel" => Some(Verb::Cancel),
            "subscribe" => Some(Verb::Subscribe),
            // Of the extension.
            "ack" => Some(Verb::Ack),
            _ => None,
        }
    }
}

/// Reads a request. `path` is the raw one below the mount and begins with `/`; `query` is raw and
/// without its `?`; an empty `body` counts as `{}` where nothing in it is required.
///
/// # Errors
/// 404 for a path of no operation, 405 for a wrong verb, 400 for what is wrong in query or body.
pub fn parse(verb: &str, path: &str, query: Option<&str>, body: &[u8]) -> Result<Operation, RestError> {
    let place = place(verb, path).ok_or_else(RestError::no_path)?;
    let (method, allow) = operation(verb, &place);
    let Some(method) = method else { return Err(RestError::no_verb(allow)) };
    // A POST says all in its body: two places for one thing could contradict each other.
    let mut params = match verb {
        "POST" => of_body(body)?,
        _ => of_query(query)?,
    };
    let ids: &[(&str, &str)] = match place {
        Place::Task(id) | Place::TaskVerb(id, _) => &[("id", id)],
        Place::PushConfigs(task) => &[("taskId", task)],
        Place::PushConfig(task, id) => &[("taskId", task), ("id", id)],
        Place::Send | Place::Stream | Place::Tasks | Place::ExtendedCard => &[],
    };
    for (name, raw) in ids {
        let id = Value::String(decoded(raw, name)?.into_owned());
        if params.get(*name).is_some_and(|given| !given.is_null() && *given != "" && *given != id) {
            return Err(A2aError::invalid_params(*name, "differs from the one in the path").into());
        }
        params.insert((*name).to_owned(), id);
    }
    Ok(Operation::decode(method, Some(Value::Object(params)))?)
}

/// The place that a path names. Whether the last `:word` is a verb depends on how it is asked, for a
/// task's id may end like that: only a POST cancels.
fn place<'a>(verb: &str, path: &'a str) -> Option<Place<'a>> {
    let path = path.strip_prefix('/')?;
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut segments = path.split('/');
    let head = segments.next()?;
    let rest = [segments.next(), segments.next(), segments.next(), segments.next()];
    if rest.contains(&Some("")) {
        return None;
    }
    match (head, rest) {
        ("tasks", [None, ..]) => Some(Place::Tasks),
        ("tasks", [Some(id), None, ..]) => Some(task(verb, id)),
        ("tasks", [Some(id), Some("pushNotificationConfigs"), None, _]) => Some(Place::PushConfigs(id)),
        ("tasks", [Some(id), Some("pushNotificationConfigs"), Some(config), None]) => {
            Some(Place::PushConfig(id, config))
        }
        ("extendedAgentCard", [None, ..]) => Some(Place::ExtendedCard),
        (_, [None, ..]) => match percent_decode_str(head).decode_utf8().ok()?.as_ref() {
            "message:send" => Some(Place::Send),
            "message:stream" => Some(Place::Stream),
            _ => None,
        },
        _ => None,
    }
}

fn task<'a>(verb: &str, segment: &'a str) -> Place<'a> {
    let split = |at: usize, colon: usize| Some((segment.get(..at)?, Verb::parse(segment.get(at + colon..)?)?));
    let raw = || split(segment.rfind(':')?, 1);
    // Some libraries encode every colon; what a POST could mean but a verb there is nothing.
    let encoded = || split(segment.to_ascii_lowercase().rfind("%3a")?, 3);
    let found = match verb {
        "POST" => raw().or_else(encoded),
        // Prose and proto differ in the verb of this one; the proto has it as a GET.
        "GET" => raw().filter(|(_, verb)| *verb == Verb::Subscribe),
        _ => None,
    };
    match found.filter(|(id, _)| !id.is_empty()) {
        Some((id, verb)) => Place::TaskVerb(id, verb),
        None => Place::Task(segment),
    }
}

/// The method, and the verbs that the place takes.
fn operation(verb: &str, place: &Place<'_>) -> (Option<Method>, &'static str) {
    // Each verb with its method; the list of verbs is for people and the header `Allow`.
    let (table, allow): (&[(&str, Method)], _) = match place {
        Place::Send => (&[("POST", Method::SendMessage)], "POST"),
        Place::Stream => (&[("POST", Method::SendStreamingMessage)], "POST"),
        Place::Tasks => (&[("GET", Method::ListTasks)], "GET"),
        Place::Task(_) => (&[("GET", Method::GetTask)], "GET"),
        Place::TaskVerb(_, Verb::Cancel) => (&[("POST", Method::CancelTask)], "POST"),
        Place::TaskVerb(_, Verb::Ack) => (&[("POST", Method::AckTask)], "POST"),
        Place::TaskVerb(_, Verb::Subscribe) => {
            (&[("POST", Method::SubscribeToTask), ("GET", Method::SubscribeToTask)], "POST, GET")
        }
        Place::PushConfigs(_) => (
            &[("POST", Method::CreateTaskPushNotificationConfig), ("GET", Method::ListTaskPushNotificationConfigs)],
            "POST, GET",
        ),
        Place::PushConfig(..) => (
            &[("GET", Method::GetTaskPushNotificationConfig), ("DELETE", Method::DeleteTaskPushNotificationConfig)],
            "GET, DELETE",
        ),
        Place::ExtendedCard => (&[("GET", Method::GetExtendedAgentCard)], "GET"),
    };
    (table.iter().find(|row| row.0 == verb).map(|row| row.1), allow)
}

fn of_body(body: &[u8]) -> Result<Map<String, Value>, A2aError> {
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    if !is_small_enough(body) {
        return Err(A2aError::new(ErrorCode::InvalidRequest, TOO_MANY_VALUES));
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(_) => Err(A2aError::new(ErrorCode::InvalidRequest, "the body is not a JSON object")),
        Err(_) => Err(A2aError::new(ErrorCode::ParseError, "the body is not JSON")),
    }
}

/// Parameters by name; one that is given twice with two values is refused, for which one is meant?
fn of_query(query: Option<&str>) -> Result<Map<String, Value>, A2aError> {
    let mut params = Map::new();
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let value = Value::String(value.into_owned());
        match params.get(name.as_ref()) {
            Some(before) if *before != value => {
                // Cut: an answer does not give a large request back.
                return Err(A2aError::invalid_params(title(&name), "is given twice, with two values"));
            }
            Some(_) => {}
            None => {
                params.insert(name.into_owned(), value);
            }
        }
    }
    Ok(params)
}

fn decoded<'a>(raw: &'a str, field: &str) -> Result<Cow<'a, str>, A2aError> {
    percent_decode_str(raw).decode_utf8().map_err(|_| A2aError::invalid_params(field, "is not UTF-8 in the path"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The method and its params as JSON would have them; or status and message.
    #[track_caller]
    fn check(request: &str, body: &str, expected: Result<(&str, Value), (u16, &str)>) {
        let (verb, target) = request.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let got = parse(verb, path, query, body.as_bytes());
        match (got, expected) {
            (Ok(got), Ok((method, params))) => {
                let method = Method::parse(method).unwrap();
                assert_eq!(got, Operation::decode(method, Some(params)).unwrap(), "{request}");
            }
            (Err(got), Err((status, piece))) => {
                assert_eq!(got.status, status, "{request}: {got:?}");
                assert!(got.message.contains(piece), "{request}: {}", got.message);
                assert_eq!(got.allow.is_some(), status == 405, "{request}");
            }
            (got, _) => panic!("{request}: {got:?}"),
        }
    }

    const MESSAGE: &str = r#"{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}"#;

    #[test]
    fn every_operation_has_its_path() {
        let message: Value = serde_json::from_str(MESSAGE).unwrap();
        for path in ["/message:send", "/message%3Asend", "/message:send/"] {
            check(&format!("POST {path}"), MESSAGE, Ok(("SendMessage", message.clone())));
        }
        check("POST /message:stream", MESSAGE, Ok(("SendStreamingMessage", message)));
        check("GET /tasks/t?historyLength=3", "", Ok(("GetTask", json!({"id": "t", "historyLength": 3}))));
        check("GET /tasks", "", Ok(("ListTasks", json!({}))));
        check("POST /tasks/t:cancel", "", Ok(("CancelTask", json!({"id": "t"}))));
        check("POST /tasks/t:ack", "{}", Ok(("AckTask", json!({"id": "t"}))));
        for request in ["POST /tasks/t:subscribe", "GET /tasks/t:subscribe"] {
            check(request, "", Ok(("SubscribeToTask", json!({"id": "t"}))));
        }
        check("GET /extendedAgentCard", "", Ok(("GetExtendedAgentCard", json!({}))));
        let configs = "/tasks/t/pushNotificationConfigs";
        check(
            &format!("POST {configs}"),
            r#"{"url":5}"#,
            Ok(("CreateTaskPushNotificationConfig", json!({"taskId": "t", "url": 5}))),
        );
        check(&format!("GET {configs}"), "", Ok(("ListTaskPushNotificationConfigs", json!({"taskId": "t"}))));
        let one = json!({"taskId": "t", "id": "c"});
        check(&format!("GET {configs}/c"), "", Ok(("GetTaskPushNotificationConfig", one.clone())));
        check(&format!("DELETE {configs}/c"), "", Ok(("DeleteTaskPushNotificationConfig", one)));
    }

    #[test]
    fn an_id_may_hold_colons_and_what_is_encoded() {
        let id = |id: &str| json!({"id": id});
        for (request, method, wanted) in [
            ("GET /tasks/tests:m-1", "GetTask", "tests:m-1"),
            ("GET /tasks/tests%3Am-1", "GetTask", "tests:m-1"),
            ("GET /tasks/tests:cancel", "GetTask", "tests:cancel"),
            ("GET /tasks/tests%3Asubscribe", "GetTask", "tests:subscribe"),
            ("GET /tasks/a%2Fb%20c%25", "GetTask", "a/b c%"),
            ("GET /tasks/a%zz", "GetTask", "a%zz"),
            ("GET /tasks/k%C3%A4se", "GetTask", "käse"),
            ("POST /tasks/tests:m-1:cancel", "CancelTask", "tests:m-1"),
            ("POST /tasks/tests%3Am-1:cancel", "CancelTask", "tests:m-1"),
            ("POST /tasks/tests%3Am-1%3Acancel", "CancelTask", "tests:m-1"),
            ("POST /tasks/tests%3acancel:cancel", "CancelTask", "tests:cancel"),
            ("POST /tasks/tests:cancel:subscribe", "SubscribeToTask", "tests:cancel"),
            ("GET /tasks/pushNotificationConfigs", "GetTask", "pushNotificationConfigs"),
        ] {
            check(request, "", Ok((method, id(wanted))));
        }
        check("GET /tasks/%FF", "", Err((400, "not UTF-8")));
    }

    #[test]
    fn a_query_is_read_as_the_same_fields_of_a_body() {
        check(
            "GET /tasks?contextId=a%20b+c&status=TASK_STATE_WORKING&pageSize=7&include_artifacts=true\
             &statusTimestampAfter=2026-11-30T00:00:00Z&A2A-Version=1.0&unknown",
            "",
            Ok((
                "ListTasks",
                json!({"contextId": "a b c", "status": "TASK_STATE_WORKING", "pageSize": 7,
                    "includeArtifacts": true, "statusTimestampAfter": "2026-11-30T00:00:00Z"}),
            )),
        );
        check("GET /tasks?pageSize=7&pageSize=7", "", Ok(("ListTasks", json!({"pageSize": 7}))));
        check("GET /tasks?pageSize=7&pageSize=8", "", Err((400, "pageSize: is given twice")));
        let (long, cut) = ("n".repeat(9_000), format!("{}…: is given twice", "n".repeat(120)));
        check(&format!("GET /tasks?{long}=1&{long}=2"), "", Err((400, &cut)));
        for bad in ["pageSize=0", "pageSize=101", "pageSize=x", "pageSize=", "includeArtifacts=TRUE", "status=working"]
        {
            check(&format!("GET /tasks?{bad}"), "", Err((400, ": must be")));
        }
        check("GET /tasks/t?historyLength=-1", "", Err((400, "historyLength: must be")));
    }

    #[test]
    fn what_is_no_operation_is_said_with_the_verbs_that_are() {
        for path in
            ["/", "", "/x", "/tasks//", "/tasks//x", "/message", "/v1/tasks", "/tasks/a/b", "/a/tasks/b/c/d/e", "tasks"]
        {
            check(&format!("GET {path}"), "", Err((404, "no operation")));
        }
        for (request, allow) in [
            ("GET /message:send", "takes POST"),
            ("PUT /tasks/t", "takes GET"),
            ("POST /tasks/t", "takes GET"),
            ("POST /tasks/t:explode", "takes GET"),
            ("POST /tasks/:cancel", "takes GET"),
            ("DELETE /tasks/t:cancel", "takes GET"),
            ("PATCH /tasks/t/pushNotificationConfigs", "takes POST, GET"),
            ("POST /tasks", "takes GET"),
        ] {
            check(request, "", Err((405, allow)));
        }
    }

    #[test]
    fn a_bad_body_is_refused_with_what_is_wrong() {
        check("POST /message:send", "{", Err((400, "not JSON")));
        check("POST /message:send", "[]", Err((400, "not a JSON object")));
        check("POST /message:send", "", Err((400, "message: is required")));
        check("POST /tasks/t:cancel", r#"{"id":"u"}"#, Err((400, "id: differs")));
        check("POST /tasks/t:cancel", r#"{"id":""}"#, Ok(("CancelTask", json!({"id": "t"}))));
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        check("POST /message:send", &deep, Err((400, "not JSON")));
    }

    #[test]
    fn the_refusal_is_an_aip_193_body() {
        let error = parse("PUT", "/tasks/t", None, b"").unwrap_err();
        let body: Value = serde_json::from_slice(&error.to_bytes()).unwrap();
        assert_eq!((&body["error"]["code"], &body["error"]["status"]), (&json!(405), &json!("UNIMPLEMENTED")));
        assert_eq!(body["error"]["details"][0]["reason"], "METHOD_NOT_FOUND");
    }
}
