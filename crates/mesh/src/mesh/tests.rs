//! Opening, naming and refreshing, against real files.

use std::fs;

use tempfile::TempDir;

use super::*;
use crate::FindError;

const PORT: u16 = 7387;

const HOME: &str = r#"
me = "laptop"
[[machine]]
name = "homeserver"
mesh = "home"
addresses = ["127.0.0.2", "fd00::2"]
[[machine]]
name = "laptop"
mesh = "home"
addresses = ["127.0.0.1", "fd00::1"]
[[machine]]
name = "build"
mesh = "work"
addresses = ["10.9.0.3"]
port = 9000
[[machine]]
name = "laptop"
mesh = "work"
addresses = ["10.9.0.1"]
[[machine]]
name = "printer"
mesh = "home"
addresses = ["127.0.0.9"]
[[machine]]
name = "printer"
mesh = "work"
addresses = ["10.9.0.9"]
"#;

struct Lab {
    dir: TempDir,
}

impl Lab {
    fn new(text: &str) -> Self {
        let lab = Self { dir: tempfile::tempdir().unwrap() };
        lab.write(text);
        lab
    }

    fn write(&self, text: &str) {
        fs::write(self.dir.path().join("mesh.toml"), text).unwrap();
    }

    fn spec(&self) -> MeshSpec {
        MeshSpec::File(self.dir.path().join("mesh.toml"))
    }

    fn open(&self, me: &str, meshes: &str) -> Result<Mesh, MeshError> {
        let meshes: Vec<String> = meshes.split_whitespace().map(str::to_owned).collect();
        let meshes = (!meshes.is_empty()).then_some(meshes.as_slice());
        open(&self.spec(), (!me.is_empty()).then_some(me), meshes)
    }
}

fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn open(spec: &MeshSpec, me: Option<&str>, meshes: Option<&[String]>) -> Result<Mesh, MeshError> {
    wait(Mesh::open(spec, me, meshes, PORT, None))
}

fn summary(mesh: &Mesh) -> String {
    let labels: Vec<String> = mesh.machines().iter().map(|machine| machine.label()).collect();
    let listen: Vec<String> = mesh.listen_addresses().iter().map(IpAddr::to_string).collect();
    format!("{} on {}", labels.join(" "), listen.join(" "))
}

#[track_caller]
fn check_open(text: &str, me: &str, meshes: &str, expected: &str) {
    let got = match Lab::new(text).open(me, meshes) {
        Ok(mesh) => summary(&mesh),
        Err(error) => error.to_string(),
    };
    assert!(got.ends_with(expected), "me {me:?} meshes {meshes:?}\n   got: {got}\nwanted: {expected}");
}

#[test]
fn this_machine_comes_first_and_once_then_the_file_order() {
    let rest = "homeserver.home build.work printer.home printer.work";
    check_open(HOME, "", "", &format!("laptop.home {rest} on 127.0.0.1 fd00::1 10.9.0.1"));
    // A label means that one entry only; the same name elsewhere is then another device.
    check_open(
        HOME,
        "laptop.work",
        "",
        "laptop.work homeserver.home laptop.home build.work printer.home printer.work on 10.9.0.1",
    );
    check_open(
        HOME,
        "build",
        "",
        "build.work homeserver.home laptop.home laptop.work printer.home printer.work on 10.9.0.3",
    );
}

#[test]
fn only_the_chosen_meshes_are_served_and_an_unknown_label_is_an_error() {
    check_open(HOME, "", "work", "laptop.work build.work printer.work on 10.9.0.1");
    check_open(HOME, "", "home work", "printer.work on 127.0.0.1 fd00::1 10.9.0.1");
    check_open(
        HOME,
        "",
        "home wrok",
        "--meshes: no mesh is labelled \"wrok\": did you mean work? (there is: home, work)",
    );
    check_open(
        HOME,
        "build",
        "home",
        "--meshes leaves out every mesh that \"build.work\" is on (build.work): name one of them, or leave --meshes out",
    );
    let none = open(&Lab::new(HOME).spec(), None, Some(&[])).unwrap_err();
    assert!(matches!(none, MeshError::NoLabels));
}

#[test]
fn without_me_it_is_the_one_machine_with_an_address_of_this_host() {
    let other = "[[machine]]\nname = 'far'\naddresses = ['192.0.2.7']\n";
    let here = "[[machine]]\nname = 'here'\naddresses = ['192.0.2.8', '127.0.0.5']\n";
    let also = "[[machine]]\nname = 'also'\naddresses = ['127.0.0.6']\n";
    check_open(&format!("{other}{here}"), "", "", "here far on 192.0.2.8 127.0.0.5");
    check_open(
        other,
        "",
        "",
        "it does not say which machine this is, and no machine in it has an address of this host: set me = \"NAME\" in \
         the file, or --me NAME (there is: far)",
    );
    check_open(
        &format!("{here}{also}"),
        "",
        "",
        "several of its machines have an address of this host (here, also): set me = \"NAME\" in the file, or --me NAME",
    );
    check_open(&format!("{here}{also}"), "also", "", "also here on 127.0.0.6");
    check_open(
        other,
        "fra",
        "",
        "this machine is called \"fra\", but no such machine is listed: did you mean far? (there is: far)",
    );
    check_open(other, "a/b", "", "no address, and not \"localhost\"");
}

#[track_caller]
fn check_find(mesh: &Mesh, name: &str, expected: &str) {
    let got = match mesh.find(name) {
        Ok(machine) => format!("{} {}", machine.label(), machine.port),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, expected, "for {name:?}");
}

#[test]
fn a_machine_is_found_by_name_label_address_or_localhost() {
    let lab = Lab::new(HOME);
    let mesh = lab.open("", "").unwrap();
    for me in ["laptop", "laptop.home", "laptop.work", "localhost", "127.0.0.1", "[fd00::1]", "10.9.0.1"] {
        check_find(&mesh, me, "laptop.home 7387");
        assert_eq!(mesh.find(me).unwrap().id, mesh.me().id);
    }
    for server in ["homeserver", "homeserver.home", "fd00::2", "[fd00::2]", "[127.0.0.2]", "::ffff:127.0.0.2"] {
        check_find(&mesh, server, "homeserver.home 7387");
    }
    check_find(&mesh, "build", "build.work 9000");
    check_find(&mesh, "printer.work", "printer.work 7387");
    check_find(&mesh, "printer", "\"printer\" is on more than one mesh: say printer.home or printer.work");
    let one = lab.open("", "work").unwrap();
    check_find(&one, "printer", "printer.work 7387");
    let labelled = lab.open("laptop.home", "").unwrap();
    check_find(&labelled, "laptop", "\"laptop\" is on more than one mesh: say laptop.home or laptop.work");
}

#[test]
fn an_unknown_name_is_answered_with_near_ones() {
    let mesh = Lab::new(HOME).open("", "home").unwrap();
    let all = "(there is: laptop.home, homeserver.home, printer.home)";
    check_find(&mesh, "laptp", &format!("no machine is named \"laptp\": did you mean laptop? {all}"));
    check_find(
        &mesh,
        "printer.hom",
        &format!("no machine is named \"printer.hom\": did you mean printer.home or printer? {all}"),
    );
    check_find(&mesh, "zebra", &format!("no machine is named \"zebra\" {all}"));
    check_find(&mesh, "", &format!("no machine is named \"\" {all}"));
    check_find(&mesh, "10.1.1.1", "no machine of the mesh has the address 10.1.1.1: use a machine's name");
    assert!(matches!(mesh.find("[::1]"), Err(FindError::UnknownAddress(_))));
}

#[track_caller]
fn check_who(mesh: &Mesh, address: &str, expected: &str) {
    let got = match wait(mesh.who(address.parse().unwrap())) {
        Source::Me => "me".to_owned(),
        Source::Device(machine) => machine.label(),
        Source::Unknown => "nobody".to_owned(),
    };
    assert_eq!(got, expected, "for {address}");
}

#[test]
fn the_source_address_names_the_device() {
    let lab = Lab::new(HOME);
    let mesh = lab.open("", "").unwrap();
    check_who(&mesh, "127.0.0.1", "me");
    check_who(&mesh, "::ffff:10.9.0.1", "me");
    check_who(&mesh, "fd00::2", "homeserver.home");
    check_who(&mesh, "::ffff:127.0.0.2", "homeserver.home");
    check_who(&mesh, "127.0.0.3", "nobody");
    check_who(&mesh, "::1", "nobody");
    let home = lab.open("", "home").unwrap();
    check_who(&home, "10.9.0.3", "nobody");
    check_who(&home, "10.9.0.1", "nobody");
}

#[track_caller]
fn check_bind(mesh: &Mesh, to: &str, expected: &str) {
    let to = mesh.find(to).unwrap();
    let got = mesh.outgoing_bind(&to).map_or("none".to_owned(), |address| address.to_string());
    assert_eq!(got, expected, "to {}", to.label());
}

#[test]
fn outgoing_connections_leave_from_the_own_address_on_the_same_mesh() {
    let mesh = Lab::new(HOME).open("", "").unwrap();
    check_bind(&mesh, "homeserver", "127.0.0.1");
    check_bind(&mesh, "build", "10.9.0.1");
    check_bind(&mesh, "laptop", "127.0.0.1");
    let six = "[[machine]]\nname = 'b'\naddresses = ['10.0.0.1', 'fd00::2']\n\
               [[machine]]\nname = 'a'\naddresses = ['fd00::1']\n[[machine]]\nname = 'c'\naddresses = ['127.0.0.1']\n";
    let mesh = Lab::new(six).open("a", "").unwrap();
    check_bind(&mesh, "b", "fd00::1");
    check_bind(&mesh, "c", "none");
}

#[test]
fn loopback_is_this_machine_alone() {
    let mesh = open(&MeshSpec::Loopback, Some("solo"), None).unwrap();
    assert_eq!(summary(&mesh), "solo on 127.0.0.1 ::1");
    assert_eq!(mesh.me().id.to_string(), "loopback/127.0.0.1");
    assert_eq!(mesh.notice(), None);
    for address in ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"] {
        check_who(&mesh, address, "me");
    }
    check_who(&mesh, "10.0.0.1", "nobody");
    check_bind(&mesh, "solo", "none");
    wait(mesh.refresh()).unwrap();
    let named = open(&MeshSpec::Loopback, None, None).unwrap();
    assert!(is_name(&named.me().name));
    let labels = ["home".to_owned()];
    let error = open(&MeshSpec::Loopback, None, Some(&labels)).unwrap_err();
    assert_eq!(error.to_string(), "--meshes: no mesh is labelled \"home\" (there is none)");
}

#[test]
fn what_a_lab_or_a_machine_alone_means_is_said() {
    let nowhere = Sockets::at(tempfile::tempdir().unwrap().path().join("none.sock"));
    let auto = wait(Mesh::open(&MeshSpec::Auto, None, None, PORT, Some(nowhere))).unwrap();
    assert!(auto.notice().unwrap().contains("is alone") && auto.notice().unwrap().contains("file:PATH"));
    assert_eq!((auto.kind(), auto.trouble()), (DirectoryKind::Loopback, None));
    let file = Lab::new(HOME).open("", "home").unwrap();
    assert!(file.notice().unwrap().contains("may pose as any"));
}

#[test]
fn options_that_do_not_go_together_are_refused_with_what_to_do() {
    let error = open(&MeshSpec::Shrooms, Some("laptop"), None).unwrap_err().to_string();
    assert!(error.contains("leave --me out"), "{error}");
    let error = wait(Mesh::open(&MeshSpec::Loopback, None, None, PORT, Some(Sockets::default()))).unwrap_err();
    assert!(error.to_string().contains("--socket is the mesh daemon's"), "{error}");
}

#[test]
fn a_refresh_takes_the_new_names_for_every_clone() {
    let lab = Lab::new(HOME);
    let mesh = lab.open("", "home").unwrap();
    let clone = mesh.clone();
    let held = mesh.machines();
    lab.write(&HOME.replace("127.0.0.2", "127.0.0.22").replace("\"fd00::1\"", "\"fd00::11\""));
    wait(mesh.refresh()).unwrap();
    check_who(&clone, "127.0.0.22", "homeserver.home");
    check_who(&clone, "127.0.0.2", "nobody");
    assert_eq!(summary(&clone), "laptop.home homeserver.home printer.home on 127.0.0.1 fd00::11");
    assert_eq!(held.len(), 3, "what a reader holds does not change under it");
}

#[track_caller]
fn check_refresh_keeps(change: impl Fn(&Lab), expected: &str) {
    let lab = Lab::new(HOME);
    let mesh = lab.open("", "home").unwrap();
    let before = summary(&mesh);
    change(&lab);
    let error = wait(mesh.refresh()).unwrap_err().to_string();
    assert!(error.contains(expected), "   got: {error}\nwanted: {expected}");
    assert_eq!(summary(&mesh), before);
    check_who(&mesh, "127.0.0.2", "homeserver.home");
    lab.write(HOME);
    wait(mesh.refresh()).unwrap();
}

#[test]
fn a_broken_file_keeps_the_names_and_says_why() {
    check_refresh_keeps(|lab| lab.write("me = "), "is not right: TOML parse error");
    check_refresh_keeps(|lab| lab.write(&HOME.replace("127.0.0.2", "127.0.0.1")), "belongs to both");
    check_refresh_keeps(
        |lab| lab.write(&HOME.replace("\nme = \"laptop\"", "\nme = \"homeserver\"")),
        "now calls this machine \"homeserver\", not \"laptop\"",
    );
    check_refresh_keeps(|lab| lab.write(&HOME.replace("\"home\"", "\"house\"")), "no mesh is labelled \"home\"");
    check_refresh_keeps(|lab| fs::remove_file(lab.dir.path().join("mesh.toml")).unwrap(), "cannot be read");
    check_refresh_keeps(|lab| lab.write(&"#".repeat((1 << 20) + 1)), "is over 1048576 bytes");
}

#[test]
fn a_mesh_is_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Mesh>();
}
