//! CancelTask, and the extension's AckTask: one word about a task, answered with the task.

use shrooms_a2a::A2aError;
use shrooms_a2a::types::TaskIdParams;
use shrooms_core::desk::{Done, Request};

use super::refusal::refused_cancel;
use super::{Answer, Call, refused};
use crate::task_json::{self, Shown};

pub(super) async fn answer(mut call: Call) -> Result<Answer, A2aError> {
    let params: TaskIdParams = call.request.params()?;
    let task = call.task(&params.id).await?.id;
    let by = call.by.clone();
    let done = call.app.engine.request(Request::Cancel { by, task, why: None }).await.map_err(refused_cancel)?;
    show(&call, done).await
}

pub(super) async fn ack(mut call: Call) -> Result<Answer, A2aError> {
    let params: TaskIdParams = call.request.params()?;
    let task = call.task(&params.id).await?.id;
    let done = call.app.engine.request(Request::Ack { by: call.by.clone(), task }).await.map_err(refused)?;
    show(&call, done).await
}

async fn show(call: &Call, done: Done) -> Result<Answer, A2aError> {
    let Done::Task { task, .. } = done else {
        return Err(A2aError::new(shrooms_a2a::ErrorCode::InternalError, "no task came back"));
    };
    let task = task_json::show(&call.app, (*task).clone(), Shown::ALL).await.map_err(refused)?;
    Ok(Answer::of(&call.request.id, &task))
}
