//! `GET /v1/events`: the numbered feed of what changed, as server-sent events. A reader names the
//! last number it has; one that is not kept any more is told to read everything anew.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::{Deserialize, Serialize};
use serde_json::json;
use shrooms_a2a::{Timestamp, sse};
use shrooms_core::row::{Event, EventKind};
use shrooms_engine::Feed;
use tokio::sync::watch;

use super::input::Asked;
use crate::app::{App, State};
use crate::problem::Problem;

/// Without a word for so long, a sign of life: well under the idle limits of proxies and client
/// libraries, which begin at 30 s.
const ALIVE: Duration = Duration::from_secs(15);
/// Events read at once: some hundred kilobytes at most, since each is a line.
const PAGE: usize = 500;
/// Where a reader that was cut off says what it has.
const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventsQuery {
    after: Option<i64>,
}

#[derive(Serialize)]
struct Line<'a> {
    seq: i64,
    at: String,
    kind: EventKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a str>,
    state: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    summary: &'a str,
}

/// One reader's place in the feed.
struct Place {
    app: App,
    feed: watch::Receiver<i64>,
    after: i64,
}

pub(super) async fn stream(
    State(app): State<App>,
    headers: HeaderMap,
    Asked(query): Asked<EventsQuery>,
) -> Result<Response, Problem> {
    let feed = app.engine.feed();
    let newest = *feed.borrow();
    let after = after(headers.get(LAST_EVENT_ID).map(|v| v.to_str().unwrap_or("?")), query.after)?.unwrap_or(newest);
    let chunks = stream::unfold(Place { app, feed, after }, |mut place| async move {
        let chunk = place.next().await?;
        Some((Ok::<_, Infallible>(chunk), place))
    });
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((kind, Body::from_stream(chunks)).into_response())
}

/// The number that the reader has, from the header that a browser sends on its own, else from the
/// query.
fn after(header: Option<&str>, query: Option<i64>) -> Result<Option<i64>, Problem> {
    let after = match header.filter(|id| !id.is_empty()) {
        Some(id) => Some(id.parse().map_err(|_| Problem::bad("Last-Event-ID: must be an event's number"))?),
        None => query,
    };
    match after {
        Some(number) if number < 0 => Err(Problem::bad("after: must be an event's number, or 0 for the oldest")),
        after => Ok(after),
    }
}

impl Place {
    /// What the reader is sent next; `None` = the stream ends.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            let newest = *self.feed.borrow_and_update();
            let after = self.after;
            let read = self.app.engine.read(move |r| {
                let feed = r.events(after, PAGE)?;
                // A number is announced a moment after it can be read, so that a reader may well
                // have one above `newest`; one that nothing was ever given is another matter.
                let ahead = after > newest && after > feed.newest;
                Ok((feed, ahead))
            });
            let (feed, ahead) = match read.await {
                Ok(read) => read,
                Err(error) => {
                    tracing::debug!(%error, "an event stream ends: the feed cannot be read");
                    return None;
                }
            };
            let (chunk, after) = chunk(&feed, self.after, newest, ahead);
            self.after = after;
            if !chunk.is_empty() {
                return Some(chunk.into());
            }
            tokio::select! {
                changed = self.feed.changed() => changed.ok()?,
                () = tokio::time::sleep(ALIVE) => return Some(sse::comment("still here").into()),
                () = self.app.shutdown.cancelled() => return None,
            }
        }
    }
}

/// The bytes for a stretch of the feed, and the reader's place after them. `newest` is the last
/// number that was announced; `ahead` = the reader has one that this feed never gave.
fn chunk(feed: &Feed, after: i64, newest: i64, ahead: bool) -> (Vec<u8>, i64) {
    let gone = if feed.oldest == 0 { after < newest } else { feed.oldest > after.saturating_add(1) };
    let mut place = after;
    let mut out = Vec::new();
    if gone || ahead {
        place = if gone && feed.oldest > 0 { feed.oldest - 1 } else { newest };
        let data = json!({"kind": "resync"}).to_string();
        out.extend(sse::event(data.as_bytes(), Some(&place.to_string())));
    }
    let from = place;
    for event in feed.events.iter().filter(|e| e.seq > from) {
        match serde_json::to_vec(&line(event)) {
            Ok(data) => out.extend(sse::event(&data, Some(&event.seq.to_string()))),
            Err(error) => tracing::warn!(%error, seq = event.seq, "an event cannot be shown"),
        }
        place = event.seq;
    }
    // What was left out is not looked through again.
    if feed.events.len() < PAGE {
        place = place.max(feed.newest);
    }
    (out, place)
}

fn line(event: &Event) -> Line<'_> {
    Line {
        seq: event.seq,
        at: Timestamp(event.at).to_string(),
        kind: event.kind,
        session: event.session.as_deref(),
        task: event.task.as_deref(),
        state: &event.state,
        summary: &event.summary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_wins_over_the_query() {
        for (header, query, want) in [
            (None, None, Some(None)),
            (None, Some(3), Some(Some(3))),
            (Some("7"), Some(3), Some(Some(7))),
            (Some(""), Some(3), Some(Some(3))),
            (Some("x"), Some(3), None),
            (Some("-1"), None, None),
            (None, Some(-1), None),
        ] {
            assert_eq!(after(header, query).ok(), want, "{header:?} {query:?}");
        }
    }

    fn event(seq: i64) -> Event {
        Event {
            seq,
            at: 1_800_000_000_000,
            kind: EventKind::Task,
            session: Some("tests".into()),
            of: None,
            task: Some("tests:m".into()),
            state: "working".into(),
            summary: String::new(),
        }
    }

    #[test]
    fn a_number_that_is_not_kept_is_said_once_and_the_rest_follows() {
        // Kept numbers, the reader's number, the newest; then the ids sent, and the reader's place.
        for ((oldest, last), after, newest, want, place) in [
            ((1, 3), 0, 3, vec!["1", "2", "3"], 3),
            ((1, 3), 2, 3, vec!["3"], 3),
            ((1, 3), 3, 3, vec![], 3),
            ((1, 3), 3, 2, vec![], 3),
            ((1, 3), 2, 1, vec!["3"], 3),
            ((5, 6), 4, 6, vec!["5", "6"], 6),
            ((5, 6), 3, 6, vec!["4 resync", "5", "6"], 6),
            ((5, 6), 0, 6, vec!["4 resync", "5", "6"], 6),
            ((1, 3), 9, 3, vec!["3 resync"], 3),
            ((1, 0), 0, 0, vec![], 0),
            ((1, 0), 4, 9, vec!["9 resync"], 9),
            ((1, 0), 9, 9, vec![], 9),
        ] {
            let kept: Vec<i64> = (oldest..=last).collect();
            let feed = Feed {
                oldest: kept.first().copied().unwrap_or(0),
                newest: kept.last().copied().unwrap_or(0),
                events: kept.iter().filter(|seq| **seq > after).map(|seq| event(*seq)).collect(),
            };
            let ahead = after > newest.max(last);
            let (bytes, got) = chunk(&feed, after, newest, ahead);
            let text = String::from_utf8(bytes).unwrap();
            let ids: Vec<String> = text
                .split("\n\n")
                .filter_map(|e| e.strip_prefix("id: "))
                .map(|e| e.replace("\ndata: {\"kind\":\"resync\"}", " resync"))
                .map(|e| e.lines().next().unwrap_or("").to_string())
                .collect();
            assert_eq!((ids, got), (want.iter().map(ToString::to_string).collect(), place), "{kept:?} after {after}");
        }
    }

    #[test]
    fn an_event_is_a_line_of_json() {
        assert_eq!(
            serde_json::to_string(&line(&event(7))).unwrap(),
            r#"{"seq":7,"at":"2027-01-15T08:00:00.000Z","kind":"task","session":"tests","task":"tests:m","state":"working"}"#
        );
    }
}
