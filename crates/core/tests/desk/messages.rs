//! One message id is one task.

rules! {
    the_same_message_again_is_the_same_task "
        session add tests
        send tests m0 'first'
        send tests m1 'run it'                  -> tests:m1 submitted, place 1
        send tests m1 'run it'                  -> again tests:m1 submitted
        crash
        send tests m1 'run it'                  -> again tests:m1 submitted
        trace tests began                       -> tests:m0 failed 'interrupted: the command was cut off after it had begun (a crash, or the end of its daemon), and it was not run again. Send a new message to run it again.'; tests:m1 starts
        send tests m1 'run it'                  -> again tests:m1 submitted
        began tests                             -> tests:m1 working
        send tests m1 'run it'                  -> again tests:m1 working
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'
        send tests m1 'run it'                  -> again tests:m1 completed 'fine'
        crash
        send tests m1 'run it'                  -> again tests:m1 completed 'fine'
        show tests:m1                           -> tests:m1 completed 'fine', delivered, started, ended, from the owner
    "

    a_message_that_races_with_itself_is_one_task "
        session add tests
        send tests m1 'x' & send tests m1 'x' & send tests m1 'x' by @laptop -> again tests:m1 submitted; again tests:m1 submitted; tests:m1 submitted, starts
    "

    a_message_whose_commit_failed_was_never_sent "
        session add tests
        fail send tests m1 'x'                  -> nothing
        send tests m1 'other'                   -> tests:m1 submitted, starts
    "

    the_owner_is_one_sender_by_any_device_and_session "
        session add tests
        session add asker
        send tests m1 'run it'                  -> tests:m1 submitted, starts
        send tests m1 'run it' by @laptop       -> again tests:m1 submitted
        send tests m1 'run it' by @phone claim phone/chat -> again tests:m1 submitted
        send tests m1 'run it' by asker         -> again tests:m1 submitted
        show tests:m1                           -> tests:m1 submitted, from the owner
        send tests m2 'run it' by @laptop       -> tests:m2 submitted, place 1
        send tests m2 'run it'                  -> again tests:m2 submitted
        show tests:m2                           -> tests:m2 submitted, place 1, from laptop.mesh
        send tests m3 'x' by @laptop claim laptop/webapp
        show tests:m3                           -> tests:m3 submitted, place 2, from laptop.mesh (laptop/webapp)
        send tests m4 'x' by @laptop claim laptop/owner
        show tests:m4                           -> tests:m4 submitted, place 3, from laptop.mesh (laptop/owner)
        send tests m5 'x' by asker claim laptop/webapp
        show tests:m5                           -> tests:m5 submitted, place 4, from this machine (home/asker)
    "

    a_claim_that_names_nobody_is_not_shown "
        session add tests
        send tests m1 'x' by @laptop claim webapp
        send tests m2 'x' by @laptop claim '[shrooms] the owner'
        send tests m3 'x' by @laptop claim '[shrooms] I am/owner'
        send tests m4 'x' by @laptop claim /owner
        show tests:m1                           -> tests:m1 submitted, from laptop.mesh
        show tests:m2                           -> tests:m2 submitted, place 1, from laptop.mesh
        show tests:m3                           -> tests:m3 submitted, place 2, from laptop.mesh
        show tests:m4                           -> tests:m4 submitted, place 3, from laptop.mesh
    "

    the_same_id_with_other_text_is_refused_and_the_refusal_says_when_it_was_used "
        session add tests
        send tests m1 'run it'
        wait 60
        send tests m1 'run that'                -> refused 'was used for another text on 2026-10-08 09:15:02 UTC (task tests:m1)'
        send tests m1 'run that' by @laptop     -> refused 'was used for another text'
        exit tests 0 'fine'
        send tests m1 'run that'                -> refused 'was used for another text on 2026-10-08 09:15:02 UTC (task tests:m1)'
        crash
        send tests m1 'run that'                -> refused 'was used for another text'
        send tests m1 'run it'                  -> again tests:m1 completed 'fine'
    "

    an_id_whose_task_is_no_longer_kept_never_runs_again "
        session add tests
        send tests m1 'run it'
        exit tests 0 'fine'
        forget tests:m1
        send tests m1 'run it'                  -> refused 'was task tests:m1, which ended on 2026-10-08 09:15:02 UTC and is no longer kept'
        send tests m1 'other'                   -> refused 'was used for another text'
        update tests:m1 done 'x' by owner       -> refused 'no task'
    "

    follow_ups_are_deduplicated_per_task "
        session add tests
        send tests m1 'one'
        send tests m2 'two'
        send tests:m1 f1 'more'                 -> tests:m1 pending 1
        send tests:m1 f1 'more'                 -> again tests:m1 submitted
        send tests:m1 f1 'more' by @laptop      -> again tests:m1 submitted
        send tests:m1 f1 'else'                 -> refused 'was used for another text'
        send tests:m2 f1 'else'                 -> tests:m2 pending 1
        crash
        send tests:m1 f1 'more'                 -> again tests:m1 submitted
        send tests:m2 f1 'else'                 -> again tests:m2 submitted
        trace tests exit 0 'fine'
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'; tests:m2 starts*
        send tests:m1 f1 'more'                 -> again tests:m1 completed 'fine'
        send tests:m1 f1 'else'                 -> refused 'was used for another text'
        send tests:m1 f2 'late'                 -> refused 'already completed since 2026-10-08 09:15:02 UTC; a final state does not change: send a new message, and name this task in referenceTaskIds'
        crash
        send tests:m1 f1 'more'                 -> again tests:m1 completed 'fine'
        send tests:m1 f1 'more' & send tests:m1 f1 'more' -> again tests:m1 completed 'fine'; again tests:m1 completed 'fine'
    "

    a_follow_up_with_the_id_of_the_task_itself_is_no_answer "
        session add tests
        send tests m1 'one'
        began tests
        update tests:m1 blocked 'which?'
        send tests:m1 m1 'one'                  -> again tests:m1 input-required 'which?'
        send tests:m1 m1 'that one'             -> refused 'was used for another text on 2026-10-08 09:15:02 UTC (task tests:m1)'
        send tests:m1 f1 'that one'             -> tests:m1 submitted, pending 1
    "

    a_new_task_may_have_the_id_of_a_follow_up "
        session add tests
        send tests m1 'one'
        send tests:m1 f1 'more'
        send tests f1 'new'                     -> tests:f1 submitted, place 1
    "

    ids_are_literal_or_hashed_and_a_taken_one_is_hashed "
        session add tests
        send tests my.Client_0-1 'x'            -> tests:my.Client_0-1 submitted, starts
        send tests a/b 'x'                      -> tests:h-* submitted, place 1
        send tests a/b 'x'                      -> again tests:h-* submitted
        session remove tests
        session add tests
        send tests my.Client_0-1 'x'            -> tests:h-* submitted, starts
    "

    an_unknown_session_is_an_error_that_names_near_matches "
        session add tests
        session add review
        send test m1 'x'                        -> refused ' on home; did you mean tests?'
        send reveiw m1 'x'                      -> refused 'did you mean review?'
        send zzzzzz m1 'x'                      -> refused ' on home'
        send tests:m9 f1 'x'                    -> refused 'no task'
        session remove tests
        send test m1 'x'                        -> refused ' on home'
    "

    a_task_of_another_session_with_the_same_id_is_another_task "
        session add tests
        session add review
        send tests m1 'x'                       -> tests:m1 submitted, starts
        send review m1 'y'                      -> review:m1 submitted, starts
    "
}
