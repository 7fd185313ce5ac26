//! Permissions and questions: opened by a program, answered once, over with it.

rules! {
    a_permission_is_asked_of_the_owner_and_told_to_the_program_once "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1                             -> prompt p1 open; c:m1 input-required
        allow p1 by c                           -> refused 'is the owner's to do'
        allow p1 2                              -> refused 'it has no suggestion 2, only 0 to 0'
        answer p1 'which?' 'this'               -> refused 'it is a permission'
        allow p1 0                              -> prompt p1 allowed, the program is told; c:m1 working
        deny p1                                 -> refused 'was allowed by the owner; it takes no other answer'
        gone c p1                               -> nothing
        allow p1                                -> refused 'was allowed by the owner; it takes no other answer'
    "

    a_question_takes_an_answer_to_itself_or_none "
        session add c claude auto
        send c m1 'look'
        taken c
        prompt c p1 question 'which?'           -> prompt p1 open; c:m1 input-required
        allow p1                                -> refused 'it is a question'
        answer p1 'what?' 'this'                -> refused 'it does not ask'
        answer p1 'which?' ' '                  -> refused 'has no answer'
        answer p1 'which?' 'this'               -> prompt p1 answered, the program is told; c:m1 working
        gone c p1
        prompt c p2 question 'which?'
        deny p2                                 -> prompt p2 denied, the program is told; c:m1 working
    "

    what_is_withdrawn_takes_no_answer "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        gone c p1                               -> prompt p1 withdrawn; c:m1 working
        allow p1                                -> refused 'was withdrawn on'
        prompt c p2
        prompt c p3                             -> prompt p3 open
        deny p2                                 -> prompt p2 denied, the program is told
        gone c p3                               -> prompt p3 withdrawn; c:m1 working
    "

    auto_approve_answers_permissions_and_nothing_that_needs_a_person "
        session add c claude auto
        send c m1 'look'
        taken c
        prompt c p1                             -> prompt p1 allowed, the program is told
        prompt c p2 person                      -> prompt p2 open; c:m1 input-required
    "

    a_prompt_is_over_with_its_program_and_its_answer_goes_nowhere_else "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        prompt c p2
        allow p2                                -> prompt p2 allowed, the program is told
        crash                                   -> prompt p1 withdrawn; c:m1 working, is settled
        allow p1                                -> refused 'was withdrawn on'
        trace c landed yes                      -> c:m1 its program starts, written, recover
        taken c
        prompt c p1                             -> prompt p1 open; c:m1 input-required
        update c:m1 done 'ok'                   -> c:m1 completed 'ok'
        idle c ''                               -> nothing
    "

    with_a_program_that_is_lost_or_being_ended_its_prompts_are_over "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        lost c                                  -> prompt p1 withdrawn; c:m1 working, is settled
        trace c landed yes
        taken c
        prompt c p2
        session stop c                          -> prompt p2 withdrawn; c:m1 working, is stopped; session c stopped 'by the owner'
        allow p2                                -> refused 'was withdrawn on'
    "

    an_asker_is_not_asked_for_what_a_person_is_asked "
        session add c claude
        session add t turns
        ask a1 home/c 'look' by t
        taken c
        prompt c p1                             -> prompt p1 open; c:a1 input-required
    "

    nothing_is_written_to_a_program_that_waits_for_a_person "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        send c:m1 f1 'more'                     -> c:m1 pending 1
        say c s1 'hello'                        -> nothing
        allow p1                                -> prompt p1 allowed, the program is told; c:m1 working, written, correction 'more'; session c written, said 'hello'
    "
}
