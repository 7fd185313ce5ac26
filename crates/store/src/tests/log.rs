//! The log: its numbers, its pages, its bounds, and what of it was lost.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{LogBounds, LogHost, LogLine, LogPage, LogPlace, LogReader, LogWriter};

/// How long anything may take on a busy machine.
pub(super) const SOON: Duration = Duration::from_secs(30);
pub(super) const BOUNDS: LogBounds = LogBounds { lines: 200_000, bytes: 2_000_000_000, line_bytes: 65_536 };

/// Keeps what it is told, a word each.
#[derive(Clone, Default)]
pub(super) struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl LogHost for Told {
    fn written(&self, lines: Vec<LogLine>) {
        self.0.lock().unwrap().extend(lines.iter().map(|l| format!("{}#{} {}", l.session, l.seq, l.text)));
    }

    fn live(&self, session: i64, _: Option<String>, text: String) {
        self.0.lock().unwrap().push(format!("{session} live {text}"));
    }

    fn anew(&self, why: &str) {
        self.0.lock().unwrap().push(format!("anew {why}"));
    }
}

/// A log with its reader.
pub(super) struct Log {
    pub(super) writer: LogWriter,
    pub(super) reader: LogReader,
    pub(super) told: Told,
}

impl Log {
    pub(super) fn open(dir: &Path) -> Log {
        Log::with(dir, BOUNDS)
    }

    pub(super) fn with(dir: &Path, bounds: LogBounds) -> Log {
        let told = Told::default();
        let writer = LogWriter::open(dir, bounds, told.clone()).unwrap();
        Log { reader: writer.reader(), writer, told }
    }

    pub(super) fn add(&self, session: i64, text: &str) {
        self.writer.add(line(session, text));
    }

    /// As many lines as find room at once.
    pub(super) fn fill_some(&self, session: i64, lines: usize) {
        for n in 0..lines {
            self.add(session, &format!("line {n}"));
        }
        self.writer.flush(SOON);
    }

    /// Many lines; none finds the queue full.
    pub(super) fn fill(&self, session: i64, lines: usize, mut text: impl FnMut(usize) -> String) {
        for n in 0..lines {
            self.add(session, &text(n));
            if n % 1_000 == 999 {
                self.writer.flush(SOON);
            }
        }
        self.writer.flush(SOON);
        assert_eq!(self.writer.dropped(), 0);
    }

    pub(super) fn page(&self, session: i64, place: LogPlace, limit: usize) -> LogPage {
        self.reader.page(session, place, limit).unwrap()
    }

    pub(super) fn texts(&self, session: i64) -> Vec<String> {
        let page = self.page(session, LogPlace::After(0), 100_000);
        let numbers: Vec<i64> = page.lines.iter().map(|l| l.seq).collect();
        assert_eq!(numbers, (page.oldest..=page.newest).collect::<Vec<_>>(), "one after the other");
        page.lines.into_iter().map(|l| l.text).collect()
    }
}

pub(super) fn line(session: i64, text: &str) -> LogLine {
    LogLine { seq: 0, session, at: 1_791_450_902_000, kind: "words", task: Some("a:m".into()), text: text.into() }
}

fn numbers(page: &LogPage) -> Vec<i64> {
    page.lines.iter().map(|l| l.seq).collect()
}

#[test]
fn each_session_has_its_own_numbers_which_go_on_after_a_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    for n in 1..=3 {
        log.add(1, &format!("line {n}"));
        log.add(2, "of another");
    }
    log.writer.live(1, None, "half a w".into());
    log.add(1, "line 4");
    log.writer.flush(SOON);
    assert_eq!(
        log.told.all(),
        [
            "1#1 line 1",
            "2#1 of another",
            "1#2 line 2",
            "2#2 of another",
            "1#3 line 3",
            "2#3 of another",
            "1 live half a w",
            "1#4 line 4"
        ]
    );
    let id = log.page(1, LogPlace::End, 1).log;
    assert_ne!(log.page(2, LogPlace::End, 1).log, id, "the numbers of another session are others");
    drop(log);
    let log = Log::open(dir.path());
    log.add(1, "line 5");
    log.writer.flush(SOON);
    let page = log.page(1, LogPlace::After(3), 10);
    assert_eq!((numbers(&page), page.log), (vec![4, 5], id));
    assert_eq!(log.writer.health(), Default::default());
}

#[test]
fn pages_go_both_ways_and_hold_what_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    log.fill(7, 10, |n| format!("line {}", n + 1));
    log.fill(6, 1, |_| "before".into());
    log.fill(8, 1, |_| "behind".into());
    for (place, limit, want) in [
        (LogPlace::End, 3, vec![8, 9, 10]),
        (LogPlace::End, 100, (1..=10).collect()),
        (LogPlace::After(0), 2, vec![1, 2]),
        (LogPlace::After(-5), 2, vec![1, 2]),
        (LogPlace::After(9), 5, vec![10]),
        (LogPlace::After(10), 5, vec![]),
        (LogPlace::After(i64::MAX), 5, vec![]),
        (LogPlace::Before(3), 5, vec![1, 2]),
        (LogPlace::Before(9), 2, vec![7, 8]),
        (LogPlace::Before(1), 5, vec![]),
        (LogPlace::Before(i64::MIN), 5, vec![]),
        (LogPlace::Before(i64::MAX), 2, vec![9, 10]),
    ] {
        let page = log.page(7, place, limit);
        assert_eq!((numbers(&page), page.oldest, page.newest), (want, 1, 10), "{place:?} {limit}");
    }
    let none = log.page(9, LogPlace::End, 3);
    assert_eq!((none.lines.len(), none.oldest, none.newest), (0, 1, 0));
}

#[test]
fn a_page_of_long_lines_ends_early_and_the_next_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::with(dir.path(), LogBounds { line_bytes: 1 << 20, ..BOUNDS });
    log.fill(1, 10, |_| "long ".repeat(200_000));
    let page = log.page(1, LogPlace::End, 10);
    assert_eq!(numbers(&page), [7, 8, 9, 10], "four mebibytes");
    assert_eq!(numbers(&log.page(1, LogPlace::Before(7), 10)), [3, 4, 5, 6]);
}

#[test]
fn a_text_over_the_bound_is_cut_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::with(dir.path(), LogBounds { line_bytes: 10, ..BOUNDS });
    for text in ["0123456789", "0123456789a", "012345678é0"] {
        log.add(1, text);
    }
    log.writer.flush(SOON);
    assert_eq!(log.texts(1), ["0123456789", "0123456789… (1 bytes more)", "012345678… (3 bytes more)"]);
}

#[test]
fn the_oldest_lines_of_a_session_go_and_its_numbers_stay() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::with(dir.path(), LogBounds { lines: 100, ..BOUNDS });
    log.fill(2, 50, |n| format!("other {n}"));
    log.fill(1, 1_000, |n| format!("line {} w{n}", n + 1));
    let page = log.page(1, LogPlace::After(0), 1_000);
    assert_eq!((page.oldest, page.newest, page.lines.len()), (901, 1_000, 100));
    assert_eq!(log.texts(2).len(), 50, "another's stay");
    let found = |query: &str| log.reader.search(&[1], query, 10, &Default::default()).unwrap().len();
    assert_eq!((found("w899"), found("w900"), found("w999")), (0, 1, 1), "the index forgets them, too");
}

#[test]
fn the_whole_log_stays_within_its_bytes_and_who_has_most_pays() {
    // Words as they are, and such as fill the indexes most: short ones, each of which is its own beginning.
    let long = |n: usize| (0..20).map(|w| format!("word{:05} ", (n * 7_919 + w * 104_729) % 20_000)).collect();
    let short = |n: usize| (0..40).map(|w| format!("{:04x} ", (n * 7_919 + w * 104_729) % 65_536)).collect::<String>();
    let texts: [(&dyn Fn(usize) -> String, i64); 2] = [(&long, 28_000), (&short, 16_000)];
    for (text, lines) in texts {
        let dir = tempfile::tempdir().unwrap();
        // The least that can be set.
        let bytes = 10_000_000;
        let log = Log::with(dir.path(), LogBounds { bytes, ..BOUNDS });
        log.fill(2, 200, text);
        log.fill(1, usize::try_from(lines).unwrap(), text);
        assert_eq!(log.texts(2).len(), 200, "who has little keeps it");
        let page = log.page(1, LogPlace::End, 1);
        let kept = page.newest - page.oldest + 1;
        let file = std::fs::metadata(dir.path().join("log.db")).unwrap().len();
        println!("{kept} lines of {} bytes are kept, the file has {file} bytes of {bytes}", text(0).len());
        assert_eq!(page.newest, lines);
        assert!((5_000..lines).contains(&kept), "{kept}");
        assert!(file <= bytes as u64 * 3 / 2, "{file}");
        let wal = std::fs::metadata(dir.path().join("log.db-wal")).unwrap().len();
        assert!(wal <= 16_000_000, "{wal}");
    }
}

#[test]
fn lines_of_a_session_that_is_gone_go_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    log.fill(1, 500, |n| format!("line {n}"));
    log.fill(2, 5, |n| format!("line {n}"));
    assert_eq!(log.reader.sessions().unwrap(), [1, 2]);
    log.writer.forget(1);
    log.writer.forget(9);
    log.writer.flush(SOON);
    assert_eq!(log.page(1, LogPlace::End, 10).lines.len(), 0, "nobody sees them any more");
    drop(log);
    // Also where the daemon ends meanwhile.
    let log = Log::open(dir.path());
    until("they are gone", || log.reader.sessions().unwrap() == [2]);
    assert_eq!(log.texts(2).len(), 5);
    assert_eq!(log.reader.search(&[1, 2], "line", 100, &Default::default()).unwrap().len(), 5);
}

/// Waits until `holds`, with a bound.
pub(super) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("not within 30 s: {what}");
}
