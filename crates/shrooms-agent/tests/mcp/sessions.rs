//! As a session: a command whose client starts the server inside of it. What it asks is its own,
//! and it finishes its own tasks.

use serde_json::{Value, json};

use crate::client::{driver, packages};
use crate::lab::{Lab, PROGRAM, poll, state, text};

/// Runs the orders in a client inside a task of laptop/build; what the client said, and the task.
fn inside(lab: &Lab, env: &str, orders: &[Value]) -> Result<(Vec<Value>, Value), String> {
    let folder = packages()?;
    let (out, file) = (lab.path("said"), lab.path("orders"));
    let lines: String = orders.iter().map(|order| format!("{order}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    // The words of the client are the result, so that a failure shows them.
    let body = format!(
        "sed \"s|@TASK@|$SHROOMS_TASK|\" '{}' | {env} node '{}' '{}' handshake {PROGRAM} mcp --start-within 1 > '{}'\n\
         cat '{}'",
        file.display(),
        driver().display(),
        folder.display(),
        out.display(),
        out.display()
    );
    lab[0].add("build", lab.dir.path(), &[&lab.script("build.sh", &body)]);
    lab[0].cli(&["a2a", "send", "--id", "t", "--title", "Outer", "build", "go on"]);
    let task = lab[0].outcome("build:t");
    let mut said: Vec<Value> = Vec::new();
    let calls = orders.iter().filter(|order| order["op"] == "call").count();
    poll("every call has its result", || {
        said = lab.lines("said").iter().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert!(!said.iter().any(|event| event.get("broken").is_some()), "{said:?}");
        said.iter().filter(|event| event.get("result").is_some()).count() == calls
    });
    Ok((said, task))
}

fn call(key: u64, name: &str, given: Value) -> [Value; 2] {
    [json!({"op": "call", "key": key, "name": name, "arguments": given}), json!({"op": "await", "of": key})]
}

/// The text that the call came to.
fn said(events: &[Value], key: u64) -> (String, bool) {
    let event = events.iter().find(|event| event["key"] == key).unwrap_or_else(|| panic!("{key}: {events:?}"));
    let result = &event["result"];
    (result["content"][0]["text"].as_str().unwrap_or_default().to_owned(), result["isError"] == true)
}

#[test]
fn a_session_asks_in_its_own_name_and_finishes_its_own_task() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    lab[1].add("tests", lab.dir.path(), &["sh", "-c", "echo \"for $SHROOMS_SENDER\""]);
    lab[1].add("idle", lab.dir.path(), &["true"]);
    lab[1].cli(&["session", "stop", "idle"]);
    // The owner's own ask is none of the session's.
    lab[0].cli(&["a2a", "send", "--id", "owners", "homeserver/idle", "wait"]);
    let orders: Vec<Value> = [
        call(1, "ask_agent", json!({"to": "homeserver/tests", "text": "run them"})),
        call(2, "ask_agent", json!({"to": "homeserver/idle", "text": "wait", "title": "Mine"})),
        call(3, "task_status", json!({})),
        call(4, "task_update", json!({"task": "homeserver/idle:owners", "state": "done", "summary": "x"})),
        call(5, "task_update", json!({"task": "@TASK@", "state": "done", "summary": "all well"})),
        call(6, "task_update", json!({"task": "@TASK@", "state": "failed", "summary": "no"})),
    ]
    .concat();
    let (events, task) = match inside(&lab, "", &orders) {
        Ok(done) => done,
        Err(why) => return println!("SKIPPED: a_session_asks_in_its_own_name_and_finishes_its_own_task: {why}"),
    };
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "all well"), "{events:?}");
    let (asked, _) = said(&events, 1);
    assert!(asked.ends_with(": completed\n\nfor laptop.home (laptop/build)\n"), "{asked}");
    let (waits, _) = said(&events, 2);
    assert!(waits.contains(": submitted\n(queued, place 2)\n(not started within 1 s; follow it"), "{waits}");
    let (all, _) = said(&events, 3);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!((lines[0], lines[2], lines[3]), ("asked by you: 1", "", "given to you: 1"), "{all}");
    assert!(lines[1].starts_with("homeserver/idle:cli-") && lines[1].ends_with("\tsubmitted\tMine"), "{all}");
    assert_eq!(lines[4], "build:t\tworking\tfrom the owner\tOuter", "{all}");
    let (elsewhere, failed) = said(&events, 4);
    assert!(failed && elsewhere.contains("own machine"), "{elsewhere}");
    assert_eq!(said(&events, 5), ("task build:t: completed\n\nall well\n".into(), false));
    assert!(said(&events, 6).1);
}

#[test]
fn a_pass_that_is_not_the_live_sessions_is_refused_with_the_reason() {
    let lab = Lab::of(&["laptop"]);
    let orders = call(1, "list_agents", json!({}));
    match inside(&lab, "SHROOMS_AGENT_PASS=0000", &orders) {
        Ok((events, _)) => {
            let (text, failed) = said(&events, 1);
            assert!(failed && text.contains("SHROOMS_AGENT_PASS"), "{text}");
        }
        Err(why) => println!("SKIPPED: a_pass_that_is_not_the_live_sessions_is_refused_with_the_reason: {why}"),
    }
}
