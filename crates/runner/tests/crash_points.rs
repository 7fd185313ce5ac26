//! A launcher killed at each of its points leaves a trace that tells the truth.
#![cfg(feature = "crash-points")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod support;

use std::path::Path;

use shrooms_runner::{Ended, crash};
use support::{Place, launcher, run, to_the_end};

struct Left {
    started: bool,
    /// The program ran, or was about to when its launcher was killed.
    may_have_run: bool,
    exit: bool,
}

fn expected(point: &str) -> Left {
    let (started, may_have_run, exit) = match point {
        "launcher_before_lock" | "launcher_before_started" => (false, false, false),
        "launcher_after_started" => (true, false, false),
        "launcher_after_spawn" | "launcher_before_exit" => (true, true, false),
        "launcher_after_exit" => (true, true, true),
        other => panic!("a point without an expectation: {other}"),
    };
    Left { started, may_have_run, exit }
}

#[tokio::test]
async fn a_launcher_killed_at_any_point_leaves_what_is_true() {
    for point in crash::POINTS {
        let place = Place::new();
        let at = format!("{}={point}@{}", crash::CRASH_AT, place.file("once").display());
        let arguments = [at.as_str(), launcher().to_str().unwrap()];
        let spec = place.spec("echo $$ > $D/main; echo ${SHROOMS_CRASH_AT-none}; exit 6");
        let env = Path::new("env");
        let mut lost = shrooms_runner::start(env, &arguments, spec.clone()).await.unwrap();
        assert_eq!(to_the_end(&mut lost).await.ended, Ended::Lost, "{point}");
        place.clear().await;
        let (left, trace) = (expected(point), place.trace());
        assert_eq!(trace.started, left.started, "{point}");
        assert_eq!(trace.exit.is_some(), left.exit, "{point}");
        assert!(left.may_have_run || !place.file("main").exists(), "{point}");
        if let Some(exit) = trace.exit {
            assert_eq!((exit.code, exit.tail.as_str()), (Some(6), "none"), "{point}");
        }
        if !left.started {
            // Not started: it may run now, in the same directory, also under the same environment,
            // since the file was made.
            let mut again = shrooms_runner::start(env, &arguments, spec).await.unwrap();
            assert_eq!(to_the_end(&mut again).await.exit().code, Some(6), "{point}");
        } else {
            assert!(matches!(run(spec).await.ended, Ended::Refused { .. }), "{point}");
        }
    }
}
