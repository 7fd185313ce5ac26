//! Who a connection is from: by the socket's peer credentials and process ancestry, or by what the
//! mesh says of its source address. A message's own words never come in here.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use shrooms_core::Principal;
use shrooms_core::id::SessionUid;
use shrooms_engine::Engine;
use shrooms_mesh::local::{self, Line};
use shrooms_mesh::{DeviceId, Source};
use tokio::net::unix::UCred;
use tokio::sync::{Mutex, Semaphore};

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
    let looked = known(engine, move || local::lineage(pid).map(|line| vec![line]).ok_or(GONE)).await;
    match looked {
        Ok(Whose::Owner) => Peer::Local { below: None },
        Ok(Whose::Session(uid)) => Peer::Local { below: Some(uid) },
        Err(why) => Peer::Refused(why),
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
    // Whoever makes many connections waits behind itself, and takes no more of the machine.
    let Ok(_turn) = SEARCHES.acquire().await else { return Peer::Refused(FAILED) };
    let looked = known(engine, move || {
        let owner = match local::socket_owner(from, to) {
            Ok(Some(owner)) => owner,
            Ok(None) => return Err("your connection is no living process of this machine"),
            Err(_) => return Err("this machine's connections cannot be read"),
        };
        if owner.uid != rustix::process::geteuid().as_raw() {
            return Err("only the user that the daemon runs as may use it from this machine");
        }
        local::lines_of_holders(owner.inode).map_err(|why| {
            tracing::info!(%from, %why, "refused: nothing proves whose process a connection is");
            UNPROVEN
        })
    });
    match looked.await {
        Ok(Whose::Owner) => Peer::Own(Principal::Owner),
        Ok(Whose::Session(uid)) => Peer::Own(Principal::Session(uid)),
        Err(why) => Peer::Refused(why),
    }
}

/// How many look through the processes of this machine at once.
static SEARCHES: Semaphore = Semaphore::const_new(2);

/// One that connected and died has handed its connection on: whose it is now, nobody can say.
const GONE: &str = "the process that made this connection is gone";
const FAILED: &str = "your process could not be looked up";
const UNPROVEN: &str = "nothing proves that your process is not a session's (no process that the daemon may look into \
                        holds your connection): use the socket, i.e. the command line (shrooms-agent) on this machine";
const SURVIVOR: &str = "your process was started by the daemon, in a run that has ended: use the socket, i.e. the \
                        command line (shrooms-agent), from a terminal of your own";
const SEVERAL: &str = "processes of several sessions hold your connection: use the socket, i.e. the command line \
                       (shrooms-agent), in each";

/// A process that was just started may call before its launcher is in the list; how often that is
/// looked at, and how long apart.
const LISTED: (usize, Duration) = (10, Duration::from_millis(30));

/// Whose processes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    Owner,
    Session(SessionUid),
}

/// Whose all processes of these lines are. Whatever descends from the daemon is never its owner's.
async fn known(
    engine: &Engine,
    lines: impl Fn() -> Result<Vec<Line>, &'static str> + Clone + Send + 'static,
) -> Result<Whose, &'static str> {
    let me = local::own_pid().ok_or("this machine's /proc is that of other processes: nobody can be told apart")?;
    let (tries, apart) = LISTED;
    for _ in 0..tries {
        let before = engine.live().launchers();
        let lines = tokio::task::spawn_blocking(lines.clone()).await.unwrap_or(Err(FAILED))?;
        // One that died meanwhile may have given its number to another.
        let mut launchers = engine.live().launchers();
        launchers.retain(|launcher| before.contains(launcher));
        match whose(&lines, me, &launchers) {
            Err(SURVIVOR) => tokio::time::sleep(apart).await,
            known => return known,
        }
    }
    Err(SURVIVOR)
}

/// Whose the processes of these lines are, all together. The daemon starts launchers and nothing else
/// that calls it, and what a launcher leaves comes back to it: so long as the daemon lives, it is in
/// the line of everything that a session has started, right above the session's launcher.
fn whose(lines: &[Line], me: i32, launchers: &[(i32, SessionUid)]) -> Result<Whose, &'static str> {
    let mut all = Whose::Owner;
    if lines.iter().any(Vec::is_empty) || lines.is_empty() {
        return Err(UNPROVEN);
    }
    for line in lines {
        let Some(at) = line.iter().position(|(pid, _)| *pid == me) else { continue };
        let below = at.checked_sub(1).and_then(|below| line.get(below));
        let launcher = below.and_then(|(pid, _)| launchers.iter().find(|(launcher, _)| launcher == pid));
        let of = Whose::Session(launcher.ok_or(SURVIVOR)?.1);
        if all != Whose::Owner && all != of {
            return Err(SEVERAL);
        }
        all = of;
    }
    Ok(all)
}

/// Who one request of a connection is from, with the pass that it shows.
pub(crate) async fn of_request(engine: &Engine, peer: &Peer, pass: Option<&str>) -> Result<Principal, &'static str> {
    const WRONG: &str =
        "the pass (SHROOMS_AGENT_PASS) is not that of the live session: a session's process speaks for itself alone";
    const ELSEWHERE: &str = "your address is no longer that machine's of the mesh: connect anew";
    match (peer, pass) {
        (Peer::Refused(why), _) => Err(why),
        (Peer::Own(principal), None) => Ok(principal.clone()),
        // A connection may outlast its device's place on the mesh, and a right what it was.
        (Peer::Device { from, id }, None) => match engine.mesh().who(*from).await {
            Source::Device(machine) if machine.id == *id => Ok(engine.device(&machine)),
            Source::Device(_) | Source::Me | Source::Unknown => Err(ELSEWHERE),
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

#[cfg(test)]
mod tests {
    use super::*;

    const ME: i32 = 50;
    const LAUNCHERS: [(i32, SessionUid); 3] = [(60, SessionUid(1)), (61, SessionUid(1)), (70, SessionUid(2))];

    #[track_caller]
    fn check(lines: &[&[i32]], expected: Result<Whose, &'static str>) {
        let lines: Vec<Line> = lines.iter().map(|line| line.iter().map(|pid| (*pid, 1)).collect()).collect();
        assert_eq!(whose(&lines, ME, &LAUNCHERS), expected, "for {lines:?}");
    }

    #[test]
    fn whatever_descends_from_the_daemon_is_never_its_owners() {
        check(&[&[90, 9, 1]], Ok(Whose::Owner));
        check(&[&[90, 9, 1], &[91, 90, 9, 1]], Ok(Whose::Owner));
        check(&[&[90, 60, ME, 9, 1]], Ok(Whose::Session(SessionUid(1))));
        check(&[&[60, ME, 1]], Ok(Whose::Session(SessionUid(1))));
        // Held by the owner's process, too; by two runs of one session.
        check(&[&[90, 9, 1], &[91, 70, ME, 9, 1]], Ok(Whose::Session(SessionUid(2))));
        check(&[&[90, 60, ME, 1], &[91, 61, ME, 1], &[92, 1]], Ok(Whose::Session(SessionUid(1))));
        check(&[&[90, 60, ME, 1], &[91, 70, ME, 1]], Err(SEVERAL));
        // Its launcher was killed, has ended, or is not in the list yet.
        check(&[&[90, ME, 9, 1]], Err(SURVIVOR));
        check(&[&[90, 62, ME, 9, 1]], Err(SURVIVOR));
        check(&[&[90, 9, 1], &[91, ME, 1]], Err(SURVIVOR));
        check(&[&[90, 60, ME, 1], &[91, ME, 1]], Err(SURVIVOR));
        // The number of a launcher that is gone, far from the daemon.
        check(&[&[60, 9, 1]], Ok(Whose::Owner));
        check(&[&[90, 60, 63, ME, 1]], Err(SURVIVOR));
        // The daemon does not call itself.
        check(&[&[ME, 9, 1]], Err(SURVIVOR));
        check(&[], Err(UNPROVEN));
        check(&[&[]], Err(UNPROVEN));
    }
}
