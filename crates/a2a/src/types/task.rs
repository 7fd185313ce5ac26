//! A task as its asker sees it: its state, what came of it, what was said.
//! Must not know how a state is reached: here it is a word on the wire.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Map, Message, Part, Timestamp};
use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskState {
    Submitted,
    Working,
    Completed,
    Failed,
    Canceled,
    InputRequired,
    Rejected,
    AuthRequired,
}

/// State, proto number, name on the wire, plain word.
const STATES: [(TaskState, u64, &str, &str); 8] = [
    (TaskState::Submitted, 1, "TASK_STATE_SUBMITTED", "submitted"),
    (TaskState::Working, 2, "TASK_STATE_WORKING", "working"),
    (TaskState::Completed, 3, "TASK_STATE_COMPLETED", "completed"),
    (TaskState::Failed, 4, "TASK_STATE_FAILED", "failed"),
    (TaskState::Canceled, 5, "TASK_STATE_CANCELED", "canceled"),
    (TaskState::InputRequired, 6, "TASK_STATE_INPUT_REQUIRED", "input-required"),
    (TaskState::Rejected, 7, "TASK_STATE_REJECTED", "rejected"),
    (TaskState::AuthRequired, 8, "TASK_STATE_AUTH_REQUIRED", "auth-required"),
];

impl TaskState {
    /// All states, in the order of `a2a.proto`.
    pub fn all() -> impl Iterator<Item = TaskState> {
        STATES.iter().map(|row| row.0)
    }

    /// Ended for good: nothing changes such a task any more.
    pub fn is_terminal(self) -> bool {
        use TaskState::{Canceled, Completed, Failed, Rejected};
        matches!(self, Completed | Failed | Canceled | Rejected)
    }

    /// Waits for somebody outside: a waiting caller gets its answer now.
    pub fn is_interrupted(self) -> bool {
        matches!(self, TaskState::InputRequired | TaskState::AuthRequired)
    }

    /// The name on the wire: `TASK_STATE_INPUT_REQUIRED`.
    pub fn as_str(self) -> &'static str {
        STATES[self as usize].2
    }

    /// The plain word: `input-required`. Also the name in the 0.3 dialect.
    pub fn word(self) -> &'static str {
        STATES[self as usize].3
    }

    /// From either form; case counts.
    pub fn parse(text: &str) -> Option<Self> {
        let row = STATES.iter().find(|row| row.2 == text || row.3 == text)?;
        Some(row.0)
    }
}

impl Serialize for TaskState {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl Decode for TaskState {
    /// By name or number; the plain words belong to the 0.3 dialect and are not taken here.
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let (name, number) = (value.as_str(), value.as_u64());
        STATES
            .iter()
            .find(|row| name == Some(row.2) || number == Some(row.1))
            .map(|row| row.0)
            .ok_or_else(|| at.invalid("must be a state such as TASK_STATE_WORKING"))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskStatus {
    pub state: TaskState,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Message>,
    /// When the task came into this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<Timestamp>,
}

impl Decode for TaskStatus {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(TaskStatus {
            state: fields.require("state")?,
            message: fields.get("message")?,
            timestamp: fields.get("timestamp")?,
        })
    }
}

/// Something that a task made. On reading `parts` may be empty: some agents close an artifact with
/// an empty last piece, and refusing that would lose the asker the whole result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// Unique in its task.
    pub artifact_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
    /// URIs of extensions that put something into this artifact.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
}

impl Decode for Artifact {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(Artifact {
            artifact_id: fields.require_text("artifactId")?,
            name: fields.text("name")?,
            description: fields.text("description")?,
            parts: fields.get("parts")?.unwrap_or_default(),
            metadata: fields.get("metadata")?,
            extensions: fields.get("extensions")?.unwrap_or_default(),
        })
    }
}

/// One task. `None` in a list leaves its key out, an empty list prints `[]`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: String,
    /// Not required by the proto since 1.0.0; shrooms' own agents always give it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifacts: Option<Vec<Artifact>>,
    /// Oldest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Vec<Message>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
}

impl Decode for Task {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        Ok(Task {
            id: fields.require_text("id")?,
            context_id: fields.text("contextId")?,
            status: fields.require("status")?,
            artifacts: fields.get("artifacts")?,
            history: fields.get("history")?,
            metadata: fields.get("metadata")?,
        })
    }
}

deserialize_by_decode!(TaskState, TaskStatus, Artifact, Task);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    fn check(input: Value, expected: Result<Value, &str>) {
        let got =
            from_value::<Task>(input.clone()).map(|task| to_value(task).unwrap()).map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    #[test]
    fn the_table_of_states_is_in_the_order_of_the_enum_and_reads_back() {
        for (index, (state, number, name, word)) in STATES.into_iter().enumerate() {
            assert_eq!(state as usize, index);
            assert_eq!(number, index as u64 + 1);
            assert_eq!((state.as_str(), state.word()), (name, word));
            assert_eq!(TaskState::parse(name), Some(state));
            assert_eq!(TaskState::parse(word), Some(state));
            assert_eq!(from_value::<TaskState>(json!(number)).unwrap(), state);
            assert_eq!(from_value::<TaskState>(json!(name)).unwrap(), state);
            assert_eq!(to_value(state).unwrap(), json!(name));
            assert!(!(state.is_terminal() && state.is_interrupted()));
        }
        assert_eq!(TaskState::all().filter(|state| state.is_terminal()).count(), 4);
        assert_eq!(TaskState::all().filter(|state| state.is_interrupted()).count(), 2);
    }

    #[test]
    fn a_state_that_is_none_is_refused() {
        for bad in [json!(0), json!(9), json!("working"), json!("TASK_STATE_UNSPECIFIED"), json!(-1)] {
            check(
                json!({"id": "t", "status": {"state": bad}}),
                Err("status.state: must be a state such as TASK_STATE_WORKING"),
            );
        }
        assert_eq!(TaskState::parse("TASK_STATE_UNSPECIFIED"), None);
    }

    #[test]
    fn a_task_needs_only_its_id_and_state() {
        let bare = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}});
        check(bare.clone(), Ok(bare));
        check(json!({"status": {"state": 2}}), Err("id: is required"));
        check(json!({"id": "t"}), Err("status: is required"));
        check(json!({"id": "t", "status": {}}), Err("status.state: is required"));
    }

    #[test]
    fn a_full_task_is_written_as_it_was_read() {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        let full = json!({
            "id": "t", "contextId": "c", "metadata": {"shrooms/nudges": 1},
            "status": {"state": "TASK_STATE_COMPLETED", "message": message,
                "timestamp": "2026-01-31T09:05:00.000Z"},
            "artifacts": [{"artifactId": "a", "name": "result", "description": "d",
                "parts": [{"data": {"x": 1}}], "metadata": {}, "extensions": ["urn:x"]}],
            "history": [message],
        });
        check(full.clone(), Ok(full));
    }

    #[test]
    fn an_empty_list_is_printed_and_null_is_absent() {
        check(
            json!({"id": "t", "status": {"state": 1}, "artifacts": [], "history": null}),
            Ok(json!({"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"}, "artifacts": []})),
        );
        check(
            json!({"id": "t", "status": {"state": 1}, "artifacts": [{"artifactId": "a"}]}),
            Ok(json!({"id": "t", "status": {"state": "TASK_STATE_SUBMITTED"},
                "artifacts": [{"artifactId": "a", "parts": []}]})),
        );
    }

    #[test]
    fn a_refusal_deep_inside_names_the_place() {
        check(
            json!({"id": "t", "status": {"state": 1, "timestamp": "now"}}),
            Err("status.timestamp: must be an ISO-8601 time such as 2026-01-31T09:05:00.250Z"),
        );
        check(
            json!({"id": "t", "status": {"state": 1}, "artifacts": [{"artifactId": "a", "parts": [{}]}]}),
            Err("artifacts[0].parts[0]: must have one of text, raw, url or data"),
        );
    }
}
