//! The asker's daemon, its launcher or its Claude Code is killed at each moment at which it asks, waits
//! or reads: it has asked once, and has the result once, or a second time with a mark.

use crate::cut::{HOME, LAPTOP, PERSON, Ran, Scene, Slow, for_all};
use crate::lab::poll;
use crate::place::state;

#[test]
fn an_asker_that_is_killed_while_it_waits_gets_the_result_as_a_turn() {
    let test = "an_asker_that_is_killed_while_it_waits_gets_the_result_as_a_turn";
    for_all(test, "it waits", |mut scene, victim| {
        scene.begin(Slow::Nowhere);
        scene.lab[HOME].prompt("review");
        scene.kill(LAPTOP, victim);
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn a_result_that_the_harness_has_not_read_comes_again() {
    for_all("a_result_that_the_harness_has_not_read_comes_again", "the result is on its way", |mut scene, victim| {
        scene.begin(Slow::Nowhere);
        scene.let_it_run();
        scene.freeze("webapp");
        let looks = |scene: &Scene| scene.lab[LAPTOP].log().matches("GET /v1/tasks/homeserver").count();
        let before = looks(&scene);
        scene.lab.touch("go");
        poll("it is completed", || state(&scene.lab[HOME].task(scene.id())) == "completed");
        poll("the asker's machine knows it", || scene.lab[LAPTOP].asks()[0]["state"] == "completed");
        // The wait ends, and the call says what it returns.
        poll("it is returned", || looks(&scene) >= before + 2);
        scene.kill(LAPTOP, victim);
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn a_result_that_was_read_and_not_answered_comes_again_only_with_a_mark() {
    let test = "a_result_that_was_read_and_not_answered_comes_again_only_with_a_mark";
    for_all(test, "the return is read", |mut scene, victim| {
        scene.begin(Slow::Return);
        scene.let_it_run();
        scene.lab.touch("go");
        poll("the model reads it", || scene.lab.model.requests_of("laptop/webapp").len() == 2);
        scene.kill(LAPTOP, victim);
        scene.ends(Ran::Once, &[1, 2]);
    });
}

#[test]
fn a_turn_with_the_result_that_was_cut_off_comes_again_with_a_mark() {
    let test = "a_turn_with_the_result_that_was_cut_off_comes_again_with_a_mark";
    for_all(test, "a turn brings the result", |mut scene, victim| {
        scene.waits = false;
        scene.begin(Slow::Result);
        scene.let_it_run();
        scene.lab.touch("go");
        scene.until_stored(LAPTOP, "webapp", &format!("[shrooms task {} completed]", scene.reference));
        scene.kill(LAPTOP, victim);
        scene.ends(Ran::Once, &[2]);
    });
}

#[test]
fn an_asker_that_is_killed_with_a_question_in_its_hands_answers_it() {
    let test = "an_asker_that_is_killed_with_a_question_in_its_hands_answers_it";
    for_all(test, "the question is read", |mut scene, victim| {
        scene.asks_back = true;
        scene.begin(Slow::Return);
        scene.let_it_run();
        scene.lab.touch("go");
        poll("the model reads it", || scene.lab.model.requests_of("laptop/webapp").len() == 2);
        scene.kill(LAPTOP, victim);
        scene.ends(Ran::Once, &[1, 2]);
    });
}

#[test]
fn a_crash_of_the_askers_daemon_at_its_points_asks_once_and_loses_nothing() {
    let test = "a_crash_of_the_askers_daemon_at_its_points_asks_once_and_loses_nothing";
    let points = ["before_write", "before_send", "after_send", "return_seen", "after_commit:5", "before_commit:8"];
    for point in points {
        let Some(mut scene) = Scene::new(test, point) else { return };
        scene.arm(LAPTOP, point);
        scene.begin(Slow::Nowhere);
        scene.finish();
        assert!(scene.lab.path("crashed").exists(), "{point} was passed");
        scene.check(Ran::Once, &[1, 2]);
    }
}

#[test]
fn an_asker_that_is_killed_at_its_own_prompt_has_asked_nothing() {
    let test = "an_asker_that_is_killed_at_its_own_prompt_has_asked_nothing";
    for_all(test, "at the asker's prompt", |mut scene, victim| {
        scene.lab[LAPTOP].good(&["session", "set", "webapp", "--auto-approve", "off"]);
        scene.lab[LAPTOP].say("webapp", PERSON);
        let prompt = scene.lab[LAPTOP].prompt("webapp");
        assert_eq!(prompt["tool"], "mcp__shrooms__ask_agent", "{prompt}");
        scene.kill(LAPTOP, victim);
        scene.learn();
        let gone = scene.lab[LAPTOP].get(&format!("/v1/prompts/{}", prompt["id"])).json();
        assert_eq!(gone["state"], "withdrawn", "{victim:?}: {gone}");
        scene.ends(Ran::Once, &[1]);
    });
}

#[test]
fn a_persons_message_that_was_read_is_not_repeated_and_its_end_is_said() {
    let test = "a_persons_message_that_was_read_is_not_repeated_and_its_end_is_said";
    for_all(test, "the person's message is stored", |mut scene, victim| {
        scene.rules(Slow::Person);
        scene.lab[LAPTOP].say("webapp", PERSON);
        scene.until_stored(LAPTOP, "webapp", PERSON);
        scene.kill(LAPTOP, victim);
        // It is said again only by the person, who hears of it.
        scene.learn();
        scene.ends(Ran::Once, &[1]);
    });
}
