//! The log lost, damaged, full or away: who adds lines never waits and never fails, what is lost is said,
//! and the next lines are kept.

use std::fs;
use std::path::{Path, PathBuf};

use super::log::{BOUNDS, Log, SOON, line, until};
use crate::LogPlace;

fn asides(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| {
            let name = p.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with("log.db.damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm")
        })
        .collect();
    found.sort();
    found
}

/// It was begun anew for that, says where the one before is, and works.
fn check_anew(dir: &Path, log: &Log, why: &str) {
    log.add(1, "goes on");
    log.writer.flush(SOON);
    until("it goes on", || log.reader.page(1, LogPlace::End, 1).is_ok_and(|p| p.lines.len() == 1));
    assert_eq!(log.texts(1), ["goes on"]);
    let health = log.writer.health();
    let said = health.anew.unwrap_or_default();
    assert!(said.contains("begun anew") && said.contains(why), "{said}");
    assert_eq!(health.away, None);
    assert!(log.told.all().iter().any(|t| t.starts_with("anew ") && t.contains(why)), "{:?}", log.told.all());
    for aside in asides(dir) {
        assert!(said.contains(&aside.display().to_string()), "{said}");
    }
}

#[test]
fn a_file_that_is_no_log_is_put_aside_at_the_start() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage, &str); 5] = [
        (
            "no database",
            |p| fs::write(p, "damaged, and long enough to be looked at as a database".repeat(90)).unwrap(),
            "not a database",
        ),
        ("a directory", |p| fs::create_dir(p).unwrap(), "something else is in its place"),
        ("tables of nobody", |p| sql(p, "CREATE TABLE x (y); PRAGMA user_version = 2;"), "no such table"),
        ("a newer version", |p| sql(p, "CREATE TABLE x (y); PRAGMA user_version = 99;"), "of version 99"),
        ("a torn first page", |p| torn(p, 0), ""),
    ];
    for (what, damage, why) in damages {
        let dir = tempfile::tempdir().unwrap();
        damage(&dir.path().join("log.db"));
        let log = Log::open(dir.path());
        check_anew(dir.path(), &log, why);
        assert_eq!(asides(dir.path()).len(), 1, "{what}");
    }
}

fn sql(path: &Path, sql: &str) {
    rusqlite::Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// A log of some pages, with garbage from this byte on.
fn torn(path: &Path, from: u64) {
    let log = Log::open(path.parent().unwrap());
    log.fill(1, 2_000, |n| format!("line {n} with some words of its own w{n}"));
    drop(log);
    until("the thread has ended", || !path.with_file_name("log.db-wal").exists());
    garbage(path, from, 4_096 * 4);
}

fn garbage(path: &Path, from: u64, bytes: usize) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&vec![0xa5; bytes], from).unwrap();
}

#[test]
fn a_page_that_is_damaged_while_it_runs_is_found_by_a_reader_or_the_writer() {
    for by_reader in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.db");
        torn(&path, 4_096);
        let log = Log::open(dir.path());
        until("it is found", || {
            match by_reader {
                true => drop(log.reader.page(1, LogPlace::End, 10_000)),
                false => log.add(1, "one more"),
            }
            log.writer.flush(SOON);
            log.writer.health().anew.is_some()
        });
        log.add(3, "goes on");
        log.writer.flush(SOON);
        assert_eq!(log.texts(3), ["goes on"]);
        assert_eq!(asides(dir.path()).len(), 1);
        assert_eq!(log.writer.dropped(), 0, "what was being written is in the new one");
    }
}

#[test]
fn a_log_that_is_deleted_or_replaced_while_it_runs_is_begun_anew() {
    for replaced in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.db");
        let log = Log::open(dir.path());
        log.fill(1, 5, |n| format!("line {n}"));
        let before = log.page(1, LogPlace::End, 1).log;
        fs::remove_file(&path).unwrap();
        if replaced {
            fs::create_dir(&path).unwrap();
        }
        check_anew(dir.path(), &log, if replaced { "something else is in its place" } else { "deleted" });
        let page = log.page(1, LogPlace::End, 1);
        assert_ne!(page.log, before, "its numbers mean nothing any more");
        assert_eq!(page.newest, 1);
        let found = log.reader.search(&[1], "goes", 5, &Default::default()).unwrap();
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn at_most_three_damaged_logs_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    for n in 0..6 {
        fs::write(dir.path().join("log.db"), format!("damage {n} ").repeat(500)).unwrap();
        drop(Log::open(dir.path()));
        until("the thread has ended", || !dir.path().join("log.db-wal").exists());
    }
    let kept = asides(dir.path());
    assert_eq!(kept.len(), 3, "{kept:?}");
    let mut texts: Vec<String> = kept.iter().map(|p| fs::read_to_string(p).unwrap()[..8].to_string()).collect();
    texts.sort();
    assert_eq!(texts, ["damage 3", "damage 4", "damage 5"], "the newest stay");
}

/// Where the log cannot be: its directory is none.
#[test]
fn while_the_file_is_away_lines_wait_and_what_finds_no_room_is_said_where_it_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::write(&state, "no directory").unwrap();
    let log = Log::open(&state);
    let away = log.writer.health().away.unwrap_or_default();
    assert!(away.contains("cannot be written") && away.contains("Sessions go on"), "{away}");
    assert!(log.reader.page(1, LogPlace::End, 1).unwrap_err().to_string().contains("cannot be read now"));
    let lines = 10_000;
    for n in 0..lines {
        log.add(1, &format!("line {n}"));
        if n % 100 == 0 {
            log.add(2, &format!("line {n}"));
        }
    }
    let lost = log.writer.dropped();
    assert!(lost > 4_000, "{lost}");
    fs::remove_file(&state).unwrap();
    fs::create_dir(&state).unwrap();
    let newest = |session| log.reader.page(session, LogPlace::End, 1).map_or(0, |page| page.newest);
    let kept = i64::try_from(lines + lines / 100).unwrap() - i64::try_from(lost).unwrap();
    until("what waits is written", || newest(1) + newest(2) >= kept);
    log.add(1, "after");
    log.writer.flush(SOON);
    // Each line is there, or counted where it is missing.
    let mut next = 0;
    for text in log.texts(1) {
        match text.strip_prefix("line ") {
            Some(n) => {
                assert_eq!(n.parse::<usize>().unwrap(), next);
                next += 1;
            }
            None if text == "after" => assert_eq!(next, lines),
            None => {
                let (count, rest) = text.trim_start_matches('(').split_once(' ').unwrap();
                assert!(rest.ends_with("lost here: they came faster than the log could be written)"), "{text}");
                next += count.parse::<usize>().unwrap();
            }
        }
    }
    assert_eq!(next, lines);
    // A session that says nothing more has its note as well.
    until("the other's is said", || log.texts(2).last().is_some_and(|t| t.contains("lost here")));
    // There is as much room as before.
    log.fill_some(3, 4_000);
    assert_eq!(log.writer.health().away, None);
    assert_eq!(log.writer.dropped(), lost);
    assert_eq!(log.texts(3).len(), 4_000);
}

#[test]
fn bytes_that_wait_have_a_bound_too() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    fs::write(&state, "no directory").unwrap();
    let log = Log::with(&state, crate::LogBounds { line_bytes: 1 << 20, ..BOUNDS });
    for _ in 0..64 {
        log.writer.add(line(1, &"x".repeat(1 << 20)));
    }
    assert_eq!(log.writer.dropped(), 48, "16 MiB wait");
}

#[test]
fn the_newest_lines_of_a_log_of_the_first_version_are_handed_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.db");
    sql(
        &path,
        "PRAGMA journal_mode = WAL;
         CREATE TABLE line (seq INTEGER PRIMARY KEY, session INTEGER NOT NULL, at INTEGER NOT NULL,
             kind TEXT NOT NULL, task TEXT, text TEXT NOT NULL);
         CREATE INDEX line_session ON line (session, seq);
         WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 1500)
         INSERT INTO line SELECT 2 * n, 1, n, 'words', 'a:m', 'line ' || n FROM n;
         INSERT INTO line VALUES (3, 2, 7, 'said', NULL, 'köpfe');",
    );
    let log = Log::open(dir.path());
    assert_eq!(log.writer.health(), Default::default());
    log.add(1, "new");
    log.add(2, "new");
    log.writer.flush(SOON);
    let texts = log.texts(1);
    assert_eq!(
        (texts.len(), texts[0].as_str(), texts[999].as_str(), texts[1_000].as_str()),
        (1_001, "line 501", "line 1500", "new")
    );
    assert_eq!(log.texts(2), ["köpfe", "new"]);
    let page = log.page(2, LogPlace::After(0), 1);
    assert_eq!((page.lines[0].seq, page.lines[0].at, page.lines[0].kind), (1, 7, "said"));
    assert_eq!(log.reader.search(&[2], "kopfe", 5, &Default::default()).unwrap().len(), 1);
    assert_eq!(log.reader.search(&[1], "\"line 700\"", 5, &Default::default()).unwrap()[0].seq, 200);
    assert!(asides(dir.path()).is_empty());
}

#[test]
fn a_journal_that_somebody_removes_costs_no_line_and_no_number_is_given_twice() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.db");
    {
        let log = Log::open(dir.path());
        log.fill(1, 5, |n| format!("line {n}"));
        log.writer.flush(SOON);
        // A reader has it open as well.
        assert_eq!(log.texts(1).len(), 5);
        for end in ["-wal", "-shm"] {
            fs::remove_file(format!("{}{end}", path.display())).unwrap();
        }
        log.fill(1, 5, |n| format!("later {n}"));
        log.writer.flush(SOON);
        assert_eq!(log.texts(1).len(), 10);
        assert_eq!(log.writer.health().anew, None, "nothing was lost");
    }
    let log = Log::open(dir.path());
    assert_eq!(log.texts(1).len(), 10);
    log.add(1, "the eleventh");
    log.writer.flush(SOON);
    let page = log.reader.page(1, LogPlace::End, 1).unwrap();
    assert_eq!((page.lines[0].seq, page.newest), (11, 11));
}

#[test]
#[allow(clippy::disallowed_methods, reason = "what another process does to the file is what is tested")]
fn a_log_that_could_not_be_written_for_a_while_keeps_its_locks() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.db");
    {
        let log = Log::open(dir.path());
        log.fill(1, 5, |n| format!("line {n}"));
        log.writer.flush(SOON);
        assert_eq!(log.texts(1).len(), 5);
        // Another process holds it for longer than the log waits.
        let hold = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1], isolation_level=None); \
                    d.execute('begin immediate'); sys.stdin.read(); d.execute('rollback'); d.close()";
        let mut other = std::process::Command::new("python3")
            .args(["-c", hold])
            .arg(&path)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        until("it is away", || {
            log.add(1, "meanwhile");
            log.writer.health().away.is_some()
        });
        // It lets go when its stdin ends.
        assert!(other.wait().unwrap().success());
        until("it is written again", || log.writer.health().away.is_none());
        // One that only looks takes nothing away when it goes.
        let look = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); print(d.execute('select count(*) from line').fetchone())";
        assert!(std::process::Command::new("python3").args(["-c", look]).arg(&path).status().unwrap().success());
        log.add(1, "the last");
        log.writer.flush(SOON);
        assert_eq!(log.texts(1).last().unwrap(), "the last");
    }
    assert_eq!(Log::open(dir.path()).texts(1).last().unwrap(), "the last");
}
