//! Room for connections: so many in all, so many from one address, and some that only the socket
//! has, so that no neighbour can lock the owner out. What is over its share is closed at once.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shrooms_core::id::SessionUid;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections over TCP at once; more wait to be accepted. A machine has a handful of peers and
/// some pages; a process commonly may open 1,024 files.
const TCP: usize = 512;
/// Of those from one address: a peer's waits, its page and its calls, with room to spare.
const FROM_ONE: usize = 160;
/// Connections over the socket at once, besides.
const SOCKET: usize = 256;
/// Of those from processes of one session: its tools wait for some agents at once.
const OF_SESSION: usize = 48;

/// Who has connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// A device, or this machine over TCP.
    Address(IpAddr),
    /// A session of this machine, over the socket.
    Session(SessionUid),
}

/// The room that there is.
pub(crate) struct Room {
    tcp: Arc<Semaphore>,
    socket: Arc<Semaphore>,
    shares: Arc<Mutex<BTreeMap<Whose, usize>>>,
}

/// A connection's share; given back when dropped.
pub(crate) struct Share {
    whose: Whose,
    shares: Arc<Mutex<BTreeMap<Whose, usize>>>,
}

fn counts(shares: &Mutex<BTreeMap<Whose, usize>>) -> MutexGuard<'_, BTreeMap<Whose, usize>> {
    shares.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    pub(crate) fn new() -> Room {
        Room { tcp: Arc::new(Semaphore::new(TCP)), socket: Arc::new(Semaphore::new(SOCKET)), shares: Arc::default() }
    }

    /// Waits for room on the socket; `None` when the server ends.
    pub(crate) async fn socket(&self) -> Option<OwnedSemaphorePermit> {
        self.socket.clone().acquire_owned().await.ok()
    }

    /// Waits for room over TCP; `None` when the server ends.
    pub(crate) async fn tcp(&self) -> Option<OwnedSemaphorePermit> {
        self.tcp.clone().acquire_owned().await.ok()
    }

    /// A share for one more connection of theirs; `None` when they have all that they may.
    pub(crate) fn share(&self, whose: Whose) -> Option<Share> {
        let most = match whose {
            Whose::Address(_) => FROM_ONE,
            Whose::Session(_) => OF_SESSION,
        };
        let mut all = counts(&self.shares);
        let held = all.entry(whose).or_default();
        if *held >= most {
            return None;
        }
        *held += 1;
        Some(Share { whose, shares: self.shares.clone() })
    }

    /// Nothing more is accepted.
    pub(crate) fn close(&self) {
        self.tcp.close();
        self.socket.close();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut all = counts(&self.shares);
        let left = all.get(&self.whose).map_or(0, |n| n.saturating_sub(1));
        match left {
            0 => all.remove(&self.whose),
            left => all.insert(self.whose, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_cannot_take_the_room_of_others() {
        let room = Room::new();
        let of = |address: &str| Whose::Address(address.parse().unwrap());
        let (one, other) = (of("127.0.0.1"), of("127.0.0.2"));
        let session = Whose::Session(SessionUid(1));
        let few: Vec<Share> = (0..OF_SESSION).map(|_| room.share(session).unwrap()).collect();
        assert!(room.share(session).is_none() && OF_SESSION < SOCKET / 2, "the owner has room beside it");
        drop(few);
        let mut held: Vec<Share> = (0..FROM_ONE).map(|_| room.share(one).unwrap()).collect();
        assert!(room.share(one).is_none());
        assert!(room.share(other).is_some());
        held.pop();
        assert!(room.share(one).is_some());
        drop(held);
        assert!(counts(&room.shares).is_empty(), "nothing is kept of who has gone");
        assert!(room.socket().await.is_some());
        room.close();
        assert!(room.socket().await.is_none() && room.tcp().await.is_none());
    }
}
