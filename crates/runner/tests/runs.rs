//! A run from its start to its end, with real processes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "real processes end in real time")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use shrooms_runner::{Ended, Refusal, RunEvent, StartError};
use support::{Place, alive, has_open, run, start, to_the_end, until};

/// Leaves its parent, its session and its group, closes what it inherited, drops its environment.
const ESCAPE: &str = "env -i PATH=\"$PATH\" D=\"$D\" setsid sh -c '\
    exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- </dev/null >/dev/null 2>&1; \
    trap \"\" TERM HUP; sh -c \"echo \\$PPID > $D/escaped\"; while :; do sleep 1; done' &";

#[tokio::test]
async fn output_and_exit_code_are_told_and_kept() {
    let place = Place::new();
    let told = run(place.spec("echo one; echo two >&2; echo three; exit 7")).await;
    assert_eq!(told.lines, ["one", "three"]);
    assert_eq!(told.errors, ["two"]);
    assert!(told.started.is_some());
    let exit = told.exit();
    assert_eq!((exit.code, exit.signal, exit.stopped), (Some(7), None, false));
    let mut kept: Vec<&str> = exit.tail.lines().collect();
    kept.sort_unstable();
    assert_eq!(kept, ["one", "three", "two"]);
    assert!(exit.at_ms > 1_600_000_000_000);
    let trace = place.trace();
    assert!(trace.started);
    assert_eq!(trace.exit.as_ref(), Some(exit));
    assert_eq!(trace.result, None);
}

#[tokio::test]
async fn what_was_written_to_the_result_file_is_in_the_trace() {
    let place = Place::new();
    run(place.spec("printf 'the result' > \"$SHROOMS_RESULT\"")).await;
    assert_eq!(place.trace().result.as_deref(), Some("the result"));
}

#[tokio::test]
async fn a_signal_is_told_as_a_signal() {
    let place = Place::new();
    let told = run(place.spec("kill -KILL $$")).await;
    assert_eq!((told.exit().code, told.exit().signal), (None, Some(9)));
}

#[tokio::test]
async fn a_missing_program_is_an_exit_with_the_reason() {
    let place = Place::new();
    let mut spec = place.spec("");
    spec.program = vec!["no-such-program".into()];
    let told = run(spec).await;
    assert_eq!((told.started, told.exit().code), (None, None));
    assert!(told.exit().spawn_error.as_ref().unwrap().contains("no-such-program"));
    assert_eq!(place.trace().exit.as_ref(), Some(told.exit()));
}

#[tokio::test]
async fn a_missing_directory_is_named_in_the_reason() {
    let place = Place::new();
    let mut spec = place.spec("");
    spec.cwd = "/no/such/place".into();
    let told = run(spec).await;
    assert!(told.exit().spawn_error.as_ref().unwrap().contains("/no/such/place"));
}

#[tokio::test]
async fn the_program_is_found_by_the_path_it_is_given() {
    let place = Place::new();
    fs::write(place.file("tool"), "#!/bin/sh\necho found\n").unwrap();
    fs::set_permissions(place.file("tool"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut spec = place.spec("");
    spec.program = vec!["tool".into()];
    spec.env.insert("PATH".into(), place.dir.path().display().to_string());
    assert_eq!(run(spec).await.lines, ["found"]);
}

#[tokio::test]
async fn two_hundred_kilobytes_on_stdin_arrive_whole_and_end() {
    let place = Place::new();
    let mut spec = place.spec("cat > got; echo read");
    let text = "0123456789".repeat(20_000);
    spec.stdin = text.as_str().into();
    assert_eq!(run(spec).await.lines, ["read"]);
    assert_eq!(fs::read_to_string(place.file("got")).unwrap(), text);
}

#[tokio::test]
async fn the_environment_is_set_removed_and_marked() {
    let place = Place::new();
    let mut spec = place
        .spec("echo $A; echo ${CARGO_PKG_NAME-none}; echo $SHROOMS_AGENT_RUN; echo ${SHROOMS_AGENT_LAUNCHER-none}");
    spec.env.insert("A".into(), "a value".into());
    spec.env_remove.push("CARGO_PKG_NAME".into());
    let mark = spec.mark.clone();
    assert_eq!(run(spec).await.lines, ["a value", "none", mark.as_str(), "none"]);
}

#[tokio::test]
async fn the_program_inherits_the_lock_and_not_the_control_channel() {
    let place = Place::new();
    let told = run(place.spec("ls -l /proc/self/fd")).await;
    let all = told.lines.join("\n");
    assert!(all.contains(place.lock().to_str().unwrap()), "{all}");
    assert!(!all.contains("socket:"), "{all}");
}

#[tokio::test]
async fn a_line_without_end_comes_in_bounded_pieces() {
    let place = Place::new();
    let told = run(place.spec("head -c 100000 /dev/zero | tr '\\0' x")).await;
    assert!(told.lines.len() > 1 && told.lines.iter().all(|l| l.len() <= 16 * 1024));
    assert_eq!(told.lines.concat(), "x".repeat(100_000));
    assert!(told.exit().tail.len() <= 64 * 1024);
}

#[tokio::test]
async fn many_lines_arrive_in_order_or_are_counted() {
    let place = Place::new();
    let told = run(place.spec("seq 1 20000")).await;
    assert_eq!(told.lines.len() as u64 + told.dropped, 20_000);
    assert_eq!(told.exit().tail.lines().count(), 40);
    assert!(told.exit().tail.ends_with("\n20000"));
}

#[tokio::test]
async fn a_reader_that_is_away_never_holds_the_program_up_and_still_hears_the_end() {
    let place = Place::new();
    // 60 MB, more than every buffer on the way together.
    let mut run = start(place.spec("seq 1 8000000; echo done > \"$D/finished\"")).await;
    until("the program has finished", || place.file("finished").exists()).await;
    until("the launcher has gone", || !alive(run.launcher_pid())).await;
    let told = to_the_end(&mut run).await;
    assert_eq!(told.exit().code, Some(0));
    assert_eq!(told.lines.len() as u64 + told.dropped, 8_000_000);
    assert!(told.dropped > 0);
}

#[tokio::test]
async fn a_child_that_left_everything_is_gone_after_the_end() {
    let place = Place::new();
    let script = format!("{ESCAPE} until [ -s $D/escaped ]; do sleep 0.01; done; echo out");
    let told = run(place.spec(&script)).await;
    let escaped = place.pid_in("escaped").await;
    assert!(!alive(escaped));
    let exit = told.exit();
    assert_eq!((exit.code, exit.stopped, exit.tail.as_str()), (Some(0), false, "out"));
}

#[tokio::test]
async fn stop_ends_a_tree_that_ignores_term_after_the_grace() {
    let place = Place::new();
    let script = format!("trap '' TERM; {ESCAPE} echo $$ > $D/main; while :; do sleep 1; done");
    let mut run = start(place.spec(&script)).await;
    let (main, escaped) = (place.pid_in("main").await, place.pid_in("escaped").await);
    assert!(has_open(main, &place.lock()) && !has_open(escaped, &place.lock()));
    let asked = Instant::now();
    run.stop();
    run.stop();
    let told = to_the_end(&mut run).await;
    assert!(asked.elapsed() >= Duration::from_millis(300), "the grace was given");
    assert!(!alive(main) && !alive(escaped));
    assert_eq!((told.exit().signal, told.exit().stopped), (Some(9), true));
}

#[tokio::test]
async fn stop_lets_a_program_end_by_itself() {
    let place = Place::new();
    let mut spec = place.spec("trap 'echo bye; exit 3' TERM; echo $$ > $D/main; while :; do sleep 0.05; done");
    spec.grace_ms = 20_000;
    let mut run = start(spec).await;
    place.pid_in("main").await;
    run.stop();
    let told = to_the_end(&mut run).await;
    assert_eq!(told.lines, ["bye"]);
    assert_eq!((told.exit().code, told.exit().stopped), (Some(3), true));
}

#[tokio::test]
async fn a_process_that_forks_in_a_loop_is_ended() {
    let place = Place::new();
    let script =
        "trap '' TERM; f() { setsid sh -c 'sleep 0.02' & sleep 0.005; }; echo $$ > $D/main; while :; do f; done";
    let mut run = start(place.spec(script)).await;
    place.pid_in("main").await;
    run.stop();
    assert!(to_the_end(&mut run).await.exit().stopped);
    assert_eq!(place.clear().await.ended, 0);
}

#[tokio::test]
async fn a_daemon_that_goes_away_ends_everything_and_the_end_is_kept() {
    let place = Place::new();
    let script = format!("trap '' TERM; {ESCAPE} echo $$ > $D/main; while :; do sleep 1; done");
    let run = start(place.spec(&script)).await;
    let (main, escaped) = (place.pid_in("main").await, place.pid_in("escaped").await);
    let launcher = run.launcher_pid();
    drop(run);
    until("all have gone", || ![main, escaped, launcher].into_iter().any(alive)).await;
    assert!(place.trace().exit.unwrap().stopped);
    assert_eq!(place.clear().await.ended, 0);
}

#[tokio::test]
async fn the_second_run_on_a_lock_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let mut first = start(place.spec("echo $$ > $D/main; while :; do sleep 0.05; done")).await;
    place.pid_in("main").await;
    let mut spec = place.spec("touch $D/ran-twice");
    spec.dir = place.file("second");
    fs::create_dir(&spec.dir).unwrap();
    let told = run(spec.clone()).await;
    assert!(matches!(told.ended, Ended::Refused { why: Refusal::LockBusy, .. }));
    assert_eq!(fs::read_dir(&spec.dir).unwrap().count(), 0);
    first.stop();
    to_the_end(&mut first).await;
    // The end is told only when the lock is free.
    assert_eq!(run(spec).await.exit().code, Some(0));
}

#[tokio::test]
async fn the_lock_is_free_when_the_end_is_told() {
    let place = Place::new();
    for n in 0..20 {
        let mut spec = place.spec("exit 0");
        spec.dir = place.file(&format!("run-{n}"));
        fs::create_dir(&spec.dir).unwrap();
        assert_eq!(run(spec).await.exit().code, Some(0));
    }
}

#[tokio::test]
async fn a_directory_is_good_for_one_run() {
    let place = Place::new();
    run(place.spec("echo once >> $D/times")).await;
    let before = place.trace();
    let told = run(place.spec("echo twice >> $D/times")).await;
    assert!(matches!(told.ended, Ended::Refused { why: Refusal::Other, .. }));
    assert_eq!(place.trace(), before);
    assert_eq!(fs::read_to_string(place.file("times")).unwrap(), "once\n");
}

#[tokio::test]
async fn a_run_dropped_at_once_either_ran_to_its_record_or_left_no_trace() {
    for n in 0..40 {
        let place = Place::new();
        let run = start(place.spec("touch $D/ran; sleep 100")).await;
        let launcher = run.launcher_pid();
        // Over all the launcher's steps, from before the spec arrived to a running program.
        tokio::time::sleep(Duration::from_micros(n * 250)).await;
        drop(run);
        until("the launcher has gone", || !alive(launcher)).await;
        let trace = place.trace();
        assert_eq!(trace.started, trace.exit.is_some());
        assert!(trace.started || !place.file("ran").exists());
    }
}

#[tokio::test]
async fn a_missing_launcher_is_the_starts_error() {
    let place = Place::new();
    let launcher = std::path::Path::new("/no/such/launcher");
    let error = shrooms_runner::start(launcher, &[], place.spec("")).await.unwrap_err();
    assert!(matches!(error, StartError::Launcher { .. }));
}

#[tokio::test]
async fn a_launcher_that_says_nothing_is_a_lost_run() {
    let place = Place::new();
    let launcher = std::path::Path::new("/bin/true");
    let mut run = shrooms_runner::start(launcher, &[], place.spec("")).await.unwrap();
    assert_eq!(run.next().await, Some(RunEvent::Ended(Ended::Lost)));
    assert_eq!(run.next().await, None);
    assert!(!place.trace().started);
}
