//! The same request while it is open is the same task; what only looks like it is not.

use serde_json::json;

use crate::client::{Client, Handshake};
use crate::lab::Lab;

#[test]
fn the_same_request_while_it_is_open_is_the_same_task() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let go = lab.path("go");
    let body =
        format!("echo run >> {}; while [ ! -e '{}' ]; do sleep 0.02; done", lab.path("runs").display(), go.display());
    lab[1].add("slow", lab.dir.path(), &[&lab.script("slow.sh", &body)]);
    let test = "the_same_request_while_it_is_open_is_the_same_task";
    let Some(mut client) = Client::of(test, Handshake, &lab[0]) else { return };
    let long = |end: &str| format!("{}{end}", "ä".repeat(300));
    let ask = |text: &str, to: &str| json!({"to": to, "text": text, "wait": false});
    // At once, as a model calls in parallel.
    let keys: Vec<u64> = (0..5).map(|_| client.call("ask_agent", ask("run", "homeserver/slow"))).collect();
    let tasks: Vec<String> = keys.into_iter().map(|key| client.result(key).task()).collect();
    assert!(tasks.iter().all(|task| *task == tasks[0]), "{tasks:?}");
    // Later, and by the agent's short name.
    let again = client.good("ask_agent", ask("run", "slow"));
    assert_eq!(again.task(), tasks[0]);
    assert!(again.text.contains("(asked before, and still open: this is that task)\n"), "{again:?}");
    // Other texts are other tasks, also where they differ only at the end.
    let one = client.good("ask_agent", ask(&long("one"), "homeserver/slow")).task();
    let two = client.good("ask_agent", ask(&long("two"), "homeserver/slow")).task();
    assert_ne!(one, two);
    assert_eq!(client.good("ask_agent", ask(&long("one"), "homeserver/slow")).task(), one);
    // A second client of the same person finds it, too: after a compaction, after a restart.
    let mut other = Client::of(test, Handshake, &lab[0]).unwrap();
    assert_eq!(other.good("ask_agent", ask("run", "homeserver/slow")).task(), tasks[0]);
    let waits = other.call("ask_agent", json!({"to": "homeserver/slow", "text": "run"}));
    std::fs::write(&go, "").unwrap();
    let said = other.result(waits);
    assert_eq!((said.task(), said.state()), (tasks[0].clone(), "completed".into()));
    for task in [&one, &two] {
        assert_eq!(crate::lab::state(&lab[0].outcome(task)), "completed");
    }
    assert_eq!(lab.lines("runs").len(), 3);
    // When it has ended, the same request is a new task.
    let new = client.good("ask_agent", json!({"to": "homeserver/slow", "text": "run"}));
    assert_ne!(new.task(), tasks[0]);
    assert_eq!(lab.lines("runs").len(), 4);
}
