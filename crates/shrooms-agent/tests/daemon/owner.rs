//! The owner's hand, on the real daemon: names, queues, a pause, what is brought back, the config,
//! the loop guard.

use std::net::IpAddr;

use serde_json::json;

use crate::http;
use crate::lab::{Lab, message, poll, state, text};

/// A session that ends its task when the file `go` is there.
fn waiting(lab: &Lab, machine: usize, name: &str) {
    let script = lab.script(&format!("{name}.sh"), "until [ -e go ]; do sleep 0.02; done; echo done");
    lab[machine].add(name, lab.dir.path(), &[&script]);
}

fn good(lab: &Lab, args: &[&str]) -> String {
    let said = lab[0].cli(args);
    assert_eq!(said.code, 0, "{args:?}: {said:?}");
    said.out
}

#[test]
fn a_renamed_session_keeps_its_tasks_and_their_ids_and_its_old_name_inherits_nothing() {
    let mut lab = Lab::of(&["homeserver", "laptop"]);
    let script = lab.script("ask.sh", &format!("{} a2a update \"$SHROOMS_TASK\" blocked which?", crate::lab::PROGRAM));
    lab[0].add("w", lab.dir.path(), &[&script]);
    let asked = lab[1].cli(&["a2a", "send", "--wait", "--id", "m1", "homeserver/w", "Do it."]);
    assert!(asked.out.contains("input-required") && asked.out.contains("which?"), "{asked:?}");
    good(&lab, &["session", "rename", "w", "v"]);
    // By the old id: here, from the other machine, and by a plain A2A client at the old address.
    assert_eq!(state(&lab[0].task("w:m1")), "input-required");
    let there = lab[1].cli(&["a2a", "get", "homeserver/w:m1"]);
    assert!(there.code == 0 && there.out.contains("which?"), "{there:?}");
    let from: IpAddr = lab[1].address;
    let got = lab[0].rpc(from, "w", "GetTask", json!({"id": "w:m1"}));
    assert_eq!(got["result"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{got}");
    // Another session under the old name: its tasks are its own.
    lab[0].add("w", lab.dir.path(), &["sh", "-c", "echo the new one"]);
    let fresh = lab[1].cli(&["a2a", "send", "--wait", "--id", "m2", "homeserver/w", "Do it."]);
    assert!(fresh.out.contains("the new one"), "{fresh:?}");
    let answered = lab[1].cli(&["a2a", "reply", "homeserver/w:m1", "This."]);
    assert_eq!(answered.code, 0, "{answered:?}");
    poll("it asks again", || {
        state(&lab[0].task("w:m1")) == "input-required" && lab[0].task("w:m1")["history"].as_array().unwrap().len() == 3
    });
    lab[0].kill();
    lab[0].start();
    let ended = lab[1].cli(&["a2a", "cancel", "homeserver/w:m1"]);
    assert!(ended.out.contains("canceled"), "{ended:?}");
    assert_eq!(state(&lab[0].task("w:m1")), "canceled");
    let taken = lab[0].cli(&["session", "rename", "v", "w"]);
    assert!(taken.code == 1 && taken.err.contains("already a session"), "{taken:?}");
}

#[test]
fn the_owners_hand_reaches_other_machines_and_a_pause_of_all_names_those_that_are_away() {
    let mut lab = Lab::of(&["homeserver", "laptop"]);
    waiting(&lab, 1, "w");
    for id in ["m1", "m2", "m3"] {
        good(&lab, &["a2a", "send", "--id", id, "laptop/w", "Do it."]);
    }
    poll("all are there", || lab[1].task("w:m3")["metadata"]["shrooms/position"] == 2);
    let moved = good(&lab, &["a2a", "move", "laptop/w:m3", "1"]);
    assert!(moved.contains("laptop/w:m3"), "{moved}");
    assert_eq!(lab[1].task("w:m3")["metadata"]["shrooms/position"], 1);
    good(&lab, &["a2a", "park", "laptop/w:m2"]);
    assert_eq!(lab[1].task("w:m2")["metadata"]["shrooms/parked"], true);
    good(&lab, &["a2a", "release", "laptop/w:m2"]);
    let begun = lab[0].cli(&["a2a", "park", "laptop/w:m1"]);
    assert!(begun.code == 1 && begun.err.contains("does not wait in a queue"), "{begun:?}");
    let unknown = lab[0].cli(&["a2a", "park", "laptop/w:nothing"]);
    assert!(unknown.code == 1 && unknown.err.contains("no task"), "{unknown:?}");
    let all = good(&lab, &["pause", "--all"]);
    assert!(all.contains("homeserver: paused by") && all.contains("laptop: paused by"), "{all}");
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(state(&lab[1].outcome("w:m1")), "completed", "what runs goes on");
    assert_eq!(state(&lab[1].task("w:m3")), "submitted", "and nothing else is begun");
    let all = good(&lab, &["resume", "--all"]);
    assert!(all.contains("homeserver: goes on") && all.contains("laptop: goes on"), "{all}");
    for id in ["w:m3", "w:m2"] {
        assert_eq!(state(&lab[1].outcome(id)), "completed");
    }
    // One that is away is named, and goes on as it was.
    lab[1].kill();
    let away = lab[0].cli(&["pause", "--all"]);
    assert!(away.code == 1 && away.out.contains("homeserver: paused by"), "{away:?}");
    assert!(away.err.contains("not everywhere: laptop") && away.err.contains("pause --all again"), "{away:?}");
    good(&lab, &["resume"]);
    // A session's process may do neither.
    let script = lab.script("hand.sh", &format!("{} pause --all 2>&1 || true", crate::lab::PROGRAM));
    lab[0].add("s", lab.dir.path(), &[&script]);
    let tried = lab[0].cli(&["a2a", "send", "--wait", "s", "Pause."]);
    assert!(tried.out.contains("the owner's to do"), "{tried:?}");
}

#[test]
fn what_waits_is_moved_parked_and_released_and_a_pause_begins_nothing() {
    let mut lab = Lab::of(&["homeserver"]);
    waiting(&lab, 0, "w");
    for id in ["m1", "m2", "m3", "m4"] {
        good(&lab, &["a2a", "send", "--id", id, "w", "Do it."]);
    }
    good(&lab, &["a2a", "move", "w:m4", "1"]);
    good(&lab, &["a2a", "park", "w:m2"]);
    let place = |id: &str| lab[0].task(id)["metadata"]["shrooms/position"].as_i64().unwrap();
    assert_eq!((place("w:m4"), place("w:m3"), place("w:m2")), (1, 2, 0));
    assert_eq!(lab[0].task("w:m2")["metadata"]["shrooms/parked"], true);
    let wrong = lab[0].cli(&["a2a", "park", "w:m1"]);
    assert!(wrong.code == 1 && wrong.err.contains("does not wait in a queue"), "{wrong:?}");
    assert!(good(&lab, &["pause"]).contains("paused by the owner"));
    assert!(good(&lab, &["session", "list"]).contains("everything is paused"), "it is said where work waits");
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(state(&lab[0].outcome("w:m1")), "completed", "what runs goes on");
    // A restart does not end a pause.
    lab[0].kill();
    lab[0].start();
    assert!(good(&lab, &["status"]).contains("paused"), "kept across a restart");
    assert_eq!(state(&lab[0].task("w:m4")), "submitted");
    assert!(good(&lab, &["resume"]).contains("goes on"));
    for id in ["w:m4", "w:m3"] {
        assert_eq!(state(&lab[0].outcome(id)), "completed");
    }
    assert_eq!(state(&lab[0].task("w:m2")), "submitted", "parked");
    good(&lab, &["a2a", "release", "w:m2"]);
    let watched = lab[0].cli(&["a2a", "watch", "w:m2"]);
    assert!(watched.code == 0 && watched.out.contains("task w:m2: completed"), "{watched:?}");
    let order: Vec<_> = ["w:m1", "w:m4", "w:m3", "w:m2"]
        .map(|id| lab[0].task(id)["metadata"]["shrooms/receipt"]["started"].as_str().unwrap().to_string())
        .into();
    assert!(order.is_sorted(), "{order:?}");
    let evidence = &lab[0].task("w:m1")["metadata"]["shrooms/evidence"];
    assert_eq!((evidence["exitCode"].as_i64(), evidence["turns"].as_i64()), (Some(0), Some(1)), "{evidence}");
}

#[test]
fn a_removed_session_is_brought_back_and_its_tasks_stay_as_they_ended() {
    let mut lab = Lab::of(&["homeserver"]);
    waiting(&lab, 0, "w");
    good(&lab, &["a2a", "send", "--id", "m1", "w", "Do it."]);
    good(&lab, &["session", "remove", "w"]);
    assert_eq!(state(&lab[0].task("w:m1")), "canceled");
    lab[0].kill();
    lab[0].start();
    assert!(good(&lab, &["session", "undo-remove", "w"]).contains("session w"));
    std::fs::write(lab.path("go"), "").unwrap();
    let again = lab[0].cli(&["a2a", "send", "--wait", "--id", "m2", "w", "Do it."]);
    assert!(again.out.contains("completed"), "{again:?}");
    assert_eq!(state(&lab[0].task("w:m1")), "canceled");
    let none = lab[0].cli(&["session", "undo-remove", "never"]);
    assert!(none.code == 1 && none.err.contains("no session 'never'"), "{none:?}");
}

#[test]
fn a_device_gives_a_session_thirty_tasks_an_hour_and_its_owner_as_many_as_he_likes() {
    let lab = Lab::of(&["homeserver", "laptop"]);
    lab[0].add("w", lab.dir.path(), &["true"]);
    let from = lab[1].address;
    for n in 0..30 {
        let sent = lab[0].rpc(from, "w", "SendMessage", message(&format!("m{n}"), "x"));
        assert!(sent["result"]["task"].is_object(), "{n}: {sent}");
    }
    let refused = lab[0].rpc(from, "w", "SendMessage", message("m30", "x"));
    assert_eq!(refused["error"]["code"], -32050, "{refused}");
    // The same again is no new one, and what the owner sends there does not count.
    assert!(lab[0].rpc(from, "w", "SendMessage", message("m3", "x"))["result"]["task"].is_object());
    let own = lab[1].cli(&["a2a", "send", "--wait", "homeserver/w", "x"]);
    assert!(own.code == 0 && own.out.contains("completed"), "{own:?}");
    // What another claims to be is not believed.
    let mut claimed = message("m31", "x");
    claimed["message"]["metadata"] = json!({"shrooms/from": "laptop/owner"});
    assert_eq!(lab[0].rpc(from, "w", "SendMessage", claimed)["error"]["code"], -32050);
}

#[test]
fn a_config_is_read_at_the_start_and_a_wrong_one_says_what_is_wrong() {
    let mut lab = Lab::idle(&["homeserver"]);
    std::fs::create_dir(&lab[0].state).unwrap();
    let config = lab[0].state.join("config.toml");
    std::fs::write(&config, "[limits]\nqueue = 2\nturns = 1\n").unwrap();
    lab[0].start();
    waiting(&lab, 0, "w");
    waiting(&lab, 0, "v");
    for id in ["m1", "m2", "m3"] {
        good(&lab, &["a2a", "send", "--id", id, "w", "Do it."]);
    }
    let full = lab[0].cli(&["a2a", "send", "--id", "m4", "w", "Do it."]);
    assert!(full.code == 1 && full.err.contains("2 tasks waiting"), "{full:?}");
    // One turn at once on this machine.
    good(&lab, &["a2a", "send", "--id", "m1", "v", "Do it."]);
    assert_eq!(state(&lab[0].task("v:m1")), "submitted");
    std::fs::write(lab.path("go"), "").unwrap();
    for id in ["w:m1", "w:m2", "w:m3", "v:m1"] {
        assert_eq!(state(&lab[0].outcome(id)), "completed", "{id}: {}", text(&lab[0].task(id)));
    }
    lab[0].kill();
    std::fs::write(&config, "[limits]\nqueues = 2\n").unwrap();
    lab[0].spawn(&[]);
    poll("it ends", || lab[0].has_ended());
    let log = lab[0].log();
    assert!(log.contains("config.toml") && log.contains("unknown field `queues`"), "{log}");
}

#[test]
fn only_the_owner_pauses_renames_and_moves() {
    let lab = Lab::of(&["homeserver"]);
    let program = crate::lab::PROGRAM;
    let tries =
        ["pause", "session rename w x", "session set w --daily-usd 1", "a2a move w:m2 1", "session interrupt w"];
    let lines: Vec<String> = tries.iter().map(|t| format!("{program} {t} 2>&1; echo \"code $?\"")).collect();
    let script = lab.script("try.sh", &lines.join("\n"));
    lab[0].add("w", lab.dir.path(), &[&script]);
    good(&lab, &["a2a", "send", "--id", "m1", "w", "x"]);
    good(&lab, &["a2a", "send", "--id", "m2", "w", "x"]);
    assert_eq!(state(&lab[0].outcome("w:m1")), "completed");
    let said = text(&lab[0].task("w:m1"));
    assert_eq!(said.matches("is the owner's to do").count(), tries.len(), "{said}");
    assert_eq!(said.matches("code 1").count(), tries.len(), "{said}");
    let answer = http::unix(&lab[0].socket(), "POST", "/v1/sessions/w/settings", "{}");
    assert!(answer.status == 400 && answer.body.contains("nothing to set"), "{}", answer.body);
}
