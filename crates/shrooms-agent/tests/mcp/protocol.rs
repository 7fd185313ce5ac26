//! What clients learn before they call a tool, in both revisions of the protocol, and what a server
//! that is spoken to badly does.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, Handshake, Stateless, packages};
use crate::lab::{Lab, PROGRAM, poll};
use crate::lines::Lines;

/// The tools as models see them: a change here is a change of what every session reads.
const TOOLS: &str = "tests/mcp/tools.json";

/// The stateless revision's marks of a request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "lines", "version": "1"},
    })
}

#[test]
fn the_tools_are_as_recorded_in_both_revisions() {
    let lab = Lab::idle(&["laptop"]);
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join(TOOLS);
    for (dialect, version) in [(Handshake, Value::Null), (Stateless, json!("2026-07-28"))] {
        let Some(mut client) = Client::of("the_tools_are_as_recorded_in_both_revisions", dialect, &lab[0]) else {
            return;
        };
        assert_eq!(client.ready["ready"]["name"], "shrooms", "{}", client.ready);
        assert_eq!(client.ready["protocol"], version, "{}", client.ready);
        assert_eq!(client.ready["capabilities"], json!({"tools": {}}), "{}", client.ready);
        let instructions = client.ready["instructions"].as_str().unwrap();
        assert!(instructions.len() < 1000 && instructions.contains("task_update"), "{instructions}");
        let tools = format!("{:#}\n", client.tools());
        let known = std::fs::read_to_string(&recorded).unwrap_or_default();
        if std::env::var_os("SHROOMS_RECORD").is_some() {
            std::fs::write(&recorded, &tools).unwrap();
        } else {
            assert_eq!(tools, known, "if it is meant so: SHROOMS_RECORD=1 cargo test -p shrooms-agent --test mcp");
        }
        for tool in client.tools().as_array().unwrap() {
            let reads = matches!(tool["name"].as_str().unwrap(), "list_agents" | "task_status");
            assert_eq!(tool["annotations"]["readOnlyHint"], reads, "{tool}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        }
    }
}

#[test]
fn the_inspector_lists_and_calls() {
    let test = "the_inspector_lists_and_calls";
    let lab = Lab::of(&["laptop"]);
    lab[0].add("tests", lab.dir.path(), &["cat"]);
    let folder = match packages() {
        Ok(folder) => folder,
        Err(why) => return println!("SKIPPED: {test}: {why}"),
    };
    let inspect = |words: &[&str]| -> Value {
        let output = Command::new("node")
            .arg(folder.join("node_modules/.bin/mcp-inspector"))
            .args(["--cli", PROGRAM, "mcp"])
            .args(words)
            .env("SHROOMS_AGENT_STATE", &lab[0].state)
            .output()
            .unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{}", String::from_utf8_lossy(&output.stderr)))
    };
    let names: Vec<String> = inspect(&["--method", "tools/list"])["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["list_agents", "ask_agent", "task_status", "task_update", "task_ack"]);
    let call = ["--method", "tools/call", "--tool-name", "ask_agent", "--tool-arg", "to=laptop/tests", "text=hello"];
    let answer = inspect(&call);
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("task laptop/tests:cli-") && text.ends_with(": completed\n\nhello\n"), "{answer}");
}

#[test]
fn the_first_answer_is_quick_needs_no_daemon_and_does_nothing() {
    let lab = Lab::idle(&["laptop"]);
    let begun = Instant::now();
    let mut server = Lines::of(&lab[0], &[]);
    let said = server.initialize("2025-06-18");
    let first = begun.elapsed();
    println!("start to first answer: {first:?}");
    assert!(first < Duration::from_secs(5), "{first:?}");
    assert_eq!(said["protocolVersion"], "2025-06-18");
    assert_eq!(server.request(1, "tools/list", &json!({}))["result"]["tools"].as_array().unwrap().len(), 5);
    assert!(!lab[0].state.exists(), "it makes nothing");
    let (code, err, rest) = server.end();
    assert_eq!((code, err.as_str(), rest.as_str()), (Some(0), "", ""));
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    let lab = Lab::idle(&["laptop"]);
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        assert_eq!(Lines::of(&lab[0], &[]).initialize(asked)["protocolVersion"], spoken, "{asked}");
    }
}

#[test]
fn without_a_handshake_each_request_says_its_revision() {
    let lab = Lab::of(&["laptop"]);
    lab[0].add("tests", lab.dir.path(), &["cat"]);
    let mut server = Lines::of(&lab[0], &[]);
    let found = server.request(1, "server/discover", &json!({"_meta": meta()}));
    assert!(found["result"]["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")), "{found}");
    let params = json!({"name": "ask_agent", "arguments": {"to": "tests", "text": "hi"}, "_meta": meta()});
    let answer = server.request(2, "tools/call", &params);
    assert_eq!((&answer["result"]["isError"], &answer["result"]["resultType"]), (&json!(false), &json!("complete")));
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().ends_with(": completed\n\nhi\n"), "{answer}");
    let without = json!({"name": "list_agents", "arguments": {}});
    assert!(server.request(3, "tools/call", &without)["error"]["code"].is_i64(), "it must say its revision");
    assert_eq!(server.request(4, "tools/list", &json!({"_meta": meta()}))["error"], Value::Null);
}

#[test]
fn stdout_carries_the_protocol_alone_whatever_comes() {
    let lab = Lab::of(&["laptop"]);
    for (log, silent) in [("", true), ("info", true), ("debug", false)] {
        let mut server = Lines::of(&lab[0], &[("SHROOMS_AGENT_LOG", log)]);
        server.initialize("2025-11-25");
        server.write("this is no JSON");
        server.write("");
        server.write(r#"{"jsonrpc": "2.0", "method": "notifications/whatever", "params": {"a": 1}}"#);
        let unknown = server.request(1, "resources/everything", &json!({}));
        assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
        let agents = server.request(2, "tools/call", &json!({"name": "list_agents"}));
        assert_eq!(agents["result"]["isError"], false, "{agents}");
        server.write(r#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}"#);
        assert_eq!(server.request(3, "ping", &json!({}))["result"], json!({}));
        let (code, err, rest) = server.end();
        assert_eq!((code, rest.as_str(), err.is_empty()), (Some(0), "", silent), "{log}: {err}");
    }
}

#[test]
fn what_is_no_client_ends_it_with_what_to_do() {
    let lab = Lab::idle(&["laptop"]);
    let mut server = Lines::of(&lab[0], &[]);
    server.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
    let (code, err, rest) = server.end();
    assert_eq!((code, rest.as_str()), (Some(1), ""));
    assert!(err.contains("no MCP client is at stdin") && err.contains("hint: "), "{err}");
    // Somebody who looks in and goes.
    assert_eq!(Lines::of(&lab[0], &[]).end(), (Some(0), String::new(), String::new()));
}

#[test]
fn a_client_that_goes_ends_the_server_at_once_and_no_task() {
    let lab = Lab::of(&["laptop"]);
    let go = lab.path("go");
    let body = format!("while [ ! -e '{}' ]; do sleep 0.02; done; echo done", go.display());
    lab[0].add("slow", lab.dir.path(), &[&lab.script("slow.sh", &body)]);
    let mut server = Lines::of(&lab[0], &[]);
    server.initialize("2025-11-25");
    let call = json!({"name": "ask_agent", "arguments": {"to": "slow", "text": "x", "title": "Slow"}});
    server.write(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).to_string());
    let open = || lab[0].get("/v1/tasks?state=working").json()["tasks"].as_array().unwrap().clone();
    poll("it works", || !open().is_empty());
    let begun = Instant::now();
    let (code, _, rest) = server.end();
    assert!(code == Some(0) && begun.elapsed() < Duration::from_secs(3), "{code:?} {:?}", begun.elapsed());
    assert!(rest.contains("task laptop/slow:cli-"), "what was known is still said: {rest}");
    std::fs::write(&go, "").unwrap();
    let id = open()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(crate::lab::state(&lab[0].outcome(&id)), "completed");
}
