//! What turns used: whose each is, by whom it was asked for, and that a run's use is counted once.

rules! {
    a_turn_is_its_tasks_and_its_askers_also_when_the_task_ended_in_it "
        session add c claude
        send c m1 'look' by @laptop
        taken c
        wait 2
        spent c m:10/1=50                       -> nothing
        update c:m1 done 'ok'
        send c m2 'more'
        taken c
        update c:m2 done 'ok'                   -> c:m2 completed 'ok'
        wait 3
        spent c m:20/2=60 n:7/1=5               -> nothing
        say c s1 'hello'
        taken c
        spent c m:30/3                          -> nothing
        usage                                   -> c m 10/1, by laptop.mesh for c:m1, a turn of 2000 ms, costs 50; c m 20/2, by the owner for c:m2, a turn of 3000 ms, costs 60; c n 7/1, by the owner for c:m2, no turn, costs 5; c m 30/3, by the owner, a turn of 0 ms, costs unknown
    "

    what_joins_a_turn_is_of_its_first_task "
        session add c claude
        say c s1 'hello'
        taken c
        send c m1 'look' by @laptop
        spent c m:1/1                           -> c:m1 written
        taken c
        say c s2 'quick'                        -> session c written, said 'quick'
        taken c
        send c:m1 f1 'here, too'                -> c:m1 pending 1, written, correction 'here, too'
        taken c
        spent c m:2/2
        usage                                   -> c m 1/1, by the owner, a turn of 0 ms, costs unknown; c m 2/2, by laptop.mesh for c:m1, a turn of 0 ms, costs unknown
    "

    a_turn_that_nobody_asked_for_is_that_of_the_task_that_has_the_lane "
        session add c claude
        send c m1 'look' by @laptop
        taken c
        spent c m:1/1
        busy c                                  -> nothing
        wait 5
        spent c m:2/2
        update c:m1 done 'ok'
        busy c                                  -> nothing
        spent c m:3/3
        usage                                   -> c m 1/1, by laptop.mesh for c:m1, a turn of 0 ms, costs unknown; c m 2/2, by laptop.mesh for c:m1, a turn of 5000 ms, costs unknown; c m 3/3, by the owner, a turn of 0 ms, costs unknown
    "

    reminders_are_asked_for_by_shrooms "
        session add c claude
        send c m1 'look' by @laptop
        taken c
        spent c m:1/1
        wait 300                                -> c:m1 written, reminder of c:m1
        taken c
        spent c m:2/2
        usage                                   -> c m 1/1, by laptop.mesh for c:m1, a turn of 0 ms, costs unknown; c m 2/2, by shrooms for c:m1, a turn of 0 ms, costs unknown
    "

    what_a_run_had_used_when_it_was_cut_off_is_counted_once_however_often_it_is_told "
        session add c claude
        send c m1 'look' by @laptop
        taken c
        wait 4
        left c m:10/1
        left c m:10/1
        lost c                                  -> c:m1 is settled
        left c m:10/1
        crash                                   -> c:m1 is settled
        left c m:10/1
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        spent c m:20/2=60
        stopped c ''
        usage                                   -> c m 10/1, by laptop.mesh for c:m1, a turn of 4000 ms, costs unknown; c m 20/2, by laptop.mesh for c:m1, a turn of 0 ms, costs 60
    "

    what_comes_after_the_last_turn_is_no_turn "
        session add c claude
        send c m1 'look'
        taken c
        update c:m1 done 'ok'
        spent c m:10/1
        left c small:3/1=2
        stopped c ''
        usage                                   -> c m 10/1, by the owner for c:m1, a turn of 0 ms, costs unknown; c small 3/1, by the owner, no turn, costs 2
    "

    what_a_removed_session_had_used_is_counted "
        session add c claude
        send c m1 'look' by @laptop
        taken c
        session remove c                        -> c:m1 canceled 'canceled: the session 'c' was removed', is stopped; session c removed
        left c m:10/1
        stopped c ''
        usage                                   -> c m 10/1, by laptop.mesh for c:m1, a turn of 0 ms, costs unknown
    "

    a_price_is_for_what_the_harness_does_not_say_and_counts_for_caps "
        price m 3000000
        session add c claude
        cap c 100                               -> nothing
        send c m1 'look'
        taken c
        update c:m1 done 'ok'
        spent c m-1:10/0=7 m-2:20/0 other:5/5   -> nothing
        send c m2 'more'                        -> c:m2 submitted, written
        taken c
        update c:m2 done 'ok'
        left c m-2:20/0
        stopped c ''
        send c m3 'more'                        -> c:m3 submitted, place 1
        usage                                   -> c m-1 10/0, by the owner for c:m1, a turn of 0 ms, costs 7; c m-2 20/0, by the owner for c:m1, no turn, costs 60 by prices; c other 5/5, by the owner for c:m1, no turn, costs unknown; c m-2 20/0, by the owner for c:m2, a turn of 0 ms, costs 60 by prices
    "
}
