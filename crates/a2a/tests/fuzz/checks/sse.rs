//! Any stream is the events that the standard makes of it, however it is cut, within its bound; and
//! what comes in them is read or refused.

use serde::Serialize;
use serde::de::DeserializeOwned;
use shrooms_a2a::jsonrpc::{Id, parse_response};
use shrooms_a2a::sse::{Decoder, Event, ID_MAX, comment, event};
use shrooms_a2a::{AgentCard, SendMessageResponse, StreamResponse};

use super::first_line;

/// Bounds of an event, in bytes: one that most streams break, one that none does.
const BOUNDS: [usize; 3] = [0, 40, 1 << 20];

/// All of it is the stream; and all of it is put into an event, to be read back.
pub fn check_sse(data: &[u8]) {
    for bound in BOUNDS {
        let whole = read(data, bound, |_| usize::MAX);
        check_bounded(&whole.0, data.len(), bound);
        assert_eq!(read(data, bound, |_| 1), whole, "byte by byte, bound {bound}");
        // Pieces as the data itself says.
        assert_eq!(read(data, bound, |at| usize::from(data[at] % 7) + 1), whole, "in pieces, bound {bound}");
    }
    let events = by_the_standard(data);
    assert_eq!(read(data, usize::MAX, |_| usize::MAX), (events.clone(), true));
    events.iter().for_each(check_event);
    check_written(data);
}

/// The events of a whole stream, as the standard tells it step by step: no pieces, and no bound but
/// the one of ids.
fn by_the_standard(stream: &[u8]) -> Vec<Event> {
    let stream = stream.strip_prefix(b"\xef\xbb\xbf").unwrap_or(stream);
    let mut lines = vec![Vec::new()];
    for (at, byte) in stream.iter().enumerate() {
        match byte {
            b'\n' if at > 0 && stream[at - 1] == b'\r' => {}
            b'\n' | b'\r' => lines.push(Vec::new()),
            byte => lines.last_mut().unwrap().push(*byte),
        }
    }
    // Whatever stands behind the last line's end is no line.
    lines.pop();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut events, mut id, mut name, mut data) = (Vec::new(), String::new(), String::new(), None::<Vec<u8>>);
    for line in lines {
        if line.is_empty() {
            let event = Some(std::mem::take(&mut name)).filter(|name| !name.is_empty());
            let id = Some(id.clone()).filter(|id| !id.is_empty());
            events.extend(data.take().map(|data| Event { data: text(&data), id, event }));
            continue;
        }
        let mut halves = line.splitn(2, |byte| *byte == b':');
        let (field, value) = (halves.next().unwrap(), halves.next().unwrap_or_default());
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                data = Some(match data.take() {
                    Some(before) => [&before, b"\n".as_slice(), value].concat(),
                    None => value.to_vec(),
                })
            }
            b"event" => name = text(value),
            b"id" if !value.contains(&0) && value.len() <= ID_MAX => id = text(value),
            _ => {}
        }
    }
    events
}

/// The events, and whether the stream could be read to its end.
fn read(data: &[u8], bound: usize, size: impl Fn(usize) -> usize) -> (Vec<Event>, bool) {
    let mut decoder = Decoder::new(bound);
    let mut events = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let end = at.saturating_add(size(at)).min(data.len());
        assert_eq!(decoder.feed(b"", &mut events), Ok(()), "nothing says nothing");
        if decoder.feed(&data[at..end], &mut events).is_err() {
            let before = events.clone();
            assert!(decoder.feed(b"data: more\n\n", &mut events).is_err(), "what has failed stays so");
            assert_eq!(events, before);
            return (events, false);
        }
        at = end;
    }
    (events, true)
}

/// Bytes that are no UTF-8 grow to three, and nothing else grows but ids, of which each event has its
/// own: they have a bound.
fn check_bounded(events: &[Event], given: usize, bound: usize) {
    let mut all = 0;
    for event in events {
        let parts = [event.data.len(), event.event.as_ref().map_or(0, |name| name.len())];
        assert!(parts.iter().all(|part| *part <= 3 * bound), "{parts:?} bytes with a bound of {bound}");
        assert!(event.id.as_ref().is_none_or(|id| id.len() <= 3 * ID_MAX));
        all += parts.iter().sum::<usize>();
    }
    assert!(all <= 3 * given, "{all} bytes were made of {given}");
}

/// As a client reads it: an answer with an event of A2A, or a card. What is read is written as it was
/// read.
fn check_event(event: &Event) {
    if let Ok(result) = parse_response(event.data.as_bytes(), &Id::from(1)) {
        let text = result.to_string();
        check_stable::<StreamResponse>(&text);
        check_stable::<SendMessageResponse>(&text);
    }
    check_stable::<StreamResponse>(&event.data);
    check_stable::<AgentCard>(&event.data);
}

fn check_stable<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(text: &str) {
    let Ok(value) = serde_json::from_str::<T>(text) else { return };
    let written = serde_json::to_string(&value).unwrap();
    assert_eq!(serde_json::from_str::<T>(&written).unwrap(), value, "{written}");
}

/// What the encoder makes of any bytes, with any id, is that one event to the decoder.
fn check_written(data: &[u8]) {
    let (id, data) = first_line(data);
    let mut stream = comment(&id);
    stream.extend(event(data, Some(&id)));
    let (events, whole) = read(&stream, usize::MAX, |_| usize::MAX);
    let kept: String = id.chars().filter(|c| !"\r\n\0".contains(*c)).collect();
    let lines = String::from_utf8_lossy(data).replace("\r\n", "\n").replace('\r', "\n");
    let wanted = Event { data: lines, id: Some(kept).filter(|id| (1..=ID_MAX).contains(&id.len())), event: None };
    assert_eq!((events, whole), (vec![wanted], true));
}
