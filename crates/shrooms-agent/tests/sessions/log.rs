//! The log of a session of Claude Code: what is said is heard as it is said, kept whole, found; and what
//! its own conversation has of it, over a restart of the daemon.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::model::{rule, say, shell};

/// What comes on a session's stream, until it holds that.
fn heard(socket: &std::path::Path, query: &str, ask: impl FnOnce(), until: &str) -> Vec<Value> {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("GET /v1/sessions/review/events{query} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut got = String::new();
    let mut piece = [0; 4_096];
    let mut more = |got: &mut String| {
        let n = stream.read(&mut piece).unwrap();
        assert!(n > 0, "the stream ended: {got}");
        got.push_str(&String::from_utf8_lossy(&piece[..n]));
    };
    while !got.contains("\r\n\r\n") {
        more(&mut got);
    }
    ask();
    while !got.contains(until) {
        more(&mut got);
    }
    got.lines().filter_map(|l| serde_json::from_str(l.strip_prefix("data: ")?).ok()).collect()
}

#[test]
fn words_are_heard_as_they_are_said_and_the_conversation_has_them_after_a_restart() {
    let test = "words_are_heard_as_they_are_said_and_the_conversation_has_them_after_a_restart";
    let Some(mut lab) = Lab::of(test, &["homeserver"]) else { return };
    lab[0].add_auto("review");
    let slowly = json!({"slow": 150});
    let long = "Once upon a time there was a Käse that nobody had ever found, and so it was looked for by all of them.";
    lab.model.rules(&[
        rule("Tell me", &[vec![slowly, say(long)]]),
        rule("And then", &[vec![shell("echo the tool says so")], vec![say("It was found.")]]),
    ]);
    let socket = lab[0].state.join("agent.sock");
    let events = heard(&socket, "", || lab[0].say("review", "Tell me a story."), "looked for by all of them.\"");
    let kinds: Vec<&str> = events.iter().map(|e| e["kind"].as_str().unwrap()).collect();
    let partial = |e: &&Value| e["kind"] == "partial";
    let pieces: Vec<&Value> = events.iter().filter(partial).collect();
    assert!(pieces.len() >= 3 && pieces.iter().all(|e| e.get("seq").is_none()), "{events:#?}");
    let said: String = pieces.iter().map(|e| e["text"].as_str().unwrap()).collect();
    assert_eq!(said, long, "all of it was heard before it was whole: {kinds:?}");
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("said", "words"), "{kinds:?}");
    assert_eq!(events.last().unwrap()["text"], long);

    lab[0].say("review", "And then?");
    poll("it is answered", || lab[0].session_log("review").iter().any(|l| l.contains("It was found.")));
    lab[0].until_session("review", "idle");
    let found = lab[0].get("/v1/sessions/review/search?q=kase%20found").json()["found"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");

    lab[0].stop();
    lab[0].start();
    let history = |query: &str| {
        let answer = lab[0].get(&format!("/v1/sessions/review/history?{query}"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    };
    let told = |history: &Value| -> Vec<(String, String)> {
        let all = history["history"].as_array().unwrap().iter();
        all.map(|h| (h["role"].as_str().unwrap().to_string(), h["text"].as_str().unwrap().to_string())).collect()
    };
    let all = history("");
    let pair = |role: &str, text: &str| (role.to_string(), text.to_string());
    let want = [
        pair("user", "Tell me a story."),
        pair("assistant", long),
        pair("user", "And then?"),
        pair("assistant", "It was found."),
    ];
    assert_eq!((told(&all), &all["next"]), (want.to_vec(), &Value::Null), "and nothing of tools");
    let last = history("limit=1");
    assert_eq!(told(&last), want[3..]);
    let before = last["next"].as_str().unwrap();
    assert_eq!(told(&history(&format!("before={before}"))), want[..3]);
    let shown = lab[0].good(&["session", "log", "review", "--earlier"]);
    assert_eq!(shown.lines().count(), 4, "{shown}");
    assert!(shown.contains("\tuser\tAnd then?\n"), "{shown}");
}
