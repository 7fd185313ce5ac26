//! The daemon killed with a task in each state, and started again: each stands as it should, its
//! outcome reaches whoever asked once, and no slot is held by what is gone. The states that need a
//! program that stays (delivered and not read, stalled) are in the suite `sessions`.

use serde_json::{Value, json};
use shrooms_core::row::Open;

use crate::crashes::insist;
use crate::lab::{Lab, Machine, PROGRAM, bearing, poll, state, text};

const LAPTOP: usize = 0;
const HOME: usize = 1;
/// The task that is looked at.
const TASK: &str = "w:m1";

/// What the worker does is the first word that it reads; an answer it just takes.
const WORKER: &str = "read -r what
echo \"start $SHROOMS_TASK ${SHROOMS_REPEAT:-0}\" >> \"$RUNS\"
case \"$SHROOMS_KIND $what\" in
  'task wait'*) until [ -e \"$GO\" ]; do sleep 0.02; done;;
  'task print'*) echo 'so far so good'; until [ -e \"$GO\" ]; do sleep 0.02; done;;
  'task ask'*) exec \"$PROGRAM\" a2a update \"$SHROOMS_TASK\" blocked 'Which one?';;
esac
echo \"end $SHROOMS_TASK\" >> \"$RUNS\"
echo \"result of $SHROOMS_TASK: $SHROOMS_KIND $what\"";

/// Told `WORKER MID WHAT` it asks; told a result it leaves a line.
const ASKER: &str = "if [ \"$SHROOMS_KIND\" = result ]; then
  echo \"$SHROOMS_TASK $SHROOMS_STATE ${SHROOMS_REPEAT:-0}\" >> \"$TOLD\"
  exit 0
fi
read -r worker mid what
\"$PROGRAM\" a2a send --id \"$mid\" \"homeserver/$worker\" \"$what\"";

/// One state: how the task comes to it, and what it must come to after the kill.
struct Case {
    name: &'static str,
    /// Its session runs what was cut off again.
    rerun: bool,
    before: fn(&mut Lab),
    after: fn(&mut Lab),
    /// What the asking session was told of the task in all, in order.
    told: &'static [&'static str],
    /// How often the worker was started for it, and came to its end.
    runs: (usize, usize),
}

const CASES: [Case; 8] = [
    Case {
        name: "queued",
        rerun: false,
        before: |lab| {
            occupy(lab);
            ask(lab, "m1", "quick");
            poll("it waits", || place(lab, TASK) == 1);
        },
        after: |lab| {
            assert!(text(&lab[HOME].outcome("w:m0")).starts_with("interrupted"), "what held the lane is cut off");
            assert_eq!(result(lab, TASK), ("completed".into(), "result of w:m1: task quick".into()));
        },
        told: &["completed"],
        runs: (1, 1),
    },
    // To a command these two are one moment: it has its text as soon as it runs.
    Case {
        name: "delivered",
        rerun: false,
        before: |lab| {
            ask(lab, "m1", "wait");
            poll("it runs", || starts(lab, TASK) == 1);
        },
        after: |lab| {
            let (state, text) = result(lab, TASK);
            assert!(state == "failed" && text.starts_with("interrupted"), "{state}: {text}");
        },
        told: &["failed"],
        runs: (1, 0),
    },
    Case {
        name: "working",
        rerun: false,
        before: |lab| {
            ask(lab, "m1", "print");
            let said = || lab[HOME].get("/v1/sessions/w/log").body.contains("so far so good");
            poll("it has said something", said);
        },
        after: |lab| {
            let (state, text) = result(lab, TASK);
            assert!(state == "failed" && text.starts_with("interrupted"), "{state}: {text}");
            assert!(text.contains("so far so good"), "what it had printed is kept: {text}");
        },
        told: &["failed"],
        runs: (1, 0),
    },
    Case {
        name: "working, to be run again",
        rerun: true,
        before: |lab| {
            ask(lab, "m1", "wait");
            poll("it runs", || starts(lab, TASK) == 1);
        },
        after: |lab| {
            poll("it is run again, and marked", || lab.lines("runs").contains(&"start w:m1 1".to_string()));
            go(lab);
            assert_eq!(result(lab, TASK), ("completed".into(), "result of w:m1: task wait".into()));
        },
        told: &["completed"],
        runs: (2, 1),
    },
    Case {
        name: "blocked",
        rerun: false,
        before: |lab| {
            ask(lab, "m1", "ask");
            poll("it is blocked, and that is told", || lab.lines("told").len() == 1);
        },
        after: |lab| {
            assert_eq!(result(lab, TASK), ("input-required".into(), "Which one?".into()), "it waits still");
            let answered = lab[LAPTOP].cli(&["a2a", "reply", "homeserver/w:m1", "This one."]);
            assert_eq!(answered.code, 0, "{answered:?}");
            poll("it has ended", || result(lab, TASK).0 == "completed");
            assert_eq!(result(lab, TASK).1, "result of w:m1: answer This one.");
        },
        told: &["input-required", "completed"],
        runs: (2, 1),
    },
    Case {
        name: "parked",
        rerun: true,
        before: |lab| {
            occupy(lab);
            ask(lab, "m1", "quick");
            ask(lab, "m2", "quick");
            poll("both wait", || place(lab, "w:m2") == 2);
            let parked = lab[HOME].cli(&["a2a", "park", TASK]);
            assert_eq!(parked.code, 0, "{parked:?}");
        },
        after: |lab| {
            let task = lab[HOME].task(TASK);
            assert_eq!((state(&task).as_str(), &task["metadata"]["shrooms/parked"]), ("submitted", &json!(true)));
            assert_eq!((place(lab, TASK), place(lab, "w:m2")), (0, 1), "another goes before it meanwhile");
            // What held the lane is run again, and holds it still: its place shows.
            let released = lab[HOME].cli(&["a2a", "release", TASK]);
            assert_eq!(released.code, 0, "{released:?}");
            assert_eq!((place(lab, TASK), place(lab, "w:m2")), (1, 2), "it has its place again");
            go(lab);
            assert_eq!(result(lab, "w:m2").0, "completed");
            assert_eq!(result(lab, TASK), ("completed".into(), "result of w:m1: task quick".into()));
            let ends: Vec<String> = lab.lines("runs").into_iter().filter(|l| l.starts_with("end ")).collect();
            assert_eq!(ends, ["end w:m0", "end w:m1", "end w:m2"]);
        },
        told: &["completed"],
        runs: (1, 1),
    },
    Case {
        name: "parked, and not released",
        rerun: false,
        before: |lab| {
            occupy(lab);
            ask(lab, "m1", "quick");
            poll("it waits", || place(lab, TASK) == 1);
            let parked = lab[HOME].cli(&["a2a", "park", TASK]);
            assert_eq!(parked.code, 0, "{parked:?}");
        },
        // That it stays so is seen after further tasks were run.
        after: |lab| assert!(text(&lab[HOME].outcome("w:m0")).starts_with("interrupted")),
        told: &[],
        runs: (0, 0),
    },
    Case {
        name: "ended, untold",
        rerun: false,
        before: |lab| {
            ask(lab, "m1", "wait");
            poll("the asker knows its task", || asks(lab).iter().any(|a| a["task"] == "homeserver/w:m1"));
            lab[LAPTOP].kill();
            go(lab);
            assert_eq!(result(lab, TASK).0, "completed");
            assert_eq!(rows(lab).outbox.len(), 1, "its report waits");
        },
        after: |lab| {
            assert_eq!(result(lab, TASK), ("completed".into(), "result of w:m1: task wait".into()));
            assert!(lab.lines("told").is_empty(), "whoever asked is not there");
            lab[LAPTOP].start();
        },
        told: &["completed"],
        runs: (1, 1),
    },
];

#[test]
fn a_task_in_each_state_stands_as_it_should_after_a_kill_and_leaves_no_ghost() {
    for case in CASES {
        println!("case: {}", case.name);
        one(&case);
    }
}

fn one(case: &Case) {
    let mut lab = Lab::idle(&["laptop", "homeserver"]);
    // One turn at once: a turn that is gone and still counted would let nothing run any more.
    std::fs::create_dir(&lab[HOME].state).unwrap();
    std::fs::write(lab[HOME].state.join("config.toml"), "[limits]\nturns = 1\n").unwrap();
    let with = |name: &str, body: &str| {
        let vars = ["RUNS", "TOLD", "GO"].map(|v| format!("{v}='{}'", lab.path(&v.to_lowercase()).display()));
        lab.script(name, &format!("{}\nPROGRAM='{PROGRAM}'\n{body}", vars.join("\n")))
    };
    let (worker, asker) = (with("worker.sh", WORKER), with("asker.sh", ASKER));
    let dir = lab.dir.path().to_path_buf();
    lab[LAPTOP].start();
    lab[HOME].start();
    for name in ["w", "v"] {
        let body = json!({"name": name, "dir": dir, "command": [worker], "rerun_on_crash": case.rerun});
        insist(&mut lab[HOME], "/v1/sessions", &body);
    }
    let body = json!({"name": "a", "dir": dir, "harness": "scripted", "command": [asker]});
    insist(&mut lab[LAPTOP], "/v1/sessions", &body);

    (case.before)(&mut lab);
    let before = bearing(&lab[HOME].state);
    lab[HOME].kill();
    lab[HOME].start();
    let left: Vec<i32> = bearing(&lab[HOME].state).into_iter().filter(|pid| before.contains(pid)).collect();
    assert!(left.is_empty(), "{}: {left:?} of before the kill are still there", case.name);
    (case.after)(&mut lab);

    // The lane and the cap on turns are free: further tasks run, there and elsewhere.
    for worker in ["w", "v"] {
        ask_of(&mut lab, worker, "further", "quick");
        assert_eq!(result(&lab, &format!("{worker}:further")).0, "completed", "{}: {worker}", case.name);
    }
    // Each outcome has arrived, and once.
    poll(&format!("{}: all is told", case.name), || {
        let asks = asks(&lab);
        let all = asks.iter().filter(|a| a["task"] != format!("homeserver/{TASK}").as_str() || !case.told.is_empty());
        all.into_iter().all(|a| a["ended"].is_string() && a["told"] == true) && rests(&lab[LAPTOP], "a")
    });
    poll(&format!("{}: nothing waits to be told", case.name), || rows(&lab).outbox.is_empty());
    // Nothing is written down as running, either.
    let rows = rows(&lab);
    assert!(rows.turns.is_empty() && rows.deliveries.is_empty(), "{}: {:?}", case.name, rows.turns);
    assert!(rows.lanes.iter().all(|l| l.turn.is_none() && l.holder.is_none()), "{}: {:?}", case.name, rows.lanes);
    let told: Vec<String> =
        lab.lines("told").into_iter().filter(|l| l.starts_with(&format!("homeserver/{TASK} "))).collect();
    let expected: Vec<String> = case.told.iter().map(|state| format!("homeserver/{TASK} {state} 0")).collect();
    assert_eq!(told, expected, "{}", case.name);
    let ends = lab.lines("runs").iter().filter(|l| **l == format!("end {TASK}")).count();
    assert_eq!((starts(&lab, TASK), ends), case.runs, "{}", case.name);
    if case.told.is_empty() {
        let task = lab[HOME].task(TASK);
        assert_eq!((state(&task).as_str(), &task["metadata"]["shrooms/parked"]), ("submitted", &json!(true)));
    }
}

/// What is open on the worker's machine, read beside its daemon, which goes on meanwhile.
fn rows(lab: &Lab) -> Open {
    shrooms_store::Store::open(&lab[HOME].state).unwrap().open_rows().unwrap()
}

/// The asking session asks the worker to do something.
fn ask(lab: &mut Lab, mid: &str, what: &str) {
    ask_of(lab, "w", mid, what);
}

fn ask_of(lab: &mut Lab, worker: &str, mid: &str, what: &str) {
    let job = json!({"to": "laptop/a", "id": format!("job-{worker}-{mid}"), "text": format!("{worker} {mid} {what}")});
    insist(&mut lab[LAPTOP], "/v1/asks", &job);
    let id = format!("/v1/tasks/{worker}%3A{mid}");
    poll(&format!("{mid} is stored"), || lab[HOME].get(&id).status == 200);
}

/// A task that takes the worker's lane until it may go on.
fn occupy(lab: &mut Lab) {
    ask(lab, "m0", "wait");
    poll("the lane is taken", || starts(lab, "w:m0") == 1);
}

fn go(lab: &Lab) {
    std::fs::write(lab.path("go"), "").unwrap();
}

fn starts(lab: &Lab, id: &str) -> usize {
    lab.lines("runs").iter().filter(|l| l.starts_with(&format!("start {id} "))).count()
}

fn place(lab: &Lab, id: &str) -> i64 {
    lab[HOME].task(id)["metadata"]["shrooms/position"].as_i64().unwrap_or(0)
}

/// What a task has come to, and the words beside it.
fn result(lab: &Lab, id: &str) -> (String, String) {
    let task = lab[HOME].outcome(id);
    (state(&task), text(&task))
}

/// What the asking session has asked; the owner's own, which made it do so, are left out.
fn asks(lab: &Lab) -> Vec<Value> {
    let asks = lab[LAPTOP].get("/v1/asks?all=1").json()["asks"].as_array().cloned().unwrap_or_default();
    asks.into_iter().filter(|a| a["by"] == "a").collect()
}

fn rests(machine: &Machine, session: &str) -> bool {
    let session = machine.get(&format!("/v1/sessions/{session}")).json();
    session["state"] == "idle" && session["tasks_open"] == 0
}
