//! The static mesh file: TOML in, checked machines out.
//! Everything that could make a name or an address mean two machines is refused here, because the
//! address is the authentication. It must not know which of them is served or is this host.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::IpAddr;
use std::path::Path;

use serde::Deserialize;

use crate::error::FileProblem;
use crate::{DeviceId, Machine, MeshError, is_name, near};

/// A list of thousands of machines is well below this; a larger file is another file by mistake.
const FILE_LIMIT: u64 = 1 << 20;

const TOP_KEYS: [&str; 2] = ["me", "machine"];
const MACHINE_KEYS: [&str; 4] = ["name", "mesh", "addresses", "port"];

/// A mesh file that holds no contradiction.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MeshFile {
    pub me: Option<String>,
    pub machines: Vec<Machine>,
}

#[derive(Deserialize)]
struct Shape {
    me: Option<String>,
    #[serde(default)]
    machine: Vec<MachineShape>,
}

#[derive(Deserialize)]
struct MachineShape {
    name: String,
    mesh: Option<String>,
    #[serde(default)]
    addresses: Vec<String>,
    port: Option<u16>,
}

/// Reads and checks the file at `path`.
pub(crate) fn load(path: &Path, default_port: u16) -> Result<MeshFile, MeshError> {
    let unreadable = |source| MeshError::Read { path: path.to_owned(), source };
    let mut text = String::new();
    // What is no plain file may never end, or never begin.
    let plain = std::fs::metadata(path).and_then(|m| match m.is_file() {
        true => Ok(()),
        false => Err(std::io::Error::other("it is not a plain file")),
    });
    plain
        .and_then(|()| std::fs::File::open(path))
        .and_then(|file| file.take(FILE_LIMIT + 1).read_to_string(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > FILE_LIMIT {
        return Err(MeshError::TooLarge { path: path.to_owned(), limit: FILE_LIMIT });
    }
    parse(&text, default_port).map_err(|wrong| match wrong {
        Wrong::Syntax(text) => MeshError::Syntax { path: path.to_owned(), text },
        Wrong::Name(what, name) => MeshError::BadName { what, name },
        Wrong::Problem(problem) => MeshError::File { path: path.to_owned(), problem },
    })
}

enum Wrong {
    Syntax(String),
    Name(&'static str, String),
    Problem(FileProblem),
}

impl From<FileProblem> for Wrong {
    fn from(problem: FileProblem) -> Self {
        Self::Problem(problem)
    }
}

fn parse(text: &str, default_port: u16) -> Result<MeshFile, Wrong> {
    let syntax = |error: toml::de::Error| Wrong::Syntax(error.to_string().trim_end().to_owned());
    // The keys first: a suggestion for a mistyped one says more than "missing field".
    known_keys(&toml::from_str::<toml::Table>(text).map_err(syntax)?)?;
    let shape: Shape = toml::from_str(text).map_err(syntax)?;
    if shape.machine.is_empty() {
        return Err(FileProblem::NoMachine.into());
    }
    let machines =
        shape.machine.into_iter().map(|machine| checked(machine, default_port)).collect::<Result<Vec<_>, _>>()?;
    each_name_once(&machines)?;
    each_address_once(&machines)?;
    Ok(MeshFile { me: shape.me, machines })
}

fn known_keys(top: &toml::Table) -> Result<(), FileProblem> {
    let check = |table: &toml::Table, allowed: &[&str], place: String| match table
        .keys()
        .find(|key| !allowed.contains(&key.as_str()))
    {
        None => Ok(()),
        Some(key) => Err(FileProblem::UnknownKey {
            key: key.clone(),
            place,
            near: near(key, allowed.iter().copied()),
            allowed: allowed.join(", "),
        }),
    };
    check(top, &TOP_KEYS, "at the top".to_owned())?;
    let machines = top.get("machine").and_then(toml::Value::as_array);
    for (index, machine) in machines.into_iter().flatten().enumerate() {
        let Some(machine) = machine.as_table() else {
            continue;
        };
        let name = machine.get("name").and_then(toml::Value::as_str);
        let place = match name {
            Some(name) => format!("in the machine {name:?}"),
            None => format!("in machine number {}", index + 1),
        };
        check(machine, &MACHINE_KEYS, place)?;
    }
    Ok(())
}

fn checked(shape: MachineShape, default_port: u16) -> Result<Machine, Wrong> {
    let MachineShape { name, mesh, addresses, port } = shape;
    if !may_name_a_machine(&name) {
        return Err(Wrong::Name("the machine name", name));
    }
    if let Some(mesh) = mesh.as_ref().filter(|mesh| !is_name(mesh)) {
        return Err(Wrong::Name("the mesh label", mesh.clone()));
    }
    let mut kept: Vec<IpAddr> = Vec::new();
    for text in addresses {
        let Ok(address) = text.parse::<IpAddr>() else {
            return Err(FileProblem::BadAddress { machine: name, text }.into());
        };
        let address = address.to_canonical();
        if names_no_machine(address) {
            return Err(FileProblem::UselessAddress { machine: name, address }.into());
        }
        if kept.contains(&address) {
            let (first, second) = (name.clone(), name);
            return Err(FileProblem::DuplicateAddress { address, first, second }.into());
        }
        kept.push(address);
    }
    let Some(first) = kept.first() else {
        return Err(FileProblem::NoAddress(name).into());
    };
    let port = port.unwrap_or(default_port);
    if port == 0 {
        return Err(FileProblem::NoPort(name).into());
    }
    let id = DeviceId(format!("{}/{first}", mesh.as_deref().unwrap_or_default()));
    Ok(Machine { name, mesh, addresses: kept, port, id, of_another: false })
}

/// Whether a machine can be called this. `localhost` and addresses have a meaning of their own
/// wherever a machine is named.
pub(crate) fn may_name_a_machine(name: &str) -> bool {
    is_name(name) && !name.eq_ignore_ascii_case("localhost") && name.parse::<IpAddr>().is_err()
}

/// Addresses of many or of none, and link-local ones, which mean another machine on each link.
pub(crate) fn names_no_machine(address: IpAddr) -> bool {
    let link_local = match address {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    };
    address.is_unspecified() || address.is_multicast() || link_local
}

/// No label twice, and no label that is the name of another machine: then `NAME.MESH` always says
/// which machine is meant.
fn each_name_once(machines: &[Machine]) -> Result<(), FileProblem> {
    for (index, machine) in machines.iter().enumerate() {
        let label = machine.label();
        for other in &machines[..index] {
            if other.name == machine.name && other.mesh == machine.mesh {
                return Err(FileProblem::DuplicateMachine(label));
            }
            for (one, two) in [(machine, other), (other, machine)] {
                if one.label() == two.name || one.label() == two.label() {
                    let unlabelled = if one.mesh.is_none() { one } else { two };
                    let (label, name) = (one.label(), unlabelled.name.clone());
                    return Err(FileProblem::Confusable { label, name });
                }
            }
        }
    }
    Ok(())
}

fn each_address_once(machines: &[Machine]) -> Result<(), FileProblem> {
    let mut owners: BTreeMap<IpAddr, &Machine> = BTreeMap::new();
    for machine in machines {
        for address in &machine.addresses {
            if let Some(first) = owners.insert(*address, machine) {
                let (first, second) = (first.label(), machine.label());
                return Err(FileProblem::DuplicateAddress { address: *address, first, second });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
