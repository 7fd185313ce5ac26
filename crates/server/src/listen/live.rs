//! The TCP listeners as they should be: one for each of this machine's mesh addresses that the host
//! has now, bound to the interface that has it. Addresses come and go while the daemon runs; what
//! cannot be listened on is tried again, with the reason kept.
//!
//! It must not know what is done with a connection.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shrooms_mesh::Mesh;
use shrooms_mesh::local::{Changes, Interface, Interfaces, Link};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::ServeError;

/// How often what cannot be listened on is tried again, and how often the host's addresses are looked at
/// where the kernel does not tell of changes: within the patience of whoever has made an interface.
const LOOK: Duration = Duration::from_secs(1);
/// How often they are looked at while all is well, in case that a change was not told.
const SELDOM: Duration = Duration::from_secs(60);
/// Connections that wait to be accepted, as Tokio and the kernel's own bound have it.
const BACKLOG: i32 = 1024;

/// An address, and why it is not listened on.
pub type Heard = (SocketAddr, Option<String>);

/// What is listened on, as it is now; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Listening(Arc<Mutex<Vec<Heard>>>);

impl Listening {
    /// Every address of this machine on its meshes, in the mesh's order; with the reason where it is
    /// not listened on, or nothing can arrive there.
    pub fn state(&self) -> Vec<Heard> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those that are listened on.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.state().into_iter().filter(|(_, why)| why.is_none()).map(|(address, _)| address).collect()
    }

    /// Keeps the present state, and says what is new of it.
    fn set(&self, now: Vec<Heard>) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), now.clone());
        for (address, why) in &now {
            match (why, before.iter().find(|(of, _)| of == address).map(|(_, why)| why)) {
                (why, Some(known)) if why == known => {}
                (Some(why), _) => tracing::warn!(%address, "not listening: {why}; tried again until it can be"),
                (None, Some(_)) => tracing::info!(%address, "listening again"),
                (None, None) => tracing::info!(%address, "listening"),
            }
        }
        for (address, _) in before.iter().filter(|(of, _)| !now.iter().any(|(address, _)| address == of)) {
            tracing::info!(%address, "no longer listening: the mesh does not give this machine the address any more");
        }
    }
}

/// The interface that a listener is bound to; none on loopback.
type On = Option<(String, u32)>;

/// One that is bound.
struct Bound {
    on: On,
    /// Taken by the one who accepts from it.
    listener: Option<TcpListener>,
    stop: CancellationToken,
    accepting: TaskTracker,
}

/// The listeners, and how they are kept.
pub(crate) struct Live {
    mesh: Mesh,
    port: u16,
    bound: BTreeMap<SocketAddr, Bound>,
    /// Addresses that a tunnel has had: should it go, whoever runs another network of this host could
    /// give it the same address there, and call from any other.
    tunnelled: BTreeSet<SocketAddr>,
    listening: Listening,
}

impl Live {
    /// Binds what can be bound now. An address that this host does not have comes later; one that
    /// another program listens on will hardly be free by itself, and is said at once.
    ///
    /// # Errors
    /// An address of this host cannot be listened on.
    pub(crate) fn open(mesh: Mesh, port: u16) -> Result<Live, ServeError> {
        let (bound, tunnelled) = (BTreeMap::new(), BTreeSet::new());
        let mut live = Live { mesh, port, bound, tunnelled, listening: Listening::default() };
        let interfaces = Interfaces::now();
        let mut state = Vec::new();
        for address in live.wanted() {
            let why = match live.bind(address, &interfaces) {
                Ok(why) => why,
                Err(Failure::Absent(why)) => Some(why),
                Err(Failure::Io(source)) => return Err(ServeError::Address { address, source }),
            };
            state.push((address, why));
        }
        live.listening.set(state);
        Ok(live)
    }

    pub(crate) fn listening(&self) -> Listening {
        self.listening.clone()
    }

    fn wanted(&self) -> Vec<SocketAddr> {
        self.mesh.listen_addresses().into_iter().map(|ip| SocketAddr::new(ip, self.port)).collect()
    }

    /// Keeps the listeners right until `stop`; `accept` is given each one that is new, with where to
    /// run and until when.
    pub(crate) async fn keep(
        mut self,
        stop: CancellationToken,
        mut accept: impl FnMut(TcpListener, &TaskTracker, CancellationToken),
    ) {
        let mut told = Changes::listen().inspect_err(|error| {
            tracing::debug!(%error, "the kernel does not tell of changed addresses: they are looked at every second");
        });
        let mut changes = self.mesh.changes();
        loop {
            for bound in self.bound.values_mut() {
                if let Some(listener) = bound.listener.take() {
                    accept(listener, &bound.accepting, bound.stop.clone());
                }
            }
            let well = told.is_ok() && self.listening.state().iter().all(|(_, why)| why.is_none());
            let mut broken = None;
            tokio::select! {
                () = stop.cancelled() => break,
                // The sender lives as long as the mesh, of which this holds one.
                _ = changes.changed() => {}
                heard = next(&mut told) => broken = heard.err(),
                () = tokio::time::sleep(if well { SELDOM } else { LOOK }) => {}
            }
            if let Some(error) = broken {
                told = Err(error);
            }
            self.adjust(&Interfaces::now()).await;
        }
        for (_, bound) in std::mem::take(&mut self.bound) {
            bound.close().await;
        }
    }

    /// Closes what is not right any more, and binds what is missing.
    async fn adjust(&mut self, interfaces: &io::Result<Interfaces>) {
        let wanted = self.wanted();
        let known: Vec<SocketAddr> = self.bound.keys().copied().collect();
        for address in known {
            let stays = wanted.contains(&address) && self.is_right(address, interfaces);
            if !stays && let Some(bound) = self.bound.remove(&address) {
                bound.close().await;
            }
        }
        let state = wanted.into_iter().map(|address| {
            let why = match self.bind(address, interfaces) {
                Ok(why) => why,
                Err(Failure::Absent(why)) => Some(why),
                Err(Failure::Io(error)) => Some(in_words(&error)),
            };
            (address, why)
        });
        let state = state.collect();
        self.listening.set(state);
    }

    /// Whether what is bound is where the address is now. When the kernel cannot be asked, it is.
    fn is_right(&self, address: SocketAddr, interfaces: &io::Result<Interfaces>) -> bool {
        let Ok(interfaces) = interfaces else { return true };
        let now = self.place(address, interfaces);
        self.bound.get(&address).is_some_and(|bound| now.is_ok_and(|now| bound.on == now.map(identity)))
    }

    /// The interface to bind to. Every process of this host may take any address of 127.0.0.0/8, and
    /// only they can: there is nothing to tell apart, and no interface has but the first of them.
    fn place<'a>(&self, address: SocketAddr, interfaces: &'a Interfaces) -> Result<Option<&'a Interface>, String> {
        if address.ip().is_loopback() {
            return Ok(None);
        }
        match interfaces.having(address.ip()) {
            None => Err(NOT_HERE.to_owned()),
            Some(Interface { name, link: Link::Shared, .. }) if self.tunnelled.contains(&address) => Err(format!(
                "it is on {name} now, which is no tunnel as it was on before: if that is meant, start the daemon again"
            )),
            Some(interface) => Ok(Some(interface)),
        }
    }

    /// Sees to it that an address is listened on; where nothing can arrive there now, why.
    fn bind(&mut self, address: SocketAddr, interfaces: &io::Result<Interfaces>) -> Result<Option<String>, Failure> {
        let interfaces = match interfaces {
            Ok(interfaces) => interfaces,
            Err(_) if self.bound.contains_key(&address) => return Ok(None),
            Err(error) => return Err(Failure::Absent(format!("this host's interfaces cannot be listed ({error})"))),
        };
        let interface = self.place(address, interfaces).map_err(Failure::Absent)?;
        if interface.is_some_and(|i| i.link == Link::Tunnel) {
            self.tunnelled.insert(address);
        }
        let down = interface.filter(|i| !i.up).map(|i| format!("its interface {} is down", i.name));
        if self.bound.contains_key(&address) {
            return Ok(down);
        }
        if let Some(Interface { name, .. }) = interface.filter(|i| i.link == Link::Shared) {
            tracing::warn!(%address, "{name} is no tunnel: whoever is on that network can take another machine's address");
        }
        let listener = match listen(address, interface) {
            Ok(listener) => listener,
            // A host without IPv6 still serves its loopback mesh; an interface may go at any time.
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                return Err(Failure::Absent(NOT_HERE.to_owned()));
            }
            Err(error) => return Err(Failure::Io(error)),
        };
        let bound = Bound {
            on: interface.map(identity),
            listener: Some(listener),
            stop: CancellationToken::new(),
            accepting: TaskTracker::new(),
        };
        self.bound.insert(address, bound);
        Ok(down)
    }
}

/// The next change that the kernel tells of; never, where it does not.
async fn next(told: &mut io::Result<Changes>) -> io::Result<()> {
    match told {
        Ok(changes) => changes.next().await,
        Err(_) => std::future::pending().await,
    }
}

/// What keeps an address from being listened on.
enum Failure {
    /// It is not there now; the reason.
    Absent(String),
    Io(io::Error),
}

const NOT_HERE: &str = "no interface of this host has the address now: is the mesh up?";

fn in_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!("another program listens there ({error}): stop that one"),
        _ => error.to_string(),
    }
}

fn identity(interface: &Interface) -> (String, u32) {
    (interface.name.clone(), interface.index)
}

impl Bound {
    /// Ends the accepting, and waits until the address is free. What was accepted goes on.
    async fn close(self) {
        drop(self.listener);
        self.stop.cancel();
        self.accepting.close();
        self.accepting.wait().await;
    }
}

/// A socket for one exact address. Bound to the interface first, so that there is no moment in which
/// a connection is taken from another one; its answers leave by that interface, too, whatever the
/// routes say.
fn listen(address: SocketAddr, interface: Option<&Interface>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    if let Some(interface) = interface {
        socket.bind_device(Some(interface.name.as_bytes()))?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    // Else the connections of a daemon that has just ended would keep its port for a minute.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
