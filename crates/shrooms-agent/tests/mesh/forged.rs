//! m1 poses as m3 before m2, by each way that there is: nothing of it reaches m2's daemon. Plain
//! programs, which bind no interface, are tried the same way beside it, to see that the way is open.

use std::net::IpAddr;

use crate::lab::poll;
use crate::probe::{self, Plain};
use crate::world::{M1, M2, M3, PORT, World};

/// Where the plain listener is.
const PLAIN: u16 = 7777;

/// m1 is a stranger's; m2 and m3 are as always. m1 has taken m3's address, on its own loopback.
struct Attack {
    world: World,
    plain: Plain,
    m2: IpAddr,
    m3: IpAddr,
}

impl Attack {
    fn begin(test: &str) -> Option<Attack> {
        let mut world = World::idle(test)?;
        world.start(M2);
        world.start(M3);
        let (m2, m3) = (world.lab[M2].address, world.lab[M3].address);
        let plain = Plain::listen(&world, M2, m2, PLAIN);
        world.net.on(M1, &["ip", "-6", "addr", "add", &format!("{m3}/128"), "dev", "lo", "nodad"]);
        let attack = Attack { world, plain, m2, m3 };
        // What is looked for below is what is left when a request does arrive.
        assert!(probe::connect(&attack.world.net, M3, m3, m2, PORT).starts_with("connected answered"));
        poll("m2's log has the request", || attack.requests() == 1);
        Some(attack)
    }

    /// What m1 does to the cable: its own way to m2, past the tunnel.
    fn past_the_tunnel(&self) {
        let way = self.world.net.link_local(M2);
        let to = format!("{}/128", self.m2);
        self.world.net.on(M1, &["ip", "-6", "route", "replace", &to, "via", &way, "dev", "eth0"]);
    }

    /// What a neighbour's router advertisement can do to m2: its way to m3 leads to m1.
    fn lead_m2_astray(&self) {
        let way = self.world.net.link_local(M1);
        let to = format!("{}/128", self.m3);
        self.world.net.on(M2, &["ip", "-6", "route", "replace", &to, "via", &way, "dev", "eth0"]);
    }

    /// Requests and refusals in the log of m2's daemon.
    fn requests(&self) -> usize {
        self.world.lab[M2].log().lines().filter(|line| line.contains("/v1/probe") || line.contains("closed:")).count()
    }

    /// m1, as m3, connects to m2.
    fn connect(&self, port: u16) -> String {
        probe::connect(&self.world.net, M1, self.m3, self.m2, port)
    }

    /// m1 sends a datagram as m3, and one as itself; says when the second is there.
    fn datagrams(&self) -> usize {
        probe::send(&self.world.net, M1, self.m3, self.m2, PLAIN, "forged");
        let own = self.world.net.overlay(M1);
        probe::send(&self.world.net, M1, own, self.m2, PLAIN, "honest");
        poll("the honest one is there", || self.plain.count(&format!("udp {own} honest")) > 0);
        self.plain.count(&format!("udp {} forged", self.m3))
    }

    /// Nothing has come of it: m2's daemon has heard of no request but m3's own, at the beginning.
    fn came_to_nothing(&self) {
        assert_eq!(self.requests(), 1, "{}", self.world.lab[M2].log());
        // It still serves those who are who they say.
        let asked = self.world.send(M3, "m2/api", "after");
        assert!(asked.code == 0 && asked.out.contains("result of api:after"), "{asked:?}");
        let given = self.world.given("api:after");
        assert!(given.starts_with("[shrooms task api:after from m3.lab"), "{given}");
    }
}

#[test]
fn another_machines_address_does_not_pass_the_tunnel() {
    let Some(attack) = Attack::begin("another_machines_address_does_not_pass_the_tunnel") else { return };
    assert_eq!(attack.datagrams(), 0, "{:?}", attack.plain.said());
    assert!(attack.connect(PORT).starts_with("failed"));
    assert!(attack.connect(PLAIN).starts_with("failed"));
    assert_eq!(attack.plain.count(&format!("tcp {}", attack.m3)), 0);
    attack.came_to_nothing();
}

#[test]
fn another_machines_address_past_the_tunnel_reaches_no_daemon() {
    let Some(attack) = Attack::begin("another_machines_address_past_the_tunnel_reaches_no_daemon") else { return };
    attack.past_the_tunnel();
    assert_eq!(attack.datagrams(), 1, "a single packet does arrive as m3's: {:?}", attack.plain.said());
    // What m2 answers goes to m3, through the tunnel.
    assert!(attack.connect(PLAIN).starts_with("failed"));
    assert!(attack.connect(PORT).starts_with("failed"));
    assert_eq!(attack.plain.count(&format!("tcp {}", attack.m3)), 0);
    attack.came_to_nothing();
}

#[test]
fn another_machines_address_past_the_tunnel_and_a_route_back_reaches_no_daemon() {
    let test = "another_machines_address_past_the_tunnel_and_a_route_back_reaches_no_daemon";
    let Some(attack) = Attack::begin(test) else { return };
    attack.past_the_tunnel();
    attack.lead_m2_astray();
    assert!(attack.connect(PLAIN).starts_with("connected answered"), "{:?}", attack.plain.said());
    assert_eq!(attack.plain.count(&format!("tcp {}", attack.m3)), 1, "a plain listener takes m1 for m3");
    assert_eq!(attack.connect(PORT), "failed ConnectionRefusedError");
    attack.came_to_nothing();
}

#[test]
fn a_route_of_a_neighbour_does_not_lead_an_ask_to_whoever_has_taken_the_address() {
    let test = "a_route_of_a_neighbour_does_not_lead_an_ask_to_whoever_has_taken_the_address";
    let Some(attack) = Attack::begin(test) else { return };
    let fake = Plain::listen(&attack.world, M1, attack.m3, PORT);
    attack.past_the_tunnel();
    attack.lead_m2_astray();
    let plain = probe::connect(&attack.world.net, M2, attack.m2, attack.m3, PORT);
    assert!(plain.starts_with("connected answered"), "{plain}");
    poll("the fake has had its plain caller", || fake.count("said GET /v1/probe HTTP/1.1") == 1);
    let asked = attack.world.send(M2, "m3/db", "asked");
    assert!(asked.code == 0 && asked.out.contains("result of db:asked"), "{asked:?}");
    let listed = attack.world.lab[M2].cli(&["a2a", "list"]);
    assert!(listed.out.contains("m3/db"), "{listed:?}");
    assert_eq!(attack.world.runs("db:asked"), 1, "m3 itself has done it");
    assert_eq!(fake.said().len(), 3, "ready, one connection, one request: {:?}", fake.said());
}
