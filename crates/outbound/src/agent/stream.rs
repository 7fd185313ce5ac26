//! One stream of a task's events, as it comes. It is not opened again here: see `follow`.
//! Must not know tasks' rules, nor which of its events end a task.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use shrooms_a2a::sse::{Decoder, Event};
use shrooms_a2a::{StreamResponse, decode};

use super::choice::Binding;
use super::wire;
use crate::CallError;
use crate::http::root;

/// An open stream.
#[derive(Debug)]
pub struct TaskStream {
    /// The peer's, for errors.
    name: String,
    binding: Binding,
    silence: Duration,
    /// `None` when all was read.
    source: Option<(Response, Decoder)>,
    /// Events that were read, and how reading ended.
    ready: VecDeque<Event>,
    end: Option<End>,
    /// What stood there when the stream ended: an event without its blank line, or a piece of one.
    last: Option<Event>,
}

/// Why there is no next event.
#[derive(Debug)]
pub(super) enum End {
    /// The agent ended the stream.
    Done,
    /// The stream broke off: another one would go on.
    Cut(CallError),
    /// The agent refused, or sent what cannot be read: another stream would be the same.
    Broken(CallError),
}

impl TaskStream {
    pub(super) fn new(name: &str, binding: Binding, response: Response, silence: Duration, event_max: usize) -> Self {
        let source = Some((response, Decoder::new(event_max)));
        TaskStream { name: name.to_owned(), binding, silence, source, ready: VecDeque::new(), end: None, last: None }
    }

    /// A stream of the one event that came as a whole answer.
    pub(super) fn of_answer(name: &str, binding: Binding, data: String) -> Self {
        let only = Event { data, ..Event::default() };
        let ready = VecDeque::from([only]);
        let silence = Duration::ZERO;
        TaskStream { name: name.to_owned(), binding, silence, source: None, ready, end: None, last: None }
    }

    /// The next event; `None` when the agent has ended the stream, whatever the task's state.
    /// Nothing is lost when the call is dropped before it returns.
    ///
    /// # Errors
    /// `Unsure` when the stream was cut off, went silent, or carries what is no event; `Refused`
    /// when the agent ended it with a refusal. Events that came before are given first, and after an
    /// error there are none.
    pub async fn next(&mut self) -> Result<Option<StreamResponse>, CallError> {
        match self.step().await {
            Ok(event) => Ok(Some(event)),
            Err(End::Done) => Ok(None),
            Err(End::Cut(error) | End::Broken(error)) => Err(error),
        }
    }

    pub(super) async fn step(&mut self) -> Result<StreamResponse, End> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return self.read(&event.data).map_err(|error| {
                    self.stop(End::Done);
                    End::Broken(error)
                });
            }
            let cut = |why: String| End::Cut(CallError::Unsure(format!("{}: {why}", self.name)));
            let Some((response, decoder)) = &mut self.source else {
                let Some(last) = self.last.take() else {
                    return Err(self.end.take().unwrap_or(End::Done));
                };
                // JSON shows its end by itself.
                return self.read(&last.data).map_err(|error| match error {
                    CallError::Refused(_) => End::Broken(error),
                    _ => cut("its stream ended in the middle of an event".into()),
                });
            };
            match tokio::time::timeout(self.silence, response.chunk()).await {
                Err(_) => {
                    let end = cut(format!("its stream was silent for {} s", self.silence.as_secs()));
                    self.stop(end);
                }
                Ok(Err(error)) => {
                    let end = cut(format!("its stream was cut off: {}", root(&error)));
                    self.stop(end);
                }
                Ok(Ok(None)) => {
                    let last = self.source.take().and_then(|(_, decoder)| decoder.finish());
                    self.last = last.filter(|last| !last.data.trim().is_empty());
                }
                Ok(Ok(Some(piece))) => {
                    let mut events = Vec::new();
                    let fed = decoder.feed(&piece, &mut events);
                    // One without data is another way to keep a connection alive.
                    self.ready.extend(events.into_iter().filter(|event| !event.data.trim().is_empty()));
                    if let Err(error) = fed {
                        self.source = None;
                        self.end = Some(End::Broken(CallError::Unsure(format!("{}: {error}", self.name))));
                    }
                }
            }
        }
    }

    /// Lets the connection go.
    fn stop(&mut self, end: End) {
        self.source = None;
        self.ready.clear();
        self.end = Some(end);
    }

    fn read(&self, data: &str) -> Result<StreamResponse, CallError> {
        let value = wire::event(self.binding, &self.name, data)?;
        let bad = |why| CallError::Unsure(format!("{}: an event of its stream cannot be read: {why}", self.name));
        decode(value).map_err(bad)
    }
}
