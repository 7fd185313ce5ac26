//! Long waits: a sign of life every fifteen seconds, so that no proxy and no client library gives up.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{SOON, poll};
use crate::wire::{Agent, BOTH, Binding, JsonRpc, message, state};
use crate::world::plain;

/// Between two signs of life, with some room for a busy machine.
const ALIVE: Duration = Duration::from_secs(16);

#[test]
fn a_long_wait_and_a_silent_stream_show_signs_of_life() {
    let world = plain(&["w", "v"]);
    let sessions = ["w", "v"].map(|name| world.session(name));
    let alive = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = BOTH
        .into_iter()
        .zip(sessions)
        .flat_map(|(binding, agent)| {
            let (other, seen, heard) = (agent.clone(), alive.clone(), alive.clone());
            [
                std::thread::spawn(move || waits(binding, &agent, &seen)),
                std::thread::spawn(move || listens(binding, &other, &heard)),
            ]
        })
        .collect();
    poll("all four have shown one", || {
        threads.iter().any(std::thread::JoinHandle::is_finished) || alive.load(Ordering::SeqCst) == 4
    });
    for name in ["w", "v"] {
        world.session(name).good(JsonRpc, "CancelTask", &json!({"id": format!("{name}:slow-1")}));
    }
    for thread in threads {
        thread.join().unwrap();
    }
}

fn id(agent: &Agent) -> Value {
    json!({"id": format!("{}:slow-1", agent.path.trim_start_matches("/a2a/"))})
}

/// Reads the answer of a waiting send by hand: its head at once, white space, and then the task.
fn waits(binding: Binding, agent: &Agent, alive: &AtomicUsize) {
    let begun = Instant::now();
    let mut to = crate::http::connect(agent.from, agent.to).unwrap();
    to.set_read_timeout(Some(SOON)).unwrap();
    let asked = agent.asked(binding, "SendMessage", &message("slow-1", "for long"));
    to.write_all(asked.bytes(&agent.to.to_string(), "Connection: close\r\n").as_bytes()).unwrap();
    let mut from = BufReader::new(to);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(from.read_line(&mut head).unwrap() > 0, "{head}");
    }
    assert!(head.starts_with("HTTP/1.1 200 ") && begun.elapsed() < Duration::from_secs(5), "{head}");
    let begun = Instant::now();
    // Chunks: their size, and what is in them.
    let mut line = || {
        let mut line = String::new();
        from.read_line(&mut line).unwrap();
        line.trim_end_matches("\r\n").to_string()
    };
    assert_eq!((line(), line()), ("1".into(), " ".into()), "white space");
    assert!(begun.elapsed() < ALIVE, "{:?}", begun.elapsed());
    alive.fetch_add(1, Ordering::SeqCst);
    let mut rest = String::new();
    from.read_to_string(&mut rest).unwrap();
    let body = rest.split("\r\n").nth(1).unwrap();
    // What a client reads is the white space and this.
    let body: Value = serde_json::from_str(&format!(" {body}")).unwrap();
    let task = if binding == JsonRpc { &body["result"]["task"] } else { &body["task"] };
    assert_eq!(state(task), "CANCELED", "{body}");
}

/// A stream of the same task, of which nothing is heard.
fn listens(binding: Binding, agent: &Agent, alive: &AtomicUsize) {
    let at = id(agent);
    poll("it says that it works", || {
        let task = agent.ask(JsonRpc, "GetTask", &at).said;
        task.is_ok_and(|task| task["status"]["message"]["parts"][0]["text"] == "Working")
    });
    let begun = Instant::now();
    let mut stream = agent.stream(binding, "SubscribeToTask", &at);
    assert_eq!(state(&stream.event().unwrap()["task"]), "WORKING");
    let comment = stream.next().unwrap().unwrap_err();
    assert!(!comment.is_empty() && begun.elapsed() < ALIVE, "{comment}: {:?}", begun.elapsed());
    alive.fetch_add(1, Ordering::SeqCst);
    assert!(stream.rest().last().is_some_and(|event| state(&event["statusUpdate"]) == "CANCELED"));
}
