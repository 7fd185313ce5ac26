//! What the random scripts of programs that stay have found, each at its shortest.

rules! {
    more_on_a_task_that_was_refused_waits_for_the_task "
        session add c claude
        send c m1 'look'
        notrun c
        send c:m1 f1 'more'                     -> c:m1 pending 1
        idle c ''                               -> c:m1 written + 'more', attempt 2
    "

    a_question_is_not_answered_by_what_was_said_before_it "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        send c:m1 f1 'more'                     -> c:m1 pending 1, written, correction 'more'
        update c:m1 blocked 'which?'
        taken c                                 -> c:m1 input-required 'which?', pending 0
        idle c ''                               -> c:m2 written
    "

    a_second_question_is_not_answered_by_the_answer_to_the_first "
        session add c claude
        send c m1 'look'
        taken c
        update c:m1 blocked 'which?'
        idle c ''
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1, written, answer 'this'
        // It has read the answer and asks again; that it has read it is heard after that.
        update c:m1 blocked 'and how?'
        taken c                                 -> c:m1 input-required 'and how?', pending 0
    "

    what_is_said_on_a_blocked_task_is_written_when_nobody_has_the_lane "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        send c:m1 f1 'more'                     -> c:m1 pending 1
        update c:m1 blocked 'which?'
        deny p1
        gone c p1
        idle c ''                               -> c:m1 written, correction 'more'
    "

    what_is_said_to_a_task_that_waits_for_its_ask_is_written_when_nobody_has_the_lane "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        idle c ''                               -> c:m1 waits for its ask
        send c:m1 f1 'never mind tests'         -> c:m1 pending 1, written, correction 'never mind tests'
    "

    what_was_not_read_is_pending_until_it_is "
        session add c claude
        send c m1 'look'
        taken c
        send c:m1 f1 'one'                      -> c:m1 pending 1, written, correction 'one'
        send c:m1 f2 'two'                      -> c:m1 pending 2, written, correction 'two'
        taken c                                 -> c:m1 pending 1
        taken c                                 -> c:m1 pending 0
        crash
        trace c landed yes yes no
        show c:m1                               -> c:m1 working, pending 1, delivered, started, from the owner
    "

    a_task_that_waits_for_its_asker_is_not_written "
        session add c claude
        send c m1 'look'
        never c soon 'no'
        update c:m1 blocked 'which?' by owner   -> c:m1 input-required 'which?'
        wait 1                                  -> nothing
    "

    a_task_that_waits_for_its_asker_is_not_recovered_before_the_answer "
        session add c claude
        send c m1 'look'
        taken c
        session stop c
        lost c
        trace c landed yes
        update c:m1 blocked 'which?' by owner   -> c:m1 input-required 'which?'
        session start c                         -> session c ready
    "

    nothing_is_written_to_a_program_that_waits_for_a_person_between_two_turns "
        session add c claude
        say c s1 'hello'
        taken c
        idle c ''
        prompt c p1                             -> prompt p1 open
        send c m1 'look'                        -> c:m1 submitted, place 1
        allow p1                                -> prompt p1 allowed, the program is told; c:m1 written
    "

    nothing_is_left_of_a_removed_session_whose_program_did_not_start "
        session add c claude
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        session remove c
        never c soon 'it was stopped before it began'
        show a1                                 -> ask a1 ended completed 'fine'
    "

    nothing_is_left_of_a_removed_session_that_refused_what_was_written "
        session add c claude
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        session remove c
        notrun c
        idle c ''
        stopped c ''
        show a1                                 -> ask a1 ended completed 'fine'
    "

    a_result_that_is_refused_three_times_waits_for_the_session_to_start_again "
        session add c claude
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', its program starts, brought 'fine' to c
        notrun c
        idle c ''                               -> ask a1 brought 'fine' to c, attempt 2
        notrun c
        idle c ''                               -> ask a1 brought 'fine' to c, attempt 3
        notrun c                                -> session c stopped 'its program did not take it, three times in ten minutes'
        idle c ''                               -> nothing
        session start c                         -> session c ready; ask a1 brought 'fine' to c, attempt 4
    "

    a_result_for_a_task_that_ended_meanwhile_is_still_brought_when_it_is_refused "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c ''
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to c
        cancel c:m1
        notrun c
        idle c ''                               -> ask a1 brought 'fine' to c, attempt 2
    "

    a_result_for_a_task_that_ended_meanwhile_is_still_brought_when_the_program_did_not_start "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c ''
        exit c 0
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', its program starts, brought 'fine' to c
        cancel c:m1
        never c soon 'no'
        wait 1                                  -> ask a1 its program starts, brought 'fine' to c, attempt 2
    "

    a_persons_message_that_is_refused_three_times_is_not_dropped_without_a_word "
        session add c claude
        say c s1 'hello'
        notrun c
        notrun c
        notrun c
        feed                                    -> c added, c said, c stopped
    "

    a_question_that_was_answered_while_the_program_did_not_start_is_not_brought "
        session add c claude
        session add w claude
        ask a1 home/w 'run' by c
        taken w
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?', its program starts, brought 'which?' to c
        send w:a1 f1 'this'
        never c soon 'no'
        wait 1                                  -> nothing
    "

    a_task_that_waits_does_not_hold_the_lane_for_an_outcome_that_is_none_any_more "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c
        taken w
        idle w ''
        idle c ''                               -> c:m1 waits for its ask
        exit c 0
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?', its program starts, brought 'which?' to c
        crash
        send w:a1 f1 'this'
        trace c neither                         -> nothing
        send c m2 'next'                        -> c:m2 submitted, its program starts, written
    "

    more_on_a_task_is_not_taken_along_by_a_recover_that_does_not_show_it "
        session add c claude
        send c m1 'look'
        taken c
        lost c
        send c:m1 f1 'more'
        trace c landed yes                      -> c:m1 its program starts, written, recover, written, correction 'more'
    "

    more_on_a_task_is_not_taken_along_by_a_recap_that_does_not_show_it "
        session add c claude
        send c m1 'look'
        taken c
        compacted c
        session stop c
        send c:m1 f1 'more'                     -> c:m1 pending 1
        idle c ''
        stopped c ''
        session start c                         -> session c ready; c:m1 its program starts, written, recap, written, correction 'more'
        taken c
        taken c
        show c:m1                               -> c:m1 working, delivered, started, from the owner
    "

    what_was_written_and_not_taken_begins_the_next_turn_alone "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        offer a1 call-1 by c
        say c s1 'hello'                        -> session c written, said 'hello'
        idle c ''                               -> nothing
        taken c
        idle c ''                               -> ask a1 brought 'fine' to c
    "

    what_was_shown_may_be_offered_again "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        offer a1 call-1 by c
        seen c call-1                           -> nothing
        offer a1 call-2 by c                    -> nothing
        idle c ''                               -> ask a1 told
    "

    nothing_is_planned_for_a_removed_session_that_asks_and_rests "
        session add c claude
        session add tests
        say c s1 'hello'
        taken c
        compacted c
        session remove c
        ask a1 home/tests 'run' by old:c
        idle c ''
        stopped c ''
        show a1                                 -> ask a1 open submitted
    "

    who_speaks_of_a_task_has_not_therefore_read_what_its_program_was_started_for "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c ''
        exit c 0
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', its program starts, brought 'fine' to c
        say c s1 'how is it?'                   -> session c written, said 'how is it?'
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
        notrun c
        idle c ''
        show a1                                 -> ask a1 ended completed 'fine', telling
    "

    a_task_does_not_wait_for_an_ask_whose_question_it_was_told "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c
        taken w
        update w:a1 blocked 'which?'
        offer a1 call-1 by c
        seen c call-1                           -> nothing
        idle c ''                               -> ask a1 told
    "

    a_question_is_told_once_whatever_else_changes_of_its_task "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c
        taken w
        prompt w p1
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?'
        idle c ''                               -> ask a1 brought 'which?' to c
        taken c                                 -> ask a1 told
        allow p1                                -> prompt p1 allowed, the program is told
        idle c ''                               -> nothing
    "

    a_task_whose_answer_is_written_as_its_turn_ends_has_the_lane "
        session add c claude
        session add tests
        say c s1 'run them'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c ''
        send c m1 'look'
        send c m2 'next'
        taken c
        ask a2 home/tests 'run' by c
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'; tests:a2 starts
        offer a1 call-1 by c
        update c:m1 blocked 'which?'            -> c:m1 input-required 'which?'
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1
        idle c ''                               -> c:m1 written, answer 'this'
        taken c                                 -> c:m1 working, pending 0
        idle c ''                               -> c:m1 waits for its ask; ask a1 brought 'fine' to c
    "

    a_task_that_is_read_after_an_interrupt_has_the_lane_again "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        busy c
        session interrupt c                     -> c:m1 is interrupted
        // What was cut short is a turn of its own accord.
        idle c ''                               -> nothing
        taken c                                 -> c:m1 working
        idle c ''                               -> nothing
    "

    more_on_a_task_that_waits_in_the_queue_keeps_no_reminder_away "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        idle c ''
        send c:m2 f1 'more'                     -> c:m2 pending 1
        wait 330                                -> c:m1 written, reminder of c:m1
    "

    news_for_a_task_that_waits_keeps_no_reminder_away_from_the_one_that_has_the_lane "
        session add c claude
        session add tests
        send c m1 'look'
        send c m2 'next'
        taken c
        ask a1 home/tests 'run' by c
        idle c ''                               -> c:m1 waits for its ask; c:m2 written
        taken c
        idle c ''
        began tests
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        wait 330                                -> c:m2 written, reminder of c:m2
    "

    a_task_that_waits_does_not_hold_the_lane_for_a_question_that_was_answered "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c
        taken w
        idle c ''                               -> c:m1 waits for its ask
        exit c 0
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?', its program starts, brought 'which?' to c
        never c soon 'no'
        send w:a1 f1 'this'
        wait 1                                  -> nothing
        send c m2 'next'                        -> c:m2 submitted, its program starts, written
    "

    nobody_is_reminded_of_a_task_that_came_to_wait_for_its_asker "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 330                                -> c:m1 written, reminder of c:m1
        update c:m1 blocked 'which?'            -> c:m1 input-required 'which?'
        notrun c
        idle c ''                               -> nothing
    "
}
