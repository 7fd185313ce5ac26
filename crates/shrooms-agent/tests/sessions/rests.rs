//! Programs that have nothing to do, and programs that are kept running: one that rests is stopped and
//! goes on in its conversation, one that is kept comes back within 15 s, and a restart is both at once.

use std::fs;
use std::time::{Duration, Instant};

use crate::lab::{Lab, kill_now, poll};
use crate::model::{rule, say};

/// A program that is kept running is there again by then.
const BACK: Duration = Duration::from_secs(15);

/// One machine whose programs rest for two seconds.
fn sleepy(test: &str) -> Option<Lab> {
    let mut lab = Lab::idle(test, &["homeserver"])?;
    fs::create_dir_all(&lab[0].state).unwrap();
    fs::write(lab[0].state.join("config.toml"), "[sessions]\nidle_secs = 2\n[watchdog]\npass_secs = 1\n").unwrap();
    lab[0].start();
    Some(lab)
}

#[test]
fn a_program_that_rests_is_stopped_and_the_next_message_goes_on_in_its_conversation() {
    let test = "a_program_that_rests_is_stopped_and_the_next_message_goes_on_in_its_conversation";
    let Some(lab) = sleepy(test) else { return };
    lab[0].add("review");
    lab.model.rules(&[rule("Remember", &[vec![say("I remember it.")]]), rule("What was it", &[vec![say("A bird.")]])]);
    assert_eq!((lab[0].session("review")["running"].clone(), lab.starts("review")), (false.into(), 0));
    lab[0].say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    poll("its program rests and is stopped", || lab[0].session("review")["running"] == false);
    assert!(!lab.is_held("review"));
    assert_eq!(lab[0].session("review")["state"], "idle", "it serves all the same");
    assert!(lab[0].has_event("its program is stopped until the next message"));
    lab[0].say("review", "What was it?");
    poll("it goes on", || lab.model.requests_of("homeserver/review").len() == 2);
    let read = lab.model.requests_of("homeserver/review");
    assert_eq!(read[1].texts(), ["Remember the blue bird.", "What was it?"]);
    assert_eq!(lab.starts("review"), 2);
}

#[test]
fn a_program_that_is_kept_running_comes_back_after_its_death_its_launchers_and_its_daemons() {
    let test = "a_program_that_is_kept_running_comes_back_after_its_death_its_launchers_and_its_daemons";
    let Some(mut lab) = sleepy(test) else { return };
    let dir = lab[0].work.display().to_string();
    lab[0].good(&["session", "add", "kept", "--harness", "claude", "--keep-running", "--dir", &dir]);
    let runs = |lab: &Lab, starts: usize| lab.starts("kept") == starts && lab[0].session("kept")["state"] == "idle";
    poll("it runs without having been asked anything", || runs(&lab, 1));
    for (starts, victim) in [(2, "program"), (3, "launcher"), (4, "daemon")] {
        let begun = Instant::now();
        match victim {
            "program" => kill_now(lab.claude("kept")),
            "launcher" => kill_now(lab.launcher("kept")),
            _ => {
                lab[0].kill();
                lab[0].start();
            }
        }
        poll("it is back", || runs(&lab, starts));
        println!("back {:?} after the {victim} was killed", begun.elapsed());
        assert!(begun.elapsed() < BACK, "{victim}: {:?}", begun.elapsed());
    }
    // More than one rest later it is still the same one.
    let begun = Instant::now();
    poll("four seconds have passed", || begun.elapsed().as_secs() >= 4);
    assert!(runs(&lab, 4) && lab[0].session("kept")["running"] == true);
    assert_eq!(lab.model.requests().len(), 0, "nothing was ever said to it");
    // The third end by itself within ten minutes is one too many.
    kill_now(lab.claude("kept"));
    poll("it is stopped", || lab[0].session("kept")["state"] == "stopped");
    let why = lab[0].session("kept")["why"].as_str().unwrap_or_default().to_string();
    assert!(why.contains("three times in ten minutes"), "{why}");
}

#[test]
fn a_restart_goes_on_in_the_conversation_and_takes_up_what_waits() {
    let test = "a_restart_goes_on_in_the_conversation_and_takes_up_what_waits";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    lab[0].add("review");
    lab.model.rules(&[rule("Remember", &[vec![say("I remember it.")]]), rule("What was it", &[vec![say("A bird.")]])]);
    lab[0].say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    lab[0].until_session("review", "idle");
    lab[0].good(&["session", "restart", "review"]);
    poll("it was started again", || lab.starts("review") == 2);
    lab[0].good(&["session", "stop", "review"]);
    lab[0].say("review", "What was it?");
    lab[0].good(&["session", "restart", "review"]);
    poll("it goes on", || lab.model.requests_of("homeserver/review").len() == 2);
    let read = lab.model.requests_of("homeserver/review");
    assert_eq!(read[1].texts(), ["Remember the blue bird.", "What was it?"]);
}
