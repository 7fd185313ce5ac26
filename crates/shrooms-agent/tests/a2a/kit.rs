//! The official compatibility kit of A2A 1.0.0, restated: its run A (streaming on) but for streams.
//! The ids are the kit's requirements, each beside what holds it. What a worker does is named by the
//! message's id; the kit uses the same id again and again.

use serde_json::{Value, json};

use crate::shape::{self, check};
use crate::wire::{Asked, BOTH, Binding, HttpJson, JsonRpc, follow_up, message, state};
use crate::world::for_kits;

const HELLO: &str = "Hello from TCK";

/// Params of a task that completes at once.
fn complete() -> Value {
    message("tck-complete-task-5e5510e1", HELLO)
}

/// Params of a task that asks its asker.
fn asking() -> Value {
    message("tck-input-required-5e5510e1", "TCK prerequisite task creation")
}

/// BIND-FIELD-001, CARD-*: the card at its well-known place, without a version header.
#[test]
fn the_card_is_there_is_whole_and_may_be_cached() {
    let world = for_kits("all");
    let mut asked = Asked::new("GET", "/.well-known/agent-card.json", "");
    asked = asked.header("Accept", "*/*");
    let answer = world.kit().exchange(&asked);
    assert_eq!(answer.status, 200, "{}", answer.head); // CARD-DISC-001
    let card = answer.json();
    check(&shape::CARD, &card); // CARD-STRUCT-001, CARD-PROTO-002
    let interfaces = card["supportedInterfaces"].as_array().unwrap();
    let bindings: Vec<&str> = interfaces.iter().map(|i| i["protocolBinding"].as_str().unwrap()).collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON"]); // CARD-PROTO-001, BIND-FIELD-001
    for interface in interfaces {
        let url = interface["url"].as_str().unwrap();
        assert_eq!(url, format!("http://{}/a2a", world.kit().to), "absolute, without a slash at its end");
        assert_eq!(interface["protocolVersion"], "1.0");
    }
    let header = |name| crate::wire::header(&answer.head, name).unwrap_or_else(|| panic!("no {name}"));
    assert!(header("cache-control").contains("max-age="), "{}", answer.head); // CARD-CACHE-001
    assert!(!header("etag").is_empty()); // CARD-CACHE-002
    assert!(header("last-modified").ends_with(" GMT")); // CARD-CACHE-003
}

#[test]
fn a_message_is_answered_with_its_task() {
    let world = for_kits("all");
    let kit = world.kit();
    for binding in BOTH {
        let sent = kit.ask(binding, "SendMessage", &complete());
        // JSONRPC-FMT-001, JSONRPC-FMT-002, HTTP_JSON-SVC-001: the answer is called as the request.
        assert_eq!(sent.header("content-type"), Some("application/json"));
        let sent = sent.good();
        // CORE-SEND-001, DM-TASK-001, DM-TASK-002, DM-MSG-001, DM-MSG-002, DM-PART-001, DM-ART-001,
        // DM-STATUS-001, DM-SERIAL-001 to -004 (DM-SERIAL-002, DM-SERIAL-003, DM-SERIAL-004).
        check(&shape::SENT, &sent);
        let task = &sent["task"];
        assert_eq!(state(task), "COMPLETED");
        assert_eq!(task["status"]["message"]["parts"], json!([{"text": "Hello from TCK"}]));
        // CORE-MULTI-001, CORE-MULTI-001a, CORE-MULTI-003: a context is made where none is given.
        assert!(task["contextId"].as_str().is_some_and(|c| !c.is_empty()), "{task}");

        // CORE-EXECUTION-MODE-001, CORE-EXECUTION-MODE-002
        for at_once in [false, true] {
            let mut params = complete();
            params["configuration"] = json!({"returnImmediately": at_once});
            check(&shape::SENT, &kit.good(binding, "SendMessage", &params));
        }
        // CORE-MULTI-002, CORE-MULTI-002a: and one that is given is kept.
        for context in ["tck-client-context-001-5e5510e1", "tck-client-context-rejected-5e5510e1"] {
            let mut params = complete();
            params["message"]["contextId"] = json!(context);
            assert_eq!(kit.task(binding, &params)["contextId"], context);
        }
        // CORE-SEND-003: for the kit a file of any type is taken.
        let mut params = message("tck-send-003-5e5510e1", "");
        let part = json!({"raw": "dGNr", "mediaType": "application/x-unsupported-tck-type"});
        params["message"]["parts"] = json!([part]);
        check(&shape::SENT, &kit.good(binding, "SendMessage", &params));
        // DM-SERIAL-005: what is unknown is passed over, at every depth.
        let mut params = complete();
        params["tckExtraParam"] = json!(42);
        params["message"]["tckUnknownField"] = json!({"a": [1]});
        params["message"]["parts"][0]["tckUnknownField"] = json!("x");
        check(&shape::SENT, &kit.good(binding, "SendMessage", &params));
        // JSONRPC-SVC-001, JSONRPC-SVC-002, HTTP_JSON-SVC-002: extensions that nobody knows.
        let asked = kit.asked(binding, "SendMessage", &complete());
        let asked = asked.header("A2A-Extensions", "https://example.com/ext/v1,https://example.com/ext/v2");
        kit.put(binding, &asked).good();
    }
}

/// DM-ART-001, DM-MSG-001: what a worker makes, whatever it is.
#[test]
fn what_is_made_comes_back_as_it_was_made() {
    let world = for_kits("all");
    let kit = world.kit();
    let file = json!({"filename": "output.txt", "mediaType": "text/plain"});
    let with = |key: &str, value: &str| {
        let mut part = file.clone();
        part[key] = json!(value);
        part
    };
    for binding in BOTH {
        for (id, part) in [
            ("tck-artifact-text", json!({"text": "Generated text content"})),
            ("tck-artifact-file", with("raw", "R2VuZXJhdGVkIHRleHQgY29udGVudA==")),
            ("tck-artifact-file-url", with("url", "https://example.com/output.txt")),
            ("tck-artifact-data", json!({"data": {"key": "value", "count": 42}})),
        ] {
            let sent = kit.good(binding, "SendMessage", &message(&format!("{id}-5e5510e1"), "TCK artifact test"));
            check(&shape::SENT, &sent);
            let made = sent["task"]["artifacts"].as_array().unwrap();
            assert_eq!((state(&sent["task"]), made.len()), ("COMPLETED", 1), "{id}");
            assert!(made[0]["artifactId"].as_str().is_some_and(|id| !id.is_empty()));
            assert_eq!(made[0]["parts"], json!([part]), "{id}");
        }
        let sent = kit.good(binding, "SendMessage", &message("tck-message-response-5e5510e1", "TCK artifact test"));
        check(&shape::SENT, &sent);
        assert_eq!(sent["message"]["parts"], json!([{"text": "Direct message response"}]), "{sent}");
        assert_eq!(sent["message"]["role"], "ROLE_AGENT");
    }
}

#[test]
fn an_unknown_task_is_said_to_be_unknown() {
    let world = for_kits("all");
    let kit = world.kit();
    for binding in BOTH {
        let code = if binding == JsonRpc { -32001 } else { 404 };
        let unknown = "tck-nonexistent-5e5510e1";
        let mut more = message("tck-multi-004-5e5510e1", HELLO);
        more["message"]["taskId"] = json!(unknown);
        for (method, params) in [
            ("GetTask", json!({"id": unknown})),         // CORE-GET-002
            ("CancelTask", json!({"id": unknown})),      // CORE-CANCEL-003
            ("SendMessage", more.clone()),               // CORE-MULTI-004
            ("SubscribeToTask", json!({"id": unknown})), // STREAM-SUB-004, before there is a stream
            ("SendStreamingMessage", more),
        ] {
            // JSONRPC-ERR-001, JSONRPC-ERR-002, JSONRPC-ERR-003, HTTP_JSON-ERR-001, HTTP_JSON-ERR-002,
            // HTTP_JSON-STATUS-001, CORE-ERR-001: its form is checked with every answer here.
            let fault = kit.fault(binding, method, &params);
            assert_eq!((fault.code, fault.reason.as_str()), (code, "TASK_NOT_FOUND"), "{method}");
            assert_eq!(fault.metadata, json!({"taskId": unknown}), "{method}");
        }
    }
    // A GET with no word of JSON in it: what is refused is JSON for everybody.
    let asked =
        Asked::new("GET", "/a2a/tasks/tck-nonexistent", "").header("A2A-Version", "1.0").header("Accept", "*/*");
    assert_eq!(kit.put(HttpJson, &asked).fault().code, 404);
}

#[test]
fn what_is_not_offered_or_not_right_is_refused_by_its_code() {
    let world = for_kits("all");
    let kit = world.kit();
    let refused = |binding: Binding, method: &str, params: Value, want: (i64, i64, &str)| {
        let fault = kit.fault(binding, method, &params);
        let code = if binding == JsonRpc { want.0 } else { want.1 };
        assert_eq!((fault.code, fault.reason.as_str()), (code, want.2), "{binding:?} {method}");
    };
    for binding in BOTH {
        refused(binding, "SendMessage", json!({}), (-32602, 400, "INVALID_PARAMS")); // CORE-ERR-002
        let push = (-32003, 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"); // CORE-CAP-001, JSONRPC-SSE-002
        let named = if binding == JsonRpc { "task_id" } else { "taskId" };
        refused(binding, "CreateTaskPushNotificationConfig", json!({named: "t", "url": "https://example.com"}), push);
        let card = (-32004, 400, "UNSUPPORTED_OPERATION"); // CORE-CAP-003
        refused(binding, "GetExtendedAgentCard", json!({}), card);
        // VER-SERVER-002, JSONRPC-SSE-002, HTTP_JSON-STATUS-001
        let asked = kit.asked(binding, "SendMessage", &complete()).header("A2A-Version", "99.0");
        let fault = kit.put(binding, &asked).fault();
        let code = if binding == JsonRpc { -32009 } else { 400 };
        assert_eq!((fault.code, fault.reason.as_str()), (code, "VERSION_NOT_SUPPORTED"));
        // VER-SERVER-003: an empty version is answered, one way or the other.
        kit.put(binding, &kit.asked(binding, "SendMessage", &complete()).header("A2A-Version", "")).good();
    }
    // CORE-ERR-001: of an unknown method.
    assert_eq!(kit.fault(JsonRpc, "NonExistentMethod", &json!({})).code, -32601);
    // JSONRPC-SSE-002: the type of a body is looked at before the body, which is none of JSON here.
    let asked = Asked::new("POST", "/a2a", "{'jsonrpc': '2.0'}").header("Content-Type", "text/plain");
    let answer = kit.exchange(&asked);
    assert_eq!((answer.status, answer.json()["error"]["code"].clone()), (415, json!(-32005)));
    // HTTP_JSON-STATUS-001: the same there is a status of its own; what is unknown is 404.
    let asked = kit.asked(HttpJson, "SendMessage", &complete()).header("Content-Type", "text/plain");
    assert_eq!(kit.put(HttpJson, &asked).fault().code, 415);
    assert_eq!(kit.fault(HttpJson, "CancelTask", &json!({"id": "unknown"})).code, 404);
}

#[test]
fn a_task_is_got_cancelled_and_taken_further_while_it_is_open() {
    let world = for_kits("all");
    let kit = world.kit();
    for binding in BOTH {
        let done = kit.task(binding, &complete());
        assert_eq!(state(&done), "COMPLETED");
        assert_eq!(kit.get(binding, &done)["id"], done["id"]); // CORE-GET-001
        let of_done = json!({"id": done["id"]});
        assert_eq!(kit.fault(binding, "CancelTask", &of_done).reason, "TASK_NOT_CANCELABLE"); // CORE-CANCEL-002
        let more = follow_up("tck-terminal-5e5510e1", "more", &done);
        assert_eq!(kit.fault(binding, "SendMessage", &more).reason, "UNSUPPORTED_OPERATION"); // CORE-SEND-002
        assert_eq!(kit.fault(binding, "SubscribeToTask", &of_done).reason, "UNSUPPORTED_OPERATION"); // STREAM-SUB-003

        let open = kit.task(binding, &asking());
        assert_eq!(state(&open), "INPUT_REQUIRED");
        let canceled = kit.good(binding, "CancelTask", &json!({"id": open["id"]})); // CORE-CANCEL-001
        assert_eq!((&canceled["id"], state(&canceled)), (&open["id"], "CANCELED"));

        let open = kit.task(binding, &asking());
        // CORE-MULTI-006: of a task that is open, as of one that has ended.
        for task in [&open, &done] {
            let mut params = follow_up("tck-mismatch-5e5510e1", "more", task);
            params["message"]["contextId"] = json!("tck-wrong-context-5e5510e1");
            kit.fault(binding, "SendMessage", &params);
        }
        // CORE-MULTI-005: the task says the context.
        let more = kit.task(binding, &follow_up("tck-infer-ctx-5e5510e1", "more", &open));
        assert_eq!((&more["id"], &more["contextId"]), (&open["id"], &open["contextId"]));
        assert_eq!(state(&more), "COMPLETED");
    }
}

#[test]
fn history_is_in_order_and_as_long_as_was_asked_for() {
    let world = for_kits("all");
    let kit = world.kit();
    for binding in BOTH {
        let length = if binding == JsonRpc { "history_length" } else { "historyLength" };
        let history = |task: &Value, most: u64| {
            let task = kit.good(binding, "GetTask", &json!({"id": task["id"], length: most}));
            task.get("history").and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let task = kit.task(binding, &asking());
        let mut params = follow_up("tck-complete-task-5e5510e1", "done", &task);
        params["configuration"] = json!({"historyLength": 0});
        let done = kit.task(binding, &params);
        assert_eq!((state(&done), done.get("history")), ("COMPLETED", None)); // CORE-HIST-003
        assert_eq!(history(&task, 0).len(), 0); // CORE-HIST-001
        assert_eq!(history(&task, 1).len(), 1); // CORE-HIST-002
        assert!(!history(&task, 10).is_empty()); // CORE-HIST-004

        let task = kit.task(binding, &asking());
        for n in 1..=2 {
            let text = format!("TCK history message {n}");
            let more = kit.task(binding, &follow_up("tck-input-required-5e5510e1", &text, &task));
            assert_eq!(state(&more), "INPUT_REQUIRED");
        }
        kit.task(binding, &follow_up("tck-complete-task-5e5510e1", "done", &task));
        let texts: Vec<String> = history(&task, 10)
            .iter()
            .flat_map(|message| message["parts"].as_array().cloned().unwrap_or_default())
            .filter_map(|part| part["text"].as_str().map(str::to_string))
            .filter(|text| text.starts_with("TCK history"))
            .collect();
        // CORE-HIST-005, CORE-HIST-006: each once, in order, though their ids are the same.
        assert_eq!(texts, ["TCK history message 1", "TCK history message 2"]);
    }
}

#[test]
fn a_list_of_nothing_is_a_whole_page() {
    let world = for_kits("all");
    let kit = world.kit();
    for binding in BOTH {
        let named = |camel, snake| if binding == JsonRpc { snake } else { camel };
        let context = named("contextId", "context_id");
        for (name, value, size) in [
            ("", Value::Null, 50),                                              // CORE-LIST-001, CORE-LIST-003
            (named("pageSize", "page_size"), json!(2), 2),                      // CORE-LIST-002
            (named("pageSize", "page_size"), json!(100), 100),                  // CORE-LIST-004
            (named("includeArtifacts", "include_artifacts"), json!(false), 50), // CORE-LIST-005
        ] {
            let mut params = json!({context: "tck-test-context-5e5510e1"});
            if !name.is_empty() {
                params[name] = value;
            }
            let page = kit.good(binding, "ListTasks", &params);
            check(&shape::PAGE, &page);
            assert_eq!(page, json!({"tasks": [], "nextPageToken": "", "pageSize": size, "totalSize": 0}));
        }
    }
}
