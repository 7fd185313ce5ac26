//! The official clients of Python and JavaScript, through every operation, on both bindings: at a
//! machine's card as conformance kits get it, and at a session's card as people have it.

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::world::{self, SESSION, World};

/// An official SDK, as its install.sh leaves it.
pub struct Sdk {
    pub name: &'static str,
    pub program: PathBuf,
    /// What the program is given to drive the SDK's client through every operation, and to serve.
    client: Vec<PathBuf>,
    pub server: Vec<PathBuf>,
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

const NOT_INSTALLED: &str = "the SDK is not installed; cargo xtask test --suite a2a does it";

pub fn python() -> Result<Sdk, &'static str> {
    let (folder, python) = (made("a2a-python"), made("a2a-python/venv/bin/python"));
    if !runs(Path::new("python3")) {
        return Err("no python3 on this machine");
    }
    match folder.join("installed.txt").exists() && runs(&python) {
        true => Ok(Sdk {
            name: "python",
            program: python,
            client: vec![driver("python/client.py")],
            server: vec![driver("python/server.py")],
        }),
        false => Err(NOT_INSTALLED),
    }
}

pub fn node() -> Result<Sdk, &'static str> {
    let folder = made("a2a-node");
    if !runs(Path::new("node")) {
        return Err("no node on this machine");
    }
    match folder.join("installed.json").exists() {
        true => {
            let with = |file| vec![driver(file), "--packages".into(), folder.clone()];
            Ok(Sdk {
                name: "node",
                program: "node".into(),
                client: with("node/client.mjs"),
                server: with("node/server.mjs"),
            })
        }
        false => Err(NOT_INSTALLED),
    }
}

/// A machine at 127.0.0.1: the clients come from there.
fn reachable(profile: &[&str], session: &str) -> World {
    let mut world = World { lab: world::idle() };
    world.lab.settle("home", vec![(IpAddr::V4(Ipv4Addr::LOCALHOST), Vec::new())]);
    world.lab[0].port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    world.lab[0].with(profile);
    world.lab[0].start();
    world.add(session, serde_json::json!({}));
    world
}

/// Every step of the client, at both cards at once.
fn drive(test: &str, sdk: Result<Sdk, &'static str>, binding: &'static str) {
    let sdk = match sdk {
        Ok(sdk) => sdk,
        Err(why) => return println!("SKIPPED: {test}: {why}"),
    };
    let for_kits = reachable(&["--test-profile", SESSION, "--capabilities", "all"], SESSION);
    let plain = reachable(&[], "w");
    let cards = [
        ("the machine's card", format!("http://127.0.0.1:{}", for_kits.lab[0].port)),
        ("a session's card", format!("http://127.0.0.1:{}/a2a/w/", plain.lab[0].port)),
    ];
    let running = cards.map(|(what, card)| {
        let child = Command::new(&sdk.program)
            .args(&sdk.client)
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
        let name = sdk.name;
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
