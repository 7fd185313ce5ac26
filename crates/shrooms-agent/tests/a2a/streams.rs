//! Streams beyond what the kit asks: what closes them, what they add up to, and what a restart of the
//! daemon, its end or a reader that leaves does to them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::poll;
use crate::shape::{self, check};
use crate::wire::{Agent, Asked, BOTH, HttpJson, JsonRpc, follow_up, message, state};
use crate::world::plain;

/// A stream in words; what is said several times in a row is one line.
fn story(events: &[Value]) -> Vec<String> {
    let one = |event: &Value| {
        let (kind, value) = event.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "task" => format!("task {}", state(value)),
            "statusUpdate" => format!("status {}", state(value)),
            "artifactUpdate" if value["append"] == true => "more".into(),
            other => other.trim_end_matches("Update").into(),
        }
    };
    let mut lines: Vec<String> = events.iter().map(one).collect();
    lines.dedup();
    lines
}

/// The same without its beginning: how much of that is in the snapshot is a matter of moments.
fn after_start(events: &[Value]) -> String {
    let lines = story(events);
    let start = ["task SUBMITTED", "task WORKING", "status WORKING"];
    let rest: Vec<String> = lines.into_iter().skip_while(|line| start.contains(&line.as_str())).collect();
    rest.join(", ")
}

/// The task that a stream adds up to, by the rules of specification 3.5.
pub fn folded(events: &[Value]) -> Value {
    let mut task = events[0]["task"].clone();
    let mut artifacts: Vec<Value> = task["artifacts"].as_array().cloned().unwrap_or_default();
    for event in events.iter().skip(1) {
        if let Some(update) = event.get("statusUpdate") {
            task["status"] = update["status"].clone();
            task["metadata"] = update["metadata"].clone();
        }
        if let Some(update) = event.get("artifactUpdate") {
            let made = &update["artifact"];
            let known = artifacts.iter_mut().find(|known| known["artifactId"] == made["artifactId"]);
            match known {
                Some(known) if update["append"] == true => {
                    let more = made["parts"].as_array().unwrap().clone();
                    known["parts"].as_array_mut().unwrap().extend(more);
                }
                Some(known) => *known = made.clone(),
                None => artifacts.push(made.clone()),
            }
        }
    }
    task["artifacts"] = json!(artifacts);
    task
}

/// What a task is, whatever the order in which its artifacts came.
fn settled(task: &Value) -> (Value, BTreeMap<String, Value>) {
    let mut rest = task.clone();
    let made = rest.as_object_mut().unwrap().remove("artifacts").unwrap_or_default();
    let by_id = |made: Value| (made["artifactId"].as_str().unwrap().to_string(), made);
    (rest, made.as_array().cloned().unwrap_or_default().into_iter().map(by_id).collect())
}

/// A task that runs until it is cancelled, at work.
fn at_work(agent: &Agent, id: &str) -> Value {
    let mut params = message(id, "for long");
    params["configuration"] = json!({"returnImmediately": true});
    let task = agent.task(JsonRpc, &params);
    poll("it says that it works", || {
        let task = agent.get(JsonRpc, &task);
        task["status"]["message"]["parts"][0]["text"] == "Working"
    });
    agent.get(JsonRpc, &task)
}

fn cancel(agent: &Agent, task: &Value) {
    agent.good(JsonRpc, "CancelTask", &json!({"id": task["id"]}));
}

#[test]
fn a_stream_adds_up_to_the_stored_task() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for binding in BOTH {
        for (id, want) in [
            ("tck-stream-001", "artifact, status WORKING, status COMPLETED"),
            ("tck-stream-artifact-file", "artifact, status WORKING, status COMPLETED"),
            ("tck-stream-artifact-chunked", "artifact, more, artifact, status COMPLETED"),
            ("tck-artifact-data", "artifact, status COMPLETED"),
            ("tck-complete-task", "artifact, status COMPLETED"),
            ("tck-reject-task", "status REJECTED"),
        ] {
            let params = message(&format!("{id}-{binding:?}"), "go");
            let events = agent.stream(binding, "SendStreamingMessage", &params).rest();
            events.iter().for_each(|event| check(&shape::EVENT, event));
            assert_eq!(after_start(&events), want, "{binding:?} {id}");
            let task = events[0]["task"].clone();
            let about = |event: &Value| {
                let (_, value) = event.as_object().unwrap().iter().next().unwrap();
                (value.get("taskId").unwrap_or(&value["id"]).clone(), value["contextId"].clone())
            };
            assert!(events.iter().all(|event| about(event) == (task["id"].clone(), task["contextId"].clone())));
            let stored = agent.get(binding, &task);
            assert_eq!(settled(&folded(&events)), settled(&stored), "{binding:?} {id}");
        }
    }
}

#[test]
fn a_sent_stream_closes_where_the_asker_is_asked_and_a_subscription_goes_on() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for binding in BOTH {
        let params = message(&format!("tck-input-required-{binding:?}"), "go");
        let events = agent.stream(binding, "SendStreamingMessage", &params).rest();
        assert_eq!(story(&events).last().unwrap(), "status INPUT_REQUIRED", "{events:?}");
        let task = events[0]["task"].clone();

        let mut listening = agent.subscribe(binding, &task);
        assert_eq!(story(&[listening.event().unwrap()]), ["task INPUT_REQUIRED"]);
        // An answer that is sent as a stream begins with the task, too, and closes by its own end.
        let params = follow_up(&format!("tck-input-required-2-{binding:?}"), "one", &task);
        let sent = agent.stream(binding, "SendStreamingMessage", &params).rest();
        assert!(story(&sent)[0].starts_with("task ") && story(&sent).last().unwrap() == "status INPUT_REQUIRED");
        let params = follow_up(&format!("tck-complete-task-2-{binding:?}"), "two", &task);
        let sent = agent.stream(binding, "SendStreamingMessage", &params).rest();
        assert_eq!(story(&sent).last().unwrap(), "status COMPLETED");

        let heard = story(&listening.rest());
        assert_eq!(heard.iter().filter(|line| *line == "status INPUT_REQUIRED").count(), 1, "{heard:?}");
        assert_eq!(heard.last().unwrap(), "status COMPLETED");
    }
}

#[test]
fn a_direct_message_is_all_of_its_stream() {
    let world = plain(&["w"]);
    for binding in BOTH {
        let params = message(&format!("tck-message-response-{binding:?}"), "go");
        let events = world.session("w").stream(binding, "SendStreamingMessage", &params).rest();
        assert_eq!(story(&events), ["message"], "{events:?}");
        check(&shape::EVENT, &events[0]);
        assert_eq!(events[0]["message"]["parts"], json!([{"text": "Direct message response"}]));
    }
}

#[test]
fn get_and_post_subscribe_alike_and_errors_come_before_a_stream() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let task = agent.task(JsonRpc, &message("tck-input-required-1", "go"));
    let id = task["id"].as_str().unwrap().to_string();
    for verb in ["GET", "POST"] {
        for target in [format!("/a2a/w/tasks/{id}:subscribe"), format!("/a2a/tasks/{id}:subscribe/")] {
            let asked = Asked::new(verb, target, "").header("A2A-Version", "1.0");
            let mut stream = agent.open_with(HttpJson, &asked).unwrap();
            let first = stream.event().unwrap();
            assert_eq!(story(&[first]), ["task INPUT_REQUIRED"], "{verb}");
        }
    }
    cancel(&agent, &task);
    for binding in BOTH {
        for (subject, reason) in [(id.as_str(), "UNSUPPORTED_OPERATION"), ("w:none", "TASK_NOT_FOUND")] {
            let fault = agent.open(binding, "SubscribeToTask", &json!({"id": subject})).err().unwrap();
            assert_eq!(fault.reason, reason, "{binding:?}");
        }
        let bad = agent.open(binding, "SendStreamingMessage", &json!({"message": {}})).err().unwrap();
        assert_eq!((bad.reason.as_str(), bad.fields), ("INVALID_PARAMS", vec!["message.messageId".to_string()]));
    }
}

#[test]
fn a_cancel_is_the_last_thing_that_every_stream_hears() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for binding in BOTH {
        let task = at_work(&agent, &format!("slow-{binding:?}"));
        let mut streams: Vec<_> = (0..3).map(|_| agent.subscribe(binding, &task)).collect();
        for stream in &mut streams {
            assert_eq!(story(&[stream.event().unwrap()]), ["task WORKING"]);
        }
        drop(streams.pop());
        cancel(&agent, &task);
        let heard: Vec<Vec<Value>> = streams.into_iter().map(|stream| stream.rest()).collect();
        assert_eq!(heard[0], heard[1]);
        assert_eq!(story(&heard[0]).last().unwrap(), "status CANCELED", "{heard:?}");
        assert_eq!(state(&agent.get(binding, &task)), "CANCELED");
    }
}

/// Where the daemon is killed, what was open is open again, and a subscription hears the rest of it.
#[test]
fn after_a_kill_a_subscription_begins_with_what_is_and_misses_nothing() {
    let mut world = plain(&["w"]);
    world.add("r", json!({"rerun_on_crash": true}));
    let (asked, worked) = (world.session("w"), world.session("r"));
    let blocked = asked.task(JsonRpc, &message("tck-input-required-1", "go"));
    let working = at_work(&worked, "slow-1");
    let queued = |id: &str| {
        let mut params = message(id, "go");
        params["configuration"] = json!({"returnImmediately": true});
        params
    };
    // Of a worker that may answer with a message, the first word is waited for; a plain get is not.
    let waits = worked.stream(JsonRpc, "SendStreamingMessage", &queued("tck-stream-001"));
    poll("it is stored", || worked.ask(JsonRpc, "GetTask", &json!({"id": "r:tck-stream-001"})).said.is_ok());
    let queued = worked.get(JsonRpc, &json!({"id": "r:tck-stream-001"}));
    assert_eq!(state(&queued), "SUBMITTED");
    let before: Vec<_> = [(&asked, &blocked), (&worked, &working)]
        .map(|(agent, task)| (agent.subscribe(HttpJson, task), agent.subscribe(JsonRpc, task)))
        .into_iter()
        .collect();
    world.lab[0].kill();
    drop((before, waits));
    world.lab[0].start();

    let streams = |agent: &Agent, task: &Value| BOTH.map(|binding| agent.subscribe(binding, task));
    let mut of_blocked = streams(&asked, &blocked);
    let mut of_queued = streams(&worked, &queued);
    let mut of_working = streams(&worked, &working);
    let firsts = |streams: &mut [crate::wire::Stream; 2]| streams.each_mut().map(|stream| stream.event().unwrap());
    let (first_blocked, first_queued, first_working) =
        (firsts(&mut of_blocked), firsts(&mut of_queued), firsts(&mut of_working));
    assert_eq!(first_blocked[0]["task"]["status"], blocked["status"], "it stands as it stood");
    assert_eq!(state(&first_queued[0]["task"]), "SUBMITTED");
    assert!(matches!(state(&first_working[0]["task"]), "SUBMITTED" | "WORKING"), "{first_working:?}");

    asked.task(JsonRpc, &follow_up("tck-complete-task-1", "done", &blocked));
    cancel(&worked, &working);
    for (agent, task, first, streams, end) in [
        (&asked, &blocked, first_blocked, of_blocked, "COMPLETED"),
        (&worked, &working, first_working, of_working, "CANCELED"),
        (&worked, &queued, first_queued, of_queued, "COMPLETED"),
    ] {
        for (first, stream) in first.into_iter().zip(streams) {
            let events: Vec<Value> = [first].into_iter().chain(stream.rest()).collect();
            let stored = agent.get(HttpJson, task);
            assert_eq!(state(&stored), end, "{:?}", story(&events));
            let (told, made) = settled(&folded(&events));
            assert_eq!((&told["status"], made), (&stored["status"], settled(&stored).1), "{:?}", story(&events));
        }
    }
}

#[test]
fn streams_and_waits_end_when_the_daemon_drains() {
    let world = plain(&["w", "v"]);
    let task = at_work(&world.session("w"), "slow-1");
    let streams = BOTH.map(|binding| {
        let mut stream = world.session("w").subscribe(binding, &task);
        assert_eq!(story(&[stream.event().unwrap()]), ["task WORKING"]);
        stream
    });
    let agent = world.session("v");
    let waiting = std::thread::spawn(move || agent.task(HttpJson, &message("slow-2", "for long")));
    poll("it works", || {
        let at = world.session("v").ask(JsonRpc, "GetTask", &json!({"id": "v:slow-2"})).said;
        at.is_ok_and(|task| state(&task) == "WORKING")
    });
    // What runs may go on for a while; who listens is not kept waiting for that.
    let begun = Instant::now();
    let pid = rustix::process::Pid::from_raw(world.lab[0].pid()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    for stream in streams {
        // A good end, and no event that is none.
        assert!(stream.rest().iter().all(|event| event.get("statusUpdate").is_some()));
    }
    let task = waiting.join().unwrap();
    assert_eq!(state(&task), "WORKING", "as it stood");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

/// One connection for many requests, also after a stream on it has come to its end.
#[test]
fn a_connection_is_good_for_more_after_a_stream() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for (n, binding) in BOTH.into_iter().enumerate() {
        let stream = agent.asked(binding, "SendStreamingMessage", &message(&format!("tck-stream-001-{n}"), "go"));
        let get = agent.asked(JsonRpc, "GetTask", &json!({"id": format!("w:tck-stream-001-{n}")}));
        let host = agent.to.to_string();
        // The second is written before the first is answered.
        let mut to = crate::http::connect(agent.from, agent.to).unwrap();
        let both = stream.bytes(&host, "") + &get.bytes(&host, "Connection: close\r\n");
        to.write_all(both.as_bytes()).unwrap();
        let mut raw = String::new();
        to.read_to_string(&mut raw).unwrap();
        let (first, second) = raw.split_once("\r\n0\r\n\r\n").unwrap_or_else(|| panic!("no end: {raw}"));
        assert!(first.contains("text/event-stream") && first.contains("TASK_STATE_COMPLETED"), "{first}");
        let body: Value = serde_json::from_str(second.split_once("\r\n\r\n").unwrap().1).unwrap();
        assert_eq!(state(&body["result"]), "COMPLETED", "{second}");
    }
}
