//! Where we and the official crate differ and mean to, each with the reason. Each is checked to be so
//! still: a line that has become untrue goes.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value, to_vec};
use shrooms_a2a::jsonrpc::{Id, Request, parse_response};
use shrooms_a2a::types::*;
use shrooms_a2a::{AgentCard, ErrorCode, Method};

/// What one side makes of a value.
#[derive(Debug, Clone, PartialEq)]
enum Says {
    /// It does not read it.
    No,
    /// It writes it back as it came.
    Same,
    /// It writes back something else.
    Other(Value),
}
use Says::{No, Other, Same};

type Side = fn(&Value) -> Option<Value>;

fn value<T: DeserializeOwned + Serialize>(input: &Value) -> Option<Value> {
    from_value::<T>(input.clone()).ok().map(|value| to_value(value).unwrap())
}

#[track_caller]
fn check(sides: (Side, Side), why: &str, input: Value, ours: Says, theirs: Says) {
    let says = |side: Side| match side(&input) {
        None => No,
        Some(output) if output == input => Same,
        Some(output) => Other(output),
    };
    assert_eq!((says(sides.0), says(sides.1)), (ours.clone(), theirs.clone()), "{why}: {input}");
    assert_ne!(ours, theirs, "no difference any more: {why}: {input}");
}

/// The good object with some members changed; null takes one out.
fn with(mut good: Value, change: Value) -> Value {
    let map = good.as_object_mut().unwrap();
    for (key, value) in change.as_object().unwrap() {
        match value {
            Value::Null => drop(map.remove(key)),
            value => drop(map.insert(key.clone(), value.clone())),
        }
    }
    good
}

fn message(change: Value) -> Value {
    with(json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}), change)
}

fn status(change: Value) -> Value {
    with(json!({"state": "TASK_STATE_WORKING"}), change)
}

const LENIENT: &str = "readers of ProtoJSON take it";
const AMBIGUOUS: &str = "one content is meant, and which one is a guess";
const INT32: &str = "the specification gives the range";

#[test]
fn what_proto_json_lets_a_writer_choose_is_read_by_us_only() {
    let part: (Side, Side) = (value::<Part>, value::<a2a::Part>);
    let moment: (Side, Side) = (value::<TaskStatus>, value::<a2a::TaskStatus>);
    let said: (Side, Side) = (value::<Message>, value::<a2a::Message>);
    let get: (Side, Side) = (value::<GetTaskParams>, value::<a2a::GetTaskRequest>);
    check(moment, LENIENT, json!({"state": 2}), Other(status(json!({}))), No);
    check(said, LENIENT, message(json!({"role": 1})), Other(message(json!({}))), No);
    check(said, LENIENT, message(json!({"messageId": null, "message_id": "m"})), Other(message(json!({}))), No);
    check(get, LENIENT, json!({"id": "t", "historyLength": "3"}), Other(json!({"id": "t", "historyLength": 3})), No);
    check(get, LENIENT, json!({"id": "t", "historyLength": 3.0}), Other(json!({"id": "t", "historyLength": 3})), No);
    check(part, LENIENT, json!({"raw": "-_8"}), Other(json!({"raw": "+/8="})), No);
}

#[test]
fn what_is_ambiguous_or_of_a_wrong_kind_is_refused_by_us_only() {
    let part: (Side, Side) = (value::<Part>, value::<a2a::Part>);
    let event: (Side, Side) = (value::<StreamResponse>, value::<a2a::StreamResponse>);
    let send: (Side, Side) = (value::<SendMessageResponse>, value::<a2a::SendMessageResponse>);
    let task = json!({"id": "t", "contextId": "c", "status": status(json!({}))});
    let both = json!({"task": task, "message": message(json!({}))});
    check(part, AMBIGUOUS, json!({"text": "a", "url": "b"}), No, Other(json!({"text": "a"})));
    check(event, AMBIGUOUS, both.clone(), No, Other(json!({"message": message(json!({}))})));
    check(send, AMBIGUOUS, both, No, Other(json!({"task": task})));
    let lost = "dropping it in silence would lose what the sender meant";
    check(part, lost, json!({"text": "a", "metadata": [1]}), No, Other(json!({"text": "a"})));
    check(part, lost, json!({"text": "a", "filename": 5}), No, Other(json!({"text": "a"})));
    check(
        part,
        "an object that is there is kept",
        json!({"text": "a", "metadata": {}}),
        Same,
        Other(json!({"text": "a"})),
    );
}

#[test]
fn what_the_specification_requires_is_missed_by_us_only() {
    let said: (Side, Side) = (value::<Message>, value::<a2a::Message>);
    let moment: (Side, Side) = (value::<TaskStatus>, value::<a2a::TaskStatus>);
    let get: (Side, Side) = (value::<GetTaskParams>, value::<a2a::GetTaskRequest>);
    let list: (Side, Side) = (value::<ListTasksParams>, value::<a2a::ListTasksRequest>);
    let push: (Side, Side) = (value::<TaskPushNotificationConfig>, value::<a2a::TaskPushNotificationConfig>);
    let needed = "REQUIRED, and a default is as good as nothing";
    check(said, needed, message(json!({"messageId": ""})), No, Same);
    check(said, needed, message(json!({"role": "ROLE_UNSPECIFIED"})), No, Same);
    check(said, "REQUIRED lists hold one at least", message(json!({"parts": []})), No, Same);
    check(moment, needed, json!({"state": "TASK_STATE_UNSPECIFIED"}), No, Same);
    check(push, needed, json!({"url": ""}), No, Same);
    check(get, INT32, json!({"id": "t", "historyLength": -1}), No, Same);
    check(list, INT32, json!({"pageSize": 0}), No, Same);
    check(list, INT32, json!({"pageSize": 101}), No, Same);
    let unset = "proto3 says nothing by it";
    check(list, unset, json!({"status": "TASK_STATE_UNSPECIFIED"}), Other(json!({})), Same);
    check(said, unset, message(json!({"contextId": ""})), Other(message(json!({}))), Same);
    check(said, unset, message(json!({"extensions": []})), Other(message(json!({}))), Same);
}

#[test]
fn what_the_specification_does_not_require_is_missed_by_them_only() {
    let task: (Side, Side) = (value::<Task>, value::<a2a::Task>);
    let event: (Side, Side) = (value::<StreamResponse>, value::<a2a::StreamResponse>);
    let list: (Side, Side) = (value::<ListTasksResult>, value::<a2a::ListTasksResponse>);
    let thing: (Side, Side) = (value::<Artifact>, value::<a2a::Artifact>);
    check(task, "not REQUIRED since 1.0.0", json!({"id": "t", "status": status(json!({}))}), Same, No);
    let lenient = "an asker must not lose a result over what it does not need";
    check(thing, lenient, json!({"artifactId": "a"}), Other(json!({"artifactId": "a", "parts": []})), No);
    let update = |more| json!({"statusUpdate": with(json!({"taskId": "t", "status": status(json!({}))}), more)});
    check(event, lenient, update(json!({})), Other(update(json!({"contextId": ""}))), No);
    let empty = json!({"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0});
    check(list, lenient, json!({"tasks": []}), Other(empty), No);
    let update = |more| {
        let bare = json!({"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}});
        json!({"artifactUpdate": with(bare, more)})
    };
    check(event, "proto3 leaves a false flag out", update(json!({"append": false})), Other(update(json!({}))), Same);
}

#[test]
fn members_beyond_the_specification_are_kept_by_us() {
    let send: (Side, Side) = (value::<SendMessageParams>, value::<a2a::SendMessageRequest>);
    let subscribe: (Side, Side) = (value::<TaskIdParams>, value::<a2a::SubscribeToTaskRequest>);
    let waits = |configuration| json!({"message": message(json!({})), "configuration": configuration});
    check(send, "of shrooms and of 0.3", waits(json!({"blocking": true})), Same, Other(waits(json!({}))));
    let subscribed = json!({"id": "t", "metadata": {"k": 1}});
    check(subscribe, "one type for all params of a task", subscribed, Same, Other(json!({"id": "t"})));
}

#[test]
fn a_card_comes_as_it_may_and_is_written_back_as_it_came() {
    let card: (Side, Side) = (value::<AgentCard>, value::<a2a::AgentCard>);
    let interface = json!({"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"});
    let good = |change| {
        let bare = json!({"name": "n", "description": "d", "version": "1", "capabilities": {}, "skills": [],
            "supportedInterfaces": [interface], "defaultInputModes": [], "defaultOutputModes": []});
        with(bare, change)
    };
    let signed = "a signature is over the fields that are not known, too";
    check(card, signed, good(json!({"later": 1})), Same, Other(good(json!({}))));
    let old = |change| good(json!({"securityRequirements": [change]}));
    check(card, signed, old(json!({"k": ["s"]})), Same, Other(old(json!({"schemes": {"k": {"list": ["s"]}}}))));
    let grpc = |url| {
        good(json!({"supportedInterfaces": [with(interface.clone(), json!({"protocolBinding": "GRPC", "url": url}))]}))
    };
    check(card, signed, grpc("http://a:1"), Same, Other(grpc("a:1")));
    let callable = "a call needs a name and an interface, and nothing else";
    check(card, callable, good(json!({"version": null})), Other(good(json!({"version": ""}))), No);
    check(card, callable, good(json!({"capabilities": null})), Other(good(json!({}))), No);
    check(card, callable, good(json!({"supportedInterfaces": []})), No, Same);
    check(card, callable, good(json!({"name": ""})), No, Same);
}

#[test]
fn a_moment_is_of_milliseconds_and_of_four_digits_of_a_year() {
    let moment: (Side, Side) = (value::<TaskStatus>, value::<a2a::TaskStatus>);
    let at = |time: &str| status(json!({"timestamp": time}));
    let millis = "the specification wants milliseconds";
    check(moment, millis, at("2026-01-31T09:05:00Z"), Other(at("2026-01-31T09:05:00.000Z")), Same);
    let nanos = at("2026-01-31T09:05:00.123456789Z");
    check(moment, millis, nanos, Other(at("2026-01-31T09:05:00.123Z")), Same);
    let rfc = "RFC 3339 has no such form";
    check(moment, rfc, at("2026-01-31 09:05:00Z"), No, Other(at("2026-01-31T09:05:00Z")));
    check(moment, rfc, at("+10000-01-01T00:00:00Z"), No, Same);
}

/// The call's id and method as they are answered.
fn our_call(input: &Value) -> Option<Value> {
    let call = Request::parse(&to_vec(input).unwrap()).ok()?;
    let id: Value = serde_json::from_str(&call.id.to_string()).unwrap();
    Some(json!({"jsonrpc": "2.0", "id": id, "method": call.method}))
}

/// The answer to call 1.
fn our_answer(input: &Value) -> Option<Value> {
    let result = parse_response(&to_vec(input).unwrap(), &Id::from(1)).ok()?;
    Some(json!({"jsonrpc": "2.0", "id": 1, "result": result}))
}

#[test]
fn json_rpc_is_taken_by_its_letter() {
    let call: (Side, Side) = (our_call, value::<a2a::JsonRpcRequest>);
    let answer: (Side, Side) = (our_answer, value::<a2a::JsonRpcResponse>);
    let good = |change| with(json!({"jsonrpc": "2.0", "id": 1, "method": "M"}), change);
    check(call, "a number is a number: it is echoed", good(json!({"id": 1.5})), Same, No);
    check(call, "a number is a number: it is echoed", good(json!({"id": u64::MAX})), Same, No);
    check(call, "it MUST be exactly 2.0", good(json!({"jsonrpc": "1.0"})), No, Same);
    check(call, "a method has a name", good(json!({"method": ""})), No, Same);
    let null = json!({"jsonrpc": "2.0", "id": 1, "result": null});
    check(answer, "null is a result", null, Same, Other(json!({"jsonrpc": "2.0", "id": 1})));
}

#[test]
fn what_shrooms_adds_is_unknown_to_them() {
    assert!(!a2a::methods::is_valid(Method::AckTask.name()));
    for code in ErrorCode::all().filter(|code| code.domain() == shrooms_a2a::error::SHROOMS_DOMAIN) {
        assert_eq!(a2a::error_reason(code.json_rpc()), "INTERNAL_ERROR", "{code:?}");
        assert_eq!(a2a::reason_to_error_code(code.reason()), None, "{code:?}");
    }
    // On the HTTP binding the specification has no such error; a path of no operation is a 404.
    let theirs = a2a::A2AError::method_not_found("M").http_status_code();
    assert_eq!((ErrorCode::MethodNotFound.http_status(), theirs), (404, 501));
}
