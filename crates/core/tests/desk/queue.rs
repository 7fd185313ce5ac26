//! What waits, and what goes next.

rules! {
    a_second_task_waits_its_turn "
        session add tests
        send tests m1 'run it'                  -> tests:m1 submitted, starts
        send tests m2 'and this'                -> tests:m2 submitted, place 1
        send tests m3 'this too'                -> tests:m3 submitted, place 2
        began tests                             -> tests:m1 working
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'; tests:m2 starts
        show tests:m3                           -> tests:m3 submitted, place 1, from the owner
        began tests
        crash                                   -> tests:m2 is settled
        show tests:m3                           -> tests:m3 submitted, place 1, from the owner
        trace tests exit 0 'good'               -> tests:m2 completed 'good'; tests:m3 starts
        exit tests 0 'ok'                       -> tests:m3 completed 'ok'
    "

    two_lanes_work_at_once "
        session add tests
        session add review
        send tests m1 'x'                       -> tests:m1 submitted, starts
        send review m1 'x'                      -> review:m1 submitted, starts
        began review                            -> review:m1 working
        began tests                             -> tests:m1 working
        exit review 0 'a'                       -> review:m1 completed 'a'
        exit tests 0 'b'                        -> tests:m1 completed 'b'
    "

    a_hundred_tasks_may_wait_and_the_next_is_refused_with_the_limit "
        session add tests
        times 101 send tests m# 'x'
        show tests:m101                         -> tests:m101 submitted, place 100, from the owner
        send tests more 'x'                     -> refused 'has 100 tasks waiting, the limit'
        send tests more 'x' by @laptop          -> refused 'has 100 tasks waiting, the limit'
        ask more home/tests 'x'                 -> refused 'has 100 tasks waiting, the limit'
        send tests m50 'x'                      -> again tests:m50 submitted
        exit tests 0 ''                         -> tests:m1 completed '(no output)'; tests:m2 starts
        send tests more 'x'                     -> tests:more submitted, place 100
        cancel tests:m50                        -> tests:m50 canceled 'canceled by the owner'
        send tests another 'x'                  -> tests:another submitted, place 100
        crash
        send tests third 'x'                    -> refused 'has 100 tasks waiting, the limit'
    "

    a_task_that_ends_in_mid_turn_gives_its_lane_up_only_at_the_turns_end "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 done 'early'            -> tests:m1 completed 'early'
        send tests m3 'z'                       -> tests:m3 submitted, place 2
        exit tests 0 'late'                     -> tests:m2 starts
        show tests:m1                           -> tests:m1 completed 'early', delivered, started, ended, from the owner
    "

    place_counts_only_what_waits "
        session add tests
        send tests m1 'x'
        send tests m2 'x'
        send tests m3 'x'
        send tests m4 'x'
        cancel tests:m3
        show tests:m1                           -> tests:m1 submitted, from the owner
        show tests:m2                           -> tests:m2 submitted, place 1, from the owner
        show tests:m4                           -> tests:m4 submitted, place 2, from the owner
        crash
        show tests:m4                           -> tests:m4 submitted, place 2, from the owner
    "

    text_for_a_queued_task_is_kept_and_delivered_with_it "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        send tests:m2 f1 'also this'            -> tests:m2 pending 1
        send tests:m2 f2 'and that'             -> tests:m2 pending 2
        crash
        trace tests exit 0 'fine'               -> tests:m1 completed 'fine'; tests:m2 starts + 'also this' + 'and that'
        began tests                             -> tests:m2 working, pending 0
        exit tests 0 'good'                     -> tests:m2 completed 'good'
    "

    text_for_a_task_that_is_being_started_goes_with_the_next_attempt "
        session add tests
        send tests m1 'x'
        send tests:m1 f1 'one'                  -> tests:m1 pending 1
        never tests soon                        -> nothing
        wait 1                                  -> tests:m1 starts + 'one', attempt 2
        send tests:m1 f2 'two'                  -> tests:m1 pending 2
        crash                                   -> tests:m1 is settled
        trace tests neither                     -> nothing
        wait 1                                  -> tests:m1 starts + 'one' + 'two', attempt 3
        send tests:m1 f3 'three'                -> tests:m1 pending 3
        began tests                             -> tests:m1 working, pending 1
    "

    the_feed_tells_a_tasks_life_in_order "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        send tests:m1 f1 'that'
        exit tests 0 ''
        began tests
        exit tests 0 'fine'
        ack tests:m1
        feed                                    -> tests added, tests:m1 submitted, tests:m1 working, tests:m1 input-required, tests:m1 answered, tests:m1 working, tests:m1 completed, tests:m1 acknowledged
    "
}
