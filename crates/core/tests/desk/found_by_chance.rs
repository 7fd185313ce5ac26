//! What the simulation found, each rule at its shortest.

rules! {
    what_may_have_been_read_is_marked_in_the_delivery_that_takes_its_place "
        session add c turns
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to c
        began c                                 -> ask a1 told
        crash
        trace c began                           -> ask a1 not told, brought 'fine' to c, attempt 2, a repeat
        unspawned c 'no such file'              -> session c stopped 'no such file'
        session start c                         -> session c ready; ask a1 brought 'fine' to c, a repeat
    "

    what_may_have_been_read_is_marked_also_after_three_starts_in_vain "
        session add c turns
        session add tests
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        began c
        crash
        trace c began                           -> ask a1 not told, brought 'fine' to c, attempt 2, a repeat
        never c counted 'no'
        wait 10
        never c counted 'no'
        wait 10
        never c counted 'no'                    -> session c stopped 'no'
        session start c                         -> session c ready; ask a1 brought 'fine' to c, a repeat
    "

    the_next_begins_when_the_first_may_not_be_fresh_any_more "
        session add c claude
        session set c fresh on
        send c m0 'look' by @laptop
        taken c
        send c m1 'anew' fresh by @laptop
        send c m2 'next' by @laptop
        session set c fresh off
        update c:m0 done 'ok'                   -> c:m0 completed 'ok'
        idle c ''                               -> c:m1 rejected *not possible here any more*; c:m2 written
    "

    a_result_that_a_refusal_brings_has_the_turn_for_itself "
        session add c claude
        session set c fresh on
        send c m0 'look' by @laptop
        taken c
        ask a1 home/c 'anew' fresh by c
        send c m2 'next' by @laptop
        session set c fresh off
        update c:m0 done 'ok'                   -> c:m0 completed 'ok'
        idle c ''                               -> c:a1 rejected *; ask a1 ended rejected *, brought * to c
        taken c                                 -> ask a1 told
        idle c ''                               -> c:m2 written
    "

    word_of_another_task_of_the_same_ask_is_no_news_of_it "
        ask a1 laptop/tests 'run'
        reply a1 task 1 submitted
        report a1 5 completed 'other' about other:a1 -> nothing
        report a1 5 completed 'other' about other:a1 by @phone -> refused 'not asked'
        report a1 4 completed 'fine'            -> ask a1 ended completed 'fine'
    "

    two_asks_for_one_message_both_hear_of_its_end "
        session add c claude
        session add tests
        ask a1 home/tests 'run'
        session rename tests checks
        ask a1 home/checks 'run' by c
        began checks
        exit checks 0 'fine'                    -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'; ask a1 ended completed 'fine', its program starts, brought 'fine' to c
    "

    an_ask_for_what_another_device_sent_before_hears_of_its_end "
        session add tests
        send tests m1 'run' by @laptop for x-1
        ask m1 home/tests 'run'
        began tests
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'; ask m1 ended completed 'fine'; report tests:m1 completed 'fine', try 0
    "

    an_ask_for_what_another_device_sent_before_hears_of_its_question "
        session add c claude
        session add w claude
        send w m1 'run' by @laptop for x-1
        taken w
        ask m1 home/w 'run' by c
        update w:m1 blocked 'which?'            -> w:m1 input-required 'which?'; report w:m1 input-required 'which?', try 0; ask m1 open input-required 'which?', its program starts, brought 'which?' to c
    "

    an_ask_for_what_has_ended_already_hears_of_it_at_once "
        session add c claude
        session add tests
        send tests m1 'run' by @laptop for x-1
        began tests
        exit tests 0 'fine'
        ask m1 home/tests 'run' by c            -> ask m1 ended completed 'fine', its program starts, brought 'fine' to c
    "

    an_ask_for_what_waits_for_its_asker_already_hears_of_the_question "
        session add c claude
        session add w claude
        send w m1 'run' by @laptop for x-1
        taken w
        update w:m1 blocked 'which?'
        idle w ''
        ask m1 home/w 'run' by c                -> ask m1 open input-required 'which?', its program starts, brought 'which?' to c
        taken c                                 -> ask m1 told
    "

    something_wakes_a_session_that_was_brought_back_while_it_waited "
        session add c claude
        send c m1 'look'
        never c soon 'no'
        session remove c
        crash
        session undo c                          -> session c ready
        send c m2 'next'                        -> c:m2 submitted, place 1
        wait 1                                  -> c:m2 its program starts, written
    "

    a_stalled_task_is_taken_up_again_by_its_recovery "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 300                                -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 60
        taken c
        idle c ''
        wait 120
        taken c
        idle c ''
        wait 300
        taken c
        idle c ''
        wait 600                                -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 1800                               -> c:m1 stalled
        send c:m1 f1 'more'                     -> c:m1 pending 1, written, correction 'more'
        crash
        trace c landed unknown                  -> c:m1 its program starts, written, recover
        taken c                                 -> c:m1 pending 0
        idle c ''
        wait 1800                               -> c:m1 stalled
    "

    a_refusal_of_a_later_try_says_that_an_earlier_one_may_have_arrived "
        ask a1 laptop/tests 'run'               -> ask a1 unsent, send 1
        reply a1 unsure                         -> ask a1 unsure
        wait 1                                  -> ask a1 send 2
        reply a1 refused 'no such agent'        -> ask a1 ended refused 'no such agent | (an earlier try got no answer: whether that one arrived cannot be said)'
        ask a2 laptop/tests 'walk'
        reply a2 refused 'no such agent'        -> ask a2 ended refused 'no such agent'
    "

    a_refusal_after_a_crash_says_that_the_try_before_it_may_have_arrived "
        ask a1 laptop/tests 'run'               -> ask a1 unsent, send 1
        crash                                   -> ask a1 unsure, send 2
        reply a1 refused 'no such agent'        -> ask a1 ended refused 'no such agent | (an earlier try *)'
    "

    what_an_ask_sent_is_the_same_task_whatever_its_session_is_called "
        session add c claude
        send c m1 'look' by @laptop for x-1     -> c:m1 submitted, its program starts, written
        session rename c d
        send c m1 'look' by @laptop for x-1     -> again c:m1 submitted
        session add c claude
        send c m1 'look' by @laptop for x-1     -> again c:m1 submitted
        // Another ask is another message, to the session that has the name now.
        send c m1 'look' by @laptop for x-2     -> c:h-* submitted, its program starts, written
        send c m1 'other' by @laptop for x-1    -> refused 'other'
        taken d
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'; report c:m1 completed 'ok', try 0
        send c m1 'look' by @laptop for x-1     -> again c:m1 completed 'ok'
        session remove d
        session remove c
        send c m1 'look' by @laptop for x-1     -> again c:m1 completed 'ok'
        forget c:m1
        send c m1 'look' by @laptop for x-1     -> refused 'ended on'
    "

    what_a_person_said_goes_into_a_turn_that_the_program_began "
        turns 1
        session add c claude
        session add w claude
        say c s0 'hello'
        taken c
        idle c ''
        send w m1 'look'                        -> w:m1 submitted, its program starts, written
        say c s1 'more'                         -> nothing
        busy c                                  -> session c written, said 'more'
    "

    what_was_said_more_goes_into_a_turn_that_the_program_began "
        turns 1
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        idle c ''
        send w m1 'look'                        -> w:m1 submitted, its program starts, written
        send c:m1 f1 'more'                     -> c:m1 pending 1
        send c m2 'next'                        -> c:m2 submitted, place 1
        busy c                                  -> c:m1 written, correction 'more'
    "

    a_task_does_not_wait_for_the_ask_that_made_it "
        session add c claude
        say c s1 'hello'
        taken c
        idle c ''
        ask a1 home/c 'look' by c               -> c:a1 submitted, written; ask a1 open submitted
        taken c
        idle c ''                               -> nothing
        wait 330                                -> c:a1 written, reminder of c:a1
    "

    a_task_does_not_wait_for_the_ask_that_made_it_and_started_its_program "
        session add c claude
        ask a1 home/c 'look' by c               -> c:a1 submitted, its program starts, written; ask a1 open submitted
        taken c
        idle c ''                               -> nothing
    "

    a_question_has_one_number_for_an_ask_here "
        session add c claude
        session add w claude
        ask a1 home/w 'run' by c
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?', its program starts, brought 'which?' to c
        numbers                                 -> ask a1 2
        taken c                                 -> ask a1 told
        taken w                                 -> nothing
        numbers                                 -> ask a1 2
        idle c ''                               -> nothing
    "

    a_question_has_one_number_for_another_device "
        session add w claude
        send w m1 'run' by @laptop for x-1
        update w:m1 blocked 'which?'            -> w:m1 input-required 'which?'; report w:m1 input-required 'which?', try 0
        numbers                                 -> report w:m1 2
        reported w:m1 yes                       -> report w:m1 gone
        taken w                                 -> report w:m1 input-required 'which?', try 0
        numbers                                 -> report w:m1 2
    "

    a_question_is_told_once_by_all_that_shows_it "
        session add c claude
        ask a1 laptop/tests 'run' by c
        reply a1 task 3 input-required 'which?' -> ask a1 open input-required 'which?', its program starts, brought 'which?' to c
        taken c
        idle c ''
        report a1 3 input-required 'which?'     -> nothing
        wait 600                                -> ask a1 look 2
        reply a1 task 3 input-required 'which?' -> nothing
    "

    an_answer_that_was_not_read_after_all_and_the_question_after_it_are_new_numbers "
        session add w claude
        send w m1 'run' by @laptop for x-1
        taken w
        update w:m1 blocked 'which?'
        idle w ''
        send w:m1 f1 'this'                     -> w:m1 submitted, pending 1, written, answer 'this'; report w:m1 gone
        update w:m1 blocked 'and how?'
        taken w                                 -> w:m1 input-required 'and how?', pending 0; report w:m1 input-required 'and how?', try 0
        numbers                                 -> report w:m1 6
        crash
        trace w landed no                       -> w:m1 submitted, pending 1, its program starts, written, answer 'this', attempt 2
        seq w:m1                                -> seq 7
        taken w                                 -> w:m1 input-required 'and how?', pending 0; report w:m1 gone, input-required 'and how?', try 0
        numbers                                 -> report w:m1 8
    "

    a_reminder_that_was_not_written_names_nobody_who_asked_meanwhile "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        exit c 0
        wait 330                                -> c:m1 its program starts, written, reminder of c:m1
        never c soon 'no'
        update c:m1 blocked 'which?' by owner   -> c:m1 input-required 'which?'
        wait 1                                  -> nothing
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1, its program starts, written, answer 'this'
        taken c                                 -> c:m1 working, pending 0
        idle c ''                               -> nothing
    "

    a_reminder_that_could_not_be_written_names_nobody_who_asked_before "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        exit c 0
        wait 330                                -> c:m1 its program starts, written, reminder of c:m1
        update c:m1 blocked 'which?' by owner   -> c:m1 input-required 'which?'
        never c soon 'no'
        send c:m1 f1 'this'
        wait 1                                  -> c:m1 its program starts, written, answer 'this'
        taken c                                 -> c:m1 working, pending 0
        idle c ''                               -> nothing
    "

    a_reminder_that_was_refused_names_nobody_who_asked_before "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 330                                -> c:m1 written, reminder of c:m1
        update c:m1 blocked 'which?'            -> c:m1 input-required 'which?'
        notrun c
        idle c ''                               -> nothing
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1, written, answer 'this'
        taken c                                 -> c:m1 working, pending 0
        idle c ''                               -> nothing
    "

    a_reminder_that_was_not_written_names_who_is_left "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        session interrupt c
        idle c ''                               -> c:m2 written
        taken c
        session interrupt c
        idle c ''
        exit c 0
        wait 3600                               -> c:m1 its program starts, written, reminder of c:m1 and c:m2
        never c soon 'no'
        update c:m1 blocked 'which?' by owner   -> c:m1 input-required 'which?'
        wait 1                                  -> c:m2 its program starts, written, reminder of c:m2, attempt 2
    "

    a_reminder_that_was_not_written_names_nobody_who_is_done "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        session interrupt c
        idle c ''                               -> c:m2 written
        taken c
        session interrupt c
        idle c ''
        exit c 0
        wait 3600                               -> c:m1 its program starts, written, reminder of c:m1 and c:m2
        never c soon 'no'
        update c:m1 done 'ok' by owner          -> c:m1 completed 'ok'
        wait 1                                  -> c:m2 its program starts, written, reminder of c:m2, attempt 2
    "

    a_correction_that_is_run_again_waits_for_the_asker "
        session add r rerun
        send r m1 'look'
        began r
        send r:m1 f1 'more'                     -> r:m1 pending 1
        exit r 0 'fine'                         -> r:m1 starts, correction 'more'
        began r                                 -> r:m1 pending 0
        crash
        trace r began                           -> r:m1 starts, correction 'more', attempt 2, a repeat
        never r soon 'no'
        update r:m1 blocked 'which?' by owner   -> r:m1 input-required 'which?'
        wait 1                                  -> nothing
        send r:m1 f2 'this'                     -> r:m1 submitted, pending 1, starts, correction 'more', attempt 3, a repeat
    "

    an_answer_that_is_run_again_waits_for_the_asker "
        session add r rerun
        send r m1 'look'
        began r
        update r:m1 blocked 'which?'
        exit r 0
        send r:m1 f1 'this'                     -> r:m1 submitted, pending 1, starts, answer 'this'
        began r                                 -> r:m1 working, pending 0
        crash
        trace r began                           -> r:m1 starts, answer 'this', attempt 2, a repeat
        never r soon 'no'
        update r:m1 blocked 'and how?' by owner -> r:m1 input-required 'and how?'
        wait 1                                  -> nothing
        send r:m1 f2 'so'                       -> r:m1 submitted, pending 1, starts, answer 'this', attempt 3, a repeat
    "
}
