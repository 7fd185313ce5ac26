//! Cards: how long they are kept, how they are asked for again, and what is no card.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

mod support;

use std::time::Duration;

use serde_json::{Value, json};
use shrooms_a2a::ErrorCode;
use shrooms_outbound::{AgentOptions, Binding, CARD_MAX, CallError, Outbound};
use support::agent::{NOW, card, json_answer, make, options, peer};
use support::{Act, Server, answer, answer_with};

/// A card that names itself, with header lines.
fn named(name: &str, port: u16, headers: &str) -> Act {
    let mut card = card(port, Binding::JsonRpc);
    card["description"] = json!(name);
    answer_with("200 OK", headers, &card.to_string())
}

fn unchanged(headers: &str) -> Act {
    Act::Answer(format!("HTTP/1.1 304 Not Modified\r\n{headers}\r\n\r\n").into_bytes())
}

/// Asks at these seconds; what was had each time, and the heads of the requests it took.
async fn had(acts: impl FnOnce(u16) -> Vec<Act>, seconds: &[u64]) -> (Vec<Result<String, CallError>>, Vec<String>) {
    let server = Server::start(acts);
    let (outbound, peer) = (Outbound::new("0.1.0"), peer(server.port));
    let mut got = Vec::new();
    for second in seconds {
        let card = outbound.card(&peer, "/a2a/review", Duration::from_secs(*second)).await;
        got.push(card.map(|card| card.description.clone()));
    }
    (got, server.seen().into_iter().map(|seen| seen.head).collect())
}

/// The card of each second, by its name, and how many requests it took.
#[track_caller]
fn is(got: &[Result<String, CallError>], expected: &[&str]) {
    let names: Vec<&str> = got.iter().map(|card| card.as_deref().unwrap_or("-")).collect();
    assert_eq!(names, expected, "{got:?}");
}

#[tokio::test]
async fn a_card_is_kept_as_long_as_it_says_and_asked_for_again_by_its_tag() {
    let acts = |port| {
        vec![
            named("one", port, "ETag: \"v1\"\r\nCache-Control: max-age=60"),
            unchanged("Cache-Control: max-age=30\r\nETag: \"v1b\""),
            named("two", port, "ETag: \"v2\"\r\nCache-Control: max-age=60"),
        ]
    };
    let (got, heads) = had(acts, &[0, 59, 60, 89, 90, 149]).await;
    is(&got, &["one", "one", "one", "one", "two", "two"]);
    assert_eq!(heads.len(), 3);
    assert!(heads[0].starts_with("get /a2a/review/.well-known/agent-card.json "), "{}", heads[0]);
    assert!(heads[0].contains("a2a-version: 1.0") && !heads[0].contains("if-none-match"), "{}", heads[0]);
    assert!(heads[1].contains("if-none-match: \"v1\"\r\n"), "{}", heads[1]);
    assert!(heads[2].contains("if-none-match: \"v1b\"\r\n"), "{}", heads[2]);
}

#[tokio::test]
async fn a_card_with_a_date_is_asked_for_again_by_it_and_one_without_headers_lasts_five_minutes() {
    let modified = "Last-Modified: Sat, 31 Jan 2026 09:05:00 GMT";
    let acts = |port| vec![named("one", port, modified), unchanged("X: y"), named("two", port, "X: y")];
    let (got, heads) = had(acts, &[0, 299, 300, 599, 600]).await;
    is(&got, &["one", "one", "one", "one", "two"]);
    assert_eq!(heads.len(), 3);
    for head in &heads[1..] {
        assert!(head.contains("if-modified-since: sat, 31 jan 2026 09:05:00 gmt\r\n"), "{head}");
    }
}

#[tokio::test]
async fn a_card_that_forbids_it_is_not_kept() {
    let no_store = |name, port| named(name, port, "ETag: \"v\"\r\nCache-Control: no-store");
    let (got, heads) = had(|port| vec![no_store("one", port), no_store("two", port)], &[0, 0]).await;
    is(&got, &["one", "two"]);
    assert!(!heads[1].contains("if-none-match"), "{}", heads[1]);
    let no_cache = |port| named("one", port, "ETag: \"v\"\r\nCache-Control: no-cache");
    let (got, heads) = had(|port| vec![no_cache(port), unchanged("X: y"), unchanged("X: y")], &[0, 0, 1]).await;
    is(&got, &["one", "one", "one"]);
    // The tag holds also when it was not said again.
    for head in &heads[1..] {
        assert!(head.contains("if-none-match: \"v\"\r\n"), "{head}");
    }
    assert_eq!(heads.len(), 3);
}

#[tokio::test]
async fn a_card_that_cannot_be_asked_for_again_is_used_for_an_hour_more() {
    let bad = || answer("503 Service Unavailable", "text/plain", "later");
    let acts = |port| vec![named("one", port, "Cache-Control: max-age=60"), bad(), Act::ReadAndClose, bad(), bad()];
    let (got, heads) = had(acts, &[0, 60, 3659, 3660, 3661]).await;
    is(&got, &["one", "one", "one", "-", "-"]);
    assert_eq!(got[3], Err(CallError::Http { status: 503, detail: "later".into() }));
    assert_eq!(heads.len(), 5);
    let strict = |port| vec![named("one", port, "Cache-Control: max-age=60, must-revalidate"), Act::ReadAndClose];
    let (got, _) = had(strict, &[0, 60]).await;
    assert!(matches!(&got[1], Err(CallError::Away(_))), "{got:?}");
}

#[tokio::test]
async fn what_the_agent_says_now_counts_also_when_it_is_no_card() {
    let kept = |port| named("one", port, "Cache-Control: max-age=60");
    for gone in [answer("404 Not Found", "text/plain", "gone"), answer("200 OK", "application/json", "{}")] {
        let again = answer("503 Service Unavailable", "text/plain", "later");
        let (got, _) = had(|port| vec![kept(port), gone, again], &[0, 60, 61]).await;
        is(&got, &["one", "-", "-"]);
    }
}

#[tokio::test]
async fn what_is_no_card_is_said_with_what_is_wrong() {
    let huge = format!("{{\"name\": \"{}\"}}", "x".repeat(CARD_MAX));
    let old = json!({"name": "n", "url": "http://a", "protocolVersion": "0.3.0"});
    let moved = answer_with("302 Found", "Location: http://127.0.0.1:9/", "");
    for (act, expected) in [
        (answer("200 OK", "application/json", "<html>"), "it is not JSON (-32006)"),
        (json_answer("200 OK", &old), "a card of A2A 0.3 has none"),
        (json_answer("200 OK", &json!([])), "must be an object"),
        (answer("200 OK", "application/json", &huge), "larger than"),
        (answer("404 Not Found", "text/plain", "no session"), "no session (HTTP 404)"),
        (moved, "(HTTP 302)"),
        (unchanged("X: y"), "(HTTP 304)"),
        (Act::ReadAndClose, "homeserver"),
        (Act::Close, "homeserver"),
    ] {
        let (got, _) = had(|_| vec![act], &[0]).await;
        let error = got[0].as_ref().unwrap_err();
        assert!(error.to_string().contains(expected), "{expected}: {error}");
        // Nothing of a call has left: never `Unsure`.
        assert!(!matches!(error, CallError::Unsure(_)), "{error:?}");
    }
    let nobody = Outbound::new("0.1.0").card(&peer(1), "/", NOW).await;
    assert!(matches!(nobody, Err(CallError::Away(_))), "{nobody:?}");
    for base in ["", "a2a", "/a b", "/a?b", "/a#b", "http://elsewhere/"] {
        let odd = Outbound::new("0.1.0").card(&peer(1), base, NOW).await;
        assert!(matches!(&odd, Err(CallError::Away(why)) if why.contains("is no path")), "{base} {odd:?}");
    }
}

#[tokio::test]
async fn the_card_that_was_not_used_for_the_longest_time_goes_first() {
    let all: Vec<u64> = (0..65).collect();
    let server =
        Server::start(|port| all.iter().map(|_| named("x", port, "X: y")).chain([named("y", port, "X: y")]).collect());
    let (outbound, peer) = (Outbound::new("0.1.0"), peer(server.port));
    let get = async |number: u64, now: u64| {
        let card = outbound.card(&peer, &format!("/a2a/s{number}"), Duration::from_secs(now)).await;
        card.unwrap().description.clone()
    };
    for number in 0..64 {
        get(number, number).await;
    }
    // Number 0 is used again, so that number 1 is the oldest one.
    assert_eq!(get(0, 64).await, "x");
    get(64, 65).await;
    assert_eq!(server.seen().len(), 65);
    assert_eq!(get(0, 66).await, "x");
    assert_eq!(get(1, 66).await, "y");
    assert_eq!(server.seen().len(), 66);
}

/// An agent made from a card that is changed before it is sent.
async fn made(change: impl Fn(&mut Value), options: AgentOptions) -> Result<Binding, CallError> {
    let server = Server::start(|port| {
        let mut card = card(port, Binding::HttpJson);
        change(&mut card);
        vec![json_answer("200 OK", &card)]
    });
    make(&server, options).await.map(|agent| agent.binding())
}

#[tokio::test]
async fn an_agent_is_called_by_the_first_interface_that_fits_or_not_at_all() {
    let any = || AgentOptions { binding: None, ..options(Binding::JsonRpc) };
    assert_eq!(made(|_| (), any()).await, Ok(Binding::HttpJson));
    assert_eq!(made(|_| (), options(Binding::JsonRpc)).await, Ok(Binding::JsonRpc));
    let first_elsewhere = |card: &mut Value| card["supportedInterfaces"][0]["url"] = json!("http://192.0.2.1/x");
    assert_eq!(made(first_elsewhere, any()).await, Ok(Binding::JsonRpc));
    let all_elsewhere = |card: &mut Value| {
        for index in 0..2 {
            card["supportedInterfaces"][index]["url"] = json!("http://192.0.2.1/x");
        }
    };
    let refused = made(all_elsewhere, any()).await;
    let Err(CallError::Refused(error)) = &refused else { panic!("{refused:?}") };
    assert_eq!(error.known(), Some(ErrorCode::UnsupportedOperation));
    let list = "HTTP+JSON 1.0 at http://192.0.2.1/x (its address is not one of that machine); JSONRPC 1.0 at";
    assert!(error.message.contains(list), "{error}");
}

#[tokio::test]
async fn a_required_extension_must_be_known() {
    let require = |card: &mut Value| card["capabilities"]["extensions"] = json!([{"uri": "urn:x", "required": true}]);
    let refused = made(require, options(Binding::JsonRpc)).await;
    let Err(CallError::Refused(error)) = &refused else { panic!("{refused:?}") };
    assert_eq!(error.known(), Some(ErrorCode::ExtensionSupportRequired));
    let known = AgentOptions { known_extensions: vec!["urn:x".into()], ..options(Binding::JsonRpc) };
    assert_eq!(made(require, known).await, Ok(Binding::JsonRpc));
    let odd = AgentOptions { extensions: vec!["urn:a, urn:b".into()], ..options(Binding::JsonRpc) };
    let odd = made(|_| (), odd).await;
    assert!(matches!(&odd, Err(CallError::Refused(error)) if error.message.contains("header")), "{odd:?}");
}
