//! A task followed to its end: the stream is opened again when it breaks off, and its events are
//! folded, so that the newest whole task is always at hand.
//! Must not know what the task is for, nor send a message: only what is read is read again.

use std::pin::Pin;
use std::time::Duration;

use shrooms_a2a::fold::Folded;
use shrooms_a2a::types::{GetTaskParams, TaskIdParams};
use shrooms_a2a::{ErrorCode, Fold, StreamResponse, Task, TaskState};

use super::stream::{End, TaskStream};
use super::{Agent, StreamLimits};
use crate::CallError;

/// A task that is followed.
#[derive(Debug)]
pub struct Follow {
    agent: Agent,
    /// The task's, once it is known.
    id: Option<String>,
    stream: Option<TaskStream>,
    fold: Fold,
    /// Tries that failed since the task last changed.
    failed: u32,
    /// The gap before the next try. Kept here, so that a call that is dropped does not begin it anew.
    gap: Option<Pin<Box<tokio::time::Sleep>>>,
    over: bool,
}

impl Follow {
    pub(super) fn new(agent: Agent, id: Option<String>, stream: Option<TaskStream>) -> Self {
        let fold = Fold::new(agent.limits().task_max);
        Follow { agent, id, stream, fold, failed: 0, gap: None, over: false }
    }

    /// The newest task; `None` before the first event, and after a message that came instead.
    pub fn task(&self) -> Option<&Task> {
        self.fold.task()
    }

    /// The task as the events so far leave it, with what is known of its artifacts.
    pub fn fold(&self) -> &Fold {
        &self.fold
    }

    /// The next event that changed the task, which is folded already; or the message that came
    /// instead of one. `None` when nothing more comes: the task has ended, or it waits for somebody
    /// and the agent has ended the stream. Nothing is lost when the call is dropped before it returns.
    ///
    /// # Errors
    /// The last error, when the task could not be followed on in as many tries as the limits say;
    /// another call begins anew. At once what another try would not change: a refusal, an event that
    /// cannot be read, a task that is too large.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, CallError> {
        loop {
            if self.over {
                return Ok(None);
            }
            let event = match &mut self.stream {
                None => self.resume().await?,
                Some(stream) => match stream.step().await {
                    Ok(event) => Some(event),
                    Err(End::Done) => {
                        self.stream = None;
                        self.over = self.is_settled();
                        if !self.over {
                            let name = self.agent.name();
                            self.fails(CallError::Unsure(format!("{name} ended the stream before the task")))?;
                        }
                        None
                    }
                    Err(End::Cut(error)) => {
                        self.stream = None;
                        self.fails(error)?;
                        None
                    }
                    Err(End::Broken(error)) => {
                        self.stream = None;
                        return Err(error);
                    }
                },
            };
            if let Some(event) = event
                && self.takes(&event)?
            {
                return Ok(Some(event));
            }
        }
    }

    /// Opens the stream again, or gets the task if it has none any more.
    async fn resume(&mut self) -> Result<Option<StreamResponse>, CallError> {
        if let Some(gap) = &mut self.gap {
            gap.as_mut().await;
            self.gap = None;
        }
        let Some(id) = self.id.clone() else {
            let name = self.agent.name();
            return Err(CallError::Unsure(format!("{name}: the stream broke off before the task had an id")));
        };
        let refusal = match self.agent.subscribe_to_task(TaskIdParams::from(id.as_str())).await {
            Ok(stream) => {
                self.stream = Some(stream);
                return Ok(None);
            }
            Err(CallError::Refused(refusal)) if may_be_over(refusal.known()) => CallError::Refused(refusal),
            Err(error) if is_for_now(&error) => return self.fails(error).map(|()| None),
            Err(error) => return Err(error),
        };
        match self.agent.get_task(GetTaskParams::from(id.as_str())).await {
            Ok(task) if is_settled(task.status.state) => {
                self.over = true;
                Ok(Some(StreamResponse::Task(task)))
            }
            // It goes on, and this agent gives no stream of it: the caller has to ask at times.
            Ok(task) => {
                self.takes(&StreamResponse::Task(task))?;
                Err(refusal)
            }
            Err(error) if is_for_now(&error) => self.fails(error).map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// Folds an event; whether it is one to show.
    fn takes(&mut self, event: &StreamResponse) -> Result<bool, CallError> {
        let folded = match (&self.id, id_of(event)) {
            (Some(id), Some(got)) if id != got => Err(format!("it sent an event of the task {got:?}, not of {id:?}")),
            _ => self.fold.apply(event).map_err(|why| why.to_string()),
        };
        let folded = folded.map_err(|why| {
            self.stream = None;
            CallError::Unsure(format!("{}: {why}", self.agent.name()))
        })?;
        if self.id.is_none() {
            self.id = self.fold.task().map(|task| task.id.clone());
        }
        // A message instead of a task is all there is.
        let is_end = match folded {
            Folded::Message => self.fold.task().is_none(),
            _ => self.fold.state().is_some_and(TaskState::is_terminal),
        };
        if is_end {
            self.stream = None;
            self.over = true;
        }
        if folded == Folded::Changed {
            self.failed = 0;
        }
        Ok(matches!(folded, Folded::Changed | Folded::Message))
    }

    fn is_settled(&self) -> bool {
        self.fold.state().is_some_and(is_settled)
    }

    /// Counts a failed try and sets the gap before the next one.
    fn fails(&mut self, error: CallError) -> Result<(), CallError> {
        let limits = self.agent.limits();
        self.failed += 1;
        // Without an id there is nothing to go on with.
        if self.failed > limits.tries || self.id.is_none() {
            self.failed = 0;
            return Err(error);
        }
        self.gap = Some(Box::pin(tokio::time::sleep(gap(limits, self.failed))));
        Ok(())
    }
}

/// The task that an event is of.
fn id_of(event: &StreamResponse) -> Option<&str> {
    match event {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
        StreamResponse::Message(_) => None,
    }
}

/// The gap after so many failures: each twice as long as the one before, up to the longest.
fn gap(limits: &StreamLimits, failed: u32) -> Duration {
    let factor = 1_u32.checked_shl(failed.saturating_sub(1)).unwrap_or(u32::MAX);
    limits.first_gap.saturating_mul(factor).min(limits.longest_gap)
}

fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// Refusals of a subscription after which the task is looked at. Some agents do not find a task that
/// nothing works on at the moment.
fn may_be_over(known: Option<ErrorCode>) -> bool {
    matches!(known, Some(ErrorCode::UnsupportedOperation | ErrorCode::TaskNotFound))
}

/// Whether another try may go better.
fn is_for_now(error: &CallError) -> bool {
    match error {
        CallError::Away(_) | CallError::Unsure(_) => true,
        CallError::Http { status, .. } => *status >= 500 || matches!(status, 408 | 429),
        CallError::Refused(refusal) => refusal.known() == Some(ErrorCode::InternalError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_double_up_to_the_longest() {
        let limits = StreamLimits::default();
        let gaps: Vec<u128> = (1..=9).map(|failed| gap(&limits, failed).as_millis()).collect();
        assert_eq!(gaps, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
        assert_eq!(gap(&limits, u32::MAX), limits.longest_gap);
    }

    #[test]
    fn what_is_for_now_is_tried_again() {
        let http = |status| CallError::Http { status, detail: String::new() };
        let refused = |code| CallError::Refused(shrooms_a2a::A2aError::new(code, "").into());
        for (error, expected) in [
            (CallError::Away(String::new()), true),
            (CallError::Unsure(String::new()), true),
            (http(503), true),
            (http(429), true),
            (http(408), true),
            (http(404), false),
            (http(302), false),
            (refused(ErrorCode::InternalError), true),
            (refused(ErrorCode::InvalidParams), false),
        ] {
            assert_eq!(is_for_now(&error), expected, "{error:?}");
        }
    }
}
