//! Programs that rest are stopped, those that are kept running come back, and a terminal takes a
//! conversation over.

rules! {
    a_program_that_rests_for_half_an_hour_is_stopped_and_the_next_message_starts_it "
        session add c claude
        send c m1 'look'
        taken c
        update c:m1 done 'seen'
        idle c ''
        wait 1790                               -> nothing
        wait 60                                 -> c:m1 is stopped
        stopped c                               -> nothing
        wait 7200                               -> nothing
        send c m2 'more'                        -> c:m2 submitted, its program starts, written
    "

    what_comes_while_a_program_is_being_stopped_starts_it_again "
        session add c claude
        say c s1 'hello'
        taken c
        idle c ''
        wait 1830                               -> session c is stopped
        send c m1 'look'                        -> c:m1 submitted, place 1
        stopped c                               -> c:m1 its program starts, written
    "

    an_open_task_a_turn_a_prompt_or_a_command_beside_it_is_no_rest "
        session add a claude
        send a m1 'look'
        taken a
        wait 7200                               -> nothing
        session add b claude
        say b s1 'hello'
        taken b
        background b j1 on
        idle b ''
        wait 7000                               -> nothing
        background b j1 ended
        wait 1790                               -> nothing
        wait 60                                 -> session b is stopped
        session add d claude
        say d s1 'hello'
        taken d
        prompt d p1 Bash
        wait 7200                               -> nothing
    "

    a_program_that_is_kept_running_does_not_rest_and_comes_back "
        session add c claude kept               -> session c ready, its program starts, written, nothing
        notneeded c                             -> nothing
        idle c ''                               -> nothing
        wait 90000                              -> nothing
        exit c 1                               -> session c its program starts, written, nothing
        notneeded c
        idle c ''
        crash                                   -> session c is settled
        trace c landed no                       -> session c its program starts, written, nothing
        notneeded c
        idle c ''
        say c s1 'hello'                        -> session c written, said 'hello'
    "

    one_that_cannot_be_kept_running_is_stopped_after_three_tries "
        session add c claude kept
        never c counted 'no'
        wait 2
        never c counted 'no'
        wait 2
        never c counted 'no'                    -> session c stopped 'no'
        wait 900                                -> nothing
        session start c                         -> session c ready, its program starts, written, nothing
    "

    a_restart_ends_the_program_and_starts_it_in_the_same_conversation "
        session add c claude
        say c s1 'hello'
        taken c
        idle c ''
        session restart c                       -> session c is stopped
        stopped c                               -> session c its program starts, written, nothing
        notneeded c
        idle c ''
        session stop c                          -> session c stopped 'by the owner', is stopped
        stopped c                               -> nothing
        session restart c                       -> session c ready, its program starts, written, nothing
    "

    a_restart_in_mid_turn_tells_the_worker_what_was_cut_off "
        session add c claude
        send c m1 'look'
        taken c
        session restart c                       -> c:m1 is stopped
        stopped c                               -> c:m1 is settled
        trace c landed yes                      -> c:m1 its program starts, written, recover
    "

    a_terminal_has_the_conversation_alone_and_what_comes_meanwhile_waits "
        session add c claude
        say c s1 'hello'
        taken c
        session attach c                        -> refused 'session 'c' is at work'
        idle c ''
        session attach c by @laptop              -> refused 'attaching is done in a terminal'
        session attach c                        -> session c is stopped
        session attach c                        -> refused 'a terminal has the conversation of 'c''
        stopped c                               -> nothing
        send c m1 'look'                        -> c:m1 submitted, place 1
        session remove c                        -> refused 'a terminal has the conversation of 'c''
        session new c cancel                    -> refused 'a terminal has the conversation of 'c''
        session restart c                       -> refused 'a terminal has the conversation of 'c''
        crash                                   -> nothing
        wait 7200                               -> nothing
        session detach c                        -> c:m1 its program starts, written
        session detach c                        -> refused 'session 'c' is not attached'
        session add t
        session attach t                        -> refused 'session 't' runs a command'
    "

    a_conversation_that_began_in_a_terminal_is_one_sessions "
        session add c claude adopts=t-1         -> session c ready
        session add d claude adopts=t-1         -> refused 'the session 'c' has'
        session remove c
        session add d claude adopts=t-1         -> session d ready
        session undo c                          -> refused 'the session 'd' has'
        session new d                           -> nothing
        session undo c                          -> session c ready
    "

    a_fresh_task_of_a_program_that_is_kept_running_ends_it_once_and_begins "
        session add c claude kept
        notneeded c
        idle c ''
        say c s1 'hello'
        taken c
        idle c ''
        send c m1 'look' fresh                  -> c:m1 submitted, place 1; session c is stopped
        stopped c                               -> c:m1 its program starts, written
        taken c                                 -> c:m1 working
        update c:m1 done 'seen'
        idle c ''                               -> nothing
        wait 90000                              -> nothing
    "

    a_fresh_task_that_goes_while_it_waits_leaves_the_program_to_be_started "
        session add c claude kept
        notneeded c
        idle c ''
        session add w
        ask q1 home/w 'x' by c
        send c m1 'look' fresh                  -> c:m1 submitted, place 1
        exit c 1                                -> nothing
        wait 60                                 -> nothing
        cancel c:m1                             -> c:m1 canceled 'canceled by the owner'; session c its program starts, written, nothing
    "
}
