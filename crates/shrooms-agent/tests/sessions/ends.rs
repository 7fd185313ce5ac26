//! However a session ends, nothing of it is left: its tools' children write down who they are, with an
//! emptied environment, in the foreground, in the background of Claude Code, and outside of the
//! program's session and process group. Another session's are not touched.

use std::fs;

use serde_json::json;

use crate::lab::{Lab, kill_now, poll};
use crate::model::{rule, say, shell, update};
use crate::place::kill;

/// Ways to end it, each in a session of that name.
const WAYS: [&str; 6] = ["stop", "remove", "restart", "program", "launcher", "other"];
/// Of each session: in a tool's call, in a background command, and one that has left both.
const BAITS: usize = 3;

/// A process that says who it is and stays, whatever it is told; nothing of ours is in its environment.
fn bait(file: &str) -> String {
    format!("env -i /bin/sh -c 'trap \"\" HUP INT TERM; echo $$ >> {file}; while :; do /bin/sleep 1; done'")
}

fn pids(lab: &Lab, session: &str) -> Vec<i32> {
    lab.lines(&format!("baits-{session}")).iter().filter_map(|line| line.parse().ok()).collect()
}

fn alive(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

/// Ends what a failed test would leave behind: nothing else finds it.
struct Swept<'a>(&'a Lab);

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        WAYS.iter().flat_map(|way| pids(self.0, way)).filter(|pid| alive(*pid)).for_each(kill);
    }
}

#[test]
fn whatever_ends_a_session_no_process_of_it_is_left_and_none_of_another_is_touched() {
    let test = "whatever_ends_a_session_no_process_of_it_is_left_and_none_of_another_is_touched";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let mut rules = Vec::new();
    for way in WAYS {
        let bait = bait(&lab.word(&format!("baits-{way}")));
        let outside = format!("(setsid {bait} </dev/null >/dev/null 2>&1 &); true");
        rules.push(rule(
            &format!("cut off[^$]*lay {way}"),
            &[vec![update(&format!("{way}:t"), "done", "It was cut off.")], vec![say("Done.")]],
        ));
        rules.push(rule(
            &format!("lay {way} "),
            &[vec![shell(&outside)], vec![json!({"shell": bait, "background": true})], vec![shell(&bait)]],
        ));
    }
    lab.model.rules(&rules);
    for way in WAYS {
        lab[0].add_auto(way);
        lab[0].ask(way, "t", &format!("Please lay {way} baits."));
    }
    for way in WAYS {
        poll(&format!("the baits of {way} are laid"), || pids(&lab, way).len() == BAITS);
    }
    let _swept = Swept(&lab);
    for way in &WAYS[..5] {
        match *way {
            "stop" => lab[0].good(&["session", "stop", way]),
            "remove" => lab[0].good(&["session", "remove", way]),
            "restart" => lab[0].good(&["session", "restart", way]),
            "program" => {
                kill_now(lab.claude(way));
                String::new()
            }
            _ => {
                kill_now(lab.launcher(way));
                String::new()
            }
        };
        let left = || pids(&lab, way).into_iter().filter(|pid| alive(*pid)).collect::<Vec<_>>();
        poll(&format!("nothing is left of the session that was ended by: {way}"), || left().is_empty());
        assert!(pids(&lab, "other").iter().all(|pid| alive(*pid)), "{way}: another session's are not touched");
    }
}

#[test]
fn a_daemon_that_is_killed_leaves_no_process_of_its_sessions() {
    let test = "a_daemon_that_is_killed_leaves_no_process_of_its_sessions";
    let Some(mut lab) = Lab::of(test, &["homeserver"]) else { return };
    let bait = bait(&lab.word("baits-other"));
    lab.model.rules(&[rule(
        "lay baits",
        &[
            vec![shell(&format!("(setsid {bait} </dev/null >/dev/null 2>&1 &); true"))],
            vec![json!({"shell": bait, "background": true})],
            vec![shell(&bait)],
        ],
    )]);
    lab[0].add_auto("other");
    lab[0].ask("other", "t", "Please lay baits.");
    poll("the baits are laid", || pids(&lab, "other").len() == BAITS);
    lab[0].kill();
    let swept = Swept(&lab);
    poll("nothing is left", || pids(&lab, "other").iter().all(|pid| !alive(*pid)));
    drop(swept);
}
