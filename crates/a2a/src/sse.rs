//! Server-sent events (WHATWG HTML, section 9.2): writing one event, and reading a stream of them
//! from pieces that may be cut anywhere, also inside of a character or of a line's end.
//! Must not know what the events say.

mod decoder;

pub use decoder::{Decoder, Event, EventTooLarge, ID_MAX};

/// One event, ready to send. `id` is a place to resume from; line breaks and NUL, which it cannot
/// hold, are left out of it. `data` of several lines becomes several `data:` lines.
pub fn event(data: &[u8], id: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 64);
    if let Some(id) = id {
        out.extend_from_slice(b"id: ");
        out.extend(id.bytes().filter(|b| !b"\r\n\0".contains(b)));
        out.push(b'\n');
    }
    lines(b"data: ", data, &mut out);
    out.push(b'\n');
    out
}

/// A comment, which readers pass over: it keeps the connection alive.
pub fn comment(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 4);
    lines(b": ", text.as_bytes(), &mut out);
    out.push(b'\n');
    out
}

/// Each line of `text` with a prefix; CRLF, LF and CR end a line.
fn lines(prefix: &[u8], text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    loop {
        let end = rest.iter().position(|b| matches!(b, b'\n' | b'\r'));
        let line = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
        out.extend_from_slice(prefix);
        out.extend_from_slice(line);
        out.push(b'\n');
        let Some(end) = end else { return };
        let crlf = rest.get(end..end + 2) == Some(b"\r\n");
        rest = rest.get(end + 1 + usize::from(crlf)..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(got: Vec<u8>, expected: &str) {
        assert_eq!(String::from_utf8(got).unwrap(), expected);
    }

    #[test]
    fn an_event_is_its_lines_and_a_blank_one() {
        check(event(b"{}", None), "data: {}\n\n");
        check(event(b"{}", Some("7")), "id: 7\ndata: {}\n\n");
        check(event(b"", None), "data: \n\n");
        check(event(b"a\nb\r\nc\rd\n", None), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
    }

    #[test]
    fn an_id_or_a_comment_cannot_start_another_line() {
        check(event(b"x", Some("1\ndata: evil\r\0")), "id: 1data: evil\ndata: x\n\n");
        check(comment("still here"), ": still here\n\n");
        check(comment("a\ndata: b"), ": a\n: data: b\n\n");
    }
}
