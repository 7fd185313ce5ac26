//! Many at once, with readers that are slow or gone: the card still answers, memory is bounded, all
//! comes to its end, and nothing is left.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http;
use crate::lab::{Machine, SOON, poll};
use crate::wire::{Agent, Asked, BOTH, Binding, HttpJson, JsonRpc, message, state};
use crate::world::plain;

const STREAMS: usize = 40;
const SENDS: usize = 8;
const SESSIONS: [&str; 8] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
/// What a card may take while all that goes on.
const CARD: Duration = Duration::from_secs(2);
/// What the daemon may keep of 48 streams and waits, whether they are over, half read or not read at
/// all: half a megabyte each, and as much again for what a process grows by when it does anything
/// the first time.
const KEPT: usize = 48 << 20;
/// The text that is more than the kernel holds for a reader.
const BIG: usize = 4 << 20;
/// What one reader that is stuck in it may hold: the answer as it is written, what it was made from,
/// and what the allocator keeps from the making.
const STUCK: usize = 4 * BIG;

/// One line of `/proc/PID/status`, in bytes.
fn memory(machine: &Machine, what: &str) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", machine.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with(what)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Open sockets of the daemon.
fn sockets(machine: &Machine) -> usize {
    let open = fs::read_dir(format!("/proc/{}/fd", machine.pid())).unwrap().flatten();
    open.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.to_string_lossy().starts_with("socket:"))).count()
}

/// Sends a request and reads nothing.
fn begun(agent: &Agent, binding: Binding, method: &str, params: &Value) -> TcpStream {
    let mut to = http::connect(agent.from, agent.to).unwrap();
    to.set_read_timeout(Some(SOON)).unwrap();
    let asked = agent.asked(binding, method, params);
    to.write_all(asked.bytes(&agent.to.to_string(), "Connection: close\r\n").as_bytes()).unwrap();
    to
}

/// Reads to the end, at a byte a second, until it is over.
fn poll_a_byte_a_second(mut from: TcpStream, over: &AtomicBool) {
    let mut byte = [0];
    while !over.load(Ordering::SeqCst) && from.read(&mut byte).is_ok_and(|read| read > 0) {
        let until = Instant::now() + Duration::from_secs(1);
        while !over.load(Ordering::SeqCst) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Twenty looks at the card, one after the other; the longest.
fn until_looked_at_card(agent: &Agent) -> Duration {
    let mut longest = Duration::ZERO;
    for n in 0..20 {
        let path = ["/.well-known/agent-card.json".to_string(), format!("{}/.well-known/agent-card.json", agent.path)]
            [n % 2]
            .clone();
        let begun = Instant::now();
        assert_eq!(agent.exchange(&Asked::new("GET", path, "")).status, 200);
        longest = longest.max(begun.elapsed());
        std::thread::sleep(Duration::from_millis(50));
    }
    longest
}

#[test]
fn forty_streams_with_readers_that_are_slow_or_gone_harm_nobody() {
    let world = plain(&SESSIONS);
    let machine = &world.lab[0];
    let agent = |n: usize| world.session(SESSIONS[n % SESSIONS.len()]);
    let task = |n: usize| format!("{}:tck-stream-artifact-chunked-{n}", SESSIONS[n % SESSIONS.len()]);
    let params = |n: usize| message(&format!("tck-stream-artifact-chunked-{n}"), "go");
    // One round of each, so that what is made once is made.
    for binding in BOTH {
        agent(0).stream(binding, "SendStreamingMessage", &message(&format!("tck-stream-001-{binding:?}"), "go")).rest();
    }
    let (kept, open) = (memory(machine, "VmRSS"), sockets(machine));

    let over = Arc::new(AtomicBool::new(false));
    let mut never = Vec::new();
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for n in 0..STREAMS + SENDS {
        let (agent, binding, params) = (agent(n), BOTH[n / 4 % 2], params(n));
        let method = if n < STREAMS { "SendStreamingMessage" } else { "SendMessage" };
        match n % 4 {
            // It reads as it should.
            0 if n < STREAMS => threads.push(std::thread::spawn(move || {
                let events = agent.stream(binding, method, &params).rest();
                assert_eq!(events.last().map(|event| state(&event["statusUpdate"])), Some("COMPLETED"));
            })),
            0 => threads.push(std::thread::spawn(move || {
                assert_eq!(state(&agent.task(binding, &params)), "COMPLETED");
            })),
            1 => never.push(begun(&agent, binding, method, &params)),
            2 => {
                let (from, over) = (begun(&agent, binding, method, &params), over.clone());
                threads.push(std::thread::spawn(move || poll_a_byte_a_second(from, &over)));
            }
            // Gone, as soon as its request was taken: one that is gone before that has sent nothing.
            _ => threads.push(std::thread::spawn(move || {
                let mut from = begun(&agent, binding, method, &params);
                from.read_exact(&mut [0; 15]).unwrap();
            })),
        }
    }
    let longest = until_looked_at_card(&agent(0));
    assert!(longest < CARD, "{longest:?} for a card");
    for n in 0..STREAMS + SENDS {
        let get = json!({"id": task(n)});
        poll(&format!("{n} is completed"), || {
            agent(n).ask(HttpJson, "GetTask", &get).said.is_ok_and(|task| state(&task) == "COMPLETED")
        });
    }
    let held = memory(machine, "VmRSS").saturating_sub(kept);
    over.store(true, Ordering::SeqCst);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop(never);
    poll("its connections are closed", || sockets(machine) <= open);
    let left = memory(machine, "VmRSS").saturating_sub(kept);
    println!("load: {} MiB more while it ran, {} MiB after it; a card took {longest:?}", held >> 20, left >> 20);
    assert!(held < KEPT && left < KEPT, "{held} bytes more, and {left} bytes after it");
    let listed = world.at("/a2a").good(JsonRpc, "ListTasks", &json!({"status": "TASK_STATE_COMPLETED", "pageSize": 1}));
    assert_eq!(listed["totalSize"], STREAMS + SENDS + 2);
    for binding in BOTH {
        assert_eq!(
            state(&agent(1).task(binding, &message(&format!("tck-complete-task-{binding:?}"), "go"))),
            "COMPLETED"
        );
    }
}

/// What is sent is more than the kernel holds for them: they are stuck, and nobody else is.
#[test]
fn readers_that_are_stuck_hold_up_neither_the_task_nor_its_other_readers() {
    const READERS: usize = 10;
    let world = plain(&["w"]);
    let (machine, w) = (&world.lab[0], world.session("w"));
    // A first one of that size, so that what is made once is made.
    w.task(JsonRpc, &message("big-0", "go"));
    let open = sockets(machine);
    let mut params = message("slow-1", "for long");
    params["configuration"] = json!({"returnImmediately": true});
    let before = w.task(JsonRpc, &params);
    params["message"]["messageId"] = json!("big-1");
    let sent = begun(&w, HttpJson, "SendMessage", &params);
    poll("it is stored", || w.ask(JsonRpc, "GetTask", &json!({"id": "w:big-1"})).said.is_ok());
    let task = json!({"id": "w:big-1"});
    let mut stuck: Vec<TcpStream> = (0..READERS).map(|n| begun(&w, BOTH[n % 2], "SubscribeToTask", &task)).collect();
    for reader in &mut stuck {
        reader.read_exact(&mut [0; 15]).unwrap();
    }
    let good = w.subscribe(HttpJson, &task);
    let kept = memory(machine, "VmRSS");
    let clock = Instant::now();
    w.good(JsonRpc, "CancelTask", &json!({"id": before["id"]}));
    let events = good.rest();
    let took = clock.elapsed();
    assert_eq!(events.last().map(|event| state(&event["statusUpdate"])), Some("COMPLETED"));
    let stored = w.get(HttpJson, &task);
    assert_eq!(super::streams::folded(&events)["artifacts"], stored["artifacts"]);
    assert_eq!(stored["artifacts"][0]["parts"][0]["text"].as_str().map(str::len), Some(BIG));
    let longest = until_looked_at_card(&w);
    assert!(longest < CARD, "{longest:?} for a card");
    let held = memory(machine, "VmHWM").saturating_sub(kept);
    println!("load: {} MiB more with {READERS} stuck readers; the good one took {took:?}", held >> 20);
    assert!(held < (READERS + 3) * STUCK, "{held} bytes more");
    assert!(took < SOON / 2, "{took:?}");
    drop((stuck, sent));
    poll("their connections are closed", || sockets(machine) <= open);
    assert_eq!(state(&w.task(JsonRpc, &message("tck-complete-task-1", "go"))), "COMPLETED");
}
