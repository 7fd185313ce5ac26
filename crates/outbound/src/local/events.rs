//! A stream of the daemon's events, one after the other.
//! Must not know what they say, nor open the stream again when it ends.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::Response;
use shrooms_a2a::sse::Decoder;

use crate::LocalError;
use crate::http::{BODY_MAX, root};

/// The daemon sends a comment every 15 s; after four of them missed it is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEvent {
    /// The last number that the stream gave: where to go on from.
    pub id: Option<String>,
    /// Its data; JSON, by the API.
    pub data: String,
}

/// An open stream of events.
#[derive(Debug)]
pub struct Events {
    response: Response,
    decoder: Decoder,
    ready: VecDeque<LocalEvent>,
}

impl Events {
    pub(crate) fn new(response: Response) -> Self {
        Events { response, decoder: Decoder::new(BODY_MAX), ready: VecDeque::new() }
    }

    /// The next event; `None` when the daemon has ended the stream. Nothing is lost when the call is
    /// dropped before it returns.
    ///
    /// # Errors
    /// `Broken` when the stream was cut off or went silent.
    pub async fn next(&mut self) -> Result<Option<LocalEvent>, LocalError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let silent = |_| LocalError::Broken(format!("the daemon was silent for {} s", SILENCE.as_secs()));
            let cut = |error| LocalError::Broken(format!("the stream was cut off: {}", root(&error)));
            let piece = tokio::time::timeout(SILENCE, self.response.chunk()).await.map_err(silent)?;
            let Some(piece) = piece.map_err(cut)? else { return Ok(None) };
            let mut events = Vec::new();
            let fed = self.decoder.feed(&piece, &mut events);
            self.ready.extend(events.into_iter().map(|event| LocalEvent { id: event.id, data: event.data }));
            if let (Err(error), true) = (fed, self.ready.is_empty()) {
                return Err(LocalError::Broken(error.to_string()));
            }
        }
    }
}
