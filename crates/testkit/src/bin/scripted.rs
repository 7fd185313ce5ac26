//! The scripted worker: a program that a session of the tests' harness runs for each message. It does
//! what `scripted` says for it and speaks to its daemon as every program of a session can.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a worker's program: it is given its task in the environment and prints its words"
)]

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use shrooms_testkit::scripted::{Given, Step, steps};

/// How long the daemon may take for one word.
const ANSWER: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("scripted: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let env = |name: &str| std::env::var(name).unwrap_or_default();
    if !matches!(env("SHROOMS_KIND").as_str(), "task" | "answer" | "correction") {
        return Ok(());
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| format!("stdin: {e}"))?;
    let (message_id, question) = (env("SHROOMS_MESSAGE"), env("SHROOMS_QUESTION"));
    for step in steps(Given { message_id: &message_id, text: &text, question: &question }) {
        match step {
            Step::Wait(time) => std::thread::sleep(time),
            Step::Print(words) => {
                println!("{words}");
                // One piece each: they are handed on ten times a second.
                std::thread::sleep(Duration::from_millis(150));
            }
            Step::Say { word, summary, artifacts } => {
                let summary = serde_json::to_string(&summary).map_err(|e| e.to_string())?;
                let artifacts = artifacts.join(",");
                let body = format!(r#"{{"state":"{word}","summary":{summary},"artifacts":[{artifacts}]}}"#);
                post(&env("SHROOMS_TASK"), &body)?;
            }
        }
    }
    Ok(())
}

/// A word on the task, over the daemon's socket with the pass of this run.
fn post(task: &str, body: &str) -> Result<(), String> {
    let env = |name: &str| std::env::var(name).map_err(|_| format!("{name} is not set: a session runs this program"));
    let socket = format!("{}/agent.sock", env("SHROOMS_AGENT_STATE")?);
    let cannot = |e: std::io::Error| format!("{socket}: {e}");
    let mut stream = UnixStream::connect(&socket).map_err(cannot)?;
    stream.set_read_timeout(Some(ANSWER)).map_err(cannot)?;
    let path: String = task.bytes().map(encoded).collect();
    let head = format!(
        "POST /v1/tasks/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Shrooms-Pass: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        env("SHROOMS_AGENT_PASS")?,
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).map_err(cannot)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).map_err(cannot)?;
    match answer.split_whitespace().nth(1) {
        Some("200") => Ok(()),
        _ => Err(format!("the daemon does not take {body}: {answer}")),
    }
}

fn encoded(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    }
}
