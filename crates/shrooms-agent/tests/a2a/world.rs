//! The machines of these tests: daemons whose sessions run the scripted worker, which does what the
//! ids of messages name.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::lab::{Lab, PROGRAM};
use crate::wire::Agent;

/// The session that is meant where none is named, on a machine for kits.
pub const SESSION: &str = "tck";

/// One machine; its sessions are scripted.
pub struct World {
    pub lab: Lab,
}

/// The worker is a program of the test kit; cargo puts it beside the daemon.
pub fn worker() -> String {
    let worker = PathBuf::from(PROGRAM).with_file_name("scripted");
    assert!(worker.exists(), "no {}: cargo build -p shrooms-testkit --bin scripted", worker.display());
    worker.display().to_string()
}

/// A machine as conformance kits get it (`--test-profile`), with one session.
pub fn for_kits(capabilities: &str) -> World {
    let mut world = World { lab: idle() };
    world.lab[0].with(&["--test-profile", SESSION, "--capabilities", capabilities]);
    world.lab[0].start();
    world.add(SESSION, json!({}));
    world
}

/// A machine as people have it.
pub fn plain(sessions: &[&str]) -> World {
    let mut world = World { lab: idle() };
    world.lab[0].start();
    for name in sessions {
        world.add(name, json!({}));
    }
    world
}

/// A machine that was not started yet.
pub fn idle() -> Lab {
    let lab = Lab::idle(&["laptop"]);
    // More tasks at once than two cores would have, and than agents may make in an hour.
    std::fs::create_dir(&lab[0].state).unwrap();
    let settings = "[limits]\nturns = 64\nagent_tasks_per_hour = 100000\n";
    std::fs::write(lab[0].state.join("config.toml"), settings).unwrap();
    lab
}

impl World {
    /// Adds a session of the scripted worker.
    pub fn add(&self, name: &str, more: Value) {
        let mut body = json!({"name": name, "dir": "/", "harness": "scripted", "command": [worker()]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = self.lab[0].post("/v1/sessions", &body);
        assert_eq!(made.status, 201, "{name}: {}", made.body);
    }

    /// What is at this path, for the machine's owner.
    pub fn at(&self, path: &str) -> Agent {
        let machine = &self.lab[0];
        let to = (machine.address, machine.port).into();
        Agent { from: machine.address, to, path: path.to_string(), like_the_kit: false }
    }

    /// A session.
    pub fn session(&self, name: &str) -> Agent {
        self.at(&format!("/a2a/{name}"))
    }

    /// The machine's own endpoint, spoken to as the kit does.
    pub fn kit(&self) -> Agent {
        Agent { like_the_kit: true, ..self.at("/a2a") }
    }
}
