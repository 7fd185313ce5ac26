//! What a killed launcher leaves is found and ended, and nothing else is touched.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "bystanders are plain processes of the test")]

mod support;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use shrooms_runner::{Ended, Leftover, MARK, Refusal, clear_leftovers};
use support::{Place, alive, has_open, kill, run, start, to_the_end, until};

/// A program with a child in its own session that closed the lock but has the mark, and one that
/// has neither mark nor lock nor session, but its parent.
const TREE: &str = "trap '' TERM; \
    setsid sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo $$ > $D/marked; while :; do sleep 1; done' & \
    env -i D=\"$D\" PATH=\"$PATH\" setsid sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo $$ > $D/child; while :; do sleep 1; done' & \
    env -i D=\"$D\" PATH=\"$PATH\" sh -c 'echo $$ > $D/holder; while :; do sleep 1; done' & \
    echo $$ > $D/main; while :; do sleep 1; done";

/// Killed and reaped with the test.
struct Bystander(Child);

impl Bystander {
    fn new(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn a_killed_launcher_is_a_lost_run_and_the_lock_is_free_only_after_clearing() {
    let place = Place::new();
    let mut first = start(place.spec(TREE)).await;
    let mut all = vec![];
    for name in ["main", "marked", "child", "holder"] {
        all.push(place.pid_in(name).await);
    }
    assert!(!has_open(all[1], &place.lock()) && !has_open(all[2], &place.lock()));
    assert!(has_open(all[3], &place.lock()));
    kill(first.launcher_pid());
    let told = to_the_end(&mut first).await;
    assert_eq!(told.ended, Ended::Lost);
    assert!(all.iter().all(|pid| alive(*pid)), "they outlive a killed launcher");

    let mut next = place.spec("true");
    next.dir = place.file("next");
    std::fs::create_dir(&next.dir).unwrap();
    let refused = run(next.clone()).await;
    assert!(matches!(refused.ended, Ended::Refused { why: Refusal::LockBusy, .. }));

    assert!(place.clear().await.ended >= 4);
    assert!(!all.iter().any(|pid| alive(*pid)));
    let trace = place.trace();
    assert_eq!((trace.started, trace.exit), (true, None));
    assert_eq!(run(next).await.exit().code, Some(0));
    // Reaped, too: no zombie of ours is left.
    for pid in all {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}

#[tokio::test]
async fn a_holder_without_mark_or_parent_is_found_by_the_lock() {
    let place = Place::new();
    let script = "env -i D=\"$D\" PATH=\"$PATH\" setsid sh -c 'echo $$ > $D/holder; while :; do sleep 1; done' & \
        until [ -s $D/holder ]; do sleep 0.01; done; kill -KILL $PPID; exit 0";
    let mut run = start(place.spec(script)).await;
    assert_eq!(to_the_end(&mut run).await.ended, Ended::Lost);
    let holder = place.pid_in("holder").await;
    assert!(alive(holder));
    place.clear().await;
    assert!(!alive(holder));
}

#[tokio::test]
async fn a_marked_one_without_lock_or_parent_is_found_by_the_mark() {
    let place = Place::new();
    let script = "setsid sh -c 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo $$ > $D/marked; while :; do sleep 1; done' & \
        until [ -s $D/marked ]; do sleep 0.01; done; kill -KILL $PPID; exit 0";
    let mut run = start(place.spec(script)).await;
    assert_eq!(to_the_end(&mut run).await.ended, Ended::Lost);
    let marked = place.pid_in("marked").await;
    assert!(alive(marked));
    place.clear().await;
    assert!(!alive(marked));
}

#[tokio::test]
async fn other_runs_and_who_merely_reads_the_lock_file_are_not_touched() {
    let place = Place::new();
    let mut run = start(place.spec(TREE)).await;
    place.pid_in("main").await;
    let other = Place::new();
    let mut other_run = start(other.spec("echo $$ > $D/main; while :; do sleep 0.05; done")).await;
    let other_main = other.pid_in("main").await;
    let mut marked = Bystander::new(Command::new("sleep").arg("1000").env(MARK, format!("other-{}", place.mark)));
    let mut reader =
        Bystander::new(Command::new("sh").args(["-c", "exec 5< \"$0\"; exec sleep 1000"]).arg(place.lock()));
    let mut ended = Bystander::new(&mut Command::new("true"));
    kill(run.launcher_pid());
    to_the_end(&mut run).await;
    place.clear().await;
    assert!(marked.runs() && reader.runs() && alive(other_main));
    // Not reaped by others: the status is still there for who started it.
    assert!(ended.0.wait().unwrap().success());
    other_run.stop();
    assert!(to_the_end(&mut other_run).await.exit().stopped);
}

#[tokio::test]
async fn a_launcher_that_lost_its_daemon_is_given_time_to_write_the_record() {
    let place = Place::new();
    let run = start(place.spec("trap 'sleep 0.1; exit 5' TERM; echo $$ > $D/main; while :; do sleep 0.01; done")).await;
    place.pid_in("main").await;
    drop(run);
    assert_eq!(place.clear().await.ended, 0);
    let exit = place.trace().exit.unwrap();
    assert_eq!((exit.code, exit.stopped), (Some(5), true));
}

#[tokio::test]
async fn a_launcher_that_hangs_is_killed_with_its_run() {
    let place = Place::new();
    let run = start(place.spec("echo $$ > $D/main; while :; do sleep 1; done")).await;
    let main = place.pid_in("main").await;
    let launcher = run.launcher_pid();
    rustix::process::kill_process(rustix::process::Pid::from_raw(launcher).unwrap(), rustix::process::Signal::STOP)
        .unwrap();
    drop(run);
    let cleared = clear_leftovers(&place.lock(), &place.mark, Duration::from_secs(4), false).await.unwrap();
    assert!(cleared.ended >= 2);
    assert!(!alive(main) && !alive(launcher));
    until("it was reaped by its own task", || !std::path::Path::new(&format!("/proc/{launcher}")).exists()).await;
}

#[tokio::test]
async fn nothing_left_is_clear_also_without_a_lock_file() {
    let place = Place::new();
    assert_eq!(place.clear().await.ended, 0);
    assert!(!place.lock().exists());
}

#[tokio::test]
async fn a_lock_that_this_process_holds_itself_is_said_to_be_held() {
    let place = Place::new();
    let file = std::fs::File::create(place.lock()).unwrap();
    file.lock().unwrap();
    let cleared = clear_leftovers(&place.lock(), &place.mark, Duration::from_millis(100), false).await;
    assert!(matches!(cleared, Err(Leftover::Held { .. })));
    drop(file);
    place.clear().await;
}

#[tokio::test]
async fn an_empty_prefix_is_refused() {
    let place = Place::new();
    let cleared = clear_leftovers(&place.lock(), "", Duration::ZERO, false).await;
    assert!(matches!(cleared, Err(Leftover::NoPrefix)));
}
