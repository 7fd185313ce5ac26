//! Workers that go quiet, tasks whose time is over, and the owner's interrupt; on moved time.

rules! {
    five_reminders_on_a_ladder_and_then_the_task_is_stalled_and_the_lane_free "
        session add c claude
        send c m1 'look'
        taken c
        send c m2 'next'
        idle c 'I think'
        wait 270                                -> nothing
        wait 30                                 -> c:m1 written, reminder of c:m1
        taken c
        wait 10000                              -> nothing
        idle c 'still'
        wait 60                                 -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 90                                 -> nothing
        wait 30                                 -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 300                                -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 600                                -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 1770                               -> nothing
        wait 30                                 -> c:m1 stalled; c:m2 written
        taken c
        update c:m2 done 'ok'
        idle c ''
        wait 60000                              -> nothing
        update c:m1 done 'late'                 -> c:m1 completed 'late'
    "

    nobody_is_woken_without_open_work "
        session add c claude
        send c m1 'look'
        taken c
        update c:m1 done 'ok'
        idle c ''
        say c s1 'hello'
        taken c
        idle c 'hi'
        times 30 wait 86400                     -> c:m1 is stopped
    "

    what_runs_beside_a_turn_is_work_until_it_runs_for_too_long "
        session add c claude
        send c m1 'look'
        taken c
        background c b1 on
        idle c 'it builds'
        wait 7000                               -> nothing
        background c b1 off
        wait 299                                -> nothing
        wait 30                                 -> c:m1 written, reminder of c:m1
        taken c
        background c b2 on
        idle c 'it builds again'
        wait 7199                               -> nothing
        wait 30                                 -> c:m1 written, reminder of c:m1
        feed                                    -> c added, c:m1 submitted, c:m1 working, c long-background
    "

    what_waits_for_somebody_is_not_reminded_of "
        session add c claude
        session add t
        send c m1 'look'
        taken c
        prompt c p1
        wait 9000                               -> nothing
        allow p1
        gone c p1
        ask a1 home/t 'run' by c
        began t
        idle c 'I wait'                         -> c:m1 waits for its ask
        wait 9000                               -> nothing
        exit t 0 'fine'
        taken c
        update c:m1 blocked 'which?'
        idle c ''
        wait 9000                               -> nothing
        send c:m1 f1 'this'
        taken c
        idle c ''
        wait 300                                -> c:m1 written, reminder of c:m1
    "

    an_answer_begins_the_ladder_anew "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 300                                -> c:m1 written, reminder of c:m1
        taken c
        idle c ''
        wait 60                                 -> c:m1 written, reminder of c:m1
        taken c
        update c:m1 blocked 'which?'
        idle c ''
        send c:m1 f1 'this'
        taken c
        idle c ''
        wait 299                                -> nothing
        wait 30                                 -> c:m1 written, reminder of c:m1
    "

    six_an_hour_and_the_count_is_kept_across_restarts "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 300
        taken c
        idle c ''
        wait 60
        taken c
        idle c ''
        wait 120                                -> c:m1 written, reminder of c:m1
        taken c
        update c:m1 done 'ok'
        idle c ''
        send c m2 'more'
        taken c
        idle c ''
        wait 300
        taken c
        idle c ''
        wait 60
        taken c
        idle c ''
        wait 120                                -> c:m2 written, reminder of c:m2
        crash
        trace c landed yes
        taken c
        idle c ''
        wait 300                                -> nothing
        wait 2790                               -> c:m2 written, reminder of c:m2
    "

    a_reminder_that_was_cut_off_is_not_repeated_and_its_task_is_recovered "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wait 300                                -> c:m1 written, reminder of c:m1
        crash
        trace c landed no                       -> nothing
        wait 59                                 -> nothing
        wait 30                                 -> c:m1 its program starts, written, reminder of c:m1
        taken c
        crash
        trace c landed yes                      -> c:m1 its program starts, written, recover
    "

    a_command_is_never_reminded "
        session add t
        send t m1 'x'
        began t
        wait 80000                              -> nothing
    "

    a_day_after_it_was_asked_a_task_expires_queue_time_included "
        session add c claude
        session stop c
        send c m1 'look' by @laptop for A1
        wait 86399                              -> nothing
        wait 30                                 -> c:m1 canceled 'expired: nobody finished it within 24 hours of being asked (while the daemon ran)'; report c:m1 canceled 'expired: nobody finished it within 24 hours of being asked (while the daemon ran)', try 0
    "

    nothing_expires_in_mid_turn "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        wait 86400                              -> c:m1 overdue; c:m2 canceled *
        idle c 'I was at it'                    -> c:m1 canceled *
        session add t
        send t m1 'x'
        began t
        wait 90000                              -> c:m1 is stopped; t:m1 overdue
        exit t 0 'done'                         -> t:m1 completed 'done'
    "

    a_wall_clock_that_jumps_expires_and_reminds_nothing "
        session add c claude
        send c m1 'look'
        taken c
        idle c ''
        wall 2678400                            -> nothing
        wall -5356800                           -> nothing
        served 300                              -> c:m1 written, reminder of c:m1
    "

    an_interrupt_cuts_the_turn_and_leaves_its_task_alone_for_an_hour "
        session add c claude
        session interrupt c                     -> refused 'no turn that could be interrupted'
        send c m1 'look'
        send c m2 'next'
        taken c
        session interrupt c by c                -> refused 'is the owner's to do'
        session interrupt c                     -> c:m1 is interrupted
        idle c '(interrupted)'                  -> c:m2 written
        taken c
        update c:m2 done 'ok'
        idle c ''
        wait 3569                               -> nothing
        wait 31                                 -> c:m1 written, reminder of c:m1
        taken c
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
    "

    thirty_tasks_of_agents_an_hour_from_one_device_to_one_session "
        session add t
        session add o
        session add c claude
        times 30 send t m# 'x' by @laptop
        send t m31 'x' by @laptop               -> refused 'within an hour, the limit'
        send t m1 'x' by @laptop                -> again t:m1 submitted
        send t m31 'x' by @desktop              -> t:m31 submitted, place 30
        send o m31 'x' by @laptop               -> o:m31 submitted, starts
        // Claims count only where the device's own daemon says so; the owner's do not count.
        send t m32 'x' by @laptop claim laptop/owner -> refused 'within an hour, the limit'
        send t m32 'x' by @laptop claim laptop/owner vouched -> t:m32 submitted, place 31
        send t m33 'x'                          -> t:m33 submitted, place 32
        crash
        send t m34 'x' by @laptop               -> refused 'within an hour, the limit'
        wait 3600
        send t m34 'x' by @laptop               -> t:m34 submitted, place 33
        times 30 send o n# 'x' by c
        send o n31 'x' by c                     -> refused 'within an hour, the limit'
    "
}
