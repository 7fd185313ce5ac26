//! What a mesh file may say, and how each mistake is answered.

use super::*;

#[track_caller]
fn check(text: &str, expected: &str) {
    let got = match parse(text, 7387) {
        Ok(file) => {
            let machine = |m: &Machine| {
                let addresses: Vec<String> = m.addresses.iter().map(IpAddr::to_string).collect();
                format!("{} {} :{} id {}", m.label(), addresses.join(","), m.port, m.id)
            };
            let machines: Vec<String> = file.machines.iter().map(machine).collect();
            format!("me {}; {}", file.me.as_deref().unwrap_or("-"), machines.join("; "))
        }
        Err(Wrong::Syntax(text)) => format!("SYNTAX {}", text.replace('\n', " ")),
        Err(Wrong::Name(what, name)) => format!("NAME {what} {name}"),
        Err(Wrong::Problem(problem)) => problem.to_string(),
    };
    assert!(got.contains(expected), "for:\n{text}\n   got: {got}\nwanted: {expected}");
}

/// One machine with this name, these addresses and further lines.
fn one(name: &str, addresses: &str, more: &str) -> String {
    format!("[[machine]]\nname = {name:?}\naddresses = [{addresses}]\n{more}\n")
}

#[test]
fn a_file_lists_machines_in_order_with_ports_and_identities() {
    check(
        "me = \"laptop\"\n[[machine]]\nname = \"laptop\"\nmesh = \"home\"\naddresses = [\"127.0.0.1\", \"fd00::1\"]\n\
         [[machine]]\nname = \"server\"\nmesh = \"home\"\naddresses = [\"127.0.0.2\"]\nport = 8000\n",
        "me laptop; laptop.home 127.0.0.1,fd00::1 :7387 id home/127.0.0.1; \
         server.home 127.0.0.2 :8000 id home/127.0.0.2",
    );
    check(&one("solo", "'10.0.0.1'", ""), "me -; solo 10.0.0.1 :7387 id /10.0.0.1");
    check(&one("mapped", "'::ffff:10.0.0.1'", ""), "mapped 10.0.0.1 :7387 id /10.0.0.1");
}

#[test]
fn unknown_keys_are_refused_with_a_suggestion() {
    check(
        &one("a", "", "adresses = ['10.0.0.1']"),
        "unknown key \"adresses\" in the machine \"a\": did you mean addresses? (allowed: name, mesh, addresses, port)",
    );
    check("[[machine]]\nnam = 'a'", "unknown key \"nam\" in machine number 1: did you mean name?");
    check("[[machines]]\nname = 'a'", "unknown key \"machines\" at the top: did you mean machine?");
    check("colour = 1", "unknown key \"colour\" at the top (allowed: me, machine)");
}

#[test]
fn broken_toml_is_refused_with_its_line() {
    check("me = 1\nx", "SYNTAX TOML parse error at line 2");
    check("[[machine]]\naddresses = ['10.0.0.1']", "missing field `name`");
    check(&one("a", "'10.0.0.1'", "port = 70000"), "line 4");
    check("machine = 1", "SYNTAX TOML parse error at line 1");
    check("me = 'a'", "it lists no machine");
    check("", "it lists no machine");
}

#[test]
fn a_bad_name_is_refused() {
    check(&one("a/b", "'10.0.0.1'", ""), "NAME the machine name a/b");
    check(&one("", "'10.0.0.1'", ""), "NAME the machine name ");
    check(&one("localhost", "'10.0.0.1'", ""), "NAME the machine name localhost");
    check(&one("10.0.0.1", "'10.0.0.1'", ""), "NAME the machine name 10.0.0.1");
    check(&one("a", "'10.0.0.1'", "mesh = '-'"), "NAME the mesh label -");
}

#[test]
fn an_address_names_exactly_one_machine() {
    check(&one("a", "", ""), "\"a\" has no address");
    check(&one("a", "'10.0.0.1/24'", ""), "\"a\" has the address \"10.0.0.1/24\", which is not an IP address");
    check(&one("a", "'10.0.0.1:80'", ""), "which is not an IP address");
    for useless in ["0.0.0.0", "::", "224.0.0.1", "ff02::1", "fe80::1", "169.254.0.1", "255.255.255.255"] {
        check(&one("a", &format!("'{useless}'"), ""), "which names no single machine");
    }
    check(&one("a", "'10.0.0.1'", "port = 0"), "\"a\" has port 0");
    check(&one("a", "'10.0.0.1', '::ffff:10.0.0.1'", ""), "the address 10.0.0.1 belongs to both \"a\" and \"a\"");
    check(
        &(one("a", "'10.0.0.1'", "") + &one("b", "'10.0.0.2', '10.0.0.1'", "mesh = 'm'")),
        "the address 10.0.0.1 belongs to both \"a\" and \"b.m\"",
    );
}

#[test]
fn a_label_names_exactly_one_machine() {
    check(&(one("a", "'10.0.0.1'", "mesh = 'm'") + &one("a", "'10.0.0.2'", "mesh = 'm'")), "\"a.m\" is listed twice");
    check(&(one("a", "'10.0.0.1'", "mesh = 'm'") + &one("a", "'10.0.0.2'", "mesh = 'n'")), "me -; a.m");
    check(
        &(one("a", "'10.0.0.1'", "mesh = 'm'") + &one("a", "'10.0.0.2'", "")),
        "\"a\" may be either of two machines: give \"a\" a mesh label",
    );
    check(
        &(one("a.m", "'10.0.0.1'", "mesh = 'n'") + &one("a", "'10.0.0.2'", "mesh = 'm'")),
        "\"a.m\" may be either of two machines",
    );
    check(
        &(one("a.b", "'10.0.0.1'", "mesh = 'c'") + &one("a", "'10.0.0.2'", "mesh = 'b.c'")),
        "\"a.b.c\" may be either of two machines",
    );
}
