//! Links that are cut while work is under way, and heal: frames vanish, and no error tells anyone.
//! Each outcome arrives once, and what is said meanwhile is what is known.

use std::time::Instant;

use crate::lab::{poll, state, text};
use crate::world::{M1, M2, M3, World};

/// Told once and run once, also when everything that was on its way has come.
fn arrives(world: &World, tasks: &[(&str, &str)]) {
    let begun = Instant::now();
    poll("all are told", || {
        tasks.iter().all(|(m, task)| world.told().iter().any(|t| t.starts_with(&format!("{m}/{task} "))))
    });
    println!("told {:.1} s after it was healed", begun.elapsed().as_secs_f64());
    let (machine, task) = tasks[0];
    let last = world.send(M1, &format!("{machine}/{}", task.split(':').next().unwrap()), "last");
    assert!(last.code == 0, "{last:?}");
    let mut told = world.told();
    told.sort();
    let mut expected: Vec<String> = tasks.iter().map(|(m, task)| format!("{m}/{task} completed 0")).collect();
    expected.sort();
    assert_eq!(told, expected);
    for (_, task) in tasks {
        assert_eq!(world.runs(task), 1, "{task}");
    }
}

#[test]
fn a_result_of_a_machine_that_was_cut_off_arrives_once_when_it_is_not() {
    let Some(world) = World::of("a_result_of_a_machine_that_was_cut_off_arrives_once_when_it_is_not") else { return };
    world.ask("job", &[("m2/api", "slow")]);
    poll("it works, and m1 knows its task", || {
        world.runs("api:slow") == 1 && world.record("slow")["task"] == "m2/api:slow"
    });
    world.net.run(&["cut", "m2"]);
    world.go();
    assert_eq!(state(&world.lab[M2].outcome("api:slow")), "completed");
    // m1 says what m2 said last, when it took the task, and that it is no more than that.
    let record = world.record("slow");
    assert_eq!((&record["state"], &record["told"]), (&"submitted".into(), &false.into()), "{record}");
    let seen = world.seen("m2/api:slow");
    assert_eq!(state(&seen["task"]), "submitted", "{seen}");
    assert_eq!(text(&seen["task"]), "this is what m2 last said", "{seen}");
    let listed = world.lab[M1].cli(&["a2a", "list"]);
    assert!(listed.err.contains("m2 is unreachable") && !listed.err.contains("m3"), "{listed:?}");
    assert!(listed.out.contains("m3/db") && !listed.out.contains("m2/api"), "{listed:?}");
    // m2 alone is whole, and says the same of the others.
    let alone = world.lab[M2].cli(&["a2a", "list"]);
    assert!(alone.err.contains("m1 is unreachable") && alone.err.contains("m3 is unreachable"), "{alone:?}");
    assert!(world.told().is_empty());
    world.net.run(&["heal", "m2"]);
    arrives(&world, &[("m2", "api:slow")]);
}

#[test]
fn two_machines_that_are_cut_off_from_each_other_alone_are_so_for_nobody_else() {
    let Some(world) = World::of("two_machines_that_are_cut_off_from_each_other_alone_are_so_for_nobody_else") else {
        return;
    };
    world.ask("job", &[("m3/db", "slow"), ("m2/api", "slow")]);
    poll("both work", || world.runs("db:slow") == 1 && world.runs("api:slow") == 1);
    world.net.run(&["cut", "m1", "m3"]);
    // Asked meanwhile: it waits here, and says so.
    world.ask("second", &[("m3/db", "later")]);
    world.go();
    assert_eq!(state(&world.lab[M3].outcome("db:slow")), "completed");
    poll("m2's result is told, whatever is with m3", || world.told() == ["m2/api:slow completed 0"]);
    let between = world.send(M2, "m3/db", "between");
    assert!(between.code == 0 && between.out.contains("result of db:between"), "{between:?}");
    let listed = world.lab[M1].cli(&["a2a", "list"]);
    assert!(listed.err.contains("m3 is unreachable") && !listed.err.contains("m2"), "{listed:?}");
    assert!(listed.out.contains("m2/api"), "{listed:?}");
    poll("it is known that it waits", || world.record("later")["state"] == "unsent");
    assert_eq!(world.lab[M3].get("/v1/tasks/db%3Alater").status, 404, "and it has not arrived");
    world.net.run(&["heal", "m1", "m3"]);
    arrives(&world, &[("m2", "api:slow"), ("m3", "db:slow"), ("m3", "db:later")]);
}
