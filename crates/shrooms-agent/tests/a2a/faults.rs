//! What is refused: on both bindings the same reason, metadata, fields and words for the same fault,
//! and an answer in JSON whatever came.

use serde_json::{Value, json};

use crate::wire::{Agent, Asked, BOTH, Fault, HttpJson, JsonRpc, follow_up, header, message};
use crate::world::plain;

/// A fault that can be made on both bindings: code of JSON-RPC, status, reason, fields.
struct Case {
    name: &'static str,
    method: &'static str,
    params: Value,
    want: (i64, i64, &'static str),
    fields: &'static [&'static str],
}

fn case(
    name: &'static str,
    method: &'static str,
    params: Value,
    want: (i64, i64, &'static str),
    fields: &'static [&'static str],
) -> Case {
    Case { name, method, params, want, fields }
}

const UNKNOWN: (i64, i64, &str) = (-32001, 404, "TASK_NOT_FOUND");
const OVER: (i64, i64, &str) = (-32002, 400, "TASK_NOT_CANCELABLE");
const PUSH: (i64, i64, &str) = (-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED");
const NOT_DONE: (i64, i64, &str) = (-32004, 400, "UNSUPPORTED_OPERATION");
const TYPE: (i64, i64, &str) = (-32005, 400, "CONTENT_TYPE_NOT_SUPPORTED");
const BAD: (i64, i64, &str) = (-32602, 400, "INVALID_PARAMS");

/// Params of a message with something in place of what is good.
fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut params = message("bad-1", "hello");
    change(&mut params);
    params
}

fn with_parts(parts: Value) -> Value {
    with(|params| params["message"]["parts"] = parts)
}

/// Runs the cases at an address; what the bindings say must be the same but for the code.
#[track_caller]
fn run(agent: &Agent, cases: &[Case]) {
    for Case { name, method, params, want, fields } in cases {
        let faults = BOTH.map(|binding| {
            let opened = agent.open(binding, method, params);
            opened.err().unwrap_or_else(|| panic!("{binding:?} {name}: there is a stream"))
        });
        assert_eq!([faults[0].code, faults[1].code], [want.0, want.1], "{name}: {faults:?}");
        assert_eq!((faults[0].reason.as_str(), &faults[0].fields[..]), (want.2, &fields.map_owned()[..]), "{name}");
        let same = |fault: &Fault| Fault { code: 0, ..fault.clone() };
        assert_eq!(same(&faults[0]), same(&faults[1]), "{name}");
    }
}

trait Owned {
    fn map_owned(&self) -> Vec<String>;
}

impl Owned for &[&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|field| field.to_string()).collect()
    }
}

#[test]
fn the_same_fault_is_said_alike_on_both_bindings() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let done = agent.task(JsonRpc, &message("tck-complete-task-1", "go"));
    let open = agent.task(JsonRpc, &message("tck-input-required-1", "go"));
    let of = |task: &Value| json!({"id": task["id"]});
    let none = json!({"id": "w:none"});
    let of_push = json!({"taskId": open["id"], "id": "c"});
    let configured = |name: &str, value: Value| with(|params| params["configuration"] = json!({name: value}));
    run(
        &agent,
        &[
            case("get an unknown task", "GetTask", none.clone(), UNKNOWN, &[]),
            case("cancel an unknown task", "CancelTask", none.clone(), UNKNOWN, &[]),
            case("subscribe to an unknown task", "SubscribeToTask", none.clone(), UNKNOWN, &[]),
            case("acknowledge an unknown task", "AckTask", none.clone(), UNKNOWN, &[]),
            case("send to an unknown task", "SendMessage", follow_up("bad-1", "hi", &none), UNKNOWN, &[]),
            case("stream to an unknown task", "SendStreamingMessage", follow_up("bad-1", "hi", &none), UNKNOWN, &[]),
            case("cancel an ended task", "CancelTask", of(&done), OVER, &[]),
            case("subscribe to an ended task", "SubscribeToTask", of(&done), NOT_DONE, &[]),
            case("send to an ended task", "SendMessage", follow_up("bad-1", "hi", &done), NOT_DONE, &[]),
            case("create a push config", "CreateTaskPushNotificationConfig", of_push.clone(), PUSH, &[]),
            case("get a push config", "GetTaskPushNotificationConfig", of_push.clone(), PUSH, &[]),
            case("list push configs", "ListTaskPushNotificationConfigs", of_push.clone(), PUSH, &[]),
            case("delete a push config", "DeleteTaskPushNotificationConfig", of_push, PUSH, &[]),
            case(
                "a push config of a message",
                "SendMessage",
                configured("taskPushNotificationConfig", json!({"url": "https://example.com"})),
                PUSH,
                &[],
            ),
            case("the extended card", "GetExtendedAgentCard", json!({}), NOT_DONE, &[]),
            case(
                "a result of no type that there is",
                "SendMessage",
                configured("acceptedOutputModes", json!(["image/png", "audio/*"])),
                TYPE,
                &[],
            ),
            case("no message", "SendMessage", json!({}), BAD, &["message"]),
            case("no message to stream", "SendStreamingMessage", json!({}), BAD, &["message"]),
            case(
                "no id",
                "SendMessage",
                json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}),
                BAD,
                &["message.messageId"],
            ),
            case("no parts", "SendMessage", with_parts(json!([])), BAD, &["message.parts"]),
            case("an empty part", "SendMessage", with_parts(json!([{"text": "a"}, {}])), BAD, &["message.parts[1]"]),
            case(
                "a part of two kinds",
                "SendMessage",
                with_parts(json!([{"text": "a", "url": "http://x"}])),
                BAD,
                &["message.parts[0]"],
            ),
            case("a part of no text", "SendMessage", with_parts(json!([{"text": 5}])), BAD, &["message.parts[0].text"]),
            case("nothing said", "SendMessage", with_parts(json!([{"text": " \n"}])), BAD, &["message.parts"]),
            case("no base64", "SendMessage", with_parts(json!([{"raw": "a b"}])), BAD, &["message.parts[0].raw"]),
            case(
                "the agent's role",
                "SendMessage",
                with(|params| params["message"]["role"] = json!("ROLE_AGENT")),
                BAD,
                &["message.role"],
            ),
            case(
                "an unknown role",
                "SendMessage",
                with(|params| params["message"]["role"] = json!("user")),
                BAD,
                &["message.role"],
            ),
            case(
                "no role",
                "SendMessage",
                with(|params| params["message"]["role"] = json!("ROLE_UNSPECIFIED")),
                BAD,
                &["message.role"],
            ),
            case(
                "another task's context",
                "SendMessage",
                with(|params| {
                    params["message"]["taskId"] = open["id"].clone();
                    params["message"]["contextId"] = done["contextId"].clone();
                }),
                BAD,
                &["message.contextId"],
            ),
            case(
                "less than no history",
                "SendMessage",
                configured("historyLength", json!(-1)),
                BAD,
                &["configuration.historyLength"],
            ),
            case(
                "less than no history of a task",
                "GetTask",
                json!({"id": done["id"], "historyLength": -1}),
                BAD,
                &["historyLength"],
            ),
            case(
                "at once and not at once",
                "SendMessage",
                with(|params| params["configuration"] = json!({"blocking": true, "returnImmediately": true})),
                BAD,
                &["configuration.blocking"],
            ),
            case("an empty page", "ListTasks", json!({"pageSize": 0}), BAD, &["pageSize"]),
            case("a page too large", "ListTasks", json!({"pageSize": 101}), BAD, &["pageSize"]),
            case("no page's token", "ListTasks", json!({"pageToken": "x"}), BAD, &["pageToken"]),
            case("no state", "ListTasks", json!({"status": "working"}), BAD, &["status"]),
            case("no time", "ListTasks", json!({"statusTimestampAfter": "yesterday"}), BAD, &["statusTimestampAfter"]),
            case("another tenant", "ListTasks", json!({"tenant": "v"}), BAD, &["tenant"]),
        ],
    );
    // The machine's own address: nobody says which session is meant.
    let unsaid = &["message.metadata.shrooms/session"];
    run(&world.at("/a2a"), &[case("for nobody", "SendMessage", message("bad-1", "hi"), BAD, unsaid)]);
    // A session that is not there, whatever is asked of it.
    let nobody: Vec<Case> = [
        ("SendMessage", message("bad-1", "hi")),
        ("SendStreamingMessage", message("bad-1", "hi")),
        ("GetTask", none.clone()),
        ("ListTasks", json!({})),
        ("CancelTask", none.clone()),
        ("SubscribeToTask", none),
    ]
    .map(|(method, params)| case("no such session", method, params, BAD, &[]))
    .into_iter()
    .collect();
    run(&world.session("nobody"), &nobody);
    assert_eq!(agent.good(JsonRpc, "ListTasks", &json!({}))["totalSize"], 2, "nothing of this made a task");
    let after = agent.get(JsonRpc, &open);
    assert_eq!((&after["status"], &after["history"]), (&open["status"], &open["history"]), "nor changed one");
}

/// What is wrong before there is a method.
#[test]
fn a_body_that_is_none_is_refused_in_the_form_of_its_binding() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let deep = format!(r#"{{"params":{}1{}}}"#, r#"{"a":"#.repeat(5_000), "}".repeat(5_000));
    let deep_list = format!(r#"{{"params":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    let parse = ("PARSE_ERROR", -32700, 400);
    let other = ("INVALID_REQUEST", -32600, 400);
    let kind = ("CONTENT_TYPE_NOT_SUPPORTED", -32005, 415);
    let json = "application/json";
    for (name, content_type, body, want) in [
        ("half of it", json, "{", parse),
        ("text", json, "hello", parse),
        ("half a character", json, r#"{"params":"\ud800"}"#, parse),
        ("too deep", json, &deep, parse),
        ("a list too deep", json, &deep_list, parse),
        ("a list", json, "[]", other),
        ("a text in JSON", json, "\"SendMessage\"", other),
        ("of no type", "", "{}", kind),
        ("as text", "text/plain", "{}", kind),
        ("as a form", "application/x-www-form-urlencoded", "a=b", kind),
        ("as a stream of JSON", "application/json-seq", "{}", kind),
    ] {
        for (binding, target) in [(JsonRpc, "/a2a/w"), (HttpJson, "/a2a/w/message:send")] {
            let mut asked = Asked::new("POST", target, body).header("A2A-Version", "1.0");
            if !content_type.is_empty() {
                asked = asked.header("Content-Type", content_type);
            }
            let answer = agent.exchange(&asked);
            let status = if binding == JsonRpc && want.2 == 400 { 200 } else { want.2 };
            assert_eq!(answer.status, status, "{binding:?} {name}: {answer:?}");
            let fault = crate::wire::read(binding, answer, &Value::Null).fault();
            let code = if binding == JsonRpc { want.1 } else { i64::from(want.2) };
            assert_eq!((fault.reason.as_str(), fault.code), (want.0, code), "{binding:?} {name}");
        }
    }
}

#[test]
fn a_body_that_is_too_large_is_refused_in_json() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for (binding, target) in [(JsonRpc, "/a2a/w"), (HttpJson, "/a2a/w/message:send")] {
        // Said before, and found out.
        let mut claimed = Asked::new("POST", target, "").header("Content-Type", "application/json");
        claimed.headers.push(("Content-Length", (64 << 20).to_string()));
        let bytes = claimed.bytes(&agent.to.to_string(), "Connection: close\r\n").replace("Content-Length: 0\r\n", "");
        let begun = crate::http::raw(agent.from, agent.to, &bytes);
        let whole = Asked::new("POST", target, " ".repeat(32 << 20)).header("Content-Type", "application/json");
        for answer in [begun, agent.exchange(&whole)] {
            assert_eq!(answer.status, 413, "{answer:?}");
            let fault = crate::wire::read(binding, answer, &Value::Null).fault();
            assert!(fault.message.contains("bytes"), "{}", fault.message);
        }
    }
    // A text that is too long is found to be that, and the body is read for it.
    for binding in BOTH {
        let text = "x".repeat((1 << 20) + 1);
        let fault = agent.fault(binding, "SendMessage", &message("long", &text));
        assert_eq!(fault.reason, "INVALID_PARAMS", "{}", fault.message);
    }
}

#[test]
fn a_call_is_one_object_with_an_id() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let list = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ListTasks","params":{{}}}}"#);
    let put = |body: &str| {
        let asked = Asked::new("POST", "/a2a/w", body).header("Content-Type", "application/json");
        let answer = agent.exchange(&asked);
        assert_eq!(answer.status, 200, "{body}: {answer:?}");
        answer
    };
    // An id comes back as it was, whatever its type.
    for id in ["1", "0", "-7", "1.5", "12345678901234567890", "\"x\"", "\"\"", "\"\\u00e4 \\\"\"", "null"] {
        let answer = put(&list(id));
        let wanted: Value = serde_json::from_str(id).unwrap();
        crate::wire::read(JsonRpc, answer, &wanted).good();
    }
    for (name, body, id, code) in [
        ("a batch", format!("[{},{}]", list("1"), list("2")), Value::Null, -32600),
        ("a notification", r#"{"jsonrpc":"2.0","method":"ListTasks","params":{}}"#.to_string(), Value::Null, -32600),
        ("an id that is none", list("{}"), Value::Null, -32600),
        ("an id that is none", list("[1]"), Value::Null, -32600),
        ("an id that is none", list("true"), Value::Null, -32600),
        ("another version", list("1").replace("2.0", "1.0"), json!(1), -32600),
        ("no version", list("1").replace(r#""jsonrpc":"2.0","#, ""), json!(1), -32600),
        ("no method", r#"{"jsonrpc":"2.0","id":1}"#.to_string(), json!(1), -32600),
        ("a method that is none", r#"{"jsonrpc":"2.0","id":1,"method":5}"#.to_string(), json!(1), -32600),
        ("two methods", r#"{"jsonrpc":"2.0","id":1,"method":"a","method":"b"}"#.to_string(), Value::Null, -32600),
        ("an unknown method", list("\"u\"").replace("ListTasks", "listTasks"), json!("u"), -32601),
        ("params that are a list", list("1").replace("{}", "[]"), json!(1), -32602),
        ("params that are a text", list("1").replace("{}", "\"x\""), json!(1), -32602),
    ] {
        let fault = crate::wire::read(JsonRpc, put(&body), &id).fault();
        assert_eq!(fault.code, code, "{name}");
    }
    // Absent or null params are empty ones.
    for params in ["", r#","params":null"#] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ListTasks"{params}}}"#);
        crate::wire::read(JsonRpc, put(&body), &json!(1)).good();
    }
}

#[test]
fn an_address_or_a_verb_that_is_none_is_said_in_json() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let done = agent.task(JsonRpc, &message("tck-complete-task-1", "go"));
    let id = done["id"].as_str().unwrap();
    for (verb, target, status, allow) in [
        ("GET", "/a2a/w", 405, "POST"),
        ("DELETE", "/a2a/w/", 405, "POST"),
        ("GET", "/a2a", 405, "POST"),
        ("PUT", "/a2a/", 405, "POST"),
        ("POST", "/a2a/w/.well-known/agent-card.json", 405, "GET"),
        ("GET", "/a2a/w/message:send", 405, "POST"),
        ("PUT", "/a2a/w/message:stream", 405, "POST"),
        ("POST", "/a2a/w/tasks", 405, "GET"),
        ("DELETE", "/a2a/w/tasks/ID", 405, "GET"),
        ("POST", "/a2a/w/tasks/ID", 405, "GET"),
        ("POST", "/a2a/w/tasks/ID:explode", 405, "GET"),
        ("DELETE", "/a2a/w/tasks/ID:cancel", 405, "GET"),
        ("PATCH", "/a2a/w/tasks/ID/pushNotificationConfigs", 405, "POST, GET"),
        ("POST", "/a2a/w/extendedAgentCard", 405, "GET"),
        ("OPTIONS", "/a2a/w/message:send", 405, "POST"),
        ("GET", "/a2a/w/nowhere", 404, ""),
        ("POST", "/a2a/w/message:shout", 404, ""),
        ("GET", "/a2a/w/v1/tasks", 404, ""),
        ("GET", "/a2a/w/tasks//", 404, ""),
        ("GET", "/a2a/w/tasks/ID/artifacts", 404, ""),
        ("GET", "/a2a/w/.well-known/agent.json", 404, ""),
        ("GET", "/a2a/nobody/.well-known/agent-card.json", 404, ""),
    ] {
        let target = target.replace("ID", id);
        let asked = Asked::new(verb, &target, "").header("A2A-Version", "1.0");
        let answer = agent.exchange(&asked);
        assert_eq!(header(&answer.head, "allow").unwrap_or(""), allow, "{verb} {target}");
        assert_eq!(answer.status, status, "{verb} {target}: {answer:?}");
        let fault = crate::wire::read(HttpJson, answer, &Value::Null).fault();
        assert!(!fault.reason.is_empty());
    }
}

/// A page of somewhere else, or a name that was made to lead here, is no client.
#[test]
fn a_foreign_host_or_origin_is_refused_in_the_form_of_the_binding() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for binding in BOTH {
        let asked = agent.asked(binding, "SendMessage", &message("tck-complete-task-1", "go"));
        for (name, value, status) in
            [("Host", "evil.example", 421), ("Origin", "https://evil.example", 403), ("Origin", "null", 403)]
        {
            let answer = agent.exchange(&asked.clone().header(name, value));
            assert_eq!(answer.status, status, "{binding:?} {name}: {answer:?}");
            crate::wire::read(binding, answer, &Value::Null).fault();
        }
    }
    assert_eq!(agent.good(JsonRpc, "ListTasks", &json!({}))["totalSize"], 0);
}
