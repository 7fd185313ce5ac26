//! What a device may that is not the owner's, and the log of who did what (`spec/access.md`,
//! "Rights").

use shrooms_core::desk::{Done, Request};
use shrooms_core::refusal::Refusal;
use shrooms_core::rights::Action;
use shrooms_testkit::world::World;

rules! {
    a_device_that_may_ask_has_a_say_in_its_own_tasks_alone "
        session add t
        send t m1 'a' by @phone:ask             -> t:m1 submitted, starts
        send t m2 'b' by @laptop                -> t:m2 submitted, place 1
        send t:m2 f1 'more' by @phone:ask       -> refused 'no task'
        cancel t:m2 by @phone:ask               -> refused 'no task'
        ack t:m2 by @phone:ask                  -> refused 'no task'
        cancel t:m1 by @phone:ask               -> t:m1 canceled 'canceled by phone.mesh | (it was being started: it may have begun)', is stopped
        show t:m2                               -> t:m2 submitted, place 1, from laptop.mesh
    "

    a_device_that_may_read_changes_nothing "
        session add t
        send t m1 'a' by @tablet:read           -> refused 'its right there is'
        send t m1 'a'
        cancel t:m1 by @tablet:read             -> refused 'its right there is'
        pause by @tablet:read                   -> refused 'mesh_devices'
        session add u by @tablet:read           -> refused 'its right there is'
        park t:m1 by @tablet:read               -> refused 'its right there is'
        ask a1 laptop/t 'x' by @tablet:read     -> refused 'its right there is'
    "

    a_device_with_no_right_does_nothing "
        session add t
        send t m1 'a' by @old:none              -> refused 'its right there is'
        pause by @old:none                      -> refused 'its right there is'
    "

    a_device_that_may_ask_sets_nothing "
        session add t claude
        send t m1 'a'
        taken t
        prompt t p1                             -> t:m1 input-required; prompt p1 open
        allow p1 by @phone:ask                  -> refused 'its right there is'
        say t s1 'do it' by @phone:ask          -> refused 'its right there is'
        session remove t by @phone:ask          -> refused 'its right there is'
        update t:m1 done 'x' by @phone:ask      -> refused 'said on the worker'
        ask a1 laptop/t 'x' by @phone:ask       -> refused 'its right there is'
        allow p1 by @laptop                     -> t:m1 working; prompt p1 allowed, the program is told
    "

    ids_of_a_lesser_device_are_its_own "
        session add t
        send t m1 'a' by @phone:ask             -> t:m1 submitted, starts
        send t m1 'b'                           -> * submitted, place 1
        send t m1 'b' by @laptop                -> again t:h-f94d117f1d3b3f5eb46e7739 submitted
        send t m1 'a' by @phone:ask             -> again t:m1 submitted
        send t m1 'c' by @phone:ask             -> refused 'another text'
        send t m1 'd' by @watch:ask             -> * submitted, place 2
    "

    the_log_has_who_did_what_once "
        session add t
        send t m1 'a' by @laptop claim laptop/webapp
        send t m1 'a' by @laptop claim laptop/webapp
        audit 1                                 -> laptop.mesh (laptop/webapp) [id-laptop] send t:m1: ok
        send t m1 'b' by @laptop
        audit 1                                 -> laptop.mesh [id-laptop] send t: refused: message id 'm1' was used *
        began t
        update t:m1 done 'secret words'
        audit 1                                 -> this machine (home/t) [session t] done t:m1: ok
        ask a1 laptop/tests 'x' by t
        audit 1                                 -> this machine (home/t) [session t] ask laptop/tests: a1: ok
        ask a1 laptop/tests 'x' by t
        reply a1 task 1 working
        report a1 2 completed 'fine' by @laptop
        report a1 2 completed 'fine' by @laptop
        audit 2                                 -> this machine (home/t) [session t] ask laptop/tests: a1: ok; id-laptop [id-laptop] report laptop/tests: tests:a1: completed
        attempt 'POST /v1/pause' by t
        audit 1                                 -> this machine (home/t) [session t] refused POST /v1/pause: refused: this is the owner's to do, not a session's
        pause
        audit 1                                 -> the owner [owner] pause everything: ok
    "

    a_right_by_name_is_for_the_device_that_had_it "
        grant all ask
        grant laptop.home owner
        mesh home/1=laptop.home home/2=phone.home
        audit 2                                 -> the owner [the config] rights devices: every device: ask, laptop.home: owner; the owner [the config] right laptop.home = home/1: owner
        mesh home/9=laptop.home
        audit 1                                 -> the owner [the config] right laptop.home = home/1: owner
        grant phone.home read
        mesh home/2=phone.home home/3=phone.home
        audit 1                                 -> the owner [the config] rights devices: every device: ask, laptop.home: owner, phone.home: read
        mesh home/3=phone.home
        audit 1                                 -> the owner [the config] right phone.home = home/3: read
    "

    whose_files_are_taken_is_bound_to_a_device_too "
        session add t
        files t laptop/*
        mesh home/1=laptop.home
        audit 1                                 -> the owner [accept_files_from] right laptop = home/1: files
        mesh home/2=laptop.home
        audit 1                                 -> the owner [accept_files_from] right laptop = home/1: files
        files t
        mesh home/2=laptop.home
        files t laptop/*
        mesh home/2=laptop.home
        audit 1                                 -> the owner [accept_files_from] right laptop = home/2: files
    "

    a_device_that_is_there_is_noted_once_a_minute "
        met laptop
        devices                                 -> id-laptop 0 *
        wall 30
        met laptop
        devices                                 -> id-laptop -30000 *
        met laptop 0.2.0
        devices                                 -> id-laptop 0 0.2.0
        wall 61
        met laptop
        devices                                 -> id-laptop 0 0.2.0
    "
}

#[test]
fn refused_attempts_are_in_the_log_sixty_times_an_hour_for_each_who_makes_them() {
    let mut world = World::default();
    world.request(Request::Pause { by: world.principal("owner") }).unwrap();
    for who in ["@phone:ask", "@watch:none"] {
        for _ in 0..100 {
            let (by, action) = (world.principal(who), Action::Own);
            let got = world.request(Request::Attempt { by, action, what: "POST /v1/pause".into() });
            assert!(matches!(got, Err(Refusal::DeviceMayNot { .. })), "{got:?}");
        }
    }
    assert_eq!(world.store.audit.len(), 1 + 60 + 60);
    world.pass(3_600_000);
    let (by, action) = (world.principal("@phone:ask"), Action::Own);
    world.request(Request::Attempt { by, action, what: "POST /v1/pause".into() }).unwrap_err();
    assert_eq!(world.store.audit.len(), 1 + 60 + 60 + 1);
    let by = world.principal("@laptop");
    let done = world.request(Request::Attempt { by, action, what: "POST /v1/pause".into() });
    assert!(matches!(done, Ok(Done::Nothing)));
}
