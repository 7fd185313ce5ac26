//! CancelTask, and the extension's AckTask: one word about a task, answered with the task.

use shrooms_a2a::types::TaskIdParams;
use shrooms_a2a::{A2aError, ErrorCode};
use shrooms_core::desk::{Done, Request};

use super::frame::Outcome;
use super::refusal::{refused, refused_cancel};
use super::scope::Scope;
use crate::task_json::{self, Shown};

pub(super) async fn answer(scope: &Scope, params: TaskIdParams) -> Result<Outcome, A2aError> {
    let task = scope.task(&params.id).await?.id;
    let request = Request::Cancel { by: scope.by.clone(), task, why: None };
    show(scope, scope.app.engine.request(request).await.map_err(refused_cancel)?).await
}

pub(super) async fn ack(scope: &Scope, params: TaskIdParams) -> Result<Outcome, A2aError> {
    let task = scope.task(&params.id).await?.id;
    let request = Request::Ack { by: scope.by.clone(), task };
    show(scope, scope.app.engine.request(request).await.map_err(refused)?).await
}

async fn show(scope: &Scope, done: Done) -> Result<Outcome, A2aError> {
    let Done::Task { task, .. } = done else {
        return Err(A2aError::new(ErrorCode::InternalError, "no task came back"));
    };
    task_json::show(&scope.app, (*task).clone(), Shown::ALL).await.map(Outcome::Task).map_err(refused)
}
