//! The store with a real desk's rows: what was committed is there after a reopening, what was not
//! is not, and what cannot be read is left as it is.

mod cost;
mod hidden;
mod log;
mod log_lost;
mod log_search;
mod usage;

use std::path::Path;

use shrooms_core::desk::{Done, Exit, Input, NewSession, Place, Request, SendReq, TurnFact};
use shrooms_core::digest::Digest;
use shrooms_core::row::{Change, Device, Harness, Meta};
use shrooms_core::{Boot, Desk, Now, Principal, Text};

use crate::{Reader, Store, StoreError, TaskFilter, schema};

const NOW: Now = Now { wall: 1_791_450_902_000, served: 0, boot: Boot(1) };

/// A desk over a store, as the engine has them.
struct Pair {
    desk: Desk,
    store: Store,
    wall: i64,
    served: i64,
}

fn open(dir: &Path) -> Pair {
    let store = Store::open(dir).unwrap();
    let meta = store.meta().unwrap().unwrap_or_else(|| Meta::new("0123456789abcdef".into()));
    let now = Now { boot: Boot(meta.boot.0 + 1), ..NOW };
    let place = Place::new("home".into(), Default::default());
    let desk = Desk::load(place, meta, store.open_rows().unwrap(), &now);
    let mut pair = Pair { desk, store, wall: NOW.wall, served: 0 };
    pair.commit();
    pair
}

impl Pair {
    fn now(&mut self) -> Now {
        self.wall += 1_000;
        Now { wall: self.wall, served: self.served, boot: self.desk.boot() }
    }

    fn request(&mut self, request: Request) -> Result<Done, shrooms_core::Refusal> {
        let loaded = self.store.load(&self.desk.wants(&request)).unwrap();
        let now = self.now();
        let done = self.desk.handle(now, Input::Request(Box::new(request), Box::new(loaded)));
        self.commit();
        done
    }

    fn commit(&mut self) {
        let changes = self.desk.take_changes();
        self.store.commit(&changes).unwrap();
        self.desk.settled();
    }

    fn session(&mut self, name: &str) {
        let harness =
            Harness::Command { argv: vec!["true".into()], framed: false, rerun_on_crash: false, takes_turns: false };
        let add = Request::AddSession { by: Principal::Owner, new: Box::new(NewSession::new(name, harness, "/")) };
        self.request(add).unwrap();
    }

    fn send(&mut self, session: &str, mid: &str, text: &str) -> Result<(String, bool), shrooms_core::Refusal> {
        let send = SendReq {
            digest: Digest::of([text.as_bytes()]),
            context: Some("ctx".into()),
            random: 7,
            ..SendReq::new(Principal::Owner, session, mid, Text::from(text))
        };
        match self.request(Request::Send(send))? {
            Done::Task { task, made } => Ok((task.id.clone(), made)),
            other => panic!("{other:?}"),
        }
    }

    /// The same from another device's daemon, for an ask of its own.
    fn send_for(&mut self, ask: &str, session: &str, mid: &str) -> Result<(String, bool), shrooms_core::Refusal> {
        let text = Text::from("one");
        let send = SendReq {
            ask: Some(ask.into()),
            random: 7,
            ..SendReq::new(
                Principal::Device {
                    id: "d1".into(),
                    label: "laptop.home".into(),
                    right: Default::default(),
                    meshes: Vec::new(),
                },
                session,
                mid,
                text,
            )
        };
        match self.request(Request::Send(send))? {
            Done::Task { task, made } => Ok((task.id.clone(), made)),
            other => panic!("{other:?}"),
        }
    }

    /// Decides it, and leaves the commit to a later one.
    fn rename(&mut self, name: &str, to: &str) {
        let rename = Request::RenameSession { by: Principal::Owner, name: name.into(), to: to.into() };
        let now = self.now();
        self.desk.handle(now, Input::Request(Box::new(rename), Box::default())).unwrap();
    }

    fn exit(&mut self, words: &str) {
        let effect = self.desk.take_due().into_iter().find_map(|e| match e {
            shrooms_core::Effect::Run { fence, .. } => Some(fence),
            _ => None,
        });
        let exit = Exit { code: Some(0), signal: None, spawn_error: None, stopped: false, words: Text::from(words) };
        let now = self.now();
        self.desk.handle(now, Input::Turn(effect.expect("a run"), TurnFact::Ended(exit))).unwrap();
        self.commit();
    }
}

#[test]
fn what_was_committed_is_there_after_a_reopening_and_the_same_message_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    assert_eq!(pair.send("a", "m1", "one").unwrap(), ("a:m1".into(), true));
    assert_eq!(pair.send("a", "m2", "two").unwrap(), ("a:m2".into(), true));
    pair.exit("done");
    drop(pair);
    let mut pair = open(dir.path());
    assert_eq!(pair.desk.boot(), Boot(2));
    // One that has ended is known from the store, one that waits from the desk.
    assert_eq!(pair.send("a", "m1", "one").unwrap(), ("a:m1".into(), false));
    assert_eq!(pair.send("a", "m2", "two").unwrap(), ("a:m2".into(), false));
    assert!(pair.send("a", "m1", "other").is_err());
    let reader = Reader::open(dir.path()).unwrap();
    let task = reader.task("a:m1").unwrap().unwrap();
    let texts = reader.texts(&task, true, true).unwrap();
    assert_eq!(texts.words.as_deref(), Some("done"));
    assert_eq!(texts.asked, [crate::AskedText { mid: Some("m1".into()), text: "one".into(), parts: None }]);
    assert_eq!(reader.session_named("a").unwrap().unwrap().name, "a");
    assert!(reader.session_named("b").unwrap().is_none() && reader.task("a:x").unwrap().is_none());
}

#[test]
fn a_commit_that_fails_leaves_nothing_of_its_batch() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.send("a", "m1", "one").unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let task = reader.task("a:m1").unwrap().unwrap();
    let before = pair.store.meta().unwrap();
    // The second change breaks the rule that a text is written once.
    let mut other = task.clone();
    other.title = Some("changed".into());
    let batch = [
        Change::Task(std::sync::Arc::new(other)),
        Change::Blob(task.request.no, Text::from("again")),
        Change::Meta(Meta::new("another".into())),
    ];
    assert!(pair.store.commit(&batch).is_err());
    assert_eq!(reader.task("a:m1").unwrap().unwrap(), task);
    assert_eq!(pair.store.meta().unwrap(), before);
    assert_eq!(pair.store.text(task.request.no).unwrap(), "one");
}

#[test]
fn pages_hold_every_task_once_the_newest_change_first() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    for n in 0..23 {
        pair.send("a", &format!("m{n}"), "x").unwrap();
    }
    let reader = Reader::open(dir.path()).unwrap();
    let mut seen = Vec::new();
    let mut after = None;
    loop {
        let page = reader.tasks(&TaskFilter { limit: 10, after, ..TaskFilter::default() }).unwrap();
        assert_eq!(page.total, 23);
        seen.extend(page.tasks.iter().map(|t| t.mid.clone()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expected: Vec<String> = (0..23).rev().map(|n| format!("m{n}")).collect();
    assert_eq!(seen, expected);
    let none = TaskFilter { context: Some("other".into()), limit: 10, ..TaskFilter::default() };
    assert_eq!(reader.tasks(&none).unwrap().total, 0);
    let waiting = reader.task("a:m5").unwrap().unwrap();
    assert_eq!(reader.texts(&waiting, true, true).unwrap().place, 5, "the first runs, four are before it");
    assert_eq!(reader.events(0, 100).unwrap().events.len(), 24);
}

#[test]
fn old_events_are_dropped_and_the_feed_says_where_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    for n in 0..5 {
        pair.send("a", &format!("m{n}"), "x").unwrap();
    }
    let reader = Reader::open(dir.path()).unwrap();
    let all = reader.events(0, 100).unwrap();
    assert_eq!((all.oldest, all.events.len()), (1, 6));
    assert_eq!(pair.store.prune_events(all.events[3].at).unwrap(), 3);
    let left = reader.events(0, 100).unwrap();
    assert_eq!((left.oldest, left.events.len()), (4, 3));
    assert_eq!(pair.store.prune_events(0).unwrap(), 0);
    assert_eq!(pair.store.prune_events(i64::MAX).unwrap(), 3);
    assert_eq!(reader.events(0, 100).unwrap().oldest, 0);
}

#[test]
fn the_audit_log_is_kept_ninety_days_and_read_from_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    for name in ["a", "b", "c"] {
        pair.session(name);
    }
    let reader = Reader::open(dir.path()).unwrap();
    let names = |before, limit| {
        let lines = reader.audit(before, limit).unwrap();
        lines.iter().map(|l| format!("{} {} {}", l.no, l.what, l.about)).collect::<Vec<_>>().join(", ")
    };
    assert_eq!(names(None, 2), "3 session-add c, 2 session-add b");
    assert_eq!(names(Some(2), 10), "1 session-add a");
    let (second, days) = (reader.audit(Some(3), 1).unwrap()[0].at, 90 * 86_400_000);
    let later = Now { wall: second + days, served: 0, boot: pair.desk.boot() };
    pair.store.prune(&later, 30).unwrap();
    assert_eq!(names(None, 10), "3 session-add c, 2 session-add b", "not a moment earlier");
    pair.store.prune(&Now { wall: second + days + 1, ..later }, 30).unwrap();
    assert_eq!(names(None, 10), "3 session-add c");
}

#[test]
fn devices_that_were_met_are_there_after_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let device = |label: &str| Device { id: "home/1".into(), label: label.into(), seen: 0, version: "0.1.0".into() };
    {
        let mut pair = open(dir.path());
        pair.request(Request::Met(device("laptop.home"))).unwrap();
        pair.request(Request::Met(device("notebook.home"))).unwrap();
    }
    let pair = open(dir.path());
    let kept = Reader::open(dir.path()).unwrap().devices().unwrap();
    assert_eq!(kept, pair.store.open_rows().unwrap().devices);
    assert_eq!(kept, [Device { seen: NOW.wall + 2_000, ..device("notebook.home") }]);
}

#[test]
fn a_state_of_the_first_version_is_brought_up_and_keeps_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut store = Store::open(dir.path()).unwrap();
        store.commit(&[Change::Meta(Meta::new("abc".into()))]).unwrap();
        store
            .db_for_tests()
            .execute_batch(
                "DROP TABLE prompt; DROP INDEX message_dropped; DROP INDEX message_ask; DROP TABLE audit; \
                 DROP TABLE device; DROP TABLE usage; PRAGMA user_version = 1;",
            )
            .unwrap();
    }
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.meta().unwrap().unwrap().incarnation, "abc");
    assert!(store.open_rows().unwrap().prompts.is_empty());
    assert_eq!(schema::version(store.db_for_tests(), "").unwrap(), schema::SCHEMA);
}

#[test]
fn a_state_that_cannot_be_used_is_left_as_it_is() {
    let made = |make: &dyn Fn(&Path)| {
        let dir = tempfile::tempdir().unwrap();
        drop(open(dir.path()));
        make(dir.path());
        let error = Store::open(dir.path()).err();
        (error, dir)
    };
    let (error, dir) =
        made(&|dir| std::fs::write(dir.join("state.db"), "not a database, but long enough for one").unwrap());
    assert!(matches!(error, Some(StoreError::Damaged { .. })), "{error:?}");
    assert!(std::fs::read_to_string(dir.path().join("state.db")).unwrap().starts_with("not a"));
    let (error, _dir) = made(&|dir| {
        let db = rusqlite::Connection::open(dir.join("state.db")).unwrap();
        db.pragma_update(None, "user_version", 99).unwrap();
    });
    assert!(matches!(error, Some(StoreError::Newer { found: 99, .. })), "{error:?}");
    let (error, dir) = made(&|dir| {
        Store::open(dir).unwrap().mark().unwrap();
        std::fs::remove_file(dir.join("state.db")).unwrap();
    });
    assert!(matches!(error, Some(StoreError::Damaged { .. })), "{error:?}");
    assert!(!dir.path().join("state.db").exists());
}

#[test]
fn one_daemon_has_a_directory() {
    let dir = tempfile::tempdir().unwrap();
    let first = crate::Lock::take(dir.path()).unwrap();
    assert!(matches!(crate::Lock::take(dir.path()), Err(StoreError::Locked { .. })));
    drop(first);
    assert!(crate::Lock::take(dir.path()).is_ok());
}

const DAY: i64 = 86_400_000;

fn blobs(store: &Store) -> i64 {
    store.db_for_tests().query_row("SELECT count(*) FROM blob", [], |r| r.get(0)).unwrap()
}

#[test]
fn ended_tasks_go_after_a_week_by_both_clocks_and_their_ids_run_nothing_for_a_month() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.send("a", "m1", "one").unwrap();
    pair.exit("done");
    pair.send("a", "m2", "two").unwrap();
    let kept =
        |pair: &Pair| Reader::open(dir.path()).unwrap().task("a:m1").unwrap().is_some() && blobs(&pair.store) > 1;
    // Only the wall clock has moved: a laptop that was off.
    pair.wall += 8 * DAY;
    let now = pair.now();
    assert!(!pair.store.prune(&now, 7).unwrap() && kept(&pair));
    pair.served += 7 * DAY;
    let now = pair.now();
    assert!(!pair.store.prune(&now, 7).unwrap() && !kept(&pair));
    // What is open stays, with its text, and is not touched by age.
    assert_eq!(blobs(&pair.store), 1);
    assert_eq!(pair.send("a", "m2", "two").unwrap(), ("a:m2".into(), false));
    let gone = pair.send("a", "m1", "one").unwrap_err();
    assert!(gone.to_string().contains("ended on 2026-10-08"), "{gone}");
    pair.wall += 30 * DAY;
    pair.served += 29 * DAY;
    let now = pair.now();
    pair.store.prune(&now, 7).unwrap();
    assert!(pair.send("a", "m1", "one").is_err());
    pair.served += DAY;
    let now = pair.now();
    pair.store.prune(&now, 7).unwrap();
    assert_eq!(pair.send("a", "m1", "one").unwrap(), ("a:m1".into(), true));
}

#[test]
fn more_than_a_piece_goes_in_several_and_untold_outcomes_stay() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    for i in 0..620 {
        pair.send("a", &format!("m{i}"), "x").unwrap();
        pair.exit("done");
    }
    let ask = shrooms_core::desk::AskReq {
        by: Principal::Owner,
        to: shrooms_core::desk::Target::Here { session: "a".into() },
        agent: "home/a".into(),
        mid: "mine".into(),
        digest: Text::from("x").sha(),
        text: Text::from("x"),
        title: None,
        context: None,
        refs: vec![],
        fresh: false,
        require: vec![],
        now_only: false,
        random: 7,
    };
    pair.request(Request::Ask(ask)).unwrap();
    pair.exit("result");
    (pair.wall, pair.served) = (pair.wall + 9 * DAY, pair.served + 9 * DAY);
    let now = pair.now();
    assert!(pair.store.prune(&now, 7).unwrap(), "there is more");
    assert!(!pair.store.prune(&now, 7).unwrap(), "that was all");
    let reader = Reader::open(dir.path()).unwrap();
    let left = reader.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() }).unwrap();
    // Nobody has read that one.
    assert_eq!((left.total, left.tasks[0].mid.as_str()), (1, "mine"));
    assert_eq!(reader.texts(&left.tasks[0], true, true).unwrap().words.as_deref(), Some("result"));
    (pair.wall, pair.served) = (pair.wall + 90 * DAY, pair.served + 9 * DAY);
    let now = pair.now();
    pair.store.prune(&now, 7).unwrap();
    assert_eq!(
        (reader.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() }).unwrap().total, blobs(&pair.store)),
        (0, 0)
    );
}

#[test]
fn a_removed_session_is_found_with_its_lane() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.request(Request::RemoveSession { by: Principal::Owner, name: "a".into() }).unwrap();
    pair.request(Request::UndoRemove { by: Principal::Owner, name: "a".into() }).unwrap();
    assert_eq!(pair.send("a", "m1", "one").unwrap(), ("a:m1".into(), true));
    assert!(pair.request(Request::UndoRemove { by: Principal::Owner, name: "b".into() }).is_err());
}

/// How SQLite finds what was sent for an ask.
fn plan_of_ask(store: &Store) -> String {
    let sql = format!("EXPLAIN QUERY PLAN {}", crate::write::OF_ASK);
    store.db_for_tests().query_row(&sql, ["d1", "x-1"], |r| r.get(3)).unwrap()
}

#[test]
fn what_was_sent_for_an_ask_is_found_by_it_also_in_a_state_of_the_third_version() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    assert_eq!(pair.send_for("x-1", "a", "m1").unwrap(), ("a:m1".into(), true));
    // One that has ended is not kept in memory.
    pair.exit("done");
    pair.rename("a", "b");
    pair.commit();
    assert_eq!(pair.send_for("x-1", "a", "m1").unwrap(), ("a:m1".into(), false));
    assert!(plan_of_ask(&pair.store).contains("message_ask"), "{}", plan_of_ask(&pair.store));
    pair.store
        .db_for_tests()
        .execute_batch(
            "DROP INDEX message_ask; DROP TABLE audit; DROP TABLE device; DROP TABLE usage; PRAGMA user_version = 3;",
        )
        .unwrap();
    assert!(!plan_of_ask(&pair.store).contains("message_ask"));
    drop(pair);
    let mut pair = open(dir.path());
    assert_eq!(schema::version(pair.store.db_for_tests(), "").unwrap(), schema::SCHEMA);
    assert!(plan_of_ask(&pair.store).contains("message_ask"), "{}", plan_of_ask(&pair.store));
    assert_eq!(pair.send_for("x-1", "a", "m1").unwrap(), ("a:m1".into(), false));
}

#[test]
fn sessions_exchange_names_in_one_commit_and_no_two_have_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.session("b");
    let reader = Reader::open(dir.path()).unwrap();
    let named = |name: &str| reader.session_named(name).unwrap().expect("a session of this name");
    let (a, b) = (named("a"), named("b"));
    pair.rename("a", "aside");
    pair.rename("b", "a");
    pair.rename("aside", "b");
    pair.commit();
    assert_eq!((named("a").uid, named("b").uid), (b.uid, a.uid));
    let (a, b) = (named("a"), named("b"));
    // Two of one name are no exchange.
    let mut other = b.clone();
    other.name = "a".into();
    let batch = [Change::Session(std::sync::Arc::new(a.clone())), Change::Session(std::sync::Arc::new(other))];
    assert!(pair.store.commit(&batch).is_err());
    assert_eq!((named("a"), named("b")), (a, b));
    // So they are after a start.
    drop(pair);
    let pair = open(dir.path());
    let uid = |name: &str| pair.desk.session_by_name(name).map(|s| s.uid);
    assert_eq!((uid("a"), uid("b")), (Some(named("a").uid), Some(named("b").uid)));
}
