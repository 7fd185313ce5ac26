//! The tool `task_ack`: the asker has what it needed.

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{Server, input, shown};
use crate::context::task_path;
use crate::report::Failure;
use crate::task::Known;

pub const NAME: &str = "task_ack";

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// REF of a task you asked
    task: String,
}

pub fn tool() -> Tool {
    let about = "Say that you have what you needed of a task you asked. It ends nothing; if the result is not good \
                 enough, ask a new task.";
    let annotations =
        ToolAnnotations::with_title("Acknowledge a task").read_only(false).destructive(false).idempotent(true);
    Tool::new(NAME, about, input::schema::<Input>()).with_annotations(annotations.open_world(false))
}

pub async fn call(server: &Server, input: Input) -> Result<String, Failure> {
    let task = input::task(&input.task)?;
    let answer = server.context.post(&task_path(task, "/ack")?, &json!({})).await?;
    Ok(shown::task(&Known::read(answer, task)?, &[]))
}
