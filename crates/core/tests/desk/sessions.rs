//! Sessions stop, start and go; a new one inherits nothing.

rules! {
    a_stopped_session_keeps_its_queue_and_goes_on_when_it_is_started "
        session add tests
        session stop tests                      -> session tests stopped 'by the owner'
        send tests m1 'x'                       -> tests:m1 submitted, place 1
        send tests m2 'y'                       -> tests:m2 submitted, place 2
        crash                                   -> nothing
        session stop tests                      -> nothing
        session start tests                     -> session tests ready; tests:m1 starts
        session start tests                     -> nothing
    "

    a_stop_ends_the_turn_that_runs "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        session stop tests                      -> session tests stopped 'by the owner'; tests:m1 is stopped
        stopped tests 'half'                    -> tests:m1 failed 'interrupted: its session was stopped | half'
        wait 600                                -> nothing
        session start tests                     -> session tests ready; tests:m2 starts
    "

    a_stop_before_the_start_was_seen_keeps_the_task "
        session add tests
        send tests m1 'x'
        session stop tests                      -> session tests stopped 'by the owner'; tests:m1 is stopped
        never tests soon 'stopped'              -> nothing
        wait 600                                -> nothing
        crash                                   -> nothing
        session start tests                     -> session tests ready; tests:m1 starts, attempt 2
    "

    a_stopped_run_is_not_run_again_after_a_crash "
        session add tests rerun
        send tests m1 'x'
        began tests
        session stop tests
        crash                                   -> tests:m1 is settled
        trace tests began                       -> tests:m1 failed 'interrupted: *'
    "

    a_session_that_is_started_while_its_turn_is_being_stopped_goes_on_after_it "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        session stop tests
        session start tests                     -> session tests ready
        stopped tests                           -> tests:m1 failed 'interrupted: its session was stopped'; tests:m2 starts
    "

    removing_a_session_cancels_what_is_open_and_frees_the_name "
        session add tests
        session add other
        send tests m1 'x'
        send tests m2 'y'
        began tests
        session remove tests                    -> tests:m1 canceled 'canceled: the session 'tests' was removed', is stopped; tests:m2 canceled 'canceled: the session 'tests' was removed'; session tests removed
        send tests m3 'z'                       -> refused 'no session 'tests' on home'
        session start tests                     -> refused 'no session 'tests' on home'
        crash                                   -> tests:m1 is settled
        trace tests began                       -> nothing
        show tests:m2                           -> tests:m2 canceled 'canceled: the session 'tests' was removed', ended, from the owner
    "

    a_new_session_under_an_old_name_inherits_nothing "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        exit tests 0 'old'                      -> tests:m1 completed 'old'; tests:m2 starts
        began tests
        session remove tests
        session add tests                       -> session tests ready
        send tests m1 'x'                       -> tests:h-* submitted, starts
        send tests m1 'x'                       -> again tests:h-* submitted
        send tests m2 'other'                   -> tests:h-* submitted, place 1
        send tests m3 'new'                     -> tests:m3 submitted, place 2
        exit tests#2 0 'late'                   -> nothing
        exit tests 0 'new'                      -> tests:h-* completed 'new'; tests:h-* starts
        show tests:m1                           -> tests:m1 completed 'old', delivered, started, ended, from the owner
    "

    a_late_word_from_an_old_session_touches_nothing_of_the_new_one "
        session add tests
        send tests m1 'x'
        began tests
        session remove tests & session add tests & send tests m9 'y' -> tests:m1 canceled 'canceled: the session 'tests' was removed', is stopped; session tests removed; session tests ready; tests:m9 submitted, starts
        update tests:m1 done 'late' by old:tests -> refused 'already canceled'
        update tests:m9 done 'late' by old:tests -> refused 'belongs to the session 'tests''
        update tests:m1 done 'late' by tests    -> refused 'belongs to the session'
        began tests#1                           -> nothing
        exit tests#1 0 'late'                   -> nothing
        crash                                   -> tests:m9 is settled
        update tests:m1 done 'late' by old:tests -> refused 'already canceled'
    "

    a_name_is_taken_once_and_must_be_a_name "
        session add tests
        session add tests                       -> refused 'already a session 'tests' on this machine'
        session add owner                       -> refused 'reserved'
        session add a/b                         -> refused 'cannot be a session's name'
        session remove nobody                   -> refused 'no session 'nobody' on home'
        machine house
        session remove nobody                   -> refused 'no session 'nobody' on house'
        session stop test                       -> refused 'did you mean tests?'
        crash
        session add tests                       -> refused 'already a session 'tests' on this machine'
        session remove tests
        crash
        session add tests                       -> session tests ready
    "

    sessions_are_the_owners_to_manage "
        session add tests
        session add other
        session add third by tests              -> refused 'is the owner's to do'
        session stop other by tests             -> refused 'is the owner's to do'
        session start other by tests            -> refused 'is the owner's to do'
        session remove other by tests           -> refused 'is the owner's to do'
        session add third by @laptop            -> session third ready
    "

    removing_an_asking_session_ends_its_asks_and_gives_it_no_turn "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker          -> tests:a1 submitted, starts; ask a1 open submitted
        ask a2 laptop/tests 'y' by asker        -> ask a2 unsent, send 1
        reply a2 away
        ask a3 laptop/tests 'z' by asker
        reply a3 task 1 working
        session remove asker                    -> tests:a1 canceled 'canceled by this machine (home/asker) | (it was being started: it may have begun)', is stopped; ask a1 ended canceled 'canceled by this machine (home/asker) | (it was being started: it may have begun)'; ask a2 ended canceled 'canceled before it was sent'; ask a3 cancel, cancel 2; session asker removed
        reply a3 task 2 canceled 'as you wish'  -> ask a3 ended canceled 'as you wish'
        stopped tests                           -> nothing
        wait 3600                               -> nothing
        crash                                   -> nothing
    "

    removing_a_session_voids_the_result_that_waits_for_it "
        session add tests
        session add asker turns
        send asker w1 'work'
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'
        show a1                                 -> ask a1 ended completed 'fine', telling
        session remove asker                    -> asker:w1 canceled 'canceled: the session 'asker' was removed | (it was being started: it may have begun)', is stopped; session asker removed
        show a1                                 -> ask a1 ended completed 'fine'
        stopped asker#1                         -> nothing
        crash                                   -> nothing
    "

    removing_a_session_voids_the_result_that_it_was_being_brought "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to asker
        session remove asker                    -> ask a1 is stopped; session asker removed
        never asker#1 soon                      -> nothing
        wait 600                                -> nothing
        crash                                   -> nothing
        show a1                                 -> ask a1 ended completed 'fine'
    "
}
