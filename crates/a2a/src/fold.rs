//! The events of a stream folded into the whole task, so that a reader always has the newest one and
//! what it has equals what the agent keeps (specification 3.5.2, 4.2).
//! Must not know where the events come from, nor when one is missing.

mod size;

use std::collections::BTreeSet;

use crate::shrooms;
use crate::types::{
    Artifact, Map, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};

/// A task as the events so far leave it.
#[derive(Debug, Clone)]
pub struct Fold {
    task: Option<Task>,
    /// Artifacts of which nothing more comes, by id.
    closed: BTreeSet<String>,
    /// What the task takes, by [`size`].
    bytes: usize,
    max_bytes: usize,
}

/// What an event did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folded {
    /// The task is another now.
    Changed,
    /// The event said what was known, as the first one of a new subscription may.
    Same,
    /// It came after the task's end and was left out: an end is final.
    Late,
    /// It is a message instead of a task, and was left out.
    Message,
}

/// Why an event was not folded. The task is as it was before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    #[error("the event is of task {got:?}, not of {expected:?}")]
    OtherTask { expected: String, got: String },
    #[error("the task is larger than {0} bytes")]
    TooLarge(usize),
}

impl Fold {
    /// With no task yet. `max_bytes` bounds the whole task, about as it lies in memory.
    pub fn new(max_bytes: usize) -> Self {
        Fold { task: None, closed: BTreeSet::new(), bytes: 0, max_bytes }
    }

    /// The newest task; `None` before the first event.
    pub fn task(&self) -> Option<&Task> {
        self.task.as_ref()
    }

    /// The newest task.
    pub fn into_task(self) -> Option<Task> {
        self.task
    }

    /// Where the task stands.
    pub fn state(&self) -> Option<TaskState> {
        self.task.as_ref().map(|task| task.status.state)
    }

    /// Whether nothing more comes for an artifact: its last piece was marked, or the task has ended.
    /// A new snapshot does not say which are closed, so that they count as open again.
    pub fn is_whole(&self, artifact_id: &str) -> bool {
        self.closed.contains(artifact_id) || self.state().is_some_and(TaskState::is_terminal)
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// It is of another task, or the task would grow beyond the bound.
    pub fn apply(&mut self, event: &StreamResponse) -> Result<Folded, FoldError> {
        match event {
            StreamResponse::Message(_) => Ok(Folded::Message),
            StreamResponse::Task(task) => self.snapshot(task),
            StreamResponse::StatusUpdate(update) => self.status(update),
            StreamResponse::ArtifactUpdate(update) => self.artifact(update),
        }
    }

    fn snapshot(&mut self, given: &Task) -> Result<Folded, FoldError> {
        self.check_id(&given.id)?;
        let mut task = given.clone();
        if let Some(held) = &self.task {
            if held.status.state.is_terminal() && !task.status.state.is_terminal() {
                return Ok(Folded::Late);
            }
            // What a snapshot leaves out is not said to be gone: neither list ever shrinks.
            if task.history.is_none() {
                task.history.clone_from(&held.history);
            }
            if task.artifacts.is_none() {
                task.artifacts.clone_from(&held.artifacts);
            }
            task.context_id = task.context_id.or_else(|| held.context_id.clone());
            if *held == task {
                return Ok(Folded::Same);
            }
        }
        let bytes = size::task(&task);
        self.check_bound(bytes)?;
        self.bytes = bytes;
        self.closed.clear();
        self.task = Some(task);
        Ok(Folded::Changed)
    }

    fn status(&mut self, update: &TaskStatusUpdateEvent) -> Result<Folded, FoldError> {
        self.check_id(&update.task_id)?;
        if self.state().is_some_and(TaskState::is_terminal) {
            return Ok(Folded::Late);
        }
        let Some(task) = &self.task else {
            // Some agents begin with this one.
            return self.snapshot(&bare(&update.task_id, &update.context_id, &update.status, update.metadata.as_ref()));
        };
        let mut metadata = task.metadata.clone();
        merge(&mut metadata, update.metadata.as_ref());
        drop_ours(&mut metadata, update.metadata.as_ref());
        if task.status == update.status && task.metadata == metadata {
            return Ok(Folded::Same);
        }
        let (bytes, grown) = (self.bytes, size::metadata(update.metadata.as_ref()));
        self.check_bound(bytes.saturating_add(size::status(&update.status)).saturating_add(grown))?;
        let Some(task) = &mut self.task else { return Ok(Folded::Same) };
        let before = size::status(&task.status) + size::metadata(task.metadata.as_ref());
        let said = std::mem::replace(&mut task.status, update.status.clone()).message;
        task.metadata = metadata;
        let named = take_context(task, &update.context_id);
        let mut after = named + size::status(&task.status) + size::metadata(task.metadata.as_ref());
        // What was said before belongs to the history now, if it is not there already or said again.
        if let Some(said) = said {
            let is_again = task.status.message.as_ref().is_some_and(|now| now.message_id == said.message_id);
            let history = task.history.get_or_insert_default();
            if !is_again && history.last().is_none_or(|last| last.message_id != said.message_id) {
                after += size::message(&said);
                history.push(said);
            }
        }
        self.bytes = bytes.saturating_sub(before).saturating_add(after);
        Ok(Folded::Changed)
    }

    fn artifact(&mut self, update: &TaskArtifactUpdateEvent) -> Result<Folded, FoldError> {
        self.check_id(&update.task_id)?;
        if self.state().is_some_and(TaskState::is_terminal) {
            return Ok(Folded::Late);
        }
        let grown = size::artifact(&update.artifact) + size::metadata(update.metadata.as_ref());
        if self.task.is_none() {
            let working = TaskStatus { state: TaskState::Working, message: None, timestamp: None };
            let begun = bare(&update.task_id, &update.context_id, &working, None);
            self.check_bound(size::task(&begun).saturating_add(grown))?;
            self.snapshot(&begun)?;
        }
        let Some(task) = &mut self.task else { return Ok(Folded::Same) };
        let id = &update.artifact.artifact_id;
        let at = task.artifacts.iter().flatten().position(|artifact| artifact.artifact_id == *id);
        let freed = match at.and_then(|at| task.artifacts.as_ref()?.get(at)) {
            Some(held) if !update.append => size::artifact(held),
            Some(held) => size::metadata(held.metadata.as_ref()) + size::words(held),
            None => 0,
        };
        if self.bytes.saturating_sub(freed).saturating_add(grown) > self.max_bytes {
            return Err(FoldError::TooLarge(self.max_bytes));
        }
        let artifacts = task.artifacts.get_or_insert_default();
        let after = match at.and_then(|at| artifacts.get_mut(at)) {
            // An artifact that is not known begins with whatever comes first of it.
            None => {
                artifacts.push(update.artifact.clone());
                size::artifact(&update.artifact)
            }
            Some(held) if !update.append => {
                held.clone_from(&update.artifact);
                size::artifact(held)
            }
            Some(held) => {
                append(held, &update.artifact);
                let parts: usize = update.artifact.parts.iter().map(size::part).sum();
                parts + size::metadata(held.metadata.as_ref()) + size::words(held)
            }
        };
        let before = size::metadata(task.metadata.as_ref());
        merge(&mut task.metadata, update.metadata.as_ref());
        let named = take_context(task, &update.context_id);
        let metadata = size::metadata(task.metadata.as_ref());
        self.bytes = self.bytes.saturating_sub(freed + before).saturating_add(after + metadata + named);
        if update.last_chunk {
            self.closed.insert(id.clone());
        } else {
            self.closed.remove(id);
        }
        Ok(Folded::Changed)
    }

    fn check_id(&self, id: &str) -> Result<(), FoldError> {
        match &self.task {
            Some(task) if task.id != id => Err(FoldError::OtherTask { expected: task.id.clone(), got: id.to_owned() }),
            _ => Ok(()),
        }
    }

    fn check_bound(&self, bytes: usize) -> Result<(), FoldError> {
        if bytes > self.max_bytes { Err(FoldError::TooLarge(self.max_bytes)) } else { Ok(()) }
    }
}

/// A task of which only one event is known.
fn bare(id: &str, context_id: &str, status: &TaskStatus, metadata: Option<&Map>) -> Task {
    Task {
        id: id.to_owned(),
        context_id: Some(context_id.to_owned()).filter(|id| !id.is_empty()),
        status: status.clone(),
        artifacts: None,
        history: None,
        metadata: metadata.cloned(),
    }
}

/// Takes a context's id where none was known; the bytes that it adds.
fn take_context(task: &mut Task, context_id: &str) -> usize {
    if task.context_id.is_some() || context_id.is_empty() {
        return 0;
    }
    task.context_id = Some(context_id.to_owned());
    context_id.len()
}

/// Key by key: an event says what is new, not all there is.
fn merge(held: &mut Option<Map>, given: Option<&Map>) {
    if let Some(given) = given {
        let held = held.get_or_insert_default();
        for (key, value) in given {
            held.insert(key.clone(), value.clone());
        }
    }
}

/// Shrooms tells a task's own keys whole with every status: one that is not told is gone, such as the
/// place in a queue that the task has left.
fn drop_ours(held: &mut Option<Map>, given: Option<&Map>) {
    if let (Some(held), Some(given)) = (held, given)
        && given.keys().any(|key| key.starts_with(shrooms::PREFIX))
    {
        held.retain(|key, _| !key.starts_with(shrooms::PREFIX) || given.contains_key(key));
    }
}

fn append(held: &mut Artifact, piece: &Artifact) {
    held.parts.extend_from_slice(&piece.parts);
    if piece.name.is_some() {
        held.name.clone_from(&piece.name);
    }
    if piece.description.is_some() {
        held.description.clone_from(&piece.description);
    }
    merge(&mut held.metadata, piece.metadata.as_ref());
    for uri in &piece.extensions {
        if !held.extensions.contains(uri) {
            held.extensions.push(uri.clone());
        }
    }
}

#[cfg(test)]
mod tests;
