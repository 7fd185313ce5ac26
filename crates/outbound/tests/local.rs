//! Calls to this machine's daemon over a unix socket.

#![allow(clippy::unwrap_used, reason = "a test may stop at a surprise")]

mod support;

use serde_json::json;
use shrooms_outbound::{LocalClient, LocalError, Secret};
use support::{Act, answer, serve_unix};

#[tokio::test]
async fn requests_go_over_the_socket_with_the_pass() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("agent.sock");
    let json_answer = |body| answer("200 OK", "application/json", body);
    let acts = vec![json_answer(r#"{"a":1}"#), json_answer("[]"), answer("204 No Content", "", "")];
    let server = serve_unix(&socket, acts);
    let client = LocalClient::new(&socket, Some(&Secret::new("s3cret"))).unwrap();
    assert!(!format!("{client:?}").contains("s3cret"));
    assert_eq!(client.get("/v1/status").await, Ok(json!({"a": 1})));
    assert_eq!(client.post("/v1/asks", &json!({"to": "tests"})).await, Ok(json!([])));
    assert_eq!(client.delete("/v1/sessions/tests").await, Ok(json!(null)));
    let seen = server.join().unwrap();
    for (seen, line) in seen.iter().zip(["get /v1/status ", "post /v1/asks ", "delete /v1/sessions/tests "]) {
        assert!(seen.head.starts_with(line), "{}", seen.head);
        assert!(seen.head.contains("shrooms-pass: s3cret"), "{}", seen.head);
    }
    assert_eq!(seen[1].body, r#"{"to":"tests"}"#);
    let bad = LocalClient::new(&socket, Some(&Secret::new("a\nb")));
    assert!(matches!(bad, Err(LocalError::Broken(_))));
}

#[tokio::test]
async fn errors_say_whether_there_is_a_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("agent.sock");
    let client = LocalClient::new(&socket, None).unwrap();
    let gone = client.get("/v1/status").await;
    assert!(matches!(&gone, Err(LocalError::NoDaemon { socket: at, .. }) if *at == socket), "{gone:?}");
    let problem = r#"{"title":"not-found","detail":"no session 'tets'"}"#;
    let api = || answer("404 Not Found", "application/problem+json", problem);
    let page = answer("200 OK", "text/html", "<html>");
    let server = serve_unix(&socket, vec![api(), Act::ReadAndClose, page, api()]);
    let expected = LocalError::Api { status: 404, title: "not-found".into(), detail: "no session 'tets'".into() };
    assert_eq!(client.get("/v1/sessions/tets").await, Err(expected.clone()));
    for _ in ["cut off", "no JSON"] {
        let broken = client.get("/v1/status").await;
        assert!(matches!(broken, Err(LocalError::Broken(_))), "{broken:?}");
    }
    assert_eq!(client.events("/v1/events").await.map(|_| ()), Err(expected));
    server.join().unwrap();
    // The socket's file is left behind by a daemon that was killed.
    let dead = client.get("/v1/status").await;
    assert!(matches!(dead, Err(LocalError::NoDaemon { .. })), "{dead:?}");
}

#[tokio::test]
async fn a_stream_gives_its_events_and_ends() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("agent.sock");
    let stream = ": hello\n\nid: 7\ndata: {\"seq\":7}\n\ndata: a\ndata: b\n\ndata: never finished";
    let server = serve_unix(&socket, vec![answer("200 OK", "text/event-stream", stream)]);
    let client = LocalClient::new(&socket, None).unwrap();
    let mut events = client.events("/v1/events?after=6").await.unwrap();
    let mut got = Vec::new();
    while let Some(event) = events.next().await.unwrap() {
        got.push((event.id.unwrap_or_default(), event.data));
    }
    assert_eq!(got, [("7".into(), "{\"seq\":7}".to_owned()), ("7".into(), "a\nb".into())]);
    let head = &server.join().unwrap()[0].head;
    assert!(head.starts_with("get /v1/events?after=6 ") && head.contains("accept: text/event-stream"), "{head}");
}
