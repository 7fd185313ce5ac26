//! tailscaled's LocalAPI: `status` for the list, `whois` for who a source address is. A device is
//! known by its stable id. The label of the mesh is always `tailscale`: a host is on one tailnet at a
//! time, and the tailnet's own name may be changed by its administrator.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::ask::{Answer, Question, or_default};
use super::{Device, Directory, DirectoryKind, Later, Listing, OwnEntry};
use crate::mesh::now;
use crate::{DeviceId, MeshError};

/// The mesh label of every device, and the first part of its identity.
const LABEL: &str = "tailscale";
/// A LocalAPI that is asked by a browser refuses; this host name says that we are none.
const HOST: &str = "local-tailscaled.sock";
/// It answers from memory; what takes longer hangs.
const WITHIN: Duration = Duration::from_secs(5);
/// A connection waits for this one, and a second one comes after a refresh.
const WHOIS_WITHIN: Duration = Duration::from_secs(2);
/// A device makes several connections at once; who leaves the tailnet is out a moment later.
const REMEMBERED: Duration = Duration::from_secs(5);
/// Addresses that are remembered: more devices than that do not call within seconds.
const MOST_REMEMBERED: usize = 1_024;

/// tailscaled on this host.
#[derive(Debug)]
pub(crate) struct Tailscale {
    socket: PathBuf,
    port: u16,
    known: Mutex<BTreeMap<IpAddr, (Instant, DeviceId)>>,
}

impl Tailscale {
    pub(crate) fn new(socket: PathBuf, port: u16) -> Self {
        Self { socket, port, known: Mutex::default() }
    }

    fn question<'a>(&'a self, target: &'a str, within: Duration) -> Question<'a> {
        Question { kind: DirectoryKind::Tailscale, socket: &self.socket, host: HOST, target, within }
    }

    async fn ask_whois(&self, address: IpAddr) -> Result<Option<DeviceId>, MeshError> {
        // Older versions want a port; which one does not matter for a device's own address.
        let shown = SocketAddr::new(address, 1).to_string();
        let escaped = shown.replace('[', "%5B").replace(']', "%5D").replace(':', "%3A");
        let target = format!("/localapi/v0/whois?addr={escaped}");
        let question = self.question(&target, WHOIS_WITHIN);
        let id = match question.ask::<Whois>().await? {
            Answer::Of(whois) => whois.node.and_then(|node| node.device_with(address)),
            Answer::Refused(404, _) => None,
            Answer::Refused(status, said) => return Err(refused(&question, status, &said)),
        };
        if let Some(id) = &id {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            let old = now() - REMEMBERED;
            known.retain(|_, (at, _)| *at > old);
            if known.len() < MOST_REMEMBERED {
                known.insert(address, (now(), id.clone()));
            }
        }
        Ok(id)
    }
}

impl Directory for Tailscale {
    fn kind(&self) -> DirectoryKind {
        DirectoryKind::Tailscale
    }

    fn list(&self) -> Later<'_, Listing> {
        Box::pin(async {
            let question = self.question("/localapi/v0/status", WITHIN);
            match question.ask::<Status>().await? {
                Answer::Of(status) => status.listing(self.port),
                Answer::Refused(status, said) => Err(refused(&question, status, &said)),
            }
        })
    }

    fn whois(&self, address: IpAddr) -> Option<Later<'_, Option<DeviceId>>> {
        Some(Box::pin(self.ask_whois(address)))
    }

    fn remembers(&self, address: IpAddr) -> Option<DeviceId> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, id) = known.get(&address)?;
        (now() - *at < REMEMBERED).then(|| id.clone())
    }
}

fn refused(question: &Question<'_>, status: u16, said: &str) -> MeshError {
    match status {
        403 => MeshError::NotAllowed { kind: question.kind, path: question.socket.to_owned() },
        _ => question.strange(format!("HTTP {status} {said}")),
    }
}

/// What is read of the answer; all else is ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Status {
    #[serde(deserialize_with = "or_default")]
    backend_state: String,
    /// Whether there is an interface; absent in old versions.
    #[serde(rename = "TUN")]
    tun: Option<bool>,
    #[serde(rename = "Self")]
    me: Option<Node>,
    #[serde(deserialize_with = "or_default")]
    peer: BTreeMap<String, Node>,
    #[serde(rename = "MagicDNSSuffix", deserialize_with = "or_default")]
    suffix: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Node {
    #[serde(rename = "ID", deserialize_with = "or_default")]
    id: String,
    #[serde(deserialize_with = "or_default")]
    host_name: String,
    #[serde(rename = "DNSName", deserialize_with = "or_default")]
    dns_name: String,
    #[serde(rename = "TailscaleIPs", deserialize_with = "or_default")]
    ips: Vec<String>,
    /// Whose it is.
    #[serde(rename = "UserID", deserialize_with = "or_default")]
    user: u64,
    /// Of a device that is nobody's but its tags'.
    #[serde(deserialize_with = "or_default")]
    tags: Vec<String>,
    /// Another tailnet's device, that one of ours is shared with.
    #[serde(deserialize_with = "or_default")]
    sharee_node: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Whois {
    node: Option<WhoisNode>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct WhoisNode {
    #[serde(rename = "StableID", deserialize_with = "or_default")]
    stable_id: String,
    #[serde(deserialize_with = "or_default")]
    addresses: Vec<String>,
}

impl WhoisNode {
    /// This device, if the address is its very own: a prefix may hold a whole network behind it.
    fn device_with(&self, address: IpAddr) -> Option<DeviceId> {
        let own = |text: &String| {
            let (bare, length) = text.split_once('/')?;
            let bare: IpAddr = bare.parse().ok()?;
            let whole = if bare.is_ipv4() { "32" } else { "128" };
            (length == whole && bare.to_canonical() == address).then_some(())
        };
        self.addresses.iter().find_map(own)?;
        identity(&self.stable_id)
    }
}

/// `tailscale/STABLEID`; a stable id is a word of letters and digits.
fn identity(stable_id: &str) -> Option<DeviceId> {
    let word = !stable_id.is_empty() && stable_id.len() <= 64 && stable_id.chars().all(|c| c.is_ascii_alphanumeric());
    word.then(|| DeviceId(format!("{LABEL}/{stable_id}")))
}

impl Node {
    /// The first label of its name in the tailnet; what it calls itself where it has none.
    fn name(&self) -> &str {
        let dns = self.dns_name.split('.').next().unwrap_or_default();
        if dns.is_empty() { &self.host_name } else { dns }
    }

    /// Whose it is: nobody's where it has tags, or the list does not say.
    fn person(&self) -> Option<u64> {
        (self.user != 0 && self.tags.is_empty()).then_some(self.user)
    }

    fn device(&self, port: u16) -> Option<Device> {
        let addresses = self.ips.iter().filter_map(|text| text.parse::<IpAddr>().ok()).collect();
        let mesh = Some(LABEL.to_owned());
        Some(Device { name: self.name().to_owned(), mesh, addresses, port, id: identity(&self.id)?, of_another: false })
    }

    /// Whether it is of this tailnet. Devices that are shared in from others' tailnets and hired exit
    /// nodes are listed as peers, too, and are not the owner's.
    fn is_of(&self, suffix: &str) -> bool {
        let (name, suffix) = (self.dns_name.trim_end_matches('.'), suffix.trim_matches('.'));
        let under = || name.strip_suffix(suffix).is_some_and(|rest| rest.ends_with('.'));
        !self.sharee_node && (name.is_empty() || suffix.is_empty() || under())
    }
}

impl Status {
    /// What is listed; an error where Tailscale has no list to show now, so that the last one stays.
    pub(super) fn listing(self, port: u16) -> Result<Listing, MeshError> {
        if self.backend_state != "Running" {
            let state: String = self.backend_state.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
            return Err(MeshError::TailscaleDown { state });
        }
        let Some(device) = self.me.as_ref().and_then(|me| me.device(port)) else {
            return Err(MeshError::TailscaleDown { state: "Running, without a device".to_owned() });
        };
        let unserved = (self.tun == Some(false)).then(|| {
            "tailscaled runs without an interface (userspace networking), so that nobody's address can be known"
                .to_owned()
        });
        let dns = self.me.as_ref().map(|me| me.dns_name.trim_end_matches('.').to_owned()).filter(|dns| !dns.is_empty());
        let me = device.id.clone();
        let owner = self.me.as_ref().and_then(Node::person);
        let device_of = |node: &Node| {
            let of_another = owner.is_none() || node.person() != owner;
            Some(Device { of_another, ..node.device(port)? })
        };
        let others = self.peer.values().filter(|node| node.is_of(&self.suffix)).filter_map(device_of);
        let others = others.filter(|device| device.id != me).collect();
        Ok(Listing { own: vec![OwnEntry { device, dns, unserved }], others, ..Listing::default() })
    }
}
