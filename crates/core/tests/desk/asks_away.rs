//! Asks of other machines: stored, then sent; never dropped, never sent as two.

rules! {
    an_ask_is_stored_and_then_sent_once_for_each_attempt "
        session add asker
        ask a1 laptop/tests 'x' by asker        -> ask a1 unsent, send 1
        ask a1 laptop/tests 'x' by asker        -> again ask a1 unsent
        ask a1 laptop/tests 'other' by asker    -> refused 'was used for another text on 2026-10-08 09:15:02 UTC (task laptop/tests)'
        wait 600                                -> nothing
        reply a1 task 1 submitted               -> ask a1 open submitted
        report a1 2 working                     -> ask a1 open working
        report a1 4 completed 'fine'            -> ask a1 ended completed 'fine'
        wait 3600                               -> nothing
        ask a1 laptop/tests 'x' by asker        -> again ask a1 ended completed 'fine'
        crash                                   -> nothing
        ask a1 laptop/tests 'x' by asker        -> again ask a1 ended completed 'fine'
    "

    what_had_arrived_after_all_counts_and_not_the_refusal_of_a_later_try "
        ask a1 laptop/tests 'x'
        reply a1 unsure                         -> ask a1 unsure
        wait 1                                  -> ask a1 send 2
        reply a1 refused 'no session'           -> ask a1 ended refused 'no session | (an earlier try got no answer: whether that one arrived cannot be said)'
        report a1 3 completed 'fine'            -> ask a1 ended completed 'fine', not unsure
        report a1 3 completed 'fine'            -> nothing
        ask a2 laptop/tests 'x'
        reply a2 refused 'no session'           -> ask a2 ended refused 'no session'
        report a2 2 working                     -> ask a2 open working
        report a2 2 working by @phone           -> refused 'from a device that was not asked'
        report a2 3 completed 'fine'            -> ask a2 ended completed 'fine'
        crash                                   -> nothing
    "

    the_same_id_to_another_agent_is_another_ask "
        ask a1 laptop/tests 'x'                 -> ask a1 unsent, send 1
        ask a1 phone/tests 'y'                  -> ask a1 unsent, send 1
    "

    after_a_crash_it_is_sent_again_as_the_same_message_and_may_have_arrived "
        ask a1 laptop/tests 'x'                 -> ask a1 unsent, send 1
        fail wait 1                             -> nothing
        crash                                   -> ask a1 unsure, send 2
        reply a1 to 1 task 1 working            -> nothing
        crash                                   -> ask a1 send 3
        reply a1 task 1 working                 -> ask a1 open working, not unsure
    "

    a_try_that_was_not_under_way_at_the_crash_has_not_arrived "
        ask a1 laptop/tests 'x'
        reply a1 away
        crash                                   -> ask a1 send 2
        reply a1 away                           -> nothing
        show a1                                 -> ask a1 unsent
    "

    a_machine_that_is_away_is_tried_with_growing_gaps_for_ever "
        ask a1 laptop/tests 'x'
        reply a1 away                           -> nothing
        wait 1                                  -> ask a1 send 2
        reply a1 away
        wait 1                                  -> nothing
        wait 1                                  -> ask a1 send 3
        reply a1 away
        wait 3                                  -> nothing
        wait 1                                  -> ask a1 send 4
        reply a1 away
        wait 7                                  -> nothing
        wait 1                                  -> ask a1 send 5
        reply a1 away
        wait 15                                 -> nothing
        wait 1                                  -> ask a1 send 6
        reply a1 away
        wait 29                                 -> nothing
        wait 1                                  -> ask a1 send 7
        reply a1 away
        wait 29                                 -> nothing
        wait 864000                             -> ask a1 send 8
        reply a1 away
        show a1                                 -> ask a1 unsent
        fail wait 1                             -> nothing
        wait 29                                 -> ask a1 send 9
        reply a1 task 3 working                 -> ask a1 open working
    "

    an_ask_that_may_not_wait_fails_when_the_machine_is_away "
        ask a1 laptop/tests 'x' now
        reply a1 away                           -> ask a1 ended refused 'away'
        ask a2 laptop/tests 'y' now
        reply a2 unsure                         -> ask a2 unsure
        wait 1                                  -> ask a2 send 2
        reply a2 away                           -> nothing
        wait 2                                  -> ask a2 send 3
        reply a2 task 1 working                 -> ask a2 open working, not unsure
    "

    a_refusal_ends_it "
        session add asker turns
        ask a1 laptop/tests 'x' by asker
        reply a1 refused 'not allowed'          -> ask a1 ended refused 'not allowed', brought 'not allowed' to asker
        wait 3600                               -> nothing
    "

    nobody_knows_whether_it_arrived_for_a_day_of_served_time_then_it_has_failed "
        ask a1 laptop/tests 'x'
        reply a1 unsure                         -> ask a1 unsure
        wall 864000                             -> nothing
        wait 80000                              -> ask a1 send 2
        reply a1 unsure                         -> nothing
        crash                                   -> ask a1 send 3
        reply a1 away                           -> nothing
        wait 6400                               -> ask a1 send 4
        reply a1 away                           -> nothing
        wait 60                                 -> ask a1 send 5
        reply a1 away                           -> ask a1 ended failed 'failed: for 24 hours nobody could say whether it arrived'
        wait 3600                               -> nothing
    "

    an_open_ask_is_looked_at_now_and_then_and_after_every_start "
        ask a1 laptop/tests 'x'
        reply a1 task 1 working                 -> ask a1 open working
        wait 599                                -> nothing
        wait 1                                  -> ask a1 look 2
        reply a1 away                           -> nothing
        wait 1                                  -> ask a1 look 3
        reply a1 task 1 working                 -> nothing
        crash                                   -> ask a1 look 4
        reply a1 task 2 input-required 'which?' -> ask a1 open input-required 'which?'
        wait 600                                -> ask a1 look 5
        reply a1 refused 'you may not look'     -> nothing
        wait 1                                  -> ask a1 look 6
        reply a1 gone 'no such task'            -> ask a1 ended failed 'no such task'
    "

    looking_at_what_has_not_changed_keeps_no_texts "
        ask a1 laptop/tests 'x'
        reply a1 task 2 input-required 'which?' -> ask a1 open input-required 'which?'
        wait 600
        reply a1 task 2 input-required 'which?' -> nothing
        report a1 2 input-required 'which?'     -> nothing
        texts                                   -> texts 'x', 'which?'
    "

    reports_count_only_from_the_device_that_was_asked "
        ask a1 laptop/tests 'x'
        reply a1 task 1 working
        report a1 2 completed 'mine' by @phone  -> refused 'from a device that was not asked'
        report a1 2 completed 'fine' by @laptop -> ask a1 ended completed 'fine'
        report a1 3 failed 'no' by @phone       -> refused 'from a device that was not asked'
        report nothing 3 failed 'no'            -> refused 'no ask'
        report 01234567-999 3 failed 'no'       -> refused 'no ask'
    "

    an_ask_of_this_machine_takes_no_reports "
        session add tests
        ask a1 home/tests 'x'
        report a1 9 completed 'forged'          -> refused 'from a device that was not asked'
        show a1                                 -> ask a1 open submitted
    "

    a_report_is_news_once_and_old_news_never "
        ask a1 laptop/tests 'x'
        reply a1 task 1 submitted
        report a1 3 input-required 'which?'     -> ask a1 open input-required 'which?'
        report a1 3 input-required 'which?'     -> nothing
        report a1 2 working                     -> nothing
        wait 600
        reply a1 task 2 working                 -> nothing
        crash                                   -> ask a1 look 3
        report a1 3 completed 'forged'          -> nothing
        report a1 5 completed 'fine'            -> ask a1 ended completed 'fine'
        report a1 5 completed 'fine'            -> nothing
        report a1 6 failed 'no'                 -> nothing
        crash                                   -> nothing
        report a1 7 failed 'no'                 -> nothing
        show a1                                 -> ask a1 ended completed 'fine'
    "

    a_report_may_come_before_the_answer_to_the_send "
        ask a1 laptop/tests 'x'
        report a1 2 working                     -> ask a1 open working
        reply a1 task 1 submitted               -> nothing
        report a1 3 completed 'fine'            -> ask a1 ended completed 'fine'
        reply a1 task 2 working                 -> nothing
        ask a2 laptop/tests 'y' & report a2 1 completed 'quick' -> ask a2 ended completed 'quick'
    "

    a_report_settles_that_it_arrived "
        ask a1 laptop/tests 'x'
        reply a1 unsure                         -> ask a1 unsure
        report a1 2 working                     -> ask a1 open working, not unsure
        wait 90000                              -> ask a1 look 2
        reply a1 away                           -> nothing
        show a1                                 -> ask a1 open working
    "

    an_ask_that_was_never_under_way_is_canceled_at_once "
        ask a1 laptop/tests 'x'
        reply a1 away
        drop a1                                 -> ask a1 ended canceled 'canceled before it was sent'
        wait 3600                               -> nothing
        drop a1                                 -> refused 'a1 is already canceled'
    "

    a_canceled_ask_that_is_being_sent_is_not_sent_again_when_nothing_has_left "
        ask a1 laptop/tests 'x'
        drop a1                                 -> ask a1 cancel
        drop a1                                 -> nothing
        reply a1 away                           -> ask a1 ended canceled 'canceled before it was sent'
        wait 3600                               -> nothing
    "

    a_canceled_ask_that_may_have_arrived_is_found_out_and_canceled_there "
        ask a1 laptop/tests 'x'
        reply a1 unsure                         -> ask a1 unsure
        drop a1                                 -> ask a1 cancel, send 2
        reply a1 unsure                         -> nothing
        crash                                   -> ask a1 send 3
        reply a1 task 1 submitted               -> ask a1 open submitted, not unsure, cancel 4
        reply a1 task 2 canceled 'as you wish'  -> ask a1 ended canceled 'as you wish'
    "

    an_open_ask_is_canceled_on_its_machine "
        ask a1 laptop/tests 'x'
        reply a1 task 1 working
        drop a1                                 -> ask a1 cancel, cancel 2
        reply a1 away                           -> nothing
        wait 1                                  -> ask a1 cancel 3
        crash                                   -> ask a1 cancel 4
        reply a1 task 5 completed 'too late'    -> ask a1 ended completed 'too late'
    "

    a_cancel_that_does_not_end_it_at_once_is_not_repeated_at_once "
        ask a1 laptop/tests 'x'
        reply a1 task 1 working
        drop a1                                 -> ask a1 cancel, cancel 2
        reply a1 task 2 working                 -> nothing
        wait 1                                  -> ask a1 cancel 3
        report a1 3 canceled 'as you wish'      -> ask a1 ended canceled 'as you wish'
    "

    a_cancel_that_is_refused_there_does_not_end_the_ask "
        ask a1 laptop/tests 'x'
        reply a1 task 1 working
        drop a1                                 -> ask a1 cancel, cancel 2
        reply a1 refused 'not allowed'          -> ask a1 not cancel
        wait 600                                -> ask a1 look 3
        reply a1 task 2 completed 'fine'        -> ask a1 ended completed 'fine'
    "

    an_answer_to_an_earlier_try_changes_nothing "
        ask a1 laptop/tests 'x'
        reply a1 away
        reply a1 away                           -> nothing
        wait 1                                  -> ask a1 send 2
        reply a1 to 1 task 1 completed 'late'   -> nothing
        reply a1 to 3 task 1 completed 'early'  -> nothing
        reply a1 to 2 task 1 working            -> ask a1 open working
        reply a1 to 2 task 9 completed 'twice'  -> nothing
    "

    the_outcome_from_another_machine_reaches_the_asking_session_once "
        session add asker turns
        ask a1 laptop/tests 'x' by asker
        reply a1 task 1 working
        report a1 2 input-required 'which?'     -> ask a1 open input-required 'which?', brought 'which?' to asker
        report a1 2 input-required 'which?'     -> nothing
        exit asker 0                            -> ask a1 told
        report a1 5 completed 'fine'            -> ask a1 ended completed 'fine', not told, brought 'fine' to asker
        began asker                             -> ask a1 told
        report a1 5 completed 'fine'            -> nothing
        crash
        trace asker exit 0                      -> nothing
        wait 3600                               -> nothing
    "
}
