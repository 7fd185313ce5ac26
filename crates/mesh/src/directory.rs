//! Who is on the mesh now, asked of whoever knows: a file, nobody, shrooms or tailscaled.
//! A directory only lists and names; what a list means is decided in one place for all of them
//! (`naming.rs`), because what a peer calls itself is hostile text.

mod ask;
mod loopback;
mod shrooms;
mod static_file;
mod tailscale;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;

pub(crate) use loopback::{Loopback, host_name};
pub(crate) use shrooms::Shrooms;
pub(crate) use static_file::StaticFile;
pub(crate) use tailscale::Tailscale;

use crate::{DeviceId, MeshError};

/// Which kind of directory is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryKind {
    /// This machine alone.
    Loopback,
    /// A static file.
    File,
    /// The shrooms daemon.
    Shrooms,
    /// tailscaled.
    Tailscale,
}

impl DirectoryKind {
    /// Whether a program on this host is asked, which may come and go.
    pub(crate) fn is_daemon(self) -> bool {
        matches!(self, Self::Shrooms | Self::Tailscale)
    }
}

impl fmt::Display for DirectoryKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Loopback => "loopback",
            Self::File => "file",
            Self::Shrooms => "shrooms",
            Self::Tailscale => "tailscale",
        })
    }
}

/// Where the mesh daemons' sockets are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sockets {
    /// The shrooms daemon's: the first of these that is there.
    pub shrooms: Vec<PathBuf>,
    /// tailscaled's.
    pub tailscale: PathBuf,
}

impl Default for Sockets {
    fn default() -> Self {
        Self {
            shrooms: vec!["/run/shrooms/shrooms.sock".into(), "/run/logos-vpn/logos-vpn.sock".into()],
            tailscale: "/var/run/tailscale/tailscaled.sock".into(),
        }
    }
}

impl Sockets {
    /// This one, whichever daemon answers there.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self { shrooms: vec![path.clone()], tailscale: path }
    }
}

/// What a directory answers later; boxed, so that the kinds are interchangeable.
pub(crate) type Later<'a, T> = Pin<Box<dyn Future<Output = Result<T, MeshError>> + Send + 'a>>;

/// Somebody who knows who is on the mesh.
pub(crate) trait Directory: fmt::Debug + Send + Sync {
    /// Which kind it is.
    fn kind(&self) -> DirectoryKind;

    /// Everybody, as of now. Bounded in time and size by the directory itself.
    fn list(&self) -> Later<'_, Listing>;

    /// Which device has this address as its very own, where the directory is the authority for
    /// that; `None` where the list is.
    fn whois(&self, _address: IpAddr) -> Option<Later<'_, Option<DeviceId>>> {
        None
    }

    /// Which device has this address as its very own, while that is still known from a moment ago.
    fn remembers(&self, _address: IpAddr) -> Option<DeviceId> {
        None
    }
}

/// What one reading gave, before anything is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// This machine, once per mesh that it has joined.
    pub own: Vec<OwnEntry>,
    /// The other machines.
    pub others: Vec<Device>,
    /// Whoever made the list has seen to it that no name or address means two machines (the
    /// owner's file does): names are taken as they are.
    pub checked: bool,
    /// What a person should know of the list.
    pub warnings: Vec<String>,
    /// Why nothing can be served, although the directory answered.
    pub trouble: Option<String>,
}

/// This machine on one mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnEntry {
    pub device: Device,
    /// Its whole name there, where the mesh has names that are looked up.
    pub dns: Option<String>,
    /// Why nothing can be bound there.
    pub unserved: Option<String>,
}

/// A device as it is listed. Other than a [`crate::Machine`], its name may be anything, and its
/// addresses may be anybody's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Device {
    pub name: String,
    pub mesh: Option<String>,
    pub addresses: Vec<IpAddr>,
    pub port: u16,
    pub id: DeviceId,
    /// The mesh says that it is another person's, or no person's.
    pub of_another: bool,
}
