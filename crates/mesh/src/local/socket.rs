//! The user and inode of the client's end of a local TCP connection, from /proc/net/tcp{,6}.
//! Only rows that prove something count: a socket that is closed shows user 0, whoever had it.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whose a socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOwner {
    /// The user id of the process that made it.
    pub uid: u32,
    /// Its inode, never 0: what `/proc/PID/fd` links to as `socket:[INODE]`.
    pub inode: u64,
}

/// The kernel walks its table in pieces, so one reading may miss a socket while others come and
/// go; two in a row hardly do.
const READINGS: usize = 2;

/// Whose socket a local client connected with. `peer` and `local` are the accepted connection's
/// addresses: where the client came from, and where it was accepted.
///
/// `None` when no such connection is established in this network namespace any more (or never
/// was): the caller is then unproven, and to be refused. Blocking: reads the host's TCP tables.
///
/// # Errors
/// When /proc/net cannot be read.
pub fn socket_owner(peer: SocketAddr, local: SocketAddr) -> io::Result<Option<SocketOwner>> {
    for _ in 0..READINGS {
        for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
            let lines = match File::open(table) {
                Ok(file) => BufReader::new(file).lines(),
                // A kernel without one of the families has no such table.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if let Some(owner) = owner_in(lines, peer, local)? {
                return Ok(Some(owner));
            }
        }
    }
    Ok(None)
}

/// Looks for the client's row: its own address is our `peer`, its other end our `local`.
fn owner_in(
    lines: impl Iterator<Item = io::Result<String>>,
    peer: SocketAddr,
    local: SocketAddr,
) -> io::Result<Option<SocketOwner>> {
    let wanted = (plain(peer), plain(local));
    for line in lines {
        if let Some((from, to, owner)) = row(&line?)
            && (from, to) == wanted
        {
            return Ok(Some(owner));
        }
    }
    Ok(None)
}

type End = (IpAddr, u16);

fn plain(address: SocketAddr) -> End {
    (address.ip().to_canonical(), address.port())
}

/// TCP_ESTABLISHED, as the tables print it.
const ESTABLISHED: &str = "01";

/// One row: `sl local remote st tx:rx tr:when retrnsmt uid timeout inode …`. None for the heading,
/// and for rows that are not established or belong to no open socket.
fn row(line: &str) -> Option<(End, End, SocketOwner)> {
    let mut columns = line.split_ascii_whitespace().skip(1);
    let from = end(columns.next()?)?;
    let to = end(columns.next()?)?;
    if columns.next()? != ESTABLISHED {
        return None;
    }
    let mut columns = columns.skip(3);
    let uid = columns.next()?.parse().ok()?;
    let inode = columns.nth(1)?.parse().ok()?;
    (inode != 0).then_some((from, to, SocketOwner { uid, inode }))
}

/// `0100007F:1CDB`: the address in 32-bit words of the host's byte order, the port as a number.
fn end(text: &str) -> Option<End> {
    let (address, port) = text.split_once(':')?;
    if !address.is_ascii() {
        return None;
    }
    let word = |index: usize| {
        let digits = address.get(index * 8..index * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let address = match address.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (index, part) in bytes.chunks_mut(4).enumerate() {
                part.copy_from_slice(&word(index)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::MetadataExt;

    use super::*;

    const V4: &str = "0: 0100007F:A000 0200007F:1CDB 01 00000000:00000000 00:00000000 00000000 1000 0 4242 1 0 20";

    #[cfg(target_endian = "little")]
    #[track_caller]
    fn check(line: &str, peer: &str, local: &str, expected: Option<(u32, u64)>) {
        let lines = ["sl local_address rem_address st", line].map(|line| Ok(line.to_owned()));
        let got = owner_in(lines.into_iter(), peer.parse().unwrap(), local.parse().unwrap()).unwrap();
        assert_eq!(got.map(|owner| (owner.uid, owner.inode)), expected, "for {line}");
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn only_an_established_open_row_of_the_client_counts() {
        let (peer, local) = ("127.0.0.1:40960", "127.0.0.2:7387");
        check(V4, peer, local, Some((1000, 4242)));
        // The server's own row is the other way round.
        check(V4, local, peer, None);
        check(V4, "127.0.0.1:40961", local, None);
        check(V4, "127.0.0.3:40960", local, None);
        // TIME_WAIT, CLOSE_WAIT, a row whose socket is gone.
        check(&V4.replace(" 01 ", " 06 "), peer, local, None);
        check(&V4.replace(" 01 ", " 08 "), peer, local, None);
        check(&V4.replace(" 1000 0 4242", " 0 0 0"), peer, local, None);
        check("garbage", peer, local, None);
        check("0: 0100007F:A000 äääää:1CDB 01", peer, local, None);
        // An IPv6 socket that speaks IPv4, against either way of writing the addresses.
        let mapped = V4
            .replace("0100007F", "0000000000000000FFFF00000100007F")
            .replace("0200007F", "0000000000000000FFFF00000200007F");
        check(&mapped, peer, local, Some((1000, 4242)));
        check(V4, "[::ffff:127.0.0.1]:40960", "[::ffff:127.0.0.2]:7387", Some((1000, 4242)));
        let six = V4
            .replace("0100007F", "000000FD000000000000000001000000")
            .replace("0200007F", "000000FD000000000000000002000000");
        check(&six, "[fd00::1]:40960", "[fd00::2]:7387", Some((1000, 4242)));
    }

    /// Connects for real and compares with what the client's own descriptor says.
    #[track_caller]
    fn check_real(listen: &str, connect: &str) {
        let Ok(listener) = TcpListener::bind((listen, 0)) else {
            println!("SKIPPED: socket_owner {listen}: this host has no such address");
            return;
        };
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect((connect, port)).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        let local = accepted.local_addr().unwrap();
        let link = std::fs::read_link(format!("/proc/self/fd/{}", client.as_raw_fd())).unwrap();
        let owner = socket_owner(peer, local).unwrap().expect("the client is connected");
        assert_eq!(link.to_string_lossy(), format!("socket:[{}]", owner.inode));
        assert_eq!(owner.uid, std::fs::metadata("/proc/self").unwrap().uid());
        // Both ends know each other by other rows: the accepted socket is not the client's.
        let other_way = socket_owner(local, peer).unwrap().expect("the server's end is open");
        assert_ne!(other_way.inode, owner.inode);
        drop(client);
        assert_eq!(socket_owner(peer, local).unwrap(), None, "a closed socket proves nothing");
    }

    #[test]
    fn the_client_of_a_real_connection_is_found_until_it_closes() {
        check_real("127.0.0.1", "127.0.0.1");
        check_real("127.0.0.7", "127.0.0.7");
        check_real("::1", "::1");
        check_real("::", "127.0.0.1");
    }
}
