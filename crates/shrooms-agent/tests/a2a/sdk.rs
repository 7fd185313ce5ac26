//! The official clients of Python and JavaScript, through every operation, on both bindings: at a
//! machine's card as conformance kits get it, and at a session's card as people have it.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::{self, SESSION, World};

/// The packages of a client, as its install.sh leaves them.
struct Client {
    name: &'static str,
    /// The program, and what it is given first.
    words: Vec<PathBuf>,
}

/// Beside the workspace's other things that are made.
fn made(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(folder)
}

fn driver(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/a2a").join(file)
}

fn runs(program: &Path) -> bool {
    let said = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    said.is_ok_and(|status| status.success())
}

const NOT_INSTALLED: &str = "the client is not installed; cargo xtask test --suite a2a does it";

fn python() -> Result<Client, &'static str> {
    let (folder, python) = (made("a2a-python"), made("a2a-python/venv/bin/python"));
    if !runs(Path::new("python3")) {
        return Err("no python3 on this machine");
    }
    match folder.join("installed.txt").exists() && runs(&python) {
        true => Ok(Client { name: "python", words: vec![python, driver("python/client.py")] }),
        false => Err(NOT_INSTALLED),
    }
}

fn node() -> Result<Client, &'static str> {
    let folder = made("a2a-node");
    if !runs(Path::new("node")) {
        return Err("no node on this machine");
    }
    match folder.join("installed.json").exists() {
        true => Ok(Client {
            name: "node",
            words: vec!["node".into(), driver("node/client.mjs"), "--packages".into(), folder],
        }),
        false => Err(NOT_INSTALLED),
    }
}

/// A machine at 127.0.0.1: the clients come from there.
fn reachable(profile: &[&str], session: &str) -> World {
    let mut world = World { lab: world::idle() };
    world.lab.move_to(0, IpAddr::V4(Ipv4Addr::LOCALHOST), &[]);
    world.lab[0].port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.lab[0].with(profile);
    world.lab[0].start();
    world.add(session, serde_json::json!({}));
    world
}

/// Every step of the client, at both cards at once.
fn drive(test: &str, client: Result<Client, &'static str>, binding: &'static str) {
    let client = match client {
        Ok(client) => client,
        Err(why) => return println!("SKIPPED: {test}: {why}"),
    };
    let for_kits = reachable(&["--test-profile", SESSION, "--capabilities", "all"], SESSION);
    let plain = reachable(&[], "w");
    let cards = [
        ("the machine's card", format!("http://127.0.0.1:{}", for_kits.lab[0].port)),
        ("a session's card", format!("http://127.0.0.1:{}/a2a/w/", plain.lab[0].port)),
    ];
    let running = cards.map(|(what, card)| {
        let child = Command::new(&client.words[0])
            .args(&client.words[1..])
            .args(["--card", &card, "--binding", binding])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        (what, child)
    });
    for (what, child) in running {
        let output = child.wait_with_output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let steps: Vec<Value> = out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let failed: Vec<&Value> = steps.iter().filter(|step| step["ok"] != true).collect();
        let name = client.name;
        assert!(failed.is_empty() && output.status.success(), "{name} {binding} at {what}: {failed:?}\n{out}{err}");
        // A driver that gives up early says so by its exit code; this is against one that does nothing.
        assert!(steps.len() >= 15, "{name} {binding} at {what}: {} steps", steps.len());
    }
}

#[test]
fn the_python_client_over_json_rpc() {
    drive("the_python_client_over_json_rpc", python(), "JSONRPC");
}

#[test]
fn the_python_client_over_http_json() {
    drive("the_python_client_over_http_json", python(), "HTTP+JSON");
}

#[test]
fn the_javascript_client_over_json_rpc() {
    drive("the_javascript_client_over_json_rpc", node(), "JSONRPC");
}

#[test]
fn the_javascript_client_over_http_json() {
    drive("the_javascript_client_over_http_json", node(), "HTTP+JSON");
}
