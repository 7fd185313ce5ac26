//! A person's own messages to a session.

rules! {
    a_person_goes_first_when_it_is_idle_and_into_its_turn_otherwise "
        session add c claude
        say c s1 'hello'                        -> session c its program starts, written, said 'hello'
        send c m1 'look'                        -> c:m1 submitted, place 1
        taken c
        say c s2 'and this'                     -> session c written, said 'and this'
        taken c
        idle c 'hi'                             -> c:m1 written
        taken c
        say c s3 'who asked?'                   -> session c written, said 'who asked?'
    "

    a_message_is_read_once_whatever_is_sent_how_often "
        session add c claude
        say c s1 'hello'
        say c s1 'hello'                        -> nothing
        say c s1 'other'                        -> refused 'was used for another text'
        taken c
        idle c ''
        say c s1 'hello'                        -> nothing
        send c s1 'hello'                       -> c:s1 submitted, written
        crash                                   -> session c is settled
        trace c landed no                       -> c:s1 its program starts, written, attempt 2
        say c s1 'hello'                        -> nothing
    "

    a_person_speaks_to_a_conversation_and_no_session_in_a_persons_place "
        session add c claude
        session add t
        say t s1 'hello'                        -> refused 'has no conversation'
        say c s1 'hello' by t                   -> refused 'is the owner's to do'
        say q s1 'hello'                        -> refused 'no session 'q''
        say c s1 ''                             -> refused 'has no text'
        say c s1 'hello' by @laptop             -> session c its program starts, written, said 'hello'
    "

    so_many_wait_and_no_more "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        times 100 say c s# 'hello'              -> nothing
        say c t1 'hello'                        -> refused '100 messages of a person waiting'
    "

    after_a_crash_a_message_is_written_again_only_if_it_was_not_read "
        session add c claude
        say c s1 'hello'
        crash                                   -> session c is settled
        trace c landed no                       -> session c its program starts, written, said 'hello', attempt 2
        crash
        trace c landed unknown                  -> nothing
        say c s2 'again'
        taken c
        crash
        trace c landed yes                      -> nothing
        feed                                    -> c added, c said, c cut-off, c said, c cut-off
    "

    a_message_waits_for_a_session_that_cannot_start "
        session add c claude
        say c s1 'hello'
        never c counted 'no login'
        wait 1
        never c counted 'no login'
        wait 1
        never c counted 'no login'              -> session c stopped 'no login'
        session start c                         -> session c ready, its program starts, written, said 'hello', attempt 4
        session remove c
        stopped c ''
        trace c landed no
        due                                     -> nothing
    "
}
