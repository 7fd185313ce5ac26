//! What happens to a session while it lives: a task is cancelled, the model fails, it is stopped and
//! started, its daemon drains.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::lab::{Lab, poll};
use crate::model::{rule, say, shell, update};
use crate::place::{bearing, state};

/// A daemon whose sessions rest has nothing to wait for.
const QUICK: Duration = Duration::from_secs(5);

#[test]
fn a_cancelled_task_is_interrupted_and_the_next_one_starts() {
    let Some(lab) = Lab::of("a_cancelled_task_is_interrupted_and_the_next_one_starts", &["homeserver"]) else { return };
    let home = &lab[0];
    home.add_auto("review");
    let wait = format!("echo $$ > '{}'; until [ -e '{}' ]; do sleep 0.05; done", lab.word("tool"), lab.word("never"));
    // To the mock a message that comes with a tool's return is no new prompt: the steps go on.
    let next = [vec![update("review:next", "done", "It was quick.")], vec![say("Done.")]];
    lab.model.rules(&[rule("take for ever", &[&[vec![shell(&wait)]], &next[..]].concat()), rule("be quick", &next)]);
    home.ask("review", "long", "Please take for ever.");
    poll("the tool runs", || !lab.lines("tool").is_empty());
    home.ask("review", "next", "Please be quick.");
    assert_eq!(state(&home.task("review:next")), "submitted");
    let begun = Instant::now();
    home.good(&["a2a", "cancel", "homeserver/review:long"]);
    assert_eq!(state(&home.outcome("review:long")), "canceled");
    assert_eq!(state(&home.outcome("review:next")), "completed");
    println!("the next task was through {:?} after the cancel", begun.elapsed());
    let tool: i32 = lab.lines("tool")[0].parse().unwrap();
    poll("the tool has ended", || !bearing(&lab.path("never")).contains(&tool));
    assert_eq!(lab.starts("review"), 1, "the program goes on");
    let log = home.session_log("review");
    assert!(log.iter().any(|line| line.starts_with("note its turn was interrupted")), "{log:#?}");
    let read = lab.model.requests_of("homeserver/review");
    assert_eq!(read.last().unwrap().begins("[shrooms task review:next from the owner"), 1, "{read:#?}");
}

#[test]
fn a_model_that_fails_leaves_the_task_open_and_is_in_the_log() {
    let Some(lab) = Lab::of("a_model_that_fails_leaves_the_task_open_and_is_in_the_log", &["homeserver"]) else {
        return;
    };
    let home = &lab[0];
    home.add("review");
    let done = [vec![update("review:t", "done", "After all.")], vec![say("Done.")]];
    lab.model.rules(&[
        rule("Try again", &done),
        rule("from the owner", &[vec![json!({"fail": 400, "message": "the model is out of order"})]]),
    ]);
    let id = home.ask("review", "t", "Please try.");
    let failed = || home.session_log("review").iter().any(|line| line.contains("the model is out of order"));
    poll("the failure is in the log", failed);
    home.until_session("review", "idle");
    assert_eq!(state(&home.task(&id)), "working", "it stays open");
    let log = home.good(&["session", "log", "review"]);
    assert!(log.contains("its turn failed: ") && log.contains("400"), "{log}");
    home.good(&["a2a", "reply", "homeserver/review:t", "Try again, please."]);
    assert_eq!(state(&home.outcome(&id)), "completed");
    assert_eq!(lab.starts("review"), 1);
}

#[test]
fn a_session_that_is_stopped_keeps_its_queue_and_its_conversation() {
    let Some(lab) = Lab::of("a_session_that_is_stopped_keeps_its_queue_and_its_conversation", &["homeserver"]) else {
        return;
    };
    let home = &lab[0];
    home.add("review");
    lab.model.rules(&[
        rule("Remember", &[vec![say("I remember it.")]]),
        rule("What was it", &[vec![update("review:t", "done", "A blue bird.")], vec![say("Done.")]]),
    ]);
    home.say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    home.until_session("review", "idle");
    let conversation = home.session("review")["conversation"].clone();
    home.good(&["session", "stop", "review"]);
    poll("its program has ended", || !lab.is_held("review"));
    assert_eq!(home.session("review")["state"], "stopped");
    let id = home.ask("review", "t", "What was it?");
    assert_eq!((state(&home.task(&id)).as_str(), lab.starts("review")), ("submitted", 1));
    home.good(&["session", "start", "review"]);
    assert_eq!(state(&home.outcome(&id)), "completed");
    assert_eq!((home.session("review")["conversation"].clone(), lab.starts("review")), (conversation, 2));
    let read = lab.model.requests_of("homeserver/review");
    assert_eq!(read.last().unwrap().texts()[0], "Remember the blue bird.", "{read:#?}");
}

#[test]
fn a_daemon_with_resting_sessions_drains_at_once_and_goes_on_where_it_was() {
    let test = "a_daemon_with_resting_sessions_drains_at_once_and_goes_on_where_it_was";
    let Some(mut lab) = Lab::of(test, &["homeserver"]) else { return };
    lab[0].add("review");
    lab.model.rules(&[rule("Remember", &[vec![say("I remember it.")]]), rule("And now", &[vec![say("Yes.")]])]);
    lab[0].say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    lab[0].until_session("review", "idle");
    let begun = Instant::now();
    assert_eq!(lab[0].stop(), 0);
    println!("it drained in {:?}", begun.elapsed());
    assert!(begun.elapsed() < QUICK, "{:?}", begun.elapsed());
    assert!(bearing(&lab[0].state).is_empty(), "nothing is left behind it");
    lab[0].start();
    lab[0].say("review", "And now?");
    poll("it goes on", || lab.model.requests_of("homeserver/review").len() == 2);
    let read = lab.model.requests_of("homeserver/review");
    assert_eq!(read[1].texts(), ["Remember the blue bird.", "And now?"]);
}
