//! What a stream carries and what a send returns: one-of objects with exactly one member.
//! Must not know the order of a stream: which event comes first is the server's rule.

use serde::Serialize;
use serde_json::Value;

use super::{Artifact, Map, Message, Task, TaskStatus, is_false};
use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatusUpdateEvent {
    pub task_id: String,
    /// Required by the proto and always printed; empty if the agent that was read left it out.
    pub context_id: String,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskArtifactUpdateEvent {
    pub task_id: String,
    /// Required by the proto and always printed; empty if the agent that was read left it out.
    pub context_id: String,
    pub artifact: Artifact,
    /// True: the parts are added to the artifact of this id. False: they replace it.
    #[serde(skip_serializing_if = "is_false")]
    pub append: bool,
    /// True: nothing more comes for this artifact.
    #[serde(skip_serializing_if = "is_false")]
    pub last_chunk: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
}

/// One event of a stream, and the body of a push notification.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StreamResponse {
    Task(Task),
    Message(Message),
    StatusUpdate(TaskStatusUpdateEvent),
    ArtifactUpdate(TaskArtifactUpdateEvent),
}

/// The result of SendMessage.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SendMessageResponse {
    Task(Task),
    Message(Message),
}

impl Decode for TaskStatusUpdateEvent {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(TaskStatusUpdateEvent {
            task_id: fields.require_text("taskId")?,
            context_id: fields.text("contextId")?.unwrap_or_default(),
            status: fields.require("status")?,
            metadata: fields.get("metadata")?,
        })
    }
}

impl Decode for TaskArtifactUpdateEvent {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(TaskArtifactUpdateEvent {
            task_id: fields.require_text("taskId")?,
            context_id: fields.text("contextId")?.unwrap_or_default(),
            artifact: fields.require("artifact")?,
            append: fields.get("append")?.unwrap_or_default(),
            last_chunk: fields.get("lastChunk")?.unwrap_or_default(),
            metadata: fields.get("metadata")?,
        })
    }
}

/// The one that is given.
fn exactly_one<T, const N: usize>(given: [Option<T>; N], names: &str, at: &Path<'_>) -> Result<T, Invalid> {
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(at.invalid(format!("must have one of {names}"))),
        (Some(_), Some(_)) => Err(at.invalid(format!("must have only one of {names}"))),
    }
}

impl Decode for StreamResponse {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let given = [
            fields.get("task")?.map(StreamResponse::Task),
            fields.get("message")?.map(StreamResponse::Message),
            fields.get("statusUpdate")?.map(StreamResponse::StatusUpdate),
            fields.get("artifactUpdate")?.map(StreamResponse::ArtifactUpdate),
        ];
        exactly_one(given, "task, message, statusUpdate or artifactUpdate", at)
    }
}

impl Decode for SendMessageResponse {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let given = [
            fields.get("task")?.map(SendMessageResponse::Task),
            fields.get("message")?.map(SendMessageResponse::Message),
        ];
        exactly_one(given, "task or message", at)
    }
}

deserialize_by_decode!(TaskStatusUpdateEvent, TaskArtifactUpdateEvent, StreamResponse, SendMessageResponse,);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    fn check(input: Value, expected: Result<Value, &str>) {
        let got = from_value::<StreamResponse>(input.clone())
            .map(|event| to_value(event).unwrap())
            .map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    fn task() -> Value {
        json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}})
    }

    #[test]
    fn every_kind_is_written_as_it_was_read() {
        let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "a"}]});
        let status = json!({"state": "TASK_STATE_FAILED"});
        let artifact = json!({"artifactId": "a", "parts": [{"text": "a"}]});
        for event in [
            json!({"task": task()}),
            json!({"message": message}),
            json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}}),
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact,
                "append": true, "lastChunk": true, "metadata": {"k": 1}}}),
        ] {
            check(event.clone(), Ok(event));
        }
    }

    #[test]
    fn an_event_has_exactly_one_member() {
        check(json!({"task": task(), "message": null, "extra": 1}), Ok(json!({"task": task()})));
        check(json!({}), Err("must have one of task, message, statusUpdate or artifactUpdate"));
        check(
            json!({"task": task(), "status_update": {"taskId": "t", "status": {"state": 1}}}),
            Err("must have only one of task, message, statusUpdate or artifactUpdate"),
        );
    }

    #[test]
    fn fields_of_the_0_3_dialect_do_not_disturb_and_a_missing_context_is_empty() {
        check(
            json!({"statusUpdate": {"taskId": "t", "status": {"state": 3}, "final": true, "kind": "status-update"}}),
            Ok(json!({"statusUpdate": {"taskId": "t", "contextId": "", "status": {"state": "TASK_STATE_COMPLETED"}}})),
        );
    }

    #[test]
    fn a_false_flag_is_left_out() {
        let artifact = json!({"artifactId": "a", "parts": [{"text": "a"}]});
        check(
            json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact, "append": false}}),
            Ok(json!({"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}})),
        );
    }

    #[test]
    fn a_send_returns_a_task_or_a_message() {
        let got: SendMessageResponse = from_value(json!({"task": task()})).unwrap();
        assert_eq!(to_value(got).unwrap(), json!({"task": task()}));
        assert!(from_value::<SendMessageResponse>(task()).is_err());
    }
}
