//! The owner's hand: the queue, a pause, caps, limits, names, settings, new conversations.

rules! {
    what_waits_is_moved_and_keeps_the_order_of_the_others "
        session add t
        send t m1 'a'
        send t m2 'b'
        send t m3 'c'
        send t m4 'd'
        move t:m4 1                             -> nothing
        show t:m4                               -> t:m4 submitted, place 1, from the owner
        show t:m2                               -> t:m2 submitted, place 2, from the owner
        move t:m2 99                            -> nothing
        show t:m3                               -> t:m3 submitted, place 2, from the owner
        move t:m1 1                             -> refused 'does not wait in a queue'
        move t:m4 1 by t                        -> refused 'is the owner's to do'
        began t
        exit t 0                                -> t:m1 completed *; t:m4 starts
    "

    what_is_parked_is_not_started_and_keeps_its_place "
        session add t
        send t m1 'a'
        send t m2 'b' by @laptop for A2
        send t m3 'c'
        park t:m2                               -> nothing
        show t:m2                               -> t:m2 submitted, from laptop.mesh
        began t
        exit t 0                                -> t:m1 completed *; t:m3 starts
        release t:m2                            -> nothing
        show t:m2                               -> t:m2 submitted, place 1, from laptop.mesh
        park t:m2
        cancel t:m2                             -> t:m2 canceled *; report t:m2 canceled *, try 0
        park t:m2                               -> refused 'already canceled'
    "

    parked_tasks_count_for_the_queue_and_expire "
        session add t
        times 101 send t m# 'x'
        times 50 park t:m#
        send t more 'x'                         -> refused '100 tasks waiting'
        park t:m60
        wait 86400
        show t:m60                              -> t:m60 canceled *, ended, from the owner
    "

    a_pause_starts_nothing_new_and_lets_go_on_what_runs "
        session add t
        session add c claude
        send t m1 'a'
        send c m1 'look'
        taken c
        pause by t                              -> refused 'is the owner's to do'
        pause                                   -> nothing
        pause                                   -> nothing
        send t m2 'b'                           -> t:m2 submitted, place 1
        began t
        exit t 0 'ok'                           -> t:m1 completed 'ok'
        idle c ''
        wait 9000                               -> nothing
        crash                                   -> c:m1 is settled
        trace c landed yes                      -> nothing
        resume                                  -> t:m2 starts
        feed                                    -> t added, c added, t:m1 submitted, c:m1 submitted, c:m1 working, machine paused, t:m2 submitted, t:m1 working, t:m1 completed, machine resumed
    "

    so_many_turns_at_once_and_the_others_wait_their_turn "
        turns 2
        session add a
        session add b
        session add c claude
        session add d claude
        send a m1 'x'                           -> a:m1 submitted, starts
        send c m1 'x'                           -> c:m1 submitted, its program starts, written
        send b m1 'x'                           -> b:m1 submitted, place 1
        send d m1 'x'                           -> d:m1 submitted, place 1
        taken c
        idle c ''                               -> b:m1 starts
        send c:m1 f1 'more'                     -> c:m1 pending 1
        began a
        exit a 0 'ok'                           -> a:m1 completed 'ok'; d:m1 its program starts, written
        crash
        trace d landed no                       -> d:m1 its program starts, written, attempt 2
        trace c landed                          -> nothing
        trace b began                           -> b:m1 failed *; c:m1 its program starts, written, correction 'more'
    "

    an_account_at_its_limit_waits_and_goes_on_once "
        session add c claude
        send c m1 'look'
        send c m2 'next'
        taken c
        limit c 7200
        idle c '(its turn failed: limit)'       -> nothing
        say c s1 'hello'                        -> nothing
        wait 7170                               -> nothing
        wait 30                                 -> c:m1 written, recap; session c written, said 'hello'
        taken c
        taken c
        idle c 'I go on'
        limit c 60
        idle c ''
        wait 60                                 -> c:m1 written, recap
        taken c
        limit c 7200                            -> session c stopped 'its account is at its limit again, right after a reset'
    "

    a_session_that_is_not_to_go_on_after_a_limit_is_stopped_when_that_is_over "
        resume-after-limit off
        session add c claude
        send c m1 'look'
        taken c
        limit c 60
        idle c ''
        wait 30                                 -> nothing
        wait 30                                 -> session c stopped 'its account was at its limit, and it is not to go on by itself'
        wait 9000                               -> nothing
        session start c                         -> session c ready; c:m1 written, recap
        taken c
        limit c 60
        idle c ''
        wait 60                                 -> session c stopped 'its account was at its limit, and it is not to go on by itself'
    "

    a_renamed_session_keeps_everything_and_its_old_name_inherits_nothing "
        session add c claude
        send c m1 'look'
        taken c
        session rename c d by c                 -> refused 'is the owner's to do'
        session rename c 'no name'              -> refused 'cannot be a session'
        session rename c d                      -> nothing
        session add c claude                    -> session c ready
        send c m1 'look'                        -> c:h-* submitted, its program starts, written
        update c:m1 done 'mine' by c            -> refused 'belongs to the session 'd''
        update c:m1 blocked 'which?' by d       -> c:m1 input-required 'which?'
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1
        idle d ''                               -> c:m1 written, answer 'this'
        cancel c:m1                             -> c:m1 canceled *
        session rename d c                      -> refused 'already a session'
    "

    a_removed_session_is_brought_back_within_a_week_with_its_conversation "
        session add c claude
        send c m1 'look'
        taken c
        session remove c                        -> c:m1 canceled 'canceled: the session 'c' was removed', is stopped; session c removed
        stopped c#1 ''                          -> c:m1 is settled
        trace c#1 landed yes
        session undo q                          -> refused 'no session'
        session undo c by @laptop               -> session c ready
        session undo c                          -> refused 'there is a session 'c' now'
        send c m1 'look'                        -> again c:m1 canceled 'canceled: the session 'c' was removed'
        send c m2 'next'                        -> c:m2 submitted, its program starts, written
        session remove c
        stopped c#2 ''
        trace c#2 landed no
        wait 604800
        session undo c                          -> refused 'no session'
    "

    a_fresh_start_needs_the_owners_word_and_a_conversation_that_nobody_needs "
        session add c claude
        send c m1 'look' by @laptop fresh       -> refused 'has not allowed it'
        session set c fresh on                  -> nothing
        send c m1 'look'
        taken c
        send c m2 'anew' by @laptop fresh       -> c:m2 submitted, place 1
        send c m3 'after'
        idle c ''
        update c:m1 blocked 'which?'            -> c:m1 input-required 'which?'
        send c:m1 f1 'this'                     -> c:m1 submitted, pending 1, written, answer 'this'
        taken c
        idle c ''
        update c:m1 done 'ok'                   -> c:m1 completed 'ok', is stopped
        stopped c ''                            -> c:m2 its program starts, written
        taken c
        update c:m2 done 'ok'
        send c m4 'anew' by @laptop fresh
        idle c ''                               -> c:m3 written
        session set c fresh off
        taken c
        update c:m3 done 'ok'
        idle c ''                               -> c:m4 rejected *
        send t m1 'x' fresh                     -> refused 'no session'
    "

    a_new_conversation_of_the_owners_lists_what_is_open_or_cancels_it "
        session add c claude
        session new c                           -> nothing
        send c m1 'look'
        taken c
        session new c                           -> refused 'has open tasks (c:m1)'
        session new c by c                      -> refused 'is the owner's to do'
        session new c cancel                    -> c:m1 canceled 'canceled: its session began a new conversation', is stopped
        send c m2 'next'                        -> c:m2 submitted, place 1
        stopped c ''                            -> c:m1 is settled
        trace c landed yes                      -> c:m2 its program starts, written
    "

    money_of_a_day_that_is_spent_makes_lanes_wait_until_the_next "
        session add c claude
        session add t
        cap c 1000000                           -> nothing
        send c m1 'look'
        send c m2 'next'
        taken c
        update c:m1 done 'ok'
        spent c m:5/5=900000                    -> c:m2 written
        taken c
        update c:m2 done 'ok'
        spent c m:5/5=200000                    -> nothing
        evidence c:m2                           -> turns 0, tools none
        send c m3 'more'                        -> c:m3 submitted, place 1
        say c s1 'hello'                        -> nothing
        send t m1 'x'                           -> t:m1 submitted, starts
        cap c 0                                 -> session c written, said 'hello'
        cap machine 1000000                     -> c:m1 is settled; t:m1 is settled
        trace t exit 0 'ok'                     -> t:m1 completed 'ok'
        trace c landed no                       -> nothing
        send t m2 'x'                           -> t:m2 submitted, place 1
        wall 86400                              -> t:m2 starts; session c its program starts, written, said 'hello', attempt 2
    "

    a_done_without_the_proof_that_was_asked_for_goes_back_once "
        session add c claude
        send c m1 'look' requires tool_calls+files_changed
        taken c
        update c:m1 done 'did it'               -> c:m1 given back
        tool c Bash
        tool c Edit failed
        update c:m1 done 'did it'               -> c:m1 completed 'did it', unproven
        idle c ''
        send c m2 'look' requires tool_calls+files_changed
        taken c
        update c:m2 done 'did it'               -> c:m2 given back
        tool c Bash
        tool c Edit
        update c:m2 done 'did it'               -> c:m2 completed 'did it'
        evidence c:m2                           -> turns 0, tools Bash 1 + Edit 1
        idle c ''
        send c m3 'look' requires tool_calls
        taken c
        update c:m3 done 'it is' by owner       -> c:m3 completed 'it is'
    "
}
