//! The official client, in a process of its own: what it is told and what it says. Where node or
//! the packages are missing there is none, and the test says that it is skipped.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Machine, PROGRAM, SOON};

/// The revisions of the protocol: with `initialize` (2025-11-25 and before), and without (2026-07-28).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Handshake,
    Stateless,
}
pub use Dialect::{Handshake, Stateless};

impl Dialect {
    pub fn word(self) -> &'static str {
        match self {
            Handshake => "handshake",
            Stateless => "stateless",
        }
    }
}

/// A client with its server.
pub struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    events: Receiver<Value>,
    /// What came and was not asked for yet.
    held: Vec<Value>,
    next: u64,
    /// What the server said of itself.
    pub ready: Value,
}

/// What a tool answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Said {
    pub text: String,
    pub error: bool,
}

impl Said {
    /// The reference in the first line, `task REF: STATE`.
    #[track_caller]
    pub fn task(&self) -> String {
        let line = self.text.lines().next().unwrap_or_default();
        let task = line.strip_prefix("task ").and_then(|rest| rest.rsplit_once(": "));
        task.unwrap_or_else(|| panic!("no task in {self:?}")).0.to_owned()
    }

    #[track_caller]
    pub fn state(&self) -> String {
        let line = self.text.lines().next().unwrap_or_default();
        line.rsplit_once(": ").unwrap_or_else(|| panic!("no state in {self:?}")).1.to_owned()
    }

    /// What stands after the blank line.
    pub fn words(&self) -> &str {
        self.text.split_once("\n\n").map_or("", |(_, words)| words)
    }
}

/// Where the packages of the clients are, if they are.
pub fn packages() -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mcp-node");
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !node.is_ok_and(|status| status.success()) {
        return Err("no node on this machine".into());
    }
    match folder.join("installed.json").exists() {
        true => Ok(folder.canonicalize().unwrap()),
        false => Err("the clients are not installed; cargo xtask test --suite mcp does it".into()),
    }
}

/// The driver of the clients.
pub fn driver() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/node/drive.cjs")
}

impl Client {
    /// A client of this machine's owner; `None` = the test is skipped, and that was said.
    pub fn of(test: &str, dialect: Dialect, machine: &Machine) -> Option<Client> {
        Client::with(test, dialect, machine, &[])
    }

    /// The same, with more flags for the server.
    pub fn with(test: &str, dialect: Dialect, machine: &Machine, flags: &[&str]) -> Option<Client> {
        let folder = match packages() {
            Ok(folder) => folder,
            Err(why) => {
                println!("SKIPPED: {test}: {why}");
                return None;
            }
        };
        let mut child = Command::new("node")
            .arg(driver())
            .arg(folder)
            .args([dialect.word(), PROGRAM, "mcp"])
            .args(flags)
            .env("SHROOMS_AGENT_STATE", &machine.state)
            .env_remove("SHROOMS_AGENT_SESSION")
            .env_remove("SHROOMS_AGENT_PASS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, events) = sync_channel(1000);
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| json!({"broken": line}));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut client = Client { child, stdin, events, held: Vec::new(), next: 0, ready: Value::Null };
        client.ready = client.find("it connects", |event| event.get("ready").is_some());
        Some(client)
    }

    fn tell(&mut self, mut order: Value) -> u64 {
        self.next += 1;
        order["key"] = json!(self.next);
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{order}").unwrap();
        stdin.flush().unwrap();
        self.next
    }

    /// The first event that fits, of those that came and those that come.
    #[track_caller]
    fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut looked = 0;
        loop {
            if let Some(at) = self.held.iter().skip(looked).position(&fits) {
                return self.held.remove(looked + at);
            }
            looked = self.held.len();
            let left = (SOON * 2).saturating_sub(begun.elapsed());
            let event = self.events.recv_timeout(left).unwrap_or_else(|_| panic!("not soon: {what}; {:?}", self.held));
            assert!(event.get("broken").is_none() && event.get("complaint").is_none(), "{what}: {event}");
            self.held.push(event);
        }
    }

    /// Begins a call.
    pub fn call(&mut self, tool: &str, given: Value) -> u64 {
        self.tell(json!({"op": "call", "name": tool, "arguments": given}))
    }

    /// Begins a call and asks for its progress.
    pub fn call_with_progress(&mut self, tool: &str, given: Value) -> u64 {
        self.tell(json!({"op": "call", "name": tool, "arguments": given, "progress": true}))
    }

    /// The call's next word of progress.
    #[track_caller]
    pub fn progress(&mut self, key: u64) -> (f64, String) {
        let word = self.find("progress", |event| event["key"] == key && event.get("progress").is_some());
        let word = &word["progress"];
        (word["progress"].as_f64().unwrap(), word["message"].as_str().unwrap().to_owned())
    }

    /// Waits for the call's result.
    #[track_caller]
    pub fn result(&mut self, key: u64) -> Said {
        let event = self.find("a result", |event| event["key"] == key && event.get("progress").is_none());
        let content = event["result"]["content"].as_array().unwrap_or_else(|| panic!("no result: {event}"));
        assert_eq!((content.len(), content[0]["type"].as_str()), (1, Some("text")), "{event}");
        let text = content[0]["text"].as_str().unwrap().to_owned();
        Said { text, error: event["result"]["isError"] == true }
    }

    /// Calls, and waits for the result.
    #[track_caller]
    pub fn ask(&mut self, tool: &str, given: Value) -> Said {
        let key = self.call(tool, given);
        self.result(key)
    }

    /// The same, for a call that succeeds.
    #[track_caller]
    pub fn good(&mut self, tool: &str, given: Value) -> Said {
        let said = self.ask(tool, given);
        assert!(!said.error, "{said:?}");
        said
    }

    /// Breaks the call off, and gives what the client says of that.
    pub fn cancel(&mut self, key: u64) -> String {
        self.tell(json!({"op": "cancel", "of": key}));
        let event = self.find("it is broken off", |event| event["key"] == key && event.get("error").is_some());
        event["error"].as_str().unwrap().to_owned()
    }

    /// The tools, as the server lists them.
    pub fn tools(&mut self) -> Value {
        let key = self.tell(json!({"op": "tools"}));
        self.find("the tools", |event| event["key"] == key)["result"]["tools"].clone()
    }
}

impl Drop for Client {
    /// Lets the client close the server as clients do; a test that fails must not hang on it.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let begun = Instant::now();
        poll_end(&mut self.child, begun);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn poll_end(child: &mut Child, begun: Instant) {
    while begun.elapsed() < Duration::from_secs(10) && child.try_wait().is_ok_and(|ended| ended.is_none()) {
        std::thread::sleep(Duration::from_millis(5));
    }
}
