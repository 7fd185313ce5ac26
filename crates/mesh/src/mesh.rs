//! The mesh handle: opened once at start, shared by every part, its names replaced as a whole by a
//! refresh. It must not know who listens or calls; it only answers who and where.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::error::known;
use crate::names::{Names, own_indices};
use crate::{DeviceId, FindError, Machine, MeshError, MeshSpec, Source, file, is_name, near};

/// The machines of the meshes that this machine serves. Clones share the same names.
#[derive(Debug, Clone)]
pub struct Mesh {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    from: From,
    notice: Option<String>,
    names: RwLock<Arc<Names>>,
}

#[derive(Debug)]
enum From {
    Loopback,
    File { path: PathBuf, me: Option<String>, meshes: Option<Vec<String>>, default_port: u16 },
}

impl Mesh {
    /// Opens the mesh that `spec` names.
    ///
    /// `me` is this machine's name (it wins over the file's `me`), `meshes` the labels to serve
    /// (`None` is all of them), `default_port` the TCP port of machines that list none.
    ///
    /// # Errors
    /// [`MeshError`]: a mesh that is not built yet, a file that cannot be read or contradicts
    /// itself, a label that does not exist, no way to tell which machine this is.
    pub fn open(
        spec: &MeshSpec,
        me: Option<&str>,
        meshes: Option<&[String]>,
        default_port: u16,
    ) -> Result<Self, MeshError> {
        if meshes.is_some_and(<[String]>::is_empty) {
            return Err(MeshError::NoLabels);
        }
        if let Some(name) = me.filter(|name| !is_name(name)) {
            return Err(MeshError::BadName { what: "--me", name: name.to_owned() });
        }
        let (from, names, notice) = match spec {
            MeshSpec::Shrooms | MeshSpec::Tailscale => {
                return Err(MeshError::Unavailable(spec.to_string()));
            }
            MeshSpec::Loopback | MeshSpec::Auto => {
                let notice = (*spec == MeshSpec::Auto).then(|| AUTO_NOTICE.to_owned());
                (From::Loopback, alone(me, meshes, default_port)?, notice)
            }
            MeshSpec::File(path) => {
                let names = from_file(path, me, meshes, default_port)?;
                let on_loopback = names.machines().iter().flat_map(|m| &m.addresses).any(IpAddr::is_loopback);
                let from = From::File {
                    path: path.clone(),
                    me: me.map(str::to_owned),
                    meshes: meshes.map(<[String]>::to_vec),
                    default_port,
                };
                (from, names, on_loopback.then(|| LOOPBACK_NOTICE.to_owned()))
            }
        };
        let names = RwLock::new(Arc::new(names));
        Ok(Self { shared: Arc::new(Shared { from, notice, names }) })
    }

    /// What the person should be told at start about this mesh, in one line.
    #[must_use]
    pub fn notice(&self) -> Option<&str> {
        self.shared.notice.as_deref()
    }

    /// This machine; where it is on several served meshes, as the first of them knows it.
    #[must_use]
    pub fn me(&self) -> Arc<Machine> {
        self.names().me().clone()
    }

    /// All machines of the served meshes: this one first and once, then the order of the file.
    #[must_use]
    pub fn machines(&self) -> Arc<[Arc<Machine>]> {
        self.names().machines().clone()
    }

    /// The addresses to listen on: this machine's, on every mesh that it serves. Never empty.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<IpAddr> {
        self.names().own_addresses().collect()
    }

    /// Who a connection's source address is; an IPv4-mapped IPv6 address counts as the IPv4 one.
    #[must_use]
    pub fn who(&self, address: IpAddr) -> Source {
        match self.shared.from {
            // An unbound local client may come from any address of 127.0.0.0/8.
            From::Loopback if address.to_canonical().is_loopback() => Source::Me,
            _ => self.names().who(address),
        }
    }

    /// The machine that a person calls `name`: NAME, NAME.MESH, an address with or without
    /// brackets, or `localhost` for this machine.
    ///
    /// # Errors
    /// [`FindError`]: nobody has that name (with near ones), or machines of several meshes have.
    pub fn find(&self, name: &str) -> Result<Arc<Machine>, FindError> {
        self.names().find(name)
    }

    /// The own address that connections to `to` must be bound to, so that `to` sees who calls:
    /// the same mesh preferred, of the family of the first address of `to` for which there is one
    /// (that address is the one to dial). `None` for loopback, and when no address fits.
    #[must_use]
    pub fn outgoing_bind(&self, to: &Machine) -> Option<IpAddr> {
        match self.shared.from {
            From::Loopback => None,
            From::File { .. } => self.names().outgoing_bind(to),
        }
    }

    /// Reads the names again. Blocking, a small local file at most.
    ///
    /// # Errors
    /// [`MeshError`] as for [`Mesh::open`], and when the file now gives this machine another name;
    /// the names stay as they were.
    pub fn refresh(&self) -> Result<(), MeshError> {
        let From::File { path, me, meshes, default_port } = &self.shared.from else {
            return Ok(());
        };
        let names = from_file(path, me.as_deref(), meshes.as_deref(), *default_port)?;
        let (before, now) = (self.me().name.clone(), names.me().name.clone());
        if before != now {
            return Err(MeshError::MeChanged { before, now });
        }
        *self.shared.names.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(names);
        Ok(())
    }

    /// The names of this moment. Only an Arc is swapped under the lock, so a poisoned one is whole.
    fn names(&self) -> Arc<Names> {
        self.shared.names.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

const AUTO_NOTICE: &str = "this machine is alone, on 127.0.0.1 and ::1: --mesh file:PATH names others \
     (shrooms and Tailscale are not asked yet)";
const LOOPBACK_NOTICE: &str = "the mesh file lists loopback addresses: any process on this host may pose as any of those \
     machines (for tests and demonstrations)";

/// Loopback: one machine, named by `me` or the host, on no mesh.
fn alone(me: Option<&str>, meshes: Option<&[String]>, port: u16) -> Result<Names, MeshError> {
    if let Some(label) = meshes.and_then(<[String]>::first) {
        return Err(unknown_label(label, &[]));
    }
    let name = me.map_or_else(host_name, str::to_owned);
    let addresses = vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
    let id = DeviceId(format!("loopback/{}", Ipv4Addr::LOCALHOST));
    Names::new(vec![Machine { name, mesh: None, addresses, port, id }], &[0], None)
}

/// The host's own name up to the first dot, where it can name a machine.
fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let first = text.trim().split('.').next().unwrap_or_default();
    if file::may_name_a_machine(first) { first.to_owned() } else { "localhost".to_owned() }
}

fn from_file(path: &Path, me: Option<&str>, meshes: Option<&[String]>, default_port: u16) -> Result<Names, MeshError> {
    let read = file::load(path, default_port)?;
    let mut labels: Vec<String> = Vec::new();
    for label in read.machines.iter().filter_map(|machine| machine.mesh.clone()) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    if let Some(unknown) = meshes.into_iter().flatten().find(|label| !labels.contains(label)) {
        return Err(unknown_label(unknown, &labels));
    }
    let own = own_indices(&read.machines, me.or(read.me.as_deref()), is_this_hosts)
        .map_err(|problem| MeshError::File { path: path.to_owned(), problem })?;
    Names::new(read.machines, &own, meshes)
}

/// A label that would be served by nobody: an error, never a smaller set.
fn unknown_label(label: &str, labels: &[String]) -> MeshError {
    MeshError::UnknownLabel {
        label: label.to_owned(),
        near: near(label, labels.iter().map(String::as_str)),
        known: known(labels),
    }
}

/// Whether this host has the address: only an own one can be bound. Nothing is sent.
fn is_this_hosts(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests;
