//! The outcome of an ask as the return of a tool call, and tasks that wait for their own asks.

rules! {
    what_a_call_returned_is_told_when_the_program_shows_it "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c            -> tests:a1 submitted, starts; ask a1 open submitted
        began tests
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        offer a1 call-1 by c                    -> nothing
        seen c call-1                           -> nothing
        idle c ''                               -> ask a1 told
        show c:m1                               -> c:m1 working, delivered, started, from the owner
    "

    what_a_turn_did_not_show_comes_as_a_turn "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        offer a1 call-1 by c
        seen c call-2                           -> nothing
        idle c ''                               -> ask a1 brought 'fine' to c
        taken c                                 -> ask a1 told
        idle c ''                               -> nothing
    "

    a_crash_before_the_return_was_shown_brings_it_as_perhaps_a_repeat "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        offer a1 call-1 by c
        crash                                   -> c:m1 is settled
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        idle c ''                               -> ask a1 brought 'fine' to c, a repeat
    "

    what_was_shown_and_cut_off_comes_again_marked "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        exit tests 0 'fine'
        offer a1 call-1 by c
        seen c call-1                           -> nothing
        lost c                                  -> c:m1 is settled
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        idle c ''                               -> ask a1 brought 'fine' to c, a repeat
        taken c                                 -> ask a1 told
    "

    a_question_is_offered_and_so_is_what_comes_after_its_answer "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c                -> w:a1 submitted, its program starts, written; ask a1 open submitted
        taken w                                 -> w:a1 working; ask a1 open working
        update w:a1 blocked 'which?'            -> w:a1 input-required 'which?'; ask a1 open input-required 'which?'
        offer a1 call-1 by c
        seen c call-1                           -> nothing
        idle w ''
        send w:a1 f1 'this' by c                -> w:a1 submitted, pending 1, written, answer 'this'; ask a1 open submitted
        taken w                                 -> w:a1 working, pending 0; ask a1 open working
        update w:a1 done 'ok'                   -> w:a1 completed 'ok'; ask a1 ended completed 'ok'
        offer a1 call-2 by c
        seen c call-2                           -> nothing
        idle c ''                               -> ask a1 told
    "

    news_after_an_offer_is_told_by_itself "
        session add c claude
        session add w claude
        send c m1 'look'
        taken c
        ask a1 home/w 'run' by c
        taken w
        update w:a1 blocked 'which?'
        offer a1 call-1 by c
        update w:a1 done 'never mind'           -> w:a1 completed 'never mind'; ask a1 ended completed 'never mind'
        seen c call-1                           -> nothing
        idle c ''                               -> ask a1 brought 'never mind' to c
    "

    nobody_offers_what_is_not_its_own_and_a_late_call_offers_nothing "
        session add c claude
        session add o claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c ''                               -> c:m1 waits for its ask
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to c
        offer a1 call-1 by o                    -> refused 'no ask'
        taken c                                 -> ask a1 told; c:m1 goes on
    "

    a_task_that_waits_for_its_ask_gives_the_lane_up_and_has_it_again_with_the_result "
        session add c claude
        session add tests
        send c m1 'look'
        send c m2 'next'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        idle c 'I wait'                         -> c:m1 waits for its ask; c:m2 written
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine'
        taken c
        idle c ''                               -> nothing
        update c:m2 done 'ok'                   -> c:m2 completed 'ok'; ask a1 brought 'fine' to c
        taken c                                 -> ask a1 told; c:m1 goes on
        send c m3 'last'                        -> c:m3 submitted, place 1
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
        idle c ''                               -> c:m3 written
    "

    two_that_ask_each_other_both_go_on "
        session add a claude
        session add b claude
        send a m1 'ask b'
        send b m2 'ask a'
        taken a
        taken b
        ask x1 home/b 'for a' by a              -> b:x1 submitted, place 1; ask x1 open submitted
        ask x2 home/a 'for b' by b              -> a:x2 submitted, place 1; ask x2 open submitted
        idle a ''                               -> a:m1 waits for its ask; a:x2 written
        idle b ''                               -> b:m2 waits for its ask; b:x1 written
        taken a                                 -> a:x2 working; ask x2 open working
        taken b                                 -> b:x1 working; ask x1 open working
        update a:x2 done 'for you'              -> a:x2 completed 'for you'; ask x2 ended completed 'for you'
        update b:x1 done 'for you'              -> b:x1 completed 'for you'; ask x1 ended completed 'for you'
        idle a ''                               -> ask x1 brought 'for you' to a
        idle b ''                               -> ask x2 brought 'for you' to b
        taken a                                 -> ask x1 told; a:m1 goes on
        taken b                                 -> ask x2 told; b:m2 goes on
        update a:m1 done 'ok'                   -> a:m1 completed 'ok'
        update b:m2 done 'ok'                   -> b:m2 completed 'ok'
    "

    a_result_for_a_task_that_has_ended_or_is_blocked_is_still_brought "
        session add c claude
        session add tests
        send c m1 'look'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        update c:m1 done 'no need'              -> c:m1 completed 'no need'
        idle c ''
        exit tests 0 'fine'                     -> tests:a1 completed 'fine'; ask a1 ended completed 'fine', brought 'fine' to c
        taken c                                 -> ask a1 told
        idle c ''
        send c m2 'next'
        taken c
        ask a2 home/tests 'run' by c
        began tests
        update c:m2 blocked 'which?'            -> c:m2 input-required 'which?'
        idle c ''
        exit tests 0 'fine'                     -> tests:a2 completed 'fine'; ask a2 ended completed 'fine', brought 'fine' to c
        taken c                                 -> ask a2 told
        show c:m2                               -> c:m2 input-required 'which?', delivered, started, from the owner
    "

    what_a_shortened_conversation_may_have_lost_is_said_again "
        session add c claude
        session add tests
        say c s1 'hello'
        taken c
        compacted c
        idle c ''                               -> nothing
        send c m1 'look'
        taken c
        compacted c
        idle c ''                               -> c:m1 written, recap
        taken c
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
        idle c ''                               -> nothing
        say c s2 'ask them'
        taken c
        ask a1 home/tests 'run' by c
        began tests
        compacted c
        idle c ''                               -> session c written, recap
        idle c ''
        say c s3 'and?'
        taken c
        crash
        trace c landed yes                      -> session c its program starts, written, recap
        // Its ask was told before it could be said.
        notneeded c                             -> nothing
        idle c ''                               -> nothing
        trace tests began
    "
}
