//! GetTask: a task as it stands. Never waits.

use shrooms_a2a::A2aError;
use shrooms_a2a::types::GetTaskParams;

use super::frame::Outcome;
use super::refusal::refused;
use super::scope::Scope;
use crate::task_json::{self, Shown};

pub(super) async fn answer(scope: &Scope, params: GetTaskParams) -> Result<Outcome, A2aError> {
    let task = scope.task(&params.id).await?;
    let shown = Shown { history: params.history_length, artifacts: true };
    task_json::show(&scope.app, task, shown).await.map(Outcome::Task).map_err(refused)
}
