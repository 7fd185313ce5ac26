//! Cancel, and words that come too late.

rules! {
    a_canceled_task_that_waits_never_starts "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        send tests m3 'z'
        send tests:m2 f1 'more'
        cancel tests:m2                         -> tests:m2 canceled 'canceled by the owner'
        crash
        trace tests exit 0 'fine'               -> tests:m1 completed 'fine'; tests:m3 starts
    "

    a_cancel_of_a_task_that_is_being_started_stops_it "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        cancel tests:m1 'changed my mind'       -> tests:m1 canceled 'canceled by the owner: changed my mind | (it was being started: it may have begun)', is stopped
        never tests soon 'stopped'              -> tests:m2 starts
        wait 10                                 -> nothing
    "

    a_cancel_of_a_working_task_stops_its_turn_and_the_next_starts_at_its_end "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        cancel tests:m1                         -> tests:m1 canceled 'canceled by the owner', is stopped
        stopped tests 'half'                    -> tests:m2 starts
        show tests:m1                           -> tests:m1 canceled 'canceled by the owner', delivered, started, ended, from the owner
    "

    a_cancel_survives_a_crash_before_the_stop "
        session add tests rerun
        send tests m1 'x'
        send tests m2 'y'
        began tests
        cancel tests:m1
        crash                                   -> tests:m1 is settled
        trace tests began                       -> tests:m2 starts
        show tests:m1                           -> tests:m1 canceled 'canceled by the owner', delivered, started, ended, from the owner
    "

    a_message_that_its_asker_does_not_want_any_more_is_never_begun_and_ends_what_was "
        session add tests
        send tests m2 'x' by @laptop for A1 unwanted -> again tests:m2 canceled 'canceled by laptop.mesh'; tests:m2 canceled 'canceled by laptop.mesh'; report tests:m2 canceled 'canceled by laptop.mesh', try 0
        send tests m2 'x' by @laptop for A1 unwanted -> again tests:m2 canceled 'canceled by laptop.mesh'
        send tests m3 'x' by @laptop for A2
        began tests
        send tests m3 'x' by @laptop for A2 unwanted -> again tests:m3 canceled 'canceled by laptop.mesh'; tests:m3 canceled 'canceled by laptop.mesh', is stopped; report tests:m3 canceled 'canceled by laptop.mesh', try 0
    "

    a_cancel_of_a_blocked_task_leaves_other_turns_alone "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0 ''
        began tests
        send tests:m1 f1 'main'
        cancel tests:m1                         -> tests:m1 canceled 'canceled by the owner'
        exit tests 0 'fine'                     -> tests:m2 completed 'fine'
    "

    a_cancel_of_a_task_that_blocked_in_this_turn_stops_the_turn "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        cancel tests:m1                         -> tests:m1 canceled 'canceled by the owner', is stopped
        stopped tests                           -> nothing
    "

    a_cancel_of_an_ended_task_is_refused "
        session add tests
        send tests m1 'x'
        exit tests 0 'fine'
        cancel tests:m1                         -> refused 'task tests:m1 is already completed since 2026-10-08 09:15:02 UTC; a final state does not change'
        crash
        cancel tests:m1                         -> refused 'already completed'
        cancel tests:m9                         -> refused 'no task'
    "

    a_cancel_twice_is_refused_the_second_time_and_whose_it_was_is_said "
        session add tests
        session add asker
        send tests m1 'x'
        send tests m2 'y'
        send tests m3 'z'
        cancel tests:m1 by @laptop              -> tests:m1 canceled 'canceled by laptop.mesh | (it was being started: it may have begun)', is stopped
        cancel tests:m1                         -> refused 'already canceled'
        cancel tests:m2 by asker                -> refused 'only whoever asked, or the owner'
        send tests m4 'q' by asker
        cancel tests:m4 by asker                -> tests:m4 canceled 'canceled by this machine (home/asker)'
    "

    late_words_after_a_cancel_change_nothing "
        session add tests
        send tests m1 'x'
        began tests
        cancel tests:m1
        update tests:m1 done 'but I did it'     -> refused 'already canceled'
        update tests:m1 blocked 'which?'        -> refused 'already canceled'
        send tests:m1 f1 'go on'                -> refused 'already canceled'
        began tests                             -> nothing
        exit tests 0 'but I did it'             -> nothing
        exit tests#1 0 'again'                  -> nothing
        update tests:m1 done 'but I did it'     -> refused 'already canceled'
        crash                                   -> nothing
        show tests:m1                           -> tests:m1 canceled 'canceled by the owner', delivered, started, ended, from the owner
    "

    a_cancel_whose_commit_failed_did_not_happen "
        session add tests
        send tests m1 'x'
        began tests
        fail cancel tests:m1                    -> nothing
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    acknowledging_is_bookkeeping_and_may_be_repeated "
        session add tests
        send tests m1 'x'
        ack tests:m1                            -> tests:m1 acked
        wait 1
        ack tests:m1                            -> nothing
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
        send tests m2 'y'
        exit tests 0 'fine'
        crash
        ack tests:m2                            -> tests:m2 acked
        ack tests:m2                            -> nothing
        ack tests:m9                            -> refused 'no task'
        send tests m2 'y'                       -> again tests:m2 completed 'fine'
    "
}
