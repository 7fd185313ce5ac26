//! What a program is given for a delivery: its stdin and its environment, composed from committed
//! rows. No text from others becomes an argument or is left out of its frame.

use std::collections::BTreeMap;

use shrooms_core::row::{Ask, AskBy, Delivery, DeliveryKind, Harness, Session, Task};
use shrooms_core::text::cut;
use shrooms_core::view;
use shrooms_core::words::{self, Open};
use shrooms_store::{Reader, StoreError};

use crate::live::Written;

/// The longest text that goes into an environment variable, in characters: the kernel takes
/// 128 KiB for one, and a character has at most four bytes.
const MAX_ENV: usize = 16_000;

/// Stdin and environment of one run.
pub(crate) struct Given {
    pub(crate) stdin: String,
    pub(crate) env: BTreeMap<String, String>,
}

pub(crate) fn compose(
    reader: &Reader,
    machine: &str,
    session: &Session,
    delivery: &Delivery,
    task: Option<&Task>,
    ask: Option<&Ask>,
) -> Result<Given, StoreError> {
    let framed = matches!(&session.harness, Harness::Command { framed: true, .. });
    let text = |no: Option<shrooms_core::TextRef>| no.map_or(Ok(String::new()), |t| reader.text(t.no));
    let main = text(delivery.text)?;
    let mut more = Vec::new();
    for extra in &delivery.extra {
        more.push(reader.text(extra.no)?);
    }
    let mut env = BTreeMap::new();
    let mut set = |key: &str, value: &str| {
        // A NUL ends a variable for the kernel, and would be refused.
        env.insert(key.to_string(), cut(&value.replace('\0', "\u{fffd}"), MAX_ENV));
    };
    set("SHROOMS_KIND", kind(delivery.kind));
    if delivery.repeat {
        set("SHROOMS_REPEAT", "1");
    }
    if let Some(task) = task {
        set("SHROOMS_TASK", &task.id);
        if let Some(text) = delivery.text
            && let Some(id) = reader.message_id(task.no, text)?
        {
            set("SHROOMS_MESSAGE", &id);
        }
        set("SHROOMS_SENDER", delivery.from.as_ref().unwrap_or(&task.sender.label));
        set("SHROOMS_TITLE", task.title.as_deref().unwrap_or(""));
        if matches!(delivery.kind, DeliveryKind::Answer | DeliveryKind::Correction) {
            set("SHROOMS_QUESTION", &text(task.question)?);
        }
    }
    let stdin = match (delivery.kind, task, ask) {
        (DeliveryKind::Result, _, Some(ask)) => {
            let reference = reference(machine, ask);
            let state = ask.known.as_ref().map_or("unsent", |k| k.state.as_str());
            set("SHROOMS_TASK", &reference);
            set("SHROOMS_STATE", state);
            let asked = reader.text(ask.text.no)?;
            let said = text(ask.known.as_ref().and_then(|k| k.text))?;
            words::result(&reference, state, &asked, &said, delivery.repeat)
        }
        (DeliveryKind::Task, Some(task), _) if framed => {
            words::task(&task.id, &task.sender.label, &main, &more, &words::by_exit(&task.id))
        }
        (_, Some(task), _) if framed => {
            let mut texts = vec![main];
            texts.extend(more);
            let sender = delivery.from.as_ref().unwrap_or(&task.sender.label);
            let said = words::more(&task.id, sender, &texts);
            let reminder = words::about(&reader.text(task.request.no)?, &text(task.question)?);
            format!("{said}\n\n{reminder}\n\n{}", words::by_exit(&task.id))
        }
        _ => {
            let mut texts = vec![main];
            texts.extend(more);
            texts.join("\n\n")
        }
    };
    Ok(Given { stdin, env })
}

/// The tool by which a model says how a task ended.
const FINISH: &str = "the shrooms tool task_update (mcp__shrooms__task_update)";
/// Asks and tasks that a list for a model holds: more is a bill of tokens.
const LISTED: usize = 50;

/// What is written to a program that stays, for its model to read; empty when there is nothing to say.
pub(crate) fn for_model(
    reader: &Reader,
    machine: &str,
    session: &Session,
    written: &Written,
) -> Result<String, StoreError> {
    let Written { delivery, task, ask, .. } = written;
    let text = |no: Option<shrooms_core::TextRef>| no.map_or(Ok(String::new()), |t| reader.text(t.no));
    let mut texts = vec![text(delivery.text)?];
    for extra in &delivery.extra {
        texts.push(reader.text(extra.no)?);
    }
    let sender = |task: &Task| delivery.from.clone().unwrap_or_else(|| task.sender.label.clone());
    let main = texts.first().cloned().unwrap_or_default();
    Ok(match (delivery.kind, task, ask) {
        (DeliveryKind::Task, Some(task), _) => {
            let more = texts.get(1..).unwrap_or_default();
            words::task(&task.id, &task.sender.label, &main, more, &words::by_word(&task.id, FINISH))
        }
        (DeliveryKind::Answer, Some(task), _) => {
            let said = words::more(&task.id, &sender(task), &texts);
            let about = words::about(&reader.text(task.request.no)?, &text(task.question)?);
            format!("{said}\n\n{about}\n\n{}", words::by_word(&task.id, FINISH))
        }
        (DeliveryKind::Correction, Some(task), _) => words::more(&task.id, &sender(task), &texts),
        (DeliveryKind::Recover, Some(task), _) => {
            let closing = words::by_word(&task.id, FINISH);
            words::recover(&task.id, &task.sender.label, &main, &asked(reader, machine, session)?, &closing)
        }
        (DeliveryKind::Result, _, Some(ask)) => {
            let reference = reference(machine, ask);
            let state = ask.known.as_ref().map_or("unsent", |k| k.state.as_str());
            let said = text(ask.known.as_ref().and_then(|k| k.text))?;
            let result = words::result(&reference, state, &reader.text(ask.text.no)?, &said, delivery.repeat);
            let parent = task.as_ref().filter(|t| t.open()).map(|t| t.id.as_str());
            format!("{result}\n\n{}", words::close_result(&reference, state, parent))
        }
        (DeliveryKind::Reminder, ..) => {
            let tasks = written.about.iter().map(|task| {
                let request = task.title.clone().map_or_else(|| reader.text(task.request.no), Ok)?;
                let (id, sender) = (task.id.clone(), task.sender.label.clone());
                Ok(words::Reminded { id, sender, request, nth: task.nudges, of: written.reminders })
            });
            let tasks = tasks.collect::<Result<Vec<_>, StoreError>>()?;
            let last = written.about.first().and_then(|t| t.last_words).map(|t| reader.text(t.no)).transpose()?;
            if tasks.is_empty() {
                return Ok(String::new());
            }
            words::reminder(&tasks, written.quiet_secs, last.as_deref(), FINISH)
        }
        (DeliveryKind::Recap, ..) => {
            let (owed, asked) = (owed(reader, session)?, asked(reader, machine, session)?);
            match owed.is_empty() && asked.is_empty() {
                true => String::new(),
                false => words::recap(&owed, &asked),
            }
        }
        (DeliveryKind::Wake, ..) => String::new(),
        // A person's own words, as they are.
        _ => texts.join("\n\n"),
    })
}

/// What a session has asked and is not over.
fn asked(reader: &Reader, machine: &str, session: &Session) -> Result<Vec<Open>, StoreError> {
    let asks = reader.asks(false, shrooms_core::desk::MAX_ASKS)?.into_iter();
    let mine = asks.filter(|a| a.by == AskBy::Session(session.uid) && a.open()).take(LISTED);
    mine.map(|ask| {
        let state = ask.known.as_ref().map_or("unsent", |k| k.state.as_str()).to_string();
        let about = ask.title.clone().map_or_else(|| reader.text(ask.text.no), Ok)?;
        Ok(Open { reference: reference(machine, &ask), state, about })
    })
    .collect()
}

/// What a session was given and has not finished.
fn owed(reader: &Reader, session: &Session) -> Result<Vec<Open>, StoreError> {
    let tasks = reader.open_tasks(session.lane)?.into_iter().filter(|t| t.dispatched).take(LISTED);
    tasks
        .map(|task| {
            let about = task.title.clone().map_or_else(|| reader.text(task.request.no), Ok)?;
            Ok(Open { reference: task.id.clone(), state: view::state(&task).word().to_string(), about })
        })
        .collect()
}

/// An ask's task as people write it.
pub(crate) fn reference(machine: &str, ask: &Ask) -> String {
    let place = match &ask.to {
        shrooms_core::row::AskTo::Here { .. } => machine,
        shrooms_core::row::AskTo::Device { machine, .. } => machine,
    };
    match &ask.task_id {
        Some(id) => format!("{place}/{id}"),
        None => format!("{}:{}", ask.agent, ask.mid),
    }
}

fn kind(kind: DeliveryKind) -> &'static str {
    match kind {
        DeliveryKind::Task => "task",
        DeliveryKind::Answer => "answer",
        DeliveryKind::Correction => "correction",
        DeliveryKind::Result => "result",
        DeliveryKind::Recover => "recover",
        DeliveryKind::Say => "say",
        DeliveryKind::Recap => "recap",
        DeliveryKind::Wake => "wake",
        DeliveryKind::Reminder => "reminder",
    }
}
