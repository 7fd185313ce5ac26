//! Waiting for a task's outcome: subscribed before it is read, so that no change falls between.
//! Ends by the outcome, the bound, or the server's end; never changes the task.

use std::time::Duration;

use shrooms_core::id::TaskNo;
use shrooms_core::row::{Subject, Task};
use shrooms_engine::EngineError;

use crate::app::App;

/// The longest wait that A2A and `/v1` hold: ten minutes (seed, "blocking").
pub(crate) const LONGEST: Duration = Duration::from_secs(600);

/// The task once it has an outcome (or, with `seen`, once its change number is above that), or as
/// it stands when the time is over.
pub(crate) async fn outcome(
    app: &App,
    no: TaskNo,
    within: Duration,
    seen: Option<u32>,
) -> Result<Option<Task>, EngineError> {
    until(app, no, within, |task| task.has_outcome() || seen.is_some_and(|seen| task.seq > seen)).await
}

/// The task once its worker has said anything of it, or as it stands when the time is over.
pub(crate) async fn first_word(app: &App, no: TaskNo, within: Duration) -> Result<Option<Task>, EngineError> {
    until(app, no, within, Task::has_spoken).await
}

async fn until(
    app: &App,
    no: TaskNo,
    within: Duration,
    done: impl Fn(&Task) -> bool,
) -> Result<Option<Task>, EngineError> {
    let mut watch = app.engine.watch(Subject::Task(no));
    let deadline = tokio::time::sleep(within.min(LONGEST));
    tokio::pin!(deadline);
    let mut over = false;
    loop {
        let task = app.engine.read(move |r| r.task_no(no)).await?;
        let Some(task) = task else { return Ok(None) };
        if over || done(&task) {
            return Ok(Some(task));
        }
        tokio::select! {
            () = watch.changed() => {}
            () = &mut deadline => over = true,
            () = app.shutdown.cancelled() => over = true,
        }
    }
}
