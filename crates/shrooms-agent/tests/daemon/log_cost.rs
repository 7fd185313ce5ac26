//! What a long conversation costs the daemon: opening its end and one more message, in time of the
//! processor, beside a short one; and a search of it. The two take turns in one daemon, so that whatever
//! else the machine does falls on both.

use std::fs;

use shrooms_store::{LogBounds, LogHost, LogLine, LogWriter};

use crate::lab::{Lab, Machine, SOON, poll, state};

const FEW: usize = 100;
const MANY: usize = 100_000;
/// Each session gets so many messages in a row …
const MESSAGES: usize = 5;
/// … so often.
const ROUNDS: usize = 40;
/// What the many may cost more.
const MORE: f64 = 1.2;
/// What a search for the newest 50 hits may cost, in milliseconds of the processor of a debug build.
const SEARCH_MS: f64 = 100.0;
/// Searches that are measured together.
const SEARCHES: usize = 20;

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

/// Lines of sessions that have none yet.
fn past(home: &Machine, of: &[(i64, usize)]) {
    let bounds = LogBounds { lines: 200_000, bytes: 2_000_000_000, line_bytes: 64_000 };
    let log = LogWriter::open(&home.state, bounds, Nobody).unwrap();
    for (session, lines) in of {
        for n in 0..*lines {
            let at = 1_791_450_902_000 + n as i64;
            log.add(LogLine { seq: 0, session: *session, at, kind: "words", task: None, text: text(n) });
            if n % 1_000 == 999 {
                log.flush(SOON);
            }
        }
    }
    log.flush(SOON);
    assert_eq!(log.dropped(), 0);
}

/// Milliseconds that the daemon has used of the processor.
fn used(home: &Machine) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", home.pid())).unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    // Ticks of 10 ms; those of its children are not among them.
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) * 10.0
}

/// Opens the end of the conversation, and has one more message go through it.
fn message(home: &Machine, session: &str, id: &str) {
    let page = home.get(&format!("/v1/sessions/{session}/log?limit=200"));
    assert_eq!(page.status, 200, "{}", page.body);
    let sent = home.post("/v1/asks", &serde_json::json!({"to": session, "text": id, "id": id}));
    assert_eq!(sent.status, 202, "{}", sent.body);
    assert_eq!(state(&home.outcome(&format!("{session}:{id}"))), "completed");
}

fn newest(home: &Machine, session: &str) -> i64 {
    home.get(&format!("/v1/sessions/{session}/log?limit=1")).json()["newest"].as_i64().unwrap()
}

#[test]
fn a_conversation_of_a_hundred_thousand_lines_costs_what_one_of_a_hundred_does() {
    let mut lab = Lab::of(&["homeserver"]);
    let names = ["short", "long"];
    for name in names {
        lab[0].add(name, lab.dir.path(), &["cat"]);
    }
    lab[0].stop();
    let uids = {
        let reader = shrooms_store::Reader::open(&lab[0].state).unwrap();
        names.map(|name| reader.sessions().unwrap().iter().find(|r| r.session.name == name).unwrap().session.uid.0)
    };
    past(&lab[0], &[(uids[0], FEW), (uids[1], MANY)]);
    lab[0].start();
    let home = &lab[0];
    // That each was added is a line, too.
    let counts = [FEW, MANY].map(|n| i64::try_from(n + 1).unwrap());
    assert_eq!(names.map(|name| newest(home, name)), counts);
    let mut cost = [0.0, 0.0];
    for round in 0..=ROUNDS {
        // Who is first changes, so that neither always comes after the other.
        for which in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let before = used(home);
            for n in 0..MESSAGES {
                message(home, names[which], &format!("r{round}-{n}"));
            }
            let lines = counts[which] + i64::try_from((round + 1) * MESSAGES).unwrap();
            poll("its lines are kept", || newest(home, names[which]) == lines);
            // The first round is to warm up.
            if round > 0 {
                cost[which] += used(home) - before;
            }
        }
    }
    let each = cost.map(|ms| ms / (ROUNDS * MESSAGES) as f64);
    let ratio = cost[1] / cost[0];
    println!(
        "opening the end and one more message: {:.2} ms with {MANY} lines, {:.2} ms with {FEW}: {ratio:.3} x",
        each[1], each[0]
    );
    assert!(ratio <= MORE, "{ratio}");

    for (query, hits) in
        [("common", 50), ("com", 50), ("rarity", 5), ("common rarity", 5), ("%22common%20w00000%22", 5)]
    {
        let before = used(home);
        for _ in 0..SEARCHES {
            let answer = home.get(&format!("/v1/sessions/long/search?q={}", query.replace(' ', "%20")));
            assert_eq!(answer.status, 200, "{}", answer.body);
            let found = answer.json()["found"].as_array().unwrap().len();
            assert!(found == hits || query.starts_with('%') && found > 0, "{query}: {found}");
        }
        let each = (used(home) - before) / SEARCHES as f64;
        println!("a search of {MANY} lines for {query:?}: {each:.2} ms of the processor");
        assert!(each <= SEARCH_MS, "{query}: {each} ms");
    }
}
