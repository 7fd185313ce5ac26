//! What the owner sets about a session: who may, what it does to what waits, what its log says, and
//! for whom it is there.

rules! {
    a_setting_is_the_owners_and_in_the_log_with_who_set_it "
        session add c claude
        session set c auto on by c              -> refused 'is the owner's to do'
        session set c meshes home by @phone:ask -> refused 'its right there is'
        session set c star on by @tablet:read   -> refused 'its right there is'
        session set c star on                   -> nothing
        session set c role 'Look after the tests.' by @laptop
        session set c duties 'releases' 'the changelog'
        session rename c d
        session stop d by @laptop
        session start d
        session new d
        session remove d
        session undo d
        lines d                                 -> added, by the owner; starred: on, by the owner; role: Look after the tests., by laptop.mesh; responsibilities: releases, the changelog, by the owner; renamed from c to d, by the owner; stopped, by laptop.mesh; started, by the owner; a new conversation, by the owner; removed, by the owner; brought back, by the owner
        audit 1                                 -> the owner [owner] session-undo-remove d: ok
    "

    a_line_is_written_with_its_commit_and_not_before "
        session add c claude
        fail session set c star on
        lines c                                 -> added, by the owner
    "

    a_session_that_is_stopped_for_its_program_says_so_in_its_log "
        session add c claude
        send c m1 'look'
        never c counted 'no such file'
        wait 60
        never c counted 'no such file'
        wait 60
        never c counted 'no such file'
        lines c                                 -> added, by the owner; stopped: no such file
    "

    what_cannot_be_is_not_set "
        session add t
        session set t timeout 60                -> refused 'prompt_timeout: is for sessions whose program stays'
        session set t role 'x'                  -> refused 'role: is for sessions whose program stays'
        session set t running on                -> refused 'keep_running: is for'
        session set t auto on                   -> refused 'auto_approve: is for'
        session set t auto off                  -> nothing
        session set t timeout 9999999           -> refused 'prompt_timeout: is for'
        session add c claude
        session set c timeout 9999999           -> refused 'prompt_timeout: must be from 1'
    "

    auto_approve_holds_for_what_waits_and_for_no_question "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        prompt c p2 person
        prompt c p3 question 'which?'
        session set c fresh on                  -> nothing
        session set c auto on                   -> prompt p1 allowed, the program is told
        deny p1                                 -> refused 'was allowed by auto-approve'
        gone c p1
        answer p3 'which?' 'this'               -> prompt p3 answered, the program is told
        allow p2                                -> prompt p2 allowed, the program is told; c:m1 working
        prompt c p4                             -> prompt p4 allowed, the program is told
        session set c auto off
        prompt c p5                             -> prompt p5 open; c:m1 input-required
    "

    a_prompt_that_waits_too_long_is_denied_and_so_is_a_question "
        session add c claude
        session set c timeout 60
        send c m1 'look'
        taken c
        prompt c p1
        wait 30
        prompt c p2 question 'which?'
        wait 29                                 -> nothing
        wait 1                                  -> prompt p1 denied, the program is told
        allow p1                                -> refused 'was denied by the time limit'
        wait 30                                 -> prompt p2 denied, the program is told; c:m1 working
        lines c                                 -> added, by the owner; prompt_timeout: 60 s, by the owner; prompt *: denied, nobody answered within 60 s; prompt *: denied, nobody answered within 60 s
    "

    what_is_answered_or_withdrawn_is_not_denied "
        session add c claude
        session set c timeout 60
        send c m1 'look'
        taken c
        prompt c p1
        prompt c p2
        allow p1
        gone c p2
        wait 60                                 -> nothing
        allow p1                                -> refused 'was allowed by the owner'
    "

    a_limit_holds_for_what_waits_from_when_it_is_set "
        session add c claude
        send c m1 'look'
        taken c
        prompt c p1
        wait 90
        session set c timeout 100               -> nothing
        session set c timeout 0
        wait 10                                 -> nothing
        session set c timeout 60                -> prompt p1 denied, the program is told; c:m1 working
    "

    neither_a_jump_of_the_clock_nor_a_crash_denies_anything "
        session add c claude
        session set c timeout 60
        send c m1 'look'
        taken c
        prompt c p1
        wall 864000                             -> nothing
        wall -864000                            -> nothing
        crash                                   -> prompt p1 withdrawn; c:m1 working, is settled
        trace c landed yes
        taken c
        prompt c p2                             -> prompt p2 open; c:m1 input-required
        wait 59                                 -> nothing
        wait 1                                  -> prompt p2 denied, the program is told; c:m1 working
    "

    from_another_mesh_a_session_is_not_there "
        session add web claude
        session add webs claude
        send web m1 'a'
        taken web
        prompt web p1
        session set web meshes home             -> nothing
        send web m2 'b' by @phone.work          -> refused 'no session 'web' on home; did you mean webs?'
        send wrb m2 'b' by @phone.work          -> refused 'no session 'wrb' on home; did you mean webs?'
        send web:m1 f1 'more' by @phone.work    -> refused 'no task 'web:m1' here'
        cancel web:m1 by @phone.work            -> refused 'no task 'web:m1' here'
        ack web:m1 by @phone.work               -> refused 'no task 'web:m1' here'
        park web:m1 by @phone.work              -> refused 'no task 'web:m1' here'
        update web:m1 done 'x' by @phone.work   -> refused 'no task 'web:m1' here'
        ask a1 home/web 'x' by @phone.work      -> refused 'no session 'web' on home'
        say web s1 'x' by @phone.work           -> refused 'no session 'web' on home'
        allow p1 by @phone.work                 -> refused 'no prompt '
        session stop web by @phone.work         -> refused 'no session 'web' on home'
        session start web by @phone.work        -> refused 'no session 'web' on home'
        session rename web x by @phone.work     -> refused 'no session 'web' on home'
        session set web star on by @phone.work  -> refused 'no session 'web' on home'
        session new web by @phone.work          -> refused 'no session 'web' on home'
        session interrupt web by @phone.work    -> refused 'no session 'web' on home'
        session remove web by @phone.work       -> refused 'no session 'web' on home'
        session stop web by @phone.home         -> session web stopped 'by phone.home'; web:m1 working, is stopped; prompt p1 withdrawn
        session remove web
        session undo web by @phone.work         -> refused 'no session 'web' on home'
        cancel web:m1 by @phone.work            -> refused 'no task 'web:m1' here'
        cancel web:m1 by @phone.home            -> refused 'already canceled'
    "

    nobody_hides_a_session_from_itself "
        session add web claude
        session set web meshes home by @phone.work      -> refused 'your own device is on work'
        session set web meshes home work by @phone.work -> nothing
        session set web meshes home by @phone.home      -> nothing
        session set web meshes by @phone.home           -> nothing
        session stop web by @phone.work                 -> session web stopped 'by phone.work'
    "

    what_a_device_gave_before_goes_on_and_it_is_told "
        session add t
        send t m1 'a' by @phone.work for A1
        session set t meshes home
        send t m1 'a' by @phone.work for A1     -> again t:m1 submitted
        began t                                 -> t:m1 working
        exit t 0 'ok'                           -> t:m1 completed 'ok'; report t:m1 completed 'ok', try 0
        ack t:m1 by @phone.work                 -> t:m1 acked
        send t m2 'b' by @phone.work for A2     -> refused 'no session 't' on home'
    "
}
