//! `kill -9`, then start. The trace decides what became of a turn, and nothing runs twice.

rules! {
    what_was_never_begun_runs_again_by_a_new_attempt "
        session add tests
        send tests m1 'x'                       -> tests:m1 submitted, starts
        due                                     -> tests:m1 starts
        crash                                   -> tests:m1 is settled
        due                                     -> tests:m1 is settled
        wait 3600                               -> nothing
        trace tests neither                     -> nothing
        wait 1                                  -> tests:m1 starts, attempt 2
        due                                     -> tests:m1 starts, attempt 2
    "

    what_was_begun_has_failed_as_interrupted "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        crash
        trace tests began                       -> tests:m1 failed 'interrupted: the command was cut off*'; tests:m2 starts
        began tests
        crash
        trace tests began                       -> tests:m2 failed 'interrupted: *'
        show tests:m1                           -> tests:m1 failed 'interrupted: *', delivered, started, ended, from the owner
    "

    an_exit_that_is_found_is_the_result "
        session add tests
        send tests m1 'x'
        crash
        trace tests exit 0 'fine'               -> tests:m1 completed 'fine'
        send tests m2 'y'
        began tests
        crash
        crash                                   -> tests:m2 is settled
        trace tests exit 4 'bad'                -> tests:m2 failed 'exit code 4 | bad'
    "

    where_the_owner_allows_it_a_run_that_was_cut_off_is_run_again "
        session add tests rerun
        send tests m1 'x'
        began tests
        crash
        trace tests began                       -> tests:m1 starts, attempt 2, a repeat
        began tests                             -> nothing
        crash
        crash
        trace tests began                       -> tests:m1 starts, attempt 3, a repeat
        exit tests 0 'at last'                  -> tests:m1 completed 'at last'
    "

    a_run_again_brings_the_answer_again "
        session add tests rerun
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0
        send tests:m1 f1 'main'
        began tests
        crash
        trace tests began                       -> tests:m1 starts, answer 'main', attempt 2, a repeat
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    a_word_said_before_the_crash_stands "
        session add tests rerun
        send tests m1 'x'
        began tests
        update tests:m1 done 'by word'
        crash                                   -> tests:m1 is settled
        trace tests began                       -> nothing
        show tests:m1                           -> tests:m1 completed 'by word', delivered, started, ended, from the owner
    "

    a_process_that_is_lost_is_settled_in_the_same_boot "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        lost tests                              -> tests:m1 is settled
        due                                     -> tests:m1 is settled
        crash                                   -> tests:m1 is settled
        trace tests exit 0 'fine'               -> tests:m1 completed 'fine'; tests:m2 starts
        lost tests                              -> tests:m2 is settled
        trace tests neither                     -> nothing
        wait 1                                  -> tests:m2 starts, attempt 2
    "

    a_lost_turn_that_never_began_counts_as_a_start_that_failed "
        session add tests
        send tests m1 'x'
        lost tests
        trace tests neither
        wait 1
        lost tests
        trace tests neither
        wait 1
        lost tests
        trace tests neither                     -> tests:m1 failed 'could not be started, three times in ten minutes: it was cut off before it began'; session tests stopped 'it was cut off before it began'
    "

    crashes_before_a_start_do_not_count_against_it "
        session add tests
        send tests m1 'x'
        crash
        trace tests neither
        wait 1
        crash
        trace tests neither
        wait 1
        crash
        trace tests neither
        wait 1                                  -> tests:m1 starts, attempt 4
    "

    effects_after_a_reload_in_the_same_boot_have_the_same_keys "
        session add tests
        session add asker
        send tests m1 'x'
        ask a1 laptop/tests 'x'
        due                                     -> tests:m1 starts; ask a1 send 1
        fail send tests m2 'y'                  -> nothing
        due                                     -> tests:m1 starts; ask a1 send 1
        cancel tests:m1
        due                                     -> tests:m1 starts; tests:m1 is stopped; ask a1 send 1
        fail send tests m2 'y'                  -> nothing
        due                                     -> tests:m1 starts; tests:m1 is stopped; ask a1 send 1
    "

    an_earlier_boots_turn_only_ever_gives_a_question "
        session add tests
        send tests m1 'x'
        crash
        cancel tests:m1                         -> tests:m1 canceled 'canceled by the owner | (it was being started: it may have begun)'
        due                                     -> tests:m1 is settled
        session stop tests                      -> session tests stopped 'by the owner'
        due                                     -> tests:m1 is settled
        session start tests
        crash                                   -> tests:m1 is settled
        due                                     -> tests:m1 is settled
        trace tests neither                     -> nothing
        due                                     -> nothing
    "

    nothing_else_runs_in_a_lane_before_its_last_turn_is_settled "
        session add tests
        session add other
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which?'
        crash                                   -> tests:m1 is settled
        send tests m3 'z'                       -> tests:m3 submitted, place 2
        send tests:m1 f1 'main'                 -> tests:m1 submitted, pending 1
        send other m4 'elsewhere'               -> other:m4 submitted, starts
        wait 600                                -> nothing
        trace tests began                       -> tests:m1 starts, answer 'main'
    "

    served_time_goes_on_where_it_was_and_never_back "
        session add tests
        send tests m1 'x'
        never tests disk
        wall -3600                              -> nothing
        served -5                               -> nothing
        crash                                   -> nothing
        wait 2                                  -> tests:m1 starts, attempt 2
    "

    a_wall_clock_that_is_set_changes_nothing "
        session add tests
        send tests m1 'x'
        began tests
        ask a1 laptop/tests 'x'
        reply a1 away
        wall -3600                              -> nothing
        wall 864000                             -> nothing
        wait 1                                  -> ask a1 send 2
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    what_its_daemons_end_cut_off_is_run_again_where_that_is_allowed "
        session add again rerun
        send again m1 'x'
        began again
        stopped again 'half'                    -> again:m1 starts, attempt 2, a repeat
        session stop again                      -> again:m1 is stopped; session again stopped 'by the owner'
        began again
        stopped again 'half'                    -> again:m1 failed 'interrupted: its session was stopped | half'
    "
}
