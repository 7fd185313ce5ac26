//! Addresses and interfaces that go and come back while daemons run: each says why it does not
//! listen, and serves again without a restart.

use std::net::IpAddr;

use crate::lab::poll;
use crate::probe::{self, Plain};
use crate::world::{LABEL, M1, M2, M3, PORT, World};

/// The overlay's interface on m2, as it was before.
fn put_back(world: &World, address: IpAddr) {
    world.net.on(M2, &["ip", "-6", "addr", "replace", &format!("{address}/128"), "dev", "wg0", "nodad"]);
    world.net.on(M2, &["ip", "link", "set", "wg0", "up"]);
    world.net.on(M2, &["ip", "-6", "route", "replace", "fd73:87ab:1ab0::/48", "dev", "wg0"]);
}

fn asked(world: &World, mid: &str) {
    let said = world.send(M1, "m2/api", mid);
    assert!(said.code == 0 && said.out.contains(&format!("result of api:{mid}")), "{said:?}");
}

#[test]
fn an_address_that_goes_and_comes_back_is_served_again_without_a_restart() {
    let Some(world) = World::of("an_address_that_goes_and_comes_back_is_served_again_without_a_restart") else {
        return;
    };
    let (net, pid, m2) = (&world.net, world.lab[M2].pid(), world.lab[M2].address);
    asked(&world, "before");
    assert_eq!(world.why_deaf(M2), "");
    net.on(M2, &["ip", "-6", "addr", "del", &format!("{m2}/128"), "dev", "wg0"]);
    poll("it says that the address is gone", || {
        world.why_deaf(M2).contains("no interface of this host has the address")
    });
    let status = world.lab[M2].get("/v1/status").json();
    assert_eq!(status["addresses"], serde_json::json!([]), "{status}");
    assert_eq!(status["listening"][0]["address"], format!("[{m2}]:{PORT}"), "{status}");
    let away = world.lab[M1].cli(&["a2a", "send", "--now", "m2/api", "please"]);
    assert!(away.code == 1 && away.err.contains("m2"), "{away:?}");
    // Another program is quicker, when the address is back.
    net.on(M2, &["sh", "-c", "echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind"]);
    let quicker = Plain::listen(&world, M2, m2, PORT);
    put_back(&world, m2);
    poll("it says so", || world.why_deaf(M2).starts_with("another program listens there"));
    drop(quicker);
    poll("it listens again", || world.why_deaf(M2).is_empty());
    asked(&world, "between");
    net.on(M2, &["ip", "link", "set", "wg0", "down"]);
    poll("it says so again", || !world.why_deaf(M2).is_empty());
    // Whoever runs the network below could give it the address there, and call as anybody.
    net.on(M2, &["ip", "-6", "addr", "add", &format!("{m2}/128"), "dev", "eth0", "nodad"]);
    poll("it does not listen there", || world.why_deaf(M2).contains("it is on eth0 now, which is no tunnel"));
    net.on(M2, &["ip", "-6", "addr", "del", &format!("{m2}/128"), "dev", "eth0"]);
    put_back(&world, m2);
    poll("it listens again", || world.why_deaf(M2).is_empty());
    asked(&world, "after");
    assert_eq!(world.lab[M2].get("/v1/status").json()["pid"], pid, "it is the same daemon");
}

#[test]
fn a_machine_that_gets_another_address_is_served_there_without_a_restart() {
    let Some(mut world) = World::of("a_machine_that_gets_another_address_is_served_there_without_a_restart") else {
        return;
    };
    let (net, old, pids) = (&world.net, world.lab[M2].address, [M1, M2].map(|m| world.lab[m].pid()));
    asked(&world, "before");
    let [new, stranger] = ["fd73:87ab:1ab0::2:2", "fd73:87ab:1ab0::3:3"].map(|a| a.parse::<IpAddr>().unwrap());
    let key = |machine: usize| net.on(machine, &["wg", "show", "wg0", "public-key"]).trim().to_string();
    let may_be = |at: usize, who: usize, addresses: &str| {
        net.on(at, &["wg", "set", "wg0", "peer", &key(who), "allowed-ips", addresses]);
    };
    may_be(M1, M2, &format!("{new}/128"));
    may_be(M2, M3, &format!("{},{stranger}", net.overlay(M3)));
    net.on(M2, &["ip", "-6", "addr", "add", &format!("{new}/128"), "dev", "wg0", "nodad"]);
    net.on(M3, &["ip", "-6", "addr", "add", &format!("{stranger}/128"), "dev", "wg0", "nodad"]);
    world.lab[M2].address = new;
    world.lab.write_mesh(LABEL);
    let net = &world.net;
    // Each minute the names are read again, and at once when somebody calls whom nobody knows.
    poll("m2 listens at its new address alone", || {
        let said = probe::connect(net, M3, stranger, old, PORT);
        assert!(!said.contains("answered") || said.ends_with("answered 0"), "nobody is answered: {said}");
        let status = world.lab[M2].get("/v1/status").json();
        status["addresses"] == serde_json::json!([format!("[{new}]:{PORT}")])
    });
    net.on(M2, &["ip", "-6", "addr", "del", &format!("{old}/128"), "dev", "wg0"]);
    // To m1 it is unknown at its new address, until it calls.
    let listed = world.lab[M2].cli(&["a2a", "list"]);
    assert!(listed.out.contains("m1/webapp"), "{listed:?}");
    asked(&world, "after");
    let now = [M1, M2].map(|m| world.lab[m].get("/v1/status").json()["pid"].clone());
    assert_eq!(now, pids.map(serde_json::Value::from), "they are the same daemons");
}

#[test]
fn an_interface_that_comes_after_the_daemon_or_is_made_anew_is_served() {
    let Some(mut world) = World::idle("an_interface_that_comes_after_the_daemon_or_is_made_anew_is_served") else {
        return;
    };
    let (m2, conf) = (world.lab[M2].address, world.net.conf(M2));
    let remove = |world: &World| world.net.on(M2, &["ip", "link", "del", "wg0"]);
    let make = |world: &World| {
        // As the machines' own were made: by the kernel where it can.
        let add = "ip link add wg0 type wireguard 2>/dev/null || wireguard-go wg0 >/dev/null 2>&1";
        world.net.on(M2, &["sh", "-c", add]);
        world.net.on(M2, &["wg", "setconf", "wg0", &conf]);
        put_back(world, m2);
        // It has a new session with m1 at once; m1 would keep to the old one for 15 s.
        world.net.on(M2, &["ping", "-c", "1", "-W", "10", &world.net.overlay(M1).to_string()]);
        poll("it listens", || world.why_deaf(M2).is_empty());
    };
    remove(&world);
    world.start(M1);
    world.start(M2);
    assert!(world.why_deaf(M2).contains("no interface of this host has the address"), "{}", world.lab[M2].log());
    make(&world);
    asked(&world, "first");
    // Gone and back at once: the address is the same, and the interface is another one.
    remove(&world);
    make(&world);
    asked(&world, "second");
}
