//! The cases of the fold, each a stream and the task that it leaves.

use super::*;
use serde_json::{Value, from_value, json, to_value};

const ROOM: usize = 1 << 20;

fn event(value: &Value) -> StreamResponse {
    from_value(value.clone()).unwrap()
}

fn fold_of(events: &[Value]) -> Fold {
    let mut fold = Fold::new(ROOM);
    for value in events {
        fold.apply(&event(value)).unwrap();
        // Counted along the way as if counted at once.
        assert_eq!(fold.bytes, fold.task().map_or(0, size::task), "after {value}");
    }
    fold
}

/// The task that is left, and what the last event did.
#[track_caller]
fn check(events: &[Value], did: Folded, expected: Value) {
    let (last, before) = events.split_last().unwrap();
    let mut fold = fold_of(before);
    assert_eq!(fold.apply(&event(last)), Ok(did), "{last}");
    assert_eq!(to_value(fold.task()).unwrap(), expected, "{last}");
    assert_eq!(fold.bytes, fold.task().map_or(0, size::task), "{last}");
}

fn task(more: Value) -> Value {
    let mut task = json!({"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}});
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    task
}

fn snapshot(more: Value) -> Value {
    json!({"task": task(more)})
}

fn said(id: &str) -> Value {
    json!({"messageId": id, "role": "ROLE_AGENT", "parts": [{"text": id}]})
}

fn status(state: &str, message: Value) -> Value {
    json!({"state": format!("TASK_STATE_{state}"), "message": message})
}

fn now(state: &str, message: Value) -> Value {
    json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status(state, message)}})
}

fn piece(id: &str, text: &str, append: bool, last: bool) -> Value {
    json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "append": append, "lastChunk": last,
        "artifact": {"artifactId": id, "parts": [{"text": text}]}}})
}

fn made(id: &str, texts: &[&str]) -> Value {
    let parts: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
    json!({"artifactId": id, "parts": parts})
}

#[test]
fn a_snapshot_is_the_task() {
    check(&[snapshot(json!({}))], Folded::Changed, task(json!({})));
    check(&[snapshot(json!({})), snapshot(json!({}))], Folded::Same, task(json!({})));
    let ended = json!({"status": {"state": "TASK_STATE_COMPLETED"}, "artifacts": [made("a", &["x"])]});
    check(&[snapshot(json!({"metadata": {"k": 1}})), snapshot(ended.clone())], Folded::Changed, task(ended));
}

#[test]
fn what_a_snapshot_leaves_out_is_kept() {
    let full = json!({"history": [said("m")], "artifacts": [made("a", &["x"])], "metadata": {"k": 1}});
    let left = json!({"history": [said("m")], "artifacts": [made("a", &["x"])]});
    check(&[snapshot(full.clone()), snapshot(json!({}))], Folded::Changed, task(left));
    let empty = json!({"history": [], "artifacts": []});
    check(&[snapshot(full), snapshot(empty.clone())], Folded::Changed, task(empty));
}

#[test]
fn a_new_status_moves_what_was_said_before_into_the_history() {
    let begun = |message: Value| snapshot(json!({"status": status("WORKING", message), "history": [said("q")]}));
    check(
        &[begun(said("1")), now("WORKING", said("2"))],
        Folded::Changed,
        task(json!({"status": status("WORKING", said("2")), "history": [said("q"), said("1")]})),
    );
    check(
        &[begun(said("1")), now("COMPLETED", Value::Null)],
        Folded::Changed,
        task(json!({"status": {"state": "TASK_STATE_COMPLETED"}, "history": [said("q"), said("1")]})),
    );
    // Said again, or in the history already.
    check(
        &[begun(said("1")), now("INPUT_REQUIRED", said("1"))],
        Folded::Changed,
        task(json!({"status": status("INPUT_REQUIRED", said("1")), "history": [said("q")]})),
    );
    check(
        &[begun(said("q")), now("WORKING", said("2"))],
        Folded::Changed,
        task(json!({"status": status("WORKING", said("2")), "history": [said("q")]})),
    );
    check(
        &[begun(said("1")), now("WORKING", said("1"))],
        Folded::Same,
        task(json!({"status": status("WORKING", said("1")), "history": [said("q")]})),
    );
}

#[test]
fn metadata_is_merged_key_by_key() {
    let more = |metadata: Value| {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c",
            "status": {"state": "TASK_STATE_WORKING"}, "metadata": metadata}})
    };
    let begun = snapshot(json!({"metadata": {"a": 1, "b": 1}}));
    check(
        &[begun.clone(), more(json!({"b": [2, null], "c": "x"}))],
        Folded::Changed,
        task(json!({"metadata": {"a": 1, "b": [2, null], "c": "x"}})),
    );
    check(&[begun, more(json!({"b": 1}))], Folded::Same, task(json!({"metadata": {"a": 1, "b": 1}})));
    // Ours are told whole.
    let queued = snapshot(json!({"metadata": {"a": 1, "shrooms/queued": true, "shrooms/position": 2}}));
    check(
        &[queued.clone(), more(json!({"shrooms/position": 1, "shrooms/queued": true}))],
        Folded::Changed,
        task(json!({"metadata": {"a": 1, "shrooms/queued": true, "shrooms/position": 1}})),
    );
    check(
        &[queued.clone(), more(json!({"shrooms/session": "s"}))],
        Folded::Changed,
        task(json!({"metadata": {"a": 1, "shrooms/session": "s"}})),
    );
    let as_was = json!({"a": 1, "shrooms/queued": true, "shrooms/position": 2});
    check(&[queued, more(json!({"a": 1}))], Folded::Same, task(json!({"metadata": as_was})));
}

#[test]
fn an_artifact_is_made_replaced_or_added_to() {
    let begun = snapshot(json!({}));
    let artifacts = |all: &[Value]| task(json!({"artifacts": all}));
    check(&[begun.clone(), piece("a", "x", false, false)], Folded::Changed, artifacts(&[made("a", &["x"])]));
    // An unknown id is made, also by a piece that adds.
    check(&[begun.clone(), piece("a", "x", true, false)], Folded::Changed, artifacts(&[made("a", &["x"])]));
    let two = [begun.clone(), piece("a", "x", false, false), piece("b", "y", false, false)];
    let then = |next: Value| [two.as_slice(), &[next]].concat();
    check(
        &then(piece("a", "z", true, false)),
        Folded::Changed,
        artifacts(&[made("a", &["x", "z"]), made("b", &["y"])]),
    );
    check(&then(piece("a", "z", false, false)), Folded::Changed, artifacts(&[made("a", &["z"]), made("b", &["y"])]));
    let named = json!({"artifactUpdate": {"taskId": "t", "append": true, "metadata": {"of": "task"},
        "artifact": {"artifactId": "a", "name": "n", "metadata": {"k": 1}, "extensions": ["urn:x", "urn:x"]}}});
    check(
        &[begun, piece("a", "x", false, false), named.clone(), named],
        Folded::Changed,
        task(json!({"metadata": {"of": "task"}, "artifacts": [{"artifactId": "a", "name": "n",
            "parts": [{"text": "x"}], "metadata": {"k": 1}, "extensions": ["urn:x"]}]})),
    );
}

#[test]
fn an_artifact_is_whole_after_its_last_piece_or_the_tasks_end() {
    let whole = |events: &[Value]| fold_of(events).is_whole("a");
    let begun = snapshot(json!({}));
    assert!(!whole(&[begun.clone(), piece("a", "x", false, false)]));
    assert!(whole(&[begun.clone(), piece("a", "x", false, true)]));
    assert!(!whole(&[begun.clone(), piece("a", "x", false, true), piece("a", "y", false, false)]));
    assert!(!whole(&[begun.clone(), piece("b", "x", false, true)]));
    assert!(whole(&[begun, piece("a", "x", false, false), now("FAILED", Value::Null)]));
}

#[test]
fn an_end_is_final() {
    let ended = snapshot(json!({"status": {"state": "TASK_STATE_CANCELED"}}));
    let left = || task(json!({"status": {"state": "TASK_STATE_CANCELED"}}));
    for late in [now("COMPLETED", said("1")), piece("a", "x", true, true), snapshot(json!({}))] {
        check(&[ended.clone(), late], Folded::Late, left());
    }
}

#[test]
fn a_stream_may_begin_with_any_event() {
    check(
        &[now("SUBMITTED", said("1"))],
        Folded::Changed,
        json!({"id": "t", "contextId": "c", "status": status("SUBMITTED", said("1"))}),
    );
    check(&[piece("a", "x", true, false)], Folded::Changed, task(json!({"artifacts": [made("a", &["x"])]})));
    check(&[json!({"message": said("m")})], Folded::Message, Value::Null);
    check(&[snapshot(json!({})), json!({"message": said("m")})], Folded::Message, task(json!({})));
    let nameless = json!({"task": {"id": "t", "status": {"state": 2}}});
    check(
        &[nameless, now("COMPLETED", Value::Null)],
        Folded::Changed,
        task(json!({"status": {"state": "TASK_STATE_COMPLETED"}})),
    );
}

#[test]
fn an_event_of_another_task_is_refused() {
    let mut fold = fold_of(&[snapshot(json!({}))]);
    let other = FoldError::OtherTask { expected: "t".into(), got: "u".into() };
    for kind in ["task", "statusUpdate", "artifactUpdate"] {
        let value = json!({kind: {"id": "u", "taskId": "u", "status": {"state": 3}, "artifact": made("a", &["x"])}});
        assert_eq!(fold.apply(&event(&value)), Err(other.clone()), "{kind}");
    }
    assert_eq!(to_value(fold.task()).unwrap(), task(json!({})));
}

#[test]
fn a_task_has_a_bound_and_what_would_break_it_changes_nothing() {
    let fill = "x".repeat(700);
    let begin = snapshot(json!({"artifacts": [made("a", &[&fill])]}));
    let long = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": fill}]});
    let metadata = json!({"statusUpdate": {"taskId": "t", "status": {"state": 3}, "metadata": {"k": fill}}});
    for refused in [
        piece("a", &fill, true, false),
        piece("b", &fill, false, false),
        now("WORKING", long),
        metadata,
        snapshot(json!({"artifacts": [made("a", &[&fill, &fill])]})),
    ] {
        let mut fold = Fold::new(1500);
        fold.apply(&event(&begin)).unwrap();
        let before = fold.bytes;
        assert_eq!(fold.apply(&event(&refused)), Err(FoldError::TooLarge(1500)), "{refused}");
        assert_eq!(to_value(fold.task()).unwrap(), begin["task"], "{refused}");
        // A replacement takes the room of what it replaces.
        fold.apply(&event(&piece("a", &fill, false, false))).unwrap();
        assert_eq!(fold.bytes, before);
    }
    let mut fold = Fold::new(500);
    fold.apply(&event(&snapshot(json!({})))).unwrap();
    fold.apply(&event(&piece("a", &fill, true, true))).unwrap_err();
    assert_eq!(to_value(fold.task()).unwrap(), task(json!({})));
    let mut fold = Fold::new(500);
    fold.apply(&event(&piece("a", &fill, true, true))).unwrap_err();
    assert_eq!(fold.task(), None);
    let mut fold = Fold::new(1500);
    let empty = json!({"artifactUpdate": {"taskId": "t", "append": true, "artifact": {"artifactId": "a",
        "parts": [{"text": ""}]}}});
    let mut pieces = 0;
    while fold.apply(&event(&empty)).is_ok() {
        pieces += 1;
    }
    assert!(pieces < 20, "{pieces} empty pieces");
}
