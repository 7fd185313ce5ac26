//! What a harness's own record of a conversation holds, in one shape, and how a long file of lines is read
//! from its end: in memory and time that do not grow with the file. Must not know any harness's rows.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The longest row that is read; what is said in one that is longer is passed over. A person's
/// message has at most 1 MiB, and JSON may make six of each byte.
const MAX_ROW: usize = 8 << 20;
/// Bytes of a file that one reading goes through …
const MAX_READ: u64 = 64 << 20;
/// … in pieces of so many.
const PIECE: usize = 64 << 10;
/// Things that were said at the same time, which are told beyond the limit.
const ALIKE: usize = 100;
/// A stretch of a file that is gone through rather than halved once more.
const STRETCH: u64 = 1 << 20;

/// Who said something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

/// Something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// RFC 3339 in UTC with milliseconds, as the harness wrote it.
    pub time: String,
    pub role: Role,
    /// At most 8,000 characters of it.
    pub text: String,
}

/// What was said before a time, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    pub said: Vec<Said>,
    /// Where to go on: there may be more before this time.
    pub next: Option<String>,
}

/// What a row of a harness's record is.
pub(crate) struct Row {
    pub(crate) time: Option<String>,
    pub(crate) said: Option<(Role, String)>,
}

/// The newest `limit` things that were said before that time (RFC 3339 in UTC with milliseconds), by a
/// record of rows in the order of their times, one a line. Rows that are torn are passed over.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(
    file: &File,
    before: Option<&str>,
    limit: usize,
    parse: impl Fn(&[u8]) -> Option<Row>,
) -> io::Result<History> {
    let end = file.metadata()?.len();
    let end = match before {
        Some(before) => place(file, end, |row| Some(parse(row)?.time?.as_str() >= before))?,
        None => end,
    };
    let mut rows = Backwards::new(file, end);
    let mut history = History::default();
    let mut oldest = None;
    while let Some(row) = rows.next()? {
        if history.said.len() >= limit + ALIKE || end - rows.at > MAX_READ {
            history.next = oldest;
            break;
        }
        let Some(Row { time: Some(time), said }) = parse(&row) else { continue };
        // Those of the same time belong together: the next page begins before it.
        if history.said.len() >= limit && oldest.as_ref() != Some(&time) {
            history.next = oldest;
            break;
        }
        if before.is_some_and(|before| time.as_str() >= before) {
            continue;
        }
        if let Some((role, text)) = said {
            history.said.push(Said { time: time.clone(), role, text });
        }
        oldest = Some(time);
    }
    history.said.reverse();
    Ok(history)
}

/// The end of the stretch in which the rows are that are not `late`, or a little behind it.
fn place(file: &File, end: u64, is_late: impl Fn(&[u8]) -> Option<bool>) -> io::Result<u64> {
    let (mut from, mut to) = (0, end);
    while to - from > STRETCH {
        let middle = from + (to - from) / 2;
        // The first row behind the middle that says anything of its time.
        let mut rows = Forwards::new(file, middle);
        let found = loop {
            match rows.next()? {
                Some((start, row)) if start < to => {
                    if let Some(late) = is_late(&row) {
                        break Some((start, late));
                    }
                }
                _ => break None,
            }
        };
        match found {
            Some((start, true)) => to = start,
            Some((start, false)) => from = start,
            // None does up to the end of this half: it is gone through.
            None => return Ok(to),
        }
    }
    Ok(to)
}

/// The lines of a file from its end, without their ends. Those over the bound are left out.
struct Backwards<'a> {
    file: &'a File,
    /// What is before this is not read yet.
    at: u64,
    /// What is read and not handed out: it ends where the last line began.
    read: Vec<u8>,
    /// The line that is being gathered is too long.
    skips: bool,
    over: bool,
}

impl<'a> Backwards<'a> {
    fn new(file: &'a File, end: u64) -> Backwards<'a> {
        Backwards { file, at: end, read: Vec::new(), skips: false, over: false }
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        // How much of the end was looked at and holds no line's end.
        let mut seen = 0;
        loop {
            let unseen = self.read.len() - seen;
            if let Some(end) = self.read[..unseen].iter().rposition(|b| *b == b'\n') {
                let line = self.read.split_off(end + 1);
                self.read.truncate(end);
                seen = 0;
                if !std::mem::take(&mut self.skips) && line.len() <= MAX_ROW {
                    return Ok(Some(line));
                }
                continue;
            }
            if self.over {
                return Ok(None);
            }
            if self.at == 0 {
                self.over = true;
                let line = std::mem::take(&mut self.read);
                return Ok((!self.skips && line.len() <= MAX_ROW).then_some(line));
            }
            if self.read.len() > MAX_ROW {
                self.skips = true;
                self.read.clear();
            }
            seen = self.read.len();
            // As much again as there is, so that a long row is not moved about for each piece of it.
            let piece = usize::try_from(self.at).unwrap_or(PIECE).min(self.read.len().max(PIECE));
            let mut more = vec![0; piece];
            self.at -= piece as u64;
            self.file.read_exact_at(&mut more, self.at)?;
            more.append(&mut self.read);
            self.read = more;
        }
    }
}

/// The lines of a file from the first that begins behind a place, with where they begin. Those over the
/// bound end it.
struct Forwards<'a> {
    file: &'a File,
    at: u64,
    read: Vec<u8>,
    begun: bool,
}

impl<'a> Forwards<'a> {
    fn new(file: &'a File, from: u64) -> Forwards<'a> {
        Forwards { file, at: from, read: Vec::new(), begun: false }
    }

    fn next(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        let mut seen = 0;
        loop {
            if let Some(end) = self.read[seen..].iter().position(|b| *b == b'\n').map(|at| at + seen) {
                let start = self.at - self.read.len() as u64;
                let line: Vec<u8> = self.read.drain(..=end).collect();
                seen = 0;
                if std::mem::replace(&mut self.begun, true) {
                    return Ok(Some((start, line)));
                }
                continue;
            }
            if self.read.len() > MAX_ROW {
                return Ok(None);
            }
            seen = self.read.len();
            let mut more = vec![0; PIECE];
            let n = self.file.read_at(&mut more, self.at)?;
            if n == 0 {
                return Ok(None);
            }
            self.at += n as u64;
            self.read.extend_from_slice(&more[..n]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &[u8]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(text, 0).unwrap();
        file
    }

    /// `TIME TEXT`, or something else.
    fn parse(row: &[u8]) -> Option<Row> {
        let row = std::str::from_utf8(row).ok()?.trim_end();
        let (time, text) = row.split_once(' ')?;
        let said = (text != "nothing").then(|| (Role::User, text.to_string()));
        (time.len() == 6).then(|| Row { time: Some(time.to_string()), said })
    }

    #[track_caller]
    fn check(text: &str, before: Option<&str>, limit: usize, want: &[&str], next: Option<&str>) {
        let history = read(&file(text.as_bytes()), before, limit, parse).unwrap();
        let said: Vec<&str> = history.said.iter().map(|s| s.text.as_str()).collect();
        assert_eq!((said, history.next.as_deref()), (want.to_vec(), next), "before {before:?}");
    }

    #[test]
    fn what_was_said_is_read_from_the_end() {
        let text = "000001 a\n000002 b\nno row\n000003 nothing\n000004 c\n000005 d";
        check(text, None, 10, &["a", "b", "c", "d"], None);
        check(text, None, 2, &["c", "d"], Some("000004"));
        check(text, Some("000004"), 1, &["b"], Some("000002"));
        check(text, Some("000002"), 5, &["a"], None);
        check(text, Some("000001"), 5, &[], None);
        check("000001 a\n000002 b\n000002 c\n000003 d", None, 2, &["b", "c", "d"], Some("000002"));
        check("", None, 5, &[], None);
        check("\n\n000001 a\n\n", None, 5, &["a"], None);
        check("torn 00001", None, 5, &[], None);
    }

    #[test]
    fn a_long_file_is_entered_where_the_time_is_and_long_rows_are_passed_over() {
        let mut text = String::new();
        for n in 0..60_000 {
            text.push_str(&format!("{n:06} {}\n", "x".repeat(40 + n % 100)));
            if n % 20_000 == 10_000 {
                text.push_str(&format!("{n:06} {}\n", "y".repeat(MAX_ROW + 10)));
            }
        }
        assert!(text.len() > 28 << 20);
        let file = file(text.as_bytes());
        for before in [1, 50, 9_990, 10_001, 10_100, 29_999, 30_001, 45_678, 59_999] {
            let at = format!("{before:06}");
            let history = read(&file, Some(&at), 30, parse).unwrap();
            let times: Vec<String> = history.said.iter().map(|s| s.time.clone()).collect();
            let want: Vec<String> = (usize::max(before, 30) - 30..before).map(|n| format!("{n:06}")).collect();
            assert_eq!(times, want, "before {before}");
        }
    }

    #[test]
    fn a_file_with_little_said_in_it_is_read_so_far_and_says_where_to_go_on() {
        let mut text = String::from("000000 first\n");
        for n in 1..=80 {
            text.push_str(&format!("{n:06} nothing\n{}\n", "z".repeat(1 << 20)));
        }
        let file = file(text.as_bytes());
        let history = read(&file, None, 30, parse).unwrap();
        assert!(history.said.is_empty());
        let next = history.next.unwrap();
        let rest = read(&file, Some(&next), 30, parse).unwrap();
        assert_eq!((rest.said.len(), rest.next), (1, None), "{next}");
    }
}
