//! That something about this host's interfaces or addresses has changed, as the kernel tells it: so
//! that nobody has to look every second. It must not know what is looked at then.

use std::io::{self, ErrorKind};
use std::net::UdpSocket as StdSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, socket};
use tokio::net::UdpSocket;

/// The groups of rtnetlink(7) that tell of links, and of addresses of either family.
const GROUPS: u32 = 0x1 | 0x10 | 0x100;
/// What comes with a change (a link, then its addresses, then its routes) is one.
const SETTLES: Duration = Duration::from_millis(100);

/// The kernel's word of changes. Its socket is of another family than the type says: all that is done
/// with it is to wait for, and to receive, datagrams.
#[derive(Debug)]
pub struct Changes(UdpSocket);

impl Changes {
    /// Listens from now on.
    ///
    /// # Errors
    /// The kernel does not tell (a sandbox): then one has to look from time to time.
    pub fn listen() -> io::Result<Changes> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let told = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
        bind(told.as_raw_fd(), &NetlinkAddr::new(0, GROUPS))?;
        Ok(Changes(UdpSocket::from_std(StdSocket::from(told))?))
    }

    /// Waits for the next change, and until it has settled. Changes that came while nobody waited are
    /// one. Nothing is lost when it is dropped.
    ///
    /// # Errors
    /// The socket is broken.
    pub async fn next(&mut self) -> io::Result<()> {
        self.0.readable().await?;
        tokio::time::sleep(SETTLES).await;
        // What it says is not read: the list is asked for anew.
        let mut piece = [0; 8_192];
        loop {
            match self.0.try_recv(&mut piece) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // More than the kernel could keep is a change, too.
                Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn without_a_change_there_is_silence() {
        let mut changes = Changes::listen().unwrap();
        // Of another test's network namespace nothing is heard here.
        assert!(tokio::time::timeout(Duration::from_millis(300), changes.next()).await.is_err());
    }
}
