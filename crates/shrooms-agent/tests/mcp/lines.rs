//! A client that writes and reads lines as they are, for what a well-behaved one never does.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::lab::{Machine, PROGRAM, poll};

/// The server, and its ends.
pub struct Lines {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Lines {
    /// A server for this machine's owner.
    pub fn of(machine: &Machine, env: &[(&str, &str)]) -> Lines {
        let mut child = Command::new(PROGRAM)
            .arg("mcp")
            .env("SHROOMS_AGENT_STATE", &machine.state)
            .env_remove("SHROOMS_AGENT_SESSION")
            .env_remove("SHROOMS_AGENT_PASS")
            .env_remove("SHROOMS_AGENT_LOG")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Lines { stdin: child.stdin.take(), child, stdout }
    }

    /// One line as it is.
    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}").unwrap();
        stdin.flush().unwrap();
    }

    /// The next line, which is a message of the protocol.
    pub fn read(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("not JSON ({e}): {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        message
    }

    /// A request, and what comes back.
    pub fn request(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string());
        let answer = self.read();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// The handshake, in this revision; what the server said.
    pub fn initialize(&mut self, version: &str) -> Value {
        let client = json!({"name": "lines", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client});
        let answer = self.request(0, "initialize", &params);
        self.write(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        answer["result"].clone()
    }

    /// Closes stdin and waits for the end: the exit code, and what stderr and the rest of stdout hold.
    pub fn end(mut self) -> (Option<i32>, String, String) {
        drop(self.stdin.take());
        let mut code = None;
        poll("the server ends", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        let (mut err, mut rest) = (String::new(), String::new());
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        self.stdout.read_to_string(&mut rest).unwrap();
        (code.and_then(|code| code.code()), err, rest)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
