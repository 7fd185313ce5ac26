//! Bad input: a result that says what is wrong and what to do, never an error of the protocol.

use serde_json::{Value, json};

use crate::client::{Client, Handshake};
use crate::lab::Lab;

#[test]
fn every_bad_input_is_a_result_that_says_what_is_wrong() {
    let lab = Lab::of(&["laptop"]);
    lab[0].add("tests", lab.dir.path(), &["true"]);
    let test = "every_bad_input_is_a_result_that_says_what_is_wrong";
    let Some(mut client) = Client::of(test, Handshake, &lab[0]) else { return };
    let cases: Vec<(&str, Value, &str)> = vec![
        ("list_agents", json!({"filter": "x"}), "unknown field `filter`, expected `query` or `limit`"),
        ("list_agents", json!({"limit": 0}), "limit: must be from 1 to 200, not 0"),
        ("list_agents", json!({"limit": 201}), "limit: must be from 1 to 200, not 201"),
        ("list_agents", json!({"limit": "many"}), "limit: invalid type: string \"many\""),
        ("list_agents", json!({"limit": -1}), "limit: invalid value"),
        ("ask_agent", json!({}), "missing field `text`"),
        ("ask_agent", json!({"to": "tests", "text": " "}), "text: is empty"),
        ("ask_agent", json!({"text": "x"}), "to: is missing; list_agents shows the agents"),
        ("ask_agent", json!({"to": "", "text": "x", "task": " "}), "to: is missing"),
        ("ask_agent", json!({"to": "tests", "text": "x", "budget": 1}), "unknown field `budget`"),
        ("ask_agent", json!({"to": "tests", "text": "x", "wait": "yes"}), "wait: invalid type"),
        ("ask_agent", json!({"to": ["tests"], "text": "x"}), "to: invalid type"),
        ("ask_agent", json!({"to": "nothing here", "text": "x"}), "to: "),
        ("ask_agent", json!({"to": "tets", "text": "x"}), "did you mean"),
        ("ask_agent", json!({"to": "laptop/tets", "text": "x"}), "no session 'tets'"),
        ("ask_agent", json!({"to": "desk/tests", "text": "x"}), "desk"),
        (
            "ask_agent",
            json!({"task": "tests:m", "text": "x", "fresh": true}),
            "fresh, context and require are for a new task",
        ),
        ("ask_agent", json!({"task": "tests:m", "text": "x", "title": "t"}), "leave out task"),
        ("ask_agent", json!({"task": "laptop/tests:m", "to": "build", "text": "x"}), "is not the agent of task"),
        ("ask_agent", json!({"task": "tests", "text": "x"}), "SESSION:MESSAGE-ID"),
        ("ask_agent", json!({"task": "tests:none", "text": "x"}), "tests:none"),
        ("task_status", json!({"task": "no such"}), "task: "),
        ("task_status", json!({"task": "tests:none"}), "no task 'tests:none'"),
        ("task_status", json!({"id": "tests:none"}), "unknown field `id`, expected `task`"),
        ("task_status", json!({"task": 7}), "task: invalid type"),
        ("task_update", json!({"task": "tests:m", "state": "done"}), "missing field `summary`"),
        (
            "task_update",
            json!({"task": "tests:m", "state": "gone", "summary": "x"}),
            "unknown variant `gone`, expected",
        ),
        ("task_update", json!({"task": "tests:none", "state": "done", "summary": "x"}), "no task 'tests:none'"),
        ("task_update", json!({"task": "desk/tests:m", "state": "done", "summary": "x"}), "desk"),
        ("task_ack", json!({}), "missing field `task`"),
        ("task_ack", json!({"task": "tests:none"}), "no task 'tests:none'"),
        ("task_ack", json!({"task": "../..:x"}), "no "),
        ("send_mail", json!({}), "there are list_agents, ask_agent, task_status, task_update, task_ack"),
    ];
    let keys: Vec<u64> = cases.iter().map(|(tool, given, _)| client.call(tool, given.clone())).collect();
    for ((tool, given, part), key) in cases.iter().zip(keys) {
        let said = client.result(key);
        assert!(said.error && said.text.contains(part), "{tool} {given}: {said:?}");
    }
    assert_eq!(lab[0].get("/v1/tasks").json()["tasks"], json!([]), "nothing was asked");
    // Nothing that a model writes for "not given" is wrong.
    let good = json!({"to": "tests", "text": "x", "title": "", "task": null, "context": "", "fresh": null});
    assert_eq!(client.good("ask_agent", good).state(), "completed");
}
