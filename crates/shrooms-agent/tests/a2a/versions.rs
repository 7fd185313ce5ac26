//! Versions and extensions (specification 3.6, 3.2.6): what is spoken, what is refused knowingly, and
//! that both bindings say the same.

use serde_json::{Value, json};

use crate::shape::{self, check};
use crate::wire::{Asked, BOTH, JsonRpc, message};
use crate::world::plain;

const EXTENSION: &str = "https://github.com/vpavlin/shrooms/blob/master/docs/a2a-tasks.md";

/// The request with this version in its header and in its query; `None` leaves it out.
fn of_version(asked: Asked, header: Option<&str>, query: Option<&str>) -> Asked {
    let mut asked = asked.without("A2A-Version");
    if let Some(version) = header {
        asked = asked.header("a2a-version", version);
    }
    if let Some(version) = query {
        let mark = if asked.target.contains('?') { '&' } else { '?' };
        asked.target.push_str(&format!("{mark}A2A-Version={version}"));
    }
    asked
}

#[test]
fn a_version_is_spoken_exactly_or_refused_on_every_operation() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    let operations = [
        ("GetTask", json!({"id": "w:none"}), Some("TASK_NOT_FOUND")),
        ("ListTasks", json!({}), None),
        ("CancelTask", json!({"id": "w:none"}), Some("TASK_NOT_FOUND")),
        ("SubscribeToTask", json!({"id": "w:none"}), Some("TASK_NOT_FOUND")),
        ("SendMessage", json!({}), Some("INVALID_PARAMS")),
    ];
    let spoken = [
        (Some("1.0"), None),
        (Some("1.0.5"), None),
        (None, Some("1.0")),
        (Some(""), Some("1.0")),
        // Missing: on the mesh a method of a 1.0 name, and HTTP+JSON, are 1.0.
        (None, None),
        (Some(""), None),
        (Some(""), Some("")),
        // The header counts.
        (Some("1.0"), Some("2.0")),
    ];
    let refused = [
        (Some("1"), None),
        (Some("1.7"), None),
        (Some("1.7"), Some("1.0")),
        (Some("2.0"), None),
        (Some("0.3"), None),
        (Some("0.3.0"), None),
        (Some("0.2"), None),
        (Some("v1.0"), None),
        (Some("1.0, 0.3"), None),
        (None, Some("1.7")),
        (None, Some("0.3")),
    ];
    for binding in BOTH {
        for (method, params, reason) in &operations {
            let asked = agent.asked(binding, method, params);
            for (header, query) in spoken {
                let said = agent.put(binding, &of_version(asked.clone(), header, query)).said;
                assert_eq!(said.err().map(|f| f.reason).as_deref(), *reason, "{method} {header:?} {query:?}");
            }
            for (header, query) in refused {
                let fault = agent.put(binding, &of_version(asked.clone(), header, query)).fault();
                let code = if binding == JsonRpc { -32009 } else { 400 };
                assert_eq!(
                    (fault.code, fault.reason.as_str()),
                    (code, "VERSION_NOT_SUPPORTED"),
                    "{header:?} {query:?}"
                );
                assert_eq!(fault.metadata, json!({"supportedVersions": "1.0"}));
            }
        }
        // A stream that is refused is none.
        let asked = agent.asked(binding, "SendStreamingMessage", &message("tck-complete-task-1", "hi"));
        let fault = agent.open_with(binding, &asked.header("A2A-Version", "1.7")).err().unwrap();
        assert_eq!(fault.reason, "VERSION_NOT_SUPPORTED");
    }
    assert_eq!(agent.good(JsonRpc, "ListTasks", &json!({}))["totalSize"], 0, "nothing of this made a task");
}

#[test]
fn a_name_of_0_3_is_told_the_name_of_1_0_or_that_the_dialect_is_not_spoken() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for (old, new) in [
        ("message/send", "SendMessage"),
        ("message/stream", "SendStreamingMessage"),
        ("tasks/get", "GetTask"),
        ("tasks/cancel", "CancelTask"),
        ("tasks/resubscribe", "SubscribeToTask"),
        ("tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig"),
        ("agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"),
    ] {
        let asked = agent.asked(JsonRpc, old, &json!({}));
        let fault = agent.put(JsonRpc, &asked).fault();
        assert_eq!((fault.code, fault.reason.as_str()), (-32601, "METHOD_NOT_FOUND"), "{old}");
        assert!(fault.message.contains(new), "{}", fault.message);
        for version in [None, Some("0.3"), Some("0.3.0")] {
            let fault = agent.put(JsonRpc, &of_version(asked.clone(), version, None)).fault();
            assert_eq!((fault.code, fault.reason.as_str()), (-32009, "VERSION_NOT_SUPPORTED"), "{old} {version:?}");
        }
    }
}

#[test]
fn a_card_is_the_same_for_every_version() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for path in ["/.well-known/agent-card.json", "/a2a/w/.well-known/agent-card.json"] {
        let cards: Vec<Value> = [None, Some("1.0"), Some("0.3"), Some("99.0")]
            .into_iter()
            .map(|version| {
                let answer = agent.exchange(&of_version(Asked::new("GET", path, ""), version, None));
                assert_eq!(answer.status, 200, "{path} {version:?}");
                answer.json()
            })
            .collect();
        check(&shape::CARD, &cards[0]);
        assert!(cards.iter().all(|card| *card == cards[0]), "{path}");
    }
}

#[test]
fn extensions_that_are_known_are_echoed_and_others_passed_over() {
    let world = plain(&["w"]);
    let agent = world.session("w");
    for binding in BOTH {
        let asked = agent.asked(binding, "ListTasks", &json!({}));
        for (listed, echoed) in [
            (vec![], None),
            (vec!["urn:example:a,urn:example:b"], None),
            (vec![EXTENSION], Some(EXTENSION)),
            // Values count by case, and by the whole of them.
            (vec![&EXTENSION.to_uppercase()[..], "docs/a2a-tasks.md"], None),
        ] {
            let mut asked = asked.clone();
            for uri in &listed {
                asked.headers.push(("A2A-Extensions", (*uri).to_string()));
            }
            let reply = agent.put(binding, &asked);
            assert_eq!(reply.header("a2a-extensions"), echoed, "{listed:?}");
            reply.good();
        }
        // In one field or in several, among others.
        let asked = asked
            .header("A2A-Extensions", format!("urn:example:a , {EXTENSION}"))
            .header("X-A2A-Extensions", "urn:example:c");
        assert_eq!(agent.put(binding, &asked).header("a2a-extensions"), Some(EXTENSION));
        // Also beside a stream and beside what is refused.
        let asked = agent.asked(binding, "GetTask", &json!({"id": "w:none"})).header("A2A-Extensions", EXTENSION);
        let reply = agent.put(binding, &asked);
        assert_eq!(reply.header("a2a-extensions"), Some(EXTENSION));
        assert_eq!(reply.fault().reason, "TASK_NOT_FOUND");
        let params = message(&format!("tck-complete-task-{binding:?}"), "hi");
        let asked = agent.asked(binding, "SendStreamingMessage", &params).header("A2A-Extensions", EXTENSION);
        let stream = agent.open_with(binding, &asked).unwrap();
        assert_eq!(crate::wire::header(&stream.head, "a2a-extensions"), Some(EXTENSION));
    }
}
