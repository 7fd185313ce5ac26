//! A session is made only of what was seen to work: what could never work is refused within ten
//! seconds, with the reason, and nothing of it is in the list.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::model::{rule, say};
use crate::place::bearing;

/// Who adds a session hears by then.
const TOLD: Duration = Duration::from_secs(10);

/// A daemon whose Claude Code is this program; absent: none at all. Nothing of a login is in its
/// environment.
fn with(lab: &mut Lab, name: &str, script: Option<&str>) -> PathBuf {
    let program = lab.path(name);
    if let Some(script) = script {
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    lab[0].claude(&program);
    program
}

/// What `session add` says, and how soon; afterwards nothing of it is there.
#[track_caller]
fn refused(lab: &Lab, want: &[&str]) {
    let begun = Instant::now();
    let dir = lab[0].work.display().to_string();
    let said = lab[0].cli(&["session", "add", "review", "--harness", "claude", "--dir", &dir]);
    let took = begun.elapsed();
    println!("refused after {took:?}: {}", said.err.trim());
    assert!(said.code == 1 && took < TOLD, "{took:?} {said:?}");
    assert!(want.iter().all(|part| said.err.contains(part)), "{said:?} lacks one of {want:?}");
    let list = lab[0].get("/v1/sessions").json();
    assert_eq!(list["sessions"], json!([]), "nothing in the list");
    let run = fs::read_dir(lab[0].state.join("run")).into_iter().flatten().flatten();
    let left: Vec<_> = run.map(|e| e.file_name()).filter(|n| n.to_string_lossy().starts_with("lane-")).collect();
    assert!(left.is_empty(), "{left:?}");
    let daemon: Vec<i32> = bearing(&lab[0].state);
    assert_eq!(daemon.len(), 1, "the daemon alone: {daemon:?}");
}

#[test]
fn what_could_never_work_is_refused_in_time_and_leaves_nothing() {
    let test = "what_could_never_work_is_refused_in_time_and_leaves_nothing";
    let Some(mut lab) = Lab::idle(test, &["homeserver"]) else { return };
    let hello = r#"read line; echo '{"type":"control_response","response":{"subtype":"success","request_id":"hello","response":{}}}'"#;
    for (name, script, want) in [
        ("missing", None, &["Claude Code is not there", "install it"][..]),
        (
            "dies-at-once",
            Some("#!/bin/sh\necho 'no such option' >&2; exit 3".to_string()),
            &["exit code 3", "no such option"],
        ),
        (
            "dies-after-a-second",
            Some(format!("#!/bin/sh\n{hello}\nsleep 1\necho 'out of memory' >&2\nexit 9")),
            &["exit code 9", "out of memory"],
        ),
        ("dies-silently", Some(format!("#!/bin/sh\n{hello}\nsleep 1\nkill -9 $$")), &["signal 9"]),
        ("is-silent", Some("#!/bin/sh\nexec sleep 1000".to_string()), &["did not answer within 7 s"]),
        ("shows-nothing-of-it", Some("#!/bin/sh\nyes".to_string()), &["did not answer within 7 s"]),
    ] {
        let _program = with(&mut lab, name, script.as_deref());
        lab[0].start();
        refused(&lab, want);
        lab[0].kill();
    }
}

#[test]
fn a_claude_code_without_a_login_is_refused_and_with_one_is_said_what_is_not_known_yet() {
    let test = "a_claude_code_without_a_login_is_refused_and_with_one_is_said_what_is_not_known_yet";
    let Some(mut lab) = Lab::idle(test, &["homeserver"]) else { return };
    lab[0].login(false);
    lab[0].start();
    refused(&lab, &["not logged in", "ANTHROPIC_API_KEY"]);
    lab[0].kill();
    lab[0].login(true);
    lab[0].start();
    let body = json!({"name": "review", "dir": lab[0].work, "harness": "claude"});
    let begun = Instant::now();
    let answer = lab[0].post("/v1/sessions", &body);
    println!("proven and added after {:?}", begun.elapsed());
    assert_eq!(answer.status, 201, "{}", answer.body);
    let note = answer.json()["notes"][0].as_str().unwrap_or_default().to_string();
    assert!(note.contains("ANTHROPIC_API_KEY") && note.contains("first turn"), "{note}");
    let again = lab[0].post("/v1/sessions", &body);
    assert_eq!(again.status, 409, "{}", again.body);
}

fn git(dir: &Path, args: &[&str]) -> String {
    let said = Command::new("git").args(args).current_dir(dir).env("HOME", dir).output().unwrap();
    assert!(said.status.success(), "git {args:?}: {said:?}");
    String::from_utf8(said.stdout).unwrap()
}

#[test]
fn a_session_gets_a_worktree_of_its_own_and_what_comes_to_nothing_leaves_none() {
    let test = "a_session_gets_a_worktree_of_its_own_and_what_comes_to_nothing_leaves_none";
    let Some(mut lab) = Lab::idle(test, &["homeserver"]) else { return };
    let repo = lab[0].work.clone();
    fs::create_dir(repo.join("sub")).unwrap();
    fs::write(repo.join("sub/a.txt"), "one\n").unwrap();
    git(&repo, &["init", "-q", "-b", "main"]);
    git(&repo, &["add", "."]);
    git(&repo, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"]);
    // The repository's own programs are not run.
    let hook = repo.join(".git/hooks/post-checkout");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}", lab.word("hooked"))).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let add = |lab: &Lab, name: &str, more: Value| {
        let mut body = json!({"name": name, "dir": lab[0].work.join("sub"), "harness": "claude", "worktree": true});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        lab[0].post("/v1/sessions", &body)
    };
    let worktrees = |repo: &Path| git(repo, &["worktree", "list"]).lines().count();
    lab[0].login(false);
    lab[0].start();
    let answer = add(&lab, "fix", json!({}));
    assert!(answer.status == 500 || answer.status >= 400, "{}", answer.body);
    assert_eq!((worktrees(&repo), git(&repo, &["branch"]).lines().count()), (1, 1), "nothing is left of it");
    lab[0].kill();
    lab[0].login(true);
    lab[0].start();
    let answer = add(&lab, "fix", json!({}));
    assert_eq!(answer.status, 201, "{}", answer.body);
    let session = answer.json();
    let dir = PathBuf::from(session["dir"].as_str().unwrap());
    assert_eq!(
        (session["branch"].as_str(), dir.ends_with("worktrees/fix/sub")),
        (Some("shrooms/fix"), true),
        "{session}"
    );
    assert_eq!(fs::read_to_string(dir.join("a.txt")).unwrap(), "one\n");
    assert_eq!(git(&dir, &["branch", "--show-current"]).trim(), "shrooms/fix");
    assert!(!lab.path("hooked").exists(), "a hook was run");
    for (name, more, want) in [
        ("other", json!({"branch": "shrooms/fix"}), "could not make it"),
        ("other", json!({"branch": "-d"}), "cannot be a branch"),
        ("other", json!({"dir": "/"}), "in no git repository"),
        ("other", json!({"worktree": false, "branch": "b"}), "branch: is for a worktree"),
    ] {
        let answer = add(&lab, name, more);
        assert!(answer.status == 400 && answer.body.contains(want), "{}", answer.body);
    }
    assert_eq!(worktrees(&repo), 2);
    // What a daemon that is killed was making is undone by the next one.
    let slow = format!(
        "#!/bin/sh\ntouch {}; until [ -e {} ]; do sleep 0.05; done; exec cat",
        lab.word("smudging"),
        lab.word("go")
    );
    fs::write(lab.path("smudge"), slow).unwrap();
    fs::set_permissions(lab.path("smudge"), fs::Permissions::from_mode(0o755)).unwrap();
    git(&repo, &["config", "filter.slow.smudge", &lab.word("smudge")]);
    fs::write(repo.join(".git/info/attributes"), "*.txt filter=slow\n").unwrap();
    let begun = std::thread::scope(|s| {
        let adds = s.spawn(|| add(&lab, "cut", json!({})));
        poll("it is being checked out", || lab.path("smudging").exists());
        let pid = rustix::process::Pid::from_raw(lab[0].pid()).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        adds.join()
    });
    // What git had started goes on until it may end.
    lab.touch("go");
    assert!(begun.map_or(true, |answer| answer.status != 201), "it got no answer");
    lab[0].kill();
    git(&repo, &["config", "--unset", "filter.slow.smudge"]);
    lab[0].start();
    poll("it is undone", || worktrees(&repo) == 2 && git(&repo, &["branch"]).lines().count() == 2);
    assert_eq!(add(&lab, "cut", json!({})).status, 201);
    lab[0].good(&["session", "remove", "cut"]);
    // Its work outlives it, and says where it is when the name comes again.
    lab[0].good(&["session", "remove", "fix"]);
    assert!(dir.join("a.txt").exists());
    let answer = add(&lab, "fix", json!({}));
    assert!(answer.status == 400 && answer.body.contains("worktree remove"), "{}", answer.body);
}

#[test]
fn of_two_that_are_added_at_once_one_is_and_its_worktree_is_there() {
    let test = "of_two_that_are_added_at_once_one_is_and_its_worktree_is_there";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let repo = lab[0].work.clone();
    fs::write(repo.join("a.txt"), "one\n").unwrap();
    git(&repo, &["init", "-q", "-b", "main"]);
    git(&repo, &["add", "."]);
    git(&repo, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"]);
    for round in 0..10 {
        let name = format!("race{round}");
        let body = json!({"name": name, "dir": repo, "command": ["/bin/true"], "worktree": true});
        let add = || lab[0].post("/v1/sessions", &body).status;
        let both = std::thread::scope(|s| {
            let other = s.spawn(add);
            [add(), other.join().unwrap()]
        });
        let made = both.iter().filter(|status| **status == 201).count();
        assert!(made == 1 && both.contains(&409), "{both:?}");
        let dir = lab[0].session(&name)["dir"].as_str().unwrap().to_string();
        assert!(Path::new(&dir).join("a.txt").exists(), "{dir}");
    }
}

#[test]
fn two_sessions_in_one_directory_are_both_shown_with_a_warning() {
    let test = "two_sessions_in_one_directory_are_both_shown_with_a_warning";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    lab.model.rules(&[rule("hello", &[vec![say("Hello.")]])]);
    lab[0].add("one");
    assert_eq!(lab[0].session("one")["warning"], Value::Null);
    let dir = lab[0].work.display().to_string();
    let said = lab[0].cli(&["session", "add", "two", "--dir", &dir, "--", "true"]);
    assert!(said.code == 0 && said.err.contains("one works in the same directory"), "{said:?}");
    let warning = |name: &str| lab[0].session(name)["warning"].as_str().unwrap_or_default().to_string();
    assert!(warning("one").contains("two works") && warning("two").contains("one works"), "{}", warning("one"));
    lab[0].good(&["session", "remove", "two"]);
    assert_eq!(lab[0].session("one")["warning"], Value::Null);
}
