//! The names as they stand: which machine is this one, which are served, who an address is.
//! Immutable, so that readers never see half of a refresh. It must not know where the list came from.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use crate::error::{FileProblem, known};
use crate::{FindError, Machine, MeshError, Source, near};

/// One consistent set of names.
#[derive(Debug)]
pub(crate) struct Names {
    /// This machine once per mesh that it is served on, the first being what others call it.
    own: Vec<Arc<Machine>>,
    me: Arc<Machine>,
    /// `me` first, then the others in the order of the list.
    machines: Arc<[Arc<Machine>]>,
    by_address: BTreeMap<IpAddr, Arc<Machine>>,
}

impl Names {
    /// `machines` reduced to the served meshes, with those of `own_indices` as this machine.
    ///
    /// # Errors
    /// [`MeshError::NotServed`] when no entry of this machine is left.
    pub fn new(machines: Vec<Machine>, own_indices: &[usize], served: Option<&[String]>) -> Result<Self, MeshError> {
        let is_served = |machine: &Machine| match served {
            None => true,
            Some(labels) => machine.mesh.as_ref().is_some_and(|mesh| labels.contains(mesh)),
        };
        let own_labels: Vec<String> = own_indices.iter().map(|index| machines[*index].label()).collect();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for (index, machine) in machines.into_iter().enumerate() {
            if is_served(&machine) {
                let list = if own_indices.contains(&index) { &mut own } else { &mut others };
                list.push(Arc::new(machine));
            }
        }
        let Some(me) = own.first().cloned() else {
            let on = own_labels.join(", ");
            return Err(MeshError::NotServed { name: own_labels.into_iter().next().unwrap_or_default(), on });
        };
        let mut by_address = BTreeMap::new();
        for machine in own.iter().chain(&others) {
            for address in &machine.addresses {
                by_address.insert(*address, machine.clone());
            }
        }
        let machines = std::iter::once(me.clone()).chain(others).collect();
        Ok(Self { own, me, machines, by_address })
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
            return match self.who(address) {
                Source::Me => Ok(self.me.clone()),
                Source::Device(machine) => Ok(machine),
                Source::Unknown => Err(FindError::UnknownAddress(address.to_canonical())),
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
