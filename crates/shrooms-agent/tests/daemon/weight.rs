//! What a session weighs that has nothing to do.

use std::fs;

use serde_json::json;

use crate::lab::{Lab, Machine};

/// Sessions that rest …
const SESSIONS: u64 = 100;
/// … weigh less than this each, in the daemon's own memory.
const EACH_KB: u64 = 100;

/// The daemon's own memory, in KiB: what it shares with the program's file is everybody's.
fn own(machine: &Machine) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", machine.pid())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_hundred_sessions_with_idle_commands_weigh_less_than_a_hundred_kilobytes_each() {
    let mut lab = Lab::of(&["none", "many"]);
    let dir = lab.path("").display().to_string();
    for n in 0..SESSIONS {
        let body = json!({"name": format!("s{n}"), "dir": dir, "command": ["/bin/true"]});
        let answer = lab[1].post("/v1/sessions", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let added = own(&lab[1]);
    for n in 0..SESSIONS {
        let said = lab[1].cli(&["a2a", "send", "--wait", &format!("s{n}"), "x"]);
        assert_eq!(said.code, 0, "{said:?}");
    }
    let ran = own(&lab[1]);
    // As it is after a start, with all that it has of them: what requests once took is not theirs.
    lab.machines[1].kill();
    lab.machines[1].start();
    lab.machines[0].kill();
    lab.machines[0].start();
    for machine in &lab.machines {
        assert_eq!(machine.get("/v1/sessions").status, 200);
    }
    let (none, started) = (own(&lab[0]), own(&lab[1]));
    let each = |kib: u64| kib.saturating_sub(none) * 1_024 / SESSIONS;
    println!(
        "without sessions {none} KiB; each of {SESSIONS}: {} B when added, {} B after a task of each, {} B after a restart",
        each(added),
        each(ran),
        each(started)
    );
    for (when, kib) in [("added", added), ("after a task of each", ran), ("after a restart", started)] {
        assert!(each(kib) < EACH_KB * 1_000, "{when}: {} bytes each", each(kib));
    }
}
