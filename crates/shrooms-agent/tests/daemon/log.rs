//! A session's log: pages, searches, streams that resume, exports; and the log lost in every way, with a
//! session that works on meanwhile.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::http;
use crate::lab::{Lab, Machine, PROGRAM, poll, state};

/// A session that says what it is asked, a line each.
fn speaker(lab: &Lab) {
    let script = lab.script("speak.sh", "cat; echo");
    lab[0].add("talk", lab.dir.path(), &[&script]);
}

/// Has the session say something, and waits until it has.
fn say(home: &Machine, id: &str, text: &str) {
    let said = home.cli(&["a2a", "send", "--wait", "--id", id, "talk", text]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(state(&home.task(&format!("talk:{id}"))), "completed");
}

fn log(home: &Machine, query: &str) -> Value {
    let answer = home.get(&format!("/v1/sessions/talk/log?{query}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()
}

fn texts(log: &Value) -> Vec<String> {
    log["lines"].as_array().unwrap().iter().map(|l| l["text"].as_str().unwrap().to_string()).collect()
}

fn until_said(home: &Machine, text: &str) {
    poll(&format!("{text:?} is in the log"), || {
        let answer = home.get("/v1/sessions/talk/log");
        answer.status == 200 && texts(&answer.json()).iter().any(|t| t == text)
    });
}

/// A stream that is read until it has said something.
struct Stream {
    stream: UnixStream,
    got: String,
}

impl Stream {
    fn open(home: &Machine, query: &str, headers: &str) -> Stream {
        let mut stream = UnixStream::connect(home.socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!("GET /v1/sessions/talk/events{query} HTTP/1.1\r\nHost: x\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Stream { stream, got: String::new() }
    }

    fn until(&mut self, what: &str) -> &mut Stream {
        let mut piece = [0; 4_096];
        while !self.got.contains(what) {
            let n = self.stream.read(&mut piece).unwrap();
            assert!(n > 0, "the stream ended without {what}: {}", self.got);
            self.got.push_str(&String::from_utf8_lossy(&piece[..n]));
        }
        self
    }

    /// Its end, in order.
    fn until_end(&mut self) {
        let mut rest = Vec::new();
        self.stream.read_to_end(&mut rest).unwrap();
        self.got.push_str(&String::from_utf8_lossy(&rest));
        assert!(self.got.ends_with("0\r\n\r\n"), "{}", self.got);
    }

    fn ids(&self) -> Vec<String> {
        self.got.lines().filter_map(|l| l.strip_prefix("id: ")).map(|id| id.trim().to_string()).collect()
    }

    fn numbers(&self) -> Vec<i64> {
        self.ids().iter().map(|id| id.split('-').next().unwrap().parse().unwrap()).collect()
    }
}

#[test]
fn lines_are_numbered_from_one_paged_searched_and_exported() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    speaker(&lab);
    let text = "Erste Zeile: Käse\nsecond line\nthird Line of the nightly build";
    say(home, "one", text);
    until_said(home, "third Line of the nightly build");
    let all = log(home, "after=0");
    let first = "added, by the owner";
    assert_eq!(texts(&all), std::iter::once(first).chain(text.lines()).collect::<Vec<_>>());
    let numbers: Vec<i64> = all["lines"].as_array().unwrap().iter().map(|l| l["seq"].as_i64().unwrap()).collect();
    assert_eq!((numbers, all["oldest"].as_i64(), all["newest"].as_i64()), (vec![1, 2, 3, 4], Some(1), Some(4)));
    assert_eq!(texts(&log(home, "before=4&limit=1")), ["second line"]);
    assert_eq!(texts(&log(home, "limit=1")), ["third Line of the nightly build"]);
    let found = home.get("/v1/sessions/talk/search?q=kase").json()["found"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "{found}");
    assert_eq!(
        (&found[0]["seq"], &found[0]["task"], &found[0]["kind"]),
        (&json!(2), &json!("talk:one"), &json!("words"))
    );
    let everywhere = home.get("/v1/search?q=NIGHT").json()["found"].clone();
    assert_eq!((&everywhere[0]["session"], &everywhere[0]["seq"]), (&json!("talk"), &json!(4)), "{everywhere}");
    for (path, part) in [
        ("/v1/sessions/talk/log?after=1&before=2", "say one of them"),
        ("/v1/sessions/talk/log?limit=0", "limit"),
        ("/v1/sessions/talk/search?q=%2B", "no word"),
        ("/v1/sessions/talk/search?q=x&limit=201", "limit"),
        ("/v1/sessions/talk/events?after=x", "an event's id"),
        ("/v1/sessions/talk/export?format=pdf", "jsonl"),
        ("/v1/sessions/talk/history?before=noon", "before"),
    ] {
        let answer = home.get(path);
        assert!(answer.status == 400 && answer.body.contains(part), "{path}: {} {}", answer.status, answer.body);
    }
    for verb in ["log", "events", "search?q=x", "history", "export"] {
        assert_eq!(home.get(&format!("/v1/sessions/nobody/{verb}")).status, 404, "{verb}");
    }
    assert_eq!(home.get("/v1/sessions/talk/history").json(), json!({"history": []}), "a command has no conversation");

    // The command line.
    let shown = |args: &[&str]| {
        let said = home.cli(args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said.out
    };
    assert_eq!(shown(&["session", "log", "talk", "--limit", "2"]).lines().count(), 2);
    assert!(shown(&["session", "log", "talk", "--before", "3"]).contains("Käse"));
    assert!(shown(&["session", "log", "talk", "--search", "build night"]).starts_with("4\t"));
    assert!(shown(&["session", "search", "\"second line\""]).starts_with("talk\t3\t"));
    assert_eq!(shown(&["session", "log", "talk", "--earlier"]), "");
    let json: Value = serde_json::from_str(&shown(&["session", "log", "talk", "--json"])).unwrap();
    assert_eq!(json, log(home, ""));
    let jsonl = shown(&["session", "export", "talk", "--format", "jsonl"]);
    let lines: Vec<Value> = jsonl.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(Value::from(lines), all["lines"]);
    let file = lab.path("talk.md");
    let name = file.display().to_string();
    shown(&["session", "export", "talk", "--output", &name]);
    let written = fs::read_to_string(&file).unwrap();
    assert!(written.starts_with("# homeserver/talk\n") && written.contains("third Line"), "{written}");
    let again = home.cli(&["session", "export", "talk", "--output", &name]);
    assert!(again.code == 1 && again.err.contains("--force"), "{again:?}");
    shown(&["session", "export", "talk", "--output", &name, "--force", "--format", "jsonl"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), jsonl);
    let left: Vec<PathBuf> = fs::read_dir(lab.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert!(!left.iter().any(|p| p.display().to_string().contains("export-")), "{left:?}");
}

#[test]
fn a_stream_goes_on_where_it_was_after_a_kill_and_ends_with_the_daemon() {
    let mut lab = Lab::of(&["homeserver"]);
    speaker(&lab);
    say(&lab[0], "one", "one\ntwo");
    until_said(&lab[0], "two");
    let mut first = Stream::open(&lab[0], "?after=0", "");
    first.until("\"two\"");
    assert_eq!(first.numbers(), [1, 2, 3], "that it was added is the first line");
    say(&lab[0], "two", "three");
    first.until("\"three\"");
    let last = first.ids().pop().unwrap();
    assert!(last.starts_with("4-"), "{last}");
    assert_eq!(Stream::open(&lab[0], "?tail=2", "").until("\"three\"").numbers(), [3, 4]);
    lab[0].kill();
    lab[0].start();
    say(&lab[0], "three", "four\nfive");
    // The header beats the query, and a tail is for a first connection.
    let mut next = Stream::open(&lab[0], "?after=1&tail=1", &format!("Last-Event-ID: {last}\r\n"));
    next.until("\"five\"");
    assert_eq!(next.numbers(), [5, 6], "no gap, nothing twice");
    // What never was.
    let mut ahead = Stream::open(&lab[0], "?after=99", "");
    ahead.until("resync");
    assert_eq!(ahead.numbers(), [6]);
    let mut other = Stream::open(&lab[0], "?after=4-ffffffff.1", "");
    other.until("\"five\"");
    assert!(other.got.contains("resync"), "{}", other.got);
    assert_eq!(other.numbers(), [0, 1, 2, 3, 4, 5, 6], "all of this log");
    assert_eq!(lab[0].stop(), 0, "{}", lab[0].log());
    next.until_end();
    // Its lines are there after a clean end as well.
    lab[0].start();
    assert_eq!(log(&lab[0], "")["newest"], 6);
}

#[test]
fn the_command_line_follows_a_log_through_a_restart_and_ends_with_ctrl_c() {
    let mut lab = Lab::of(&["homeserver"]);
    speaker(&lab);
    say(&lab[0], "one", "one");
    until_said(&lab[0], "one");
    let out = lab.path("followed");
    let mut follow = Command::new(PROGRAM)
        .args(["session", "log", "talk", "--follow", "--json"])
        .env("SHROOMS_AGENT_STATE", &lab[0].state)
        .env_remove("SHROOMS_AGENT_SESSION")
        .env_remove("SHROOMS_AGENT_PASS")
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    poll("the first lines", || lab.lines("followed").len() == 2);
    lab[0].stop();
    lab[0].start();
    say(&lab[0], "two", "two");
    poll("the next line", || lab.lines("followed").len() == 3);
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(follow.id() as i32).unwrap(),
        rustix::process::Signal::INT,
    )
    .unwrap();
    assert_eq!(follow.wait().unwrap().code(), Some(130));
    let lines: Vec<Value> = lab.lines("followed").iter().map(|l| serde_json::from_str(l).unwrap()).collect();
    let seen: Vec<(i64, &str)> =
        lines.iter().map(|l| (l["seq"].as_i64().unwrap(), l["text"].as_str().unwrap())).collect();
    assert_eq!(seen, [(1, "added, by the owner"), (2, "one"), (3, "two")]);
}

/// `status` says this of the log, the daemon has warned, and the log says it where it begins.
fn check_said(home: &Machine, part: &str) {
    let said = |status: &Value| status["warnings"].to_string();
    poll(&format!("status says {part:?}"), || said(&home.get("/v1/status").json()).contains(part));
    assert!(home.cli(&["status"]).out.contains(part));
    assert!(home.log().lines().any(|l| l.contains("WARN") && l.contains(part)), "{}", home.log());
}

fn damaged(home: &Machine) -> Vec<String> {
    let names = fs::read_dir(&home.state).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|n| n.starts_with("log.db.damaged-") && !n.ends_with("-wal") && !n.ends_with("-shm")).collect()
}

#[test]
fn a_log_that_is_damaged_at_the_start_is_put_aside_and_said() {
    type Damage = fn(&Path);
    let damages: [Damage; 2] = [
        |p| {
            fs::write(p, "no database, and long enough to be looked at as one ".repeat(200)).unwrap();
            // All of it may still be in there.
            let _ = fs::remove_file(p.with_file_name("log.db-wal"));
        },
        |p| {
            fs::remove_file(p).unwrap();
            fs::create_dir(p).unwrap();
        },
    ];
    for damage in damages {
        let mut lab = Lab::of(&["homeserver"]);
        speaker(&lab);
        say(&lab[0], "one", "one");
        lab[0].stop();
        damage(&lab[0].state.join("log.db"));
        lab[0].start();
        say(&lab[0], "two", "two");
        until_said(&lab[0], "two");
        check_said(&lab[0], "begun anew");
        assert!(texts(&log(&lab[0], "")).iter().any(|t| t.contains("begun anew")), "a note in the new one");
        assert_eq!(damaged(&lab[0]).len(), 1);
    }
}

#[test]
fn a_log_that_is_lost_or_damaged_while_a_session_works_is_begun_anew_and_the_work_goes_on() {
    for damage in ["deleted", "pages", "directory"] {
        let lab = Lab::of(&["homeserver"]);
        let home = &lab[0];
        let go = lab.path("go");
        // Prints as it works, over all that happens to the log.
        let body =
            format!("n=0; until [ -e '{}' ]; do n=$((n+1)); echo tick $n; sleep 0.05; done; echo worked", go.display());
        let script = lab.script("work.sh", &body);
        home.add("talk", lab.dir.path(), &[&script]);
        home.cli(&["a2a", "send", "--id", "long", "talk", "x"]);
        until_said(home, "tick 3");
        let before = log(home, "limit=1");
        let mut stream =
            Stream::open(home, &format!("?after={}-{}", before["newest"], before["log"].as_str().unwrap()), "");
        stream.until("text/event-stream");
        let path = home.state.join("log.db");
        match damage {
            "pages" => {
                use std::os::unix::fs::FileExt;
                let file = fs::File::options().write(true).open(&path).unwrap();
                let garbage = vec![0xa5; 1 << 16];
                file.write_all_at(&garbage, 0).unwrap();
                let wal = fs::File::options().write(true).open(home.state.join("log.db-wal")).unwrap();
                wal.write_all_at(&garbage, 0).unwrap();
            }
            "directory" => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
            }
            _ => fs::remove_file(&path).unwrap(),
        }
        poll("the log is another one", || {
            let answer = home.get("/v1/sessions/talk/log?limit=1");
            answer.status == 200 && answer.json()["log"] != before["log"]
        });
        stream.until("resync");
        let ticks = || log(home, "limit=1")["newest"].as_i64().unwrap();
        let now = ticks();
        poll("lines are kept again", || ticks() > now + 3);
        check_said(home, "begun anew");
        assert!(texts(&log(home, "after=0")).iter().any(|t| t.contains("begun anew")), "{damage}");
        assert_eq!(state(&home.task("talk:long")), "working", "{damage}");
        fs::write(&go, "").unwrap();
        assert_eq!(state(&home.outcome("talk:long")), "completed", "{damage}");
        until_said(home, "worked");
        stream.until("worked");
        let found = home.get("/v1/sessions/talk/search?q=worked").json();
        assert_eq!(found["found"].as_array().unwrap().len(), 1, "{found}");
    }
}

/// A small disk, which goes with it.
struct Disk(PathBuf);

impl Disk {
    fn of(dir: &Path, size: &str) -> Result<Disk, String> {
        fs::create_dir(dir).unwrap();
        let disk = Disk(dir.to_path_buf());
        let name = dir.display().to_string();
        run("mount", &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", &name])?;
        Ok(disk)
    }

    fn remount(&self, how: &str) {
        run("mount", &["-o", &format!("remount,{how}"), &self.0.display().to_string()]).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("umount", &["-l", &self.0.display().to_string()]);
    }
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(args).output().map_err(|e| format!("{program}: {e}"))?;
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("{program} {args:?}: {}", said())) }
}

#[test]
fn while_the_logs_disk_is_full_or_read_only_sessions_go_on_and_lines_wait() {
    let test = "while_the_logs_disk_is_full_or_read_only_sessions_go_on_and_lines_wait";
    for (how, back, part) in [("size=1m", "size=64m", "disk is full"), ("ro", "rw,size=64m", "Read-only file system")] {
        let mut lab = Lab::idle(&["homeserver"]);
        // The log alone is on a disk of its own.
        let disk = match Disk::of(&lab.path("disk"), "1m") {
            Ok(disk) => disk,
            Err(why) => return println!("SKIPPED: {test}: {why}"),
        };
        fs::create_dir(&lab[0].state).unwrap();
        std::os::unix::fs::symlink(disk.0.join("log.db"), lab[0].state.join("log.db")).unwrap();
        disk.remount(how);
        lab[0].start();
        let script = lab.script("talk.sh", "read -r n; i=0; while [ $i -lt $n ]; do i=$((i+1)); echo $i line of some length to fill a disk with, over and over again; done; echo done $n");
        lab[0].add("talk", lab.dir.path(), &[&script]);
        say(&lab[0], "one", "8000");
        check_said(&lab[0], part);
        say(&lab[0], "two", "1");
        disk.remount(back);
        poll("it is well again", || lab[0].get("/v1/status").json()["warnings"].is_null());
        poll("what waited is written", || texts(&log(&lab[0], "")).iter().any(|t| t.contains("lost here")));
        say(&lab[0], "three", "2");
        until_said(&lab[0], "done 2");
        // Each line is there, or counted where it is missing.
        let mut lines = 0;
        let mut after = 0;
        loop {
            let page = log(&lab[0], &format!("after={after}&limit=10000"));
            let Some(last) = page["lines"].as_array().unwrap().last().cloned() else { break };
            after = last["seq"].as_i64().unwrap();
            for text in texts(&page) {
                lines += match text.strip_suffix("lost here: they came faster than the log could be written)") {
                    Some(lost) => lost.trim_start_matches('(').split(' ').next().unwrap().parse::<i64>().unwrap(),
                    None => 1,
                };
            }
        }
        // That it was added is a line, too.
        assert_eq!(lines, 1 + 8_000 + 1 + 2 + 3, "{how}");
        lab[0].kill();
    }
}

#[test]
fn a_device_that_may_read_reads_the_log_and_one_that_may_ask_does_not() {
    for (right, status) in [("read", 200), ("ask", 403)] {
        let mut lab = Lab::idle(&["laptop", "homeserver"]);
        fs::create_dir(&lab[1].state).unwrap();
        fs::write(lab[1].state.join("config.toml"), format!("mesh_devices = '{right}'\n")).unwrap();
        lab[1].start();
        let home = &lab[1];
        home.add("talk", lab.dir.path(), &["echo", "hello"]);
        let to = (home.address, home.port).into();
        for path in ["log", "search?q=hello", "history", "export"] {
            let answer = http::tcp(lab[0].address, to, "GET", &format!("/v1/sessions/talk/{path}"), "");
            assert_eq!(answer.status, status, "{right} {path}: {}", answer.body);
        }
        let all = http::tcp(lab[0].address, to, "GET", "/v1/search?q=hello", "");
        assert_eq!(all.status, status, "{right}: {}", all.body);
        if status == 403 {
            let stream = http::tcp(lab[0].address, to, "GET", "/v1/sessions/talk/events", "");
            assert_eq!(stream.status, 403, "{}", stream.body);
        }
    }
}
