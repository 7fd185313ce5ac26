//! Streams as agents really send them: cut anywhere, silent, huge, refused, or none at all.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use shrooms_a2a::types::SendMessageParams;
use shrooms_a2a::{ErrorCode, Message, Role, StreamResponse};
use shrooms_outbound::{AgentOptions, Binding, CallError, StreamLimits, TaskStream};
use support::agent::{
    card, chunk, chunked_head, cut_stream, event, framed, last_chunk, now, options, piece, refusal, result, snapshot,
    start, start_with, stream, stream_head,
};
use support::{Act, Gate, Piece, answer};

const BOTH: [Binding; 2] = [Binding::JsonRpc, Binding::HttpJson];

fn message() -> SendMessageParams {
    SendMessageParams::of(Message::text("m-1", Role::User, "hi"))
}

fn word(event: &StreamResponse) -> String {
    match event {
        StreamResponse::Task(task) => task.status.state.word().to_owned(),
        StreamResponse::StatusUpdate(update) => update.status.state.word().to_owned(),
        StreamResponse::ArtifactUpdate(update) => update.artifact.parts[0].as_text().unwrap().to_owned(),
        StreamResponse::Message(message) => message.joined_text(),
    }
}

/// All events in a word each, and how the stream ended.
async fn drain(stream: &mut TaskStream) -> (Vec<String>, Result<(), CallError>) {
    let mut words = Vec::new();
    loop {
        match stream.next().await {
            Ok(Some(event)) => words.push(word(&event)),
            Ok(None) => return (words, Ok(())),
            Err(error) => {
                assert_eq!(stream.next().await, Ok(None), "nothing comes after an error");
                return (words, Err(error));
            }
        }
    }
}

/// What comes of a subscription under this answer.
async fn streamed(binding: Binding, options: AgentOptions, act: Act) -> (Vec<String>, Result<(), CallError>) {
    let (agent, _server) = start_with(options, card, vec![act]).await;
    match agent.subscribe_to_task("t".into()).await {
        Ok(mut stream) => drain(&mut stream).await,
        Err(error) => (vec![format!("not opened by {binding}")], Err(error)),
    }
}

/// The events of a subscription's body, that comes whole, in chunks of one byte, and in two.
async fn check(binding: Binding, body: &[u8], expected: &[&str]) {
    let cut = body.len() / 2;
    for pieces in [
        vec![stream_head(), Piece::Bytes(body.to_vec())],
        [vec![chunked_head()], body.chunks(1).map(chunk).collect(), vec![last_chunk()]].concat(),
        vec![chunked_head(), chunk(&body[..cut]), chunk(&body[cut..]), last_chunk()],
    ] {
        let got = streamed(binding, options(binding), Act::Pieces(pieces)).await;
        let expected = expected.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(got, (expected, Ok(())), "{binding} {}", String::from_utf8_lossy(body));
    }
}

#[tokio::test]
async fn events_are_read_whatever_their_lines_end_in_and_wherever_they_are_cut() {
    for binding in BOTH {
        for end in ["\n", "\r\n", "\r"] {
            let data = |value: &Value| framed(binding, value).to_string();
            let lines = [
                ": hello".into(),
                String::new(),
                format!("data: {}", data(&snapshot("WORKING"))),
                "id: 7".into(),
                String::new(),
                format!("data:{}", data(&piece("grüße 🍄"))),
                String::new(),
                ":".into(),
                "event: message".into(),
                format!("data: {}", data(&now("COMPLETED"))),
                "retry: 5".into(),
                String::new(),
                String::new(),
            ];
            check(binding, lines.join(end).as_bytes(), &["working", "grüße 🍄", "completed"]).await;
        }
    }
}

#[tokio::test]
async fn data_of_several_lines_is_one_event_and_empty_data_is_none() {
    for binding in BOTH {
        let pretty = serde_json::to_string_pretty(&framed(binding, &snapshot("WORKING"))).unwrap();
        let lines: Vec<String> = pretty.lines().map(|line| format!("data: {line}")).collect();
        let body = format!("data:\n\n{}\n\ndata: \n\n", lines.join("\n"));
        check(binding, body.as_bytes(), &["working"]).await;
    }
}

#[tokio::test]
async fn the_last_event_may_lack_its_blank_line_but_not_its_end() {
    for binding in BOTH {
        let whole = [event(binding, &snapshot("WORKING")), event(binding, &now("COMPLETED"))].concat();
        for left in 1..=2 {
            check(binding, &whole[..whole.len() - left], &["working", "completed"]).await;
        }
        let half = Act::Pieces(vec![stream_head(), Piece::Bytes(whole[..whole.len() - 10].to_vec())]);
        let (words, end) = streamed(binding, options(binding), half).await;
        assert_eq!(words, ["working"]);
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("in the middle of an event")), "{end:?}");
    }
}

#[tokio::test]
async fn events_come_as_they_are_sent() {
    for binding in BOTH {
        let (open, gate) = Gate::new();
        let pieces = vec![
            chunked_head(),
            chunk(&event(binding, &snapshot("WORKING"))),
            Piece::Gate(gate),
            chunk(&event(binding, &now("COMPLETED"))),
            last_chunk(),
        ];
        let (agent, server) = start(binding, vec![Act::Pieces(pieces)]).await;
        let mut stream = agent.send_streaming_message(message()).await.unwrap();
        assert_eq!(word(&stream.next().await.unwrap().unwrap()), "working");
        // The second one is not there yet; a call that is dropped takes nothing with it.
        let early = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
        assert!(early.is_err(), "{early:?}");
        open.send(()).unwrap();
        assert_eq!(drain(&mut stream).await, (vec!["completed".into()], Ok(())));
        let head = &server.seen()[1].head;
        assert!(head.contains("accept: text/event-stream, application/json\r\n"), "{head}");
    }
}

#[tokio::test]
async fn streams_run_side_by_side() {
    let binding = Binding::JsonRpc;
    let ((open_a, a), (open_b, b)) = (Gate::new(), Gate::new());
    let act = |gate: Gate, text: &str| {
        let events = [event(binding, &snapshot("WORKING")), event(binding, &piece(text))].concat();
        Act::Pieces(vec![chunked_head(), chunk(b": hi\n\n"), Piece::Gate(gate), chunk(&events), last_chunk()])
    };
    let (agent, _server) = start(binding, vec![act(a, "a"), act(b, "b")]).await;
    let mut first = agent.subscribe_to_task("t".into()).await.unwrap();
    let mut second = agent.subscribe_to_task("t".into()).await.unwrap();
    open_b.send(()).unwrap();
    assert_eq!(drain(&mut second).await.0, ["working", "b"]);
    open_a.send(()).unwrap();
    assert_eq!(drain(&mut first).await.0, ["working", "a"]);
}

#[tokio::test]
async fn a_stream_that_is_cut_gives_what_came_and_an_error() {
    for binding in BOTH {
        let act = cut_stream(binding, &[snapshot("WORKING"), piece("x")]);
        let (words, end) = streamed(binding, options(binding), act).await;
        assert_eq!(words, ["working", "x"]);
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("cut off")), "{end:?}");
    }
}

#[tokio::test]
async fn a_silent_stream_is_cut_also_before_its_head() {
    for binding in BOTH {
        let limits = StreamLimits { silence: Duration::from_millis(50), ..StreamLimits::default() };
        let options = AgentOptions { limits, ..options(binding) };
        let begun = vec![chunked_head(), chunk(&event(binding, &snapshot("WORKING"))), Piece::Silence];
        let (words, end) = streamed(binding, options.clone(), Act::Pieces(begun)).await;
        assert_eq!(words, ["working"]);
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("was silent")), "{end:?}");
        let (_, end) = streamed(binding, options, Act::Pieces(vec![Piece::Silence])).await;
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("no whole answer within")), "{end:?}");
    }
}

#[tokio::test]
async fn a_comment_breaks_the_silence() {
    let binding = Binding::JsonRpc;
    let limits = StreamLimits { silence: Duration::from_secs(1), ..StreamLimits::default() };
    let options = AgentOptions { limits, ..options(binding) };
    let (open, gate) = Gate::new();
    let mut pieces = vec![chunked_head()];
    for _ in 0..6 {
        pieces.extend([Piece::Gate(gate.clone()), chunk(b": still here\n\n")]);
    }
    pieces.extend([chunk(&event(binding, &snapshot("COMPLETED"))), last_chunk()]);
    let (agent, _server) = start_with(options, card, vec![Act::Pieces(pieces)]).await;
    let mut stream = agent.subscribe_to_task("t".into()).await.unwrap();
    // A comment each 250 ms, for longer than the bound.
    let mut ticks = tokio::time::interval(Duration::from_millis(250));
    let comments = async {
        for _ in 0..6 {
            ticks.tick().await;
            open.send(()).unwrap();
        }
        std::future::pending::<()>().await;
    };
    let got = tokio::select! {
        got = drain(&mut stream) => got,
        () = comments => panic!("it never ends"),
    };
    assert_eq!(got, (vec!["completed".into()], Ok(())));
}

#[tokio::test]
async fn a_huge_event_ends_the_stream_after_those_before_it() {
    for binding in BOTH {
        let limits = StreamLimits { event_max: 1000, ..StreamLimits::default() };
        let options = AgentOptions { limits, ..options(binding) };
        let act = stream(binding, &[snapshot("WORKING"), piece(&"x".repeat(1000))]);
        let (words, end) = streamed(binding, options, act).await;
        assert_eq!(words, ["working"]);
        assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("larger than 1000 bytes")), "{end:?}");
    }
}

#[tokio::test]
async fn what_is_no_event_ends_the_stream() {
    for binding in BOTH {
        for bad in [json!({"odd": 1}), json!({"task": {"id": "t"}}), json!([])] {
            let act = stream(binding, &[snapshot("WORKING"), bad, now("COMPLETED")]);
            let (words, end) = streamed(binding, options(binding), act).await;
            assert_eq!(words, ["working"]);
            assert!(matches!(&end, Err(CallError::Unsure(_))), "{end:?}");
        }
    }
    let stray = json!({"jsonrpc": "2.0", "id": 2, "result": snapshot("WORKING")});
    let act = Act::Pieces(vec![stream_head(), Piece::Bytes(format!("data: {stray}\n\n").into_bytes())]);
    let (_, end) = streamed(Binding::JsonRpc, options(Binding::JsonRpc), act).await;
    assert!(matches!(&end, Err(CallError::Unsure(why)) if why.contains("its id is not the call's")), "{end:?}");
}

#[tokio::test]
async fn a_refusal_is_one_before_the_stream_and_in_it() {
    let code = ErrorCode::TaskNotFound;
    let refused = |end: &Result<(), CallError>| matches!(end, Err(CallError::Refused(error)) if error.known() == Some(ErrorCode::TaskNotFound));
    for binding in BOTH {
        let (_, end) = streamed(binding, options(binding), refusal(binding, code)).await;
        assert!(refused(&end), "{end:?}");
        let error = shrooms_a2a::A2aError::new(code, "why");
        let last = match binding {
            Binding::JsonRpc => {
                json!({"jsonrpc": "2.0", "id": 1, "error": serde_json::to_value(error.json_rpc()).unwrap()})
            }
            Binding::HttpJson => serde_json::from_slice(&error.http_body()).unwrap(),
        };
        for tail in ["\n\n", ""] {
            let body = [event(binding, &snapshot("WORKING")), format!("data: {last}{tail}").into_bytes()].concat();
            let act = Act::Pieces(vec![stream_head(), Piece::Bytes(body)]);
            let (words, end) = streamed(binding, options(binding), act).await;
            assert_eq!(words, ["working"]);
            assert!(refused(&end), "{end:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_told_apart() {
    for binding in BOTH {
        for (status, page) in [("502 Bad Gateway", "<html>bad"), ("401 Unauthorized", "who are you?")] {
            let (_, end) = streamed(binding, options(binding), answer(status, "text/event-stream", page)).await;
            let expected = CallError::Http { status: status[..3].parse().unwrap(), detail: page.into() };
            assert_eq!(end, Err(expected));
        }
        for act in [answer("200 OK", "text/html", "<html>"), answer("200 OK", "text/plain", "{}"), Act::ReadAndClose] {
            let (_, end) = streamed(binding, options(binding), act).await;
            assert!(matches!(end, Err(CallError::Unsure(_))), "{end:?}");
        }
        // The whole answer at once.
        let (words, end) = streamed(binding, options(binding), result(binding, &snapshot("COMPLETED"))).await;
        assert_eq!((words, end), (vec!["completed".into()], Ok(())));
    }
}

#[tokio::test]
async fn a_subscription_is_a_get_where_the_post_has_no_place() {
    let binding = Binding::HttpJson;
    let no_path = r#"{"error":{"code":405,"status":"UNIMPLEMENTED","message":"takes GET"}}"#;
    for refused in [
        answer("405 Method Not Allowed", "text/plain", ""),
        answer("405 Method Not Allowed", "application/json", no_path),
        answer("404 Not Found", "text/html", "<html>"),
    ] {
        let (agent, server) = start(binding, vec![refused, stream(binding, &[snapshot("WORKING")])]).await;
        let mut stream = agent.subscribe_to_task("a:b".into()).await.unwrap();
        assert_eq!(drain(&mut stream).await.0, ["working"]);
        let seen = server.seen();
        assert!(seen[1].head.starts_with("post /a2a/review/tasks/a%3ab:subscribe http"), "{}", seen[1].head);
        assert!(seen[2].head.starts_with("get /a2a/review/tasks/a%3ab:subscribe http"), "{}", seen[2].head);
        assert_eq!(seen[2].body, "");
    }
    // An agent's own word is one, and JSON-RPC has no other verb.
    let (agent, server) = start(binding, vec![refusal(binding, ErrorCode::TaskNotFound)]).await;
    assert!(matches!(agent.subscribe_to_task("t".into()).await, Err(CallError::Refused(_))));
    assert_eq!(server.seen().len(), 2);
    let (agent, server) = start(Binding::JsonRpc, vec![answer("405 Method Not Allowed", "text/plain", "")]).await;
    assert!(matches!(agent.subscribe_to_task("t".into()).await, Err(CallError::Http { status: 405, .. })));
    assert_eq!(server.seen().len(), 2);
}
