//! Everything has a bound, and a full thing refuses.

use shrooms_core::desk::{AskReq, Desk, Done, Input, MAX_ASKS, Place, Request, Target};
use shrooms_core::principal::Principal;
use shrooms_core::refusal::Refusal;
use shrooms_core::row::{Meta, Open};
use shrooms_core::text::Text;
use shrooms_core::time::{Boot, Now};

rules! {
    a_text_has_at_most_a_mebibyte "
        session add tests
        send tests m1 '<1048577>'               -> refused 'the text is 1048577 bytes; at most 1048576 are taken'
        send tests m1 '<1048576>'               -> tests:m1 submitted, starts
        send tests:m1 f1 '<1048577>'            -> refused 'the text is 1048577 bytes'
        ask a1 laptop/tests '<1048577>'         -> refused 'the text is 1048577 bytes'
        ask a1 home/tests '<1048577>'           -> refused 'the text is 1048577 bytes'
        began tests
        update tests:m1 done '<1048577>'        -> refused 'the summary is 1048577 bytes'
        update tests:m1 blocked '<1048577>'     -> refused 'the summary is 1048577 bytes'
        update tests:m1 done '<1048576>'        -> tests:m1 completed '<1048576>'
    "

    a_message_without_text_is_refused "
        session add tests
        send tests m1 ' '                       -> refused 'no text'
        ask a1 laptop/tests ''                  -> refused 'no text'
        send tests m1 'x'
        send tests:m1 f1 ''                     -> refused 'no text'
        update tests:m1 done ''                 -> tests:m1 completed
    "

    a_message_id_has_at_most_512_bytes "
        session add tests
        send tests <513> 'x'                    -> refused 'the message id is 513 bytes; at most 512 are taken'
        send tests <512> 'x'                    -> tests:h-* submitted, starts
        ask <513> home/tests 'x'                -> refused 'the message id is 513 bytes'
        ask <513> laptop/tests 'x'              -> refused 'the message id is 513 bytes'
        send tests m1 'x' context <513>         -> refused 'the context id is 513 bytes'
        send tests m1 'x' context <512>         -> tests:m1 submitted, place 1
        send tests:m1 <513> 'x'                 -> refused 'the message id is 513 bytes'
    "

    a_hundred_messages_may_wait_for_one_tasks_worker "
        session add tests
        send tests m1 'x'
        began tests
        times 100 send tests:m1 f# 'more'
        send tests:m1 more 'x'                  -> refused 'task tests:m1 has 100 messages waiting, the limit'
        send tests:m1 f50 'more'                -> again tests:m1 working
        crash
        send tests:m1 more 'x'                  -> refused 'has 100 messages waiting, the limit'
        trace tests exit 1 'no'                 -> tests:m1 failed 'exit code 1 | no'
    "

    a_blocked_task_takes_a_hundred_answers_and_corrections "
        session add tests
        send tests m1 'x'
        send tests m2 'y'
        began tests
        update tests:m1 blocked 'which?'
        exit tests 0
        times 100 send tests:m1 f# 'a'
        show tests:m1                           -> tests:m1 submitted, pending 100, delivered, started, from the owner
        send tests:m1 more 'a'                  -> refused 'has 100 messages waiting, the limit'
        exit tests 0                            -> tests:m2 completed '(no output)'; tests:m1 starts, answer 'a' + 'a'*
        began tests                             -> tests:m1 working, pending 0
        send tests:m1 more 'a'                  -> tests:m1 pending 1
    "

    a_machine_has_at_most_a_thousand_sessions "
        times 999 session add s# & session add last
        session add more                        -> refused 'this machine has 1000 sessions, the limit'
        session remove s1
        session add more                        -> session more ready
    "
}

/// Ten thousand commits would tell nothing more: one desk, without a store.
#[test]
fn a_machine_has_at_most_ten_thousand_open_asks() {
    let now = Now { wall: 0, served: 0, boot: Boot(1) };
    let place = Place::new("home".into(), Default::default());
    let mut desk = Desk::load(place, Meta::new("0123456789abcdef".into()), Open::default(), &now);
    let ask = |mid: String| {
        let text = Text::from("x");
        Request::Ask(AskReq {
            by: Principal::Owner,
            to: Target::Device { id: "id-laptop".into(), machine: "laptop".into(), session: "tests".into() },
            agent: "laptop/tests".into(),
            mid,
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: Vec::new(),
            fresh: false,
            require: Vec::new(),
            now_only: false,
            random: 7,
        })
    };
    for i in 0..MAX_ASKS {
        let made = desk.handle(now, Input::Request(Box::new(ask(i.to_string())), Box::default()));
        assert!(matches!(made, Ok(Done::Ask { made: true, .. })), "{i}: {made:?}");
    }
    let more = desk.handle(now, Input::Request(Box::new(ask("more".into())), Box::default()));
    assert_eq!(more.unwrap_err(), Refusal::TooManyAsks { asks: MAX_ASKS });
    let again = desk.handle(now, Input::Request(Box::new(ask("7".into())), Box::default()));
    assert!(matches!(again, Ok(Done::Ask { made: false, .. })), "{again:?}");
}
