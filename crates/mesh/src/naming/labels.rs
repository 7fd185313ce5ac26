//! Who is shown under which label. Names are what peers call themselves: a label stays with the
//! identity that had it first, this machine's names are nobody else's, and of several that come at
//! once with one name none gets it. It must not know about addresses.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::MOST;
use crate::directory::{Device, Listing};
use crate::{DeviceId, NAME_LIMIT, file, is_name};

/// How long a label is kept for a device that is not listed, or for nobody after several claimed it:
/// machines are off overnight, and their place is not free then.
const HELD: Duration = Duration::from_secs(24 * 60 * 60);
/// Labels that are remembered: of all that are listed, and as many that were.
const REMEMBERED: usize = 2 * MOST;
/// What a device without a legal name is called, before the part of its identity.
const NAMELESS: &str = "device";

/// A name and a mesh, as they are compared: who sees `Laptop` reads `laptop`.
type Key = (String, Option<String>);

#[derive(Debug, Clone)]
struct Hold {
    /// Nobody: several claimed it at once.
    by: Option<DeviceId>,
    name: String,
    seen: Duration,
}

/// The labels of this run.
#[derive(Debug, Default)]
pub(super) struct Labels {
    held: BTreeMap<Key, Hold>,
}

impl Labels {
    /// The listing with a legal name for everybody, no two of which mean the same.
    pub fn name(&mut self, mut listing: Listing, now: Duration) -> Listing {
        for entry in &mut listing.own {
            legalise(&mut entry.device);
        }
        for device in &mut listing.others {
            legalise(device);
        }
        // This machine's names, on whichever mesh.
        let mine: BTreeSet<String> = listing.own.iter().map(|entry| entry.device.name.to_ascii_lowercase()).collect();
        self.held.retain(|_, hold| now.saturating_sub(hold.seen) < HELD);
        let given = self.give(&listing.others, &mine, now);
        for (device, name) in listing.others.iter_mut().zip(given) {
            device.name = name;
        }
        self.remember(&listing.others, now);
        listing
    }

    /// A name for each of the devices, in their order.
    fn give(&mut self, devices: &[Device], mine: &BTreeSet<String>, now: Duration) -> Vec<String> {
        let mut newcomers: BTreeMap<Key, usize> = BTreeMap::new();
        for device in devices.iter().filter(|device| !self.has(device, &device.name)) {
            *newcomers.entry(key(&device.name, device)).or_default() += 1;
        }
        for (key, _) in newcomers.iter().filter(|(_, count)| **count > 1) {
            let nobody = Hold { by: None, name: key.0.clone(), seen: now };
            let hold = self.held.entry(key.clone()).or_insert(nobody);
            if hold.by.is_none() {
                hold.seen = now;
            }
        }
        let mut before: BTreeMap<&DeviceId, &str> = BTreeMap::new();
        for hold in self.held.values() {
            before.extend(hold.by.as_ref().map(|by| (by, hold.name.as_str())));
        }
        let mut taken: BTreeSet<Key> = BTreeSet::new();
        let mut given: Vec<Option<String>> = Vec::new();
        // First what each may have as it is: its own claim, else what it was called before.
        for device in devices {
            let is_free = |name: &str| !mine.contains(&name.to_ascii_lowercase());
            let claim = Some(device.name.as_str()).filter(|name| is_free(name) && self.may_take(device, name));
            let old = || before.get(&device.id).copied().filter(|name| is_free(name));
            let name = claim.or_else(old).map(str::to_owned);
            taken.extend(name.as_deref().map(|name| key(name, device)));
            given.push(name);
        }
        let mut names = Vec::new();
        for (device, given) in devices.iter().zip(given) {
            let name = given.unwrap_or_else(|| {
                let is_free = |name: &String| {
                    let key = key(name, device);
                    !mine.contains(&key.0) && !self.held.contains_key(&key) && !taken.contains(&key)
                };
                candidates(device).find(is_free).unwrap_or_default()
            });
            taken.insert(key(&name, device));
            names.push(name);
        }
        names
    }

    fn has(&self, device: &Device, name: &str) -> bool {
        self.held.get(&key(name, device)).is_some_and(|hold| hold.by.as_ref() == Some(&device.id))
    }

    fn may_take(&self, device: &Device, name: &str) -> bool {
        self.has(device, name) || !self.held.contains_key(&key(name, device))
    }

    fn remember(&mut self, devices: &[Device], now: Duration) {
        let listed: BTreeSet<&DeviceId> = devices.iter().map(|device| &device.id).collect();
        // Whoever goes by another name now has given up the old one.
        self.held.retain(|_, hold| hold.by.as_ref().is_none_or(|by| !listed.contains(by)));
        for device in devices {
            let hold = Hold { by: Some(device.id.clone()), name: device.name.clone(), seen: now };
            self.held.insert(key(&device.name, device), hold);
        }
        if self.held.len() > REMEMBERED {
            let mut ages: Vec<(Duration, Key)> = self.held.iter().map(|(key, hold)| (hold.seen, key.clone())).collect();
            ages.sort();
            for (_, key) in ages.into_iter().take(self.held.len() - REMEMBERED) {
                self.held.remove(&key);
            }
        }
    }
}

fn key(name: &str, device: &Device) -> Key {
    (name.to_ascii_lowercase(), device.mesh.as_ref().map(|mesh| mesh.to_ascii_lowercase()))
}

/// Gives the device a name and a mesh label that can be written and typed. Without a dot in the name,
/// the first dot of `NAME.MESH` always ends it.
fn legalise(device: &mut Device) {
    let plain: String = device.name.trim_end_matches('.').replace('.', "-").chars().take(NAME_LIMIT).collect();
    device.name = match file::may_name_a_machine(&plain) {
        true => plain,
        false => format!("{NAMELESS}-{}", part(device, SHORT)),
    };
    if let Some(label) = device.mesh.as_mut().filter(|label| !is_name(label)) {
        let tame = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let tamed: String = label.chars().take(NAME_LIMIT - 1).map(tame).collect();
        *label = if is_name(&tamed) { tamed } else { format!("m{tamed}") };
    }
}

/// As much of the digest of an identity as is easily told apart from another.
const SHORT: usize = 8;
/// All of it that a name has room for.
const LONG: usize = 40;

/// The first characters of the digest of a device's identity.
fn part(device: &Device, length: usize) -> String {
    let digest = Sha256::digest(device.id.0.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(length).collect()
}

/// What a device may be called when its own claim is not to be had: the claim with more and more of
/// its identity, and in the end with a number. Never runs out.
fn candidates(device: &Device) -> impl Iterator<Item = String> + '_ {
    let with = |suffix: String| {
        let base: String = device.name.chars().take(NAME_LIMIT - 1 - suffix.len()).collect();
        format!("{base}-{suffix}")
    };
    let longer = (SHORT..=LONG).step_by(8).map(|length| part(device, length));
    let numbered = (2_u32..).map(|n| format!("{}-{n}", part(device, LONG)));
    longer.chain(numbered).map(with)
}
