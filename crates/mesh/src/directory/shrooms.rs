//! The shrooms daemon: `GET /status` over its control socket. A device is known by the label of its
//! mesh and its overlay address, which WireGuard holds it to; its name is what it calls itself.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::ask::{Answer, Question, or_default};
use super::{Device, Directory, DirectoryKind, Later, Listing, OwnEntry};
use crate::{DeviceId, MeshError};

/// It answers from memory; what takes longer hangs.
const WITHIN: Duration = Duration::from_secs(5);
/// The label of a mesh that has none: the daemon's own word for the first.
const FIRST: &str = "default";
const WAITING: &str = "the shrooms daemon has joined no mesh yet: join one with shrooms, and this daemon follows";

/// The shrooms daemon on this host.
#[derive(Debug)]
pub(crate) struct Shrooms {
    /// Where its socket may be: the first that is there.
    pub sockets: Vec<PathBuf>,
    pub port: u16,
}

impl Directory for Shrooms {
    fn kind(&self) -> DirectoryKind {
        DirectoryKind::Shrooms
    }

    fn list(&self) -> Later<'_, Listing> {
        Box::pin(async { self.status().await.map(|status| status.listing(self.port)) })
    }
}

impl Shrooms {
    async fn status(&self) -> Result<Status, MeshError> {
        let mut first = None;
        for socket in &self.sockets {
            let question =
                Question { kind: DirectoryKind::Shrooms, socket, host: "unix", target: "/status", within: WITHIN };
            match question.ask::<Status>().await {
                // Whoever has no mesh says so; a mesh is not left because of an answer that says nothing.
                Ok(Answer::Of(status)) if status.says_nothing() => {
                    return Err(question.strange("it says neither a mesh nor that it has none".to_owned()));
                }
                Ok(Answer::Of(status)) => return Ok(status),
                Ok(Answer::Refused(status, said)) => return Err(question.strange(format!("HTTP {status} {said}"))),
                // Only a socket that is not there sends on to the next.
                Err(error @ MeshError::NoDaemon { .. }) => first = first.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        Err(first.unwrap_or(MeshError::NoDaemon { kind: DirectoryKind::Shrooms, path: PathBuf::new() }))
    }
}

/// What is read of the answer; all else is ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    #[serde(deserialize_with = "or_default")]
    waiting: bool,
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    overlay: String,
    #[serde(deserialize_with = "or_default")]
    meshes: Vec<Joined>,
    #[serde(deserialize_with = "or_default")]
    peers: Vec<Peer>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Joined {
    #[serde(deserialize_with = "or_default")]
    label: String,
    #[serde(deserialize_with = "or_default")]
    overlay: String,
    #[serde(deserialize_with = "or_default")]
    disabled: bool,
    #[serde(deserialize_with = "or_default")]
    not_running: bool,
    #[serde(deserialize_with = "or_default")]
    left: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Peer {
    #[serde(deserialize_with = "or_default")]
    name: String,
    #[serde(deserialize_with = "or_default")]
    mesh: String,
    #[serde(deserialize_with = "or_default")]
    overlay: String,
    #[serde(deserialize_with = "or_default")]
    overlay_v4: String,
}

impl Joined {
    fn unserved(&self, address: Option<IpAddr>) -> Option<String> {
        let why = match () {
            () if self.left => "this machine has left it",
            () if self.disabled => "it is disabled in shrooms",
            () if self.not_running => "it is not running in shrooms",
            () if address.is_none() => "this machine has no address on it",
            () => return None,
        };
        Some(why.to_owned())
    }
}

impl Status {
    fn says_nothing(&self) -> bool {
        !self.waiting && self.meshes.is_empty() && self.overlay.is_empty()
    }

    pub(super) fn listing(mut self, port: u16) -> Listing {
        if self.meshes.is_empty() && !self.overlay.is_empty() {
            self.meshes.push(Joined { overlay: self.overlay.clone(), ..Joined::default() });
        }
        if self.waiting || self.meshes.is_empty() {
            return Listing { trouble: Some(WAITING.to_owned()), ..Listing::default() };
        }
        for mesh in &mut self.meshes {
            if mesh.label.is_empty() {
                FIRST.clone_into(&mut mesh.label);
            }
        }
        let first = self.meshes.first().map_or(FIRST, |mesh| &mesh.label).to_owned();
        let device = |name: &str, label: &str, overlay: &str, addresses: Vec<IpAddr>| {
            let address = addresses.first().map_or_else(|| overlay.to_owned(), IpAddr::to_string);
            let id = DeviceId(format!("{label}/{address}"));
            Device { name: name.to_owned(), mesh: Some(label.to_owned()), addresses, port, id, of_another: false }
        };
        let mut listing = Listing::default();
        for mesh in &self.meshes {
            let address = address_of(&mesh.overlay);
            let device = device(&self.name, &mesh.label, &mesh.overlay, address.into_iter().collect());
            listing.own.push(OwnEntry { device, dns: None, unserved: mesh.unserved(address) });
        }
        for peer in &self.peers {
            // Without its overlay address a device has no identity.
            let Some(overlay) = address_of(&peer.overlay) else { continue };
            let label = if peer.mesh.is_empty() { &first } else { &peer.mesh };
            let addresses = std::iter::once(overlay).chain(address_of(&peer.overlay_v4)).collect();
            listing.others.push(device(&peer.name, label, &peer.overlay, addresses));
        }
        listing
    }
}

fn address_of(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|address| address.to_canonical())
}
