//! The mesh as the daemons of shrooms and Tailscale tell it, also when they tell nothing or nonsense.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests fail loudly")]

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use shrooms_mesh::{DirectoryKind, Machine, Mesh, MeshError, MeshSpec, Sockets, Source};
use shrooms_testkit::daemons::{FakeShrooms, FakeTailscaled, Manner};
use tempfile::TempDir;

const PORT: u16 = 7387;

struct Host {
    dir: TempDir,
}

impl Host {
    fn new() -> Host {
        Host { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn shrooms(&self) -> FakeShrooms {
        FakeShrooms::at(&self.path("shrooms.sock"))
    }

    fn tailscaled(&self) -> FakeTailscaled {
        FakeTailscaled::at(&self.path("tailscaled.sock"))
    }

    async fn open(&self, spec: &str, meshes: &str) -> Result<Mesh, MeshError> {
        let meshes: Vec<String> = meshes.split_whitespace().map(str::to_owned).collect();
        let sockets = Sockets {
            shrooms: vec![self.path("shrooms.sock"), self.path("old.sock")],
            tailscale: self.path("tailscaled.sock"),
        };
        let spec = MeshSpec::parse(spec).unwrap();
        Mesh::open(&spec, None, (!meshes.is_empty()).then_some(meshes.as_slice()), PORT, Some(sockets)).await
    }
}

fn labels(mesh: &Mesh) -> String {
    mesh.machines().iter().map(|machine| machine.label()).collect::<Vec<_>>().join(" ")
}

async fn who(mesh: &Mesh, address: &str) -> String {
    match mesh.who(address.parse().unwrap()).await {
        Source::Me => "me".into(),
        Source::Device(machine) => format!("{} as {}", machine.label(), machine.id),
        Source::Unknown => "nobody".into(),
    }
}

fn trouble(mesh: &Mesh) -> String {
    mesh.trouble().unwrap_or_default()
}

#[tokio::test]
async fn shrooms_names_this_machine_and_its_peers() {
    let host = Host::new();
    let daemon = host.shrooms();
    let meshes = [("home", "fd00::1"), ("work", "fd01::1")];
    daemon.joined(
        "laptop",
        &meshes,
        &[("server", "home", "fd00::2"), ("laptop", "home", "fd00::1"), ("build", "work", "fd01::9")],
    );
    let mesh = host.open("shrooms", "").await.unwrap();
    assert_eq!((mesh.kind(), mesh.trouble(), mesh.notice()), (DirectoryKind::Shrooms, None, None));
    assert_eq!(labels(&mesh), "laptop.home server.home build.work");
    assert_eq!(mesh.listen_addresses(), ["fd00::1", "fd01::1"].map(|a| a.parse::<IpAddr>().unwrap()));
    assert_eq!(who(&mesh, "fd00::2").await, "server.home as home/fd00::2");
    assert_eq!(who(&mesh, "fd01::1").await, "me");
    assert_eq!(who(&mesh, "fd00::7").await, "nobody");
    assert_eq!(daemon.asked(), ["GET /status for unix"]);
    let only = host.open("shrooms", "work").await.unwrap();
    assert_eq!(labels(&only), "laptop.work build.work");
    let error = host.open("shrooms", "wrok").await.unwrap_err().to_string();
    assert!(error.contains("did you mean work?"), "{error}");
}

#[tokio::test]
async fn shrooms_fields_may_be_absent_null_or_new() {
    let host = Host::new();
    let daemon = host.shrooms();
    daemon.say(json!({
        "name": "laptop", "overlay": "fd00::1", "news": {"a": [1]},
        "meshes": [{"label": "", "overlay": "fd00::1", "prefix": "fd00::/48"}],
        "peers": [
            {"name": "server", "overlay": "fd00::2", "overlay_v4": "198.18.0.2", "mesh": null},
            {"name": "mapped", "overlay": "::ffff:100.64.0.9"},
            {"name": "lost", "overlay": ""}, {"name": "odd", "overlay": "fd00::3/128"}, {},
        ],
    }));
    let mesh = host.open("shrooms", "").await.unwrap();
    assert_eq!(labels(&mesh), "laptop.default server.default mapped.default");
    assert_eq!(who(&mesh, "198.18.0.2").await, "server.default as default/fd00::2");
    assert_eq!(who(&mesh, "::ffff:100.64.0.9").await, "mapped.default as default/100.64.0.9");
    let server: std::sync::Arc<Machine> = mesh.find("server").unwrap();
    assert_eq!(server.addresses.first().unwrap().to_string(), "fd00::2", "calls go to the overlay");
    // An older daemon without the list of meshes, and one whose peers are null.
    daemon.say(json!({"name": "laptop", "overlay": "fd00::1", "peers": null}));
    mesh.refresh().await.unwrap();
    assert_eq!(labels(&mesh), "laptop.default");
}

#[tokio::test]
async fn meshes_that_cannot_be_served_are_shown_with_why() {
    let host = Host::new();
    let daemon = host.shrooms();
    let of = |flags: serde_json::Value| {
        let mut work = json!({"label": "work", "overlay": "fd01::1"});
        work.as_object_mut().unwrap().extend(flags.as_object().unwrap().clone());
        let peers = json!([{"name": "build", "mesh": "work", "overlay": "fd01::2"}]);
        json!({"name": "laptop", "meshes": [{"label": "home", "overlay": "fd00::1"}, work], "peers": peers})
    };
    let mesh = host.open("shrooms", "").await.unwrap();
    for (flags, why) in [
        (json!({"disabled": true}), "disabled"),
        (json!({"not_running": true}), "not running"),
        (json!({"left": true}), "left"),
        (json!({"overlay": "soon"}), "no address"),
    ] {
        daemon.say(of(flags));
        mesh.refresh().await.unwrap();
        let work = mesh.meshes()[1].clone();
        assert!(work.unserved.as_ref().unwrap().contains(why), "{work:?}");
        assert_eq!((mesh.trouble(), mesh.listen_addresses().len()), (None, 1));
        assert_eq!(
            (labels(&mesh).as_str(), who(&mesh, "fd01::2").await.as_str()),
            ("laptop.home build.work", "nobody")
        );
    }
    daemon.say(of(json!({})));
    mesh.refresh().await.unwrap();
    assert_eq!(who(&mesh, "fd01::2").await, "build.work as work/fd01::2");
}

#[tokio::test]
async fn a_daemon_that_is_not_there_yet_is_followed() {
    let host = Host::new();
    let mesh = host.open("shrooms", "").await.unwrap();
    assert!(trouble(&mesh).contains("no shrooms daemon answers at"), "{}", trouble(&mesh));
    assert!(mesh.me().addresses.is_empty() && mesh.listen_addresses().is_empty());
    assert_eq!(who(&mesh, "127.0.0.1").await, "nobody", "it is no loopback mesh");
    let mut changes = mesh.changes();
    assert!(mesh.refresh().await.is_err());
    assert!(!changes.has_changed().unwrap(), "nothing has changed");
    let daemon = host.shrooms();
    mesh.refresh().await.unwrap();
    assert!(trouble(&mesh).contains("joined no mesh yet"), "{}", trouble(&mesh));
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    daemon.joined("laptop", &[("home", "fd00::1")], &[]);
    mesh.refresh().await.unwrap();
    assert_eq!((mesh.trouble(), labels(&mesh).as_str()), (None, "laptop.home"));
    assert!(changes.has_changed().unwrap());
    daemon.joined("desk", &[("home", "fd00::1")], &[]);
    mesh.refresh().await.unwrap();
    assert_eq!(mesh.me().name, "desk", "its name is the mesh's to give");
}

#[tokio::test]
async fn the_old_place_of_the_socket_is_asked_where_the_new_one_is_not() {
    let host = Host::new();
    let daemon = FakeShrooms::at(&host.path("old.sock"));
    daemon.joined("laptop", &[("home", "fd00::1")], &[]);
    assert_eq!(labels(&host.open("shrooms", "").await.unwrap()), "laptop.home");
}

#[tokio::test]
async fn a_daemon_that_goes_away_leaves_the_names_and_after_a_while_nobody_known() {
    let host = Host::new();
    let mut daemon = host.shrooms();
    daemon.joined("laptop", &[("home", "fd00::1")], &[("server", "home", "fd00::2")]);
    let mesh = host.open("shrooms", "").await.unwrap();
    daemon.stop();
    assert!(mesh.refresh().await.is_err());
    assert!(trouble(&mesh).contains("no shrooms daemon"), "{}", trouble(&mesh));
    assert_eq!(labels(&mesh), "laptop.home server.home");
    assert_eq!(who(&mesh, "fd00::2").await, "server.home as home/fd00::2", "its restart takes seconds");
    // Stopped only while nobody waits for a socket: the clock would run ahead then.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(301)).await;
    assert_eq!(who(&mesh, "fd00::2").await, "nobody");
    assert_eq!(labels(&mesh), "laptop.home server.home");
    daemon.resume();
    tokio::time::resume();
    mesh.refresh().await.unwrap();
    assert_eq!((mesh.trouble(), who(&mesh, "fd00::2").await.as_str()), (None, "server.home as home/fd00::2"));
}

#[tokio::test]
async fn whatever_answers_is_read_within_bounds() {
    let host = Host::new();
    let daemon = host.shrooms();
    daemon.joined("laptop", &[("home", "fd00::1")], &[("server", "home", "fd00::2")]);
    let mesh = host.open("shrooms", "").await.unwrap();
    for (manner, why) in [
        (Manner::Garbage, "does not speak as the shrooms daemon does"),
        (Manner::NoJson, "does not speak as the shrooms daemon does: expected value"),
        (Manner::Refusing(500), "HTTP 500 no"),
        (Manner::CutShort, "broke off"),
        (Manner::Endless, "over 8388608 bytes"),
        (Manner::Silent, "did not answer within 5 s"),
    ] {
        daemon.manner(manner.clone());
        let error = mesh.refresh().await.unwrap_err().to_string();
        assert!(error.contains(why), "{manner:?}: {error}");
        assert_eq!((trouble(&mesh), labels(&mesh).as_str()), (error, "laptop.home server.home"));
    }
    for manner in [Manner::Plain, Manner::Chunked] {
        daemon.manner(manner);
        mesh.refresh().await.unwrap();
        assert_eq!(mesh.trouble(), None);
    }
    let peers: Vec<_> =
        (0..20_000).map(|n| json!({"name": format!("p{n}"), "overlay": format!("fd00::1:{n:x}")})).collect();
    daemon.say(json!({"name": "laptop", "meshes": [{"label": "home", "overlay": "fd00::1"}], "peers": peers}));
    mesh.refresh().await.unwrap();
    assert_eq!((mesh.machines().len(), mesh.warnings().len()), (4_096, 1));
}

#[tokio::test]
async fn refreshes_at_the_same_time_are_one() {
    let host = Host::new();
    let daemon = host.shrooms();
    daemon.joined("laptop", &[("home", "fd00::1")], &[]);
    let mesh = host.open("shrooms", "").await.unwrap();
    let refreshes = (0..50).map(|_| {
        let mesh = mesh.clone();
        async move { mesh.refresh().await }
    });
    let mut set = tokio::task::JoinSet::new();
    refreshes.for_each(|refresh| {
        set.spawn(refresh);
    });
    while let Some(done) = set.join_next().await {
        done.unwrap().unwrap();
    }
    let asked = daemon.asked().len();
    assert!(asked <= 4, "one for the start, one for the first, one for all others: {asked}");
}

#[tokio::test]
async fn a_label_to_serve_that_is_none_serves_nothing_also_when_the_daemon_comes_later() {
    let host = Host::new();
    let mesh = host.open("shrooms", "home wrok").await.unwrap();
    let daemon = host.shrooms();
    daemon.joined("laptop", &[("home", "fd00::1"), ("work", "fd01::1")], &[("server", "home", "fd00::2")]);
    assert!(mesh.refresh().await.is_err());
    assert!(trouble(&mesh).contains("no mesh is labelled \"wrok\": did you mean work?"), "{}", trouble(&mesh));
    assert!(mesh.listen_addresses().is_empty());
    assert_eq!(who(&mesh, "fd00::2").await, "nobody");
}

#[tokio::test]
async fn tailscale_knows_devices_by_their_stable_id() {
    let host = Host::new();
    let daemon = host.tailscaled();
    daemon.up(("nME", "laptop", "100.64.0.1"), &[("nSRV", "server", "100.64.0.2"), ("nTWO", "server-1", "100.64.0.3")]);
    let mesh = host.open("tailscale", "").await.unwrap();
    assert_eq!((mesh.kind(), mesh.trouble()), (DirectoryKind::Tailscale, None));
    assert_eq!(labels(&mesh), "laptop.tailscale server.tailscale server-1.tailscale");
    assert_eq!(mesh.me().id.to_string(), "tailscale/nME");
    assert_eq!(who(&mesh, "100.64.0.1").await, "me");
    assert_eq!(who(&mesh, "100.64.0.2").await, "server.tailscale as tailscale/nSRV");
    assert_eq!(who(&mesh, "100.64.0.2").await, "server.tailscale as tailscale/nSRV");
    assert_eq!(
        daemon.asked(),
        [
            "GET /localapi/v0/status for local-tailscaled.sock",
            "GET /localapi/v0/whois?addr=100.64.0.2%3A1 for local-tailscaled.sock"
        ],
        "the second time it was remembered"
    );
    // A device that has another address now is the same device.
    daemon.up(("nME", "laptop", "100.64.0.1"), &[("nSRV", "server", "100.64.0.7")]);
    mesh.refresh().await.unwrap();
    assert_eq!(who(&mesh, "100.64.0.7").await, "server.tailscale as tailscale/nSRV");
}

#[tokio::test]
async fn whois_is_believed_only_for_a_devices_very_own_address() {
    let host = Host::new();
    let daemon = host.tailscaled();
    daemon.up(("nME", "laptop", "100.64.0.1"), &[("nSRV", "router", "100.64.0.2")]);
    let mesh = host.open("tailscale", "").await.unwrap();
    let node = |addresses: serde_json::Value| Some(json!({"StableID": "nSRV", "Addresses": addresses}));
    for (address, said, expected) in [
        ("10.0.0.5", node(json!(["10.0.0.0/24", "100.64.0.2/32"])), "nobody"),
        ("10.0.0.5", node(json!(["10.0.0.5/24"])), "nobody"),
        ("10.0.0.5", node(json!(null)), "nobody"),
        ("100.64.0.2", None, "nobody"),
        ("100.64.0.3", Some(json!({"StableID": "nNEW", "Addresses": ["100.64.0.3/32"]})), "nobody"),
        ("100.64.0.4", Some(json!({"Addresses": ["100.64.0.4/32"]})), "nobody"),
        ("fd7a::2", node(json!(["fd7a::2/64"])), "nobody"),
        ("fd7a::2", node(json!(["fd7a::2/128"])), "router.tailscale as tailscale/nSRV"),
    ] {
        daemon.says_of(address, said.clone());
        assert_eq!(who(&mesh, address).await, expected, "{address}: {said:?}");
    }
    daemon.says_of("100.64.0.2", node(json!(["100.64.0.2/32"])));
    for manner in [Manner::Refusing(500), Manner::Refusing(403), Manner::Garbage, Manner::Silent] {
        daemon.manner(manner.clone());
        assert_eq!(who(&mesh, "100.64.0.2").await, "nobody", "{manner:?}");
    }
}

#[tokio::test]
async fn tailscale_that_is_not_up_says_so_and_keeps_the_names() {
    let host = Host::new();
    let daemon = host.tailscaled();
    let mesh = host.open("tailscale", "").await.unwrap();
    assert!(trouble(&mesh).contains("\"NeedsLogin\"") && trouble(&mesh).contains("tailscale up"), "{}", trouble(&mesh));
    daemon.up(("nME", "laptop", "100.64.0.1"), &[("nSRV", "server", "100.64.0.2")]);
    mesh.refresh().await.unwrap();
    daemon.say(json!({"BackendState": "Stopped", "Peer": null}));
    assert!(mesh.refresh().await.is_err());
    assert_eq!(labels(&mesh), "laptop.tailscale server.tailscale");
    // Without an interface, everybody seems to be 127.0.0.1.
    daemon.say(json!({"BackendState": "Running", "TUN": false,
        "Self": {"ID": "nME", "DNSName": "laptop.t.ts.net.", "TailscaleIPs": ["100.64.0.1"]}}));
    mesh.refresh().await.unwrap();
    assert!(trouble(&mesh).contains("userspace networking") && mesh.listen_addresses().is_empty());
}

#[tokio::test]
async fn devices_of_other_tailnets_are_nobody() {
    let host = Host::new();
    let daemon = host.tailscaled();
    let node = |id: &str, dns: &str, ip: &str, sharee: bool| json!({"ID": id, "HostName": "x", "DNSName": dns, "TailscaleIPs": [ip], "ShareeNode": sharee});
    daemon.say(json!({
        "BackendState": "Running", "MagicDNSSuffix": "mine.ts.net",
        "Self": node("nME", "laptop.mine.ts.net.", "100.64.0.1", false),
        "Peer": {
            "a": node("nA", "server.mine.ts.net.", "100.64.0.2", false),
            "b": node("nB", "theirs.other.ts.net.", "100.64.0.3", false),
            "c": node("nC", "guest.mine.ts.net.", "100.64.0.4", true),
            "d": node("nD", "se-got-wg-001.mullvad.ts.net.", "100.64.0.5", false),
            "e": node("nE", "evilmine.ts.net.", "100.64.0.6", false),
        },
    }));
    let mesh = host.open("tailscale", "").await.unwrap();
    assert_eq!(labels(&mesh), "laptop.tailscale server.tailscale");
    for other in ["100.64.0.3", "100.64.0.4", "100.64.0.5", "100.64.0.6"] {
        assert_eq!(who(&mesh, other).await, "nobody");
    }
}

#[tokio::test]
async fn a_device_of_another_person_of_the_tailnet_is_known_as_such() {
    let host = Host::new();
    let daemon = host.tailscaled();
    let node = |id: &str, name: &str, ip: &str, user: u64, tags: &[&str]| json!({"ID": id, "DNSName": format!("{name}.mine.ts.net."), "TailscaleIPs": [ip], "UserID": user, "Tags": tags});
    let others = |mesh: &Mesh| -> String {
        let flag = |m: &Arc<shrooms_mesh::Machine>| format!("{} {}", m.name, m.of_another);
        mesh.machines().iter().skip(1).map(flag).collect::<Vec<_>>().join(", ")
    };
    let say = |user: u64, tags: &[&str]| {
        daemon.say(json!({
            "BackendState": "Running", "MagicDNSSuffix": "mine.ts.net",
            "Self": node("nME", "laptop", "100.64.0.1", user, tags),
            "Peer": {
                "a": node("nA", "mine", "100.64.0.2", 7, &[]),
                "b": node("nB", "theirs", "100.64.0.3", 8, &[]),
                "c": node("nC", "tagged", "100.64.0.4", 7, &["tag:server"]),
                "d": node("nD", "unsaid", "100.64.0.5", 0, &[]),
            },
        }));
    };
    say(7, &[]);
    let mesh = host.open("tailscale", "").await.unwrap();
    assert_eq!(others(&mesh), "mine false, theirs true, tagged true, unsaid true");
    assert_eq!(mesh.meshes()[0].dns.as_deref(), Some("laptop.mine.ts.net"));
    // A machine that is nobody's has no person whose devices the others could be.
    say(7, &["tag:server"]);
    mesh.refresh().await.unwrap();
    assert_eq!(others(&mesh), "mine true, theirs true, tagged true, unsaid true");
}

#[tokio::test]
async fn auto_takes_the_first_that_has_a_mesh_and_stays_with_it() {
    let host = Host::new();
    let mesh = host.open("auto", "").await.unwrap();
    assert_eq!(mesh.kind(), DirectoryKind::Loopback);
    assert_eq!(who(&mesh, "127.0.0.1").await, "me");
    let shrooms = host.shrooms();
    let mut tailscaled = host.tailscaled();
    mesh.refresh().await.unwrap();
    assert_eq!(mesh.kind(), DirectoryKind::Loopback, "neither has a mesh");
    let notice = mesh.notice().unwrap();
    assert!(
        notice.contains("is alone") && notice.contains("joined no mesh yet") && notice.contains("tailscale up"),
        "{notice}"
    );
    tailscaled.up(("nME", "laptop", "100.64.0.1"), &[]);
    mesh.refresh().await.unwrap();
    assert_eq!(
        (mesh.kind(), mesh.notice(), labels(&mesh).as_str()),
        (DirectoryKind::Tailscale, None, "laptop.tailscale")
    );
    assert_eq!(who(&mesh, "127.0.0.1").await, "nobody");
    // Neither another daemon nor loopback takes its place in this run.
    shrooms.joined("laptop", &[("home", "fd00::1")], &[]);
    tailscaled.stop();
    assert!(mesh.refresh().await.is_err());
    assert_eq!(mesh.kind(), DirectoryKind::Tailscale);
    assert!(trouble(&mesh).contains("no tailscale daemon"), "{}", trouble(&mesh));
    assert_eq!(who(&mesh, "127.0.0.1").await, "nobody");
    // A new run asks shrooms first.
    tailscaled.resume();
    assert_eq!(host.open("auto", "").await.unwrap().kind(), DirectoryKind::Shrooms);
}
