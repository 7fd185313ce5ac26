//! Asks of this same machine, and how an outcome reaches the session that asked.

rules! {
    an_ask_here_is_a_task_in_the_same_commit_and_is_known_to_follow_it "
        session add tests
        session add asker
        ask a1 home/tests 'x' by asker          -> tests:a1 submitted, starts; ask a1 open submitted
        show tests:a1                           -> tests:a1 submitted, from this machine (home/asker)
        began tests                             -> tests:a1 working; ask a1 open working
        update tests:a1 blocked 'which?'        -> tests:a1 input-required 'which?'; ask a1 open input-required 'which?'
        crash                                   -> tests:a1 is settled
        send tests:a1 f1 'main' by asker        -> tests:a1 submitted, pending 1; ask a1 open submitted
        trace tests exit 0                      -> tests:a1 starts, answer 'main'
        began tests                             -> tests:a1 working, pending 0; ask a1 open working
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
    "

    the_same_ask_again_is_the_same_ask "
        session add tests
        session add asker
        ask a1 home/tests 'x' by asker
        ask a1 home/tests 'x' by asker          -> again ask a1 open submitted
        ask a1 home/tests 'x'                   -> again ask a1 open submitted
        ask a1 home/tests 'other'               -> refused 'was used for another text on 2026-10-08 09:15:02 UTC (task tests:a1)'
        send tests a1 'x'                       -> again tests:a1 submitted
        crash
        ask a1 home/tests 'x' by asker          -> again ask a1 open submitted
        trace tests exit 0 'fine'
        ask a1 home/tests 'x' by asker          -> again ask a1 ended completed 'fine'
        ask a1 home/tests 'other' by asker      -> refused 'was used for another text'
        crash
        ask a1 home/tests 'x' by asker          -> again ask a1 ended completed 'fine'
        ask a2 home/tests 'x' & ask a2 home/tests 'x' -> again ask a2 open submitted; tests:a2 submitted, starts; ask a2 open submitted
    "

    a_message_that_was_sent_before_can_be_asked_for "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        ask m2 home/tests 'y'                   -> ask m2 open submitted
        exit tests 0 'a'                        -> tests:m1 completed 'a'; tests:m2 starts
        exit tests 0 'b'                        -> tests:m2 completed 'b'; ask m2 ended completed 'b'
        ask m1 home/tests 'x'                   -> ask m1 ended completed 'a'
        ask m1 home/tests 'x'                   -> again ask m1 ended completed 'a'
        ask m3 home/tests 'x' & ask m1 home/tests 'other' -> tests:m3 submitted, starts; ask m3 open submitted; refused 'was used for another text'
    "

    an_ask_of_an_unknown_session_leaves_no_record "
        session add tests
        ask a1 home/test 'x'                    -> refused 'did you mean tests?'
        ask a1 home/tests ' '                   -> refused 'no text'
        ask a1 home/tests 'x'                   -> tests:a1 submitted, starts; ask a1 open submitted
    "

    canceling_an_ask_here_cancels_its_task "
        session add tests
        session add asker
        ask a1 home/tests 'x' by asker
        ask a2 home/tests 'y' by asker
        drop a2                                 -> tests:a2 canceled 'canceled by this machine (home/asker)'; ask a2 ended canceled 'canceled by this machine (home/asker)'
        drop a1                                 -> tests:a1 canceled 'canceled by this machine (home/asker) | (it was being started: it may have begun)', is stopped; ask a1 ended canceled 'canceled by this machine (home/asker) | (it was being started: it may have begun)'
        drop a1                                 -> refused 'task tests:a1 is already canceled'
        crash
        drop a1                                 -> refused 'task tests:a1 is already canceled'
    "

    a_result_is_brought_once_to_a_session_that_takes_turns "
        session add tests
        session add asker turns
        send asker w1 'work'
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        show a1                                 -> ask a1 ended completed 'fine', telling
        crash
        trace asker exit 0 'worked'             -> asker:w1 completed 'worked'; ask a1 brought 'fine' to asker
        began asker                             -> ask a1 told
        exit asker 0                            -> nothing
        show a1                                 -> ask a1 ended completed 'fine', told
        wait 3600                               -> nothing
        crash                                   -> nothing
    "

    results_go_before_new_tasks_and_after_answers "
        session add tests
        session add asker turns
        send asker w1 'one'
        began asker
        update asker:w1 blocked 'which?'
        exit asker 0
        send asker w2 'two'
        send asker w3 'three'
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'
        send asker:w1 f1 'main'
        exit asker 0 'two'                      -> asker:w2 completed 'two'; asker:w1 starts, answer 'main'
        exit asker 0 'one'                      -> asker:w1 completed 'one'; ask a1 brought 'fine' to asker
        exit asker 0                            -> ask a1 told; asker:w3 starts
    "

    a_result_starts_at_once_in_an_idle_session "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        exit tests 3 'bad'                      -> tests:a1 failed 'exit code 3 | bad'; ask a1 ended failed 'exit code 3 | bad', brought 'exit code 3 | bad' to asker
    "

    a_command_is_never_run_by_a_result "
        session add tests
        session add asker
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'        -> tests:a1 input-required 'which?'; ask a1 open input-required 'which?'
        send tests:a1 f1 'main' by asker
        exit tests 0
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        show a1                                 -> ask a1 ended completed 'fine'
        wait 3600                               -> nothing
    "

    what_the_asker_took_itself_is_not_brought_again "
        session add tests
        session add asker turns
        send asker w1 'work'
        ask a1 home/tests 'x' by asker
        told a1                                 -> nothing
        exit tests 0 'fine'
        told a1                                 -> ask a1 told
        told a1                                 -> nothing
        exit asker 0                            -> asker:w1 completed '(no output)'
        crash                                   -> nothing
    "

    who_asked_without_a_session_is_told_when_its_connection_took_it "
        session add tests
        ask a1 home/tests 'x'
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        crash
        told a1                                 -> ask a1 told
        told a1                                 -> nothing
        show a1                                 -> ask a1 ended completed 'fine', told
    "

    a_result_that_was_cut_off_is_brought_again_and_marked "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'
        crash                                   -> ask a1 is settled
        trace asker neither                     -> nothing
        wait 1                                  -> ask a1 brought 'fine' to asker, attempt 2
        began asker                             -> ask a1 told
        crash
        trace asker began                       -> ask a1 not told, brought 'fine' to asker, attempt 3, a repeat
        exit asker 0                            -> ask a1 told
        show a1                                 -> ask a1 ended completed 'fine', told
    "

    a_question_is_brought_and_then_the_result_too "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'        -> tests:a1 input-required 'which?'; ask a1 open input-required 'which?', brought 'which?' to asker
        began asker                             -> ask a1 told
        send tests:a1 f1 'main' by asker        -> tests:a1 submitted, pending 1; ask a1 open submitted, not told
        exit asker 0                            -> nothing
        exit tests 0                            -> tests:a1 starts, answer 'main'
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to asker
        exit asker 0                            -> ask a1 told
    "

    a_question_that_was_answered_meanwhile_is_not_brought "
        session add tests
        session add asker turns
        send asker w1 'work'
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'
        show a1                                 -> ask a1 open input-required 'which?', telling
        send tests:a1 f1 'main'
        show a1                                 -> ask a1 open submitted
        exit asker 0                            -> asker:w1 completed '(no output)'
        exit tests 0
        began tests
        update tests:a1 blocked 'and when?'     -> tests:a1 input-required 'and when?'; ask a1 open input-required 'and when?', brought 'and when?' to asker
    "

    an_end_that_comes_before_the_question_was_brought_is_brought_in_its_place "
        session add tests
        session add asker turns
        send asker w1 'work'
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'
        update tests:a1 done 'found it'
        exit asker 0                            -> asker:w1 completed '(no output)'; ask a1 brought 'found it' to asker
        exit asker 0                            -> ask a1 told
    "

    an_end_that_comes_while_the_question_is_being_brought_follows_it "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'
        update tests:a1 done 'found it'         -> tests:a1 completed 'found it'; ask a1 ended completed 'found it'
        began asker                             -> nothing
        crash
        trace asker exit 0                      -> ask a1 brought 'found it' to asker
        exit asker 0                            -> ask a1 told
        show a1                                 -> ask a1 ended completed 'found it', told
    "

    what_is_brought_again_is_what_is_known_by_then "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?'        -> tests:a1 input-required 'which?'; ask a1 open input-required 'which?', brought 'which?' to asker
        send tests:a1 f1 'main'
        never asker soon                        -> nothing
        wait 10                                 -> nothing
        exit tests 0
        began tests
        update tests:a1 blocked 'and when?'     -> tests:a1 input-required 'and when?'; ask a1 open input-required 'and when?', brought 'and when?' to asker
        began asker                             -> ask a1 told
        update tests:a1 done 'found it'         -> tests:a1 completed 'found it'; ask a1 ended completed 'found it', not told
        crash
        trace asker began                       -> ask a1 brought 'found it' to asker, attempt 2, a repeat
        never asker soon                        -> nothing
        wait 1                                  -> ask a1 brought 'found it' to asker, attempt 3, a repeat
        exit asker 0                            -> ask a1 told
    "

    an_end_in_one_batch_with_its_question_is_brought_alone "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        began tests
        update tests:a1 blocked 'which?' & update tests:a1 done 'found it' -> tests:a1 completed 'found it'; ask a1 ended completed 'found it', brought 'found it' to asker
        exit asker 0                            -> ask a1 told
    "

    a_result_is_kept_while_its_session_cannot_be_started "
        session add tests
        session add asker turns
        ask a1 home/tests 'x' by asker
        exit tests 0 'fine'
        unspawned asker 'no such program'       -> session asker stopped 'no such program'
        show a1                                 -> ask a1 ended completed 'fine', telling
        crash                                   -> nothing
        session start asker                     -> session asker ready; ask a1 brought 'fine' to asker
        never asker counted 'no'
        wait 1
        never asker counted 'no'
        wait 1
        never asker counted 'no'                -> session asker stopped 'no'
        session start asker                     -> session asker ready; ask a1 brought 'fine' to asker
        exit asker 0                            -> ask a1 told
    "

    a_session_that_asks_itself_gets_its_result_after_its_turn "
        session add asker turns
        send asker w1 'work'
        began asker
        ask a1 home/asker 'later' by asker      -> asker:a1 submitted, place 1; ask a1 open submitted
        exit asker 0 'worked'                   -> asker:w1 completed 'worked'; asker:a1 starts
        exit asker 0 'later done'               -> asker:a1 completed 'later done'; ask a1 ended completed 'later done', brought 'later done' to asker
    "
}
