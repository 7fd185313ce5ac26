//! Reading a stream of events, byte-fed.
//! Must not know where the bytes come from, nor wait for any.

use std::mem;

/// The longest id that is kept, in bytes. Each event carries a copy, so that one long id and many
/// short events would fill the memory. Ids are places in a log: numbers, or hashes of 64 bytes.
pub const ID_MAX: usize = 256;

/// One event that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Event {
    /// The `data:` lines, joined by `\n`. Bytes that are not UTF-8 come as U+FFFD.
    pub data: String,
    /// The last id that the stream gave, in this event or an earlier one. One longer than [`ID_MAX`]
    /// is left unread, as the standard has it for one with a NUL.
    pub id: Option<String>,
    /// The event's name, if it has one; A2A defines none.
    pub event: Option<String>,
}

/// One event, or one line, is larger than the bound. The stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {0} bytes")]
pub struct EventTooLarge(pub usize);

/// Reads a stream piece by piece. An event that is not finished when the stream ends is dropped, as
/// the standard has it: just drop the decoder. Who can tell a whole event from a piece of one by its
/// data asks [`Decoder::finish`].
#[derive(Debug)]
pub struct Decoder {
    max_bytes: usize,
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    name: Option<String>,
    id: Option<String>,
    /// The last byte was a CR, so that a LF right after it belongs to the same line's end.
    after_cr: bool,
    /// A byte order mark may stand before the first line only.
    at_start: bool,
    failed: bool,
}

impl Decoder {
    /// `max_bytes` bounds one event's data, and any one line.
    pub fn new(max_bytes: usize) -> Self {
        Decoder {
            max_bytes,
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            name: None,
            id: None,
            after_cr: false,
            at_start: true,
            failed: false,
        }
    }

    /// Takes the next piece and adds the events that it finishes to `out`.
    ///
    /// # Errors
    /// An event is too large. Events before it are in `out`; every later call fails as well.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<Event>) -> Result<(), EventTooLarge> {
        let mut rest = piece;
        if self.failed {
            return Err(EventTooLarge(self.max_bytes));
        }
        while !rest.is_empty() {
            if mem::take(&mut self.after_cr)
                && let Some(after_lf) = rest.strip_prefix(b"\n")
            {
                rest = after_lf;
                continue;
            }
            let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let (part, tail) = rest.split_at(end.unwrap_or(rest.len()));
            self.grow(part)?;
            let Some((end, after)) = tail.split_first() else {
                return Ok(());
            };
            self.after_cr = *end == b'\r';
            rest = after;
            self.end_line(out)?;
        }
        Ok(())
    }

    /// The event that the end of the stream cut off before its blank line, if any: agents forget
    /// that line after their last event. Its data may be whole or not.
    pub fn finish(mut self) -> Option<Event> {
        let mut out = Vec::new();
        if self.failed || (!self.line.is_empty() && self.end_line(&mut out).is_err()) {
            return None;
        }
        self.dispatch(&mut out);
        out.pop()
    }

    /// Adds to the line, within the bound.
    fn grow(&mut self, part: &[u8]) -> Result<(), EventTooLarge> {
        self.check_bound(self.line.len() + part.len())?;
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn check_bound(&mut self, bytes: usize) -> Result<(), EventTooLarge> {
        if bytes <= self.max_bytes {
            return Ok(());
        }
        self.failed = true;
        // What was kept is of no more use.
        self.line = Vec::new();
        self.data = Vec::new();
        Err(EventTooLarge(self.max_bytes))
    }

    fn end_line(&mut self, out: &mut Vec<Event>) -> Result<(), EventTooLarge> {
        // Taken out and put back, so that its memory serves the next line.
        let mut line = mem::take(&mut self.line);
        let text =
            if mem::take(&mut self.at_start) { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line) } else { &line };
        let done = if text.is_empty() {
            self.dispatch(out);
            Ok(())
        } else {
            self.field(text)
        };
        line.clear();
        self.line = line;
        done
    }

    fn field(&mut self, line: &[u8]) -> Result<(), EventTooLarge> {
        let colon = line.iter().position(|b| *b == b':');
        let (name, value) = line.split_at(colon.unwrap_or(line.len()));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => {
                self.check_bound(self.data.len() + usize::from(self.has_data) + value.len())?;
                if mem::replace(&mut self.has_data, true) {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
            }
            b"event" => self.name = Some(lossy(value)).filter(|name| !name.is_empty()),
            b"id" if value.len() <= ID_MAX && !value.contains(&0) => self.id = Some(lossy(value)),
            // A comment has an empty name; `retry` and unknown names say nothing here.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<Event>) {
        let name = self.name.take();
        if mem::take(&mut self.has_data) {
            let data = String::from_utf8(mem::take(&mut self.data)).unwrap_or_else(|error| lossy(error.as_bytes()));
            out.push(Event { data, id: self.id.clone().filter(|id| !id.is_empty()), event: name });
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the stream whole, byte by byte and in every cut into two; all must give the same
    /// events, written here as `data`, `id|data`.
    fn check(stream: &[u8], expected: &[&str]) {
        let read = |pieces: &[&[u8]]| {
            let mut decoder = Decoder::new(64);
            let mut out = Vec::new();
            for piece in pieces {
                decoder.feed(piece, &mut out).unwrap();
            }
            out.into_iter()
                .map(|event| match event.id {
                    Some(id) => format!("{id}|{}", event.data),
                    None => event.data,
                })
                .collect::<Vec<_>>()
        };
        let text = String::from_utf8_lossy(stream);
        assert_eq!(read(&[stream]), expected, "{text:?}");
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read(&bytes), expected, "{text:?} byte by byte");
        for cut in 0..=stream.len() {
            let (a, b) = stream.split_at(cut);
            assert_eq!(read(&[a, b]), expected, "{text:?} cut at {cut}");
        }
    }

    #[test]
    fn lines_end_in_lf_crlf_or_cr_wherever_they_are_cut() {
        check(b"data: a\n\ndata: b\n\n", &["a", "b"]);
        check(b"data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check(b"data: a\r\rdata: b\r\r", &["a", "b"]);
        check(b"data: a\r\ndata: b\n\r\ndata: c\r\n\n", &["a\nb", "c"]);
        check("data: grüße 🍄\r\n\r\n".as_bytes(), &["grüße 🍄"]);
        check(b"data: \xff\n\n", &["\u{fffd}"]);
    }

    #[test]
    fn data_lines_are_joined_and_one_blank_is_taken_off() {
        check(b"data:a\ndata:  b\ndata\ndata:\n\n", &["a\n b\n\n"]);
        check(b"data\n\n", &[""]);
        check(b"data: {\"a\": 1}\n\n", &["{\"a\": 1}"]);
    }

    #[test]
    fn comments_unknown_fields_and_empty_events_say_nothing() {
        check(b": alive\n\n\n:\ndata: a\nretry: 5\nfoo: bar\ndatax: y\n\n", &["a"]);
        check(b"event: x\n\ndata: a\n\n", &["a"]);
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_at_the_start_only() {
        check(b"\xef\xbb\xbfdata: a\n\n", &["a"]);
        check(b"\xef\xbb\xbf\ndata: a\n\n", &["a"]);
        check(b"data: a\n\n\xef\xbb\xbfdata: b\n\n", &["a"]);
    }

    #[test]
    fn an_unfinished_event_is_dropped() {
        check(b"data: a\n\ndata: b", &["a"]);
        check(b"data: a\n\ndata: b\n", &["a"]);
    }

    #[test]
    fn an_unfinished_event_can_be_had_at_the_end() {
        for (stream, last) in [
            ("data: a\n\n", None),
            ("", None),
            ("data: a\n\n: bye", None),
            ("data: a\n\nid: 1\n", None),
            ("data: a\n\ndata: b", Some("b")),
            ("data: a\n\ndata: b\n", Some("b")),
            ("data: a\n\ndata: b\r", Some("b")),
            ("data: b\ndata: c", Some("b\nc")),
        ] {
            let mut decoder = Decoder::new(64);
            decoder.feed(stream.as_bytes(), &mut Vec::new()).unwrap();
            assert_eq!(decoder.finish().map(|event| event.data).as_deref(), last, "{stream:?}");
        }
        let mut decoder = Decoder::new(8);
        assert!(decoder.feed(b"data: too large", &mut Vec::new()).is_err());
        assert_eq!(decoder.finish(), None);
    }

    #[test]
    fn an_id_holds_until_the_next() {
        check(b"id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata: c\n\nid\ndata: d\n\n", &["1|a", "1|b", "2|c", "d"]);
        check(b"id: 1\n\nid: 9\0\ndata: a\n\n", &["1|a"]);
    }

    #[test]
    fn an_id_beyond_its_bound_is_left_unread() {
        let stream = |len| format!("id: 1\nid: {}\ndata: a\n\n", "i".repeat(len));
        for (len, wanted) in [(ID_MAX, "i".repeat(ID_MAX)), (ID_MAX + 1, "1".to_owned())] {
            let mut out = Vec::new();
            Decoder::new(1000).feed(stream(len).as_bytes(), &mut out).unwrap();
            assert_eq!(out[0].id, Some(wanted), "{len}");
        }
    }

    #[test]
    fn a_name_is_of_its_event_only() {
        let mut out = Vec::new();
        let stream = b"event: x\ndata: a\n\ndata: b\n\n";
        Decoder::new(64).feed(stream, &mut out).unwrap();
        assert_eq!(out[0].event.as_deref(), Some("x"));
        assert_eq!(out[1].event, None);
    }

    #[test]
    fn an_event_beyond_the_bound_fails_for_good_after_the_events_before_it() {
        let fill = "x".repeat(40);
        for (bad, whole) in [
            (format!("data: {}", "x".repeat(60)), "one line"),
            (format!("data: {fill}\ndata: {fill}\n\n"), "several lines"),
            (format!(": {fill}{fill}"), "a comment"),
        ] {
            let mut decoder = Decoder::new(64);
            let mut out = Vec::new();
            let stream = format!("data: ok\n\n{bad}");
            let got = decoder.feed(stream.as_bytes(), &mut out);
            assert_eq!(got, Err(EventTooLarge(64)), "{whole}");
            assert_eq!(out.len(), 1, "{whole}");
            assert_eq!(decoder.feed(b"data: b\n\n", &mut out), Err(EventTooLarge(64)));
        }
        let mut out = Vec::new();
        let fits = format!("data: {}\n\n", "x".repeat(58));
        assert_eq!(Decoder::new(64).feed(fits.as_bytes(), &mut out), Ok(()));
        assert_eq!(out.len(), 1);
    }

    #[test]
    fn what_the_encoder_writes_reads_back() {
        let mut stream = super::super::comment("hi");
        stream.extend(super::super::event("ü\nb".as_bytes(), Some("5")));
        check(&stream, &["5|ü\nb"]);
    }
}
