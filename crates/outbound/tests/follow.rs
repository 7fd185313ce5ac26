//! Tasks followed through streams that break off: to their end, or to an error that says why not.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use shrooms_a2a::types::SendMessageParams;
use shrooms_a2a::{ErrorCode, Message, Role, StreamResponse, TaskState};
use shrooms_outbound::{AgentOptions, Binding, CallError, Follow, StreamLimits};
use support::agent::{
    card, chunk, chunked_head, cut_stream, event, now, options, piece, refusal, result, snapshot, start, start_with,
    stream, task, texts,
};
use support::{Act, Piece, Seen, answer};

const BOTH: [Binding; 2] = [Binding::JsonRpc, Binding::HttpJson];

fn message() -> SendMessageParams {
    SendMessageParams::of(Message::text("m-1", Role::User, "hi"))
}

/// Follows to the end; how many events there were, and how it ended.
async fn drain(follow: &mut Follow) -> (usize, Result<(), CallError>) {
    let mut events = 0;
    loop {
        match follow.next().await {
            Ok(Some(_)) => events += 1,
            Ok(None) => return (events, Ok(())),
            Err(error) => return (events, Err(error)),
        }
    }
}

/// The operations that were asked for after the card, by the last word of path or method.
fn asked(binding: Binding, seen: &[Seen]) -> Vec<String> {
    let word = |seen: &Seen| match binding {
        Binding::JsonRpc => {
            let body: Value = serde_json::from_str(&seen.body).unwrap();
            body["method"].as_str().unwrap().to_owned()
        }
        Binding::HttpJson => match seen.head.split(' ').nth(1).unwrap() {
            path if path.ends_with(":stream") => "SendStreamingMessage".into(),
            path if path.ends_with(":subscribe") => "SubscribeToTask".into(),
            path if path.ends_with("/tasks/t") => "GetTask".into(),
            path => path.to_owned(),
        },
    };
    seen.iter().skip(1).map(word).collect()
}

fn made(state: &str, parts: &[&str]) -> Value {
    let mut task = task(state);
    let parts: Vec<Value> = parts.iter().map(|text| json!({"text": text})).collect();
    task["artifacts"] = json!([{"artifactId": "a", "parts": parts}]);
    json!({"task": task})
}

#[tokio::test]
async fn a_stream_that_is_cut_three_times_is_resumed_to_the_end() {
    for binding in BOTH {
        let (agent, server) = start(
            binding,
            vec![
                cut_stream(binding, &[snapshot("WORKING"), piece("one")]),
                // Missed "two" while it was away: the snapshot has it.
                cut_stream(binding, &[made("WORKING", &["one", "two"]), piece("three")]),
                Act::ReadAndClose,
                cut_stream(binding, &[made("WORKING", &["one", "two", "three"])]),
                stream(binding, &[made("WORKING", &["one", "two", "three"]), piece("four"), now("COMPLETED")]),
            ],
        )
        .await;
        let mut follow = agent.send_and_follow(message()).await.unwrap();
        let (events, end) = drain(&mut follow).await;
        assert_eq!(end, Ok(()));
        // The repeated snapshots are none: what is known is not said twice.
        assert_eq!(events, 6, "{binding}");
        let task = follow.task().unwrap();
        assert_eq!(task.status.state, TaskState::Completed);
        assert_eq!(texts(task), ["one", "two", "three", "four"]);
        let again = "SubscribeToTask";
        assert_eq!(asked(binding, &server.seen()), ["SendStreamingMessage", again, again, again, again]);
    }
}

#[tokio::test]
async fn a_task_that_ended_meanwhile_is_got() {
    for binding in BOTH {
        for code in [ErrorCode::UnsupportedOperation, ErrorCode::TaskNotFound] {
            let mut ended = task("COMPLETED");
            ended["artifacts"] = json!([{"artifactId": "a", "parts": [{"text": "all"}]}]);
            let acts = vec![
                cut_stream(binding, &[snapshot("WORKING"), piece("al")]),
                refusal(binding, code),
                result(binding, &ended),
            ];
            let (agent, server) = start(binding, acts).await;
            let mut follow = agent.follow("t");
            assert_eq!(drain(&mut follow).await, (3, Ok(())));
            assert_eq!(texts(follow.task().unwrap()), ["all"]);
            assert_eq!(asked(binding, &server.seen()), ["SubscribeToTask", "SubscribeToTask", "GetTask"]);
            assert_eq!(follow.next().await, Ok(None));
        }
    }
}

#[tokio::test]
async fn what_does_not_stream_is_got_once_and_then_it_is_the_callers() {
    let binding = Binding::JsonRpc;
    let still = |port, first| {
        let mut card = card(port, first);
        card["capabilities"]["streaming"] = json!(false);
        card
    };
    let (agent, server) = start_with(options(binding), still, vec![result(binding, &task("WORKING"))]).await;
    let mut follow = agent.follow("t");
    let (_, end) = drain(&mut follow).await;
    assert!(matches!(&end, Err(CallError::Refused(error)) if error.known() == Some(ErrorCode::UnsupportedOperation)));
    assert_eq!(follow.task().unwrap().status.state, TaskState::Working);
    assert_eq!(asked(binding, &server.seen()), ["GetTask"]);
}

#[tokio::test]
async fn a_task_that_waits_for_somebody_is_followed_as_long_as_the_agent_streams() {
    for binding in BOTH {
        // Ended by the agent there: nothing comes before somebody answers.
        let (agent, _server) =
            start(binding, vec![stream(binding, &[snapshot("WORKING"), now("INPUT_REQUIRED")])]).await;
        let mut follow = agent.follow("t");
        assert_eq!(drain(&mut follow).await, (2, Ok(())));
        assert_eq!(follow.task().unwrap().status.state, TaskState::InputRequired);
        // Kept open there: somebody may answer.
        let events = [snapshot("INPUT_REQUIRED"), now("WORKING"), now("COMPLETED")];
        let (agent, _server) = start(binding, vec![stream(binding, &events)]).await;
        assert_eq!(drain(&mut agent.follow("t")).await, (3, Ok(())));
    }
}

#[tokio::test]
async fn the_end_of_the_task_is_the_end_whatever_the_stream_does() {
    let binding = Binding::JsonRpc;
    let events = [event(binding, &snapshot("WORKING")), event(binding, &now("FAILED"))].concat();
    let open = Act::Pieces(vec![chunked_head(), chunk(&events), Piece::Silence]);
    let (agent, _server) = start(binding, vec![open]).await;
    let mut follow = agent.follow("t");
    assert_eq!(drain(&mut follow).await, (2, Ok(())));
    // What comes after an end is not taken for news.
    let late = stream(binding, &[snapshot("COMPLETED"), now("WORKING"), piece("x")]);
    let (agent, _server) = start(binding, vec![late]).await;
    let mut follow = agent.follow("t");
    assert_eq!(drain(&mut follow).await, (1, Ok(())));
    assert_eq!(follow.task().unwrap().status.state, TaskState::Completed);
}

#[tokio::test]
async fn an_agent_that_ends_the_stream_before_the_task_is_asked_again() {
    let binding = Binding::HttpJson;
    let acts = vec![stream(binding, &[snapshot("WORKING")]), stream(binding, &[snapshot("WORKING"), now("COMPLETED")])];
    let (agent, server) = start(binding, acts).await;
    assert_eq!(drain(&mut agent.follow("t")).await, (2, Ok(())));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn tries_are_bounded_and_counted_anew_after_progress() {
    let binding = Binding::JsonRpc;
    let same = || cut_stream(binding, &[snapshot("WORKING")]);
    let bad = || answer("503 Service Unavailable", "text/plain", "later");
    // Three tries: two without progress, one with, three more without.
    let acts = vec![
        same(),
        bad(),
        same(),
        cut_stream(binding, &[snapshot("WORKING"), piece("x")]),
        bad(),
        Act::ReadAndClose,
        bad(),
        bad(),
    ];
    let (agent, server) = start(binding, acts).await;
    let mut follow = agent.follow("t");
    let (events, end) = drain(&mut follow).await;
    assert_eq!(events, 2);
    assert_eq!(end, Err(CallError::Http { status: 503, detail: "later".into() }));
    // The last three of them and the cut itself were in vain.
    assert_eq!(server.seen().len(), 1 + 7);
    assert_eq!(texts(follow.task().unwrap()), ["x"]);
    // Another call begins anew.
    let (_, end) = drain(&mut follow).await;
    assert!(matches!(end, Err(CallError::Unsure(_))), "{end:?}");
}

#[tokio::test]
async fn a_refusal_is_not_tried_again() {
    for binding in BOTH {
        let acts = vec![refusal(binding, ErrorCode::TaskNotFound), refusal(binding, ErrorCode::TaskNotFound)];
        let (agent, server) = start(binding, acts).await;
        let (events, end) = drain(&mut agent.follow("t")).await;
        assert_eq!(events, 0);
        assert!(matches!(&end, Err(CallError::Refused(error)) if error.known() == Some(ErrorCode::TaskNotFound)));
        assert_eq!(asked(binding, &server.seen()), ["SubscribeToTask", "GetTask"]);
        let (agent, server) = start(binding, vec![refusal(binding, ErrorCode::InvalidParams)]).await;
        assert!(drain(&mut agent.follow("t")).await.1.is_err());
        assert_eq!(server.seen().len(), 2);
    }
}

#[tokio::test]
async fn a_message_is_never_sent_twice() {
    for binding in BOTH {
        for act in
            [cut_stream(binding, &[]), stream(binding, &[]), Act::Pieces(vec![chunked_head(), chunk(b"data: {")])]
        {
            let (agent, server) = start(binding, vec![act]).await;
            let mut follow = agent.send_and_follow(message()).await.unwrap();
            // How it broke off, and then that there is nothing to go on with.
            for is_first in [true, false] {
                let (events, end) = drain(&mut follow).await;
                assert_eq!(events, 0);
                let Err(CallError::Unsure(why)) = &end else { panic!("{end:?}") };
                assert_eq!(!why.contains("before the task had an id"), is_first, "{why}");
            }
            assert_eq!(server.seen().len(), 2);
        }
        // A message for a task that is known: the task can be followed on.
        let acts = vec![cut_stream(binding, &[]), stream(binding, &[snapshot("COMPLETED")])];
        let (agent, server) = start(binding, acts).await;
        let mut params = message();
        params.message.task_id = Some("t".into());
        let mut follow = agent.send_and_follow(params).await.unwrap();
        assert_eq!(drain(&mut follow).await, (1, Ok(())));
        assert_eq!(asked(binding, &server.seen()), ["SendStreamingMessage", "SubscribeToTask"]);
    }
}

#[tokio::test]
async fn a_message_instead_of_a_task_is_all_there_is() {
    for binding in BOTH {
        let said = json!({"message": {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "yo"}]}});
        let (agent, _server) = start(binding, vec![stream(binding, &[said])]).await;
        let mut follow = agent.send_and_follow(message()).await.unwrap();
        assert!(matches!(follow.next().await, Ok(Some(StreamResponse::Message(_)))));
        assert_eq!(follow.next().await, Ok(None));
        assert_eq!(follow.task(), None);
    }
}

#[tokio::test]
async fn events_of_another_task_or_beyond_the_bound_end_it() {
    let binding = Binding::JsonRpc;
    let other = json!({"task": {"id": "u", "status": {"state": "TASK_STATE_COMPLETED"}}});
    let strange =
        json!({"artifactUpdate": {"taskId": "u", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}}});
    for events in [vec![other], vec![snapshot("WORKING"), strange]] {
        let (agent, server) = start(binding, vec![stream(binding, &events)]).await;
        let mut follow = agent.follow("t");
        let (got, end) = drain(&mut follow).await;
        assert_eq!(got, events.len() - 1);
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("\"u\"")), "{end:?}");
        assert_eq!(server.seen().len(), 2);
        assert!(follow.task().is_none_or(|task| task.id == "t"));
    }
    let limits = StreamLimits { task_max: 2000, ..options(binding).limits };
    let small = AgentOptions { limits, ..options(binding) };
    let endless: Vec<Value> = std::iter::once(snapshot("WORKING")).chain((0..100).map(|_| piece("xxxx"))).collect();
    let (agent, _server) = start_with(small, card, vec![stream(binding, &endless)]).await;
    let (events, end) = drain(&mut agent.follow("t")).await;
    assert!((2..50).contains(&events), "{events}");
    assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("larger than 2000 bytes")), "{end:?}");
}

#[tokio::test]
async fn a_silent_stream_is_opened_again() {
    let binding = Binding::JsonRpc;
    let silent = Act::Pieces(vec![chunked_head(), chunk(&event(binding, &snapshot("WORKING"))), Piece::Silence]);
    let limits = StreamLimits { silence: Duration::from_millis(200), ..options(binding).limits };
    let options = AgentOptions { limits, ..options(binding) };
    let (agent, server) = start_with(options, card, vec![silent, stream(binding, &[snapshot("COMPLETED")])]).await;
    assert_eq!(drain(&mut agent.follow("t")).await, (2, Ok(())));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn a_call_that_is_dropped_loses_nothing_and_does_not_begin_the_gap_anew() {
    let binding = Binding::JsonRpc;
    let gaps = Duration::from_millis(300);
    let limits = StreamLimits { first_gap: gaps, longest_gap: gaps, ..options(binding).limits };
    let options = AgentOptions { limits, ..options(binding) };
    // More than one, for a call may be dropped while it subscribes.
    let whole = || stream(binding, &[snapshot("WORKING"), now("COMPLETED")]);
    let acts = [vec![cut_stream(binding, &[snapshot("SUBMITTED")])], (0..5).map(|_| whole()).collect()].concat();
    let (agent, _server) = start_with(options, card, acts).await;
    let mut follow = agent.follow("t");
    let (mut events, mut dropped) = (0, 0);
    loop {
        // Shorter than the gap, which passes nevertheless.
        match tokio::time::timeout(Duration::from_millis(50), follow.next()).await {
            Ok(Ok(Some(_))) => events += 1,
            Ok(end) => break assert_eq!(end, Ok(None)),
            Err(_) => dropped += 1,
        }
        assert!(dropped < 200, "the gap never passes");
    }
    assert_eq!(events, 3);
    assert!(dropped > 0);
}
