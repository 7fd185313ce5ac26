//! GetTask: a task as it stands. Never waits.

use shrooms_a2a::A2aError;
use shrooms_a2a::types::GetTaskParams;

use super::{Answer, Call, refused};
use crate::task_json::{self, Shown};

pub(super) async fn answer(mut call: Call) -> Result<Answer, A2aError> {
    let params: GetTaskParams = call.request.params()?;
    let task = call.task(&params.id).await?;
    let shown = Shown { history: params.history_length, artifacts: true };
    let task = task_json::show(&call.app, task, shown).await.map_err(refused)?;
    Ok(Answer::of(&call.request.id, &task))
}
