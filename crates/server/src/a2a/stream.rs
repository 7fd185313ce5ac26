//! SendStreamingMessage and SubscribeToTask: first the task as it stands, then every change of it, in
//! the order of their commits; what its worker says comes between. A reader that is too slow is cut
//! off and may subscribe again: nothing waits for it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use serde_json::json;
use shrooms_a2a::types::{SendMessageParams, TaskIdParams};
use shrooms_a2a::{
    A2aError, Artifact, ErrorCode, Part, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent,
};
use shrooms_core::row;
use shrooms_core::view;
use shrooms_engine::{Follow, News};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use super::handler::{Events, Reply};
use super::refusal::refused;
use super::scope::Scope;
use super::send_message::{self, FIRST_WORD, Sent};
use crate::app::App;
use crate::task_json::{self, Shown};

/// In the metadata of an artifact that is still being said: the result replaces it.
const PARTIAL: &str = "shrooms/partial";

pub(super) async fn send(scope: Scope, params: SendMessageParams) -> Result<Reply, A2aError> {
    let app = scope.app.clone();
    let Sent { task, may_be_direct, shown } = send_message::send(scope, params).await?;
    let mut following = Following::begin(app, &task, shown, Until::Outcome).await?;
    if may_be_direct {
        following.hold_back();
    }
    Ok(Reply::Events(following.events()))
}

pub(super) async fn subscribe(scope: Scope, params: TaskIdParams) -> Result<Reply, A2aError> {
    let task = scope.task(&params.id).await?;
    let following = Following::begin(scope.app, &task, Shown::ALL, Until::End).await?;
    if !following.row.open() {
        let state = view::state(&following.row).word();
        return Err(A2aError::new(
            ErrorCode::UnsupportedOperation,
            format!("this task is {state}, and nothing more comes of it: use GetTask"),
        )
        .with("taskId", following.row.id.clone()));
    }
    Ok(Reply::Events(following.events()))
}

/// What ends a stream by itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Until {
    /// The task ends, or waits for its asker: the same as what a waiting send returns at.
    Outcome,
    /// The task ends.
    End,
}

/// One reader's place in a task's life.
struct Following {
    app: App,
    follow: Follow,
    until: Until,
    /// As it was last told, without its artifacts: a reader may stay for long, and they may be large.
    row: row::Task,
    told: Task,
    /// The artifacts that were told, by their ids: one that is there does not change.
    known: Vec<String>,
    ready: VecDeque<StreamResponse>,
    /// What was said before it was told that the worker works.
    early: Vec<(Arc<str>, bool)>,
    /// Whether there will be a task to show is not known yet; by then it is shown.
    held: Option<(Pin<Box<Sleep>>, VecDeque<StreamResponse>)>,
    over: bool,
    /// Room for what is ready, if it is large.
    room: Option<OwnedSemaphorePermit>,
}

/// Events that hold less of artifacts need no room of their own.
const SMALL: u64 = 256 << 10;
/// What all large events of all streams may take at once, in KiB: a reader that takes nothing holds its
/// event until it is cut off, and the others that want large ones wait for room meanwhile.
pub(crate) const EVENTS_KIB: usize = 128 << 10;
/// Copies of a large event at once: as a value, as bytes, and while the one becomes the other.
const COPIES: u64 = 3;
/// How long a stream waits for room: half of what a reader that takes nothing may hold it for.
const ROOM_WITHIN: Duration = Duration::from_secs(30);

/// Waits for room for the artifacts of a task.
async fn room(app: &App, row: &row::Task) -> Result<Option<OwnedSemaphorePermit>, A2aError> {
    let bytes: u64 = row.made.iter().map(|made| made.parts.len).sum();
    if bytes < SMALL {
        return Ok(None);
    }
    let wanted = usize::try_from((bytes * COPIES) >> 10).unwrap_or(usize::MAX).min(EVENTS_KIB);
    let wanted = app.events.clone().acquire_many_owned(u32::try_from(wanted).unwrap_or(u32::MAX));
    let busy = || A2aError::new(ErrorCode::InternalError, "too many large streams at once: try again, or use GetTask");
    let room = tokio::time::timeout(ROOM_WITHIN, wanted).await.map_err(|_| busy())?;
    room.map(Some).map_err(|_| busy())
}

impl Following {
    async fn begin(app: App, task: &row::Task, shown: Shown, until: Until) -> Result<Following, A2aError> {
        // Before the read, so that no change falls between.
        let follow = app.engine.follow(task.no);
        let no = task.no;
        let row = app.engine.read(move |r| r.task_no(no)).await.map_err(refused)?;
        let row = row.ok_or_else(|| A2aError::task_not_found(&task.id))?;
        let room = room(&app, &row).await?;
        let task = task_json::show(&app, row.clone(), shown).await.map_err(refused)?;
        let known = task.artifacts.iter().flatten().map(|a| a.artifact_id.clone()).collect();
        let told = Task { artifacts: None, ..task.clone() };
        let ready = VecDeque::from([StreamResponse::Task(task)]);
        let mut following =
            Following { app, follow, until, row, told, known, ready, early: Vec::new(), held: None, over: false, room };
        following.over = following.is_over();
        Ok(following)
    }

    fn is_over(&self) -> bool {
        match self.until {
            Until::Outcome => self.row.has_outcome(),
            Until::End => !self.row.open(),
        }
    }

    /// Nothing is told before the worker's first word, which may be that there is no task.
    fn hold_back(&mut self) {
        let first = std::mem::take(&mut self.ready);
        self.held = Some((Box::pin(sleep(FIRST_WORD)), first));
        self.look_at_first_word();
    }

    fn look_at_first_word(&mut self) {
        if let Some((_, mut first)) = self.held.take_if(|_| self.row.has_spoken()) {
            if self.row.direct {
                // The message is all that is told (specification 3.1.2): there is no task to update.
                first = VecDeque::from([StreamResponse::Message(task_json::direct(self.told.clone()))]);
                self.ready.clear();
            }
            first.append(&mut self.ready);
            self.ready = first;
        }
    }

    fn events(self) -> Events {
        Box::pin(stream::unfold(self, |mut following| async move {
            let event = following.next().await?;
            Some((event, following))
        }))
    }

    async fn next(&mut self) -> Option<Result<StreamResponse, A2aError>> {
        loop {
            if self.held.is_none() {
                if let Some(event) = self.ready.pop_front() {
                    return Some(Ok(event));
                }
                // What was ready has been taken.
                self.room = None;
                if self.over {
                    return None;
                }
            }
            let news = tokio::select! {
                news = self.follow.next() => news,
                () = until(&mut self.held) => {
                    if let Some((_, mut first)) = self.held.take() {
                        first.append(&mut self.ready);
                        self.ready = first;
                    }
                    continue;
                }
            };
            match news {
                Ok(News::Task(row)) if row.seq > self.row.seq => {
                    if let Err(error) = self.changed(&row).await {
                        self.over = true;
                        return Some(Err(error));
                    }
                }
                // From before the read.
                Ok(News::Task(_)) => {}
                // That it begins to work is committed a moment after it may have begun to speak.
                Ok(News::Words { text, anew }) if self.row.delivered.is_none() => self.early.push((text, anew)),
                Ok(News::Words { text, anew }) => self.ready.push_back(self.words(&text, anew)),
                Err(_) => {
                    tracing::info!(task = self.row.id, "a reader is too slow: its stream ends, it may subscribe again");
                    return None;
                }
            }
        }
    }

    async fn changed(&mut self, row: &row::Task) -> Result<(), A2aError> {
        // What was made may be large, and is read when there is more of it.
        let artifacts = row.made.len() > self.row.made.len() || !row.open();
        if artifacts && self.room.is_none() {
            self.room = room(&self.app, row).await?;
        }
        let shown = Shown { history: Some(0), artifacts };
        let mut task = task_json::show(&self.app, row.clone(), shown).await.map_err(refused)?;
        for artifact in task.artifacts.take().into_iter().flatten() {
            if self.known.contains(&artifact.artifact_id) {
                continue;
            }
            self.known.push(artifact.artifact_id.clone());
            self.ready.push_back(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task.id.clone(),
                context_id: row.context.clone(),
                artifact,
                append: false,
                last_chunk: true,
                metadata: None,
            }));
        }
        self.ready.push_back(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            task_id: task.id.clone(),
            context_id: row.context.clone(),
            status: task.status.clone(),
            metadata: task.metadata.clone(),
        }));
        self.row = row.clone();
        let early = std::mem::take(&mut self.early);
        for (text, anew) in early.into_iter().filter(|_| !row.has_outcome()) {
            self.ready.push_back(self.words(&text, anew));
        }
        self.told = task;
        self.over = self.is_over();
        self.look_at_first_word();
        Ok(())
    }

    /// The result, as far as it is being said.
    fn words(&self, text: &str, anew: bool) -> StreamResponse {
        let partial = json!({PARTIAL: true}).as_object().cloned();
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: self.row.id.clone(),
            context_id: self.row.context.clone(),
            artifact: Artifact {
                metadata: partial,
                ..task_json::result_artifact(&self.app.config, &self.row, vec![Part::text(text)])
            },
            append: !anew,
            last_chunk: false,
            metadata: None,
        })
    }
}

async fn until(held: &mut Option<(Pin<Box<Sleep>>, VecDeque<StreamResponse>)>) {
    match held {
        Some((sleep, _)) => sleep.await,
        None => std::future::pending().await,
    }
}
