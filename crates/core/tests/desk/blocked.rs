//! A worker that needs something, and the answers it gets.

rules! {
    blocked_gives_the_lane_up_when_its_turn_is_over "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which branch?' -> tests:m1 input-required 'which branch?'
        began tests                             -> nothing
        exit tests 0 'asked'                    -> tests:m2 starts
        show tests:m1                           -> tests:m1 input-required 'which branch?', delivered, started, from the owner
        crash
        trace tests exit 0 'fine'               -> tests:m2 completed 'fine'
        show tests:m1                           -> tests:m1 input-required 'which branch?', delivered, started, from the owner
    "

    an_answer_to_a_blocked_task_goes_before_new_tasks "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        send tests m3 'z'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0 ''                         -> tests:m2 starts
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1
        exit tests 0 'b'                        -> tests:m2 completed 'b'; tests:m1 starts, answer 'main'
        began tests                             -> tests:m1 working, pending 0
        exit tests 0 'a'                        -> tests:m1 completed 'a'; tests:m3 starts
    "

    a_start_that_is_made_again_goes_before_an_answer "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        send tests m2 'y'
        exit tests 0                            -> tests:m2 starts
        send tests:m1 f1 'main'
        never tests soon
        wait 1                                  -> tests:m2 starts, attempt 2
        exit tests 0 'b'                        -> tests:m2 completed 'b'; tests:m1 starts, answer 'main'
    "

    an_answer_starts_at_once_in_a_free_lane "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 1 ''                         -> nothing
        crash                                   -> nothing
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1, starts, answer 'main'
        exit tests 3 'no'                       -> tests:m1 failed 'exit code 3 | no'
    "

    an_answer_in_mid_turn_waits_for_the_turns_end "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1
        exit tests 0 ''                         -> tests:m1 starts, answer 'main'
        crash                                   -> tests:m1 is settled
        trace tests neither                     -> nothing
        wait 1                                  -> tests:m1 starts, answer 'main', attempt 2
        began tests                             -> tests:m1 working, pending 0
    "

    the_first_answer_counts_and_later_ones_are_corrections "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0 ''
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1
        send tests:m1 f2 'no: dev' by @laptop   -> tests:m1 pending 2
        send tests:m1 f3 'really'               -> tests:m1 pending 3
        crash
        trace tests exit 0 ''                   -> tests:m2 completed '(no output)'; tests:m1 starts, answer 'main' + 'no: dev' + 'really'
        began tests                             -> tests:m1 working, pending 0
    "

    an_answered_question_is_no_longer_the_status_text "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'        -> tests:m1 input-required 'which?'
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1
        exit tests 0 ''                         -> tests:m1 starts, answer 'main'
        began tests                             -> tests:m1 working, pending 0
        update tests:m1 blocked 'and which file?' -> tests:m1 input-required 'and which file?'
        exit tests 0 ''                         -> nothing
        send tests:m1 f2 'all'                  -> tests:m1 submitted, pending 1, starts, answer 'all'
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    a_worker_that_asks_twice_in_one_turn_asks_the_second_question "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'        -> tests:m1 input-required 'which?'
        update tests:m1 blocked 'or when?'      -> tests:m1 input-required 'or when?'
        exit tests 0 ''                         -> nothing
    "

    a_question_that_comes_before_the_start_is_seen_is_kept "
        session add tests
        send tests m1 'x'
        update tests:m1 blocked 'which?'        -> tests:m1 input-required 'which?'
        show tests:m1                           -> tests:m1 input-required 'which?', delivered, started, from the owner
        began tests                             -> nothing
        exit tests 0 'asked'                    -> nothing
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1, starts, answer 'main'
        update tests:m1 blocked 'and when?'     -> tests:m1 input-required 'and when?', pending 0
        crash                                   -> tests:m1 is settled
        trace tests exit 0 ''                   -> nothing
        show tests:m1                           -> tests:m1 input-required 'and when?', delivered, started, from the owner
    "

    the_owner_may_say_that_a_task_is_blocked_before_its_start_is_seen "
        session add tests
        send tests m1 'x'
        update tests:m1 blocked 'which?' by owner -> tests:m1 input-required 'which?'
        show tests:m1                           -> tests:m1 input-required 'which?', from the owner
        exit tests 0 'asked'                    -> nothing
        show tests:m1                           -> tests:m1 input-required 'which?', delivered, started, from the owner
    "

    a_crash_after_blocked_leaves_the_question "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which?'
        crash                                   -> tests:m1 is settled
        trace tests began                       -> tests:m2 starts
        show tests:m1                           -> tests:m1 input-required 'which?', delivered, started, from the owner
    "

    blocked_without_a_question_is_refused "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked ' '             -> refused 'no text'
        update tests:m1 stuck 'x'               -> refused 'is not done, blocked or failed'
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    a_blocked_task_may_still_be_finished_by_its_worker "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        update tests:m1 done 'found it'         -> tests:m1 completed 'found it'
        exit tests 0 'late'                     -> nothing
    "

    what_the_asker_says_while_it_is_being_answered_is_counted_once "
        session add tests rerun
        send tests m1 'x'
        send tests m2 'y'
        send tests:m2 f1 'one'
        exit tests 0 ''                         -> tests:m1 completed '(no output)'; tests:m2 starts + 'one'
        began tests                             -> tests:m2 working, pending 0
        crash
        trace tests began                       -> tests:m2 starts + 'one', attempt 2, a repeat
        send tests:m2 f2 'two'                  -> tests:m2 pending 1
        began tests                             -> nothing
        update tests:m2 blocked 'which?'        -> tests:m2 submitted
        exit tests 0 ''                         -> tests:m2 starts, correction 'two'
    "

    a_correction_to_a_running_command_runs_before_the_end_is_said "
        session add tests
        send tests m1 'count'
        send tests m2 'next'
        began tests
        send tests:m1 f1 'only the red ones'    -> tests:m1 pending 1
        exit tests 0 'seven'                    -> tests:m1 starts, correction 'only the red ones'
        show tests:m1                           -> tests:m1 working, pending 1, delivered, started, from the owner
        began tests
        crash
        trace tests exit 0 'three'              -> tests:m1 completed 'three'; tests:m2 starts*
    "

    a_correction_is_not_run_after_a_failure "
        session add tests
        send tests m1 'count'
        began tests
        send tests:m1 f1 'only the red ones'
        exit tests 3 'no'                       -> tests:m1 failed 'exit code 3 | no'
    "
}
