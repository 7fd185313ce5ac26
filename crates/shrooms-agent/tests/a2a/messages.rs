//! What a message says, and what becomes of it: contexts, history, parts, tenants, and the same
//! message sent again.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::shape::{self, check};
use crate::wire::{Agent, BOTH, HttpJson, JsonRpc, follow_up, message, state};
use crate::world::{World, plain};

fn with(id: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut params = message(id, "go");
    change(&mut params);
    params
}

#[test]
fn a_context_is_kept_as_it_was_given_and_is_the_task_s_from_then_on() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        let id = |id: &str| format!("{id}-{binding:?}");
        let long = "a context / with ünusual: signs ".repeat(4);
        for (n, context) in ["c-1", long.as_str()].into_iter().enumerate() {
            let params = with(&id(&format!("tck-input-required-{n}")), |p| p["message"]["contextId"] = json!(context));
            let task = w.task(binding, &params);
            assert_eq!(task["contextId"], context);
            let messages = task["history"].as_array().unwrap().iter().chain([&task["status"]["message"]]);
            for message in messages {
                assert_eq!((&message["contextId"], &message["taskId"]), (&json!(context), &task["id"]), "{message}");
            }
            // By the task alone at every turn, and with the context beside it.
            let more = w.task(binding, &follow_up(&id(&format!("tck-input-required-{n}b")), "more", &task));
            let mut last = follow_up(&id(&format!("tck-complete-task-{n}")), "done", &task);
            last["message"]["contextId"] = json!(context);
            let done = w.task(binding, &last);
            assert_eq!((&more["contextId"], &done["contextId"]), (&json!(context), &json!(context)));
            assert_eq!((&done["id"], state(&done)), (&task["id"], "COMPLETED"));
            // The next task of this context is another one.
            let next = with(&id(&format!("tck-complete-task-{n}b")), |p| p["message"]["contextId"] = json!(context));
            assert_ne!(w.task(binding, &next)["id"], task["id"]);
        }
        // One that is made is not the one of another task; an empty one counts as none.
        let made = [id("tck-complete-task-x"), id("tck-complete-task-y")].map(|id| {
            let task = w.task(binding, &with(&id, |p| p["message"]["contextId"] = json!("")));
            task["contextId"].as_str().unwrap().to_string()
        });
        assert!(made[0] != made[1] && !made[0].is_empty(), "{made:?}");
    }
}

#[test]
fn an_ended_task_takes_nothing_more_and_says_where_to_go() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        for (n, id) in ["tck-complete-task", "tck-reject-task"].into_iter().enumerate() {
            let task = w.task(binding, &message(&format!("{id}-{binding:?}"), "go"));
            let more = follow_up(&format!("tck-complete-task-{n}-{binding:?}"), "more", &task);
            for method in ["SendMessage", "SendStreamingMessage"] {
                let fault = w.open(binding, method, &more).err().unwrap();
                assert_eq!(fault.reason, "UNSUPPORTED_OPERATION");
                assert!(fault.message.contains("referenceTaskIds"), "{}", fault.message);
            }
            assert_eq!(w.get(binding, &task), task, "and stays as it was");
            // As the hint says; also a reference that leads nowhere is a hint and no more.
            let params = with(&format!("tck-complete-task-{n}b-{binding:?}"), |p| {
                p["message"]["referenceTaskIds"] = json!([task["id"], "w:none"]);
            });
            assert_eq!(state(&w.task(binding, &params)), "COMPLETED");
        }
    }
}

#[test]
fn as_much_history_comes_back_as_was_asked_for_from_every_operation() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let asked = "Input required";
    for binding in BOTH {
        let first = w.task(binding, &message(&format!("tck-input-required-{binding:?}"), "one"));
        w.task(binding, &follow_up(&format!("tck-input-required-2-{binding:?}"), "two", &first));
        let texts = |task: &Value| -> Option<Vec<String>> {
            let history = task.get("history")?.as_array().unwrap();
            Some(history.iter().map(|m| m["parts"][0]["text"].as_str().unwrap().to_string()).collect())
        };
        for (n, (length, want)) in [
            (Value::Null, Some(vec!["one", asked, "two", asked, "three"])),
            (json!(0), None),
            (json!(1), Some(vec!["three"])),
            (json!(3), Some(vec!["two", asked, "three"])),
            (json!(1000), Some(vec!["one", asked, "two", asked, "three"])),
        ]
        .into_iter()
        .enumerate()
        {
            let want = want.map(|texts| texts.into_iter().map(str::to_string).collect::<Vec<_>>());
            let configuration = |params: &mut Value| {
                if !length.is_null() {
                    params["configuration"] = json!({"historyLength": length});
                }
            };
            // The same message again is the same message: only how much is shown differs.
            let mut params = follow_up(&format!("tck-input-required-3-{binding:?}"), "three", &first);
            configuration(&mut params);
            assert_eq!(texts(&w.task(binding, &params)), want, "send, {length}");
            let mut streamed = w.stream(binding, "SendStreamingMessage", &params);
            assert_eq!(texts(&streamed.event().unwrap()["task"]), want, "stream, {length}");
            let mut one = json!({"id": first["id"]});
            if !length.is_null() {
                one["historyLength"] = length.clone();
            }
            assert_eq!(texts(&w.good(binding, "GetTask", &one)), want, "get, {length}, {n}");
        }
    }
}

#[test]
fn every_kind_of_part_reaches_the_worker_as_text_and_comes_back_as_it_was() {
    let world = plain(&[]);
    world.lab[0].add("echo", world.lab.dir.path(), &["cat"]);
    let echo = world.session("echo");
    let data = json!({"data": {"name": "käse", "n": [1, 2.5, null]}, "mediaType": "application/json"});
    let fenced = "```json\n{\n  \"n\": [\n    1,\n    2.5,\n    null\n  ],\n  \"name\": \"käse\"\n}\n```";
    for binding in BOTH {
        for (n, (parts, read)) in [
            (json!([{"text": "one"}, {"text": "two\nlines"}]), "one\n\ntwo\nlines".to_string()),
            (json!([{"text": "look:"}, data]), format!("look:\n\n{fenced}")),
            (json!([{"data": null}]), "```json\nnull\n```".to_string()),
            (json!([{"data": "words"}, {"data": 7}]), "```json\n\"words\"\n```\n\n```json\n7\n```".to_string()),
            (
                json!([{"url": "http://127.0.0.1:1/x?a=b#c", "filename": "x.txt"}, {"text": "read it"}]),
                "http://127.0.0.1:1/x?a=b#c\n\nread it".to_string(),
            ),
            (json!([{"text": "with", "metadata": {"a": 1}}]), "with".to_string()),
        ]
        .into_iter()
        .enumerate()
        {
            let params = with(&format!("m-{n}-{binding:?}"), |p| p["message"]["parts"] = parts.clone());
            let sent = echo.good(binding, "SendMessage", &params);
            check(&shape::SENT, &sent);
            let task = &sent["task"];
            assert_eq!(task["artifacts"][0]["parts"], json!([{"text": read}]), "{parts}");
            assert_eq!(task["history"][0]["parts"], parts);
            assert_eq!(echo.get(binding, task)["history"], task["history"]);
        }
        let params =
            with(&format!("file-{binding:?}"), |p| p["message"]["parts"] = json!([{"text": "a"}, {"raw": "dGNr"}]));
        // The owner's own file is taken; those of others are looked at in the daemon's tests.
        let task = echo.good(binding, "SendMessage", &params)["task"].clone();
        let read = task["artifacts"][0]["parts"][0]["text"].as_str().unwrap();
        assert!(read.starts_with("a\n\n(a file: without a name, 3 bytes, at /"), "{read}");
        assert_eq!(task["history"][0]["parts"][1], json!({"text": "(a file: without a name, 3 bytes)"}));
    }
}

/// Names as the proto writes them, enums by number, a null for what is not there (ProtoJSON).
#[test]
fn every_spelling_that_proto_json_allows_is_read() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        let params = json!({
            "message": {
                "message_id": format!("tck-input-required-{binding:?}"), "role": 1, "context_id": "c", "task_id": null,
                "parts": [{"text": "go", "media_type": "text/plain", "metadata": null}], "reference_task_ids": [],
                "extensions": null,
            },
            "configuration": {"history_length": "1", "accepted_output_modes": ["text/plain"], "return_immediately": false},
            "metadata": null,
        });
        let task = w.task(binding, &params);
        assert_eq!((task["contextId"].as_str(), state(&task)), (Some("c"), "INPUT_REQUIRED"));
        assert_eq!(task["history"][0]["parts"], json!([{"text": "go", "mediaType": "text/plain"}]));
    }
}

#[test]
fn output_modes_that_hold_text_are_met() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        for (n, modes) in [
            json!([]),
            json!(["text/plain"]),
            json!(["text/*"]),
            json!(["*/*"]),
            json!(["image/png", "Text/Markdown"]),
            json!(["application/json"]),
        ]
        .into_iter()
        .enumerate()
        {
            let params = with(&format!("tck-complete-task-{n}-{binding:?}"), |p| {
                p["configuration"] = json!({"acceptedOutputModes": modes});
            });
            assert_eq!(state(&w.task(binding, &params)), "COMPLETED", "{modes}");
        }
    }
}

#[test]
fn a_session_is_named_by_its_path_a_tenant_metadata_or_the_task() {
    let world = plain(&["w", "v"]);
    let machine = world.at("/a2a");
    for binding in BOTH {
        let id = |n: usize| format!("tck-input-required-{n}-{binding:?}");
        let by_tenant = machine.task(binding, &with(&id(1), |p| p["tenant"] = json!("v")));
        let by_metadata = machine.task(
            binding,
            &with(&id(2), |p| {
                p["message"]["metadata"] = json!({"shrooms/session": "v"});
            }),
        );
        let both = world.session("v").task(binding, &with(&id(3), |p| p["tenant"] = json!("v")));
        for task in [&by_tenant, &by_metadata, &both] {
            assert_eq!(task["metadata"]["shrooms/session"], "v");
            // A task is found by its id alone, and from its own session's address; from another's it
            // is not there.
            assert_eq!(machine.get(binding, task), world.session("v").get(binding, task));
            let of_task = json!({"id": task["id"]});
            for method in ["GetTask", "CancelTask", "SubscribeToTask", "AckTask"] {
                assert_eq!(world.session("w").fault(binding, method, &of_task).reason, "TASK_NOT_FOUND", "{method}");
            }
            let more = follow_up(&id(4), "more", task);
            assert_eq!(world.session("w").fault(binding, "SendMessage", &more).reason, "TASK_NOT_FOUND");
        }
        let more = machine.task(binding, &follow_up(&format!("tck-complete-task-{binding:?}"), "done", &by_tenant));
        assert_eq!((state(&more), &more["id"]), ("COMPLETED", &by_tenant["id"]));
        let got = machine.good(binding, "GetTask", &json!({"id": both["id"], "tenant": "v"}));
        assert_eq!(got["id"], both["id"]);
    }
}

/// Without the test profile a message's id makes it the same message.
#[test]
fn a_message_sent_again_is_the_same_task_whatever_it_comes_by() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let params = with("tck-input-required-1", |p| p["message"]["parts"] = json!([{"text": "a"}, {"data": [1]}]));
    let task = w.task(JsonRpc, &params);
    // What the daemon sees of the worker may be added meanwhile.
    let said = |task: &Value| (task["id"].clone(), task["status"].clone(), task["history"].clone());
    for binding in BOTH {
        assert_eq!(said(&w.task(binding, &params)), said(&task));
        let streamed = w.stream(binding, "SendStreamingMessage", &params).rest();
        assert_eq!((streamed.len(), said(&streamed[0]["task"])), (1, said(&task)));
        // The flags of how it is answered are not part of it.
        let mut at_once = params.clone();
        at_once["configuration"] = json!({"returnImmediately": true, "historyLength": 0});
        assert_eq!(w.task(binding, &at_once)["id"], task["id"]);
        for other in
            [json!([{"text": "a"}]), json!([{"text": "a"}, {"data": [2]}]), json!([{"text": "a"}, {"text": "[1]"}])]
        {
            let mut other_text = params.clone();
            other_text["message"]["parts"] = other;
            for method in ["SendMessage", "SendStreamingMessage"] {
                let fault = w.open(binding, method, &other_text).err().unwrap();
                assert_eq!(fault.reason, "INVALID_PARAMS", "{}", fault.message);
            }
        }
    }
    // An answer, too: it is given once.
    let answer = follow_up("tck-input-required-2", "more", &task);
    for binding in [JsonRpc, HttpJson, JsonRpc] {
        let answered = w.task(binding, &answer);
        assert_eq!(answered["history"].as_array().unwrap().len(), 3, "{answered}");
    }
    let done = follow_up("tck-complete-task-3", "done", &task);
    let ended = w.task(HttpJson, &done);
    assert_eq!(state(&ended), "COMPLETED");
    for binding in BOTH {
        // Also after the end: what was taken is no new message to an ended task.
        assert_eq!(said(&w.task(binding, &done)), said(&ended));
        assert_eq!(w.task(binding, &params)["id"], task["id"]);
    }
    assert_eq!(w.good(JsonRpc, "ListTasks", &json!({}))["totalSize"], 1);
}

/// Many at once with the same id are one.
#[test]
fn the_same_message_from_many_at_once_is_one_task() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let sent: Vec<_> = (0..12)
        .map(|n| {
            let w = w.clone();
            std::thread::spawn(move || w.task(BOTH[n % 2], &message("tck-complete-task-1", "go"))["id"].clone())
        })
        .collect();
    let ids: Vec<Value> = sent.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(w.good(JsonRpc, "ListTasks", &json!({}))["totalSize"], 1);
}

/// A message that is sent again from another of them is the same one, and a task of one is the
/// other's to ask about.
#[test]
fn the_machines_of_an_owner_are_one_sender() {
    let mut lab = Lab::idle(&["laptop", "phone"]);
    lab[0].start();
    let phone = lab[1].address;
    let world = World { lab };
    world.add("w", json!({}));
    let (owner, other) = (world.session("w"), Agent { from: phone, ..world.session("w") });
    for binding in BOTH {
        let of_owner = message(&format!("tck-complete-task-1-{binding:?}"), "go");
        let of_phone = message(&format!("tck-complete-task-2-{binding:?}"), "go");
        let first = [owner.task(binding, &of_owner), other.task(binding, &of_phone)];
        assert_eq!(first[0]["metadata"]["shrooms/from"], "the owner");
        assert!(first[1]["metadata"]["shrooms/from"].as_str().is_some_and(|from| from.contains("phone")), "{first:?}");
        let again = [other.task(binding, &of_owner), owner.task(binding, &of_phone)];
        assert_eq!(again, first);
        assert_eq!(other.get(binding, &first[0]), first[0]);
    }
}

#[test]
fn a_caller_that_wants_its_answer_at_once_gets_the_task_as_it_stands() {
    let world = plain(&[]);
    world.lab[0].add("sleeps", world.lab.dir.path(), &["sleep", "600"]);
    let sleeps = world.session("sleeps");
    for binding in BOTH {
        for (n, configuration) in
            [json!({"returnImmediately": true}), json!({"blocking": false})].into_iter().enumerate()
        {
            let begun = Instant::now();
            let params = with(&format!("m-{n}-{binding:?}"), |p| p["configuration"] = configuration);
            let task = sleeps.task(binding, &params);
            assert!(matches!(state(&task), "SUBMITTED" | "WORKING"), "{task}");
            assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
        }
    }
}

/// The answers of many who cancel at once are the cancel, or that it is over; never anything else.
#[test]
fn a_task_that_many_cancel_at_once_is_cancelled_once() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for round in 0..3 {
        let task = w.task(JsonRpc, &message(&format!("tck-input-required-{round}"), "go"));
        let cancels: Vec<_> = (0..8)
            .map(|n| {
                let (w, of) = (w.clone(), json!({"id": task["id"]}));
                std::thread::spawn(move || w.ask(BOTH[n % 2], "CancelTask", &of).said)
            })
            .collect();
        let said: Vec<_> = cancels.into_iter().map(|thread| thread.join().unwrap()).collect();
        for answer in &said {
            match answer {
                Ok(task) => assert_eq!(state(task), "CANCELED"),
                Err(fault) => assert_eq!(fault.reason, "TASK_NOT_CANCELABLE"),
            }
        }
        assert!(said.iter().any(Result::is_ok), "{said:?}");
        assert_eq!(state(&w.get(HttpJson, &task)), "CANCELED");
    }
}

/// Of the extension: the asker says that it has the result.
#[test]
fn an_acknowledged_task_says_so() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        let task = w.task(binding, &message(&format!("tck-complete-task-{binding:?}"), "go"));
        assert_eq!(task["metadata"]["shrooms/acknowledged"], false);
        let acknowledged = w.good(binding, "AckTask", &json!({"id": task["id"]}));
        check(&shape::TASK, &acknowledged);
        for task in [&acknowledged, &w.get(binding, &task)] {
            assert_eq!((state(task), &task["metadata"]["shrooms/acknowledged"]), ("COMPLETED", &json!(true)));
        }
    }
}

#[test]
fn a_question_is_in_the_history_once_it_is_answered() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for binding in BOTH {
        let said = |task: &Value| -> Vec<String> {
            let said = task["history"].as_array().unwrap().iter();
            said.map(|m| format!("{} {}", m["role"].as_str().unwrap(), m["parts"][0]["text"].as_str().unwrap()))
                .collect()
        };
        let ask = with(&format!("tck-input-required-{binding:?}"), |p| p["message"]["parts"][0]["text"] = json!("one"));
        let asks = w.good(binding, "SendMessage", &ask)["task"].clone();
        assert_eq!(said(&asks), ["ROLE_USER one"], "the open question is the status");
        let mut last = asks.clone();
        for (behaviour, text) in [("tck-input-required", "two"), ("tck-complete-task", "three")] {
            let more = with(&format!("{behaviour}-{text}-{binding:?}"), |p| {
                p["message"]["parts"][0]["text"] = json!(text);
                p["message"]["taskId"] = asks["id"].clone();
            });
            last = w.good(binding, "SendMessage", &more)["task"].clone();
        }
        let whole = [
            "ROLE_USER one",
            "ROLE_AGENT Input required",
            "ROLE_USER two",
            "ROLE_AGENT Input required",
            "ROLE_USER three",
        ];
        assert_eq!(said(&last), whole);
        let ids: std::collections::BTreeSet<&str> =
            last["history"].as_array().unwrap().iter().map(|m| m["messageId"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), whole.len());
    }
}
