//! Two machines that are cut off from each other while a worker finishes: nothing is lost, and when
//! they reach each other again each outcome arrives by itself, once.

use std::time::{Duration, Instant};

use serde_json::json;
use shrooms_core::row::EventKind;

use crate::crashes::{insist, two_machines_with};
use crate::lab::{Lab, poll, state};
use crate::wire::Wire;

const LAPTOP: usize = 0;
const HOME: usize = 1;
/// Between two tries there are 30 s at most, and no test waits that long to see one fail.
const BOUND: Duration = Duration::from_secs(30);

/// Works until it may end.
const WORKER: &str = "echo \"start $SHROOMS_TASK\" >> \"$RUNS\"
until [ -e \"$GO\" ]; do sleep 0.02; done
echo \"end $SHROOMS_TASK\" >> \"$RUNS\"
echo \"result of $SHROOMS_TASK\"";

fn apart() -> (Lab, Wire) {
    let (mut lab, sessions) = two_machines_with(&["w"], &["a"], WORKER);
    let wire = Wire::between(&mut lab);
    lab[LAPTOP].start();
    lab[HOME].start();
    sessions.add(&mut lab);
    (lab, wire)
}

fn ask(lab: &mut Lab, mid: &str) {
    let job = json!({"to": "laptop/a", "id": format!("job-{mid}"), "text": format!("w {mid}")});
    insist(&mut lab[LAPTOP], "/v1/asks", &job);
}

/// How often the asking session was told of a task, and whether as a repeat.
fn told(lab: &Lab, mid: &str) -> Vec<String> {
    lab.lines("told").into_iter().filter(|line| line.starts_with(&format!("homeserver/w:{mid} "))).collect()
}

/// What the laptop took as news of a task, in order.
fn news(lab: &Lab, mid: &str) -> Vec<String> {
    let feed = shrooms_store::Reader::open(&lab[LAPTOP].state).unwrap().events(0, 10_000).unwrap();
    let id = format!("w:{mid}");
    let of_it = feed.events.into_iter().filter(|e| e.kind == EventKind::Ask && e.task.as_deref() == Some(&id));
    of_it.map(|e| e.state).collect()
}

/// What waits on the worker's machine to be told, read beside its daemon: tries of each.
fn reports(lab: &Lab) -> Vec<u32> {
    let rows = shrooms_store::Store::open(&lab[HOME].state).unwrap().open_rows().unwrap();
    rows.outbox.iter().map(|row| row.tries).collect()
}

fn runs(lab: &Lab, mid: &str) -> usize {
    lab.lines("runs").iter().filter(|line| **line == format!("start w:{mid}")).count()
}

/// Both are there, and neither knows of the other what it cannot know.
fn stand_apart(lab: &Lab) {
    for (me, other) in [(LAPTOP, "homeserver"), (HOME, "laptop")] {
        assert_eq!(lab[me].get("/v1/status").status, 200);
        let said = lab[me].cli(&["a2a", "send", "--now", &format!("{other}/any"), "Are you there?"]);
        assert!(said.code == 1 && said.err.contains(other), "{said:?}");
    }
}

/// Joined again: each outcome arrives by itself within the bound, is told once, and is news once.
fn arrives(lab: &Lab, mids: &[&str]) {
    let begun = Instant::now();
    let all = || mids.iter().all(|mid| !told(lab, mid).is_empty());
    poll("the outcomes are told", all);
    let took = begun.elapsed();
    poll("every report is confirmed", || reports(lab).is_empty());
    println!(
        "told {:.1} s after they could reach each other, all confirmed after {:.1} s",
        took.as_secs_f64(),
        begun.elapsed().as_secs_f64()
    );
    assert!(took < BOUND, "{took:?}");
    // A task that is asked and done afterwards comes behind whatever was still on its way.
    let last = lab[LAPTOP].cli(&["a2a", "send", "--wait", "--id", "last", "homeserver/w", "please"]);
    assert!(last.code == 0 && last.out.contains("result of w:last"), "{last:?}");
    poll("every report is confirmed", || reports(lab).is_empty());
    for mid in mids {
        let id = format!("w:{mid}");
        assert_eq!(state(&lab[HOME].task(&id)), "completed");
        assert_eq!(told(lab, mid), [format!("homeserver/{id} completed 0")]);
        let news = news(lab, mid);
        assert_eq!(news.iter().filter(|state| *state == "completed").count(), 1, "{mid}: {news:?}");
        assert_eq!(news.last().map(String::as_str), Some("completed"), "{mid}: {news:?}");
        assert_eq!(runs(lab, mid), 1, "{mid} ran once");
    }
    let tasks = lab[HOME].get("/v1/tasks").json()["tasks"].as_array().map_or(0, Vec::len);
    assert_eq!(tasks, mids.len() + 1, "no ask became two tasks");
}

#[test]
fn a_worker_that_finishes_while_the_machines_are_cut_off_is_heard_of_once_when_they_are_not() {
    let (mut lab, mut wire) = apart();
    ask(&mut lab, "m1");
    let known = || lab[LAPTOP].get("/v1/asks").body.contains("homeserver/w:m1");
    poll("it works, and the laptop knows its task", || runs(&lab, "m1") == 1 && known());
    wire.cut();
    stand_apart(&lab);
    // Asked meanwhile: it waits here.
    ask(&mut lab, "m2");
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(state(&lab[HOME].outcome("w:m1")), "completed");
    poll("its report was tried in vain", || reports(&lab).iter().any(|tries| *tries >= 3));
    assert!(told(&lab, "m1").is_empty() && lab[HOME].get("/v1/tasks/w%3Am2").status == 404);
    wire.heal();
    arrives(&lab, &["m1", "m2"]);
}

#[test]
fn an_ask_whose_answer_was_cut_off_is_one_task_and_its_outcome_arrives_once() {
    let (mut lab, mut wire) = apart();
    wire.lose_answers(LAPTOP);
    ask(&mut lab, "m1");
    wire.until_lost(LAPTOP);
    poll("the worker has it", || runs(&lab, "m1") == 1);
    wire.cut();
    stand_apart(&lab);
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(state(&lab[HOME].outcome("w:m1")), "completed");
    assert!(told(&lab, "m1").is_empty());
    wire.heal();
    arrives(&lab, &["m1"]);
}

#[test]
fn a_report_whose_confirmation_was_cut_off_is_no_news_the_second_time() {
    let (mut lab, mut wire) = apart();
    ask(&mut lab, "m1");
    poll("the worker has it, and nothing is to be told", || runs(&lab, "m1") == 1 && reports(&lab).is_empty());
    wire.lose_answers(HOME);
    std::fs::write(lab.path("go"), "").unwrap();
    wire.until_lost(HOME);
    poll("the asker was told", || told(&lab, "m1").len() == 1);
    wire.cut();
    stand_apart(&lab);
    assert_eq!(reports(&lab).len(), 1, "to the worker's machine it is not confirmed");
    wire.heal();
    arrives(&lab, &["m1"]);
}

#[test]
fn an_ask_that_is_sent_again_finds_its_task_although_its_session_has_another_name_by_then() {
    let (mut lab, mut wire) = apart();
    wire.lose_answers(LAPTOP);
    ask(&mut lab, "m1");
    wire.until_lost(LAPTOP);
    poll("the worker has it", || runs(&lab, "m1") == 1);
    wire.cut();
    let renamed = lab[HOME].cli(&["session", "rename", "w", "v"]);
    assert_eq!(renamed.code, 0, "{renamed:?}");
    wire.heal();
    // It is sent again, to a name that nobody has any more.
    poll("the laptop knows its task", || lab[LAPTOP].get("/v1/asks").body.contains("homeserver/w:m1"));
    std::fs::write(lab.path("go"), "").unwrap();
    assert_eq!(state(&lab[HOME].outcome("w:m1")), "completed");
    poll("its outcome is told", || !told(&lab, "m1").is_empty());
    assert_eq!(told(&lab, "m1"), ["homeserver/w:m1 completed 0"]);
    assert_eq!(runs(&lab, "m1"), 1, "it ran once");
    let tasks = lab[HOME].get("/v1/tasks").json()["tasks"].as_array().map_or(0, Vec::len);
    assert_eq!(tasks, 1, "one ask is one task");
}
