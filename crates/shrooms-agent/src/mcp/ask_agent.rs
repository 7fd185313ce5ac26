//! The tool `ask_agent`: a new task for an agent, or more on one, and the wait for its outcome.
//! The same request while it is open is the same task.

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use shrooms_core::name::AgentRef;
use shrooms_core::text::cut;
use shrooms_outbound::LocalError;

use super::tell::tell;
use super::{Call, Server, input, shown, task_status, waiting};
use crate::api::{self, Ask, Asked};
use crate::context::task_path;
use crate::env;
use crate::report::Failure;
use crate::request::{Answer, NewAsk};
use crate::task::Known;

pub const NAME: &str = "ask_agent";

/// Characters of a request that the list of asks shows.
const EXCERPT: usize = 200;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Who: MACHINE/SESSION as list_agents shows it; not needed with task
    to: Option<String>,
    /// What you need, and who you are: the agent sees nothing else of your conversation
    text: String,
    /// A few words that name the task in lists
    title: Option<String>,
    /// REF of a task you asked: the text is the answer it waits for, or more on it
    task: Option<String>,
    /// Wait for the outcome (unless false), at most 10 minutes
    wait: Option<bool>,
    /// Start the agent on a fresh conversation; refused unless its owner allows that
    fresh: Option<bool>,
    /// An id of yours that groups tasks of one matter
    context: Option<String>,
    /// What the agent's done must show: tool_calls, files_changed
    require: Option<Vec<Require>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(rename_all = "snake_case")]
enum Require {
    ToolCalls,
    FilesChanged,
}

pub fn tool() -> Tool {
    let about = "Ask another agent to do something, and wait for the outcome. Returns `task REF: STATE` and the \
                 agent's text; REF is what the other tools take. input-required: it asks you something, answer with \
                 task and text. submitted or working: it goes on, follow it with task_status. The same request while \
                 it is open is the same task, not a second one.";
    let annotations = ToolAnnotations::with_title("Ask an agent").read_only(false).destructive(false).idempotent(false);
    Tool::new(NAME, about, input::schema::<Input>()).with_annotations(annotations.open_world(true))
}

pub async fn call(server: &Server, input: Input, call: &Call) -> Result<String, Failure> {
    if input.text.trim().is_empty() {
        return Err(Failure::new("bad input: text: is empty; say what you need"));
    }
    let wait = input.wait.unwrap_or(true);
    let (known, again) = match input::said(input.task.as_ref()) {
        Some(task) => (answer(server, &input, task).await?, false),
        None => ask(server, &input).await?,
    };
    let note = again.then(|| "asked before, and still open: this is that task".to_owned());
    let notes: Vec<String> = note.into_iter().collect();
    if wait {
        return waiting::outcome(server, call, known, notes).await;
    }
    // Where it stands there, and not only that it was taken.
    let path = task_path(&known.reference, "")?;
    let looked = server.context.get(&path).await.and_then(|answer| Known::read(answer, &known.reference));
    let known = waiting::offered(server, call, looked.unwrap_or(known)).await;
    Ok(shown::task(&known, &[notes, waiting::notes(&known)].concat()))
}

/// The answer that a task waits for, or more on it.
async fn answer(server: &Server, input: &Input, task: &str) -> Result<Known, Failure> {
    let reference = input::task(task)?;
    let new = input.title.is_some() || input.context.is_some() || input.fresh == Some(true) || input.require.is_some();
    if new {
        return Err(Failure::new(
            "bad input: title, fresh, context and require are for a new task; leave out task, or these",
        ));
    }
    if let Some(to) = input::said(input.to.as_ref())
        && !is_of(reference, to)
    {
        let error = format!("bad input: to: {to} is not the agent of task {reference}; leave out one of them");
        return Err(Failure::new(error));
    }
    let id = env::message_id()?;
    let body = Answer { text: &input.text, id: &id };
    let answer = tell(&server.context, &task_path(reference, "/answer")?, &body).await?;
    Known::read(answer, reference)
}

/// Whether the task is the agent's, as far as their names tell.
fn is_of(reference: &str, to: &str) -> bool {
    let session = |name: &str| name.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let agent = reference.split_once(':').map_or(reference, |(agent, _)| agent);
    agent == to || session(agent) == session(to)
}

/// The new task; true: it is one that is open already.
async fn ask(server: &Server, input: &Input) -> Result<(Known, bool), Failure> {
    let missing = || Failure::new("bad input: to: is missing; list_agents shows the agents (or give task, to answer)");
    let to = input::said(input.to.as_ref()).ok_or_else(missing)?;
    let agent = AgentRef::parse(to).map_err(|refusal| Failure::new(format!("bad input: to: {refusal}")))?;
    let ticket = server.once.begin(to, &input.text)?;
    if let Some(known) = open_ask(server, &agent, &input.text).await? {
        return Ok((known, true));
    }
    let word = |require: &Require| match require {
        Require::ToolCalls => "tool_calls".to_owned(),
        Require::FilesChanged => "files_changed".to_owned(),
    };
    let require: Vec<String> = input.require.iter().flatten().map(word).collect();
    let body = NewAsk {
        to,
        text: &input.text,
        id: &ticket.id,
        title: input::said(input.title.as_ref()),
        context: input::said(input.context.as_ref()),
        now: false,
        fresh: input.fresh.unwrap_or_default(),
        require: &require,
    };
    let answer = tell(&server.context, "/v1/asks", &body).await?;
    let Asked { ask } = api::read(&answer)?;
    Ok((Known::read(answer, &ask.reference())?, false))
}

/// An open ask of this session with the same text for the same agent. The list holds the text's
/// beginning alone: whether it is the same, the daemon knows, which refuses another one under that id.
async fn open_ask(server: &Server, agent: &AgentRef, text: &str) -> Result<Option<Known>, Failure> {
    let excerpt = cut(text, EXCERPT);
    for ask in task_status::asks(server).await? {
        if !task_status::is_open(&ask) || ask.text != excerpt || !is_to(&ask, agent) {
            continue;
        }
        let body = NewAsk { to: &ask.to, text, id: &ask.message_id, ..NewAsk::default() };
        match server.context.client.post("/v1/asks", &body).await {
            Ok(answer) => return Known::read(answer, &ask.reference()).map(Some),
            Err(LocalError::Api { status: 400..500, .. }) => {}
            Err(error) => return Err(server.context.failure(error)),
        }
    }
    Ok(None)
}

/// Whether the ask went to this agent, as far as their names tell: a machine's address is not known here.
fn is_to(ask: &Ask, agent: &AgentRef) -> bool {
    let (machine, session) = ask.to.rsplit_once('/').unwrap_or(("", &ask.to));
    session == agent.session && agent.machine.as_deref().is_none_or(|name| name == machine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_agent_is_known_by_its_name() {
        let ask: Ask = api::read(&json!({"to": "home/tests", "message_id": "m", "state": "working"})).unwrap();
        for (to, same) in [("home/tests", true), ("tests", true), ("desk/tests", false), ("home/test", false)] {
            assert_eq!(is_to(&ask, &AgentRef::parse(to).unwrap()), same, "{to}");
        }
        for (reference, to, same) in [
            ("home/tests:m-1", "home/tests", true),
            ("tests:m-1", "home/tests", true),
            ("home/tests:m-1", "tests", true),
            ("home/tests:m-1", "home/build", false),
        ] {
            assert_eq!(is_of(reference, to), same, "{reference} {to}");
        }
    }
}
