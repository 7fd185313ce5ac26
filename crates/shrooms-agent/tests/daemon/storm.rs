//! Two hundred random kill -9 of daemons and launchers under load. Afterwards every acknowledged
//! ask has its outcome, nothing ran twice, and every result was told.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use shrooms_core::row::DeliveryState;

use crate::crashes::{insist, revive, two_machines};
use crate::lab::{Lab, Machine, kill, poll};

const LAPTOP: usize = 0;
const HOME: usize = 1;
const WORKERS: [&str; 3] = ["w1", "w2", "w3"];
const ASKERS: [&str; 2] = ["a1", "a2"];
/// What a kill must have hit at least once, or the storm has tested too little.
const STATES: [&str; 7] = ["queued", "attempting", "working", "untold", "ask sent", "ask open", "launcher"];

/// A small generator, so that a failing storm can be blown again.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

#[test]
fn two_hundred_kills_under_load_lose_nothing_and_run_nothing_twice() {
    let quick = std::env::var_os("SHROOMS_TEST_QUICK").is_some();
    let kills = if quick { 25 } else { 200 };
    let seed = std::env::var("SHROOMS_TEST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0x5eed_0001);
    println!("storm: seed {seed} (set SHROOMS_TEST_SEED to blow it again), {kills} kills");
    let mut dice = Dice(seed);
    let (mut lab, sessions) = two_machines(&WORKERS, &ASKERS);
    // More than the loop guard lets agents do in an hour.
    for machine in &lab.machines {
        std::fs::create_dir(&machine.state).unwrap();
        std::fs::write(machine.state.join("config.toml"), "[limits]\nagent_tasks_per_hour = 100000\n").unwrap();
    }
    lab[LAPTOP].start();
    lab[HOME].start();
    sessions.add(&mut lab);

    let mut hits: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut jobs = 0;
    let begun = Instant::now();
    for n in 0..kills {
        // Keep a few jobs ahead, so that there is always something to hit.
        for _ in 0..1 + dice.roll(3) {
            jobs += 1;
            let asker = ASKERS[dice.roll(2) as usize];
            let worker = WORKERS[dice.roll(3) as usize];
            let job = json!({"to": format!("laptop/{asker}"), "id": format!("job-{jobs}"), "text": format!("{worker} m{jobs}")});
            insist(&mut lab[LAPTOP], "/v1/asks", &job);
        }
        let until = Instant::now() + Duration::from_millis(dice.roll(180));
        poll("the moment of the next kill", || Instant::now() >= until);
        match dice.roll(5) {
            0 | 1 => strike(&mut lab[HOME], &mut hits),
            2 => strike(&mut lab[LAPTOP], &mut hits),
            _ => {
                if let Some(pid) = launcher_of(&lab[HOME], &mut dice) {
                    kill(pid);
                    *hits.entry("launcher").or_default() += 1;
                } else if n % 2 == 0 {
                    strike(&mut lab[HOME], &mut hits);
                }
            }
        }
    }
    println!("storm: {kills} kills and {jobs} jobs in {:.1} s; hit: {hits:?}", begun.elapsed().as_secs_f64());
    if !quick {
        for state in STATES {
            assert!(hits.contains_key(state), "no kill hit the state '{state}': {hits:?}");
        }
    }
    settle(&mut lab);
    judge(&lab, jobs);
}

/// kill -9 of a daemon; counts what it was in the middle of; starts it again.
fn strike(machine: &mut Machine, hits: &mut BTreeMap<&'static str, usize>) {
    machine.kill();
    let open = shrooms_store::Store::open(&machine.state).unwrap().open_rows().unwrap();
    let mut hit = |state: &'static str, was: bool| {
        if was {
            *hits.entry(state).or_default() += 1;
        }
    };
    hit("queued", open.tasks.iter().any(|t| !t.dispatched));
    hit("attempting", open.deliveries.iter().any(|d| d.state == DeliveryState::Attempting));
    hit("working", open.deliveries.iter().any(|d| d.state == DeliveryState::Taken));
    hit("untold", !open.outbox.is_empty());
    hit("ask sent", open.asks.iter().any(|a| a.task_id.is_none()));
    hit("ask open", open.asks.iter().any(|a| a.task_id.is_some() && a.open()));
    revive(machine);
}

/// A launcher that runs below the daemon now.
fn launcher_of(machine: &Machine, dice: &mut Dice) -> Option<i32> {
    let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", machine.pid())).ok()?;
    // A daemon's threads start its children, each listed below its own.
    let mut pids: Vec<i32> = children.split_whitespace().filter_map(|p| p.parse().ok()).collect();
    for thread in std::fs::read_dir(format!("/proc/{}/task", machine.pid())).ok()?.flatten() {
        let more = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        pids.extend(more.split_whitespace().filter_map(|p| p.parse::<i32>().ok()));
    }
    let is_launcher =
        |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.contains("__run"));
    pids.retain(is_launcher);
    pids.sort_unstable();
    pids.dedup();
    (!pids.is_empty()).then(|| pids[dice.roll(pids.len() as u64) as usize])
}

/// Lets everything come to its end.
fn settle(lab: &mut Lab) {
    for machine in 0..2 {
        revive(&mut lab[machine]);
    }
    let begun = Instant::now();
    loop {
        let open = |m: usize| {
            let listed = lab[m].get("/v1/sessions").json();
            listed["sessions"].as_array().unwrap().iter().map(|s| s["tasks_open"].as_u64().unwrap()).sum::<u64>()
        };
        let asks = asks(lab);
        let all_told = asks.iter().all(|a| a["ended"].is_string() && a["told"] == true);
        if open(LAPTOP) == 0 && open(HOME) == 0 && all_told {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "it does not come to rest: {asks:?}");
        let until = Instant::now() + Duration::from_millis(100);
        poll("a little later", || Instant::now() >= until);
    }
}

/// The asks of the asking sessions; the owner's own, which started them, are left out.
fn asks(lab: &Lab) -> Vec<Value> {
    let answer = lab[LAPTOP].get("/v1/asks?all=1&limit=10000").json();
    let asks = answer["asks"].as_array().unwrap().clone();
    asks.into_iter().filter(|a| a["to"].as_str().is_some_and(|t| t.starts_with("homeserver/"))).collect()
}

fn judge(lab: &Lab, jobs: usize) {
    let asks = asks(lab);
    let (runs, told, acked) = (lab.lines("runs"), lab.lines("told"), lab.lines("acked"));
    for mid in &acked {
        assert!(asks.iter().any(|a| a["message_id"] == mid.as_str()), "the acknowledged ask {mid} is gone");
    }
    let mut ended: BTreeMap<String, usize> = BTreeMap::new();
    for ask in &asks {
        let reference = ask["task"].as_str().unwrap();
        let id = reference.trim_start_matches("homeserver/");
        let state = ask["state"].as_str().unwrap().to_string();
        let starts = runs.iter().filter(|l| **l == format!("start {id}")).count();
        let ends = runs.iter().filter(|l| **l == format!("end {id}")).count();
        let case = format!("{id}: {state}, {starts} starts, {ends} ends, {}", ask["result"]);
        assert!(starts <= 1, "ran twice: {case}");
        match state.as_str() {
            "completed" => {
                assert_eq!((starts, ends), (1, 1), "{case}");
                assert_eq!(ask["result"], format!("result of {id}"), "{case}");
            }
            "failed" => assert!(ask["result"].as_str().unwrap().starts_with("interrupted"), "{case}"),
            _ => panic!("{case}"),
        }
        let of_it: Vec<&String> = told.iter().filter(|l| l.starts_with(&format!("{reference} "))).collect();
        let first = of_it.iter().filter(|l| l.ends_with(" 0")).count();
        // The asker's own run may have been cut off before it wrote its line; then it was told
        // again, marked as perhaps a repeat.
        assert!(!of_it.is_empty() && first <= 1, "{case}: told {of_it:?}");
        *ended.entry(state).or_default() += 1;
    }
    println!("storm: {jobs} jobs, {} asks, {} acknowledged; {ended:?}", asks.len(), acked.len());
    assert!(ended.contains_key("completed"), "nothing at all came through");
}
