//! Which network interface of this host has an address. A listener and an outgoing connection are
//! bound to it, because a tunnel vouches only for what comes out of its own interface.
//!
//! Asked of the kernel over netlink: /sys shows the interfaces of whichever network namespace it was
//! mounted in, which need not be this process's.

use std::io;
use std::net::IpAddr;

use nix::ifaddrs::{InterfaceAddress, getifaddrs};
use nix::net::if_::{InterfaceFlags, if_nametoindex};

/// What is behind an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// This host.
    Loopback,
    /// A tunnel: point to point, as those of WireGuard, Tailscale and Nebula say of themselves.
    Tunnel,
    /// A network whose neighbours may take any address: Ethernet, Wi-Fi, a bridge.
    Shared,
}

/// A network interface, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// One that was removed and made again has the same name and another index.
    pub index: u32,
    pub link: Link,
    pub up: bool,
}

/// The interfaces of this host by address, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Interfaces(Vec<(IpAddr, Interface)>);

impl Interfaces {
    /// As they are now. Blocking for as long as the kernel takes to list them.
    ///
    /// # Errors
    /// The kernel could not be asked.
    pub fn now() -> io::Result<Self> {
        let listed = getifaddrs().map_err(io::Error::from)?;
        Ok(Interfaces(listed.filter_map(|one| read(&one)).collect()))
    }

    /// The one that has this address. Where several have it, a tunnel before a shared network, for
    /// whoever runs that can give this host any address there; then one that is up.
    #[must_use]
    pub fn having(&self, address: IpAddr) -> Option<&Interface> {
        let wanted = address.to_canonical();
        let having = self.0.iter().filter(|(of, _)| *of == wanted).map(|(_, interface)| interface);
        having.min_by_key(|interface| (interface.link == Link::Shared, !interface.up))
    }
}

fn read(one: &InterfaceAddress) -> Option<(IpAddr, Interface)> {
    let address = one.address.as_ref()?;
    let v4 = address.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
    let v6 = || address.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip()));
    let address = v4.or_else(v6)?;
    let has = |flag| one.flags.contains(flag);
    let link = match (has(InterfaceFlags::IFF_LOOPBACK), has(InterfaceFlags::IFF_POINTOPOINT)) {
        (true, _) => Link::Loopback,
        (false, true) => Link::Tunnel,
        (false, false) => Link::Shared,
    };
    // One that is gone by now has no address either.
    let index = if_nametoindex(one.interface_name.as_str()).ok()?;
    let interface = Interface { name: one.interface_name.clone(), index, link, up: has(InterfaceFlags::IFF_UP) };
    Some((address, interface))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_has_its_own_addresses_and_no_others() {
        let now = Interfaces::now().unwrap();
        let lo = now.having("127.0.0.1".parse().unwrap()).unwrap();
        assert_eq!((lo.name.as_str(), lo.index, lo.link, lo.up), ("lo", 1, Link::Loopback, true));
        assert_eq!(now.having("::ffff:127.0.0.1".parse().unwrap()), Some(lo));
        assert_eq!(now.having("192.0.2.254".parse().unwrap()), None);
    }

    #[track_caller]
    fn check(having: &[(&str, Link, bool)], expected: &str) {
        let address: IpAddr = "fd00::1".parse().unwrap();
        let of = |(n, (name, link, up)): (u32, &(&str, Link, bool))| {
            (address, Interface { name: (*name).to_owned(), index: n, link: *link, up: *up })
        };
        let all = Interfaces((1..).zip(having).map(of).collect());
        assert_eq!(all.having(address).map(|i| i.name.as_str()), Some(expected));
    }

    #[test]
    fn an_address_that_several_have_is_that_of_a_tunnel_that_is_up() {
        check(&[("wg0", Link::Tunnel, false), ("wg1", Link::Tunnel, true)], "wg1");
        check(&[("wg0", Link::Tunnel, true), ("wg1", Link::Tunnel, true)], "wg0");
        check(&[("wlan0", Link::Shared, true), ("wg0", Link::Tunnel, true)], "wg0");
        check(&[("wlan0", Link::Shared, true), ("wg0", Link::Tunnel, false)], "wg0");
        check(&[("eth0", Link::Shared, false), ("wlan0", Link::Shared, true)], "wlan0");
    }
}
