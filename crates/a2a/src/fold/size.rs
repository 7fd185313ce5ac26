//! About what a task takes in memory: enough to bound it, and cheap enough for every event.
//! Must not know the bound.

use serde_json::Value;

use crate::types::{Artifact, Map, Message, Part, PartContent, Task, TaskStatus};

/// What a part, a message or an artifact takes beside its texts, so that a million empty ones are
/// not free. About the size of the structs.
const ITEM: usize = 128;

/// What one JSON value takes beside its text.
const VALUE: usize = 32;

pub(super) fn task(task: &Task) -> usize {
    let artifacts: usize = task.artifacts.iter().flatten().map(artifact).sum();
    let history: usize = task.history.iter().flatten().map(message).sum();
    ITEM + task.id.len()
        + text(task.context_id.as_ref())
        + status(&task.status)
        + artifacts
        + history
        + metadata(task.metadata.as_ref())
}

pub(super) fn status(status: &TaskStatus) -> usize {
    status.message.as_ref().map_or(0, message)
}

pub(super) fn message(message: &Message) -> usize {
    let parts: usize = message.parts.iter().map(part).sum();
    ITEM + message.message_id.len()
        + text(message.context_id.as_ref())
        + text(message.task_id.as_ref())
        + parts
        + metadata(message.metadata.as_ref())
        + texts(&message.extensions)
        + texts(&message.reference_task_ids)
}

pub(super) fn artifact(artifact: &Artifact) -> usize {
    let parts: usize = artifact.parts.iter().map(part).sum();
    ITEM + artifact.artifact_id.len() + words(artifact) + parts + metadata(artifact.metadata.as_ref())
}

/// What an artifact says of itself beside its parts and metadata.
pub(super) fn words(artifact: &Artifact) -> usize {
    text(artifact.name.as_ref()) + text(artifact.description.as_ref()) + texts(&artifact.extensions)
}

pub(super) fn part(part: &Part) -> usize {
    let content = match &part.content {
        PartContent::Text(text) | PartContent::Url(text) => text.len(),
        PartContent::Raw(bytes) => bytes.len(),
        PartContent::Data(data) => value(data),
    };
    ITEM + content + text(part.filename.as_ref()) + text(part.media_type.as_ref()) + metadata(part.metadata.as_ref())
}

pub(super) fn metadata(metadata: Option<&Map>) -> usize {
    metadata.map_or(0, map)
}

fn map(map: &Map) -> usize {
    map.iter().map(|(key, member)| key.len() + value(member)).sum()
}

/// As deep as the reader of JSON lets a value be.
fn value(value: &Value) -> usize {
    VALUE
        + match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(self::value).sum(),
            Value::Object(members) => map(members),
        }
}

fn text(text: Option<&String>) -> usize {
    text.map_or(0, String::len)
}

fn texts(texts: &[String]) -> usize {
    texts.iter().map(|text| VALUE + text.len()).sum()
}
