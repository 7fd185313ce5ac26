//! What was found by attacking the program, each as the test that now holds it.

use std::io::Write;
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::http;
use crate::lab::{Lab, bearing, message, poll, state, text};

#[test]
fn a_result_of_a_megabyte_of_short_lines_is_told_like_any_other() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (laptop, home) = (&lab[0], &lab[1]);
    let big = lab.script("big.sh", "yes a | head -c 1048576 > \"$SHROOMS_RESULT\"");
    home.add("big", lab.dir.path(), &[&big]);
    let said = laptop.cli(&["a2a", "send", "--id", "b", "homeserver/big", "x"]);
    assert_eq!(said.code, 0, "{said:?}");
    let ask = || laptop.get("/v1/asks?all=1").json()["asks"][0].clone();
    poll("it was reported", || ask()["state"] == "completed");
    assert_eq!(ask()["result"].as_str().unwrap().len(), (1 << 20) - 1, "whole, but for the last line's end");
    // The same as a request: all that a text may be, with every line's end written as two bytes.
    let cat = lab.script("cat.sh", "wc -c");
    home.add("count", lab.dir.path(), &[&cat]);
    let request = "a\n".repeat(1 << 19);
    let said = laptop.cli_in(&["a2a", "send", "--wait", "homeserver/count", "-"], lab.dir.path(), &request);
    assert!(said.code == 0 && said.out.contains("1048576"), "{} {}", said.code, said.err);
}

#[test]
fn a_connection_that_was_handed_on_by_a_process_that_died_is_nobodys() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: a_connection_that_was_handed_on_by_a_process_that_died_is_nobodys: no python3");
        return;
    }
    let body = json!({"name": "mine", "dir": "/", "command": ["true"]}).to_string();
    let program = format!(
        r#"
import os, signal, socket, sys
got = set()
for _ in range(60):
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    if os.fork() == 0:
        s = socket.socket(socket.AF_UNIX); s.connect({socket:?})
        socket.send_fds(b, [b"x"], [s.fileno()]); os.kill(os.getpid(), signal.SIGKILL)
    _, fds, _, _ = socket.recv_fds(a, 1, 1)
    os.wait()
    s = socket.socket(fileno=fds[0]); body = {body:?}.encode()
    s.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    got.add(s.recv(4096).split(b" ")[1].decode())
print(sorted(got))
"#,
        socket = home.socket().display().to_string(),
        body = body
    );
    let file = lab.path("hand.py");
    std::fs::write(&file, program).unwrap();
    home.add("hands", lab.dir.path(), &["python3", &file.display().to_string()]);
    home.cli(&["a2a", "send", "--id", "t", "hands", "x"]);
    let task = home.outcome("hands:t");
    assert_eq!(text(&task), "['403']", "{task}");
}

#[test]
fn a_neighbours_connections_do_not_lock_the_owner_or_others_out() {
    let lab = Lab::of(&["laptop", "homeserver", "other"]);
    let home = &lab[1];
    let held: Vec<TcpStream> = (0..400)
        .filter_map(|_| {
            let mut stream = http::connect(lab[0].address, (home.address, home.port).into())?;
            let head = "POST /a2a/x HTTP/1.1\r\nHost: homeserver\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{";
            // Those over its share are closed while we write.
            stream.write_all(head.as_bytes()).ok().map(|()| stream)
        })
        .collect();
    assert!(held.len() > 100);
    let begun = Instant::now();
    assert_eq!(home.get("/v1/sessions").status, 200);
    let others = http::tcp(lab[2].address, (home.address, home.port).into(), "GET", "/v1/sessions", "");
    assert_eq!(others.status, 200);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let huge = "POST /a2a/x HTTP/1.1\r\nHost: homeserver\r\nContent-Type: application/json\r\nContent-Length: 1000000000000000\r\nConnection: close\r\n\r\n{";
    assert_eq!(http::raw(lab[2].address, (home.address, home.port).into(), huge).status, 413);
}

#[test]
fn a_state_that_was_lost_is_not_taken_for_a_new_one() {
    let mut lab = Lab::of(&["homeserver"]);
    lab[0].add("a", lab.dir.path(), &["true"]);
    assert_eq!(lab[0].stop(), 0);
    let db = lab[0].state.join("state.db");
    assert!(std::fs::metadata(&db).unwrap().len() > 20_000, "all of it is in the one file after a clean end");
    let kept = std::fs::read(&db).unwrap();
    let serve = |lab: &Lab| {
        let mesh = format!("file:{}", lab.path("mesh.toml").display());
        lab[0].cli(&["serve", "--state", &lab[0].state.display().to_string(), "--mesh", &mesh, "--me", "homeserver"])
    };
    std::fs::write(&db, "").unwrap();
    let said = serve(&lab);
    assert!(said.code == 1 && said.err.contains("has held a state"), "{said:?}");
    std::fs::remove_file(&db).unwrap();
    let said = serve(&lab);
    assert!(said.code == 1 && said.err.contains("has held a state"), "{said:?}");
    assert!(!db.exists(), "nothing was made in its place");
    std::fs::write(&db, kept).unwrap();
    lab[0].start();
    assert_eq!(lab[0].get("/v1/sessions/a").status, 200);
}

#[test]
fn a_machine_serves_the_port_that_the_mesh_file_gives_it() {
    let mut lab = Lab::idle(&["homeserver"]);
    let mesh = lab.path("mesh.toml");
    let text = std::fs::read_to_string(&mesh).unwrap();
    std::fs::write(&mesh, text.replace("addresses", "port = 7999\naddresses")).unwrap();
    lab[0].port = 7999;
    lab[0].start_without_port();
    let card = http::tcp(lab[0].address, (lab[0].address, 7999).into(), "GET", "/.well-known/agent-card.json", "");
    assert_eq!(card.status, 200);
    // Its terminal goes: that ends it as a signal does, and not at once.
    assert_eq!(lab[0].hang_up(), 0, "{}", lab[0].log());
}

#[test]
fn a_copy_of_a_state_leaves_the_originals_work_alone() {
    let mut lab = Lab::of(&["homeserver", "copy"]);
    let go = lab.path("go");
    let body = format!("while [ ! -e '{}' ]; do sleep 0.02; done; echo whole", go.display());
    lab[0].add("a", lab.dir.path(), &[&lab.script("a.sh", &body)]);
    lab[0].cli(&["a2a", "send", "--id", "t", "a", "x"]);
    poll("it works", || state(&lab[0].task("a:t")) == "working");
    lab[1].kill();
    std::fs::remove_dir_all(&lab[1].state).unwrap();
    let from = lab[0].state.display().to_string();
    let copied = Command::new("cp").args(["-r", &from, &lab[1].state.display().to_string()]).status().unwrap();
    assert!(copied.success());
    lab[1].start();
    std::fs::write(&go, "").unwrap();
    let task = lab[0].outcome("a:t");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "whole"));
}

#[test]
fn a_program_that_removes_the_directory_of_its_result_has_still_ended_as_it_did() {
    let mut lab = Lab::of(&["homeserver"]);
    let script = lab.script("rm.sh", "rm -rf \"$(dirname \"$SHROOMS_RESULT\")\"; echo fine");
    lab[0].add("a", lab.dir.path(), &[&script]);
    lab[0].cli(&["a2a", "send", "--id", "t", "a", "x"]);
    let task = lab[0].outcome("a:t");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "fine"), "{task}");
    // Nothing of what has run stays on the disk, nor after a kill.
    lab[0].kill();
    lab[0].start();
    let left =
        || std::fs::read_dir(lab[0].state.join("run")).unwrap().flatten().flat_map(|e| std::fs::read_dir(e.path()));
    poll("no run is left behind", || {
        left().flatten().flatten().all(|e| !e.file_name().to_string_lossy().starts_with("turn-"))
    });
    assert!(bearing(&lab[0].state).len() <= 1);
}

#[test]
fn an_ask_that_was_refused_is_asked_anew_under_its_own_id_and_by_its_asker() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (laptop, home) = (&lab[0], &lab[1]);
    let said = laptop.cli(&["a2a", "send", "--id", "r", "homeserver/late", "x"]);
    assert!(said.code == 1 && said.err.contains("no session"), "{said:?}");
    home.add("late", lab.dir.path(), &["echo", "here now"]);
    let said = laptop.cli(&["a2a", "send", "--wait", "--id", "r", "homeserver/late", "x"]);
    assert!(said.code == 0 && said.out.contains("here now"), "{said:?}");
    // A session does not get what the owner asked under the same id.
    let script =
        lab.script("same.sh", &format!("{} a2a send --id r homeserver/late x 2>&1; echo code $?", crate::lab::PROGRAM));
    laptop.add("same", lab.dir.path(), &[&script]);
    laptop.cli(&["a2a", "send", "--id", "t", "same", "x"]);
    let said = text(&laptop.outcome("same:t"));
    assert!(said.contains("is that of an ask of the owner") && said.contains("code 1"), "{said}");
}

#[test]
fn a_machine_does_not_speak_to_others_in_the_name_of_a_device_that_is_not_the_owners() {
    let mut lab = Lab::idle(&["laptop", "homeserver", "other"]);
    std::fs::create_dir_all(&lab[0].state).unwrap();
    std::fs::write(lab[0].state.join("config.toml"), "[mesh_devices]\n'other.home' = 'read'").unwrap();
    for machine in &mut lab.machines {
        machine.start();
    }
    let home = &lab[1];
    home.add("a", lab.dir.path(), &["true"]);
    home.cli(&["session", "stop", "a"]);
    let laptop = (lab[0].address, lab[0].port).into();
    let body = json!({"to": "homeserver/a", "text": "x", "id": "forged"}).to_string();
    let answer = http::tcp(lab[2].address, laptop, "POST", "/v1/asks", &body);
    assert_eq!(answer.status, 403, "{}", answer.body);
    let answer = http::tcp(lab[2].address, laptop, "GET", "/v1/tasks/homeserver%2Fa%3Ax", "");
    assert_eq!(answer.status, 403, "{}", answer.body);
    assert_eq!(home.get("/v1/tasks").json()["tasks"], json!([]));
    let stopped = http::tcp(lab[2].address, (home.address, home.port).into(), "POST", "/v1/sessions/a/stop", "{}");
    assert_eq!(stopped.json()["why"], "by other.home", "{}", stopped.body);
}

#[test]
fn a_number_without_end_from_a_peer_stops_nothing() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (laptop, home) = (&lab[0], &lab[1]);
    home.add("a", lab.dir.path(), &["true"]);
    home.cli(&["session", "stop", "a"]);
    laptop.cli(&["a2a", "send", "--id", "x", "homeserver/a", "x"]);
    let ask = laptop.get("/v1/asks").json()["asks"][0]["ask"].clone();
    let report = |seq: u64, state: &str| {
        let body = json!({"ask": ask, "task": "a:x", "seq": seq, "state": state}).to_string();
        http::tcp(home.address, (laptop.address, laptop.port).into(), "POST", "/v1/asks/report", &body).status
    };
    assert_eq!(report(u64::from(u32::MAX), "working"), 400);
    assert_eq!(report(7, "working"), 204);
    let other = json!({"ask": ask, "task": "a:other", "seq": 8, "state": "completed"}).to_string();
    let answer = http::tcp(home.address, (laptop.address, laptop.port).into(), "POST", "/v1/asks/report", &other);
    assert_eq!(answer.status, 204, "it is about another task, and taken as nothing: {}", answer.body);
    let asks = laptop.get("/v1/asks").json();
    assert_eq!(asks["asks"][0]["state"], "working", "a task's id does not change: {asks}");
    let stream = http::unix(&laptop.socket(), "GET", "/v1/events?after=9223372036854775807&x", "");
    assert_eq!(stream.status, 400, "{}", stream.body);
    let sent = laptop.rpc(home.address, "nobody", "SendMessage", message("m", "x"));
    assert!(sent["error"].is_object());
    assert_eq!(laptop.get("/v1/status").status, 200);
}

#[test]
fn what_may_be_run_again_is_run_again_whoever_was_killed() {
    for launcher in [false, true] {
        let mut lab = Lab::of(&["homeserver"]);
        let (runs, go) = (lab.path("runs"), lab.path("go"));
        let body = format!(
            "echo \"ran ${{SHROOMS_REPEAT:-0}} $PPID\" >> '{}'; while [ ! -e '{}' ]; do sleep 0.02; done; echo done",
            runs.display(),
            go.display()
        );
        let command = lab.script("again.sh", &body);
        let body = json!({"name": "again", "dir": lab.dir.path(), "command": [command], "rerun_on_crash": true});
        assert_eq!(lab[0].post("/v1/sessions", &body).status, 201);
        lab[0].cli(&["a2a", "send", "--id", "t", "again", "x"]);
        poll("it runs", || lab.lines("runs").len() == 1);
        if launcher {
            let pid = lab.lines("runs")[0].split(' ').next_back().unwrap().parse().unwrap();
            crate::lab::kill(pid);
        } else {
            lab[0].kill();
            lab[0].start();
        }
        poll("it runs again, and knows it", || lab.lines("runs").get(1).is_some_and(|l| l.starts_with("ran 1")));
        std::fs::write(&go, "").unwrap();
        let task = lab[0].outcome("again:t");
        assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "done"), "{task}");
        assert_eq!(lab.lines("runs").len(), 2);
    }
}

#[test]
fn a_launcher_that_is_stopped_itself_does_not_block_its_session_and_no_dead_are_left() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    home.add(
        "a",
        lab.dir.path(),
        &[&lab.script("a.sh", "read -r how; [ \"$how\" = hold ] && { until [ -e held ]; do sleep 0.02; done; kill -STOP $PPID; sleep 600; }; echo fine")],
    );
    home.cli(&["a2a", "send", "--id", "one", "a", "hold"]);
    poll("it works", || state(&home.task("a:one")) == "working");
    // Not before: a launcher that is stopped before it has said that the program runs says nothing.
    std::fs::write(lab.path("held"), "").unwrap();
    let stopped = || {
        std::fs::read_dir("/proc").unwrap().flatten().any(|e| {
            let status = std::fs::read_to_string(e.path().join("status")).unwrap_or_default();
            status.contains("State:\tT") && status.contains(&format!("PPid:\t{}\n", home.pid()))
        })
    };
    poll("its launcher is stopped", stopped);
    assert_eq!(home.cli(&["a2a", "cancel", "a:one"]).code, 0);
    home.cli(&["a2a", "send", "--id", "two", "a", "x"]);
    let task = home.outcome("a:two");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "fine"), "{task}");
    let zombies = || {
        let status = |e: std::fs::DirEntry| std::fs::read_to_string(e.path().join("status")).unwrap_or_default();
        let of_home = format!("PPid:\t{}\n", home.pid());
        let all = std::fs::read_dir("/proc").unwrap().flatten().map(status);
        all.filter(|s| s.contains(&of_home) && s.contains("State:\tZ")).count()
    };
    poll("the dead are waited for", || zombies() == 0);
}
