//! Sends, looks at and cancels asks on other machines, and says what came of it in the desk's
//! words. Which try this is, and whether there is another, is the desk's to say.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use shrooms_a2a::shrooms as keys;
use shrooms_a2a::types::{SendConfiguration, SendMessageParams};
use shrooms_a2a::{ErrorCode, Message, Part, Role, SendMessageResponse, Task};
use shrooms_core::desk::{AskFact, Desk, Input};
use shrooms_core::row::{Ask, AskBy, AskTo};
use shrooms_core::{Text, text};
use shrooms_outbound::{CallError, Peer};
use shrooms_runner::crash;

use crate::engine::Inner;

/// The largest change number that is taken from another machine: no task changes a thousand million
/// times, and a larger one would leave no room for what comes after.
pub const MAX_SEQ: u32 = 1_000_000_000;
/// A send that does not wait for the work is answered after one commit there.
const SEND: Duration = Duration::from_secs(30);

/// Who asks, as this daemon names it to others.
pub(super) fn claim(inner: &Inner, desk: &Desk, ask: &Ask) -> String {
    let name = match ask.by {
        AskBy::Owner => "owner".to_string(),
        AskBy::Session(uid) => desk.session(uid).map_or_else(String::new, |s| s.name.clone()),
    };
    format!("{}/{name}", inner.machine())
}

pub(super) async fn send(inner: &Arc<Inner>, ask: &Ask, attempt: u32, id: String, claim: String) {
    let fact = match place(inner, ask) {
        Err(fact) => fact,
        Ok((peer, session)) => match request(inner, ask, id, claim).await {
            Err(why) => AskFact::Away { why },
            Ok(params) => {
                crash::point("before_send");
                let sent = inner.outbound.send_message(&peer, session, &params, SEND).await;
                crash::point("after_send");
                match sent {
                    Ok(SendMessageResponse::Task(task)) => seen(&task),
                    Ok(SendMessageResponse::Message(_)) => {
                        AskFact::Refused { why: Text::from("it answered with a message instead of a task") }
                    }
                    Err(error) => failed(error),
                }
            }
        },
    };
    inner.observe(Input::Ask(ask.no, attempt, fact)).await;
}

pub(super) async fn look(inner: &Arc<Inner>, ask: &Ask, attempt: u32) {
    let fact = match (place(inner, ask), &ask.task_id) {
        (Err(fact), _) => fact,
        (Ok(_), None) => AskFact::Away { why: "its task is not known yet".into() },
        (Ok((peer, session)), Some(id)) => match inner.outbound.get_task(&peer, session, id).await {
            Ok(task) => seen(&task),
            Err(error) => failed(error),
        },
    };
    inner.observe(Input::Ask(ask.no, attempt, fact)).await;
}

pub(super) async fn cancel(inner: &Arc<Inner>, ask: &Ask, attempt: u32) {
    let fact = match (place(inner, ask), &ask.task_id) {
        (Err(fact), _) => fact,
        (Ok(_), None) => AskFact::Away { why: "its task is not known yet".into() },
        (Ok((peer, session)), Some(id)) => match inner.outbound.cancel_task(&peer, session, id).await {
            Ok(task) => seen(&task),
            // It ended before: how, is to be seen.
            Err(CallError::Refused(e)) if e.known() == Some(ErrorCode::TaskNotCancelable) => {
                match inner.outbound.get_task(&peer, session, id).await {
                    Ok(task) => seen(&task),
                    Err(error) => failed(error),
                }
            }
            Err(error) => failed(error),
        },
    };
    inner.observe(Input::Ask(ask.no, attempt, fact)).await;
}

fn place<'a>(inner: &Inner, ask: &'a Ask) -> Result<(Peer, &'a str), AskFact> {
    let AskTo::Device { id, machine, session } = &ask.to else {
        return Err(AskFact::Away { why: "it is an ask of this machine".into() });
    };
    let found = inner.mesh.machines().iter().find(|m| m.id.0 == *id).cloned();
    let gone = || AskFact::Away { why: format!("{machine} is not on the mesh now") };
    let machine = found.ok_or_else(gone)?;
    Ok((inner.peer(&machine), session))
}

async fn request(inner: &Arc<Inner>, ask: &Ask, id: String, claim: String) -> Result<SendMessageParams, String> {
    let (me, no) = (inner.clone(), ask.text.no);
    let read = tokio::task::spawn_blocking(move || me.reader.text(no)).await;
    let text = read.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
    let mut metadata = Map::new();
    metadata.insert(keys::FROM.into(), claim.into());
    metadata.insert(keys::ASK.into(), id.into());
    metadata.insert(keys::VOUCHED.into(), Value::Bool(true));
    if let Some(title) = &ask.title {
        metadata.insert(keys::TITLE.into(), title.clone().into());
    }
    if ask.cancel {
        metadata.insert(keys::CANCELED.into(), Value::Bool(true));
    }
    if ask.fresh {
        metadata.insert(keys::FRESH.into(), Value::Bool(true));
    }
    if !ask.require.is_empty() {
        let words = ask.require.iter().map(|proof| proof.word().into()).collect();
        metadata.insert(keys::REQUIRE.into(), Value::Array(words));
    }
    let message = Message {
        message_id: ask.mid.clone(),
        context_id: ask.context.clone(),
        task_id: None,
        role: Role::User,
        parts: vec![Part::text(text)],
        metadata: Some(metadata),
        extensions: vec![keys::EXTENSION_URI.to_string()],
        reference_task_ids: ask.refs.clone(),
    };
    let mut params = SendMessageParams::of(message);
    params.configuration = SendConfiguration { return_immediately: Some(true), ..params.configuration };
    Ok(params)
}

/// Longest id of a task that is taken from another machine, in bytes: a session's name, a message
/// id and some room.
const MAX_TASK_ID: usize = 700;

/// A task of another machine, in the desk's words. What it says is bounded and checked here.
pub(crate) fn seen(task: &Task) -> AskFact {
    let plain = task.id.len() <= MAX_TASK_ID && task.id.bytes().all(|b| b.is_ascii_graphic());
    if !plain || task.id.is_empty() {
        return AskFact::Unsure { why: "it answered with a task id that is none".into() };
    }
    // Of an outcome, the change with which it came.
    let number = |key: &str| task.metadata.as_ref().and_then(|m| m.get(key)).and_then(Value::as_u64);
    let seq = number("shrooms/outcome").or_else(|| number("shrooms/seq"));
    let status = &task.status;
    let words = status.message.as_ref().map(Message::joined_text).filter(|t| !t.is_empty());
    AskFact::Task {
        task_id: task.id.clone(),
        seq: seq.and_then(|n| u32::try_from(n).ok()).unwrap_or(1).min(MAX_SEQ),
        // What a person is asked there is nothing to the asker: the worker works.
        state: match keys::flag(task.metadata.as_ref(), keys::PROMPT) {
            true => shrooms_a2a::TaskState::Working.word().to_string(),
            false => status.state.word().to_string(),
        },
        text: words.map(|w| Text::new(text::cut(&w, text::MAX_TEXT))),
    }
}

fn failed(error: CallError) -> AskFact {
    match error {
        CallError::Away(why) => AskFact::Away { why },
        CallError::Unsure(why) => AskFact::Unsure { why },
        CallError::Refused(e) if e.code == -32603 => AskFact::Unsure { why: e.message },
        CallError::Refused(e) if e.known() == Some(ErrorCode::TaskNotFound) => {
            AskFact::Gone { why: Text::new(e.message) }
        }
        CallError::Refused(e) => AskFact::Refused { why: Text::new(e.message) },
        CallError::Http { status, detail } if status >= 500 || status == 429 => {
            AskFact::Unsure { why: format!("{status}: {detail}") }
        }
        CallError::Http { status, detail } => AskFact::Refused { why: Text::new(format!("{status}: {detail}")) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_numbers_an_outcome_with_the_change_that_brought_it() {
        let seq = |metadata: Value| {
            let status = serde_json::json!({"state": "TASK_STATE_INPUT_REQUIRED"});
            let task = serde_json::json!({"id": "tests:m1", "status": status, "metadata": metadata});
            match seen(&serde_json::from_value(task).expect("a task")) {
                AskFact::Task { seq, .. } => seq,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(seq(serde_json::json!({"shrooms/seq": 9, "shrooms/outcome": 3})), 3);
        assert_eq!(seq(serde_json::json!({"shrooms/seq": 9})), 9);
    }
}
