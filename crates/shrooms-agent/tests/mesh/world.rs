//! Three machines, m1 to m3, on one mesh, `lab`, with what their sessions run.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::http;
use crate::lab::{Lab, PROGRAM, SOON, Said};
use crate::net::{Net, named};

pub const M1: usize = 0;
pub const M2: usize = 1;
pub const M3: usize = 2;

/// The label of the mesh.
pub const LABEL: &str = "lab";
pub const PORT: u16 = 7387;

/// Given lines `AGENT MESSAGE-ID`, it asks each agent; given a result, it leaves a line.
const ASKER: &str = "if [ \"$SHROOMS_KIND\" = result ]; then
  echo \"$SHROOMS_TASK $SHROOMS_STATE ${SHROOMS_REPEAT:-0}\" >> \"$LAB/told\"
  exit 0
fi
while read -r to mid; do \"$PROGRAM\" a2a send --id \"$mid\" \"$to\" please; done";

/// Keeps what it was given, works until it may end where its task's id says so, and ends.
const WORKER: &str = "cat > \"$LAB/given-$SHROOMS_TASK\"
echo \"start $SHROOMS_TASK\" >> \"$LAB/runs\"
case $SHROOMS_TASK in *slow*) until [ -e \"$LAB/go\" ]; do sleep 0.02; done;; esac
echo \"result of $SHROOMS_TASK\"";

/// The daemons end before the network does.
pub struct World {
    pub lab: Lab,
    pub net: Net,
}

impl World {
    /// Not started yet; `None`, said aloud, where it cannot be had.
    pub fn idle(test: &str) -> Option<World> {
        match Net::up(3) {
            Ok(net) => Some(World::over(net)),
            Err(why) => {
                println!("SKIPPED: {test}: {why}");
                None
            }
        }
    }

    /// Started, with the sessions m1/webapp, which asks, and m2/api and m3/db, which work.
    pub fn of(test: &str) -> Option<World> {
        let mut world = World::idle(test)?;
        for machine in [M1, M2, M3] {
            world.start(machine);
        }
        Some(world)
    }

    fn over(net: Net) -> World {
        let mut lab = Lab::idle(&["m1", "m2", "m3"]);
        lab.settle(LABEL, [M1, M2, M3].map(|m| (net.overlay(m), net.through(m))).to_vec());
        World { lab, net }
    }

    /// Starts a machine, with its session.
    pub fn start(&mut self, machine: usize) {
        self.lab[machine].start();
        let set = format!("LAB='{}'\nPROGRAM='{PROGRAM}'\n", self.lab.dir.path().display());
        let body = match machine {
            M1 => {
                let asker = self.lab.script("asker.sh", &format!("{set}{ASKER}"));
                json!({"name": "webapp", "dir": self.lab.dir.path(), "harness": "scripted", "command": [asker]})
            }
            other => {
                let worker = self.lab.script("worker.sh", &format!("{set}{WORKER}"));
                let name = if other == M2 { "api" } else { "db" };
                json!({"name": name, "dir": self.lab.dir.path(), "command": [worker], "framed": true})
            }
        };
        let made = self.lab[machine].post("/v1/sessions", &body);
        assert_eq!(made.status, 201, "{}: {}", named(machine), made.body);
    }

    /// Has the session of m1 ask: agents and message ids.
    pub fn ask(&self, job: &str, asks: &[(&str, &str)]) {
        let text: String = asks.iter().map(|(to, mid)| format!("{to} {mid}\n")).collect();
        let sent = self.lab[M1].post("/v1/asks", &json!({"to": "m1/webapp", "id": job, "text": text}));
        assert!((200..300).contains(&sent.status), "{}", sent.body);
    }

    /// What the session of m1 was told, in order.
    pub fn told(&self) -> Vec<String> {
        self.lab.lines("told")
    }

    /// How often a worker began on a task.
    pub fn runs(&self, task: &str) -> usize {
        self.lab.lines("runs").iter().filter(|line| **line == format!("start {task}")).count()
    }

    /// What the worker of a task was given to read.
    pub fn given(&self, task: &str) -> String {
        std::fs::read_to_string(self.lab.path(&format!("given-{task}"))).unwrap_or_default()
    }

    /// The workers that wait may end.
    pub fn go(&self) {
        std::fs::write(self.lab.path("go"), "").unwrap();
    }

    /// The owner of a machine asks and waits for the outcome, not for ever.
    pub fn send(&self, machine: usize, to: &str, mid: &str) -> Said {
        let within = SOON.as_secs().to_string();
        let words = [&within, PROGRAM, "a2a", "send", "--wait", "--id", mid, to, "please"];
        let mut command = Command::new("timeout");
        command.args(words).env("SHROOMS_AGENT_STATE", &self.lab[machine].state).stdin(Stdio::null());
        for key in ["SHROOMS_AGENT_SESSION", "SHROOMS_AGENT_PASS"] {
            command.env_remove(key);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }

    /// The record of m1 on an ask; null where there is none.
    pub fn record(&self, mid: &str) -> Value {
        let all = self.lab[M1].get("/v1/asks?all=1").json()["asks"].clone();
        all.as_array().and_then(|all| all.iter().find(|a| a["message_id"] == mid)).cloned().unwrap_or_default()
    }

    /// A task by its whole reference, as m1 shows it.
    pub fn seen(&self, reference: &str) -> Value {
        self.lab[M1].get(&format!("/v1/tasks/{}", http::segment(reference))).json()
    }

    /// Why a machine listens on none of its addresses; empty where it does.
    pub fn why_deaf(&self, machine: usize) -> String {
        let status = self.lab[machine].get("/v1/status").json();
        status["listening"][0]["why_not"].as_str().unwrap_or_default().to_string()
    }
}
