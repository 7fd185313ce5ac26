//! Which interface of a card is called: the first one in the card's order that is spoken here and
//! leads to the peer itself, so that no card can send a call elsewhere.
//! Must not know what is called.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;
use shrooms_a2a::card::{AgentInterface, BINDING_HTTP_JSON, BINDING_JSONRPC};
use shrooms_a2a::{A2aError, AgentCard, ErrorCode, version};

use crate::Peer;

/// A binding that is spoken here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding {
    JsonRpc,
    HttpJson,
}

impl Binding {
    /// The name in a card.
    pub fn name(self) -> &'static str {
        match self {
            Binding::JsonRpc => BINDING_JSONRPC,
            Binding::HttpJson => BINDING_HTTP_JSON,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Binding::JsonRpc, Binding::HttpJson].into_iter().find(|binding| binding.name() == name)
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The interface that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chosen {
    pub binding: Binding,
    /// Path and query for JSON-RPC; for HTTP+JSON the path that operations go below, without a slash
    /// at its end.
    pub target: String,
    pub tenant: Option<String>,
}

/// Why an interface is passed over.
enum Passed {
    Binding,
    NotPinned(Binding),
    Version,
    Address(&'static str),
}

/// Interfaces that an error names: a person sees what is wrong from the first few.
const NAMED_MAX: usize = 8;

/// Characters of each text of a card in an error: enough of an address to know it by.
const SHOWN_CHARS: usize = 120;

/// The interface to call. `pinned`: only one of this binding.
///
/// # Errors
/// None fits; the message says what each of them is and why it does not.
pub(super) fn choose(card: &AgentCard, peer: &Peer, pinned: Option<Binding>) -> Result<Chosen, A2aError> {
    let mut passed = Vec::new();
    for interface in &card.supported_interfaces {
        match fits(interface, peer, pinned) {
            Ok(chosen) => return Ok(chosen),
            Err(why) => passed.push((interface, why)),
        }
    }
    let is_version = passed.iter().any(|(_, why)| matches!(why, Passed::Version));
    let code = if is_version { ErrorCode::VersionNotSupported } else { ErrorCode::UnsupportedOperation };
    let more = passed.len().saturating_sub(NAMED_MAX);
    let mut list: Vec<String> = passed.iter().take(NAMED_MAX).map(|(interface, why)| named(interface, why)).collect();
    if more > 0 {
        list.push(format!("and {more} more"));
    }
    let message = format!("no interface in the card of {} can be called: {}", peer.name, list.join("; "));
    Err(A2aError::new(code, message))
}

fn fits(interface: &AgentInterface, peer: &Peer, pinned: Option<Binding>) -> Result<Chosen, Passed> {
    let binding = Binding::parse(&interface.protocol_binding).ok_or(Passed::Binding)?;
    if let Some(pinned) = pinned.filter(|pinned| *pinned != binding) {
        return Err(Passed::NotPinned(pinned));
    }
    if !version::is_spoken(&interface.protocol_version) {
        return Err(Passed::Version);
    }
    let target = target(&interface.url, peer, binding).map_err(Passed::Address)?;
    Ok(Chosen { binding, target, tenant: interface.tenant.clone() })
}

/// Path and query of an address, if it is one of the peer's own.
fn target(url: &str, peer: &Peer, binding: Binding) -> Result<String, &'static str> {
    let url = Url::parse(url).map_err(|_| "its address is not an absolute one")?;
    if url.scheme() != "http" {
        return Err("only http is spoken here");
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("its address has more than a host and a path");
    }
    let host = url.host_str().unwrap_or_default();
    if !is_peer(host, peer) {
        return Err("its address is not one of that machine");
    }
    if url.port_or_known_default() != Some(peer.port) {
        return Err("its port is not the one of that machine's daemon");
    }
    match (binding, url.query()) {
        (Binding::JsonRpc, None) => Ok(url.path().to_owned()),
        (Binding::JsonRpc, Some(query)) => Ok(format!("{}?{query}", url.path())),
        (Binding::HttpJson, None) => Ok(url.path().trim_end_matches('/').to_owned()),
        (Binding::HttpJson, Some(_)) => Err("its address has a query, and paths go below it"),
    }
}

/// An address of the peer in any spelling, or its name. The name is never looked up.
fn is_peer(host: &str, peer: &Peer) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(address) => peer.addresses.iter().any(|own| own.to_canonical() == address.to_canonical()),
        Err(_) => !host.is_empty() && host.eq_ignore_ascii_case(&peer.name),
    }
}

fn named(interface: &AgentInterface, why: &Passed) -> String {
    let cut = |text: &str| text.chars().filter(|c| !c.is_control()).take(SHOWN_CHARS).collect::<String>();
    let why = match why {
        Passed::Binding => "the binding is not spoken here".to_owned(),
        Passed::NotPinned(pinned) => format!("only {pinned} is asked for"),
        Passed::Version => format!("only version {} is spoken here", version::SPOKEN),
        Passed::Address(why) => (*why).to_owned(),
    };
    let (binding, version) = (cut(&interface.protocol_binding), cut(&interface.protocol_version));
    format!("{binding} {version} at {} ({why})", cut(&interface.url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> Peer {
        let addresses = vec!["100.64.0.7".parse().unwrap(), "fd00::7".parse().unwrap()];
        Peer { name: "homeserver".into(), addresses, port: 4732, bind: None, interface: None }
    }

    fn card(interfaces: &[(&str, &str, &str)]) -> AgentCard {
        let interface = |&(binding, version, url): &(&str, &str, &str)| AgentInterface {
            url: url.into(),
            protocol_binding: binding.into(),
            protocol_version: version.into(),
            ..AgentInterface::default()
        };
        AgentCard { supported_interfaces: interfaces.iter().map(interface).collect(), ..AgentCard::default() }
    }

    /// Interfaces by binding, version and URL; binding and target of the chosen one, or the code and
    /// a piece of the message.
    #[track_caller]
    fn check(
        interfaces: &[(&str, &str, &str)],
        pinned: Option<Binding>,
        expected: Result<(Binding, &str), (ErrorCode, &str)>,
    ) {
        match (choose(&card(interfaces), &peer(), pinned), expected) {
            (Ok(chosen), Ok((binding, target))) => {
                assert_eq!((chosen.binding, chosen.target.as_str()), (binding, target), "{interfaces:?}");
            }
            (Err(error), Err((code, piece))) => {
                assert_eq!(error.code, code, "{interfaces:?}");
                assert!(error.message.contains(piece), "{interfaces:?}: {}", error.message);
            }
            (got, _) => panic!("{interfaces:?}: {got:?}"),
        }
    }

    const RPC: (&str, &str, &str) = ("JSONRPC", "1.0", "http://100.64.0.7:4732/a2a/review");
    const REST: (&str, &str, &str) = ("HTTP+JSON", "1.0", "http://100.64.0.7:4732/a2a/review/");

    #[test]
    fn the_first_interface_that_is_spoken_is_taken() {
        use Binding::{HttpJson, JsonRpc};
        check(&[RPC, REST], None, Ok((JsonRpc, "/a2a/review")));
        check(&[REST, RPC], None, Ok((HttpJson, "/a2a/review")));
        check(&[REST, RPC], Some(JsonRpc), Ok((JsonRpc, "/a2a/review")));
        check(&[RPC, REST], Some(HttpJson), Ok((HttpJson, "/a2a/review")));
        let grpc = ("GRPC", "1.0", "100.64.0.7:4732");
        let old = ("JSONRPC", "0.3", "http://100.64.0.7:4732/");
        let custom = ("https://example.org/binding", "1.0", "http://100.64.0.7:4732/");
        check(&[grpc, old, custom, REST], None, Ok((HttpJson, "/a2a/review")));
    }

    #[test]
    fn a_path_is_taken_as_its_binding_needs_it() {
        use Binding::{HttpJson, JsonRpc};
        let at = |binding: &'static str, path: &str| (binding, format!("http://100.64.0.7:4732{path}"));
        for ((binding, url), expected) in [
            (at("JSONRPC", ""), Ok((JsonRpc, "/"))),
            (at("JSONRPC", "/a2a/"), Ok((JsonRpc, "/a2a/"))),
            (at("JSONRPC", "/rpc?key=a%20b"), Ok((JsonRpc, "/rpc?key=a%20b"))),
            (at("JSONRPC", "/a/../b"), Ok((JsonRpc, "/b"))),
            (at("HTTP+JSON", ""), Ok((HttpJson, ""))),
            (at("HTTP+JSON", "/a2a//"), Ok((HttpJson, "/a2a"))),
            (at("HTTP+JSON", "/a2a?key=1"), Err((ErrorCode::UnsupportedOperation, "has a query"))),
        ] {
            check(&[(binding, "1.0", &url)], None, expected);
        }
    }

    #[test]
    fn an_interface_of_another_machine_is_passed_over() {
        let elsewhere = "is not one of that machine";
        for (url, expected) in [
            ("http://100.64.0.7:4732/x", None),
            ("http://[fd00::7]:4732/x", None),
            ("http://[fd00:0:0::0:7]:4732/x", None),
            ("http://[::ffff:100.64.0.7]:4732/x", None),
            ("http://homeserver:4732/x", None),
            ("HTTP://HomeServer:4732/x", None),
            ("http://100.64.0.8:4732/x", Some(elsewhere)),
            ("http://127.0.0.1:4732/x", Some(elsewhere)),
            ("http://homeserver.example.org:4732/x", Some(elsewhere)),
            ("http://100.64.0.7:4732@evil:4732/x", Some("more than a host")),
            ("http://evil@100.64.0.7:4732/x", Some("more than a host")),
            ("http://100.64.0.7:4732/x#y", Some("more than a host")),
            ("http://100.64.0.7/x", Some("its port")),
            ("http://100.64.0.7:80/x", Some("its port")),
            ("https://100.64.0.7:4732/x", Some("only http")),
            ("/a2a/review", Some("not an absolute one")),
            ("file:///etc/passwd", Some("only http")),
            ("100.64.0.7:4732", Some("not an absolute one")),
        ] {
            let expected = match expected {
                None => Ok((Binding::JsonRpc, "/x")),
                Some(piece) => Err((ErrorCode::UnsupportedOperation, piece)),
            };
            check(&[("JSONRPC", "1.0", url)], None, expected);
            check(&[("JSONRPC", "1.0", url), RPC], None, expected.or(Ok((Binding::JsonRpc, "/a2a/review"))));
        }
    }

    #[test]
    fn an_error_says_what_the_card_has() {
        let unsupported = ErrorCode::UnsupportedOperation;
        check(&[("GRPC", "1.0", "a:1")], None, Err((unsupported, "GRPC 1.0 at a:1 (the binding is not spoken here)")));
        check(&[RPC], Some(Binding::HttpJson), Err((unsupported, "(only HTTP+JSON is asked for)")));
        let old = ("JSONRPC", "0.3", "http://100.64.0.7:4732/");
        check(&[old], None, Err((ErrorCode::VersionNotSupported, "JSONRPC 0.3 at http://100.64.0.7:4732/ (only")));
        check(&[("JSONRPC", "1.1", RPC.2)], None, Err((ErrorCode::VersionNotSupported, "only version 1.0")));
        let long = "x".repeat(5000);
        let many = vec![("GRPC", long.as_str(), long.as_str()); 20];
        let error = choose(&card(&many), &peer(), None).unwrap_err();
        assert!(error.message.ends_with("; and 12 more") && error.message.len() < 4000, "{}", error.message);
    }

    #[test]
    fn the_tenant_is_the_interfaces() {
        let mut card = card(&[REST]);
        card.supported_interfaces[0].tenant = Some("w".into());
        assert_eq!(choose(&card, &peer(), None).unwrap().tenant.as_deref(), Some("w"));
    }
}
