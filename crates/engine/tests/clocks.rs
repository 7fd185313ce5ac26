//! Clocks that jump, through the engine, its store and its desk's thread: neither a clock that is set
//! nor a suspend makes anything due, and what is due goes on from where it was.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod support;

use std::path::Path;

use shrooms_core::desk::{Hand, Request};
use shrooms_core::row::Task;
use shrooms_core::settings::Settings;
use shrooms_core::{Principal, view};
use shrooms_engine::{Engine, EngineError};
use shrooms_store::Store;
use support::{Clocks, Past, ask, mesh, send, sent, start, until_true};

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Tries that a machine which is away gets within a minute: after 1, 2, 4, 8, 16 and 30 s, and the first.
const TRIES_A_MINUTE: u32 = 7;

/// All that a jump of the clocks might change.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    /// Tasks with their states and their places in the queue.
    tasks: Vec<(String, String, i64)>,
    events: Vec<(i64, String)>,
    nudges: u32,
    /// Tries to reach the machine that is away: of the ask, and of the report.
    tries: (u32, u32),
}

async fn seen(engine: &Engine, dir: &Path) -> Seen {
    let read = engine.read(|reader| {
        let mut tasks = Vec::new();
        for id in (1..=6).map(|n| format!("q:m{n}")) {
            if let Some(task) = reader.task(&id)? {
                tasks.push((id, view::state(&task).word().to_string(), reader.texts(&task, false, false)?.place));
            }
        }
        let events = reader.events(0, 10_000)?.events.into_iter().map(|e| (e.seq, e.state)).collect();
        Ok((tasks, events, reader.task("c:t")?.map_or(0, |t| t.nudges)))
    });
    let (tasks, events, nudges) = read.await.unwrap();
    Seen { tasks, events, nudges, tries: tries(dir) }
}

/// Of the ask and of the report; read beside the engine's writer, which goes on.
fn tries(dir: &Path) -> (u32, u32) {
    let rows = Store::open(dir).unwrap().open_rows().unwrap();
    (rows.asks.first().map_or(0, |ask| ask.attempt), rows.outbox.first().map_or(0, |row| row.tries))
}

/// The engine has something to decide, and so sees what time it is.
async fn poke(engine: &Engine) {
    let nothing = Request::Queue { by: Principal::Owner, task: "none".into(), hand: Hand::Park };
    assert!(matches!(engine.request(nothing).await, Err(EngineError::Refused(_))));
}

/// Time passes, as it does: both clocks in small steps.
async fn live(engine: &Engine, clocks: &Clocks, step: i64, times: i64) {
    for _ in 0..times {
        clocks.go(step, step);
        poke(engine).await;
    }
}

/// One jump, while five tasks wait, a worker is quiet, and an ask and a report wait for a machine that
/// is away.
async fn jump(wall: i64, monotonic: i64) {
    let made = tempfile::tempdir().unwrap();
    let dir = made.path();
    let mut past = Past::new(dir);
    past.command("q", true);
    for n in 1..=5 {
        past.request(Request::Send(send("q", &format!("m{n}"))));
    }
    past.quiet("c", "t");
    past.command("k", false);
    let id = mesh(dir).await.find("away").unwrap().id.0.clone();
    let by = Principal::Device { id, label: "away".into(), right: Default::default(), meshes: Vec::new() };
    past.request(Request::Send(shrooms_core::desk::SendReq { by, ask: Some("ask-1".into()), ..send("k", "told") }));
    past.exit("done");
    past.commit();
    drop(past);

    let clocks = Clocks::new();
    let mut settings = Settings::default();
    settings.watchdog.pass_secs = 1;
    let mut engine = start(dir, clocks.clone(), settings.clone()).await;
    engine.request(Request::Ask(ask(engine.mesh(), "x"))).await.unwrap();
    // Both were tried once, and wait for the second time.
    until_settled(&engine, dir).await;
    let before = seen(&engine, dir).await;
    assert_eq!(before.tasks.iter().map(|t| t.2).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);

    clocks.go(wall, monotonic);
    clocks.until_read(4).await;
    for _ in 0..20 {
        poke(&engine).await;
    }
    assert_eq!(seen(&engine, dir).await, before, "nothing came of it");

    // What comes now comes behind.
    sent(&engine, "q", "m6").await.unwrap();
    let after = seen(&engine, dir).await;
    assert_eq!(after.tasks.last().unwrap(), &("q:m6".to_string(), "submitted".to_string(), 6));
    assert_eq!(after.tasks[..5], before.tasks[..]);
    let (last, state) = after.events.last().unwrap();
    assert_eq!((*last, state.as_str()), (before.events.last().unwrap().0 + 1, "submitted"));
    assert!(after.events.is_sorted() && after.events.starts_with(&before.events), "{:?}", after.events);

    // A minute goes by as minutes do: tries go on, and are few.
    live(&engine, &clocks, SECOND, 60).await;
    let tried = || tries(dir).0 > after.tries.0 && tries(dir).1 > after.tries.1;
    until_true("both were tried again", tried).await;
    until_settled(&engine, dir).await;
    let later = seen(&engine, dir).await;
    for (earlier, later) in [(after.tries.0, later.tries.0), (after.tries.1, later.tries.1)] {
        assert!(later - earlier <= TRIES_A_MINUTE, "{earlier} tries, and a minute later {later}");
    }
    assert_eq!((&later.tasks, later.nudges), (&after.tasks, 0));

    // The same after a restart: each waits on, and is tried once more at most, because the boot is new.
    engine.drain(std::time::Duration::ZERO).await;
    engine = start(dir, clocks.clone(), settings).await;
    clocks.until_read(4).await;
    until_settled(&engine, dir).await;
    let again = seen(&engine, dir).await;
    assert_eq!((&again.tasks, &again.events, again.nudges), (&later.tasks, &later.events, 0));
    assert!(again.tries.0 <= later.tries.0 + 1 && again.tries.1 <= later.tries.1 + 1, "{again:?} {later:?}");

    // Five minutes of quiet are one reminder.
    live(&engine, &clocks, 10 * SECOND, 23).await;
    assert_eq!(seen(&engine, dir).await.nudges, 0, "not yet");
    // The end of a daemon may cost it the last half minute of what it served.
    live(&engine, &clocks, 10 * SECOND, 5).await;
    assert_eq!(seen(&engine, dir).await.nudges, 1);
    engine.drain(std::time::Duration::ZERO).await;
}

/// Waits until no try is under way.
async fn until_settled(engine: &Engine, dir: &Path) {
    let rows = || Store::open(dir).unwrap().open_rows().unwrap();
    until_true("a try has come out", || rows().asks.iter().all(|a| a.attempt > 0 && !a.trying)).await;
    until_true("the report was tried", || rows().outbox.iter().all(|row| row.tries > 0)).await;
    poke(engine).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_an_hour_changes_no_order_and_stops_nothing() {
    jump(-HOUR, 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_forward_a_day_makes_nothing_due() {
    jump(DAY, 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_suspend_of_a_weekend_makes_nothing_due() {
    jump(5 * DAY / 2, 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_four_served_hours_are_the_time_that_a_task_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut past = Past::new(dir.path());
    past.command("q", true);
    past.request(Request::Send(send("q", "m1")));
    past.request(Request::Send(send("q", "m2")));
    past.commit();
    drop(past);
    let clocks = Clocks::new();
    let engine = start(dir.path(), clocks.clone(), Settings::default()).await;
    live(&engine, &clocks, MINUTE, 60).await;
    sent(&engine, "q", "m3").await.unwrap();
    live(&engine, &clocks, MINUTE, 23 * 60 - 1).await;
    // Jumps in between count for nothing.
    clocks.go(DAY, 0);
    clocks.go(-2 * DAY, SECOND);
    poke(&engine).await;
    let states = async || seen(&engine, dir.path()).await.tasks.into_iter().map(|t| t.1).collect::<Vec<_>>();
    assert_eq!(states().await, ["submitted", "submitted", "submitted"], "a minute is left");
    live(&engine, &clocks, MINUTE, 1).await;
    assert_eq!(states().await, ["canceled", "canceled", "submitted"]);
    let task: Option<Task> = engine.read(|reader| reader.task("q:m1")).await.unwrap();
    assert!(task.is_some_and(|t| t.expired));
    live(&engine, &clocks, MINUTE, 60).await;
    assert_eq!(states().await, ["canceled", "canceled", "canceled"]);
    let ended = seen(&engine, dir.path()).await.events.into_iter().filter(|(_, state)| state == "canceled").count();
    assert_eq!(ended, 3, "each once");
    engine.drain(std::time::Duration::ZERO).await;
}
