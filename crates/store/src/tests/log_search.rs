//! Searching the log: what is found, and that whatever is typed is a search.

use super::log::{BOUNDS, Log, SOON};
use crate::{LogBounds, SearchStop, StoreError};

fn found(log: &Log, query: &str) -> Vec<i64> {
    let found = log.reader.search(&[1], query, 50, &SearchStop::default());
    found.unwrap_or_else(|e| panic!("{query}: {e}")).into_iter().map(|f| f.seq).collect()
}

#[test]
fn words_are_found_without_regard_to_case_or_accents_and_by_their_beginnings() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    for text in [
        "Der Käse ist über dem Fluß",
        "CRÈME BRÛLÉE, s'il vous plaît",
        "authentication of the auth-service failed (ERR_42)",
        "the file src/main.rs: error[E0502]",
        "Ελληνικά γράμματα και кириллица",
        "日本語 のテキスト",
        "authenticated authenticator authentic",
    ] {
        log.add(1, text);
    }
    log.add(2, "kase of another session");
    log.writer.flush(SOON);
    for (query, want) in [
        ("kase", vec![1]),
        ("KÄSE", vec![1]),
        ("uber", vec![1]),
        ("creme brulee", vec![2]),
        ("brulee creme", vec![2]),
        ("\"creme brulee\"", vec![2]),
        ("\"brulee creme\"", vec![]),
        ("plait vous", vec![2]),
        ("auth", vec![7, 3]),
        ("authentic", vec![7, 3]),
        ("authenticat", vec![7, 3]),
        ("authenticated", vec![7]),
        ("\"authentic\"", vec![7]),
        ("\"authenti\"", vec![]),
        ("auth-serv", vec![3]),
        ("auth service", vec![3]),
        ("service-auth", vec![]),
        ("err_42", vec![3]),
        ("src/main.rs", vec![4]),
        ("main rs e0502", vec![4]),
        ("e", vec![]),
        ("s", vec![2]),
        ("ΕΛΛΗΝΙΚΆ", vec![5]),
        ("КИРИЛ", vec![5]),
        ("日本", vec![6]),
        ("file creme", vec![]),
        ("nothing", vec![]),
        ("na", vec![]),
        ("\"src main", vec![4]),
    ] {
        assert_eq!(found(&log, query), want, "{query}");
    }
}

#[test]
fn no_text_is_a_wrong_search_but_one_without_words_and_one_that_is_too_long() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    log.add(1, "AND OR NOT NEAR words text and the rest: a^b {x} -minus col:value");
    log.writer.flush(SOON);
    for query in [
        "AND",
        "OR NOT",
        "NEAR(text",
        "NEAR",
        "text AND",
        "a*",
        "a^b",
        "{x}",
        "-minus",
        "col:value",
        "words:text",
        "text)",
        "(((",
        "\"\"\"text",
        "text\\",
        "'text'",
        "te\0xt",
        "%",
        "\u{1}text",
        "words\u{1}",
        "*",
        "\"",
        "🍄 text",
    ] {
        match log.reader.search(&[1], query, 50, &SearchStop::default()) {
            Ok(_) => {}
            Err(StoreError::Query { why }) => assert!(why.contains("no word"), "{query}: {why}"),
            Err(other) => panic!("{query}: {other}"),
        }
    }
    assert_eq!(found(&log, "AND NOT near"), [1]);
    assert_eq!(found(&log, "col:value"), [1]);
    assert_eq!(found(&log, "🍄 text"), [1], "what is no word is passed over");
    for (query, part) in
        [("x".repeat(401), "at most 400 characters"), ("x ".repeat(21), "at most 20 words"), (String::new(), "no word")]
    {
        let error = log.reader.search(&[1], &query, 50, &SearchStop::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn the_newest_come_first_with_a_piece_of_their_text() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::with(dir.path(), LogBounds { line_bytes: 100_000, ..BOUNDS });
    log.fill(1, 120, |n| format!("{} needle {} number {n}", "before ".repeat(60), "behind ".repeat(60)));
    assert_eq!(found(&log, "need"), (71..=120).rev().collect::<Vec<_>>());
    let hit = log.reader.search(&[1], "needle", 1, &SearchStop::default()).unwrap().remove(0);
    assert!(hit.snippet.starts_with('…') && hit.snippet.contains("before  needle behind"), "{hit:?}");
    assert_eq!((hit.session, hit.seq, hit.kind, hit.task.as_deref()), (1, 120, "words", Some("a:m")));
    log.add(1, &format!("needle{}", "0".repeat(90_000)));
    log.writer.flush(SOON);
    let hit = log.reader.search(&[1], "needle0", 1, &SearchStop::default()).unwrap().remove(0);
    assert!(hit.snippet.chars().count() < 420, "{}", hit.snippet.len());
}

#[test]
fn over_all_sessions_time_says_which_are_newest() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    for (session, at) in [(3, 10), (1, 20), (2, 30), (1, 40), (3, 50)] {
        log.writer.add(crate::LogLine { at, ..super::log::line(session, "hit") });
    }
    log.writer.flush(SOON);
    let all = |sessions: &[i64], limit| {
        let found = log.reader.search(sessions, "hit", limit, &SearchStop::default()).unwrap();
        found.into_iter().map(|f| (f.at, f.session)).collect::<Vec<_>>()
    };
    assert_eq!(all(&[1, 2, 3], 50), [(50, 3), (40, 1), (30, 2), (20, 1), (10, 3)]);
    assert_eq!(all(&[1, 2, 3], 2), [(50, 3), (40, 1)]);
    assert_eq!(all(&[2, 3], 50), [(50, 3), (30, 2), (10, 3)]);
}

#[test]
fn a_beginning_that_very_many_words_have_is_found_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    log.fill(1, 300, |n| format!("number{n:04}"));
    assert_eq!(found(&log, "number").len(), 50);
    assert_eq!(found(&log, "number00"), (51..=100).rev().collect::<Vec<_>>());
    assert_eq!(found(&log, "number0007"), [8]);
}

#[test]
fn a_search_that_is_broken_off_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let log = Log::open(dir.path());
    log.add(1, "text");
    log.writer.flush(SOON);
    let stop = SearchStop::default();
    stop.stop();
    let error = log.reader.search(&[1], "text", 50, &stop).unwrap_err();
    assert!(matches!(error, StoreError::LogSlow), "{error}");
    assert_eq!(found(&log, "text"), [1], "the next one is not");
}
