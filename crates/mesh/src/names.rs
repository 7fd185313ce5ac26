//! The names as they stand: which machine is this one, which are served, who an address is.
//! Immutable, so that readers never see half of a refresh. It must not know where the list came from.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::error::{FileProblem, known};
use crate::naming::{OwnMesh, nowhere};
use crate::{DeviceId, FindError, Machine, Source, near};

/// One consistent set of names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Names {
    /// This machine once per mesh that it is served on, the first being what others call it; where it
    /// is served on none, once and without an address.
    own: Vec<Arc<Machine>>,
    me: Arc<Machine>,
    /// `me` first, then the others in the order of the list.
    machines: Arc<[Arc<Machine>]>,
    by_address: BTreeMap<IpAddr, Arc<Machine>>,
    meshes: Arc<[OwnMesh]>,
    warnings: Arc<[String]>,
}

impl Names {
    /// `own` is not empty; only the others for which `speaks` are known by their address.
    pub fn new(
        own: Vec<Machine>,
        others: Vec<Machine>,
        speaks: impl Fn(&Machine) -> bool,
        meshes: Vec<OwnMesh>,
        warnings: Vec<String>,
    ) -> Self {
        let own: Vec<Arc<Machine>> = own.into_iter().map(Arc::new).collect();
        let others: Vec<Arc<Machine>> = others.into_iter().map(Arc::new).collect();
        let me = own.first().cloned().unwrap_or_else(|| Arc::new(nowhere(String::new(), None, 0)));
        let mut by_address = BTreeMap::new();
        for machine in own.iter().chain(others.iter().filter(|machine| speaks(machine))) {
            for address in &machine.addresses {
                by_address.insert(*address, machine.clone());
            }
        }
        let machines = std::iter::once(me.clone()).chain(others).collect();
        Self { own, me, machines, by_address, meshes: meshes.into(), warnings: warnings.into() }
    }

    /// This machine's meshes, also those that are not served, with why.
    pub fn meshes(&self) -> &Arc<[OwnMesh]> {
        &self.meshes
    }

    /// What is wrong with the list that was read.
    pub fn warnings(&self) -> &Arc<[String]> {
        &self.warnings
    }

    /// The device with this identity, if it is on a served mesh.
    pub fn by_id(&self, id: &DeviceId) -> Option<Arc<Machine>> {
        self.by_address.values().find(|machine| machine.id == *id).cloned()
    }

    pub fn me(&self) -> &Arc<Machine> {
        &self.me
    }

    pub fn machines(&self) -> &Arc<[Arc<Machine>]> {
        &self.machines
    }

    /// Every address of this machine on the served meshes.
    pub fn own_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.own.iter().flat_map(|machine| machine.addresses.iter().copied())
    }

    pub fn who(&self, address: IpAddr) -> Source {
        match self.by_address.get(&address.to_canonical()) {
            None => Source::Unknown,
            Some(machine) if self.is_own(machine) => Source::Me,
            Some(machine) => Source::Device(machine.clone()),
        }
    }

    fn is_own(&self, machine: &Machine) -> bool {
        self.own.iter().any(|own| own.id == machine.id)
    }

    pub fn find(&self, name: &str) -> Result<Arc<Machine>, FindError> {
        if name.eq_ignore_ascii_case("localhost") {
            return Ok(self.me.clone());
        }
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        if let Ok(address) = bare.parse::<IpAddr>() {
            let address = address.to_canonical();
            let has = |machine: &&Arc<Machine>| machine.addresses.contains(&address);
            return match (self.who(address), self.machines.iter().find(has)) {
                (Source::Me, _) => Ok(self.me.clone()),
                (Source::Device(machine), _) => Ok(machine),
                (Source::Unknown, Some(machine)) => Ok(machine.clone()),
                (Source::Unknown, None) => Err(FindError::UnknownAddress(address)),
            };
        }
        // This machine's entries count once: on whichever mesh, it is the same one.
        let all = || self.own.iter().chain(self.machines.iter().skip(1));
        let as_me = |machine: &Arc<Machine>| match self.is_own(machine) {
            true => self.me.clone(),
            false => machine.clone(),
        };
        if let Some(machine) = all().find(|machine| machine.label() == name) {
            return Ok(as_me(machine));
        }
        let mut found: Vec<Arc<Machine>> = Vec::new();
        for machine in all().filter(|machine| machine.name == name).map(as_me) {
            if !found.contains(&machine) {
                found.push(machine);
            }
        }
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => {
                let labels: Vec<String> = self.machines.iter().map(|machine| machine.label()).collect();
                let names = self.machines.iter().map(|machine| machine.name.as_str());
                let near = near(name, names.chain(labels.iter().map(String::as_str)));
                Err(FindError::Unknown { name: name.to_owned(), near, known: known(&labels) })
            }
            several => Err(FindError::Ambiguous {
                name: name.to_owned(),
                choices: several.iter().map(|machine| machine.label()).collect(),
            }),
        }
    }

    /// The own address that a connection to `to` leaves from, the same mesh preferred.
    pub fn outgoing_bind(&self, to: &Machine) -> Option<IpAddr> {
        let same_mesh = self.own.iter().filter(|own| own.mesh == to.mesh);
        let elsewhere = self.own.iter().filter(|own| own.mesh != to.mesh);
        let own: Vec<IpAddr> = same_mesh.chain(elsewhere).flat_map(|own| own.addresses.iter().copied()).collect();
        // From loopback only loopback can be reached, and only from there can it be.
        let fits =
            |from: &IpAddr, to: &IpAddr| from.is_ipv4() == to.is_ipv4() && from.is_loopback() == to.is_loopback();
        to.addresses.iter().find_map(|to| own.iter().copied().find(|from| fits(from, to)))
    }
}

/// Which of the listed machines are this one: the ones called `me`, else the ones with an address
/// for which `is_own` says yes.
pub(crate) fn own_indices(
    machines: &[Machine],
    me: Option<&str>,
    is_own: impl Fn(IpAddr) -> bool,
) -> Result<Vec<usize>, FileProblem> {
    let labels = |of: &[&Machine]| of.iter().map(|machine| machine.label()).collect::<Vec<_>>();
    let all: Vec<&Machine> = machines.iter().collect();
    let pick = |rule: &dyn Fn(&Machine) -> bool| -> Vec<usize> {
        machines.iter().enumerate().filter(|(_, machine)| rule(machine)).map(|(index, _)| index).collect()
    };
    if let Some(me) = me {
        let found = pick(&|machine| machine.name == me || machine.label() == me);
        if found.is_empty() {
            let names = machines.iter().map(|machine| machine.name.as_str());
            let labels = labels(&all);
            let near = near(me, names.chain(labels.iter().map(String::as_str)));
            return Err(FileProblem::UnknownMe { name: me.to_owned(), near, known: known(&labels) });
        }
        return Ok(found);
    }
    let found = pick(&|machine| machine.addresses.iter().any(|address| is_own(*address)));
    let own: Vec<&Machine> = found.iter().map(|index| &machines[*index]).collect();
    match own.first() {
        None => Err(FileProblem::NoMe(known(&labels(&all)))),
        Some(first) if own.iter().any(|machine| machine.name != first.name) => {
            Err(FileProblem::SeveralMe(labels(&own).join(", ")))
        }
        Some(_) => Ok(found),
    }
}
