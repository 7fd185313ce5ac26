//! Records of use: summed by what one asks for, kept 400 days, part of a task's evidence, and there in
//! a state that was made before them.

use std::sync::Arc;

use shrooms_core::Principal;
use shrooms_core::desk::Request;
use shrooms_core::id::SessionUid;
use shrooms_core::row::{Cause, Change, CostFrom, Tokens, Usage};

use super::{NOW, open};
use crate::{Reader, UsageBy, UsageQuery, UsageSum, schema};

const TODAY: i64 = NOW.wall / 86_400_000;

/// `SESSION MODEL ASKER TASK`, `-` for no task.
fn record(no: i64, day: i64, of: &str, input: u64, cost: Option<(u64, CostFrom)>) -> Change {
    let words: Vec<&str> = of.split(' ').collect();
    Change::Usage(Arc::new(Usage {
        no,
        at: day * 86_400_000,
        day,
        session: SessionUid(1),
        name: words[0].into(),
        harness: "claude".into(),
        model: words[1].into(),
        cause: Cause { by: words[2].into(), task: Some(words[3].to_string()).filter(|t| t != "-") },
        turns: 1,
        tokens: Tokens { input, output: 2, cache_read: 3, cache_write: 4 },
        cost,
        busy_ms: 100,
    }))
}

/// Each sum on a line: what it is made by, turns, input, cost.
fn shown(sums: &[UsageSum]) -> Vec<String> {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "*".into());
    let one = |s: &UsageSum| {
        let day = s.day.map_or("*".into(), |d| (d - TODAY).to_string());
        let by = [&s.session, &s.harness, &s.model, &s.asker, &s.task].map(word).join(" ");
        format!("{day} {by}: {} {} ${} {}+{} ?{}", s.turns, s.input, s.micros, s.by_harness, s.by_prices, s.unpriced)
    };
    sums.iter().map(one).collect()
}

#[test]
fn what_was_used_is_summed_by_what_is_asked_for_within_the_days() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    let told = |micros| Some((micros, CostFrom::Harness));
    let batch = [
        record(101, TODAY, "a m owner a:1", 10, told(5)),
        record(102, TODAY, "a m owner a:1", 20, Some((7, CostFrom::Prices))),
        record(103, TODAY, "a n shrooms a:2", 40, None),
        record(104, TODAY - 1, "b m owner -", 80, told(9)),
        record(105, TODAY - 2, "b m owner -", 160, told(11)),
    ];
    pair.store.commit(&batch).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let sums = |since: i64, by: &[UsageBy], limit| {
        let query = UsageQuery { since: TODAY + since, until: TODAY, by: by.to_vec(), limit };
        shown(&reader.usage(&query).unwrap())
    };
    assert_eq!(sums(-9, &[], 9), ["* * * * * *: 5 310 $32 3+1 ?49"]);
    assert_eq!(
        sums(-1, &[UsageBy::Day, UsageBy::Session, UsageBy::Model, UsageBy::Asker], 9),
        ["0 a * m owner *: 2 30 $12 1+1 ?0", "0 a * n shrooms *: 1 40 $0 0+0 ?49", "-1 b * m owner *: 1 80 $9 1+0 ?0"]
    );
    assert_eq!(sums(-9, &[UsageBy::Day], 2), ["0 * * * * *: 3 70 $12 1+1 ?49", "-1 * * * * *: 1 80 $9 1+0 ?0"]);
    assert_eq!(
        sums(0, &[UsageBy::Task, UsageBy::Harness], 9),
        ["* * claude * * a:1: 2 30 $12 1+1 ?0", "* * claude * * a:2: 1 40 $0 0+0 ?49"]
    );
    // Nothing is a sum, too.
    let none = UsageQuery { since: TODAY + 1, until: TODAY + 2, by: Vec::new(), limit: 1 };
    assert_eq!(shown(&reader.usage(&none).unwrap()), ["* * * * * *: 0 0 $0 0+0 ?0"]);
}

#[test]
fn a_tasks_evidence_has_what_its_records_say_also_after_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("a");
    pair.send("a", "1", "x").unwrap();
    pair.exit("done");
    let reader = Reader::open(dir.path()).unwrap();
    let evidence = || reader.task("a:1").unwrap().unwrap().evidence;
    let (turns, tokens) = (evidence().turns, evidence().tokens);
    let told = Some((5, CostFrom::Harness));
    let of = |no, task: &str, cost| record(no, TODAY, &format!("a m owner {task}"), 10, cost);
    pair.store.commit(&[of(201, "a:1", told), of(202, "a:1", None), of(203, "a:2", told)]).unwrap();
    let after = evidence();
    assert_eq!((after.turns - turns, after.tokens - tokens, after.cost_micros), (2, 38, 5));
    let listed = reader.tasks(&crate::TaskFilter { limit: 5, ..Default::default() }).unwrap().tasks;
    assert_eq!(listed[0].evidence, after);
}

#[test]
fn records_are_kept_400_days() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    let old = (0..700).map(|n| record(1_000 + n, TODAY - 401, "a m owner -", 1, None));
    let kept = [record(1, TODAY - 400, "a m owner -", 7, None), record(2, TODAY, "a m owner -", 7, None)];
    pair.store.commit(&old.chain(kept).collect::<Vec<_>>()).unwrap();
    // In pieces.
    assert!(pair.store.prune(&NOW, 7).unwrap());
    assert!(!pair.store.prune(&NOW, 7).unwrap());
    let reader = Reader::open(dir.path()).unwrap();
    let all = UsageQuery { since: 0, until: TODAY, by: Vec::new(), limit: 1 };
    assert_eq!(reader.usage(&all).unwrap()[0].input, 14);
}

#[test]
fn a_state_of_the_fifth_version_counts_from_now_on() {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut pair = open(dir.path());
        pair.session("a");
        pair.store.db_for_tests().execute_batch("DROP TABLE usage; PRAGMA user_version = 5;").unwrap();
    }
    let mut pair = open(dir.path());
    assert_eq!(schema::version(pair.store.db_for_tests(), "").unwrap(), schema::SCHEMA);
    pair.store.commit(&[record(900, TODAY, "a m owner -", 7, None)]).unwrap();
    assert!(pair.desk.session_by_name("a").is_some());
    let stop = Request::StopSession { by: Principal::Owner, name: "a".into() };
    pair.request(stop).unwrap();
    let reader = Reader::open(dir.path()).unwrap();
    let all = UsageQuery { since: 0, until: TODAY, by: vec![UsageBy::Session], limit: 9 };
    assert_eq!(shown(&reader.usage(&all).unwrap()), ["* a * * * *: 1 7 $0 0+0 ?16"]);
}
