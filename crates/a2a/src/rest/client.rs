//! The client's side of HTTP+JSON: an operation becomes verb, path, query and body.
//! Ids are encoded whole, so that no colon or slash in one can be taken for a verb or another path.
//! Must not know hosts, headers or how an answer is read.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::method::Method;
use crate::operation::Operation;

/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one segment of a path. `None` for what cannot be one: nothing, `.` and `..`, which
/// mean another path however they are written.
pub fn segment(text: &str) -> Option<String> {
    let fits = !matches!(text, "" | "." | "..");
    fits.then(|| utf8_percent_encode(text, ENCODED).to_string())
}

/// A request, to be sent below the address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestRequest {
    /// The HTTP method: `GET`, `POST` or `DELETE`.
    pub verb: &'static str,
    /// Begins with `/`, with the query if there is one; encoded.
    pub path: String,
    /// JSON, for a POST.
    pub body: Option<Vec<u8>>,
}

/// Why an operation cannot be written as a request.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// An id or the tenant is nothing, `.` or `..`.
    #[error("{value:?} cannot be the {what} of a path")]
    NoSegment { what: &'static str, value: String },
    /// The params hold what JSON cannot.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl RestRequest {
    /// Writes an operation for the interface with this tenant, which goes before the path. A tenant
    /// that the operation itself names is left out.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn of(operation: &Operation, tenant: Option<&str>) -> Result<Self, WriteError> {
        let mut params = operation.params(None)?;
        let mut path = String::new();
        if let Some(tenant) = tenant {
            path.push('/');
            path.push_str(&encoded("tenant", tenant)?);
        }
        let verb = match operation.method() {
            Method::SendMessage => tail(&mut path, "POST", "/message:send"),
            Method::SendStreamingMessage => tail(&mut path, "POST", "/message:stream"),
            Method::ListTasks => tail(&mut path, "GET", "/tasks"),
            Method::GetExtendedAgentCard => tail(&mut path, "GET", "/extendedAgentCard"),
            Method::GetTask => of_task(&mut path, "GET", &mut params, "id", "")?,
            Method::CancelTask => of_task(&mut path, "POST", &mut params, "id", ":cancel")?,
            Method::SubscribeToTask => of_task(&mut path, "POST", &mut params, "id", ":subscribe")?,
            Method::AckTask => of_task(&mut path, "POST", &mut params, "id", ":ack")?,
            Method::CreateTaskPushNotificationConfig => of_task(&mut path, "POST", &mut params, "taskId", CONFIGS)?,
            Method::ListTaskPushNotificationConfigs => of_task(&mut path, "GET", &mut params, "taskId", CONFIGS)?,
            Method::GetTaskPushNotificationConfig => of_config(&mut path, "GET", &mut params)?,
            Method::DeleteTaskPushNotificationConfig => of_config(&mut path, "DELETE", &mut params)?,
        };
        let body = match verb {
            "POST" => Some(serde_json::to_vec(&params)?),
            _ => {
                add_query(&mut path, &params);
                None
            }
        };
        Ok(RestRequest { verb, path, body })
    }

    /// SubscribeToTask as the proto has it, a GET, for agents that do not take the prose's POST. The
    /// proto knows no metadata there, so that it stays away.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn subscribe_by_get(id: &str, tenant: Option<&str>) -> Result<Self, WriteError> {
        let params = crate::types::TaskIdParams { id: id.to_owned(), ..Default::default() };
        let post = RestRequest::of(&Operation::SubscribeToTask(params), tenant)?;
        Ok(RestRequest { verb: "GET", body: None, ..post })
    }
}

const CONFIGS: &str = "/pushNotificationConfigs";

fn tail(path: &mut String, verb: &'static str, tail: &str) -> &'static str {
    path.push_str(tail);
    verb
}

/// `/tasks/{id}{tail}`, the id taken out of the params.
fn of_task(
    path: &mut String,
    verb: &'static str,
    params: &mut Map<String, Value>,
    name: &'static str,
    tail: &str,
) -> Result<&'static str, WriteError> {
    path.push_str("/tasks/");
    path.push_str(&taken(params, name)?);
    path.push_str(tail);
    Ok(verb)
}

fn of_config(
    path: &mut String,
    verb: &'static str,
    params: &mut Map<String, Value>,
) -> Result<&'static str, WriteError> {
    of_task(path, verb, params, "taskId", CONFIGS)?;
    path.push('/');
    path.push_str(&taken(params, "id")?);
    Ok(verb)
}

fn taken(params: &mut Map<String, Value>, name: &'static str) -> Result<String, WriteError> {
    let id = params.remove(name).unwrap_or_default();
    encoded(name, id.as_str().unwrap_or_default())
}

fn encoded(what: &'static str, text: &str) -> Result<String, WriteError> {
    segment(text).ok_or_else(|| WriteError::NoSegment { what, value: text.to_owned() })
}

/// The params in their JSON spelling, which is also the one of a query: camelCase names, lower-case
/// booleans, enums by name, times as text. No operation that is a GET has lists or objects in it.
fn add_query(path: &mut String, params: &Map<String, Value>) {
    let mut before = '?';
    for (name, value) in params {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => continue,
        };
        path.push(before);
        path.extend(utf8_percent_encode(name, ENCODED));
        path.push('=');
        path.extend(utf8_percent_encode(&text, ENCODED));
        before = '&';
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::parse;
    use serde_json::json;

    fn operation(method: Method, params: Value) -> Operation {
        Operation::decode(method, Some(params)).unwrap()
    }

    /// What is written, as `VERB path body`; and the parser reads the operation back.
    #[track_caller]
    fn check(method: Method, params: Value, expected: &str) {
        let sent = operation(method, params);
        let request = RestRequest::of(&sent, None).unwrap();
        let body = request.body.unwrap_or_default();
        let text = format!("{} {} {}", request.verb, request.path, String::from_utf8_lossy(&body));
        assert_eq!(text.trim_end(), expected);
        let (path, query) = request.path.split_once('?').map_or((request.path.as_str(), None), |(p, q)| (p, Some(q)));
        assert_eq!(parse(request.verb, path, query, &body).unwrap(), sent, "{expected}");
    }

    #[test]
    fn every_operation_is_written_and_read_back() {
        use Method::*;
        let message = json!({"message": {"messageId": "m", "parts": [{"text": "hi"}], "role": "ROLE_USER"}});
        check(SendMessage, message.clone(), &format!("POST /message:send {message}"));
        check(SendStreamingMessage, message.clone(), &format!("POST /message:stream {message}"));
        check(GetTask, json!({"id": "t"}), "GET /tasks/t");
        check(GetTask, json!({"id": "t", "historyLength": 0}), "GET /tasks/t?historyLength=0");
        check(ListTasks, json!({}), "GET /tasks");
        check(CancelTask, json!({"id": "t"}), "POST /tasks/t:cancel {}");
        check(CancelTask, json!({"id": "t", "metadata": {"a": 1}}), r#"POST /tasks/t:cancel {"metadata":{"a":1}}"#);
        check(SubscribeToTask, json!({"id": "t"}), "POST /tasks/t:subscribe {}");
        check(AckTask, json!({"id": "t"}), "POST /tasks/t:ack {}");
        check(GetExtendedAgentCard, json!({}), "GET /extendedAgentCard");
        check(
            ListTaskPushNotificationConfigs,
            // Unread params keep the spelling of a query, which is text.
            json!({"taskId": "t", "pageSize": "5", "pageToken": "a=b"}),
            "GET /tasks/t/pushNotificationConfigs?pageSize=5&pageToken=a%3Db",
        );
        let one = json!({"taskId": "t", "id": "c"});
        check(GetTaskPushNotificationConfig, one.clone(), "GET /tasks/t/pushNotificationConfigs/c");
        check(DeleteTaskPushNotificationConfig, one, "DELETE /tasks/t/pushNotificationConfigs/c");
    }

    #[test]
    fn push_settings_go_whole_but_for_the_task() {
        let sent = operation(
            Method::CreateTaskPushNotificationConfig,
            json!({"taskId": "t", "url": "http://a", "authentication": {"scheme": "Bearer"}}),
        );
        let request = RestRequest::of(&sent, None).unwrap();
        assert_eq!((request.verb, request.path.as_str()), ("POST", "/tasks/t/pushNotificationConfigs"));
        let read = parse("POST", &request.path, None, &request.body.unwrap()).unwrap();
        assert_eq!(read, sent);
    }

    #[test]
    fn no_id_can_be_taken_for_a_verb_or_another_path() {
        for id in [
            "tests:m-1",
            "tests:cancel",
            "a:cancel:subscribe",
            "a/b",
            "../x",
            "a?b=c#d",
            "100%",
            "%2E%2E",
            "k\u{e4}se \u{1f344}",
            "a+b c",
            "pushNotificationConfigs",
            "message:send",
        ] {
            let slashes = id.matches('/').count();
            for (method, params) in [
                (Method::GetTask, json!({"id": id})),
                (Method::CancelTask, json!({"id": id})),
                (Method::SubscribeToTask, json!({"id": id})),
                (Method::DeleteTaskPushNotificationConfig, json!({"taskId": id, "id": id})),
            ] {
                let sent = operation(method, params);
                let request = RestRequest::of(&sent, None).unwrap();
                assert!(!request.path.contains([' ', '?', '#']), "{}", request.path);
                assert!(slashes == 0 || request.path.contains("%2F"), "{}", request.path);
                let body = request.body.unwrap_or_default();
                assert_eq!(parse(request.verb, &request.path, None, &body).unwrap(), sent, "{id} {}", request.path);
            }
        }
        for id in ["", ".", ".."] {
            let params = crate::types::TaskIdParams { id: id.into(), ..Default::default() };
            let refused = RestRequest::of(&Operation::CancelTask(params), None).unwrap_err();
            assert_eq!(refused.to_string(), format!("{id:?} cannot be the id of a path"));
        }
    }

    #[test]
    fn a_list_is_narrowed_in_the_spelling_of_a_query() {
        check(
            Method::ListTasks,
            json!({"contextId": "a b&c", "status": 6, "pageSize": 7, "includeArtifacts": false,
                "historyLength": 0, "statusTimestampAfter": "2026-01-31T09:05:00+02:00"}),
            "GET /tasks?contextId=a%20b%26c&historyLength=0&includeArtifacts=false&pageSize=7\
             &status=TASK_STATE_INPUT_REQUIRED&statusTimestampAfter=2026-01-31T07%3A05%3A00.000Z",
        );
    }

    #[test]
    fn the_interfaces_tenant_goes_before_the_path_and_nowhere_else() {
        let sent = operation(Method::GetTask, json!({"id": "t", "tenant": "claimed"}));
        let path = |tenant| RestRequest::of(&sent, tenant).map(|request| request.path).map_err(|e| e.to_string());
        assert_eq!(path(Some("a/b")), Ok("/a%2Fb/tasks/t".into()));
        assert_eq!(path(None), Ok("/tasks/t".into()));
        assert_eq!(path(Some("..")), Err("\"..\" cannot be the tenant of a path".into()));
    }

    #[test]
    fn a_subscription_can_be_a_get_without_a_body() {
        let request = RestRequest::subscribe_by_get("a:b", Some("w")).unwrap();
        assert_eq!(request, RestRequest { verb: "GET", path: "/w/tasks/a%3Ab:subscribe".into(), body: None });
    }

    #[test]
    fn a_segment_is_one_segment_whatever_is_in_it() {
        for (text, expected) in [
            ("review", Some("review")),
            ("Web.app_2-x", Some("Web.app_2-x")),
            ("homeserver/review:cli-1", Some("homeserver%2Freview%3Acli-1")),
            ("a b?c#d%2F", Some("a%20b%3Fc%23d%252F")),
            ("käse", Some("k%C3%A4se")),
            ("...", Some("...")),
            ("", None),
            (".", None),
            ("..", None),
        ] {
            assert_eq!(segment(text).as_deref(), expected, "{text:?}");
        }
    }
}
