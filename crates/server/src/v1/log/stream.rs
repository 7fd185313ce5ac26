//! `GET /v1/sessions/NAME/events`: a session's log as server-sent events: the lines after the reader's
//! number, then each that comes, and what is being said as it is said. A reader that is too slow is cut
//! off and goes on from the last number that it has.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;

use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use serde_json::json;
use shrooms_a2a::sse;
use shrooms_core::id::SessionUid;
use shrooms_engine::{Heard, Listen, LogPage, LogPlace};

use super::{LINES_MAX, Line};
use crate::app::{App, State};
use crate::problem::Problem;
use crate::v1::input::{Asked, Part, within};
use crate::v1::sessions::row;

/// Without a word for so long, a sign of life (see `events`).
const ALIVE: Duration = Duration::from_secs(15);
/// Between two looks at a log that cannot be read.
const AGAIN: Duration = Duration::from_secs(1);
/// Lines read at once.
const PAGE: usize = 200;
/// Where a reader that was cut off says what it has.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StreamQuery {
    after: Option<String>,
    tail: Option<usize>,
}

/// The number that a reader has, and which log it is of: `17`, or as events have it `17-LOG`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    seq: i64,
    log: Option<String>,
}

impl Place {
    fn parse(what: &str, text: &str) -> Result<Place, Problem> {
        let bad = || Problem::bad(format!("{what}: must be an event's id, or 0 for the oldest"));
        let (seq, log) = match text.split_once('-') {
            Some((seq, log)) => (seq, Some(log.to_string())),
            None => (text, None),
        };
        let seq = seq.parse().ok().filter(|seq| *seq >= 0).ok_or_else(bad)?;
        Ok(Place { seq, log })
    }

    /// From the header that a browser sends on its own, else from the query.
    fn asked(header: Option<&str>, after: Option<&str>) -> Result<Option<Place>, Problem> {
        match header.filter(|id| !id.is_empty()) {
            Some(id) => Place::parse("Last-Event-ID", id).map(Some),
            None => after.map(|after| Place::parse("after", after)).transpose(),
        }
    }
}

/// One reader, and how far it is.
struct Reading {
    app: App,
    session: SessionUid,
    place: Place,
    listen: Listen,
    /// What is kept was sent; what is heard follows.
    live: bool,
}

pub(crate) async fn stream(
    State(app): State<App>,
    Part(name): Part,
    headers: HeaderMap,
    Asked(query): Asked<StreamQuery>,
) -> Result<Response, Problem> {
    let header = headers.get(LAST_EVENT_ID).map(|v| v.to_str().unwrap_or("?"));
    let asked = Place::asked(header, query.after.as_deref())?;
    let tail = query.tail.map(|tail| within("tail", tail, 0, LINES_MAX)).transpose()?;
    let session = row(&app, &name).await?.session.uid;
    let listen = app.engine.listen(session);
    let end = app.engine.log_page(session, LogPlace::End, 1).await?;
    let place = begin(asked, tail, &end);
    let reading = Reading { app, session, place, listen, live: false };
    let chunks = stream::unfold(reading, |mut reading| async move {
        let chunk = reading.next().await?;
        Some((Ok::<_, Infallible>(chunk), reading))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, Body::from_stream(chunks)).into_response())
}

/// Where a reader begins: behind its number; without one at the newest `tail` lines, else with what
/// comes.
fn begin(asked: Option<Place>, tail: Option<usize>, end: &LogPage) -> Place {
    let back = tail.map(|tail| end.newest.saturating_sub(i64::try_from(tail).unwrap_or(i64::MAX)).max(end.oldest - 1));
    match (asked, back) {
        (Some(place), None) => place,
        (Some(place), Some(_)) if place.seq > 0 => place,
        (None, None) => Place { seq: end.newest, log: Some(end.log.clone()) },
        (_, Some(seq)) => Place { seq, log: Some(end.log.clone()) },
    }
}

impl Reading {
    /// What the reader is sent next; `None` = the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.live {
                let chunk = self.kept().await?;
                if !chunk.is_empty() {
                    return Some(chunk.into());
                }
                continue;
            }
            let heard = tokio::select! {
                heard = self.listen.next() => heard,
                () = tokio::time::sleep(ALIVE) => return self.is_there().await.then(|| sse::comment("still here").into()),
                () = self.app.shutdown.cancelled() => return None,
            };
            match heard {
                Ok(Heard::Line(line)) if line.seq <= self.place.seq => {}
                Ok(Heard::Line(line)) if line.seq == self.place.seq + 1 => {
                    self.place.seq = line.seq;
                    return self.event(Line::of((*line).clone())).map(Into::into);
                }
                // Numbers that fit no more, or have a gap: what is kept says what is true.
                Ok(Heard::Line(_) | Heard::Anew) => self.live = false,
                Ok(Heard::Words { task, text }) => {
                    let mut data = json!({"kind": "partial", "text": &*text});
                    if let Some(task) = task {
                        data["task"] = task.into();
                    }
                    return Some(sse::event(data.to_string().as_bytes(), None).into());
                }
                Err(_) => {
                    tracing::info!(session = self.session.0, "a reader is too slow: its stream ends, it may go on");
                    return None;
                }
            }
        }
    }

    /// What is kept behind the reader's number, a page of it. Behind the last page it is live.
    async fn kept(&mut self) -> Option<Vec<u8>> {
        // Before the read, so that no line falls between.
        self.listen = self.app.engine.listen(self.session);
        let place = LogPlace::After(self.place.seq);
        let page = match self.app.engine.log_page(self.session, place, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::debug!(%error, "a session's log cannot be read for a stream: it is tried again");
                return tokio::select! {
                    () = tokio::time::sleep(AGAIN) => self.is_there().await.then(|| sse::comment("still here")),
                    () = self.app.shutdown.cancelled() => None,
                };
            }
        };
        let mut out = Vec::new();
        let resync = resync(&self.place, &page);
        self.place.log = Some(page.log.clone());
        if let Some(seq) = resync {
            self.place.seq = seq;
            let data = json!({"kind": "resync", "log": page.log}).to_string();
            out.extend(sse::event(data.as_bytes(), Some(&self.id())));
            // The page was of a number that means nothing.
            return Some(out);
        }
        self.live = page.lines.last().is_none_or(|last| last.seq >= page.newest);
        for line in page.lines {
            self.place.seq = line.seq;
            out.extend(self.event(Line::of(line))?);
        }
        Some(out)
    }

    fn event(&self, line: Line) -> Option<Vec<u8>> {
        match serde_json::to_vec(&line) {
            Ok(data) => Some(sse::event(&data, Some(&self.id()))),
            Err(error) => {
                tracing::warn!(%error, "a line cannot be shown");
                None
            }
        }
    }

    fn id(&self) -> String {
        match &self.place.log {
            Some(log) => format!("{}-{log}", self.place.seq),
            None => self.place.seq.to_string(),
        }
    }

    /// The session was not removed meanwhile.
    async fn is_there(&self) -> bool {
        let session = self.session;
        let row = self.app.engine.read(move |r| r.session(session)).await;
        row.is_ok_and(|row| row.is_some_and(|row| row.removed.is_none()))
    }
}

/// Where a reader must begin anew: its number is of another log, was never given, or what is behind it
/// is not kept any more.
fn resync(place: &Place, page: &LogPage) -> Option<i64> {
    let is_other = place.log.as_ref().is_some_and(|log| *log != page.log);
    if is_other || place.seq + 1 < page.oldest {
        return Some(page.oldest - 1);
    }
    (place.seq > page.newest).then_some(page.newest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(seq: i64, log: Option<&str>) -> Place {
        Place { seq, log: log.map(String::from) }
    }

    fn page(oldest: i64, newest: i64) -> LogPage {
        LogPage { log: "a.1".into(), lines: Vec::new(), oldest, newest }
    }

    #[test]
    fn the_header_wins_over_the_query_and_a_number_may_say_its_log() {
        for (header, after, want) in [
            (None, None, Some(None)),
            (None, Some("3"), Some(Some(place(3, None)))),
            (Some("7-a.1"), Some("3"), Some(Some(place(7, Some("a.1"))))),
            (Some(""), Some("3-x"), Some(Some(place(3, Some("x"))))),
            (Some("x"), Some("3"), None),
            (Some("-1"), None, None),
            (None, Some("-1"), None),
            (None, Some("1.5"), None),
            (None, Some(""), None),
        ] {
            assert_eq!(Place::asked(header, after).ok(), want, "{header:?} {after:?}");
        }
    }

    #[test]
    fn a_reader_begins_behind_its_number_at_the_tail_or_with_what_comes() {
        let own = |seq| place(seq, Some("a.1"));
        for (asked, tail, want) in [
            (None, None, own(50)),
            (None, Some(3), own(47)),
            (None, Some(0), own(50)),
            (None, Some(1_000), own(10)),
            (Some(place(20, None)), None, place(20, None)),
            (Some(place(20, None)), Some(3), place(20, None)),
            (Some(place(0, None)), Some(3), own(47)),
            (Some(place(0, None)), None, place(0, None)),
        ] {
            assert_eq!(begin(asked.clone(), tail, &page(11, 50)), want, "{asked:?} {tail:?}");
        }
        assert_eq!(begin(None, Some(5), &page(1, 0)), own(0), "an empty log");
    }

    #[test]
    fn a_number_that_does_not_fit_is_said() {
        for (at, page, want) in [
            (place(20, Some("a.1")), page(11, 50), None),
            (place(20, None), page(11, 50), None),
            (place(10, None), page(11, 50), None),
            (place(9, None), page(11, 50), Some(10)),
            (place(0, None), page(11, 50), Some(10)),
            (place(0, None), page(1, 50), None),
            (place(50, None), page(11, 50), None),
            (place(51, None), page(11, 50), Some(50)),
            (place(20, Some("b.1")), page(11, 50), Some(10)),
            (place(20, Some("b.1")), page(1, 0), Some(0)),
            (place(0, None), page(1, 0), None),
            (place(3, None), page(1, 0), Some(0)),
        ] {
            assert_eq!(resync(&at, &page), want, "{at:?}");
        }
    }
}
