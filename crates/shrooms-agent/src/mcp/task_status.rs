//! The tool `task_status`: where a task stands; without one, what this session has asked and what
//! it owes, so that a compacted conversation finds its way back.

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use shrooms_core::desk::MAX_ASKS;
use shrooms_core::text::cut;

use super::{Call, Server, input, shown, waiting};
use crate::api::{self, Ask, Asks};
use crate::context::{session_path, task_path};
use crate::output::one_line;
use crate::report::Failure;
use crate::task::Known;

pub const NAME: &str = "task_status";

/// Lines of a list; more is a bill of tokens.
const LINES: usize = 50;
/// Characters of a request that has no title.
const ABOUT: usize = 80;
/// The states in which a session owes a task.
const OWED: [&str; 4] = ["working", "input-required", "submitted", "auth-required"];

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// REF of the task
    task: Option<String>,
}

pub fn tool() -> Tool {
    let about = "Where a task stands, and its text. Without a task: what you have asked that is open or not read \
                 yet, and the tasks that you owe.";
    let annotations = ToolAnnotations::with_title("Status of a task").read_only(true).open_world(false);
    Tool::new(NAME, about, input::schema::<Input>()).with_annotations(annotations)
}

pub async fn call(server: &Server, input: Input, call: &Call) -> Result<String, Failure> {
    let Some(task) = input::said(input.task.as_ref()) else { return all(server).await };
    let task = input::task(task)?;
    let known = Known::read(server.context.get(&task_path(task, "")?).await?, task)?;
    let known = waiting::offered(server, call, known).await;
    let me = server.session_now().await;
    let owed = me.is_some_and(|me| known.is_of(&me));
    let notes = if owed { Vec::new() } else { waiting::notes(&known) };
    Ok(shown::task(&known, &notes))
}

async fn all(server: &Server) -> Result<String, Failure> {
    let mut out = section("asked by you", &asked(server).await?);
    if let Some(session) = server.session_now().await {
        out.push('\n');
        out.push_str(&section("given to you", &owed(server, &session).await?));
    }
    Ok(out)
}

/// A line each, under a line that counts them.
fn section(what: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("{what}: nothing that is open or unread\n");
    }
    let mut out = format!("{what}: {}\n", lines.len());
    for line in lines.iter().take(LINES) {
        out.push_str(line);
        out.push('\n');
    }
    if lines.len() > LINES {
        out.push_str(&format!("({} more)\n", lines.len() - LINES));
    }
    out
}

async fn asked(server: &Server) -> Result<Vec<String>, Failure> {
    Ok(asks(server).await?.iter().map(ask_line).collect())
}

fn ask_line(ask: &Ask) -> String {
    let about = ask.title.clone().unwrap_or_else(|| cut(&one_line(&ask.text), ABOUT));
    let about = one_line(&about);
    let read = if is_open(ask) { "" } else { ", not read yet" };
    format!("{}\t{}{read}\t{about}", one_line(&ask.reference()), one_line(&ask.state))
}

/// What this session, or else the owner, has asked that is open or not read yet.
pub async fn asks(server: &Server) -> Result<Vec<Ask>, Failure> {
    let answer = server.context.get(&format!("/v1/asks?limit={MAX_ASKS}")).await?;
    let Asks { asks } = api::read(&answer)?;
    let me = server.session_now().await.unwrap_or_else(|| "the owner".to_owned());
    Ok(asks.into_iter().filter(|ask| ask.by == me).collect())
}

/// Nothing has ended it yet.
pub fn is_open(ask: &Ask) -> bool {
    let state = shrooms_a2a::TaskState::parse(&ask.state);
    ask.state == "unsent" || state.is_some_and(|state| !state.is_terminal())
}

async fn owed(server: &Server, session: &str) -> Result<Vec<String>, Failure> {
    // Only for the check that it can be a part of an address.
    session_path(session, "")?;
    let mut lines = Vec::new();
    for state in OWED {
        let answer = server.context.get(&format!("/v1/tasks?session={session}&state={state}&limit=100")).await?;
        for task in answer.get("tasks").and_then(Value::as_array).into_iter().flatten() {
            lines.push(owed_line(&Known::read(json!({"task": task}), "")?));
        }
    }
    Ok(lines)
}

fn owed_line(known: &Known) -> String {
    let (from, title) = known.about();
    let from = from.map(|from| format!("from {from}")).unwrap_or_default();
    [known.id(), &known.stands(), &from, title.unwrap_or_default()].map(one_line).join("\t").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_an_ask_is_its_reference_its_state_and_what_it_is_about() {
        let ask = |state: &str, title: Option<&str>| -> Ask {
            let ask = json!({"to": "home/tests", "message_id": "m", "state": state, "title": title, "text": "a\nb"});
            api::read(&ask).unwrap()
        };
        assert_eq!(ask_line(&ask("unsent", None)), "home/tests:m\tunsent\ta b");
        assert_eq!(ask_line(&ask("completed", Some("T\nU"))), "home/tests:m\tcompleted, not read yet\tT U");
        for (state, open) in [("input-required", true), ("failed", false), ("refused", false)] {
            assert_eq!(is_open(&ask(state, None)), open, "{state}");
        }
    }

    #[test]
    fn a_line_an_owed_task_names_who_asked() {
        let metadata = json!({"shrooms/from": "the owner", "shrooms/queued": true, "shrooms/position": 2});
        let task = json!({"id": "tests:m", "status": {"state": "TASK_STATE_SUBMITTED"}, "metadata": metadata});
        let known = Known::read(json!({"task": task}), "").unwrap();
        assert_eq!(owed_line(&known), "tests:m\tsubmitted, queued, place 2\tfrom the owner");
    }

    #[test]
    fn lists_say_how_many_they_hold() {
        assert_eq!(section("asked by you", &[]), "asked by you: nothing that is open or unread\n");
        let lines = vec!["x".to_owned(); LINES + 1];
        let text = section("given to you", &lines);
        assert!(text.starts_with("given to you: 51\nx\n") && text.ends_with("x\n(1 more)\n"), "{text}");
    }
}
