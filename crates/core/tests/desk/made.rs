//! What a worker makes beside its summary, and the words that the scripted harness alone has.

rules! {
    what_was_made_stays_with_the_task_also_over_an_answer "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 blocked 'which?' made a -> tests:m1 input-required 'which?', made 'a'
        exit tests 0 ''
        send tests:m1 f1 'this'
        began tests
        update tests:m1 done 'did it' made b+c  -> tests:m1 completed 'did it', made 'b', made 'c'
        update tests:m1 done 'more' made d      -> refused 'task tests:m1 is already completed'
    "

    a_done_that_is_given_back_keeps_nothing_that_was_made "
        session add c claude
        send c m1 'x' requires tool_calls
        taken c
        update c:m1 done 'did it' made a        -> c:m1 given back
        update c:m1 done 'did it' made a        -> c:m1 completed 'did it', made 'a', unproven
    "

    a_task_holds_twenty_things_at_most "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 done 'y' made 1+2+3+4+5+6+7+8+9+10+11+12+13+14+15+16+17+18+19+20+21 -> refused 'task tests:m1 would have 21 files'
        show tests:m1                           -> tests:m1 working, delivered, started, from the owner
    "

    some_words_are_the_scripted_harness_alone "
        session add tests
        send tests m1 'x'
        began tests
        update tests:m1 working 'half'          -> refused ''working' is not done'
        update tests:m1 rejected 'no'           -> refused ''rejected' is not done'
        update tests:m1 direct 'hello'          -> refused ''direct' is not done'
        session add s turns
        send s m1 'x'
        began s
        update s:m1 working 'half' made a       -> s:m1 made 'a'
        update s:m1 rejected 'no'               -> s:m1 rejected 'no'
        exit s 0 ''
        send s m2 'y'
        began s
        update s:m2 direct 'hello'              -> s:m2 completed 'hello', direct
    "
}
