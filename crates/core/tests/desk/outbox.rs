//! What the worker's machine tells the asker's.

rules! {
    only_a_task_that_a_device_sent_with_an_asks_id_is_reported "
        session add tests
        session add asker
        send tests m1 'x' by @laptop
        send tests m2 'x' by @laptop for A7
        send tests m3 'x' for A8
        send tests m4 'x' by asker for A9
        exit tests 0 'a'                        -> tests:m1 completed 'a'; tests:m2 starts
        exit tests 0 'b'                        -> tests:m2 completed 'b'; report tests:m2 completed 'b', try 0; tests:m3 starts
        exit tests 0 'c'                        -> tests:m3 completed 'c'; tests:m4 starts
        exit tests 0 'd'                        -> tests:m4 completed 'd'
        show outbox                             -> tests:m2 to id-laptop about A7
    "

    only_outcomes_are_reported "
        session add tests
        send tests m1 'x' by @laptop for A7
        began tests                             -> tests:m1 working
        update tests:m1 blocked 'which?'        -> tests:m1 input-required 'which?'; report tests:m1 input-required 'which?', try 0
        reported tests:m1 yes                   -> report tests:m1 gone
        send tests:m1 f1 'main' by @laptop      -> tests:m1 submitted, pending 1
        exit tests 0                            -> tests:m1 starts, answer 'main'
        began tests                             -> tests:m1 working, pending 0
        exit tests 0 'fine'                     -> tests:m1 completed 'fine'; report tests:m1 completed 'fine', try 0
        crash                                   -> report tests:m1 try 0
        reported tests:m1 yes                   -> report tests:m1 gone
        crash                                   -> nothing
    "

    a_newer_report_replaces_one_that_has_not_gone "
        session add tests
        send tests m1 'x' by @laptop for A7
        began tests
        update tests:m1 blocked 'which?'        -> tests:m1 input-required 'which?'; report tests:m1 input-required 'which?', try 0
        reported tests:m1 no                    -> nothing
        update tests:m1 blocked 'or when?'      -> tests:m1 input-required 'or when?'; report tests:m1 gone, input-required 'or when?', try 0
        update tests:m1 done 'fine'             -> tests:m1 completed 'fine'; report tests:m1 gone, completed 'fine', try 0
        wait 1                                  -> nothing
        show outbox                             -> tests:m1 to id-laptop about A7
    "

    of_two_outcomes_in_one_batch_only_the_last_is_told "
        session add tests
        send tests m1 'x' by @laptop for A7
        began tests
        update tests:m1 blocked 'which?' & update tests:m1 done 'fine' -> tests:m1 completed 'fine'; report tests:m1 completed 'fine', try 0
    "

    a_report_that_does_not_arrive_is_tried_with_growing_gaps "
        session add tests
        send tests m1 'x' by @laptop for A7
        exit tests 0 'fine'
        reported tests:m1 no                    -> nothing
        wait 1                                  -> report tests:m1 try 1
        reported tests:m1 no                    -> nothing
        wait 1                                  -> nothing
        crash                                   -> nothing
        wait 1                                  -> report tests:m1 try 2
        fail wait 1                             -> nothing
        crash                                   -> report tests:m1 try 2
        reported tests:m1 no
        wait 3                                  -> nothing
        fail reported tests:m1 yes              -> nothing
        wait 1                                  -> report tests:m1 try 3
        reported tests:m1 no
        wait 8
        reported tests:m1 no
        wait 16
        reported tests:m1 no
        wait 29                                 -> nothing
        wait 1                                  -> report tests:m1 try 6
        reported tests:m1 no
        wait 864000                             -> report tests:m1 try 7
        reported tests:m1 yes                   -> report tests:m1 gone
        wait 3600                               -> nothing
    "

    a_cancel_and_a_removed_session_are_reported_too "
        session add tests
        send tests m1 'x' by @laptop for A7
        send tests m2 'y' by @phone for A8
        cancel tests:m1 by @laptop              -> tests:m1 canceled 'canceled by laptop.mesh | (it was being started: it may have begun)', is stopped; report tests:m1 canceled 'canceled by laptop.mesh | (it was being started: it may have begun)', try 0
        session remove tests                    -> tests:m2 canceled 'canceled: the session 'tests' was removed'; report tests:m2 canceled 'canceled: the session 'tests' was removed', try 0; session tests removed
        show outbox                             -> tests:m1 to id-laptop about A7; tests:m2 to id-phone about A8
    "

    reports_are_numbered_so_that_a_later_one_is_newer "
        session add tests
        send tests m1 'x' by @laptop for A7
        began tests
        update tests:m1 blocked 'which?'
        seq tests:m1                            -> seq 3
        send tests:m1 f1 'main'
        exit tests 0
        began tests
        exit tests 0 'fine'
        seq tests:m1                            -> seq 6
        ack tests:m1
        crash                                   -> report tests:m1 try 0
        seq tests:m1                            -> seq 6
    "
}
