//! Crashes at every named point of the daemon and of the launcher: nothing acknowledged is lost,
//! nothing runs twice, every result is told once, and what became of a run is said honestly.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::lab::{Lab, Machine, PROGRAM, bearing, poll, state, text};

const LAPTOP: usize = 0;
const HOME: usize = 1;

/// What a task may come to when the crash is at this point.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Comes {
    /// The program had not begun, or its exit was written.
    Completed,
    /// It was cut off in between.
    Interrupted,
    /// Either, by a hair; then the files say which, and they must agree.
    Either,
}

/// The machine that crashes, at which point, and what comes of the task.
const POINTS: [(usize, &str, Comes); 26] = [
    (HOME, "before_commit:1", Comes::Either),
    (HOME, "before_commit:2", Comes::Either),
    (HOME, "before_commit:3", Comes::Either),
    (HOME, "before_commit:4", Comes::Either),
    (HOME, "after_commit:1", Comes::Either),
    (HOME, "after_commit:2", Comes::Either),
    (HOME, "after_commit:3", Comes::Either),
    (HOME, "after_commit:4", Comes::Either),
    (HOME, "before_start", Comes::Completed),
    (HOME, "after_start", Comes::Either),
    (HOME, "began_seen", Comes::Interrupted),
    (HOME, "exit_seen", Comes::Completed),
    (HOME, "before_report", Comes::Completed),
    (HOME, "after_report", Comes::Completed),
    (HOME, "launcher_before_lock", Comes::Completed),
    (HOME, "launcher_before_started", Comes::Completed),
    (HOME, "launcher_after_started", Comes::Interrupted),
    (HOME, "launcher_after_spawn", Comes::Interrupted),
    (HOME, "launcher_before_exit", Comes::Interrupted),
    (HOME, "launcher_after_exit", Comes::Completed),
    (LAPTOP, "before_send", Comes::Completed),
    (LAPTOP, "after_send", Comes::Completed),
    (LAPTOP, "before_commit:3", Comes::Either),
    (LAPTOP, "after_commit:3", Comes::Either),
    (LAPTOP, "before_commit:6", Comes::Either),
    (LAPTOP, "after_commit:6", Comes::Either),
];

/// A worker that leaves a line when it begins and one when it ends.
pub const WORKER: &str = "echo \"start $SHROOMS_TASK\" >> \"$RUNS\"
sleep 0.1
echo \"end $SHROOMS_TASK\" >> \"$RUNS\"
echo \"result of $SHROOMS_TASK\"";

/// An asker: given a task `WORKER MID`, it asks that worker under that message id; given a
/// result, it leaves a line.
pub const ASKER: &str = "if [ \"$SHROOMS_KIND\" = result ]; then
  echo \"$SHROOMS_TASK $SHROOMS_STATE ${SHROOMS_REPEAT:-0}\" >> \"$TOLD\"
  exit 0
fi
read -r worker mid
\"$PROGRAM\" a2a send --id \"$mid\" \"homeserver/$worker\" 'please' && echo \"$mid\" >> \"$ACKED\"";

/// Two machines with an asker on the one and workers on the other, not started yet.
pub fn two_machines(workers: &[&str], askers: &[&str]) -> (Lab, Sessions) {
    two_machines_with(workers, askers, WORKER)
}

/// The same with other workers.
pub fn two_machines_with(workers: &[&str], askers: &[&str], worker: &str) -> (Lab, Sessions) {
    let lab = Lab::idle(&["laptop", "homeserver"]);
    let with = |name: &str, body: &str| {
        let vars = ["RUNS", "TOLD", "ACKED", "GO"].map(|v| format!("{v}='{}'", lab.path(&v.to_lowercase()).display()));
        lab.script(name, &format!("{}\nPROGRAM='{PROGRAM}'\n{body}", vars.join("\n")))
    };
    let sessions = Sessions {
        worker: with("worker.sh", worker),
        asker: with("asker.sh", ASKER),
        dir: lab.dir.path().to_path_buf(),
        workers: workers.iter().map(|w| w.to_string()).collect(),
        askers: askers.iter().map(|a| a.to_string()).collect(),
    };
    (lab, sessions)
}

pub struct Sessions {
    worker: String,
    asker: String,
    dir: PathBuf,
    workers: Vec<String>,
    askers: Vec<String>,
}

impl Sessions {
    /// Adds all sessions, whatever crashes meanwhile.
    pub fn add(&self, lab: &mut Lab) {
        for name in &self.workers {
            let body = json!({"name": name, "dir": self.dir, "command": [self.worker]});
            insist(&mut lab[HOME], "/v1/sessions", &body);
        }
        for name in &self.askers {
            let body = json!({"name": name, "dir": self.dir, "harness": "scripted", "command": [self.asker]});
            insist(&mut lab[LAPTOP], "/v1/sessions", &body);
        }
    }
}

/// Asks until there is an answer, starting the daemon again as often as it has crashed.
pub fn insist(machine: &mut Machine, path: &str, body: &Value) {
    poll(&format!("{path} on {}", machine.name), || {
        revive(machine);
        let answer = machine.post(path, body);
        // 409: an earlier try had been kept before the crash.
        matches!(answer.status, 200..=299 | 409)
    });
}

/// Starts a daemon again that has crashed.
pub fn revive(machine: &mut Machine) {
    if machine.has_ended() {
        let before = bearing(&machine.state);
        machine.start();
        let left: Vec<i32> = bearing(&machine.state).into_iter().filter(|pid| before.contains(pid)).collect();
        assert!(left.is_empty(), "{left:?} of before the crash are still there\n{}", machine.log());
    }
}

#[test]
fn a_crash_at_any_named_point_loses_nothing_and_runs_nothing_twice() {
    let known: Vec<&str> =
        shrooms_engine::CRASH_POINTS.iter().chain(shrooms_runner::crash::POINTS.iter()).copied().collect();
    let tested: Vec<&str> = POINTS.iter().map(|(_, p, _)| p.split(':').next().unwrap()).collect();
    for point in known.iter().filter(|p| !p.ends_with("_settle")) {
        assert!(tested.contains(point), "no case for the crash point {point}");
    }
    for (who, point, comes) in POINTS {
        one_crash(who, point, comes, None);
    }
}

#[test]
fn a_crash_while_the_last_crash_is_settled_is_no_different() {
    for point in ["before_settle", "after_settle"] {
        one_crash(HOME, "launcher_after_started", Comes::Interrupted, Some(point));
        one_crash(HOME, "launcher_before_started", Comes::Completed, Some(point));
        one_crash(HOME, "exit_seen", Comes::Completed, Some(point));
    }
}

fn one_crash(who: usize, point: &str, comes: Comes, then: Option<&str>) {
    let (mut lab, sessions) = two_machines(&["w"], &["a"]);
    let once = lab.path("once");
    let at = format!("{point}@{}", once.display());
    let also = then.map(|p| format!("{p}@{}", lab.path("then").display()));
    let at = also.map_or(at.clone(), |also| format!("{at},{also}"));
    let other = 1 - who;
    lab[other].start();
    lab[who].spawn(&[("SHROOMS_CRASH_AT", &at)]);
    sessions.add(&mut lab);
    let job = json!({"to": "laptop/a", "id": "job", "text": "w m1"});
    insist(&mut lab[LAPTOP], "/v1/asks", &job);
    let tried_again = std::cell::Cell::new(false);
    poll(&format!("{point} happened, and the result was told"), || {
        if lab[who].has_ended() {
            let env: &[(&str, &str)] = if then.is_some() { &[("SHROOMS_CRASH_AT", &at)] } else { &[] };
            let before = bearing(&lab[who].state);
            lab[who].spawn(env);
            poll("it answers, or crashes again", || lab[who].has_ended() || lab[who].get("/v1/status").status == 200);
            let left: Vec<i32> = bearing(&lab[who].state).into_iter().filter(|p| before.contains(p)).collect();
            assert!(left.is_empty(), "{point}: {left:?} of before the crash are still there");
        }
        // The job of the asker itself may be what the crash cut off: then it is given once more.
        let cut = lab[LAPTOP].get("/v1/tasks/a%3Ajob");
        if cut.status == 200 && state(&cut.json()["task"]) == "failed" && !tried_again.replace(true) {
            insist(&mut lab[LAPTOP], "/v1/asks", &json!({"to": "laptop/a", "id": "job-2", "text": "w m1"}));
        }
        let then_too = then.is_none() || lab.path("then").exists();
        once.exists() && then_too && !lab.lines("told").is_empty()
    });
    let id = "w:m1";
    let task = lab[HOME].outcome(id);
    let starts = lab.lines("runs").iter().filter(|l| **l == format!("start {id}")).count();
    let ends = lab.lines("runs").iter().filter(|l| **l == format!("end {id}")).count();
    let case = format!("{point}: {} '{}', {starts} starts, {ends} ends", state(&task), text(&task));
    println!("{case}");
    match state(&task).as_str() {
        "completed" => {
            assert_eq!((starts, ends), (1, 1), "{case}");
            assert_eq!(text(&task), format!("result of {id}"), "{case}");
            assert_ne!(comes, Comes::Interrupted, "{case}");
        }
        "failed" => {
            assert!(text(&task).starts_with("interrupted"), "{case}");
            assert!(starts <= 1, "{case}");
            assert_ne!(comes, Comes::Completed, "{case}");
        }
        other => panic!("{point}: the task is {other}"),
    }
    let told = lab.lines("told");
    let expected = format!("homeserver/{id} {} 0", state(&task));
    assert_eq!(told.iter().filter(|l| **l == expected).count(), 1, "{case}: told {told:?}");
    if who == HOME {
        assert_eq!(told.len(), 1, "{case}: told {told:?}");
    }
}
