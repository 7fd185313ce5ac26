//! The main job: a session on one machine asks one on another and gets the answer; what the seed's
//! pages show works as written there.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::http;
use crate::lab::{Lab, PROGRAM, bearing, message, poll, state, text};

/// The message id that the seed's examples name.
const SEED_ID: &str = "cli-20261008T091502-3f9a1c2e";

fn git(dir: &Path, args: &[&str]) {
    let who = ["-c", "user.name=T", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main"];
    let status = Command::new("git").args(who).args(args).current_dir(dir).status().unwrap();
    assert!(status.success(), "git {args:?}");
}

#[test]
fn demo_once_gives_the_lines_as_the_result_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (repo, tmp) = (dir.path().join("repo"), dir.path().join("tmp"));
    std::fs::create_dir(&repo).unwrap();
    std::fs::create_dir(&tmp).unwrap();
    git(&repo, &["init", "-q"]);
    for n in 1..=5 {
        git(&repo, &["commit", "-q", "--allow-empty", "-m", &format!("Commit number {n}")]);
    }
    let lines = Command::new("git").args(["log", "--oneline", "-5"]).current_dir(&repo).output().unwrap();
    let lines = String::from_utf8(lines.stdout).unwrap();
    assert_eq!(lines.lines().count(), 5);
    let demo = |args: &[&str]| {
        let output = Command::new(PROGRAM).args(args).current_dir(&repo).env("TMPDIR", &tmp).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, err) = demo(&["demo", "--once", "--", "git", "log", "--oneline", "-5"]);
    assert_eq!(code, Some(0), "{out}\n{err}");
    assert!(out.contains(lines.trim_end()), "the five lines are the result:\n{out}");
    for word in ["submitted", "working", "completed", "stored", "delivered", "started", "ended", "laptop/webapp"] {
        assert!(out.contains(word), "no '{word}' in:\n{out}");
    }
    let (code, out, _) = demo(&["demo", "--once", "--", "false"]);
    assert_eq!(code, Some(2), "{out}");
    let left: Vec<_> = std::fs::read_dir(&tmp).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    poll("no process of the demo is left", || bearing(&tmp).is_empty());
}

#[test]
fn ctrl_c_ends_a_demo_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = std::fs::File::create(dir.path().join("log")).unwrap();
    let tmp = dir.path().join("tmp");
    std::fs::create_dir(&tmp).unwrap();
    let mut demo = Command::new(PROGRAM)
        .args(["demo", "--", "sleep", "600"])
        .current_dir(dir.path())
        .env("TMPDIR", &tmp)
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    let said = || std::fs::read_to_string(dir.path().join("log")).unwrap();
    poll("the demo's task works", || said().contains("working"));
    let pid = rustix::process::Pid::from_raw(demo.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(0), "{}", said());
    let left: Vec<_> = std::fs::read_dir(&tmp).unwrap().flatten().map(|e| e.path()).collect();
    assert!(left.is_empty(), "{left:?}");
    poll("no process of the demo is left", || bearing(&tmp).is_empty());
}

#[test]
fn the_seeds_shell_examples_work_as_written_across_two_machines() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (laptop, home) = (&lab[0], &lab[1]);
    // Says that it is blocked when it gets a task with a question mark in it, and what it was
    // answered when it is.
    let review = lab.script(
        "review.sh",
        &format!(
            "read -r text\ncase \"$SHROOMS_KIND $text\" in\n\
             task*branch*) exec {PROGRAM} a2a update \"$SHROOMS_TASK\" blocked 'Which branch?';;\n\
             task*wait*) sleep 600;;\n\
             *) echo \"$SHROOMS_KIND: $text\";; esac"
        ),
    );
    home.add("review", lab.dir.path(), &[&review]);

    let said = laptop.cli(&["a2a", "list"]);
    assert_eq!(said.code, 0, "{said:?}");
    let line = format!("homeserver/review\tcommand, idle, in {}", lab.dir.path().display());
    assert!(said.out.lines().any(|l| l == line), "{said:?}");

    let said = laptop.cli(&["a2a", "send", "--wait", "homeserver/review", "Is the nightly build green?"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains(": completed\n\ntask: Is the nightly build green?"), "{said:?}");
    assert!(said.out.starts_with("task homeserver/review:cli-"), "{said:?}");

    let said = laptop.cli(&["a2a", "send", "--title", "Nightly build", "homeserver/review", "Is it green?"]);
    assert_eq!(said.code, 0, "{said:?}");
    let id = said.out.trim().strip_prefix("homeserver/").expect(&said.out).to_string();
    assert_eq!(home.outcome(&id)["metadata"]["shrooms/title"], "Nightly build");

    // The task that the examples name, made first; it asks something back.
    let reference = format!("homeserver/review:{SEED_ID}");
    let said = laptop.cli(&["a2a", "send", "--wait", "--id", SEED_ID, "homeserver/review", "Is the branch fine?"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.out.trim_end(), format!("task {reference}: input-required\n\nWhich branch?"));
    let said = laptop.cli(&["a2a", "reply", "--wait", &reference, "Yes, main."]);
    assert_eq!(
        (said.code, said.out.trim_end()),
        (0, format!("task {reference}: completed\n\nanswer: Yes, main.").as_str()),
        "{said:?}"
    );
    let said = laptop.cli(&["a2a", "get", &reference]);
    assert!(said.code == 0 && said.out.contains("answer: Yes, main."), "{said:?}");
    let said = laptop.cli(&["a2a", "ack", &reference]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(home.task(&format!("review:{SEED_ID}"))["metadata"]["shrooms/acknowledged"], true);
    // What is final stays so.
    let said = laptop.cli(&["a2a", "cancel", &reference]);
    assert!(said.code == 1 && said.err.contains("already completed"), "{said:?}");

    let said = laptop.cli(&["a2a", "send", "--id", "long", "homeserver/review", "wait"]);
    assert_eq!(said.out.trim(), "homeserver/review:long", "{said:?}");
    poll("it works", || state(&home.task("review:long")) == "working");
    let said = laptop.cli(&["a2a", "cancel", "homeserver/review:long"]);
    assert!(said.code == 0 && said.out.contains("canceled"), "{said:?}");
    let said = laptop.cli(&["a2a", "get", "homeserver/review:long"]);
    assert!(said.code == 0 && said.out.contains(": canceled"), "{said:?}");

    // The worker's word, on its own machine and nowhere else.
    home.cli(&["session", "stop", "review"]);
    let said = laptop.cli(&["a2a", "send", "--id", "word", "homeserver/review", "count the problems"]);
    assert_eq!(said.code, 0, "{said:?}");
    let said = laptop.cli(&["a2a", "update", "homeserver/review:word", "done", "Two"]);
    assert!(said.code == 1, "{said:?}");
    let said = home.cli(&["a2a", "update", "review:word", "done", "Two problems: ..."]);
    assert_eq!(said.code, 0, "{said:?}");
    let said = laptop.cli(&["a2a", "get", "homeserver/review:word"]);
    assert!(said.out.contains("Two problems: ..."), "{said:?}");
    let said = laptop.cli(&["a2a", "asks", "--all"]);
    assert!(said.code == 0 && said.out.contains("homeserver/review:word"), "{said:?}");
}

#[test]
fn the_seeds_minimal_request_is_answered() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    home.add("review", lab.dir.path(), &["sh", "-c", "echo main is on staging"]);
    let body = r#"{
 "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
 "params": {
 "message": {
 "messageId": "my-client-0001", "role": "ROLE_USER",
 "parts": [{"text": "Which branch is deployed on staging?"}],
 "metadata": {"shrooms/from": "laptop/my-script"}
 },
 "configuration": {"blocking": true}
 }
}"#;
    let url = format!("http://{}:{}/a2a/review", home.address, home.port);
    let from = home.address.to_string();
    let output = Command::new("curl")
        .args(["-s", "--interface", &from, &url, "-H", "Content-Type: application/json", "-d", body])
        .output()
        .unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let task = &answer["result"]["task"];
    assert_eq!(state(task), "completed", "{answer}");
    assert_eq!(text(task), "main is on staging");
    assert_eq!(task["id"], "review:my-client-0001");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "main is on staging");
}

#[test]
fn the_same_message_id_a_hundred_times_at_once_and_after_a_kill_is_one_run() {
    let mut lab = Lab::of(&["laptop", "homeserver"]);
    let counter = lab.path("runs");
    let command = lab.script("count.sh", &format!("echo ran >> '{}'\nsleep 0.2\necho done", counter.display()));
    lab[1].add("tests", lab.dir.path(), &[&command]);
    let from = lab[0].address;
    let ids: Vec<String> = std::thread::scope(|scope| {
        let home = &lab[1];
        let send = || home.rpc(from, "tests", "SendMessage", message("same", "run it"));
        let all: Vec<_> = (0..100).map(|_| scope.spawn(send)).collect();
        let id = |answer: serde_json::Value| answer["result"]["task"]["id"].as_str().expect("a task").to_string();
        all.into_iter().map(|t| id(t.join().unwrap())).collect()
    });
    assert!(ids.iter().all(|id| id == "tests:same"), "{ids:?}");
    assert_eq!(state(&lab[1].outcome("tests:same")), "completed");
    lab[1].kill();
    lab[1].start();
    for _ in 0..3 {
        let again = lab[1].rpc(from, "tests", "SendMessage", message("same", "run it"));
        assert_eq!(state(&again["result"]["task"]), "completed", "{again}");
    }
    assert_eq!(lab.lines("runs"), ["ran"]);
    let other = lab[1].rpc(from, "tests", "SendMessage", message("same", "run something else"));
    assert_eq!(other["error"]["code"], -32602, "{other}");
    assert!(other["error"]["message"].as_str().unwrap().contains("another text"), "{other}");
    assert_eq!(lab.lines("runs"), ["ran"]);
}

#[test]
fn exit_codes_and_errors_say_what_happened() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (laptop, home) = (&lab[0], &lab[1]);
    home.add("tests", lab.dir.path(), &["sh", "-c", "echo three fail; exit 3"]);
    let said = laptop.cli(&["a2a", "send", "--wait", "homeserver/tests", "run"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.out.contains(": failed\n\nexit code 3\n\nthree fail"), "{said:?}");

    let said = laptop.cli(&["a2a", "send", "homeserver/tets", "run"]);
    assert!(said.code == 1 && said.err.contains("did you mean") && said.err.contains("tests"), "{said:?}");
    let said = laptop.cli(&["a2a", "send", "homeservr/tests", "run"]);
    assert!(said.code == 1 && said.err.contains("homeserver"), "{said:?}");
    let said = laptop.cli(&["a2a", "send", "tests", "run"]);
    assert!(said.code == 0 && said.out.starts_with("homeserver/tests:"), "one fits: {said:?}");

    laptop.add("tests", lab.dir.path(), &["true"]);
    let said = laptop.cli(&["a2a", "send", "tests", "run"]);
    assert!(said.code == 1, "{said:?}");
    assert!(said.err.contains("laptop/tests") && said.err.contains("homeserver/tests"), "{said:?}");
    let said = home.cli(&["session", "say", "tests", "hello"]);
    assert!(said.code == 1 && said.err.contains("a2a send"), "{said:?}");
    assert!(home.get("/v1/tasks").json()["tasks"].as_array().unwrap().len() == 2);
}

#[test]
fn an_ask_for_a_machine_that_is_away_is_sent_when_it_returns_and_told_by_itself() {
    let mut lab = Lab::idle(&["laptop", "homeserver"]);
    lab[0].start();
    let said = lab[0].cli(&["a2a", "send", "--now", "homeserver/tests", "run"]);
    assert_eq!(said.code, 1, "{said:?}");
    let said = lab[0].cli(&["a2a", "send", "--id", "later", "homeserver/tests", "run"]);
    assert_eq!((said.code, said.out.trim()), (0, "homeserver/tests:later"), "{said:?}");
    assert!(said.err.contains("away"), "{said:?}");
    // The laptop is killed meanwhile; the ask is not lost.
    lab[0].kill();
    lab[1].start();
    lab[1].add("tests", lab.dir.path(), &["echo", "fine"]);
    lab[0].start();
    let ask = || lab[0].get("/v1/asks?all=1").json()["asks"][0].clone();
    poll("the result was reported", || ask()["state"] == "completed");
    assert_eq!(ask()["result"], "fine");
    let said = lab[0].cli(&["a2a", "get", "homeserver/tests:later"]);
    assert!(said.code == 0 && said.out.contains("fine"), "{said:?}");
}

#[test]
fn a_session_speaks_for_itself_alone() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    home.add("idle", lab.dir.path(), &["true"]);
    home.cli(&["session", "stop", "idle"]);
    home.cli(&["a2a", "send", "--id", "theirs", "idle", "something"]);
    let tries = lab.script(
        "tries.sh",
        &format!(
            "{PROGRAM} a2a update idle:theirs done mine 2>&1; echo \"code $?\"\n\
             {PROGRAM} session remove idle 2>&1; echo \"code $?\"\n\
             SHROOMS_AGENT_PASS= {PROGRAM} session remove idle 2>&1; echo \"code $?\"\n\
             SHROOMS_AGENT_PASS=0000 {PROGRAM} a2a list 2>&1; echo \"code $?\"\n\
             {PROGRAM} a2a reply idle:theirs 'in their name' 2>&1; echo \"code $?\"\n\
             {PROGRAM} a2a ack idle:theirs 2>&1; echo \"code $?\"\n\
             {PROGRAM} a2a cancel idle:theirs 2>&1; echo \"code $?\"\n\
             echo \"pass $SHROOMS_AGENT_PASS\""
        ),
    );
    home.add("tries", lab.dir.path(), &[&tries]);
    home.cli(&["a2a", "send", "--id", "t", "tries", "try"]);
    let said = text(&home.outcome("tries:t"));
    assert_eq!(said.matches("code 1").count(), 7, "{said}");
    assert_eq!(state(&home.task("idle:theirs")), "submitted");
    // Its secret is worth nothing once it is gone, and nothing in another's hands.
    let pass = said.lines().find_map(|l| l.strip_prefix("pass ")).unwrap();
    let with = [("Shrooms-Pass", pass)];
    assert_eq!(http::unix_with(&home.socket(), "GET", "/v1/sessions", &with, "").status, 403);
    assert_eq!(home.get("/v1/sessions").status, 200);
}

#[test]
fn another_machine_can_neither_finish_a_task_nor_report_on_a_strangers_ask() {
    let lab = Lab::of(&["laptop", "homeserver", "other"]);
    let home = &lab[1];
    home.add("idle", lab.dir.path(), &["true"]);
    home.cli(&["session", "stop", "idle"]);
    lab[0].cli(&["a2a", "send", "--id", "x", "homeserver/idle", "something"]);
    let update = json!({"state": "done", "summary": "mine"}).to_string();
    let to = (home.address, home.port).into();
    let answer = http::tcp(lab[0].address, to, "POST", "/v1/tasks/idle%3Ax", &update);
    assert_eq!(answer.status, 403, "{}", answer.body);
    let ask = lab[0].get("/v1/asks").json()["asks"][0]["ask"].clone();
    let report = json!({"ask": ask, "task": "idle:x", "seq": 99, "state": "completed", "text": "forged"}).to_string();
    let laptop = (lab[0].address, lab[0].port).into();
    let answer = http::tcp(lab[2].address, laptop, "POST", "/v1/asks/report", &report);
    assert_eq!(answer.status, 403, "{}", answer.body);
    assert_eq!(lab[0].get("/v1/asks").json()["asks"][0]["state"], "submitted");
    // An address that is no machine's is nobody: closed without an answer.
    let nobody = "127.0.0.77".parse().unwrap();
    assert_eq!(http::tcp(nobody, to, "GET", "/v1/sessions", "").status, 0);
}
