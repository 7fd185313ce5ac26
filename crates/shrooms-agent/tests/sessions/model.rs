//! The mock model: its rules, which say what the models do, and what the harnesses sent to it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::http;
use crate::seen::Request;

/// Ends with its stdin, whatever becomes of the test.
pub struct Model {
    pub url: String,
    address: SocketAddr,
    log: PathBuf,
    child: Child,
    _stdin: ChildStdin,
}

/// Where the model's prompt holds `pattern`, it goes through these steps, one for each request.
pub fn rule(pattern: &str, steps: &[Vec<Value>]) -> Value {
    json!({"match": pattern, "steps": steps})
}

pub fn say(text: &str) -> Value {
    json!({"say": text})
}

pub fn shell(command: &str) -> Value {
    json!({"shell": command})
}

/// One of the tools that this program gives to its sessions.
pub fn tool(name: &str, input: Value) -> Value {
    json!({"mcp": format!("shrooms.{name}"), "input": input})
}

/// The worker's word on a task.
pub fn update(task: &str, state: &str, summary: &str) -> Value {
    tool("task_update", json!({"task": task, "state": state, "summary": summary}))
}

impl Model {
    pub fn start(script: &Path, log: &Path) -> Result<Model, String> {
        let mut child = Command::new("python3")
            .arg(script)
            .args(["--port", "0", "--exit-with-stdin", "--log"])
            .arg(log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("no python3: {e}"))?;
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let url = line.split_whitespace().last().unwrap_or_default().to_owned();
        let address = url.trim_start_matches("http://").parse();
        let address = address.map_err(|_| format!("the mock model does not start: {line:?}"))?;
        Ok(Model { url, address, log: log.to_path_buf(), child, _stdin: stdin })
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// From now on these rules hold; the first that fits counts.
    pub fn rules(&self, rules: &[Value]) {
        let script = json!({"rules": rules, "default": [[say("I have no script for that.")]]});
        let answer = http::tcp([127, 0, 0, 1].into(), self.address, "POST", "/mock/script", &script.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
    }

    /// All that the harnesses asked the model, in order, as the mock has it.
    pub fn entries(&self) -> Vec<Value> {
        let log = fs::read(&self.log).unwrap_or_default();
        log.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }

    /// What the harnesses asked the model, in order; without their side requests, which declare no
    /// tools.
    pub fn requests(&self) -> Vec<Request> {
        let lines = self.entries().into_iter();
        lines.filter(|line| line["tools"].as_array().is_some_and(|tools| !tools.is_empty())).map(Request::of).collect()
    }

    /// Those of one agent, `MACHINE/SESSION`.
    pub fn requests_of(&self, agent: &str) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.agent == agent).collect()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
