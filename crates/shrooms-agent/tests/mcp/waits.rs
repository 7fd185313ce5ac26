//! Waiting: it blocks nothing, says how it goes, can be broken off, and ends early where a model
//! would only stand still. The task goes on in any case.

use std::path::PathBuf;

use serde_json::json;

use crate::client::{Client, Handshake, Stateless};
use crate::lab::{Lab, poll, state};

/// Adds a session to the machine that works until the file is there.
fn add_slow(lab: &Lab, machine: usize) -> PathBuf {
    let go = lab.path("go");
    let body = format!("while [ ! -e '{}' ]; do sleep 0.02; done; echo done", go.display());
    lab[machine].add("slow", lab.dir.path(), &[&lab.script("slow.sh", &body)]);
    go
}

#[test]
fn a_waiting_ask_blocks_nothing_and_says_how_it_goes() {
    let test = "a_waiting_ask_blocks_nothing_and_says_how_it_goes";
    for dialect in [Handshake, Stateless] {
        let lab = Lab::of(&["laptop", "homeserver"]);
        let go = add_slow(&lab, 1);
        let Some(mut client) = Client::of(test, dialect, &lab[0]) else { return };
        let one = client.call_with_progress("ask_agent", json!({"to": "homeserver/slow", "text": "one"}));
        poll("it works", || state_of(&lab, "one") == "working");
        let two = client.call_with_progress("ask_agent", json!({"to": "homeserver/slow", "text": "two"}));
        // Both wait; others are answered meanwhile.
        assert!(client.good("list_agents", json!({})).text.contains("command, working"));
        assert!(client.good("task_status", json!({})).text.starts_with("asked by you: "));
        let (mut last, mut queued) = (-1.0, 0);
        while queued < 2 {
            let (progress, message) = client.progress(two);
            assert!(progress > last && message.contains(", waiting for "), "{progress} after {last}: {message}");
            last = progress;
            queued += usize::from(message.starts_with("submitted, queued, place 1, waiting for "));
        }
        let mut seen = client.progress(one).1;
        while !seen.starts_with("working") {
            seen = client.progress(one).1;
        }
        std::fs::write(&go, "").unwrap();
        for key in [one, two] {
            let said = client.result(key);
            assert_eq!((said.state().as_str(), said.words()), ("completed", "done\n"), "{said:?}");
        }
    }
}

/// The state of the task of homeserver/slow with this request.
fn state_of(lab: &Lab, request: &str) -> String {
    let asks = lab[0].get("/v1/asks").json();
    let ask = asks["asks"].as_array().unwrap().iter().find(|ask| ask["text"] == request).cloned();
    let Some(task) = ask.and_then(|ask| ask["task"].as_str().map(str::to_owned)) else { return String::new() };
    state(&lab[0].task(&task))
}

#[test]
fn a_call_that_is_broken_off_stops_the_waiting_and_not_the_task() {
    let test = "a_call_that_is_broken_off_stops_the_waiting_and_not_the_task";
    for dialect in [Handshake, Stateless] {
        let lab = Lab::of(&["laptop", "homeserver"]);
        let go = add_slow(&lab, 1);
        let Some(mut client) = Client::of(test, dialect, &lab[0]) else { return };
        let key = client.call("ask_agent", json!({"to": "homeserver/slow", "text": "one"}));
        poll("it works", || state_of(&lab, "one") == "working");
        let error = client.cancel(key);
        assert!(error.contains("not needed any more"), "{error}");
        let open = client.good("task_status", json!({}));
        assert!(open.text.starts_with("asked by you: 1\nhomeserver/slow:"), "{open:?}");
        std::fs::write(&go, "").unwrap();
        let task = open.text.lines().nth(1).unwrap().split('\t').next().unwrap().to_owned();
        assert_eq!(state(&lab[0].outcome(&task)), "completed");
        assert_eq!(client.good("task_status", json!({"task": task})).words(), "done\n");
    }
}

#[test]
fn a_wait_ends_early_for_what_does_not_start_and_late_for_what_does() {
    let test = "a_wait_ends_early_for_what_does_not_start_and_late_for_what_does";
    let lab = Lab::of(&["laptop", "homeserver"]);
    let go = add_slow(&lab, 1);
    let flags = ["--start-within", "1", "--wait-at-most", "4"];
    let Some(mut client) = Client::with(test, Handshake, &lab[0], &flags) else { return };
    let one = client.call("ask_agent", json!({"to": "homeserver/slow", "text": "one"}));
    poll("it works", || state_of(&lab, "one") == "working");
    let two = client.good("ask_agent", json!({"to": "homeserver/slow", "text": "two"}));
    let task = two.task();
    assert_eq!(
        two.text.lines().take(3).collect::<Vec<_>>(),
        [
            format!("task {task}: submitted").as_str(),
            "(queued, place 1)",
            "(not started within 1 s; follow it with task_status)"
        ],
        "{two:?}"
    );
    // What has started is waited for, though this machine was not told that it has.
    let one = client.result(one);
    assert!(one.text.contains(": working\n(no outcome within 4 s; follow it with task_status)\n"), "{one:?}");
    std::fs::write(&go, "").unwrap();
    assert_eq!(state(&lab[0].outcome(&task)), "completed");
    assert_eq!(client.good("task_status", json!({"task": task})).state(), "completed");
}
