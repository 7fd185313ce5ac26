//! Room for connections: so many in all, so many from one address, and some that only the socket
//! has, so that no neighbour can lock the owner out. What is over its share is closed at once.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections over TCP at once; more wait to be accepted. A machine has a handful of peers and
/// some pages; a process commonly may open 1,024 files.
const TCP: usize = 512;
/// Of those from one address: a peer's waits, its page and its calls, with room to spare.
const FROM_ONE: usize = 160;
/// Connections over the socket at once, besides.
const SOCKET: usize = 256;

/// The room that there is.
pub(crate) struct Room {
    tcp: Arc<Semaphore>,
    socket: Arc<Semaphore>,
    shares: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

/// A connection's share of an address; given back when dropped.
pub(crate) struct Share {
    address: IpAddr,
    shares: Arc<Mutex<BTreeMap<IpAddr, usize>>>,
}

fn counts(shares: &Mutex<BTreeMap<IpAddr, usize>>) -> MutexGuard<'_, BTreeMap<IpAddr, usize>> {
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

    /// A share for one more connection from this address; `None` when it has all that it may.
    pub(crate) fn share(&self, address: IpAddr) -> Option<Share> {
        let mut all = counts(&self.shares);
        let held = all.entry(address).or_default();
        if *held >= FROM_ONE {
            return None;
        }
        *held += 1;
        Some(Share { address, shares: self.shares.clone() })
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
        let left = all.get(&self.address).map_or(0, |n| n.saturating_sub(1));
        match left {
            0 => all.remove(&self.address),
            left => all.insert(self.address, left),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_address_cannot_take_the_room_of_others() {
        let room = Room::new();
        let (one, other) = ("127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap());
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
