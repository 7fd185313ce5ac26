//! Listings in, names out: what each address, identity and name comes to.

use super::*;
use crate::Source;

const PORT: u16 = 7387;

/// `me NAME MESH ADDRESSES [why not served]` or `NAME MESH ADDRESSES`, one a line; `-` is nothing.
fn listing(text: &str) -> Listing {
    let mut listing = Listing::default();
    let word = |text: &str| if text == "-" { String::new() } else { text.to_owned() };
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let own = line.strip_prefix("me ");
        let mut words = own.unwrap_or(line).splitn(4, ' ');
        let mut next = || word(words.next().unwrap_or("-"));
        let (name, mesh, addresses, unserved) = (next(), next(), next(), next());
        let addresses: Vec<IpAddr> = addresses.split(',').filter_map(|text| text.parse().ok()).collect();
        let first = addresses.first().map_or("none".to_owned(), IpAddr::to_string);
        let id = DeviceId(format!("{mesh}/{first}"));
        let device =
            Device { name: name.replace('_', " "), mesh: Some(mesh), addresses, port: PORT, id, of_another: false };
        match own {
            Some(_) => {
                let unserved = (!unserved.is_empty()).then_some(unserved);
                listing.own.push(OwnEntry { device, dns: None, unserved });
            }
            None => listing.others.push(device),
        }
    }
    listing
}

/// Labels with the addresses that name them, this machine first; then the trouble, then the warnings.
fn told_of(named: Result<Named, MeshError>) -> String {
    let named = match named {
        Ok(named) => named,
        Err(error) => return error.to_string(),
    };
    let names = &named.names;
    let one = |machine: &std::sync::Arc<Machine>| {
        let known = machine.addresses.iter().filter(|address| match names.who(**address) {
            Source::Me => machine == names.me(),
            Source::Device(found) => found == *machine,
            Source::Unknown => false,
        });
        let known: Vec<String> = known.map(IpAddr::to_string).collect();
        format!("{} {}", machine.label(), known.join(",")).trim_end().to_owned()
    };
    let mut told: Vec<String> = names.machines().iter().map(one).collect();
    told.extend(named.trouble.map(|trouble| format!("TROUBLE {trouble}")));
    told.extend(names.warnings().iter().map(|warning| format!("WARNING {warning}")));
    told.join("; ")
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_served(text, "", expected);
}

#[track_caller]
fn check_served(text: &str, served: &str, expected: &str) {
    let served: Vec<String> = served.split_whitespace().map(str::to_owned).collect();
    let served = (!served.is_empty()).then_some(served.as_slice());
    let got = told_of(Naming::default().names(listing(text), served, PORT, Duration::ZERO));
    assert_eq!(got, expected, "for:\n{text}");
}

const ME: &str = "me laptop home fd00::1\n";

#[test]
fn peers_are_known_by_each_of_their_addresses_in_plain_form() {
    check(
        &format!("{ME}server home fd00::2,198.18.0.2\nbox home ::ffff:100.64.0.3"),
        "laptop.home fd00::1; server.home fd00::2,198.18.0.2; box.home 100.64.0.3",
    );
}

#[test]
fn an_address_that_names_no_machine_is_dropped() {
    for useless in ["fe80::2", "169.254.0.2", "ff02::1", "224.0.0.1", "::", "0.0.0.0", "127.0.0.2", "::1"] {
        check(&format!("{ME}odd home {useless}"), "laptop.home fd00::1");
        check(&format!("{ME}odd home fd00::2,{useless}"), "laptop.home fd00::1; odd.home fd00::2");
    }
    // A lab on one host: this machine's own address, which only the daemon says, is a loopback one.
    check("me laptop home 127.0.0.1\nserver home 127.0.0.2", "laptop.home 127.0.0.1; server.home 127.0.0.2");
}

#[test]
fn an_address_that_two_claim_names_neither() {
    check(
        &format!("{ME}a home fd00::2,198.18.0.9\nb home fd00::3,198.18.0.9"),
        "laptop.home fd00::1; a.home fd00::2; b.home fd00::3; WARNING the address 198.18.0.9 is claimed by home/fd00::2 \
         and home/fd00::3: it names none of them",
    );
    check(
        &format!("{ME}a home fd00::2\nb home fd00::2"),
        "laptop.home fd00::1; WARNING two machines are listed as home/fd00::2: neither is known",
    );
    check(
        &format!("{ME}a home fd00::3,fd00::1"),
        "laptop.home fd00::1; a.home fd00::3; WARNING the address fd00::1 is claimed by this machine and home/fd00::3: it \
         names none of them",
    );
    // The same entry twice is one device; this machine's own entry among the peers is none.
    check(&format!("{ME}a home fd00::2\na home fd00::2"), "laptop.home fd00::1; a.home fd00::2");
    check(&format!("{ME}thief home fd00::1"), "laptop.home fd00::1");
}

#[test]
fn a_name_that_is_none_is_replaced_by_one_of_the_identity() {
    for claimed in ["-", "a_b", "büro", "x/y", "LocalHost", "-x", "\u{202e}evil"] {
        check(&format!("{ME}{claimed} home fd00::2"), "laptop.home fd00::1; device-3516cf21.home fd00::2");
    }
    check(&format!("{ME}web.home home fd00::2"), "laptop.home fd00::1; web-home.home fd00::2");
    let long = "x".repeat(80);
    check(&format!("{ME}{long} home fd00::2"), &format!("laptop.home fd00::1; {}.home fd00::2", &long[..64]));
    check("me - home fd00::1", "device-d252af74.home fd00::1");
    check("me laptop my_net! fd00::1", "laptop.my_net- fd00::1");
}

#[test]
fn this_machines_name_is_nobody_elses() {
    let joined = "me laptop home fd00::1\nme laptop work fd01::1\n";
    check(&format!("{ME}laptop home fd00::2"), "laptop.home fd00::1; laptop-3516cf21.home fd00::2");
    check(&format!("{ME}LAPTOP home fd00::2"), "laptop.home fd00::1; LAPTOP-3516cf21.home fd00::2");
    check(&format!("{joined}laptop work fd01::2"), "laptop.home fd00::1; laptop-2464a7d9.work fd01::2");
}

#[test]
fn of_two_that_come_with_one_name_neither_gets_it() {
    check(
        &format!("{ME}nas home fd00::2\nNAS home fd00::3"),
        "laptop.home fd00::1; nas-3516cf21.home fd00::2; NAS-e8f9ea54.home fd00::3",
    );
    // Another mesh is another label.
    check(
        "me laptop home fd00::1\nme laptop work fd01::1\nnas home fd00::2\nnas work fd01::2",
        "laptop.home fd00::1; nas.home fd00::2; nas.work fd01::2",
    );
    // Who claims what another would be called instead has it; the other is called otherwise.
    check(
        &format!("{ME}nas home fd00::2\nnas home fd00::3\nnas-3516cf21 home fd00::4"),
        "laptop.home fd00::1; nas-3516cf210a602858.home fd00::2; nas-e8f9ea54.home fd00::3; nas-3516cf21.home fd00::4",
    );
}

/// One naming, through listings at these hours.
#[track_caller]
fn check_run(steps: &[(u64, &str, &str)]) {
    let mut naming = Naming::default();
    for (hour, text, expected) in steps {
        let now = Duration::from_secs(hour * 3_600);
        let got = told_of(naming.names(listing(&format!("{ME}{text}")), None, PORT, now));
        let got = got.strip_prefix("laptop.home fd00::1").unwrap_or(&got).trim_start_matches("; ");
        assert_eq!(got, *expected, "at hour {hour}");
    }
}

#[test]
fn a_label_stays_with_whoever_had_it_first() {
    let server = "server home fd00::2";
    let thief = "server home fd00::3";
    let both = format!("{thief}\n{server}");
    check_run(&[
        (0, server, "server.home fd00::2"),
        (1, &both, "server-e8f9ea54.home fd00::3; server.home fd00::2"),
        // The first is gone: its label is still not the other's …
        (2, thief, "server-e8f9ea54.home fd00::3"),
        (24, thief, "server-e8f9ea54.home fd00::3"),
        (24, &both, "server-e8f9ea54.home fd00::3; server.home fd00::2"),
        (47, thief, "server-e8f9ea54.home fd00::3"),
        // … until it has been gone for a day.
        (48, thief, "server.home fd00::3"),
        (49, &both, "server.home fd00::3; server-3516cf21.home fd00::2"),
    ]);
}

#[test]
fn a_label_that_two_claimed_at_once_is_not_the_ones_that_stays() {
    let both = "nas home fd00::2\nnas home fd00::3";
    let one = "nas home fd00::3";
    check_run(&[
        (0, both, "nas-3516cf21.home fd00::2; nas-e8f9ea54.home fd00::3"),
        (20, both, "nas-3516cf21.home fd00::2; nas-e8f9ea54.home fd00::3"),
        (43, one, "nas-e8f9ea54.home fd00::3"),
        (44, one, "nas.home fd00::3"),
    ]);
}

#[test]
fn a_device_that_renames_itself_is_followed_where_the_name_is_free() {
    check_run(&[
        (0, "a home fd00::2\nb home fd00::3", "a.home fd00::2; b.home fd00::3"),
        (1, "c home fd00::2\nb home fd00::3", "c.home fd00::2; b.home fd00::3"),
        (2, "b home fd00::2\nc home fd00::3", "c.home fd00::2; b.home fd00::3"),
        (3, "laptop home fd00::2\nb home fd00::3", "c.home fd00::2; b.home fd00::3"),
        (4, "c home fd00::2\nB home fd00::3", "c.home fd00::2; B.home fd00::3"),
    ]);
}

#[test]
fn what_is_not_served_is_shown_with_why_and_names_nobody() {
    let two =
        "me laptop home fd00::1\nme laptop work fd01::1 it is disabled\na home fd00::2\nb work fd01::2\nc x fd02::2";
    check(two, "laptop.home fd00::1; a.home fd00::2; b.work");
    let named = Naming::default().names(listing(two), None, PORT, Duration::ZERO).unwrap();
    let why: Vec<_> = named.names.meshes().iter().map(|mesh| mesh.unserved.clone().unwrap_or_default()).collect();
    assert_eq!(why, ["", "it is disabled"]);
    check(
        "me laptop home fd00::1 it is disabled\na home fd00::2",
        "laptop.home; a.home; TROUBLE no mesh can be served (home: it is disabled)",
    );
    check_served(
        two,
        "work",
        "laptop.work; b.work; TROUBLE no mesh can be served (home: --meshes leaves it out; work: it is disabled)",
    );
}

#[test]
fn only_the_chosen_meshes_are_served_and_never_fewer() {
    let two = "me laptop home fd00::1\nme laptop work fd01::1\na home fd00::2\nb work fd01::2";
    check_served(two, "work", "laptop.work fd01::1; b.work fd01::2");
    check_served(two, "home wrok", "--meshes: no mesh is labelled \"wrok\": did you mean work? (there is: home, work)");
    // Once they were all there, one that goes away takes none of the others with it.
    let mut naming = Naming::default();
    let served = ["home".to_owned(), "work".to_owned()];
    let mut at = |text: &str| told_of(naming.names(listing(text), Some(&served), PORT, Duration::ZERO));
    let waiting = at("");
    assert!(waiting.contains("TROUBLE"), "a daemon without a mesh has not said which there are: {waiting}");
    assert!(at("me laptop home fd00::1").contains("no mesh is labelled \"work\""));
    assert_eq!(at(two), "laptop.home fd00::1; a.home fd00::2; b.work fd01::2");
    assert_eq!(at("me laptop home fd00::1\na home fd00::2"), "laptop.home fd00::1; a.home fd00::2");
}

#[test]
fn a_list_is_bounded() {
    let peers: String = (0..5_000).map(|n| format!("p{n} home fd00::1:{n:x}\n")).collect();
    let named = Naming::default().names(listing(&format!("{ME}{peers}")), None, PORT, Duration::ZERO).unwrap();
    assert_eq!(named.names.machines().len(), MOST);
    assert_eq!(&named.names.warnings()[..], ["the mesh lists 5000 machines: 905 are left out"]);
    let twins: String = (0..40).map(|n| format!("a{n} home fd00::2:{n}\nb{n} home fd00::2:{n}\n")).collect();
    let named = Naming::default().names(listing(&format!("{ME}{twins}")), None, PORT, Duration::ZERO).unwrap();
    assert_eq!(named.names.warnings().last().unwrap(), "and 24 more like these");
}
