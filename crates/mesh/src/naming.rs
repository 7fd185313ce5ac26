//! From a listing to names: the rules by which an address, an identity and a label each mean one
//! machine, whatever peers call themselves. Pure, but for what it remembers of the labels in this run.
//! It must not know which daemon made the list.

mod labels;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::directory::{Device, Listing, OwnEntry, host_name};
use crate::error::known;
use crate::file::names_no_machine;
use crate::names::Names;
use crate::{DeviceId, Machine, MeshError, near};
use labels::Labels;

/// Machines of one list: more than any mesh of one owner has; the rest are left out, and said.
pub(crate) const MOST: usize = 4_096;
/// Warnings that are told one by one.
const WARNED: usize = 16;

/// This machine on one of its meshes, as a person is shown it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnMesh {
    /// Its label; none for loopback, and in a file that gives none.
    pub label: Option<String>,
    /// This machine's addresses there.
    pub addresses: Vec<IpAddr>,
    /// Its whole name there, where the mesh has names that are looked up.
    pub dns: Option<String>,
    /// Why it is not served, if it is not.
    pub unserved: Option<String>,
}

/// What a listing came to.
#[derive(Debug)]
pub(crate) struct Named {
    pub names: Names,
    /// Why nothing is served.
    pub trouble: Option<String>,
}

/// What is remembered from listing to listing.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    labels: Labels,
    /// The labels of `--meshes` were all there once: one that goes away later is followed.
    labels_were_there: bool,
}

impl Naming {
    /// The names of this machine and the others; `served` the labels to serve (all if `None`), `now`
    /// any time that only grows.
    ///
    /// # Errors
    /// A label of `served` is none of this machine's meshes', at the first listing that has any; a
    /// checked list of which nothing is left.
    pub fn names(
        &mut self,
        listing: Listing,
        served: Option<&[String]>,
        port: u16,
        now: Duration,
    ) -> Result<Named, MeshError> {
        let mut warnings = listing.warnings.clone();
        let listing = match listing.checked {
            true => listing,
            false => {
                let sound = sound(listing, &mut warnings);
                self.labels.name(sound, now)
            }
        };
        let missing = self.missing(&listing, served)?;
        let Listing { own, others, checked, trouble, warnings: _ } = listing;
        let is_chosen = |mesh: &Option<String>| match served {
            None => true,
            Some(labels) => mesh.as_ref().is_some_and(|mesh| labels.contains(mesh)),
        };
        let mut meshes: Vec<OwnMesh> = own.iter().map(|entry| shown(entry, is_chosen(&entry.device.mesh))).collect();
        let gone = |label: String| OwnMesh {
            label: Some(label),
            addresses: Vec::new(),
            dns: None,
            unserved: Some(GONE.into()),
        };
        meshes.extend(missing.into_iter().map(gone));
        let (name, on) = (own.first().map(|entry| entry.device.name.clone()), labels_of(&own));
        let chosen: Vec<OwnEntry> = own.into_iter().filter(|entry| is_chosen(&entry.device.mesh)).collect();
        if checked && chosen.is_empty() {
            let name = on.first().cloned().unwrap_or_default();
            return Err(MeshError::NotServed { name, on: on.join(", ") });
        }
        let known: BTreeSet<Option<String>> = chosen.iter().map(|entry| entry.device.mesh.clone()).collect();
        let (live, dead): (Vec<OwnEntry>, Vec<OwnEntry>) = chosen.into_iter().partition(|e| e.unserved.is_none());
        let trouble = trouble.or_else(|| live.is_empty().then(|| nothing_served(&meshes)));
        let live_meshes: BTreeSet<Option<String>> = live.iter().map(|entry| entry.device.mesh.clone()).collect();
        let mut mine: Vec<Machine> = live.into_iter().map(|entry| machine(entry.device)).collect();
        if mine.is_empty() {
            let first = dead.into_iter().next().map(|entry| entry.device);
            let mesh = first.and_then(|device| device.mesh);
            mine.push(nowhere(name.unwrap_or_else(host_name), mesh, port));
        }
        // In the owner's file, machines of a mesh that this one is not on are called from elsewhere.
        let is_listed = |device: &Device| is_chosen(&device.mesh) && (checked || known.contains(&device.mesh));
        let others: Vec<Machine> = others.into_iter().filter(is_listed).map(machine).collect();
        let speaks = |machine: &Machine| checked || live_meshes.contains(&machine.mesh);
        let names = Names::new(mine, others, speaks, meshes, told(warnings));
        Ok(Named { names, trouble })
    }

    /// The labels to serve that are none of this machine's meshes': an error until they were all there.
    fn missing(&mut self, listing: &Listing, served: Option<&[String]>) -> Result<Vec<String>, MeshError> {
        let own = listing.own.iter().map(|entry| &entry.device.mesh);
        let others = listing.others.iter().filter(|_| listing.checked).map(|device| &device.mesh);
        let mut labels: Vec<String> = Vec::new();
        for label in own.chain(others).flatten() {
            if !labels.contains(label) {
                labels.push(label.clone());
            }
        }
        let Some(served) = served else { return Ok(Vec::new()) };
        let missing: Vec<String> = served.iter().filter(|label| !labels.contains(label)).cloned().collect();
        // A daemon that has joined no mesh yet has not said which there are.
        if !listing.checked && listing.own.is_empty() {
            return Ok(Vec::new());
        }
        match missing.first() {
            Some(label) if listing.checked || !self.labels_were_there => Err(unknown_label(label, &labels)),
            _ => {
                self.labels_were_there = true;
                Ok(missing)
            }
        }
    }
}

const GONE: &str = "this machine is not on it any more";
const NOT_CHOSEN: &str = "--meshes leaves it out";

/// A label that would be served by nobody: an error, never a smaller set.
fn unknown_label(label: &str, labels: &[String]) -> MeshError {
    MeshError::UnknownLabel {
        label: label.to_owned(),
        near: near(label, labels.iter().map(String::as_str)),
        known: known(labels),
    }
}

/// This machine where nothing is served: a name, and nowhere to be reached.
pub(crate) fn nowhere(name: String, mesh: Option<String>, port: u16) -> Machine {
    // No device's identity: those end in an address, or in a word without a space.
    let id = DeviceId(format!("this machine/{name}"));
    Machine { name, mesh, addresses: Vec::new(), port, id, of_another: false }
}

fn machine(device: Device) -> Machine {
    let Device { name, mesh, addresses, port, id, of_another } = device;
    Machine { name, mesh, addresses, port, id, of_another }
}

fn label_of(device: &Device) -> String {
    machine(device.clone()).label()
}

fn labels_of(own: &[OwnEntry]) -> Vec<String> {
    own.iter().map(|entry| label_of(&entry.device)).collect()
}

fn shown(entry: &OwnEntry, chosen: bool) -> OwnMesh {
    OwnMesh {
        label: entry.device.mesh.clone(),
        addresses: entry.device.addresses.clone(),
        dns: entry.dns.clone(),
        unserved: if chosen { entry.unserved.clone() } else { Some(NOT_CHOSEN.to_owned()) },
    }
}

fn nothing_served(meshes: &[OwnMesh]) -> String {
    let why = |mesh: &OwnMesh| {
        let label = mesh.label.as_deref().unwrap_or_default();
        format!("{label}: {}", mesh.unserved.as_deref().unwrap_or_default())
    };
    format!("no mesh can be served ({})", meshes.iter().map(why).collect::<Vec<_>>().join("; "))
}

/// At most so many warnings, the rest counted.
fn told(mut warnings: Vec<String>) -> Vec<String> {
    let more = warnings.len().saturating_sub(WARNED);
    warnings.truncate(WARNED);
    if more > 0 {
        warnings.push(format!("and {more} more like these"));
    }
    warnings
}

/// The listing without what could mean two machines: each address and each identity is one
/// device's, and this machine's are its own. Labels come later.
fn sound(listing: Listing, warnings: &mut Vec<String>) -> Listing {
    let Listing { mut own, mut others, checked, trouble, warnings: told } = listing;
    if others.len() + own.len() > MOST {
        let most = MOST.saturating_sub(own.len());
        warnings.push(format!("the mesh lists {} machines: {} are left out", others.len(), others.len() - most));
        others.truncate(most);
    }
    for entry in &mut own {
        entry.device.addresses = useful(&entry.device.addresses, true);
        if entry.device.addresses.is_empty() && entry.unserved.is_none() {
            entry.unserved = Some("this machine has no usable address on it".to_owned());
        }
    }
    // Only the mesh's daemon says which addresses are this machine's. Where those are loopback ones it
    // is a lab on one host, and the others' are, too.
    let in_lab = own.iter().flat_map(|entry| &entry.device.addresses).any(IpAddr::is_loopback);
    let mine: BTreeSet<IpAddr> = own.iter().flat_map(|entry| entry.device.addresses.iter().copied()).collect();
    let own_ids: BTreeSet<DeviceId> = own.iter().map(|entry| entry.device.id.clone()).collect();
    let mut by_id: BTreeMap<DeviceId, (usize, bool)> = BTreeMap::new();
    let mut kept: Vec<Device> = Vec::new();
    for mut device in others {
        device.addresses = useful(&device.addresses, in_lab);
        if own_ids.contains(&device.id) {
            continue;
        }
        match by_id.get_mut(&device.id) {
            None => {
                by_id.insert(device.id.clone(), (kept.len(), true));
                kept.push(device);
            }
            Some((place, same)) => *same &= kept.get(*place) == Some(&device),
        }
    }
    for (id, _) in by_id.iter().filter(|(_, (_, same))| !same) {
        warnings.push(format!("two machines are listed as {id}: neither is known"));
    }
    kept.retain(|device| by_id.get(&device.id).is_none_or(|(_, same)| *same));
    let mut claims: BTreeMap<IpAddr, Vec<String>> = BTreeMap::new();
    for device in &kept {
        for address in &device.addresses {
            claims.entry(*address).or_default().push(device.id.to_string());
        }
    }
    let contested = |address: &IpAddr| mine.contains(address) || claims.get(address).is_some_and(|by| by.len() > 1);
    for (address, by) in claims.iter().filter(|(address, _)| contested(address)) {
        let mine = if mine.contains(address) { "this machine and " } else { "" };
        warnings.push(format!("the address {address} is claimed by {mine}{}: it names none of them", by.join(" and ")));
    }
    for device in &mut kept {
        device.addresses.retain(|address| !contested(address));
    }
    kept.retain(|device| !device.addresses.is_empty());
    Listing { own, others: kept, checked, trouble, warnings: told }
}

/// Addresses of one machine each, in their plain form, each once.
fn useful(addresses: &[IpAddr], loopback: bool) -> Vec<IpAddr> {
    let mut kept: Vec<IpAddr> = Vec::new();
    for address in addresses.iter().map(IpAddr::to_canonical) {
        if !names_no_machine(address) && (loopback || !address.is_loopback()) && !kept.contains(&address) {
            kept.push(address);
        }
    }
    kept
}

#[cfg(test)]
mod tests;
