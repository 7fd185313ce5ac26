//! The mesh handle: opened once at start, shared by every part, its names replaced as a whole by a
//! refresh. It must not know who listens or calls; it only answers who and where.

mod read;

use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::directory::{Directory, DirectoryKind, Loopback, Shrooms, Sockets, StaticFile, Tailscale, host_name};
use crate::names::Names;
use crate::naming::{OwnMesh, nowhere};
use crate::{FindError, Machine, MeshError, MeshSpec, Source, is_name};
use read::{Failed, Reading};

/// How long a daemon's last list names anybody while it does not answer: its restart takes seconds, and
/// a device that was thrown out meanwhile must not stay known.
const STALE: Duration = Duration::from_secs(5 * 60);

/// The machines of the meshes that this machine serves. Clones share the same names.
#[derive(Debug, Clone)]
pub struct Mesh {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    wanted: Wanted,
    state: RwLock<Arc<State>>,
    /// Refreshes that were asked for.
    asked: AtomicU64,
    reading: tokio::sync::Mutex<Reading>,
    changes: watch::Sender<u64>,
}

/// What was asked for at the start.
#[derive(Debug)]
struct Wanted {
    auto: bool,
    meshes: Option<Vec<String>>,
    port: u16,
    sockets: Sockets,
}

impl Wanted {
    fn shrooms(&self) -> Arc<dyn Directory> {
        Arc::new(Shrooms { sockets: self.sockets.shrooms.clone(), port: self.port })
    }

    fn tailscale(&self) -> Arc<dyn Directory> {
        Arc::new(Tailscale::new(self.sockets.tailscale.clone(), self.port))
    }
}

/// All that is known at one moment.
#[derive(Debug, Clone)]
struct State {
    directory: Arc<dyn Directory>,
    names: Arc<Names>,
    notice: Option<String>,
    trouble: Option<String>,
    /// When the names were read.
    read: Option<Instant>,
}

impl State {
    fn looks_like(&self, other: &State) -> bool {
        self.directory.kind() == other.directory.kind()
            && self.names == other.names
            && self.notice == other.notice
            && self.trouble == other.trouble
    }
}

impl Mesh {
    /// Opens the mesh that `spec` names.
    ///
    /// `me` is this machine's name (it wins over the file's `me`; with `auto` it holds while no daemon
    /// answers), `meshes` the labels to serve (`None` is all of them), `default_port` the TCP port of
    /// machines that list none, `sockets` where the mesh daemons' are instead of the usual places.
    ///
    /// A mesh daemon that does not answer is no error: the mesh is empty until it does, and
    /// [`Mesh::trouble`] says why.
    ///
    /// # Errors
    /// [`MeshError`]: a file that cannot be read or contradicts itself, a label that does not exist, no
    /// way to tell which machine this is, options that do not go together.
    pub async fn open(
        spec: &MeshSpec,
        me: Option<&str>,
        meshes: Option<&[String]>,
        default_port: u16,
        sockets: Option<Sockets>,
    ) -> Result<Self, MeshError> {
        if meshes.is_some_and(<[String]>::is_empty) {
            return Err(MeshError::NoLabels);
        }
        if let Some(name) = me.filter(|name| !is_name(name)) {
            return Err(MeshError::BadName { what: "--me", name: name.to_owned() });
        }
        let asks_a_daemon = matches!(spec, MeshSpec::Shrooms | MeshSpec::Tailscale);
        if me.is_some() && asks_a_daemon {
            return Err(MeshError::MeGiven(spec.to_string()));
        }
        if sockets.is_some() && matches!(spec, MeshSpec::File(_) | MeshSpec::Loopback) {
            return Err(MeshError::SocketGiven(spec.to_string()));
        }
        let (meshes, sockets) = (meshes.map(<[String]>::to_vec), sockets.unwrap_or_default());
        let wanted = Wanted { auto: *spec == MeshSpec::Auto, meshes, port: default_port, sockets };
        let (me, port) = (me.map(str::to_owned), default_port);
        let directory: Arc<dyn Directory> = match spec {
            MeshSpec::Shrooms => wanted.shrooms(),
            MeshSpec::Tailscale => wanted.tailscale(),
            MeshSpec::Loopback | MeshSpec::Auto => Arc::new(Loopback { me, port }),
            MeshSpec::File(path) => Arc::new(StaticFile { path: path.clone(), me, port, reading: Arc::default() }),
        };
        let names = nobody(default_port);
        let state = State { directory, names, notice: None, trouble: None, read: None };
        let mesh = Self {
            shared: Arc::new(Shared {
                wanted,
                state: RwLock::new(Arc::new(state)),
                asked: AtomicU64::new(0),
                reading: tokio::sync::Mutex::default(),
                changes: watch::Sender::new(0),
            }),
        };
        let mut reading = mesh.shared.reading.lock().await;
        match mesh.read(&mut reading).await {
            Err(Failed::Listing(_)) if asks_a_daemon => {}
            Err(Failed::Listing(error) | Failed::Naming(error)) => return Err(error),
            Ok(()) => {}
        }
        drop(reading);
        Ok(mesh)
    }

    /// What the person should be told at start about this mesh, in one line.
    #[must_use]
    pub fn notice(&self) -> Option<String> {
        self.state().notice.clone()
    }

    /// Why nothing is served, or why the names are not read any more and the old ones stay: for a
    /// person, with what to do. `None` when all is well.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        self.state().trouble.clone()
    }

    /// What is wrong with the list that was read, such as an address that two machines claim.
    #[must_use]
    pub fn warnings(&self) -> Arc<[String]> {
        self.state().names.warnings().clone()
    }

    /// Which directory is in use; `auto` moves from loopback to a daemon once, and stays there.
    #[must_use]
    pub fn kind(&self) -> DirectoryKind {
        self.state().directory.kind()
    }

    /// Moves whenever the names, the own addresses, the trouble or the notice have changed.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// This machine; where it is on several served meshes, as the first of them knows it. Without an
    /// address while nothing is served. Its name may change while running.
    #[must_use]
    pub fn me(&self) -> Arc<Machine> {
        self.state().names.me().clone()
    }

    /// This machine's meshes, also those that are not served, with why.
    #[must_use]
    pub fn meshes(&self) -> Arc<[OwnMesh]> {
        self.state().names.meshes().clone()
    }

    /// All machines of the served meshes: this one first and once, then the order of the list.
    #[must_use]
    pub fn machines(&self) -> Arc<[Arc<Machine>]> {
        self.state().names.machines().clone()
    }

    /// The addresses to listen on: this machine's, on every mesh that it serves. Empty while none is.
    #[must_use]
    pub fn listen_addresses(&self) -> Vec<IpAddr> {
        self.state().names.own_addresses().collect()
    }

    /// Who a connection's source address is; an IPv4-mapped IPv6 address counts as the IPv4 one. Where
    /// the directory is the authority for that (Tailscale), it is asked; when it cannot be, the source
    /// is unknown.
    pub async fn who(&self, address: IpAddr) -> Source {
        let state = self.state();
        let address = address.to_canonical();
        // An unbound local client may come from any address of 127.0.0.0/8.
        if state.directory.kind() == DirectoryKind::Loopback && address.is_loopback() {
            return Source::Me;
        }
        let listed = state.names.who(address);
        if matches!(listed, Source::Me) {
            return listed;
        }
        let id = match (state.directory.remembers(address), state.directory.whois(address)) {
            (_, None) => {
                let old = || state.read.is_none_or(|at| now() - at > STALE);
                return if state.directory.kind().is_daemon() && old() { Source::Unknown } else { listed };
            }
            (Some(id), _) => id,
            (None, Some(asked)) => match asked.await {
                Ok(Some(id)) => id,
                Ok(None) | Err(_) => return Source::Unknown,
            },
        };
        state.names.by_id(&id).map_or(Source::Unknown, Source::Device)
    }

    /// The machine that a person calls `name`: NAME, NAME.MESH, an address with or without
    /// brackets, or `localhost` for this machine.
    ///
    /// # Errors
    /// [`FindError`]: nobody has that name (with near ones), or machines of several meshes have.
    pub fn find(&self, name: &str) -> Result<Arc<Machine>, FindError> {
        self.state().names.find(name)
    }

    /// The own address that connections to `to` must be bound to, so that `to` sees who calls:
    /// the same mesh preferred, of the family of the first address of `to` for which there is one
    /// (that address is the one to dial). `None` for loopback, and when no address fits.
    #[must_use]
    pub fn outgoing_bind(&self, to: &Machine) -> Option<IpAddr> {
        let state = self.state();
        match state.directory.kind() {
            DirectoryKind::Loopback => None,
            DirectoryKind::File | DirectoryKind::Shrooms | DirectoryKind::Tailscale => state.names.outgoing_bind(to),
        }
    }

    /// Reads the names again; those who ask while it goes on share the next reading. Bounded in time
    /// where a daemon is asked; dropping it leaves the names as they are.
    ///
    /// # Errors
    /// [`MeshError`] as for [`Mesh::open`], when the mesh's daemon does not answer, and when a file now
    /// gives this machine another name; the names stay as they were, and [`Mesh::trouble`] says why.
    pub async fn refresh(&self) -> Result<(), MeshError> {
        let number = self.shared.asked.fetch_add(1, Ordering::AcqRel) + 1;
        let mut reading = self.shared.reading.lock().await;
        if reading.answers >= number {
            return match &reading.outcome {
                None => Ok(()),
                Some(error) => Err(MeshError::Shared(error.clone())),
            };
        }
        // It answers all who have asked before it begins.
        let answers = self.shared.asked.load(Ordering::Acquire);
        let result = self.read(&mut reading).await.map_err(|failed| match failed {
            Failed::Listing(error) | Failed::Naming(error) => error,
        });
        reading.answers = answers;
        reading.outcome = result.as_ref().err().map(ToString::to_string);
        result
    }

    /// All that is known now. Only an Arc is swapped under the lock, so a poisoned one is whole.
    fn state(&self) -> Arc<State> {
        self.shared.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn install(&self, state: State) {
        let mut held = self.shared.state.write().unwrap_or_else(PoisonError::into_inner);
        let same = held.looks_like(&state);
        *held = Arc::new(state);
        drop(held);
        if !same {
            self.shared.changes.send_modify(|number| *number += 1);
        }
    }
}

/// The names while nothing is known: this machine, by its host's name.
fn nobody(port: u16) -> Arc<Names> {
    let me = nowhere(host_name(), None, port);
    Arc::new(Names::new(vec![me], Vec::new(), |_| false, Vec::new(), Vec::new()))
}

/// For the age of what was read only; the tests' clock where a test has stopped it.
#[allow(clippy::disallowed_methods, reason = "monotonic: how old an answer is decides whether it still counts")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests;
