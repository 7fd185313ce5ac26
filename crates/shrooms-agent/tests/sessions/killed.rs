//! The worker's daemon, its launcher or its Claude Code is killed at each moment of a task: the task is
//! read once, its tool runs once unless the model itself says so, its result arrives once.

use crate::cut::{Claude, Daemon, HOME, LAPTOP, Ran, Scene, Slow, for_all};
use crate::lab::poll;
use crate::place::state;

#[test]
fn a_program_that_dies_as_it_starts_is_started_again() {
    let test = "a_program_that_dies_as_it_starts_is_started_again";
    let Some(mut scene) = Scene::new(test, "as it starts, Claude") else { return };
    scene.lab.touch("die-review");
    scene.begin(Slow::Nowhere);
    scene.finish();
    assert!(scene.lab.path("died-review").exists() && scene.lab.starts("review") == 2);
    scene.check(Ran::Once, &[1]);
}

#[test]
fn what_was_written_and_not_read_is_written_again() {
    for_all("what_was_written_and_not_read_is_written_again", "written and not read", |mut scene, victim| {
        let home = &scene.lab[HOME];
        home.say("review", "Good morning.");
        poll("it is up", || !scene.lab.model.requests_of("homeserver/review").is_empty());
        home.until_session("review", "idle");
        scene.freeze("review");
        scene.begin(Slow::Nowhere);
        let written =
            || scene.lab[HOME].session_log("review").iter().any(|line| line.starts_with("said [shrooms task"));
        poll("the task is written", written);
        scene.kill(HOME, victim);
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn what_was_stored_and_not_answered_is_not_written_again() {
    for_all("what_was_stored_and_not_answered_is_not_written_again", "stored and not answered", |mut scene, victim| {
        scene.begin(Slow::Worker);
        scene.until_stored(HOME, "review", &format!("[shrooms task {} from", scene.id()));
        scene.kill(HOME, victim);
        scene.ends(Ran::Never, &[1]);
    });
}

#[test]
fn a_tool_that_was_cut_off_is_not_run_again() {
    for_all("a_tool_that_was_cut_off_is_not_run_again", "in a tool call", |mut scene, victim| {
        scene.begin(Slow::Nowhere);
        scene.let_it_run();
        scene.kill(HOME, victim);
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn two_daemons_that_are_killed_at_once_lose_nothing() {
    let test = "two_daemons_that_are_killed_at_once_lose_nothing";
    let Some(mut scene) = Scene::new(test, "in a tool call, both daemons") else { return };
    scene.begin(Slow::Nowhere);
    scene.let_it_run();
    scene.kill(HOME, Daemon);
    scene.kill(LAPTOP, Daemon);
    scene.ends(Ran::Once, &[1]);
}

#[test]
fn a_tool_that_waited_for_a_person_is_not_run() {
    for_all("a_tool_that_waited_for_a_person_is_not_run", "at the prompt", |mut scene, victim| {
        scene.begin(Slow::Nowhere);
        let prompt = scene.lab[HOME].prompt("review")["id"].clone();
        scene.kill(HOME, victim);
        scene.finish();
        let gone = scene.lab[HOME].get(&format!("/v1/prompts/{prompt}")).json();
        assert_eq!(gone["state"], "withdrawn", "{victim:?}: {gone}");
        scene.check(Ran::Never, &[1]);
    });
}

#[test]
fn a_turn_that_was_cut_off_after_the_last_word_changes_nothing() {
    let test = "a_turn_that_was_cut_off_after_the_last_word_changes_nothing";
    for_all(test, "the task is completed, its turn goes on", |mut scene, victim| {
        scene.begin(Slow::Last);
        scene.let_it_run();
        scene.lab.touch("go");
        poll("it is completed", || state(&scene.lab[HOME].task(scene.id())) == "completed");
        scene.kill(HOME, victim);
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn an_answer_reaches_a_worker_that_was_killed_while_it_waited() {
    let test = "an_answer_reaches_a_worker_that_was_killed_while_it_waited";
    for (point, ran) in [("before_write:2", Ran::Once), ("after_write:2", Ran::Once)] {
        let Some(mut scene) = Scene::new(test, &format!("the answer, {point}")) else { return };
        scene.asks_back = true;
        scene.arm(HOME, point);
        scene.begin(Slow::Nowhere);
        scene.finish();
        assert!(scene.lab.path("crashed").exists(), "{point} was passed");
        scene.check(ran, &[1]);
    }
    let Some(mut scene) = Scene::new(test, "blocked, Claude") else { return };
    scene.asks_back = true;
    std::fs::remove_file(scene.lab.path("ready")).unwrap();
    scene.begin(Slow::Nowhere);
    scene.let_it_run();
    scene.lab.touch("go");
    poll("it is blocked", || state(&scene.lab[HOME].task(scene.id())) == "input-required");
    scene.lab[HOME].until_session("review", "idle");
    scene.kill(HOME, Claude);
    scene.lab.touch("ready");
    scene.ends(Ran::Once, &[1]);
}
