//! Daemons and machines that are away: the tools say so and what to do, the server stays up, and
//! what was asked is neither lost nor done twice.

use serde_json::json;

use crate::client::{Client, Handshake};
use crate::lab::{Lab, poll, state};

#[test]
fn without_a_daemon_the_tools_say_how_to_start_it_and_work_when_it_is_there() {
    let test = "without_a_daemon_the_tools_say_how_to_start_it_and_work_when_it_is_there";
    let mut lab = Lab::idle(&["laptop"]);
    let Some(mut client) = Client::of(test, Handshake, &lab[0]) else { return };
    for (tool, given) in [
        ("list_agents", json!({})),
        ("ask_agent", json!({"to": "tests", "text": "x"})),
        ("task_status", json!({})),
        ("task_update", json!({"task": "tests:m", "state": "done", "summary": "x"})),
        ("task_ack", json!({"task": "tests:m"})),
    ] {
        let said = client.ask(tool, given);
        assert!(said.error && said.text.starts_with("no daemon answers at "), "{tool}: {said:?}");
        assert!(said.text.contains("start it with: shrooms-agent serve"), "{tool}: {said:?}");
    }
    lab[0].start();
    let none = client.good("list_agents", json!({}));
    assert!(none.text.starts_with("no agents yet; a person adds one with: shrooms-agent session add"), "{none:?}");
    lab[0].add("tests", lab.dir.path(), &["cat"]);
    assert_eq!(client.good("ask_agent", json!({"to": "tests", "text": "x"})).words(), "x\n");
    // Between two calls.
    lab[0].kill();
    assert!(client.ask("list_agents", json!({})).error);
    lab[0].start();
    assert!(client.good("list_agents", json!({})).text.starts_with("laptop/tests\t"));
}

#[test]
fn a_daemon_that_is_restarted_while_a_call_waits_ends_no_wait() {
    let test = "a_daemon_that_is_restarted_while_a_call_waits_ends_no_wait";
    let mut lab = Lab::of(&["laptop", "homeserver"]);
    let go = lab.path("go");
    let body = format!("while [ ! -e '{}' ]; do sleep 0.02; done; echo done", go.display());
    lab[1].add("slow", lab.dir.path(), &[&lab.script("slow.sh", &body)]);
    let Some(mut client) = Client::of(test, Handshake, &lab[0]) else { return };
    let key = client.call("ask_agent", json!({"to": "homeserver/slow", "text": "one"}));
    let working = |lab: &Lab| lab[1].get("/v1/tasks?state=working").json()["tasks"].as_array().unwrap().len() == 1;
    poll("it works", || working(&lab));
    lab[0].kill();
    lab[0].start();
    std::fs::write(&go, "").unwrap();
    let said = client.result(key);
    assert_eq!((said.error, said.words()), (false, "done\n"), "{said:?}");
}

#[test]
fn what_is_asked_of_a_machine_that_is_away_is_sent_when_it_returns() {
    let test = "what_is_asked_of_a_machine_that_is_away_is_sent_when_it_returns";
    let mut lab = Lab::of(&["laptop", "homeserver"]);
    lab[1].add("tests", lab.dir.path(), &["cat"]);
    lab[1].kill();
    let Some(mut client) = Client::with(test, Handshake, &lab[0], &["--start-within", "1"]) else { return };
    let list = client.good("list_agents", json!({}));
    assert!(list.text.contains("(homeserver is unreachable"), "{list:?}");
    let said = client.good("ask_agent", json!({"to": "homeserver/tests", "text": "x"}));
    let task = said.task();
    assert!(
        said.text.starts_with(&format!("task {task}: submitted\n(not sent yet)\n(not started within 1 s; ")),
        "{said:?}"
    );
    assert!(said.words().contains("homeserver is away"), "{said:?}");
    // The same again, while it is on its way, is the same.
    let again = client.good("ask_agent", json!({"to": "homeserver/tests", "text": "x", "wait": false}));
    assert_eq!(again.task(), task);
    assert!(client.good("task_status", json!({})).text.contains("\tunsent\tx\n"));
    lab[1].start();
    assert_eq!(state(&lab[0].outcome(&task)), "completed");
    let status = client.good("task_status", json!({"task": task}));
    assert_eq!(status.words(), "x\n");
    assert_eq!(lab[1].get("/v1/tasks").json()["tasks"].as_array().unwrap().len(), 1);
}
