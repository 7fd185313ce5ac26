//! What a send costs in a store that keeps much: by SQLite's own counts, which no noise moves.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rusqlite::StatementStatus::{AutoIndex, FullscanStep, Sort, VmStep};
use rusqlite::trace::{TraceEvent, TraceEventCodes};
use shrooms_core::desk::{AskFact, AskReq, Target};

use super::*;

/// Tasks that are kept in the one store and in the other.
const FEW: usize = 10;
const MANY: usize = 10_000;
/// Sends that are counted.
const SENDS: usize = 50;
/// What the many may cost more.
const MORE: f64 = 1.2;

/// Counts of one statement since it was made.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    steps: i64,
    /// Rows that were gone through without an index, sorted, or put into an index made for once.
    unindexed: i64,
    runs: i64,
}

thread_local! {
    static SEEN: RefCell<BTreeMap<String, Counts>> = const { RefCell::new(BTreeMap::new()) };
}

fn look(event: TraceEvent<'_>) {
    if let TraceEvent::Profile(statement, _) = event {
        let count = |of| i64::from(statement.get_status(of));
        let unindexed = count(FullscanStep) + count(Sort) + count(AutoIndex);
        SEEN.with_borrow_mut(|seen| {
            let counts = seen.entry(statement.sql().into_owned()).or_default();
            *counts = Counts { steps: count(VmStep), unindexed, runs: counts.runs + 1 };
        });
    }
}

impl Pair {
    /// So many tasks that have ended, fast: a commit for some hundred.
    fn keep(&mut self, tasks: usize) {
        for n in 0..tasks {
            let now = self.now();
            // Nobody has to be told of them any more.
            let send = Request::Send(SendReq { ask: None, ..send_of(&format!("kept-{n}")) });
            self.desk.handle(now, Input::Request(Box::new(send), Box::default())).unwrap();
            let run = |e| if let shrooms_core::Effect::Run { fence, .. } = e { Some(fence) } else { None };
            let fence = self.desk.take_due().into_iter().find_map(run).expect("a run");
            let words = Text::from("done");
            let exit = Exit { code: Some(0), signal: None, spawn_error: None, stopped: false, words };
            self.desk.handle(now, Input::Turn(fence, TurnFact::Ended(exit))).unwrap();
            self.keep_ask(now, n);
            if n % 500 == 499 {
                self.commit();
            }
        }
        self.commit();
    }

    /// An ask of another machine that has ended.
    fn keep_ask(&mut self, now: Now, n: usize) {
        let ask = Request::Ask(ask_of(&format!("kept-{n}")));
        self.desk.handle(now, Input::Request(Box::new(ask), Box::default())).unwrap();
        let sent = |e| if let shrooms_core::Effect::Send { ask, attempt } = e { Some((ask, attempt)) } else { None };
        let (no, attempt) = self.desk.take_due().into_iter().find_map(sent).expect("a send");
        let (task_id, text) = (format!("b:kept-{n}"), Some(Text::from("done")));
        let fact = AskFact::Task { task_id, seq: 3, state: "completed".into(), text };
        self.desk.handle(now, Input::Ask(no, attempt, fact)).unwrap();
        self.desk.handle(now, Input::Request(Box::new(Request::Told { no, seen: None }), Box::default())).unwrap();
    }

    /// Pages in the write-ahead log.
    fn pages(&self) -> i64 {
        self.store.db_for_tests().query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |r| r.get(1)).unwrap()
    }
}

fn send_of(mid: &str) -> SendReq {
    let (id, label) = ("d1".into(), "laptop.home".into());
    let by = Principal::Device { id, label, right: Default::default(), meshes: Vec::new() };
    SendReq {
        claim: Some("laptop/owner".into()),
        vouched: true,
        // Each is for an ask of its own: the same ask again is the same task.
        ask: Some(format!("12345678-{mid}")),
        random: 7,
        ..SendReq::new(by, "a", mid, Text::from("Is the nightly build green?"))
    }
}

fn ask_of(mid: &str) -> AskReq {
    AskReq {
        by: Principal::Owner,
        to: Target::Device { id: "d2".into(), machine: "server".into(), session: "b".into() },
        agent: "server/b".into(),
        mid: mid.into(),
        text: Text::from("Is the nightly build green?"),
        digest: Digest::of([b"Is the nightly build green?".as_slice()]),
        title: None,
        context: None,
        refs: vec![],
        fresh: false,
        require: vec![],
        now_only: false,
        random: 7,
    }
}

/// In a store that keeps so many tasks.
#[derive(Debug)]
struct Cost {
    /// Steps of the sends, and pages that they wrote.
    steps: i64,
    pages: i64,
    /// Steps of a start.
    start: i64,
}

/// Each statement of a send goes by an index.
fn cost(kept: usize) -> Cost {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.keep(kept);
    pair.request(Request::StopSession { by: Principal::Owner, name: "a".into() }).unwrap();
    // All pages of the sends stay in the log, and their first ones are not counted.
    let db = pair.store.db_for_tests();
    db.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    pair.request(Request::Send(send_of("first"))).unwrap();
    let before = pair.pages();
    SEEN.take();
    pair.store.db_for_tests().trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(look));
    // The first is taken off: statements count from their making on, which may be before.
    pair.request(Request::Send(send_of("second"))).unwrap();
    pair.request(Request::Ask(ask_of("second"))).unwrap();
    let first: i64 = SEEN.with_borrow(|seen| seen.values().map(|c| c.steps).sum());
    for n in 0..SENDS {
        pair.request(Request::Send(send_of(&format!("m{n}")))).unwrap();
        // The same again, of one that waits and of one that has ended, makes nothing.
        pair.request(Request::Send(send_of(&format!("m{n}")))).unwrap();
        pair.request(Request::Send(send_of(&format!("kept-{}", n % kept)))).unwrap();
        // The asker's side.
        pair.request(Request::Ask(ask_of(&format!("m{n}")))).unwrap();
        pair.request(Request::Ask(ask_of(&format!("kept-{}", n % kept)))).unwrap();
    }
    let seen = SEEN.take();
    let open = pair.store.open_rows().unwrap();
    assert_eq!((open.tasks.len(), open.messages.len()), (SENDS + 2, SENDS + 2), "what is open is all that is read");
    let start = SEEN.take().values().map(|c| c.steps).sum();
    pair.store.db_for_tests().trace_v2(TraceEventCodes::empty(), None);
    assert!(seen.keys().any(|sql| sql.contains("FROM ask")), "{seen:#?}");
    for (sql, counts) in &seen {
        assert_eq!(counts.unindexed, 0, "not by an index: {sql}: {counts:?}");
        by_index(pair.store.db_for_tests(), sql);
    }
    let steps = seen.values().map(|c| c.steps).sum::<i64>() - first;
    Cost { steps, pages: pair.pages() - before, start }
}

/// No step of the statement's plan goes through a table.
fn by_index(db: &rusqlite::Connection, sql: &str) {
    if !["SELECT", "INSERT", "UPDATE", "DELETE"].iter().any(|word| sql.starts_with(word)) {
        return;
    }
    let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let nothing = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(nothing), |r| r.get::<_, String>(3)).unwrap();
    for step in steps.map(Result::unwrap) {
        assert!(!step.starts_with("SCAN"), "{step}: {sql}");
    }
}

#[test]
fn a_send_and_a_start_touch_no_more_in_a_store_that_keeps_ten_thousand_tasks() {
    let (few, many) = (cost(FEW), cost(MANY));
    println!("{SENDS} sends and asks, some of them the same again; {MANY} of each kept against {FEW}:");
    for (what, few, many) in [
        ("steps of SQLite", few.steps, many.steps),
        ("pages written", few.pages, many.pages),
        ("steps of a start", few.start, many.start),
    ] {
        let ratio = many as f64 / few as f64;
        println!("{what}: {many} against {few}, {ratio:.3} x");
        assert!(few > 0 && ratio <= MORE, "{what}: {many} against {few}");
    }
}
