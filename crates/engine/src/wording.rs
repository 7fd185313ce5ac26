//! What a program is given for a delivery: its stdin and its environment, composed from committed
//! rows. No text from others becomes an argument or is left out of its frame.

use std::collections::BTreeMap;

use shrooms_core::row::{Ask, Delivery, DeliveryKind, Harness, Session, Task};
use shrooms_core::text::cut;
use shrooms_core::words;
use shrooms_store::{Reader, StoreError};

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
    }
}
