//! No mesh: this machine alone, on 127.0.0.1 and ::1.
//! Nobody is asked, so it never fails.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Device, Directory, DirectoryKind, Later, Listing, OwnEntry};
use crate::{DeviceId, file};

/// This machine alone.
#[derive(Debug)]
pub(crate) struct Loopback {
    pub me: Option<String>,
    pub port: u16,
}

impl Directory for Loopback {
    fn kind(&self) -> DirectoryKind {
        DirectoryKind::Loopback
    }

    fn list(&self) -> Later<'_, Listing> {
        let device = Device {
            name: self.me.clone().unwrap_or_else(host_name),
            mesh: None,
            addresses: vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)],
            port: self.port,
            id: DeviceId(format!("loopback/{}", Ipv4Addr::LOCALHOST)),
            of_another: false,
        };
        let own = vec![OwnEntry { device, dns: None, unserved: None }];
        Box::pin(async { Ok(Listing { own, checked: true, ..Listing::default() }) })
    }
}

/// The host's own name up to the first dot, where it can name a machine.
pub(crate) fn host_name() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let first = text.trim().split('.').next().unwrap_or_default();
    if file::may_name_a_machine(first) { first.to_owned() } else { "localhost".to_owned() }
}
