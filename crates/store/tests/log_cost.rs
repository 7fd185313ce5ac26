//! What a long conversation costs the log, in time of the processor: its end and one more line, beside a
//! short one, and a search of it. The two logs take turns, so that whatever else the machine does falls on
//! both. (The whole daemon is measured in `shrooms-agent`, `daemon/log_cost`.)
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use shrooms_store::{LogBounds, LogHost, LogLine, LogPlace, LogReader, LogWriter, SearchStop};

const FEW: usize = 100;
const SOME: usize = 1_000;
const MANY: usize = 100_000;
/// Each log gets so many lines in a row, one by one …
const LINES: usize = 20;
/// … so often; a fifth of it is to warm up, and to put together what was written in large pieces.
const ROUNDS: usize = 125;
/// What opening the end of the many may cost more …
const MORE: f64 = 1.2;
/// … and one more line: the index of words is put together in levels, and has more of them (measured: 2.1).
const LINE_MORE: f64 = 3.5;
/// Searches that are measured together.
const SEARCHES: usize = 40;
/// What a search of the many for the newest 50 may cost in a debug build, in milliseconds; measured: 14.
const SEARCH_MS: f64 = 50.0;
/// What it may cost more than one of a hundredth of the lines.
const SEARCH_MORE: f64 = 3.0;
/// How long anything may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);

struct Nobody;

impl LogHost for Nobody {
    fn written(&self, _: Vec<LogLine>) {}
    fn live(&self, _: i64, _: Option<String>, _: String) {}
    fn anew(&self, _: &str) {}
}

/// A line as sessions say them; every 20,000th has a word of its own.
fn text(n: usize) -> String {
    let words = (0..20).map(|w| format!("w{:05} ", (n * 7_919 + w * 104_729) % 20_000));
    let rare = if n % 20_000 == 77 { "rarity" } else { "" };
    format!("common {}{rare}", words.collect::<String>())
}

struct Log {
    writer: LogWriter,
    reader: LogReader,
    lines: usize,
}

impl Log {
    fn of(dir: &Path, lines: usize) -> Log {
        let bounds = LogBounds { lines: 200_000, bytes: 2_000_000_000, line_bytes: 64_000 };
        let writer = LogWriter::open(dir, bounds, Nobody).unwrap();
        let mut log = Log { reader: writer.reader(), writer, lines: 0 };
        while log.lines < lines {
            log.add();
            if log.lines.is_multiple_of(1_000) {
                log.writer.flush(SOON);
            }
        }
        log.writer.flush(SOON);
        assert_eq!(log.writer.dropped(), 0);
        log
    }

    fn add(&mut self) {
        let at = 1_791_450_902_000 + self.lines as i64;
        let line = LogLine { seq: 0, session: 1, at, kind: "words", task: None, text: text(self.lines) };
        self.writer.add(line);
        self.lines += 1;
    }

    fn open_end(&self) {
        let page = self.reader.page(1, LogPlace::End, 100).unwrap();
        assert_eq!((page.newest, page.lines.len()), (self.lines as i64, 100));
    }

    fn one_more(&mut self) {
        self.add();
        self.writer.flush(SOON);
    }

    fn search(&self, query: &str) -> usize {
        self.reader.search(&[1], query, 50, &SearchStop::default()).unwrap().len()
    }
}

/// Milliseconds that this process has used of the processor.
fn used() -> f64 {
    let all = clock_gettime(ClockId::ProcessCPUTime);
    all.tv_sec as f64 * 1e3 + all.tv_nsec as f64 / 1e6
}

#[test]
fn a_conversation_of_a_hundred_thousand_lines_costs_what_one_of_a_hundred_does() {
    // In memory, where there is such a place: what a disk does is the same for both, and would hide the rest.
    let place = Path::new("/dev/shm");
    let made = |_| if place.is_dir() { tempfile::tempdir_in(place) } else { tempfile::tempdir() };
    let dirs = [FEW, SOME, MANY].map(|lines| (made(lines).unwrap(), lines));
    let [mut few, some, mut many] = dirs.each_ref().map(|(dir, lines)| Log::of(dir.path(), *lines));

    for (query, hits) in [("common", 50), ("com", 50), ("w00077", 50), ("rarity", 5), ("common rarity", 5)] {
        let mut cost = [0.0, 0.0];
        for _ in 0..SEARCHES {
            for (log, cost) in [&some, &many].into_iter().zip(&mut cost) {
                let before = used();
                let found = log.search(query);
                *cost += used() - before;
                assert!(found == hits || log.lines == SOME && found <= hits, "{query}: {found}");
            }
        }
        let each = cost.map(|ms| ms / SEARCHES as f64);
        println!("a search for {query:?}: {:.2} ms in {MANY} lines, {:.2} ms in {SOME}", each[1], each[0]);
        assert!(each[1] <= SEARCH_MS, "{query}: {} ms", each[1]);
        // As many hits are shown of both.
        assert!(hits < 50 || query == "w00077" || each[1] <= each[0] * SEARCH_MORE, "{query}: {each:?}");
    }

    // What opening costs, and a line, each of the few and of the many.
    let mut cost = [[0.0, 0.0], [0.0, 0.0]];
    for round in 0..ROUNDS {
        // Who is first changes, so that neither always comes after the other.
        for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let log = if which == 0 { &mut few } else { &mut many };
            let begun = used();
            (0..LINES).for_each(|_| log.open_end());
            let opened = used();
            (0..LINES).for_each(|_| log.one_more());
            if round >= ROUNDS / 5 {
                cost[0][which] += opened - begun;
                cost[1][which] += used() - opened;
            }
        }
    }
    for (what, cost, most) in [("opening the end", cost[0], MORE), ("one more line", cost[1], LINE_MORE)] {
        let each = cost.map(|ms| ms / ((ROUNDS - ROUNDS / 5) * LINES) as f64);
        let ratio = cost[1] / cost[0];
        println!("{what}: {:.3} ms with {MANY} lines, {:.3} ms with {FEW}: {ratio:.3} x", each[1], each[0]);
        assert!(ratio <= most, "{what}: {ratio}");
    }
}
