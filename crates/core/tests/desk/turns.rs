//! How a turn ends, and what that says of its task; starts that come to nothing; late words.

rules! {
    exit_zero_is_done_with_the_words_and_any_other_is_failed_with_them "
        session add tests
        times 6 send tests m# 'x'
        exit tests 0 'all good'                 -> tests:m1 completed 'all good'; tests:m2 starts
        exit tests 0                            -> tests:m2 completed '(no output)'; tests:m3 starts
        exit tests 2 'no such file'             -> tests:m3 failed 'exit code 2 | no such file'; tests:m4 starts
        exit tests 1                            -> tests:m4 failed 'exit code 1'; tests:m5 starts
        signal tests 9 'killed'                 -> tests:m5 failed 'ended by signal 9 | killed'; tests:m6 starts
        stopped tests 'half'                    -> tests:m6 failed 'interrupted: the command was cut off* | half'
    "

    an_explicit_update_wins_over_the_exit "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        send tests m3 'z'
        began tests
        update tests:m1 done 'by word'          -> tests:m1 completed 'by word'
        exit tests 1 'by exit'                  -> tests:m2 starts
        began tests
        update tests:m2 failed 'by word'        -> tests:m2 failed 'by word'
        exit tests 0 'by exit'                  -> tests:m3 starts
        update tests:m3 done ''                 -> tests:m3 completed
        crash                                   -> tests:m3 is settled
        trace tests exit 1 'by exit'            -> nothing
    "

    a_second_update_is_refused_and_says_what_happened "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 done 'first'
        wait 60
        update tests:m1 failed 'second'         -> refused 'task tests:m1 is already completed since 2026-10-08 09:15:02 UTC; a final state does not change'
        exit tests 0
        crash
        update tests:m1 failed 'third'          -> refused 'already completed'
        update tests:m1 failed 'third' by owner -> refused 'already completed'
    "

    only_the_worker_and_the_owner_here_say_how_a_task_ended "
        session add tests
        session add other
        send tests m1 'x' by @laptop
        began tests
        update tests:m1 done 'mine' by other    -> refused 'belongs to the session 'tests''
        update tests:m1 done 'mine' by @laptop  -> refused 'on the worker's own machine'
        update tests:m1 failed 'no' by @laptop  -> refused 'on the worker's own machine'
        update tests:m1 done 'enough' by owner  -> tests:m1 completed 'enough'
    "

    the_receipt_says_when_it_was_delivered_and_a_worker_that_speaks_has_it "
        session add tests
        send tests m1 'x'
        show tests:m1                           -> tests:m1 submitted, from the owner
        update tests:m1 done 'quick'            -> tests:m1 completed 'quick'
        show tests:m1                           -> tests:m1 completed 'quick', delivered, started, ended, from the owner
        exit tests 0
        send tests m2 'y'
        update tests:m2 done 'I did it' by owner
        show tests:m2                           -> tests:m2 completed 'I did it', ended, from the owner
    "

    a_program_that_cannot_be_started_fails_its_task_and_keeps_the_queue "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        unspawned tests 'no such program'       -> tests:m1 failed 'could not be started: no such program'; session tests stopped 'no such program'
        show tests:m1                           -> tests:m1 failed 'could not be started: no such program', ended, from the owner
        send tests m3 'z'                       -> tests:m3 submitted, place 2
        wait 3600                               -> nothing
        crash                                   -> nothing
        session start tests                     -> session tests ready; tests:m2 starts
        exit tests 0 'fine'                     -> tests:m2 completed 'fine'; tests:m3 starts
    "

    an_answer_that_cannot_be_started_fails_its_task "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0
        send tests:m1 f1 'main'
        unspawned tests 'no such program'       -> tests:m1 failed 'could not be started: no such program'; session tests stopped 'no such program'
    "

    a_start_that_fails_three_times_in_ten_minutes_is_given_up "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        never tests counted 'no launcher'       -> nothing
        wait 1                                  -> tests:m1 starts, attempt 2
        never tests counted 'no launcher'       -> nothing
        crash                                   -> nothing
        wait 1                                  -> tests:m1 starts, attempt 3
        never tests counted 'no launcher'       -> tests:m1 failed 'could not be started, three times in ten minutes: no launcher'; session tests stopped 'no launcher'
        show tests:m1                           -> tests:m1 failed 'could not be started, three times in ten minutes: no launcher', ended, from the owner
        wait 3600                               -> nothing
        session start tests                     -> session tests ready; tests:m2 starts
    "

    starts_that_fail_now_and_then_are_tried_for_ever "
        session add tests
        send tests m1 'x'
        never tests counted
        wait 300                                -> tests:m1 starts, attempt 2
        never tests counted
        wait 300                                -> tests:m1 starts, attempt 3
        never tests counted
        wait 300                                -> tests:m1 starts, attempt 4
        never tests counted
        wait 1                                  -> tests:m1 starts, attempt 5
    "

    misses_count_by_served_time_alone "
        session add tests
        send tests m1 'x'
        never tests counted
        wait 1
        never tests counted
        wall 86400                              -> nothing
        wait 1                                  -> tests:m1 starts, attempt 3
        never tests counted 'no'                -> tests:m1 failed 'could not be started, three times in ten minutes: no'; session tests stopped 'no'
    "

    a_full_disk_is_waited_out_however_long "
        session add tests
        send tests m1 'x'
        never tests disk 'disk full'            -> nothing
        wait 1                                  -> nothing
        crash                                   -> nothing
        wait 1                                  -> tests:m1 starts, attempt 2
        never tests disk
        wait 2
        never tests disk
        wait 2
        never tests disk
        wait 2                                  -> tests:m1 starts, attempt 5
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    a_wait_for_the_next_start_survives_a_commit_that_fails "
        session add tests
        send tests m1 'x'
        never tests disk
        fail send tests m2 'y'                  -> nothing
        wait 2                                  -> tests:m1 starts, attempt 2
    "

    a_message_does_not_shorten_the_wait_for_the_next_start "
        session add tests
        send tests m1 'x'
        never tests disk
        send tests m2 'y'                       -> tests:m2 submitted, place 1
        send tests:m1 f1 'more'                 -> tests:m1 pending 1
        wait 2                                  -> tests:m1 starts + 'more', attempt 2
    "

    a_word_with_a_fence_that_does_not_fit_changes_nothing "
        session add tests
        send tests m1 'x'
        began tests!attempt                     -> nothing
        began tests!boot                        -> nothing
        exit tests!attempt 0 'a'                -> nothing
        exit tests!boot 0 'b'                   -> nothing
        never tests!attempt counted             -> nothing
        lost tests!boot                         -> nothing
        show tests:m1                           -> tests:m1 submitted, from the owner
        exit tests 0 'c'                        -> tests:m1 completed 'c'
    "

    a_word_of_an_earlier_attempt_changes_nothing "
        session add tests
        send tests m1 'x'
        never tests soon
        wait 1                                  -> tests:m1 starts, attempt 2
        began tests#1                           -> nothing
        exit tests#1 0 'late'                   -> nothing
        lost tests#1                            -> nothing
        crash                                   -> tests:m1 is settled
        trace tests neither
        wait 1                                  -> tests:m1 starts, attempt 3
        began tests#2                           -> nothing
        exit tests#2 0 'late'                   -> nothing
        trace tests#2 began                     -> nothing
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
    "

    the_same_word_twice_is_the_same_as_once "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests                             -> tests:m1 working
        began tests                             -> nothing
        exit tests#1 0 'fine'                   -> tests:m1 completed 'fine'; tests:m2 starts
        exit tests#1 0 'fine'                   -> nothing
        exit tests#1 1 'else'                   -> nothing
        exit tests#2 0 'good' & exit tests#2 1 'else' & began tests#2 -> tests:m2 completed 'good'
    "

    what_has_begun_is_never_taken_for_what_has_not "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        never tests soon                        -> tests:m1 failed 'interrupted: *'; tests:m2 starts
        update tests:m2 blocked 'which?'
        crash
        trace tests neither                     -> nothing
        show tests:m2                           -> tests:m2 input-required 'which?', delivered, started, from the owner
    "

    an_observation_whose_commit_failed_is_offered_again "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        fail began tests                        -> nothing
        fail exit tests 0 'fine'                -> nothing
        began tests & exit tests 0 'fine'       -> tests:m1 completed 'fine'; tests:m2 starts
        due                                     -> tests:m2 starts
    "
}
