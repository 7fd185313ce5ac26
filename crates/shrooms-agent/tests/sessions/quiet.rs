//! Workers that go quiet, fresh starts and proof, with the real Claude Code and its MCP server
//! alive beside it; the ladder's times are those of a config of the test.

use std::fs;

use serde_json::json;

use crate::lab::{Lab, poll};
use crate::model::{rule, say, shell, update};
use crate::place::state;

const REMINDER: &str = "[shrooms: a reminder, not a person]";

/// One machine whose watchdog looks every second; three reminders in all.
fn hasty(test: &str) -> Option<Lab> {
    let mut lab = Lab::idle(test, &["homeserver"])?;
    fs::create_dir_all(&lab[0].state).unwrap();
    let config = "[watchdog]\npass_secs = 1\nfirst_reminder_secs = 2\nladder_secs = [1, 1]\nstalled_after_secs = 2\n";
    fs::write(lab[0].state.join("config.toml"), config).unwrap();
    lab[0].start();
    Some(lab)
}

fn reminders(lab: &Lab) -> usize {
    let read = lab.model.requests_of("homeserver/review");
    read.last().map_or(0, |request| request.begins(REMINDER))
}

#[test]
fn a_worker_that_goes_quiet_is_reminded_and_then_stalled_and_never_woken_for_finished_work() {
    let test = "a_worker_that_goes_quiet_is_reminded_and_then_stalled_and_never_woken_for_finished_work";
    let Some(mut lab) = hasty(test) else { return };
    lab[0].add("review");
    lab.model.rules(&[
        rule("a reminder, not a person", &[vec![say("I am still at it.")]]),
        rule("be quick", &[vec![update("review:next", "done", "It was quick.")], vec![say("Done.")]]),
        rule("from the owner", &[vec![say("I think about it.")]]),
    ]);
    lab[0].ask("review", "t", "Please think.");
    lab[0].ask("review", "next", "Please be quick.");
    poll("it was reminded", || reminders(&lab) >= 1);
    let read = lab.model.requests_of("homeserver/review");
    let last = read.last().unwrap();
    let text = last.texts().into_iter().find(|t| t.starts_with(REMINDER)).unwrap().to_string();
    assert!(text.contains("task review:t from the owner (reminder 1 of 3): Please think."), "{text}");
    assert!(text.contains("You said last: I think about it."), "{text}");
    // The count goes on after a restart (one that lets the turn of a reminder end).
    assert_eq!(lab[0].stop(), 0);
    lab[0].start();
    poll("it is stalled", || lab[0].task("review:t")["metadata"]["shrooms/stalled"] == true);
    assert_eq!(lab[0].task("review:t")["metadata"]["shrooms/nudges"], 3);
    assert_eq!(state(&lab[0].outcome("review:next")), "completed", "the lane is free for others");
    assert_eq!(state(&lab[0].task("review:t")), "working", "stalled is not an end");
    let told = reminders(&lab);
    assert_eq!(told, 3);
    lab[0].good(&["a2a", "update", "review:t", "done", "It is thought."]);
    assert_eq!(state(&lab[0].task("review:t")), "completed");
    // Some passes later nobody was woken: the passes show in the clock alone.
    lab[0].until_session("review", "idle");
    let before = lab.model.requests().len();
    let begun = std::time::Instant::now();
    poll("six passes are over", || begun.elapsed().as_secs() >= 6);
    assert_eq!(lab.model.requests().len(), before, "no open work, no wake-up");
}

#[test]
fn a_command_in_the_background_is_work_and_its_end_begins_a_turn_of_its_own() {
    let test = "a_command_in_the_background_is_work_and_its_end_begins_a_turn_of_its_own";
    let Some(lab) = hasty(test) else { return };
    lab[0].add_auto("review");
    let wait = format!("until [ -e '{}' ]; do sleep 0.05; done; echo built", lab.word("go"));
    let steps = [
        vec![json!({"shell": wait, "background": true})],
        vec![say("It builds.")],
        vec![update("review:t", "done", "It is built.")],
        vec![say("Done.")],
    ];
    lab.model.rules(&[rule("from the owner", &steps)]);
    lab[0].ask("review", "t", "Please build.");
    lab[0].until_session("review", "idle");
    let begun = std::time::Instant::now();
    // Three times as long as until a first reminder.
    poll("six seconds have passed", || begun.elapsed().as_secs() >= 6);
    assert_eq!(lab[0].task("review:t")["metadata"]["shrooms/nudges"], 0);
    assert_eq!(state(&lab[0].task("review:t")), "working");
    lab.touch("go");
    assert_eq!(state(&lab[0].outcome("review:t")), "completed");
    assert_eq!(reminders(&lab), 0);
}

#[test]
fn a_fresh_start_is_a_new_conversation_and_proof_is_what_the_daemon_saw() {
    let test = "a_fresh_start_is_a_new_conversation_and_proof_is_what_the_daemon_saw";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add_auto("review");
    let file = lab.word("made");
    lab.model.rules(&[
        rule("Remember", &[vec![say("I remember it.")]]),
        rule("Audit", &[vec![update("review:t", "done", "Fine.")], vec![say("Done.")]]),
        rule(
            "Prove",
            &[
                vec![update("review:p", "done", "I did it.")],
                vec![json!({"tool": "Write", "input": {"file_path": file, "content": "x"}})],
                vec![update("review:p", "done", "Now I did it.")],
                vec![say("Done.")],
            ],
        ),
        rule("run something", &[vec![shell("exit 3")], vec![say("It failed.")]]),
    ]);
    home.say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    home.until_session("review", "idle");
    let conversation = home.session("review")["conversation"].clone();
    home.good(&["a2a", "send", "--fresh", "--id", "t", "review", "Audit it."]);
    assert_eq!(state(&home.outcome("review:t")), "completed");
    assert_ne!(home.session("review")["conversation"], conversation);
    let read = lab.model.requests_of("homeserver/review");
    let audit = read.iter().find(|r| r.begins("[shrooms task review:t") == 1).unwrap();
    assert!(!audit.texts().iter().any(|t| t.contains("blue bird")), "{:?}", audit.texts());
    home.until_session("review", "idle");
    // Given back once, for want of a changed file.
    home.good(&["a2a", "send", "--require", "files_changed", "--id", "p", "review", "Prove it."]);
    let proven = home.outcome("review:p");
    assert_eq!(state(&proven), "completed");
    let seen = &proven["metadata"];
    assert_eq!(seen["shrooms/given_back"], true);
    assert!(seen["shrooms/unproven"].is_null(), "{seen}");
    assert_eq!(seen["shrooms/evidence"]["filesChanged"], json!([file]), "{seen}");
    assert_eq!(seen["shrooms/evidence"]["tools"], json!({"Write": 1}), "{seen}");
    let read = lab.model.requests_of("homeserver/review");
    let returns: Vec<String> = read.last().unwrap().returns_of("task_update").iter().map(|t| t.to_string()).collect();
    assert!(returns.iter().any(|t| t.contains("requires proof of files_changed")), "{returns:?}");
}
