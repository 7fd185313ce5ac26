//! The static mesh file as a directory: the owner's own list, read anew each time.
//! What it may say is checked in `file.rs`; here is which of its machines is this one.

use std::net::{IpAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Device, Directory, DirectoryKind, Later, Listing, OwnEntry};
use crate::error::FileProblem;
use crate::names::own_indices;
use crate::{Machine, MeshError, file};

/// A file of machines.
#[derive(Debug)]
pub(crate) struct StaticFile {
    pub path: PathBuf,
    pub me: Option<String>,
    pub port: u16,
    /// A reading that hangs (a network file system) keeps its thread; there is never more than one.
    pub reading: Arc<AtomicBool>,
}

impl Directory for StaticFile {
    fn kind(&self) -> DirectoryKind {
        DirectoryKind::File
    }

    fn list(&self) -> Later<'_, Listing> {
        Box::pin(async {
            let (path, me, port, reading) = (self.path.clone(), self.me.clone(), self.port, self.reading.clone());
            let broken_off = |what: &str| MeshError::Read {
                path: self.path.clone(),
                source: std::io::Error::other(what.to_owned()),
            };
            if reading.swap(true, Ordering::AcqRel) {
                return Err(broken_off("an earlier reading of it hangs"));
            }
            let read = tokio::task::spawn_blocking(move || {
                let read = listing(&path, me.as_deref(), port);
                reading.store(false, Ordering::Release);
                read
            });
            read.await.unwrap_or_else(|_| Err(broken_off("reading it broke off")))
        })
    }
}

fn listing(path: &std::path::Path, me: Option<&str>, port: u16) -> Result<Listing, MeshError> {
    let read = file::load(path, port)?;
    let own = own_indices(&read.machines, me.or(read.me.as_deref()), is_this_hosts)
        .map_err(|problem: FileProblem| MeshError::File { path: path.to_owned(), problem })?;
    let mut listing = Listing { checked: true, ..Listing::default() };
    for (index, machine) in read.machines.into_iter().enumerate() {
        let Machine { name, mesh, addresses, port, id, of_another } = machine;
        let device = Device { name, mesh, addresses, port, id, of_another };
        match own.contains(&index) {
            true => listing.own.push(OwnEntry { device, dns: None, unserved: None }),
            false => listing.others.push(device),
        }
    }
    listing.warnings.extend(mistaken(&listing));
    Ok(listing)
}

/// That this host is another machine of the list than it was said to be. (Any process may have any
/// loopback address; there is nothing to be seen by those.)
fn mistaken(listing: &Listing) -> Option<String> {
    let is_here = |device: &Device| device.addresses.iter().any(|a| !a.is_loopback() && is_this_hosts(*a));
    let loopback = |device: &Device| device.addresses.iter().any(IpAddr::is_loopback);
    if listing.own.iter().any(|own| loopback(&own.device) || is_here(&own.device)) {
        return None;
    }
    let other = listing.others.iter().find(|device| is_here(device))?;
    let own = listing.own.first().map_or("", |own| own.device.name.as_str());
    Some(format!(
        "this host has the address of {}, and none of {own}: is it {} (--me, or me in the file)?",
        other.name, other.name
    ))
}

/// Whether this host has the address: only an own one can be bound. Nothing is sent.
fn is_this_hosts(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}
