//! Calls to other machines against a server that misbehaves on purpose.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod support;

use std::net::{IpAddr, TcpListener};
use std::time::Duration;

use serde_json::json;
use shrooms_a2a::types::SendMessageParams;
use shrooms_a2a::{Message, Role, SendMessageResponse};
use shrooms_outbound::{BODY_MAX, CALL_TIMEOUT, CallError, Outbound, Peer};
use support::{Act, answer, serve};

const HOME: &str = "127.0.0.1";
const TASK: &str = r#"{"id":"tests:m-1","status":{"state":"TASK_STATE_WORKING"}}"#;

fn peer(port: u16) -> Peer {
    peer_at(&[HOME], port)
}

fn peer_at(addresses: &[&str], port: u16) -> Peer {
    let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
    Peer { name: "homeserver".into(), addresses, port, bind: None, interface: None }
}

fn outbound() -> Outbound {
    Outbound::new("0.1.0")
}

fn json_answer(status: &str, body: &str) -> Act {
    answer(status, "application/json", body)
}

fn rpc_result(result: &str) -> Act {
    json_answer("200 OK", &format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#))
}

/// Gets task `t` from a server that does this.
async fn got(act: Act) -> Result<String, CallError> {
    let (port, server) = serve(HOME, vec![act]);
    let got = outbound().get_task(&peer(port), "tests", "tests:m-1").await;
    server.join().unwrap();
    got.map(|task| task.id)
}

#[tokio::test]
async fn a_message_goes_out_as_a2a_and_its_task_comes_back() {
    let (port, server) = serve(HOME, vec![rpc_result(&format!(r#"{{"task":{TASK}}}"#)), rpc_result(TASK)]);
    let params = SendMessageParams::of(Message::text("m-1", Role::User, "hi"));
    for _ in ["wrapped", "bare"] {
        let sent = outbound().send_message(&peer(port), "a b", &params, CALL_TIMEOUT).await.unwrap();
        let SendMessageResponse::Task(task) = sent else { panic!("{sent:?}") };
        assert_eq!(task.id, "tests:m-1");
    }
    let seen = server.join().unwrap();
    let head = &seen[0].head;
    assert!(head.starts_with("post /a2a/a%20b http/1.1\r\n"), "{head}");
    for line in ["a2a-version: 1.0", "content-type: application/json", "user-agent: shrooms-agent/0.1.0"] {
        assert!(head.contains(line), "{line} in {head}");
    }
    let body: serde_json::Value = serde_json::from_str(&seen[0].body).unwrap();
    assert_eq!(body["method"], "SendMessage");
    assert_eq!(body["params"]["message"]["messageId"], "m-1");
}

#[tokio::test]
async fn the_other_methods_name_their_task() {
    let (port, server) = serve(HOME, vec![rpc_result(TASK); 3]);
    let (outbound, peer) = (outbound(), peer(port));
    outbound.get_task(&peer, "tests", "tests:m-1").await.unwrap();
    outbound.cancel_task(&peer, "tests", "tests:m-1").await.unwrap();
    outbound.ack_task(&peer, "tests", "tests:m-1").await.unwrap();
    let methods: Vec<String> = server.join().unwrap().into_iter().map(|seen| seen.body).collect();
    for (body, method) in methods.iter().zip(["GetTask", "CancelTask", "AckTask"]) {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!((&body["method"], &body["params"]["id"]), (&json!(method), &json!("tests:m-1")));
    }
}

#[tokio::test]
async fn nothing_left_only_when_no_connection_was_made() {
    // A port that nothing listens on.
    let port = TcpListener::bind((HOME, 0)).unwrap().local_addr().unwrap().port();
    let refused = outbound().get_task(&peer(port), "tests", "tests:m-1").await;
    assert!(matches!(&refused, Err(CallError::Away(why)) if why.contains("refused")), "{refused:?}");
    // A source address that this machine does not have.
    let bind = Some("192.0.2.1".parse().unwrap());
    let unbound = outbound().get_task(&Peer { bind, ..peer(port) }, "tests", "tests:m-1").await;
    assert!(matches!(&unbound, Err(CallError::Away(_))), "{unbound:?}");
    let nowhere = outbound().get_task(&peer_at(&[], port), "tests", "tests:m-1").await;
    assert!(matches!(&nowhere, Err(CallError::Away(_))), "{nowhere:?}");
    for path in ["", "@192.0.2.1/", "v1/status"] {
        let odd = outbound().get_small(&peer(port), path, CALL_TIMEOUT, None, BODY_MAX).await;
        assert!(matches!(&odd, Err(CallError::Away(_))), "{odd:?}");
    }
    let up = outbound().get_task(&peer(port), "..", "t").await;
    assert!(matches!(&up, Err(CallError::Away(_))), "{up:?}");
}

#[tokio::test]
async fn a_machine_that_swallows_the_connection_is_away() {
    // A full queue of a listener that never accepts drops what comes, as a machine that is off does.
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &"127.0.0.1:0".parse::<std::net::SocketAddrV4>().unwrap()).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let short = Duration::from_millis(200);
    let mut held = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, short) {
        held.push(stream);
        assert!(held.len() < 64, "the queue does not fill");
    }
    let swallowed = outbound().get_task(&peer(address.port()), "tests", "tests:m-1").await;
    assert!(matches!(&swallowed, Err(CallError::Away(_))), "{swallowed:?}");
}

#[tokio::test]
async fn once_connected_no_answer_is_unsure() {
    for act in [
        Act::Close,
        Act::ReadAndClose,
        Act::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"".to_vec()),
        Act::Answer(b"SSH-2.0-OpenSSH_9.6\r\n".to_vec()),
        json_answer("200 OK", "{}"),
        rpc_result(r#"{"id":"t"}"#),
    ] {
        let got = got(act).await;
        assert!(matches!(&got, Err(CallError::Unsure(_))), "{got:?}");
    }
    // Accepted by the system, and never answered.
    let listener = TcpListener::bind((HOME, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let late = outbound().get_small(&peer(port), "/", Duration::from_millis(100), None, BODY_MAX).await;
    assert!(matches!(&late, Err(CallError::Unsure(why)) if why.contains("within")), "{late:?}");
}

#[tokio::test]
async fn another_task_than_was_asked_for_is_no_answer() {
    let other = TASK.replace("m-1", "m-2");
    for act in [rpc_result(&other), rpc_result(&format!(r#"{{"task":{other}}}"#))] {
        let got = got(act).await;
        assert!(matches!(&got, Err(CallError::Unsure(why)) if why.contains("another task")), "{got:?}");
    }
    let many = format!(r#"{{"id":"tests:m-1","x":[{}0]}}"#, "0,".repeat(300_000));
    let got = got(rpc_result(&many)).await;
    assert!(matches!(&got, Err(CallError::Unsure(why)) if why.contains("too many values")), "{got:?}");
}

#[tokio::test]
async fn a_huge_answer_is_cut_off_while_it_is_read() {
    let said = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BODY_MAX + 1);
    let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    endless.resize(endless.len() + BODY_MAX + 1, b' ');
    for act in [Act::Answer(said.into_bytes()), Act::Answer(endless)] {
        let got = got(act).await;
        assert!(matches!(&got, Err(CallError::Unsure(why)) if why.contains("larger")), "{got:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let to = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n";
    let got = got(Act::Answer(to.into())).await;
    assert_eq!(got, Err(CallError::Http { status: 307, detail: "Temporary Redirect".into() }));
}

#[tokio::test]
async fn a_refusal_is_one_under_any_status() {
    let refusal = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no such task"}}"#;
    for status in ["200 OK", "404 Not Found"] {
        let got = got(json_answer(status, refusal)).await;
        let Err(CallError::Refused(error)) = got else { panic!("{got:?}") };
        assert_eq!((error.code, error.message.as_str()), (-32001, "no such task"));
    }
}

#[tokio::test]
async fn a_problem_gives_its_status_and_detail() {
    let problem = r#"{"title":"not-found","status":404,"detail":"no session 'tets' on homeserver"}"#;
    let expected = || CallError::Http { status: 404, detail: "no session 'tets' on homeserver".into() };
    let act = || answer("404 Not Found", "application/problem+json", problem);
    assert_eq!(got(act()).await, Err(expected()));
    let (port, server) = serve(HOME, vec![act(), json_answer("204 No Content", ""), json_answer("200 OK", "[1]")]);
    let (outbound, peer) = (outbound(), peer(port));
    let post = |path| async move { outbound.post_json(&peer, path, &json!({"a": 1}), CALL_TIMEOUT).await };
    assert_eq!(post("/v1/asks/report").await, Err(expected()));
    let (outbound, peer) = (self::outbound(), self::peer(port));
    assert_eq!(outbound.post_json(&peer, "/x", &json!({}), CALL_TIMEOUT).await, Ok(json!(null)));
    assert_eq!(outbound.get_small(&peer, "/x", CALL_TIMEOUT, None, BODY_MAX).await, Ok(json!([1])));
    let seen = server.join().unwrap();
    assert_eq!(seen[0].body, r#"{"a":1}"#);
    assert!(!seen[0].head.contains("a2a-version"), "{}", seen[0].head);
}

#[tokio::test]
async fn addresses_are_tried_in_order_and_the_source_address_is_the_bound_one() {
    let (port, server) = serve(HOME, vec![rpc_result(TASK), rpc_result(TASK)]);
    let outbound = outbound();
    let to = peer_at(&["127.0.0.2", HOME], port);
    for bind in ["127.0.0.3", "127.0.0.4"] {
        let bind: IpAddr = bind.parse().unwrap();
        outbound.get_task(&Peer { bind: Some(bind), ..to.clone() }, "tests", "tests:m-1").await.unwrap();
    }
    let from: Vec<_> = server.join().unwrap().into_iter().map(|seen| seen.from.unwrap().to_string()).collect();
    assert_eq!(from, ["127.0.0.3", "127.0.0.4"]);
}
