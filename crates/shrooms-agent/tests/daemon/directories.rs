//! Meshes that a daemon tells: the real program beside fakes of shrooms and tailscaled, whose overlay
//! addresses are loopback ones here. What changes there is followed without a restart.

use std::net::IpAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use shrooms_testkit::daemons::{FakeShrooms, FakeTailscaled};

use crate::http;
use crate::lab::{Lab, message, poll, state, text};

/// A lab whose first machine, not started yet, asks the daemon at the path; and addresses of the lab.
fn lab_on(mesh: &str) -> (Lab, PathBuf, Vec<String>) {
    let mut lab = Lab::idle(&["laptop", "server", "third"]);
    let socket = lab.path("mesh.sock");
    lab[0].on_mesh(&["--mesh", mesh, "--socket", &socket.display().to_string()]);
    let addresses = lab.machines.iter().map(|machine| machine.address.to_string()).collect();
    (lab, socket, addresses)
}

impl Lab {
    fn status(&self) -> Value {
        self[0].get("/v1/status").json()
    }

    /// What the first machine answers to another address; 0 = it closed the connection.
    fn answers(&self, from: IpAddr) -> u16 {
        http::tcp(from, (self[0].address, self[0].port).into(), "GET", "/v1/sessions", "").status
    }

    /// Who the first machine takes an address for.
    fn takes_for(&self, from: IpAddr, id: &str) -> String {
        let sent = self[0].rpc(from, "echo", "SendMessage", message(id, "x"));
        sent["result"]["task"]["metadata"]["shrooms/from"].as_str().unwrap_or(&sent.to_string()).to_string()
    }
}

#[test]
fn a_daemon_that_is_there_before_its_mesh_joins_when_it_appears() {
    let (mut lab, socket, at) = lab_on("shrooms");
    lab[0].start();
    let status = lab.status();
    assert!(status["trouble"].as_str().unwrap().contains("no shrooms daemon answers"), "{status}");
    assert_eq!(status["addresses"], json!([]), "nothing is listened on in place of the mesh");
    let said = lab[0].cli(&["status"]);
    assert!(said.out.contains("no shrooms daemon answers"), "{said:?}");
    lab[1].start();
    lab[1].add("echo", lab.dir.path(), &["echo", "done"]);
    let daemon = FakeShrooms::at(&socket);
    daemon.joined("laptop", &[("home", &at[0])], &[("server", "home", &at[1])]);
    // A name that is unknown makes it look at once.
    let said = lab[0].cli(&["a2a", "send", "--wait", "server/echo", "hello"]);
    assert!(said.code == 0 && said.out.contains("done"), "{said:?}");
    let status = lab.status();
    assert_eq!(
        (&status["machine"], &status["mesh"], &status["trouble"]),
        (&json!("laptop"), &json!("home"), &json!(null))
    );
    poll("it listens on the address that it has now", || lab.status()["addresses"].to_string().contains(&at[0]));
    // Its name is the mesh's to give, also later.
    daemon.joined("desk", &[("home", &at[0])], &[("server", "home", &at[1])]);
    poll("it is called otherwise", || lab.status()["machine"] == "desk");
    let refused = || lab[0].post("/v1/sessions/none/rename", &json!({"name": "x"})).body;
    poll("its rules know it by that name", || refused().contains("'none' on desk"));
}

#[test]
fn a_peer_that_joins_is_known_at_once_when_it_calls() {
    let (mut lab, socket, at) = lab_on("shrooms");
    let daemon = FakeShrooms::at(&socket);
    daemon.joined("laptop", &[("home", &at[0])], &[]);
    lab[0].start();
    lab[0].add("echo", lab.dir.path(), &["echo", "done"]);
    daemon.joined("laptop", &[("home", &at[0])], &[("server", "home", &at[1])]);
    assert_eq!(lab.answers(lab[1].address), 200, "at its first call");
    assert_eq!(lab.takes_for(lab[1].address, "one"), "server.home");
    assert_eq!(lab.answers(lab[2].address), 0, "an address that is no peer's is nobody");
    // One of another identity with the name that is taken is not taken for the first.
    daemon.joined("laptop", &[("home", &at[0])], &[("server", "home", &at[2])]);
    poll("it is known", || lab.answers(lab[2].address) == 200);
    let thief = lab.takes_for(lab[2].address, "two");
    assert!(thief.starts_with("server-") && thief.ends_with(".home"), "{thief}");
    assert_eq!(lab.answers(lab[1].address), 0, "who is thrown out is nobody");
}

#[test]
fn a_mesh_daemon_that_restarts_stops_nothing() {
    let (mut lab, socket, at) = lab_on("shrooms");
    let mut daemon = FakeShrooms::at(&socket);
    daemon.joined("laptop", &[("home", &at[0])], &[("server", "home", &at[1])]);
    lab[0].start();
    lab[0].add("echo", lab.dir.path(), &["echo", "done"]);
    daemon.stop();
    assert_eq!(lab.answers(lab[2].address), 0, "who it cannot ask about is nobody");
    poll("it says why", || lab.status()["trouble"].as_str().is_some_and(|t| t.contains("no shrooms daemon answers")));
    let task = lab[0].rpc(lab[1].address, "echo", "SendMessage", message("one", "x"));
    assert_eq!(task["error"], json!(null), "{task}");
    assert_eq!(text(&lab[0].outcome("echo:one")), "done");
    daemon.joined("laptop", &[("home", &at[0])], &[("server", "home", &at[1]), ("third", "home", &at[2])]);
    daemon.resume();
    poll("it is there again", || lab.answers(lab[2].address) == 200);
    assert_eq!(lab.status()["trouble"], json!(null));
}

#[test]
fn a_tailscale_peer_that_is_renumbered_is_the_same_device() {
    let (mut lab, socket, at) = lab_on("tailscale");
    let daemon = FakeTailscaled::at(&socket);
    let me = ("nME", "laptop", at[0].as_str());
    daemon.up(me, &[("nSRV", "server", &at[1])]);
    lab[0].start();
    lab[0].add("echo", lab.dir.path(), &["echo", "done"]);
    assert_eq!(lab.takes_for(lab[1].address, "one"), "server.tailscale");
    daemon.up(me, &[("nSRV", "server", &at[2])]);
    assert_eq!(lab.takes_for(lab[2].address, "two"), "server.tailscale");
    poll("the old address is nobody's", || lab.answers(lab[1].address) == 0);
    assert_eq!(state(&lab[0].outcome("echo:one")), "completed");
}

#[test]
fn auto_is_loopback_until_a_mesh_appears() {
    let (mut lab, socket, at) = lab_on("auto");
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    lab[0].port = free;
    lab[0].start();
    let status = lab.status();
    assert!(status["notice"].as_str().unwrap().contains("this machine is alone"), "{status}");
    let mut daemon = FakeTailscaled::at(&socket);
    daemon.up(("nME", "laptop", &at[0]), &[("nSRV", "server", &at[1])]);
    poll("it is on the mesh", || lab.status()["mesh"] == "tailscale");
    poll("it listens there, and no longer on loopback", || {
        lab.status()["addresses"] == json!([format!("{}:{free}", at[0])])
    });
    assert!(lab.status()["notice"].as_str().unwrap().contains("may pose as any"), "loopback addresses are a lab's");
    daemon.stop();
    poll("it says so", || lab.status()["trouble"].as_str().is_some_and(|t| t.contains("no tailscale daemon")));
    assert_eq!(lab.status()["mesh"], "tailscale", "and never falls back to loopback");
}

#[test]
fn a_name_for_this_machine_is_the_meshs_to_give() {
    let (lab, socket, _) = lab_on("shrooms");
    let (state, socket) = (lab[0].state.display().to_string(), socket.display().to_string());
    let serve = |words: &[&str]| lab[0].cli(&[&["serve", "--state", &state], words].concat());
    let said = serve(&["--mesh", "shrooms", "--socket", &socket, "--me", "laptop"]);
    assert!(said.code != 0 && said.err.contains("leave --me out"), "{said:?}");
    let said = serve(&["--mesh", "loopback", "--socket", &socket]);
    assert!(said.code != 0 && said.err.contains("--socket is the mesh daemon's"), "{said:?}");
    let daemon = FakeShrooms::at(std::path::Path::new(&socket));
    daemon.joined("laptop", &[("home", "127.0.0.1")], &[]);
    let said = serve(&["--mesh", "shrooms", "--socket", &socket, "--meshes", "hom"]);
    assert!(said.code != 0 && said.err.contains("did you mean home?"), "{said:?}");
}
