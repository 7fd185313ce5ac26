//! Places that a test must make first: a network namespace with an IPv6 address, a small disk.
//! Both need root; without it the test says SKIPPED and is counted.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::lab::{Lab, message, poll, state, text};

fn run(program: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(args).output().map_err(|e| format!("{program}: {e}"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(said) } else { Err(format!("{program} {args:?}: {said}")) }
}

/// A network namespace of its own, with nothing but a loopback that has one more address.
struct Namespace(String);

impl Namespace {
    fn with(address: &str) -> Result<Namespace, String> {
        let name = format!("shrooms-{}", std::process::id());
        run("ip", &["netns", "add", &name])?;
        let made = Namespace(name);
        run("ip", &["-n", &made.0, "link", "set", "lo", "up"])?;
        run("ip", &["-n", &made.0, "-6", "addr", "add", &format!("{address}/128"), "dev", "lo", "nodad"])?;
        Ok(made)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        let _ = run("ip", &["netns", "del", &self.0]);
    }
}

#[test]
fn the_minimal_request_works_with_brackets_on_an_ipv6_address() {
    let address = "fd73:87ab:1ab0::7";
    let namespace = match Namespace::with(address) {
        Ok(namespace) => namespace,
        Err(why) => {
            println!("SKIPPED: the_minimal_request_works_with_brackets_on_an_ipv6_address: {why}");
            return;
        }
    };
    let mut lab = Lab::idle(&["homeserver"]);
    let ip: IpAddr = address.parse().unwrap();
    lab.settle("home", vec![(ip, ["ip", "netns", "exec", &namespace.0].map(str::to_string).to_vec())]);
    lab[0].start();
    lab[0].add("review", lab.dir.path(), &["echo", "main is on staging"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": {"messageId": "my-client-0001", "role": "ROLE_USER",
                    "parts": [{"text": "Which branch is deployed on staging?"}]},
        "configuration": {"blocking": true}}});
    let url = format!("http://{}/a2a/review", SocketAddr::new(ip, 7387));
    assert!(url.contains("[fd73:"), "{url}");
    let curl = ["-gs", &url, "-H", "Content-Type: application/json", "-d", &body.to_string()];
    let said = run("ip", &[&["netns", "exec", &namespace.0, "curl"], curl.as_slice()].concat()).unwrap();
    let answer: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(text(&answer["result"]["task"]), "main is on staging", "{said}");
}

/// A small disk.
struct Disk(PathBuf);

impl Disk {
    fn at(path: &Path, megabytes: u32) -> Result<Disk, String> {
        std::fs::create_dir_all(path).map_err(|e| e.to_string())?;
        let size = format!("size={megabytes}m,mode=0700");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", &path.display().to_string()])?;
        Ok(Disk(path.to_path_buf()))
    }

    /// Takes all the room there is.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.0.join("filler")).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("umount", &["-l", &self.0.display().to_string()]);
    }
}

#[test]
fn a_full_disk_refuses_new_work_and_loses_no_end_of_a_turn() {
    for killed in [false, true] {
        let mut lab = Lab::idle(&["laptop", "homeserver"]);
        let disk = match Disk::at(&lab[1].state, 12) {
            Ok(disk) => disk,
            Err(why) => {
                println!("SKIPPED: a_full_disk_refuses_new_work_and_loses_no_end_of_a_turn: {why}");
                return;
            }
        };
        lab[0].start();
        lab[1].start();
        let (go, runs) = (lab.path("go"), lab.path("runs"));
        let wait = format!(
            "echo ran >> '{}'\nwhile [ ! -e '{}' ]; do sleep 0.05; done\necho the end of $SHROOMS_TASK",
            runs.display(),
            go.display()
        );
        let wait = lab.script("wait.sh", &wait);
        lab[1].add("tests", lab.dir.path(), &[&wait]);
        lab[0].cli(&["a2a", "send", "--id", "one", "homeserver/tests", "x"]);
        poll("it works", || state(&lab[1].task("tests:one")) == "working");
        disk.fill();
        // Large texts, so that no room that SQLite has put aside is enough.
        let big = "x".repeat(900_000);
        let refused = |n: usize| {
            let sent = lab[1].rpc(lab[0].address, "tests", "SendMessage", message(&format!("big-{n}"), &big));
            sent["error"]["message"].as_str().map(str::to_string)
        };
        let said = (0..8).find_map(refused).expect("a full disk refuses");
        assert!(said.contains("full") && said.contains("room"), "{said}");
        std::fs::write(&go, "").unwrap();
        poll("the program has ended", || crate::lab::bearing(&lab[1].state).len() <= 1);
        assert_eq!(lab[1].get("/v1/status").status, 200, "it answers meanwhile");
        if killed {
            lab[1].kill();
            disk.free();
            lab[1].start();
        } else {
            disk.free();
        }
        let task = lab[1].outcome("tests:one");
        assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "the end of tests:one"), "{task}");
        let ask = || lab[0].get("/v1/asks?all=1").json()["asks"][0].clone();
        poll("the result was reported", || ask()["state"] == "completed");
        assert_eq!(lab.lines("runs").first().map(String::as_str), Some("ran"));
        let listed = lab[1].get("/v1/tasks").json();
        let first = listed["tasks"].as_array().unwrap().iter().filter(|t| t["id"] == "tests:one").count();
        assert_eq!(first, 1);
        lab[1].kill();
    }
}

#[test]
fn a_daemon_alone_answers_plain_curl_on_loopback_as_its_owner() {
    let dir = tempfile::tempdir().unwrap();
    let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let state = dir.path().join("state").display().to_string();
    let mut daemon = Command::new(crate::lab::PROGRAM)
        .args(["serve", "--state", &state, "--port", &port.to_string()])
        .stdin(std::process::Stdio::null())
        .stderr(std::fs::File::create(dir.path().join("log")).unwrap())
        .spawn()
        .unwrap();
    let url = format!("http://127.0.0.1:{port}/a2a/review");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {
        "message": {"messageId": "my-client-0001", "role": "ROLE_USER",
                    "parts": [{"text": "Which branch is deployed on staging?"}],
                    "metadata": {"shrooms/from": "laptop/my-script"}},
        "configuration": {"blocking": true}}});
    let add = json!({"name": "review", "dir": "/", "command": ["echo", "main is on staging"]}).to_string();
    let json_type = "Content-Type: application/json";
    let sessions = format!("http://127.0.0.1:{port}/v1/sessions");
    poll("it answers", || run("curl", &["-sf", &sessions]).is_ok());
    let added = run("curl", &["-s", &sessions, "-H", json_type, "-d", &add]);
    let said = run("curl", &["-s", &url, "-H", json_type, "-d", &body.to_string()]);
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let answer: serde_json::Value = serde_json::from_str(&said.unwrap()).unwrap_or_else(|e| panic!("{e}: {added:?}"));
    let task = &answer["result"]["task"];
    assert_eq!(text(task), "main is on staging", "{answer}");
    // What the message claims is not shown for this machine's own: it is the owner.
    assert_eq!(task["metadata"]["shrooms/from"], "the owner");
}
