//! A slow link, as over a mobile phone: everything works, and takes as long as its round trips do.

use std::time::{Duration, Instant};

use crate::world::{M1, M3, World};

/// Of one pair of links, 50 ms each way: 100 ms a round trip.
const EACH_WAY_MS: &str = "50";
/// Measured so often each; the middle one counts.
const TIMES: usize = 3;
/// A connection, a request and its answer are two round trips; an ask and its outcome are a few of
/// those, one after the other. More would be a chatty protocol.
const LONGEST: Duration = Duration::from_millis(2_500);

fn middle(mut once: impl FnMut(usize)) -> Duration {
    let mut took: Vec<Duration> = (0..TIMES)
        .map(|n| {
            let begun = Instant::now();
            once(n);
            begun.elapsed()
        })
        .collect();
    took.sort();
    took[TIMES / 2]
}

fn list(world: &World) -> Duration {
    middle(|_| {
        let listed = world.lab[M1].cli(&["a2a", "list"]);
        assert!(listed.out.contains("m2/api") && listed.out.contains("m3/db") && listed.err.is_empty(), "{listed:?}");
    })
}

fn ask(world: &World, to: &str, series: &str) -> Duration {
    middle(|n| {
        let asked = world.send(M1, to, &format!("{series}-{n}"));
        assert!(asked.code == 0 && asked.out.contains("result of"), "{asked:?}");
    })
}

#[test]
fn over_a_slow_link_asks_and_lists_work_and_take_a_few_round_trips() {
    let Some(world) = World::of("over_a_slow_link_asks_and_lists_work_and_take_a_few_round_trips") else { return };
    let (list_before, ask_before) = (list(&world), ask(&world, "m2/api", "before"));
    world.net.run(&["latency", "m2", EACH_WAY_MS]);
    let (list_after, ask_after) = (list(&world), ask(&world, "m2/api", "after"));
    let beside = ask(&world, "m3/db", "beside");
    for (what, before, after) in [("a2a list", list_before, list_after), ("an ask", ask_before, ask_after)] {
        println!(
            "{what}: {:.0} ms, with 100 ms of round trip {:.0} ms, {:.1} times",
            before.as_secs_f64() * 1e3,
            after.as_secs_f64() * 1e3,
            after.as_secs_f64() / before.as_secs_f64()
        );
        assert!(after < LONGEST, "{what}: {after:?}");
        assert!(after > Duration::from_millis(200), "{what}: the link is slow at all: {after:?}");
    }
    println!("an ask of a machine beside the slow link: {:.0} ms", beside.as_secs_f64() * 1e3);
    assert_eq!(world.lab[M3].get("/v1/status").status, 200);
}
