//! Where a call goes, and the addresses it makes: literal IP addresses only, so that no name is
//! looked up and no text of a caller can change the host.
//! Must not know how the mesh found the addresses.

use std::net::{IpAddr, SocketAddr};

/// A machine to call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// Its name, for errors.
    pub name: String,
    /// Its addresses on the mesh, tried in this order; the next one only if the one before could not
    /// be connected to.
    pub addresses: Vec<IpAddr>,
    /// The port of its daemon.
    pub port: u16,
    /// The address of this machine to call from: the other side knows a device by it. It holds for
    /// addresses of its own family; for the other one the system chooses.
    pub bind: Option<IpAddr>,
    /// The interface to call by, which has that address: a route that somebody else has set cannot
    /// lead the call to another one, and to whoever has taken the peer's address there.
    pub interface: Option<String>,
}

impl Peer {
    /// Its addresses as sockets, in order.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port))
    }
}
