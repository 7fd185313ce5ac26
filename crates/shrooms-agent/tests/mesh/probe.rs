//! Plain programs on a machine: a listener and clients that bind no interface, to compare with.

use std::fs::{self, File};
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use crate::lab::poll;
use crate::net::Net;
use crate::world::World;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mesh/probe.py");

/// A listener that takes whatever the kernel gives it.
pub struct Plain {
    child: Child,
    said: PathBuf,
}

impl Plain {
    pub fn listen(world: &World, machine: usize, address: IpAddr, port: u16) -> Plain {
        let said = world.lab.path(&format!("plain-{machine}-{port}"));
        let mut command =
            world.net.there(machine, &["python3", PROGRAM, "listen", &address.to_string(), &port.to_string()]);
        let child = command.stdin(Stdio::null()).stdout(File::create(&said).unwrap()).spawn().unwrap();
        let plain = Plain { child, said };
        poll("the plain listener listens", || plain.said().first().is_some_and(|line| line == "ready"));
        plain
    }

    /// What came, in order.
    pub fn said(&self) -> Vec<String> {
        fs::read_to_string(&self.said).unwrap_or_default().lines().map(str::to_string).collect()
    }

    /// How often this was said.
    pub fn count(&self, line: &str) -> usize {
        self.said().iter().filter(|said| *said == line).count()
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a plain client on a machine comes to: `connected answered N`, or `failed WHY`.
pub fn connect(net: &Net, machine: usize, from: IpAddr, to: IpAddr, port: u16) -> String {
    let words = [&from.to_string(), &to.to_string(), &port.to_string()].map(String::clone);
    let said = net.on(machine, &["python3", PROGRAM, "connect", &words[0], &words[1], &words[2]]);
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One datagram.
pub fn send(net: &Net, machine: usize, from: IpAddr, to: IpAddr, port: u16, word: &str) {
    net.on(machine, &["python3", PROGRAM, "send", &from.to_string(), &to.to_string(), &port.to_string(), word]);
}
