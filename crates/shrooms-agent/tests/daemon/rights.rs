//! What devices may that are not the owner's, what a page elsewhere and another user of the machine
//! get, who did what; requests that one machine hands on to another (`spec/access.md`).

use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};

use crate::http::{self, Answer};
use crate::lab::{Lab, Machine, message, poll, state};

/// Machines of these names; the first has this config.
fn configured(names: &[&str], config: &str) -> Lab {
    let mut lab = Lab::idle(names);
    std::fs::create_dir_all(&lab[0].state).unwrap();
    std::fs::write(lab[0].state.join("config.toml"), config).unwrap();
    for machine in &mut lab.machines {
        machine.start();
    }
    lab
}

fn at(machine: &Machine) -> SocketAddr {
    (machine.address, machine.port).into()
}

/// From another machine of the lab.
fn from(lab: &Lab, device: usize, method: &str, path: &str, body: &str) -> Answer {
    http::tcp(lab[device].address, at(&lab[0]), method, path, body)
}

#[test]
fn a_device_that_may_ask_sees_agents_and_its_own_tasks_and_nothing_else() {
    let lab = configured(&["home", "phone", "watch"], "mesh_devices = 'ask'");
    lab[0].add("t", lab.dir.path(), &["cat"]);
    lab[0].cli(&["session", "stop", "t"]);
    lab[0].cli(&["a2a", "send", "--id", "owners", "t", "x"]);
    let listed = from(&lab, 1, "GET", "/v1/sessions", "").json();
    assert_eq!(listed, json!({"sessions": [{"name": "t", "state": "stopped"}]}));
    assert_eq!(from(&lab, 1, "GET", "/v1/greeting", "").json()["right"], "ask");
    for path in [
        "/v1/sessions/t",
        "/v1/sessions/t/log",
        "/v1/status",
        "/v1/prompts",
        "/v1/tasks",
        "/v1/tasks/t%3Aowners",
        "/v1/asks",
        "/v1/events",
        "/v1/audit",
        "/v1/usage",
        "/v1/fleet",
        "/v1/machines/watch/sessions",
    ] {
        let answer = from(&lab, 1, "GET", path, "");
        assert_eq!(answer.status, 403, "{path}: {}", answer.body);
        assert!(answer.body.contains("its right there is 'ask'"), "{path}: {}", answer.body);
    }
    for (path, body) in [
        ("/v1/sessions", json!({"name": "u", "dir": "/", "command": ["true"]})),
        ("/v1/sessions/t/settings", json!({"auto_approve": true})),
        ("/v1/sessions/t/start", json!({})),
        ("/v1/sessions/t/messages", json!({"text": "do it"})),
        ("/v1/prompts/1", json!({"answer": "allow"})),
        ("/v1/tasks/t%3Aowners/cancel", json!({})),
        ("/v1/tasks/t%3Aowners/park", json!({})),
        ("/v1/asks", json!({"to": "watch/x", "text": "x"})),
        ("/v1/pause", json!({})),
        ("/v1/fleet/pause", json!({})),
    ] {
        let answer = from(&lab, 1, "POST", path, &body.to_string());
        assert_eq!(answer.status, 403, "{path}: {}", answer.body);
    }
    let phone = lab[1].address;
    let sent = lab[0].rpc(phone, "t", "SendMessage", message("m", "hello"));
    assert_eq!(sent["result"]["task"]["id"], "t:m", "{sent}");
    assert_eq!(lab[0].rpc(phone, "t", "GetTask", json!({"id": "t:m"}))["result"]["id"], "t:m");
    let ids = |device: usize| -> Vec<Value> {
        let page = lab[0].rpc(lab[device].address, "t", "ListTasks", json!({}));
        page["result"]["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()).collect()
    };
    assert_eq!((ids(1), ids(2)), (vec![json!("t:m")], vec![]));
    // What is another's is not there for it, whatever it does.
    for (method, params) in [
        ("GetTask", json!({"id": "t:owners"})),
        ("CancelTask", json!({"id": "t:owners"})),
        ("SubscribeToTask", json!({"id": "t:owners"})),
        ("SendMessage", {
            let mut more = message("n", "more");
            more["message"]["taskId"] = json!("t:owners");
            more
        }),
    ] {
        let answer = lab[0].rpc(phone, "t", method, params);
        assert_eq!(answer["error"]["code"], -32001, "{method}: {answer}");
    }
    assert_eq!(lab[0].rpc(lab[2].address, "t", "CancelTask", json!({"id": "t:m"}))["error"]["code"], -32001);
    let canceled = lab[0].rpc(phone, "t", "CancelTask", json!({"id": "t:m"}));
    assert_eq!(state(&canceled["result"]), "canceled", "{canceled}");
    assert_eq!(state(&lab[0].task("t:owners")), "submitted");
    // The same id of the owner and of a device are two messages.
    let again = lab[0].rpc(phone, "t", "SendMessage", message("owners", "mine"));
    let id = again["result"]["task"]["id"].as_str().unwrap();
    assert!(id != "t:owners" && id.starts_with("t:"), "{again}");
}

#[test]
fn a_daemon_whose_device_may_ask_asks_as_any_other() {
    let lab = configured(&["home", "phone"], "mesh_devices = 'ask'");
    lab[0].add("t", lab.dir.path(), &["cat"]);
    let listed = lab[1].cli(&["a2a", "list"]);
    assert!(listed.out.contains("home/t\tidle\n") && listed.err.is_empty(), "{listed:?}");
    let sent = lab[1].cli(&["a2a", "send", "--wait", "--id", "m", "home/t", "hello"]);
    assert!(sent.code == 0 && sent.out.contains("hello"), "{sent:?}");
    lab[0].cli(&["session", "stop", "t"]);
    lab[1].cli(&["a2a", "send", "--id", "n", "home/t", "later"]);
    let canceled = lab[1].cli(&["a2a", "cancel", "home/t:n"]);
    assert_eq!(canceled.code, 0, "{canceled:?}");
    assert_eq!(state(&lab[0].task("t:n")), "canceled");
    let parked = lab[1].cli(&["a2a", "park", "home/t:m"]);
    assert!(parked.code == 1 && parked.err.contains("its right there is 'ask'"), "{parked:?}");
    // The other way everything is as it was.
    lab[1].add("u", lab.dir.path(), &["cat"]);
    let sent = lab[0].cli(&["a2a", "send", "--wait", "phone/u", "back"]);
    assert!(sent.code == 0 && sent.out.contains("back"), "{sent:?}");
}

#[test]
fn rights_are_given_to_each_device_and_to_the_one_that_has_the_name() {
    let config = "[mesh_devices]\ndefault = 'none'\n'tablet.home' = 'read'\n'desk.home' = 'owner'";
    let mut lab = configured(&["home", "tablet", "desk", "other"], config);
    lab[0].add("t", lab.dir.path(), &["true"]);
    assert_eq!(from(&lab, 1, "GET", "/v1/sessions/t", "").json()["name"], "t");
    assert_eq!(from(&lab, 1, "GET", "/v1/audit", "").status, 200);
    assert_eq!(from(&lab, 1, "POST", "/v1/pause", "{}").status, 403);
    let sent = lab[0].rpc(lab[1].address, "t", "SendMessage", message("m", "x"));
    assert_eq!(sent["error"]["code"], -32053, "{sent}");
    assert_eq!(lab[0].rpc(lab[1].address, "t", "ListTasks", json!({}))["result"]["totalSize"], 0);
    // The owner's on a page there: everything.
    let stopped = from(&lab, 2, "POST", "/v1/sessions/t/stop", "{}");
    assert_eq!(stopped.json()["why"], "by desk.home", "{}", stopped.body);
    for path in ["/v1/greeting", "/v1/sessions", "/.well-known/agent-card.json"] {
        assert_eq!(from(&lab, 3, "GET", path, "").status, 403, "{path}");
    }
    // Another machine takes the name: it gets nothing of what was given to the one that had it.
    assert_eq!(lab[0].stop(), 0);
    let (mesh, desk, other) = (lab.path("mesh.toml"), lab[2].address.to_string(), lab[3].address.to_string());
    let text = std::fs::read_to_string(&mesh).unwrap();
    let swapped = text.replace(&desk, "@").replace(&other, &desk).replace('@', &other);
    std::fs::write(&mesh, swapped).unwrap();
    lab[0].start();
    assert_eq!(from(&lab, 3, "GET", "/v1/sessions", "").status, 403, "it is called desk now, and is another device");
    assert_eq!(from(&lab, 2, "GET", "/v1/sessions", "").status, 200, "it is called other now, and is the same");
    assert_eq!(from(&lab, 1, "GET", "/v1/sessions/t", "").status, 200);
    // By its identity it is one device, whatever it is called.
    assert_eq!(lab[0].stop(), 0);
    let named = format!("[mesh_devices]\ndefault = 'none'\n'home/{desk}' = 'owner'");
    std::fs::write(lab[0].state.join("config.toml"), named).unwrap();
    lab[0].start();
    assert_eq!(from(&lab, 2, "GET", "/v1/sessions/t", "").status, 200);
    let lines = lab[0].get("/v1/audit?limit=5").json();
    assert!(lines["lines"][0]["outcome"].as_str().unwrap().starts_with("every device: none, home/127"), "{lines}");
}

#[test]
fn who_did_what_is_in_the_log_and_so_is_who_might_not() {
    let lab = configured(&["home", "phone"], "mesh_devices = 'ask'");
    lab[0].add("t", lab.dir.path(), &["true"]);
    let mut claimed = message("m", "a secret text");
    claimed["message"]["metadata"] = json!({"shrooms/from": "phone/notes"});
    lab[0].rpc(lab[1].address, "t", "SendMessage", claimed);
    lab[0].outcome("t:m");
    from(&lab, 1, "POST", "/v1/pause", "{}");
    let set = lab[0].cli(&["session", "set", "t", "--accept-files-from", "phone/*"]);
    assert_eq!(set.code, 0, "{set:?}");
    let said = lab[0].cli(&["audit"]);
    let told: Vec<String> = said.out.lines().map(|l| l.split('\t').skip(1).collect::<Vec<_>>().join(" | ")).collect();
    let phone = format!("home/{}", lab[1].address);
    assert_eq!(
        told,
        [
            "the owner | the config | rights | devices | every device: ask".to_string(),
            "the owner | owner | session-add | t | ok".to_string(),
            format!("phone.home (phone/notes) | {phone} | send | t:m | ok"),
            format!(
                "phone.home | {phone} | refused | POST /v1/pause | refused: the device phone.home may not do this on home: \
                 its right there is 'ask' (the owner of home gives rights with mesh_devices in the config there)"
            ),
            "the owner | owner | settings | t: accept_files_from | ok".to_string(),
            format!("the owner | accept_files_from | right | phone = {phone} | files"),
        ],
        "{said:?}"
    );
    assert!(!said.out.contains("secret"), "no text is in it");
    let page = lab[0].get("/v1/audit?limit=2").json();
    let next = page["next"].as_i64().unwrap();
    assert_eq!((page["lines"][1]["what"].as_str(), next), (Some("settings"), 5));
    let page = lab[0].get(&format!("/v1/audit?limit=100&cursor={next}")).json();
    assert_eq!((page["lines"].as_array().unwrap().len(), page.get("next")), (4, None));
}

#[test]
fn a_request_is_handed_on_once_with_what_both_may() {
    // The page is on `phone`, and asks `home` for what is on `box`.
    let mut lab = Lab::idle(&["home", "box", "phone", "tablet"]);
    for (machine, config) in
        [(0, "[mesh_devices]\n'tablet.home' = 'read'"), (1, "[mesh_devices]\n'phone.home' = 'read'")]
    {
        std::fs::create_dir_all(&lab[machine].state).unwrap();
        std::fs::write(lab[machine].state.join("config.toml"), config).unwrap();
    }
    for machine in &mut lab.machines {
        machine.start();
    }
    lab[1].add("t", lab.dir.path(), &["true"]);
    // This machine's owner is the owner there.
    assert_eq!(lab[0].get("/v1/machines/box/sessions/t").json()["name"], "t");
    let use_there = lab[0].get("/v1/machines/box/usage?days=2&by=day").json();
    assert_eq!((&use_there["machine"], &use_there["rows"]), (&json!("box"), &json!([])), "{use_there}");
    let stop = |answer: Answer| (answer.status, answer.body);
    let stopped = lab[0].post("/v1/machines/box/sessions/t/stop", &json!({}));
    assert_eq!(stopped.json()["why"], "by home.home", "{}", stopped.body);
    // A device with the owner's right here has not more than it has there.
    let read = from(&lab, 2, "GET", "/v1/machines/box/sessions/t", "");
    assert_eq!(read.status, 200, "{}", read.body);
    let (status, body) = stop(from(&lab, 2, "POST", "/v1/machines/box/sessions/t/start", "{}"));
    assert_eq!(status, 403, "{body}");
    let line = lab[1].get("/v1/audit?limit=1").json()["lines"][0].clone();
    assert_eq!(line["who"], "home.home for phone.home", "{line}");
    assert_eq!(line["from"], format!("home/{}", lab[0].address), "{line}");
    // One that may read here changes nothing there, although it might there.
    assert_eq!(from(&lab, 3, "GET", "/v1/machines/box/sessions/t", "").status, 200);
    assert_eq!(from(&lab, 3, "POST", "/v1/machines/box/sessions/t/start", "{}").status, 403);
    assert_eq!(http::tcp(lab[3].address, at(&lab[1]), "POST", "/v1/sessions/t/start", "{}").status, 200);
    // Neither in a circle, nor to nobody, nor for a made-up device.
    assert_eq!(lab[0].get("/v1/machines/box/machines/home/sessions").status, 404);
    let twice = [("Shrooms-Asked-By", "owner home/127.255.0.9 x.home 127.255.0.9")];
    let answer = http::tcp_with(lab[1].address, at(&lab[0]), "GET", "/v1/machines/box/sessions", &twice, "");
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert_eq!(lab[0].get("/v1/machines/nobody/sessions").status, 404);
    for bad in ["owner", "all a b 127.0.0.1", "owner a b c", "owner a b 127.0.0.1 x", ""] {
        let answer =
            http::tcp_with(lab[1].address, at(&lab[0]), "GET", "/v1/sessions", &[("Shrooms-Asked-By", bad)], "");
        assert_eq!(answer.status, 400, "{bad}: {}", answer.body);
    }
    let own = lab[0].get("/v1/machines/home/sessions?x=1");
    assert!(own.status == 307 && own.head.contains("location: /v1/sessions?x=1"), "{own:?}");
    lab[1].kill();
    let away = lab[0].get("/v1/machines/box/sessions");
    assert!(away.status == 503 && away.body.contains("box is away"), "{away:?}");
}

#[test]
fn a_machine_is_not_asked_by_itself_through_another() {
    let lab = Lab::of(&["home", "box", "phone"]);
    // As a process of a session could: at another machine it is its device.
    for (method, path, body) in [
        ("GET", "/v1/machines/home/audit", ""),
        ("POST", "/v1/machines/home/pause", "{}"),
        ("POST", "/v1/machines/home/prompts/1", "{\"allow\": true}"),
        ("POST", "/v1/fleet/pause", "{}"),
        ("GET", "/v1/tasks/home%2Ft%3Am", ""),
        ("POST", "/v1/tasks/home%2Ft%3Am/cancel", "{}"),
    ] {
        let answer = http::tcp(lab[0].address, at(&lab[1]), method, path, body);
        assert_eq!(answer.status, 403, "{path}: {}", answer.body);
    }
    assert_eq!(lab[0].get("/v1/status").json().get("paused"), None);
    assert_eq!(lab[1].get("/v1/status").json().get("paused"), None);
    // Nor past what is handed on.
    for path in
        ["/v1/machines/box/../../a2a", "/v1/machines/box/%2e%2e/%2e%2e/a2a", "/v1/machines/box/x%2f..%2f..%2fa2a"]
    {
        let text = format!("GET {path} HTTP/1.1\r\nHost: home\r\nConnection: close\r\n\r\n");
        assert_eq!(http::raw(lab[2].address, at(&lab[0]), &text).status, 404, "{path}");
    }
    let report = json!({"ask": "x", "task": "t:m", "seq": 1, "state": "completed"}).to_string();
    let answer = from(&lab, 2, "POST", "/v1/machines/box/asks/report", &report);
    assert_eq!(answer.status, 403, "{}", answer.body);
}

#[test]
fn who_asks_through_another_machine_is_known_by_address_whatever_the_mesh_is_called_there() {
    let mut lab = Lab::idle(&["home", "box", "phone"]);
    std::fs::create_dir_all(&lab[1].state).unwrap();
    std::fs::write(lab[1].state.join("config.toml"), "[mesh_devices]\nphone = 'none'").unwrap();
    let all: Vec<_> = lab.machines.iter().map(|m| (m.name.clone(), m.address)).collect();
    lab[1].know(&all);
    let mesh = lab[1].state.with_extension("mesh.toml");
    let text = std::fs::read_to_string(&mesh).unwrap();
    std::fs::write(&mesh, text.replace("mesh = \"home\"", "mesh = \"house\"")).unwrap();
    for machine in &mut lab.machines {
        machine.start();
    }
    lab[1].add("t", lab.dir.path(), &["true"]);
    assert_eq!(http::tcp(lab[2].address, at(&lab[1]), "GET", "/v1/sessions", "").status, 403);
    assert_eq!(from(&lab, 2, "GET", "/v1/machines/box/sessions", "").status, 403);
    assert_eq!(from(&lab, 2, "POST", "/v1/machines/box/pause", "{}").status, 403);
    let fleet = from(&lab, 2, "GET", "/v1/fleet", "").json();
    let of_box = fleet["machines"].as_array().unwrap().iter().find(|m| m["machine"] == "box").unwrap().clone();
    assert_eq!((&of_box["sessions"], &of_box["reachable"]), (&json!([]), &json!(true)), "{of_box}");
    assert_eq!(lab[0].get("/v1/machines/box/sessions").status, 200, "for itself it may");
}

#[test]
fn events_of_another_machine_come_through_as_they_happen() {
    let lab = Lab::of(&["home", "box"]);
    let mut stream = std::os::unix::net::UnixStream::connect(lab[0].socket()).unwrap();
    stream.set_read_timeout(Some(crate::lab::SOON)).unwrap();
    let head = "GET /v1/machines/box/events?after=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    lab[1].add("t", lab.dir.path(), &["true"]);
    let mut seen = String::new();
    poll("the event comes", || {
        let mut piece = [0; 4_096];
        let n = std::io::Read::read(&mut stream, &mut piece).unwrap();
        seen.push_str(&String::from_utf8_lossy(&piece[..n]));
        seen.contains("\"state\":\"added\"")
    });
    assert!(seen.contains("text/event-stream"), "{seen}");
}

#[test]
fn a_connection_is_its_devices_only_while_the_address_is() {
    let lab = Lab::of(&["home", "phone"]);
    let mut stream = http::connect(lab[1].address, at(&lab[0])).unwrap();
    let mut ask = || {
        std::io::Write::write_all(&mut stream, b"GET /v1/greeting HTTP/1.1\r\nHost: home\r\n\r\n").unwrap();
        let mut seen = String::new();
        // An answer of this size comes in one piece, or its end says so.
        while !seen.ends_with('}') {
            let mut piece = [0; 4_096];
            let n = std::io::Read::read(&mut stream, &mut piece).unwrap();
            assert!(n > 0, "closed after {seen}");
            seen.push_str(&String::from_utf8_lossy(&piece[..n]));
        }
        seen.split(' ').nth(1).unwrap().to_string()
    };
    assert_eq!(ask(), "200");
    let mesh = lab.path("mesh.toml");
    let text = std::fs::read_to_string(&mesh).unwrap();
    std::fs::write(&mesh, text.replace(&lab[1].address.to_string(), "127.255.7.7")).unwrap();
    // An unknown caller has the names read again.
    let unknown = "127.0.0.77".parse().unwrap();
    poll("it is nobody", || {
        http::tcp(unknown, at(&lab[0]), "GET", "/v1/greeting", "");
        http::tcp(lab[1].address, at(&lab[0]), "GET", "/v1/greeting", "").status == 0
    });
    assert_eq!(ask(), "403");
}

#[test]
fn a_page_of_elsewhere_gets_nothing() {
    let lab = Lab::of(&["home", "phone"]);
    lab[0].add("t", lab.dir.path(), &["true"]);
    let own = format!("{}:{}", lab[0].address, lab[0].port);
    let ask = |host: &str, headers: &str, method: &str, body: &str| {
        let length = body.len();
        let text = format!(
            "{method} /v1/{} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Type: application/json\r\nContent-Length: \
             {length}\r\nConnection: close\r\n\r\n{body}",
            if method == "GET" { "sessions" } else { "pause" }
        );
        http::raw(lab[1].address, at(&lab[0]), &text)
    };
    assert_eq!(ask(&own, "", "GET", "").status, 200);
    assert_eq!(ask("home", "Origin: http://home\r\n", "GET", "").status, 200, "its own page, by name");
    for (host, headers) in [
        ("evil.example", ""),
        ("home.evil.example:7387", ""),
        ("127.0.0.1.evil.example", ""),
        ("phone", ""),
        (own.as_str(), "Origin: http://evil.example\r\n"),
        (own.as_str(), "Origin: null\r\n"),
        (own.as_str(), "Origin: http://home:3000\r\n"),
        (own.as_str(), "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"),
        ("evil.example", "Origin: http://evil.example\r\n"),
    ] {
        for (method, body) in [("GET", ""), ("POST", "{}")] {
            let answer = ask(host, headers, method, body);
            assert!([403, 421].contains(&answer.status), "{host} {headers}: {}", answer.status);
            assert!(!answer.body.contains("\"name\""), "{}", answer.body);
            assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
        }
    }
    // What a form can send without leave.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
        let text = format!(
            "POST /v1/pause HTTP/1.1\r\nHost: {own}\r\nContent-Type: {kind}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}"
        );
        assert_eq!(http::raw(lab[1].address, at(&lab[0]), &text).status, 415, "{kind}");
    }
    assert_eq!(lab[0].get("/v1/status").json().get("paused"), None);
}

/// Runs a program of Python as another user of this machine.
fn as_nobody(test: &str, program: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIPPED: {test}: only root can become another user");
        return None;
    }
    // What is imported later may be in a place that others cannot read.
    let program = format!("import os, socket, struct\nos.setgroups([]); os.setgid(65534); os.setuid(65534)\n{program}");
    let Ok(done) = Command::new("python3").args(["-c", &program]).output() else {
        println!("SKIPPED: {test}: no python3");
        return None;
    };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8(done.stdout).unwrap())
}

#[test]
fn another_user_of_the_machine_gets_nothing_also_after_it_has_closed_its_end() {
    let test = "another_user_of_the_machine_gets_nothing_also_after_it_has_closed_its_end";
    let lab = Lab::of(&["home"]);
    let program = format!(
        r#"
def connect():
    s = socket.socket(); s.bind(("{address}", 0)); s.connect(("{address}", {port})); return s
def head(method, path, body=b""):
    return b"%s %s HTTP/1.1\r\nHost: home\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (method, path, len(body)) + body
def answer(s):
    got = b""
    try:
        while piece := s.recv(4096): got += piece
    except ConnectionResetError: pass
    return got
got = set()
for _ in range(5):
    s = connect(); s.sendall(head(b"GET", b"/v1/sessions")); got.add(answer(s).split(b" ")[1].decode())
for _ in range(50):
    # Its whole end is gone before it can be looked up; then the sending half alone.
    s = connect(); s.sendall(head(b"POST", b"/v1/pause", b"{{}}")); s.close()
    s = connect(); s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.sendall(head(b"POST", b"/v1/pause", b"{{}}")); s.close()
    s = connect(); s.sendall(head(b"POST", b"/v1/pause", b"{{}}")); s.shutdown(socket.SHUT_WR)
    said = answer(s); assert b"200" not in said.split(b"\r\n")[0], said
try:
    s = socket.socket(socket.AF_UNIX); s.connect("{socket}"); got.add("socket")
except PermissionError: pass
print(sorted(got))
"#,
        address = lab[0].address,
        port = lab[0].port,
        socket = lab[0].socket().display()
    );
    let Some(said) = as_nobody(test, &program) else { return };
    assert_eq!(said.trim(), "['403']");
    // Whoever is let in is answered here, after them all.
    assert_eq!(lab[0].get("/v1/status").json().get("paused"), None);
    let lines = lab[0].get("/v1/audit").json();
    assert_eq!(lines["lines"], json!([]), "nothing of it reached a rule");
}

#[test]
fn a_session_looks_and_asks_and_sets_nothing() {
    let lab = Lab::of(&["home", "box"]);
    let socket = lab[0].socket().display().to_string();
    let program = format!(
        r#"
import http.client, os, socket
class Local(http.client.HTTPConnection):
    def connect(self): self.sock = socket.socket(socket.AF_UNIX); self.sock.connect({socket:?})
class Tcp(http.client.HTTPConnection):
    def connect(self): self.sock = socket.create_connection(("{address}", {port}), source_address=("{address}", 0))
got = []
for kind, headers in ((Local, {{"Shrooms-Pass": os.environ["SHROOMS_AGENT_PASS"]}}), (Local, {{}}), (Tcp, {{}})):
    for method, path in (("GET", "/v1/fleet"), ("GET", "/v1/tasks"), ("GET", "/v1/prompts"), ("GET", "/v1/events"), ("GET", "/v1/audit"), ("GET", "/v1/usage"), ("GET", "/v1/sessions/s/log"), ("GET", "/v1/machines/box/sessions"), ("POST", "/v1/prompts/1"), ("POST", "/v1/sessions/s/settings"), ("POST", "/v1/pause"), ("POST", "/v1/machines/box/pause")):
        c = kind("home"); c.request(method, path, "{{}}" if method == "POST" else None, {{"Content-Type": "application/json", **headers}})
        got.append(str(c.getresponse().status))
print(" ".join(got))
"#,
        address = lab[0].address,
        port = lab[0].port
    );
    let file = lab.path("tries.py");
    std::fs::write(&file, &program).unwrap();
    if Command::new("python3").arg("--version").output().is_err() {
        println!("SKIPPED: a_session_looks_and_asks_and_sets_nothing: no python3");
        return;
    }
    lab[0].add("s", lab.dir.path(), &["python3", &file.display().to_string()]);
    lab[0].cli(&["a2a", "send", "--id", "m", "s", "x"]);
    let task = lab[0].outcome("s:m");
    let each = "200 200 403 403 403 403 403 403 403 403 403 403";
    assert_eq!(crate::lab::text(&task), [each; 3].join(" "), "{task}");
    let lines = lab[0].get("/v1/audit").json();
    let of_session = |line: &&Value| line["from"] == "session s" && line["what"] == "refused";
    assert_eq!(lines["lines"].as_array().unwrap().iter().filter(of_session).count(), 12, "{lines}");
}
