//! The worker's daemon crashes at each of its named points: the task is read once, its tool runs once,
//! its result arrives once.

use crate::cut::{Daemon, HOME, Ran, Scene, Slow};
use crate::lab::poll;

fn crash_at(test: &str, cases: &[(&str, Ran)]) {
    for (point, ran) in cases {
        let Some(mut scene) = Scene::new(test, point) else { return };
        scene.arm(HOME, point);
        scene.begin(Slow::Nowhere);
        scene.finish();
        assert!(scene.lab.path("crashed").exists(), "{point} was passed");
        scene.check(*ran, &[1]);
    }
}

#[test]
fn every_crash_point_of_programs_that_stay_has_a_case() {
    let cases = concat!(include_str!("worker_cut.rs"), include_str!("asker_cut.rs"));
    for point in shrooms_engine::STREAM_CRASH_POINTS {
        assert!(cases.contains(&format!("\"{point}")), "no case for the crash point {point}");
    }
}

#[test]
fn a_crash_before_the_write_or_after_it_loses_nothing() {
    let test = "a_crash_before_the_write_or_after_it_loses_nothing";
    crash_at(
        test,
        &[
            ("before_start", Ran::Once),
            ("after_start", Ran::Once),
            ("stream_started", Ran::Once),
            ("before_write", Ran::Once),
            ("after_write", Ran::AtMostOnce),
            ("taken_seen", Ran::AtMostOnce),
        ],
    );
}

#[test]
fn a_crash_at_the_prompt_or_after_the_tool_loses_nothing() {
    let test = "a_crash_at_the_prompt_or_after_the_tool_loses_nothing";
    let cases = [
        ("prompt_seen", Ran::Never),
        ("before_answer", Ran::Never),
        ("turn_end_seen", Ran::Once),
        ("after_report", Ran::Once),
    ];
    crash_at(test, &cases);
}

#[test]
fn a_crash_of_the_launcher_at_its_points_loses_nothing() {
    let test = "a_crash_of_the_launcher_at_its_points_loses_nothing";
    let cases = [
        ("launcher_before_started", Ran::Once),
        ("launcher_after_started", Ran::Once),
        ("launcher_after_spawn", Ran::Once),
    ];
    crash_at(test, &cases);
}

#[test]
fn a_crash_between_two_commits_loses_nothing() {
    let points = ["after_commit:2", "after_commit:4", "before_commit:6", "after_commit:7"];
    crash_at("a_crash_between_two_commits_loses_nothing", &points.map(|point| (point, Ran::AtMostOnce)));
}

#[test]
fn a_crash_while_the_last_one_is_settled_is_no_different() {
    let test = "a_crash_while_the_last_one_is_settled_is_no_different";
    for point in ["before_settle", "after_settle"] {
        let Some(mut scene) = Scene::new(test, &format!("in a tool call, then {point}")) else { return };
        scene.begin(Slow::Nowhere);
        scene.let_it_run();
        scene.kill(HOME, Daemon);
        let once = scene.lab.word("crashed");
        scene.lab[HOME].spawn(&format!("{point}@{once}"));
        poll("it crashes again", || scene.lab[HOME].has_ended());
        scene.finish();
        assert!(scene.lab.path("crashed").exists(), "{point} was passed");
        scene.check(Ran::Once, &[1]);
    }
}
