//! Lanes whose program stays: one process, several messages and turns, and what is true after it
//! is lost.

rules! {
    a_task_is_written_to_its_program_and_ends_by_the_workers_word "
        session add c claude
        send c m1 'look'                        -> c:m1 submitted, its program starts, written
        began c                                 -> nothing
        taken c                                 -> c:m1 working
        update c:m1 done 'seen'                 -> c:m1 completed 'seen'
        idle c 'bye'                            -> nothing
    "

    the_end_of_a_turn_is_not_the_end_of_a_task "
        session add c claude
        send c m1 'look'
        taken c
        send c m2 'next'                        -> c:m2 submitted, place 1
        idle c 'I have begun'                   -> nothing
        show c:m1                               -> c:m1 working, delivered, started, from the owner
        busy c                                  -> nothing
        update c:m1 done 'seen'                 -> c:m1 completed 'seen'
        idle c ''                               -> c:m2 written
    "

    more_on_a_working_task_goes_into_its_turn_and_on_another_waits "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        send c:m1 f1 'here, too'                -> c:m1 pending 1, written, correction 'here, too'
        send c:m2 f2 'with care'                -> c:m2 pending 1
        taken c                                 -> c:m1 pending 0
        update c:m1 done 'ok'
        idle c ''                               -> c:m2 written + 'with care'
    "

    a_blocked_task_gives_the_lane_up_and_its_answer_goes_before_new_tasks "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        send c m3 'last'
        taken c
        update c:m1 blocked 'which?'            -> c:m1 input-required 'which?'
        idle c ''                               -> c:m2 written
        taken c
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1
        idle c ''                               -> nothing
        update c:m2 done 'ok'                   -> c:m2 completed 'ok'; c:m1 written, answer 'this'
        taken c                                 -> c:m1 working, pending 0
        update c:m1 done 'ok'
        idle c ''                               -> c:m3 written
    "

    what_was_not_read_before_a_crash_is_written_again_and_what_was_is_recovered "
        session add c claude
        send c m1 'look'
        crash                                   -> c:m1 is settled
        trace c landed no                       -> c:m1 its program starts, written, attempt 2
        taken c
        // What it says that it has is not on its disk before it answers.
        crash                                   -> c:m1 is settled
        trace c landed no                       -> c:m1 its program starts, written, attempt 3
        taken c
        crash                                   -> c:m1 is settled
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
    "

    what_landed_unseen_or_cannot_be_said_is_recovered_and_never_repeated "
        session add c claude
        send c m1 'look'
        lost c                                  -> c:m1 is settled
        trace c landed yes                      -> c:m1 working, its program starts, written, recover
        lost c
        trace c landed unknown                  -> c:m1 its program starts, written, recover
    "

    a_cancelled_task_interrupts_its_turn_and_leaves_the_program "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        cancel c:m1                             -> c:m1 canceled 'canceled by the owner', is interrupted
        idle c ''                               -> c:m2 written
    "

    a_program_that_ends_between_turns_is_started_for_the_next_thing "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        exit c 0                                -> nothing
        send c:m1 f1 'and?'                     -> c:m1 pending 1, its program starts, written, correction 'and?'
        taken c
        update c:m1 done 'ok'
        idle c ''
        exit c 0
        send c m2 'x'                           -> c:m2 submitted, its program starts, written
    "

    a_program_that_cannot_be_started_is_given_up_the_third_time "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        never c counted 'no login'              -> nothing
        wait 1                                  -> c:m1 its program starts, written, attempt 2
        never c counted 'no login'              -> nothing
        wait 1                                  -> c:m1 its program starts, written, attempt 3
        never c counted 'no login'              -> c:m1 failed 'could not be started, three times in ten minutes: no login'; session c stopped 'no login'
        session start c                         -> c:m2 its program starts, written; session c ready
    "

    a_result_reaches_a_session_between_turns_and_a_cut_off_one_is_marked "
        session add c claude
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', its program starts, brought 'fine' to c
        crash                                   -> ask a1 is settled
        trace c landed yes                      -> ask a1 its program starts, brought 'fine' to c, attempt 2, a repeat
        taken c                                 -> ask a1 told
        idle c ''                               -> nothing
    "

    a_turn_nobody_asked_for_is_recovered_when_it_is_cut_off "
        session add c claude
        send c m1 'look'
        taken c
        idle c 'it runs in the background'
        busy c
        crash                                   -> c:m1 is settled
        trace c landed                          -> c:m1 its program starts, written, recover
        taken c
        idle c 'it goes on'
        crash                                   -> c:m1 is settled
        // Between two turns nothing was cut off.
        trace c landed                          -> nothing
    "

    what_is_not_given_to_the_model_is_written_again_three_times "
        session add c claude
        send c m1 'look'
        notrun c                                -> nothing
        idle c ''                               -> c:m1 written, attempt 2
        notrun c
        idle c ''                               -> c:m1 written, attempt 3
        notrun c                                -> c:m1 failed 'its program did not take it, three times in ten minutes'
    "

    a_program_that_ends_by_itself_three_times_stops_its_session "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        exit c 1 'out of memory'                -> c:m1 is settled
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        exit c 1 'out of memory'
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        exit c 1 'out of memory'
        trace c exit 1 'no memory'              -> c:m1 failed 'its program ended by itself, three times in ten minutes | no memory'; session c stopped 'its program ended by itself, three times in ten minutes'
        session start c                         -> c:m2 its program starts, written; session c ready
    "

    ends_of_a_daemon_and_ends_by_our_word_are_no_crashes_of_a_program "
        session add c claude
        send c m1 'look'
        taken c
        crash
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        crash
        trace c landed yes
        taken c
        crash
        trace c landed yes
        taken c
        session stop c                          -> c:m1 is stopped; session c stopped 'by the owner'
        stopped c ''                            -> c:m1 is settled
        trace c landed yes                      -> nothing
        session start c                         -> c:m1 its program starts, written, recover; session c ready
    "
}
