//! The tool `task_update`: the worker's word on a task.

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{Server, input, shown};
use crate::context::task_path;
use crate::report::Failure;
use crate::request::{Update, Word};
use crate::task::Known;

pub const NAME: &str = "task_update";

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// ID of the task, as its first line names it
    task: String,
    /// How it stands
    #[schemars(schema_with = "words")]
    state: Word,
    /// The result, the question, or why it failed
    summary: String,
    /// Files to hand over with it: paths inside of your directory
    #[serde(default)]
    #[schemars(length(max = 20))]
    files: Vec<String>,
}

fn words(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "enum": [Word::Done, Word::Blocked, Word::Failed]})
}

pub fn tool() -> Tool {
    let about = "Say how a task that was given to you stands. done: it is finished, the summary is the result. \
                 blocked: you need an answer from whoever asked, the summary is the question. failed: you give it up, \
                 the summary says why. done and failed are final.";
    let annotations =
        ToolAnnotations::with_title("Finish a task").read_only(false).destructive(false).idempotent(false);
    Tool::new(NAME, about, input::schema::<Input>()).with_annotations(annotations.open_world(false))
}

pub async fn call(server: &Server, input: Input) -> Result<String, Failure> {
    let task = input::task(&input.task)?;
    let body = Update { state: input.state, summary: &input.summary, files: &input.files };
    let answer = server.context.post(&task_path(task, "")?, &body).await?;
    let known = Known::read(answer, task)?;
    Ok(match known.given_back() {
        Some(missing) if input.state == Word::Done => format!(
            "{}\nNot taken as done yet: whoever asked requires proof of {missing}, and none was seen. Do what is missing and \
             say done again; said again without it, it counts as done and is marked unproven.",
            shown::task_for_worker(&known)
        ),
        _ => shown::task_for_worker(&known),
    })
}
