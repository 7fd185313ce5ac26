//! Observations as a script names them.

use shrooms_core::desk::{AskFact, Exit, Retry, TurnFact};
use shrooms_core::row::Spent;
use shrooms_core::text::Text;

/// What a runner says of a turn.
pub fn turn_fact(what: &str, how: &[&str]) -> TurnFact {
    // An exit stands alone, or in the trace that a crash left.
    let (what, how) = match how {
        ["exit", how @ ..] if what == "trace" => ("trace-exit", how),
        how => (what, how),
    };
    let first = how.first().copied().unwrap_or_default();
    let words = how.get(1).copied().unwrap_or_default();
    let number = || first.parse().expect("an exit code or a signal");
    let exit = |code, signal, words| Exit { code, signal, spawn_error: None, stopped: false, words: Text::from(words) };
    match (what, first) {
        ("began", _) => TurnFact::Began,
        ("compacted", _) => TurnFact::Compacted,
        ("busy", _) => TurnFact::Busy,
        ("idle", words) => TurnFact::Idle { words: Text::from(words), spent: Spent::default() },
        ("exit", _) => TurnFact::Ended(exit(Some(number()), None, words)),
        ("signal", _) => TurnFact::Ended(exit(None, Some(number()), words)),
        ("stopped", words) => TurnFact::Ended(Exit { stopped: true, ..exit(None, Some(15), words) }),
        ("unspawned", why) => TurnFact::Ended(Exit { spawn_error: Some(why.into()), ..exit(None, None, "") }),
        ("never", "soon") => TurnFact::NeverBegan { why: words.into(), retry: Retry::Soon },
        ("never", "disk") => TurnFact::NeverBegan { why: words.into(), retry: Retry::Disk },
        ("never", "counted") => TurnFact::NeverBegan { why: words.into(), retry: Retry::Counted },
        ("lost", _) => TurnFact::Lost,
        ("trace", "neither") => TurnFact::Trace { began: false, exit: None, landed: Vec::new() },
        ("trace", "began") => TurnFact::Trace { began: true, exit: None, landed: Vec::new() },
        ("trace-exit", _) => {
            TurnFact::Trace { began: true, exit: Some(exit(Some(number()), None, words)), landed: Vec::new() }
        }
        other => panic!("no such command: {other:?}"),
    }
}

/// What became of one try of an ask.
pub fn ask_fact(mid: &str, how: &[&str]) -> AskFact {
    match how {
        ["away"] => AskFact::Away { why: "away".into() },
        ["unsure"] => AskFact::Unsure { why: "no answer".into() },
        ["refused", why] => AskFact::Refused { why: Text::from(*why) },
        ["gone", why] => AskFact::Gone { why: Text::from(*why) },
        ["task", seq, state, text @ ..] => AskFact::Task {
            task_id: format!("tests:{mid}"),
            seq: seq.parse().expect("a number"),
            state: state.to_string(),
            text: text.first().map(|t| Text::from(*t)),
        },
        other => panic!("no such reply: {other:?}"),
    }
}
