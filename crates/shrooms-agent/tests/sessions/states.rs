//! The daemon killed once, with a task of Claude Code in each state that a task can be in, and started
//! again: each stands as it should, its outcome reaches the machine that asked once, and no slot is
//! held by what is gone.

use std::fs;

use serde_json::Value;
use shrooms_core::row::EventKind;

use crate::lab::{Lab, freeze, poll};
use crate::model::{rule, say, shell, update};
use crate::place::state;

const LAPTOP: usize = 0;
const HOME: usize = 1;
const REMINDER: &str = "[shrooms: a reminder, not a person]";
/// The sessions; `queue` has a task that works, one that waits and one that is parked.
const SESSIONS: [&str; 6] = ["stalled", "blocked", "quiet", "ended", "queue", "deaf"];

/// Until the kill there is room for all; afterwards for one turn at once, so that one that is gone and
/// still counted would let nothing run.
fn config(lab: &Lab, turns: usize) {
    let text = format!(
        "[watchdog]\npass_secs = 1\nfirst_reminder_secs = 2\nladder_secs = [1, 1]\nstalled_after_secs = 2\n\
         [limits]\nturns = {turns}\n"
    );
    fs::create_dir_all(&lab[HOME].state).unwrap();
    fs::write(lab[HOME].state.join("config.toml"), text).unwrap();
}

/// What the models do. Told of a crash, a worker finishes what was cut off.
fn rules(lab: &Lab) {
    let wait =
        |file: &str| shell(&format!("touch '{0}-runs'; until [ -e '{0}' ]; do sleep 0.05; done", lab.word(file)));
    let done = |id: &str| vec![vec![update(id, "done", &format!("{id} is done."))], vec![say("Done.")]];
    let first = |step: Vec<Value>, id: &str| [vec![step], done(id)].concat();
    let mut rules = vec![
        rule(r"\[shrooms: the work on task queue:works", &done("queue:works")),
        rule(r"\[shrooms: the work on task deaf:t", &done("deaf:t")),
        rule("a reminder, not a person", &[vec![say("I am still at it.")]]),
        rule("more from", &done("blocked:t")),
        rule("Ask back", &[vec![update("blocked:t", "blocked", "Which one?")], vec![say("I wait.")]]),
        rule("Think", &[vec![say("I think about it.")]]),
        rule("Good morning", &[vec![say("Good morning.")]]),
        rule("End", &first(vec![wait("end")], "ended:t")),
        rule("Work", &first(vec![wait("work")], "queue:works")),
        rule("Wait", &done("queue:waits")),
        rule("Be parked", &done("queue:parked")),
        rule("Listen", &done("deaf:t")),
    ];
    rules.extend(SESSIONS.map(|name| rule(&format!("Further for {name}"), &done(&format!("{name}:further")))));
    lab.model.rules(&rules);
}

/// The owner on the laptop asks; the task is there.
fn ask(lab: &Lab, session: &str, id: &str, text: &str) {
    lab[LAPTOP].good(&["a2a", "send", "--id", id, &format!("homeserver/{session}"), text]);
}

fn nudges(lab: &Lab, id: &str) -> u64 {
    lab[HOME].task(id)["metadata"]["shrooms/nudges"].as_u64().unwrap()
}

/// What the laptop took as news of a task, in order.
fn news(lab: &Lab, id: &str) -> Vec<String> {
    let feed = shrooms_store::Reader::open(&lab[LAPTOP].state).unwrap().events(0, 10_000).unwrap();
    let of_it = feed.events.into_iter().filter(|e| e.kind == EventKind::Ask && e.task.as_deref() == Some(id));
    of_it.map(|e| e.state).collect()
}

/// The reminders that a session's model has read, by their numbers, in order.
fn reminders(lab: &Lab, session: &str) -> Vec<String> {
    let read = lab.model.requests_of(&format!("homeserver/{session}"));
    let texts = read.last().map(|last| last.texts().into_iter().map(str::to_string).collect::<Vec<_>>());
    let reminders = texts.unwrap_or_default().into_iter().filter(|text| text.starts_with(REMINDER));
    let number =
        |text: String| text.split("(reminder ").nth(1).and_then(|rest| rest.get(..6)).unwrap_or("?").to_string();
    reminders.map(number).collect()
}

#[test]
fn tasks_in_every_state_stand_as_they_should_after_the_daemon_was_killed() {
    let test = "tasks_in_every_state_stand_as_they_should_after_the_daemon_was_killed";
    let Some(mut lab) = Lab::idle(test, &["laptop", "homeserver"]) else { return };
    config(&lab, 8);
    lab[LAPTOP].start();
    lab[HOME].start();
    rules(&lab);
    SESSIONS.iter().for_each(|name| lab[HOME].add_auto(name));

    // Stalled, blocked, working, queued, parked.
    ask(&lab, "stalled", "t", "Think.");
    ask(&lab, "blocked", "t", "Ask back.");
    ask(&lab, "queue", "works", "Work.");
    ask(&lab, "ended", "t", "End.");
    lab[HOME].say("deaf", "Good morning.");
    poll("it works", || lab.path("work-runs").exists() && lab.path("end-runs").exists());
    ask(&lab, "queue", "parked", "Be parked.");
    ask(&lab, "queue", "waits", "Wait.");
    lab[HOME].good(&["a2a", "park", "queue:parked"]);
    lab[HOME].until("blocked:t", "input-required");
    poll("deaf is up", || !lab.model.requests_of("homeserver/deaf").is_empty());
    lab[HOME].until_session("deaf", "idle");
    poll("it is stalled", || lab[HOME].task("stalled:t")["metadata"]["shrooms/stalled"] == true);
    // Delivered: written to a program that takes nothing in.
    freeze(lab.claude("deaf"));
    ask(&lab, "deaf", "t", "Listen.");
    let written = || lab[HOME].session_log("deaf").iter().any(|line| line.starts_with("said [shrooms task deaf:t"));
    poll("it is written", written);
    assert_eq!(state(&lab[HOME].task("deaf:t")), "submitted", "and not taken");
    // Ended, and whoever asked has not heard of it.
    let known = || lab[LAPTOP].asks().iter().all(|ask| ask["task"].is_string());
    poll("the laptop knows all of its tasks", known);
    lab[LAPTOP].kill();
    lab.touch("end");
    lab[HOME].until("ended:t", "completed");
    lab[HOME].until_session("ended", "idle");
    // Reminded, and not yet stalled.
    lab[HOME].good(&["a2a", "send", "--id", "t", "quiet", "Think."]);
    poll("it was reminded", || nudges(&lab, "quiet:t") >= 1);
    lab[HOME].until_session("quiet", "idle");
    lab[HOME].kill();
    config(&lab, 1);
    lab[HOME].start();

    println!("killed when quiet:t had {} reminders", reminders(&lab, "quiet").len());
    // What was cut off is finished, what was not read is read, what waits runs; all of it once.
    for id in ["queue:works", "queue:waits", "deaf:t"] {
        assert_eq!(state(&lab[HOME].outcome(id)), "completed", "{id}");
    }
    let stalled = lab[HOME].task("stalled:t");
    assert_eq!((state(&stalled).as_str(), &stalled["metadata"]["shrooms/stalled"]), ("working", &true.into()));
    let parked = lab[HOME].task("queue:parked");
    assert_eq!((state(&parked).as_str(), &parked["metadata"]["shrooms/parked"]), ("submitted", &true.into()));
    assert_eq!(state(&lab[HOME].task("blocked:t")), "input-required");
    assert_eq!(state(&lab[HOME].task("ended:t")), "completed");
    // Reminders count on.
    poll("quiet is stalled", || lab[HOME].task("quiet:t")["metadata"]["shrooms/stalled"] == true);
    assert_eq!(reminders(&lab, "quiet"), ["1 of 3", "2 of 3", "3 of 3"]);
    assert_eq!((reminders(&lab, "stalled").len(), nudges(&lab, "stalled:t")), (3, 3), "no more of what is stalled");

    // Every lane is free, and so is the one turn that may run.
    for name in SESSIONS {
        lab[HOME].good(&["a2a", "send", "--id", "further", name, &format!("Further for {name}.")]);
    }
    for name in SESSIONS {
        assert_eq!(state(&lab[HOME].outcome(&format!("{name}:further"))), "completed", "{name}");
    }
    assert_eq!(state(&lab[HOME].task("queue:parked")), "submitted", "others went before it");

    // The laptop is back: an answer, a release, the worker's word at last; all outcomes arrive.
    lab[LAPTOP].start();
    lab[LAPTOP].good(&["a2a", "reply", "homeserver/blocked:t", "This one."]);
    lab[HOME].good(&["a2a", "release", "queue:parked"]);
    lab[HOME].good(&["a2a", "update", "stalled:t", "done", "stalled:t is done."]);
    let ended = || lab[LAPTOP].asks().iter().all(|ask| ask["ended"].is_string());
    poll("all outcomes have arrived", ended);
    for ask in lab[LAPTOP].asks() {
        let id = ask["task"].as_str().unwrap().trim_start_matches("homeserver/");
        assert_eq!((&ask["state"], &ask["result"]), (&"completed".into(), &format!("{id} is done.").into()), "{ask}");
        let news = news(&lab, id);
        assert_eq!(news.iter().filter(|state| *state == "completed").count(), 1, "{id}: {news:?}");
        // The model has read its request once, whatever was cut off.
        let head = format!("[shrooms task {id} from");
        let read = lab.model.requests_of(&format!("homeserver/{}", id.split(':').next().unwrap()));
        assert_eq!(read.last().unwrap().begins(&head), 1, "{id}: {read:#?}");
    }
    assert_eq!(lab[LAPTOP].asks().len(), 7);
}
