//! A fake tailscaled: `status` and `whois` of its LocalAPI. Who an address is follows from the status,
//! unless a test says otherwise.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Held, Manner, Server};

/// The end of every name in the fake's tailnet.
pub const SUFFIX: &str = "tail1234.ts.net";

/// A fake tailscaled; logged out until a test says otherwise.
pub struct FakeTailscaled {
    held: Arc<Held<Said>>,
    server: Server,
}

#[derive(Clone, Default)]
struct Said {
    status: Value,
    whois: BTreeMap<IpAddr, Option<Value>>,
}

impl FakeTailscaled {
    /// Starts one whose socket is `path`.
    pub fn at(path: &Path) -> FakeTailscaled {
        let held: Arc<Held<Said>> = Arc::default();
        held.change(|said| said.status = json!({"BackendState": "NeedsLogin", "Self": null, "Peer": null}));
        let said = held.clone();
        let server = Server::start(path, Box::new(move |target| said.get().answer(target)));
        FakeTailscaled { held, server }
    }

    /// Says exactly this as its status.
    pub fn say(&self, status: Value) {
        self.held.change(|said| said.status = status);
    }

    /// It is up, this machine and the peers being (stable id, name, address).
    pub fn up(&self, me: (&str, &str, &str), peers: &[(&str, &str, &str)]) {
        let node = |(id, name, address): &(&str, &str, &str)| {
            json!({
                "ID": id, "HostName": format!("{name} as it says"), "DNSName": format!("{name}.{SUFFIX}."),
                "TailscaleIPs": [address], "UserID": 1, "Tags": null, "Online": true,
            })
        };
        let peers: Map<String, Value> =
            peers.iter().enumerate().map(|(n, peer)| (format!("nodekey:{n:064x}"), node(peer))).collect();
        self.say(json!({
            "Version": "fake", "BackendState": "Running", "TUN": true, "MagicDNSSuffix": SUFFIX,
            "Self": node(&me), "Peer": peers, "User": {"1": {"LoginName": "a@b"}},
        }));
    }

    /// What `whois` says of an address, whatever the status says: a node, or that there is none.
    pub fn says_of(&self, address: &str, node: Option<Value>) {
        let address = address.parse().expect("an address");
        self.held.change(|said| {
            said.whois.insert(address, node);
        });
    }

    /// How it answers from now on.
    pub fn manner(&self, manner: Manner) {
        self.server.manner(manner);
    }

    /// Goes away, with its socket.
    pub fn stop(&mut self) {
        self.server.stop();
    }

    /// Comes back as it was.
    pub fn resume(&mut self) {
        self.server.resume();
    }

    /// What it was asked, as `GET TARGET for HOST`.
    pub fn asked(&self) -> Vec<String> {
        self.server.asked()
    }
}

impl Said {
    fn answer(&self, target: &str) -> (u16, String) {
        if target == "/localapi/v0/status" {
            return (200, self.status.to_string());
        }
        let Some(asked) = target.strip_prefix("/localapi/v0/whois?addr=") else {
            return (404, "404 page not found".into());
        };
        let asked = asked.replace("%5B", "[").replace("%5D", "]").replace("%3A", ":");
        let Ok(asked) = asked.parse::<SocketAddr>() else { return (400, "invalid 'addr' parameter".into()) };
        match self.node_with(asked.ip()) {
            Some(node) => (200, json!({"Node": node, "UserProfile": {"ID": 1, "LoginName": "a@b"}}).to_string()),
            None => (404, "no match for IP:port".into()),
        }
    }

    fn node_with(&self, address: IpAddr) -> Option<Value> {
        if let Some(said) = self.whois.get(&address) {
            return said.clone();
        }
        let peers = self.status["Peer"].as_object().into_iter().flat_map(Map::values);
        let has = |node: &&Value| {
            let addresses = node["TailscaleIPs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            addresses.filter_map(|text| text.parse::<IpAddr>().ok()).any(|own| own == address)
        };
        let node = peers.chain([&self.status["Self"]]).find(has)?;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        Some(json!({"StableID": node["ID"], "Name": node["DNSName"], "Addresses": [format!("{address}/{whole}")]}))
    }
}
