//! Who a connection is from: by the socket's peer credentials and process ancestry, or by what the
//! mesh says of its source address. A message's own words never come in here.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use shrooms_core::Principal;
use shrooms_core::id::SessionUid;
use shrooms_engine::Engine;
use shrooms_mesh::{DeviceId, Source, local};
use tokio::net::unix::UCred;
use tokio::sync::Mutex;

/// What is known of a connection when it is accepted.
#[derive(Clone, Debug)]
pub(crate) enum Peer {
    /// A process of this machine, over the socket: the sessions' launchers that it descends from.
    Local { below: Option<SessionUid> },
    /// A process of this machine, over TCP.
    Own(Principal),
    /// Another device, by where the connection comes from and who that was then.
    Device { from: IpAddr, id: DeviceId },
    /// A process of another user, or one that could not be found: refused, with this reason.
    Refused(&'static str),
}

/// How often an unknown address may make the names be read again (milliseconds of wall time).
const REFRESH_GAP_MS: i64 = 1_000;
/// How long reading the names may take before the old ones are used.
const REFRESH_WITHIN: Duration = Duration::from_secs(2);

/// When the names were last read again for an unknown address. Held while they are: whoever calls
/// meanwhile waits for them, for a machine that joins makes several calls at once.
#[derive(Default)]
pub(crate) struct Refreshed(Mutex<i64>);

impl Refreshed {
    /// Has the names read again, unless that was done a moment ago.
    async fn again(&self, engine: &Engine) {
        let mut last = self.0.lock().await;
        let now = engine.wall();
        if (now - *last).abs() < REFRESH_GAP_MS {
            return;
        }
        // A file may hang (a network file system), and so may a daemon; then the names stay as they are.
        match tokio::time::timeout(REFRESH_WITHIN, engine.mesh().refresh()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the mesh's names could not be read again"),
            Err(_) => tracing::warn!("the mesh's names could not be read again in time"),
        }
        *last = engine.wall();
    }
}

/// The peer of a connection on the unix socket.
pub(crate) async fn of_socket(engine: &Engine, credentials: io_result::Credentials) -> Peer {
    let Ok(credentials) = credentials else { return Peer::Refused("the kernel does not say who you are") };
    if credentials.uid() != rustix::process::geteuid().as_raw() {
        return Peer::Refused("this socket is its owner's alone");
    }
    let Some(pid) = credentials.pid() else { return Peer::Refused("the kernel does not say which process you are") };
    let launchers = engine.live().launchers();
    let looked = tokio::task::spawn_blocking(move || {
        let line = local::lineage(pid)?;
        let mine = launchers.into_iter().find(|(launcher, _)| line.iter().any(|(p, _)| p == launcher));
        Some(mine.map(|(_, uid)| uid))
    });
    match looked.await {
        Ok(Some(below)) => Peer::Local { below },
        // One that connected and died has handed its connection on: whose it is now, nobody can say.
        Ok(None) | Err(_) => Peer::Refused("the process that made this connection is gone"),
    }
}

/// What the socket's peer credentials were asked for.
pub(crate) mod io_result {
    /// As Tokio gives them.
    pub(crate) type Credentials = std::io::Result<super::UCred>;
}

/// The peer of a TCP connection; `None` = nobody: to be closed without an answer.
pub(crate) async fn of_address(
    engine: &Engine,
    refreshed: &Refreshed,
    from: SocketAddr,
    to: SocketAddr,
) -> Option<Peer> {
    let mesh = engine.mesh();
    let mut source = mesh.who(from.ip()).await;
    if matches!(source, Source::Unknown) {
        refreshed.again(engine).await;
        source = mesh.who(from.ip()).await;
    }
    match source {
        Source::Unknown => None,
        Source::Device(machine) => {
            engine.met(&machine, "").await;
            Some(Peer::Device { from: from.ip(), id: machine.id.clone() })
        }
        Source::Me => Some(own_process(engine, from, to).await),
    }
}

async fn own_process(engine: &Engine, from: SocketAddr, to: SocketAddr) -> Peer {
    let launchers = engine.live().launchers();
    let looked = tokio::task::spawn_blocking(move || {
        let owner = match local::socket_owner(from, to) {
            Ok(Some(owner)) => owner,
            Ok(None) => return Peer::Refused("your connection is no living process of this machine"),
            Err(_) => return Peer::Refused("this machine's connections cannot be read"),
        };
        if owner.uid != rustix::process::geteuid().as_raw() {
            return Peer::Refused("only the user that the daemon runs as may use it from this machine");
        }
        let holds = |launcher: i32| local::holders(owner.inode, &local::descendants_of(&[launcher]));
        match launchers.into_iter().find(|(launcher, _)| holds(*launcher)) {
            Some((_, uid)) => Peer::Own(Principal::Session(uid)),
            None => Peer::Own(Principal::Owner),
        }
    });
    looked.await.unwrap_or(Peer::Refused("your process could not be looked up"))
}

/// Who one request of a connection is from, with the pass that it shows.
pub(crate) async fn of_request(engine: &Engine, peer: &Peer, pass: Option<&str>) -> Result<Principal, &'static str> {
    const WRONG: &str =
        "the pass (SHROOMS_AGENT_PASS) is not that of the live session: a session's process speaks for itself alone";
    const GONE: &str = "your address is no longer that machine's of the mesh: connect anew";
    match (peer, pass) {
        (Peer::Refused(why), _) => Err(why),
        (Peer::Own(principal), None) => Ok(principal.clone()),
        // A connection may outlast its device's place on the mesh, and a right what it was.
        (Peer::Device { from, id }, None) => match engine.mesh().who(*from).await {
            Source::Device(machine) if machine.id == *id => Ok(engine.device(&machine)),
            Source::Device(_) | Source::Me | Source::Unknown => Err(GONE),
        },
        // A pass is shown on the socket; over TCP it has been on a network.
        (Peer::Own(_) | Peer::Device { .. }, Some(_)) => Err(WRONG),
        (Peer::Local { below: None }, None) => Ok(Principal::Owner),
        (Peer::Local { below: Some(uid) }, None) => Ok(Principal::Session(*uid)),
        (Peer::Local { below }, Some(pass)) => match (engine.live().session_of_pass(pass), below) {
            (Some(of_pass), Some(uid)) if of_pass == *uid => Ok(Principal::Session(of_pass)),
            _ => Err(WRONG),
        },
    }
}
