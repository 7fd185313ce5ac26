//! The values of A2A 1.0 (`a2a.proto`, package `lf.a2a.v1`) in their JSON form.
//! They are written by derived code (camelCase, absent fields left out) and read through `decode`,
//! which is lenient in spelling and strict in meaning.
//! Must not know tasks' rules: what a state allows is decided elsewhere.

mod event;
mod message;
mod params;
mod part;
mod push;
mod task;
mod time;

pub use event::{SendMessageResponse, StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent};
pub use message::{MAX_PARTS, Message, Role};
pub use params::{
    DEFAULT_PAGE_SIZE, GetTaskParams, ListTasksParams, ListTasksResult, MAX_PAGE_SIZE, SendConfiguration,
    SendMessageParams, TaskIdParams,
};
pub use part::{Part, PartContent};
pub use push::{AuthenticationInfo, PushConfigParams, PushConfigsResult, TaskPushNotificationConfig};
pub use task::{Artifact, Task, TaskState, TaskStatus};
pub use time::Timestamp;

/// A JSON object, such as metadata. Its keys are ordered, so that the same value always prints the
/// same bytes.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// For `skip_serializing_if`: proto3 leaves a false flag out.
#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_false(flag: &bool) -> bool {
    !*flag
}
