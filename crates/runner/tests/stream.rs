//! A run that is fed and read line by line: nothing is lost, and nothing that is blocked holds a stop up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "real processes end in real time")]

mod support;

use std::time::{Duration, Instant};

use shrooms_runner::{Ended, Input, Run, RunEvent, RunSpec, WriteError};
use support::{LONG, Place, alive, kill, start, to_the_end, until};

/// Reads nothing and ignores TERM.
const DEAF: &str = "trap '' TERM; echo $$ > $D/main; while :; do sleep 0.05; done";

fn spec(place: &Place, script: &str) -> RunSpec {
    RunSpec { stdin: Input::Stream, ..place.spec(script) }
}

async fn next_line(run: &mut Run) -> String {
    loop {
        match tokio::time::timeout(LONG, run.next()).await.unwrap().unwrap() {
            RunEvent::Line(line) => return line,
            RunEvent::Started { .. } => {}
            // The two streams come in any order.
            RunEvent::Words { line, stderr: true } => assert_eq!(line, "noise"),
            other => panic!("no line but {other:?}"),
        }
    }
}

async fn until_started(run: &mut Run) {
    assert!(matches!(run.next().await, Some(RunEvent::Started { .. })));
}

/// Polls a write that has no room for a moment.
async fn until_it_waits(write: impl Future<Output = Result<(), WriteError>>) {
    assert!(tokio::time::timeout(Duration::from_millis(300), write).await.is_err());
}

#[tokio::test]
async fn lines_go_both_ways_until_the_input_is_closed() {
    let place = Place::new();
    let mut run = start(spec(&place, "echo ready; echo noise >&2; cat; echo end")).await;
    // Before the program runs: it waits for that.
    run.write("first".into()).await.unwrap();
    assert_eq!(next_line(&mut run).await, "ready");
    assert_eq!(next_line(&mut run).await, "first");
    run.write("\tsecond ✓ \r".into()).await.unwrap();
    assert_eq!(next_line(&mut run).await, "\tsecond ✓ \r");
    run.write("third".into()).await.unwrap();
    run.close_input();
    assert_eq!(run.write("late".into()).await, Err(WriteError::Gone));
    let told = to_the_end(&mut run).await;
    assert_eq!(told.lines, ["third", "end"]);
    let exit = told.exit();
    assert_eq!((exit.code, exit.stopped, exit.tail.as_str()), (Some(0), false, "noise"));
    assert_eq!(place.trace().exit.as_ref(), Some(exit));
    assert!(!place.run_dir().join("stdin").exists());
    assert_eq!(run.write("late".into()).await, Err(WriteError::Gone));
}

#[tokio::test]
async fn an_input_closed_before_the_program_runs_is_its_end_and_no_stop() {
    let place = Place::new();
    let mut run = start(spec(&place, "cat; exit 3")).await;
    run.close_input();
    let told = to_the_end(&mut run).await;
    assert_eq!((told.exit().code, told.exit().stopped), (Some(3), false));
}

#[tokio::test]
async fn a_line_of_many_megabytes_is_one_line_both_ways() {
    let place = Place::new();
    let mut run = start(spec(&place, "cat")).await;
    let line = "0123456789é".repeat(1_000_000);
    let (written, ()) = tokio::join!(run.write(line.clone()), async {
        tokio::task::yield_now().await;
    });
    written.unwrap();
    run.close_input();
    let told = to_the_end(&mut run).await;
    assert!(told.lines.len() == 1 && told.lines[0] == line);
}

#[tokio::test]
async fn a_reader_that_is_away_holds_the_program_up_and_misses_nothing() {
    let place = Place::new();
    let script = "echo $$ > $D/main; seq 1 1000000; echo done > $D/finished";
    let mut run = start(spec(&place, script)).await;
    place.pid_in("main").await;
    // 7 MB, more than every buffer on the way together.
    let mut last = 0;
    until("the program stands still", || {
        let rchar = std::fs::read_to_string(format!("/proc/{}/io", run.launcher_pid())).unwrap();
        let now = rchar.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
        std::mem::replace(&mut last, now) == now && now > 100_000
    })
    .await;
    assert!(!place.file("finished").exists());
    let mut expected = 0_u64;
    let all = async {
        while let Some(event) = run.next().await {
            match event {
                RunEvent::Line(line) => {
                    expected += 1;
                    assert_eq!(line, expected.to_string());
                }
                RunEvent::Started { .. } => {}
                RunEvent::Ended(Ended::Exit(exit)) => assert_eq!((exit.code, exit.tail.as_str()), (Some(0), "")),
                other => panic!("{other:?}"),
            }
        }
    };
    tokio::time::timeout(LONG * 2, all).await.unwrap();
    assert_eq!(expected, 1_000_000);
}

#[tokio::test]
async fn what_is_no_line_of_a_stream_is_refused() {
    let place = Place::new();
    let mut run = start(spec(&place, "cat")).await;
    assert_eq!(run.write("two\nlines".into()).await, Err(WriteError::NotALine));
    run.close_input();
    to_the_end(&mut run).await;
    let place = Place::new();
    let mut run = start(place.spec("exit 0")).await;
    assert_eq!(run.write("text".into()).await, Err(WriteError::Gone));
    to_the_end(&mut run).await;
}

#[tokio::test]
async fn input_for_a_program_that_does_not_read_waits_and_ends_with_it() {
    let place = Place::new();
    let mut run = start(spec(&place, DEAF)).await;
    place.pid_in("main").await;
    let line = "x".repeat(1024 * 1024);
    for _ in 0..3 {
        run.write(line.clone()).await.unwrap();
    }
    until_it_waits(run.write(line.clone())).await;
    let waiting = tokio::spawn(run.write(line));
    kill(place.pid_in("main").await);
    assert_eq!(to_the_end(&mut run).await.exit().signal, Some(9));
    // What was before it could be thrown away first, so that it had room, too.
    assert!(matches!(waiting.await.unwrap(), Ok(()) | Err(WriteError::Gone)));
}

#[tokio::test]
async fn a_program_that_closes_its_input_takes_everything_and_runs_on() {
    let place = Place::new();
    let mut run = start(spec(&place, "exec <&-; until [ -e $D/go ]; do sleep 0.02; done; echo done")).await;
    let line = "x".repeat(1024 * 1024);
    for _ in 0..8 {
        tokio::time::timeout(LONG, run.write(line.clone())).await.unwrap().unwrap();
    }
    std::fs::write(place.file("go"), "").unwrap();
    assert_eq!(to_the_end(&mut run).await.lines, ["done"]);
}

#[tokio::test]
async fn stop_is_the_end_of_input_first() {
    let place = Place::new();
    let mut spec = spec(&place, "trap 'exit 9' TERM; cat > /dev/null; echo bye; exit 5");
    spec.grace_ms = 20_000;
    let mut run = start(spec).await;
    until_started(&mut run).await;
    run.stop();
    let told = to_the_end(&mut run).await;
    assert_eq!(told.lines, ["bye"]);
    assert_eq!((told.exit().code, told.exit().stopped), (Some(5), true));
}

#[tokio::test]
async fn stop_is_term_after_the_grace_and_kill_after_another() {
    for (script, code, signal, graces) in [
        ("trap 'exit 9' TERM; echo $$ > $D/main; while :; do sleep 0.02; done", Some(9), None, 1),
        (DEAF, None, Some(9), 2),
    ] {
        let place = Place::new();
        let mut run = start(spec(&place, script)).await;
        place.pid_in("main").await;
        let asked = Instant::now();
        run.stop();
        let told = to_the_end(&mut run).await;
        assert_eq!((told.exit().code, told.exit().signal, told.exit().stopped), (code, signal, true));
        assert!(asked.elapsed() >= Duration::from_millis(300) * graces);
    }
}

/// Neither side reads: the program is full both ways.
async fn until_jammed(place: &Place) -> (Run, i32) {
    let script = format!("trap '' TERM; (trap '' TERM; while :; do seq 1 100000; done) & {DEAF}");
    let run = start(spec(place, &script)).await;
    let main = place.pid_in("main").await;
    let line = "x".repeat(1024 * 1024);
    for _ in 0..3 {
        run.write(line.clone()).await.unwrap();
    }
    until_it_waits(run.write(line)).await;
    (run, main)
}

#[tokio::test]
async fn stop_ends_a_run_that_is_blocked_both_ways() {
    let place = Place::new();
    let (mut run, main) = until_jammed(&place).await;
    let asked = Instant::now();
    run.stop();
    until("all have gone", || !alive(main)).await;
    assert!(asked.elapsed() < Duration::from_secs(5));
    // Nobody reads for long: the end is on disk, and the lock frees without it.
    until("the launcher has gone", || !alive(run.launcher_pid())).await;
    assert!(place.trace().exit.unwrap().stopped);
    assert_eq!(place.clear().await.ended, 0);
    let told = to_the_end(&mut run).await;
    assert!(matches!(told.ended, Ended::Exit(_) | Ended::Lost) && !told.lines.is_empty());
}

#[tokio::test]
async fn a_daemon_that_goes_away_ends_a_run_that_is_blocked_both_ways() {
    let place = Place::new();
    let (run, main) = until_jammed(&place).await;
    let launcher = run.launcher_pid();
    let asked = Instant::now();
    drop(run);
    until("all have gone", || ![main, launcher].into_iter().any(alive)).await;
    assert!(asked.elapsed() < Duration::from_secs(8));
    assert!(place.trace().exit.unwrap().stopped);
}

#[tokio::test]
async fn a_killed_launcher_is_a_lost_run_that_takes_no_input() {
    let place = Place::new();
    let mut run = start(spec(&place, DEAF)).await;
    let main = place.pid_in("main").await;
    kill(run.launcher_pid());
    assert_eq!(to_the_end(&mut run).await.ended, Ended::Lost);
    assert_eq!(run.write("x".into()).await, Err(WriteError::Gone));
    assert!(place.clear().await.ended >= 1 && !alive(main));
}
