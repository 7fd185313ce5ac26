//! What a send costs an engine that keeps much, in time of the processor; what it touches is counted in
//! the store's tests. The two engines take turns, so that whatever else the machine does falls on both.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod support;

use std::path::Path;

use rustix::time::{ClockId, clock_gettime};
use shrooms_core::desk::Request;
use shrooms_core::settings::Settings;
use shrooms_engine::Engine;
use support::{Clocks, Past, send, sent, start};

const FEW: usize = 10;
const MANY: usize = 10_000;
/// Each engine gets so many sends in a row, in a session of their own …
const SENDS: usize = 25;
/// … so often; both together take some ten seconds, forty at most on a busy machine.
const ROUNDS: usize = 80;
/// What the many may cost more.
const MORE: f64 = 1.2;

/// So many ended tasks, and the sessions that the sends go to; they are stopped, so that nothing runs.
fn past(dir: &Path, kept: usize) {
    let mut past = Past::new(dir);
    past.command("kept", false);
    for n in 0..kept {
        past.request(Request::Send(send("kept", &format!("m{n}"))));
        past.exit("done");
        if n % 500 == 499 {
            past.commit();
        }
    }
    for n in 0..=ROUNDS {
        past.command(&format!("s{n}"), true);
    }
    past.commit();
}

/// Milliseconds that this process has used: all together, and as user.
fn used() -> (f64, f64) {
    let all = clock_gettime(ClockId::ProcessCPUTime);
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let user: f64 = stat.rsplit(')').next().unwrap().split_whitespace().nth(11).unwrap().parse().unwrap();
    (all.tv_sec as f64 * 1e3 + all.tv_nsec as f64 / 1e6, user * 10.0)
}

/// What one round of sends used.
async fn round(engine: &Engine, n: usize) -> (f64, f64) {
    let before = used();
    for m in 0..SENDS {
        sent(engine, &format!("s{n}"), &format!("m{m}")).await.unwrap();
    }
    let after = used();
    (after.0 - before.0, after.1 - before.1)
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_with_ten_thousand_kept_tasks_costs_what_it_costs_with_ten() {
    // In memory, where there is such a place: what a disk does is the same for both, and would hide the rest.
    let place = Path::new("/dev/shm");
    let made = |_| if place.is_dir() { tempfile::tempdir_in(place) } else { tempfile::tempdir() };
    let dirs = [FEW, MANY].map(|kept| (made(kept).unwrap(), kept));
    let mut engines = Vec::new();
    for (dir, kept) in &dirs {
        past(dir.path(), *kept);
        engines.push(start(dir.path(), Clocks::new(), Settings::default()).await);
    }
    let (mut all, mut user) = ([Vec::new(), Vec::new()], [0.0, 0.0]);
    for n in 0..=ROUNDS {
        // Who is first changes, so that neither always comes after the other.
        for which in if n % 2 == 0 { [0, 1] } else { [1, 0] } {
            let (both, as_user) = round(&engines[which], n).await;
            // The first round is to warm up.
            if n > 0 {
                all[which].push(both);
                user[which] += as_user;
            }
        }
    }
    for engine in engines {
        engine.drain(std::time::Duration::ZERO).await;
    }
    let ratio = median(all[0].iter().zip(&all[1]).map(|(few, many)| many / few).collect());
    let [few, many] = all.map(|all| median(all) / SENDS as f64);
    println!(
        "a send costs {many:.3} ms of processor with {MANY} kept tasks and {few:.3} ms with {FEW}: {ratio:.3} x (median of \
         {ROUNDS} pairs of rounds); as user {:.0} ms against {:.0} ms in all: {:.3} x",
        user[1],
        user[0],
        user[1] / user[0]
    );
    assert!(ratio <= MORE, "{ratio}");
}
