//! A session that its owner keeps to one mesh: for a device of another one it is not there, whatever it
//! asks. Every route of the API is asked here, and answers as for a session that never was.

use std::net::{IpAddr, SocketAddr};

use serde_json::{Value, json};

use crate::http::{self, Answer, segment};
use crate::lab::{Lab, Machine, message, poll, state, text};

/// The routes, as the server has them: what is not in a table below fails the test.
const ROUTES: &str = include_str!("../../../server/src/v1.rs");
/// The operations of A2A, the same.
const OPERATIONS: &str = include_str!("../../../a2a/src/method.rs");

/// `server` is on two meshes, `hub` too; `phone` is on home alone, `desk` on work alone.
struct Meshes {
    lab: Lab,
    /// Of `server` and of `hub`, on work.
    work: [IpAddr; 2],
}

const SERVER: usize = 0;
const HUB: usize = 1;
const PHONE: usize = 2;
const DESK: usize = 3;

fn meshes() -> Meshes {
    let mut lab = Lab::idle(&["server", "hub", "phone", "desk", "server-at-work", "hub-at-work"]);
    let work = [lab[4].address, lab[5].address];
    lab.machines.truncate(4);
    let of = |name: &str, mesh: &str, address: IpAddr| {
        format!("[[machine]]\nname = \"{name}\"\nmesh = \"{mesh}\"\naddresses = [\"{address}\"]\n\n")
    };
    let all = [
        of("server", "home", lab[SERVER].address),
        of("server", "work", work[0]),
        of("hub", "home", lab[HUB].address),
        of("hub", "work", work[1]),
        of("phone", "home", lab[PHONE].address),
        of("desk", "work", lab[DESK].address),
    ];
    std::fs::write(lab.path("mesh.toml"), all.concat()).unwrap();
    Meshes { lab, work }
}

impl Meshes {
    fn server(&self) -> &Machine {
        &self.lab[SERVER]
    }

    /// What the server answers to the phone, and to the desk.
    fn at_home(&self, method: &str, path: &str, body: &str) -> Answer {
        http::tcp(self.lab[PHONE].address, at(self.lab[SERVER].address, &self.lab), method, path, body)
    }

    fn at_work(&self, method: &str, path: &str, body: &str) -> Answer {
        http::tcp(self.lab[DESK].address, at(self.work[0], &self.lab), method, path, body)
    }

    /// `web` is kept to the mesh at home; it has a task of its owner's, and has asked another agent.
    fn with_sessions(&self) {
        let asker = "if [ \"$SHROOMS_KIND\" = task ]; then \"$0\" a2a send --id asked other look; fi; echo done";
        let argv = ["/bin/sh", "-c", asker, crate::lab::PROGRAM];
        let web = json!({"name": "web", "dir": self.lab.dir.path(), "command": argv, "meshes": ["home"],
            "skills": ["rust"]});
        self.server().add("other", self.lab.dir.path(), &["cat"]);
        assert_eq!(self.server().post("/v1/sessions", &web).status, 201);
        let sent = self.server().cli(&["a2a", "send", "--wait", "--id", "m1", "web", "look"]);
        assert_eq!(sent.code, 0, "{sent:?}");
        self.server().outcome("other:asked");
        self.server().cli(&["session", "stop", "web"]);
        self.server().cli(&["a2a", "send", "--id", "m2", "web", "wait"]);
    }
}

fn at(address: IpAddr, lab: &Lab) -> SocketAddr {
    (address, lab[SERVER].port).into()
}

/// What a route is asked: method, path and body, with `WEB` for a session, which is its name.
const ASKED: &[(&str, &str, &str, &str)] = &[
    ("GET", "/v1/sessions/{name}", "/v1/sessions/WEB", ""),
    ("PATCH", "/v1/sessions/{name}", "/v1/sessions/WEB", r#"{"starred": true}"#),
    ("DELETE", "/v1/sessions/{name}", "/v1/sessions/WEB", ""),
    ("POST", "/v1/sessions/{name}/settings", "/v1/sessions/WEB/settings", r#"{"meshes": []}"#),
    ("POST", "/v1/sessions/{name}/stop", "/v1/sessions/WEB/stop", "{}"),
    ("POST", "/v1/sessions/{name}/start", "/v1/sessions/WEB/start", "{}"),
    ("POST", "/v1/sessions/{name}/restart", "/v1/sessions/WEB/restart", "{}"),
    ("POST", "/v1/sessions/{name}/attach", "/v1/sessions/WEB/attach", "{}"),
    ("POST", "/v1/sessions/{name}/detach", "/v1/sessions/WEB/detach", "{}"),
    ("POST", "/v1/sessions/{name}/interrupt", "/v1/sessions/WEB/interrupt", "{}"),
    ("POST", "/v1/sessions/{name}/rename", "/v1/sessions/WEB/rename", r#"{"name": "x"}"#),
    ("POST", "/v1/sessions/{name}/undo-remove", "/v1/sessions/WEB/undo-remove", "{}"),
    ("POST", "/v1/sessions/{name}/new", "/v1/sessions/WEB/new", r#"{"cancel": true}"#),
    ("POST", "/v1/sessions/{name}/messages", "/v1/sessions/WEB/messages", r#"{"text": "hello"}"#),
    ("POST", "/v1/sessions/{name}/prompts/{id}", "/v1/sessions/WEB/prompts/7", r#"{"allow": true}"#),
    ("GET", "/v1/sessions/{name}/log", "/v1/sessions/WEB/log", ""),
    ("GET", "/v1/sessions/{name}/events", "/v1/sessions/WEB/events", ""),
    ("GET", "/v1/sessions/{name}/search", "/v1/sessions/WEB/search?q=one", ""),
    ("GET", "/v1/sessions/{name}/history", "/v1/sessions/WEB/history", ""),
    ("GET", "/v1/sessions/{name}/export", "/v1/sessions/WEB/export?format=jsonl", ""),
    ("GET", "/v1/sessions/{name}/wanted", "/v1/sessions/WEB/wanted?by=desk/x", ""),
    ("GET", "/v1/prompts", "/v1/prompts?session=WEB", ""),
    ("GET", "/v1/tasks", "/v1/tasks?session=WEB", ""),
    ("GET", "/v1/tasks/{reference}", "/v1/tasks/WEB%3Am1", ""),
    ("GET", "/v1/tasks/{reference}", "/v1/tasks/WEB%3Am2?wait=1", ""),
    ("POST", "/v1/tasks/{reference}", "/v1/tasks/WEB%3Am2", r#"{"state": "done", "summary": "x"}"#),
    ("POST", "/v1/tasks/{reference}/answer", "/v1/tasks/WEB%3Am2/answer", r#"{"text": "x"}"#),
    ("POST", "/v1/tasks/{reference}/cancel", "/v1/tasks/WEB%3Am2/cancel", "{}"),
    ("POST", "/v1/tasks/{reference}/ack", "/v1/tasks/WEB%3Am2/ack", "{}"),
    ("POST", "/v1/tasks/{reference}/move", "/v1/tasks/WEB%3Am2/move", r#"{"place": 1}"#),
    ("POST", "/v1/tasks/{reference}/park", "/v1/tasks/WEB%3Am2/park", "{}"),
    ("POST", "/v1/tasks/{reference}/release", "/v1/tasks/WEB%3Am2/release", "{}"),
    ("POST", "/v1/asks", "/v1/asks", r#"{"to": "WEB", "text": "x"}"#),
    ("POST", "/v1/asks", "/v1/asks", r#"{"to": "server.work/WEB", "text": "x"}"#),
    ("POST", "/v1/asks/report", "/v1/asks/report", r#"{"ask": "0-1", "task": "WEB:m1", "seq": 1, "state": "working"}"#),
    // Nothing is at a prompt's number that is not there.
    ("GET", "/v1/prompts/{id}", "/v1/prompts/7", ""),
    ("POST", "/v1/prompts/{id}", "/v1/prompts/7", r#"{"allow": true}"#),
    // Handed on, it is another machine's to say: see below.
    ("GET", "/v1/machines/{machine}/{*rest}", "/v1/machines/nobody/sessions/WEB", ""),
];

/// Lists, and what is of the whole machine: they name no session that is not there. Those with `false` are
/// not asked: they stop everything, and say no more than the status.
const LISTS: &[(&str, &str, bool)] = &[
    ("GET", "/v1/sessions", true),
    ("GET", "/v1/fleet", true),
    ("GET", "/v1/tasks", true),
    ("GET", "/v1/asks", true),
    ("GET", "/v1/prompts", true),
    ("GET", "/v1/audit", true),
    ("GET", "/v1/status", true),
    ("GET", "/v1/greeting", true),
    ("GET", "/v1/harnesses", true),
    ("GET", "/v1/meshes", true),
    ("GET", "/v1/usage", true),
    ("GET", "/v1/conversations", true),
    // It is asked for something: see below.
    ("GET", "/v1/search", false),
    // It goes on for ever: read below.
    ("GET", "/v1/events", false),
    // A name that is taken is refused as such: see below.
    ("POST", "/v1/sessions", false),
    ("POST", "/v1/pause", false),
    ("POST", "/v1/resume", false),
    ("POST", "/v1/fleet/pause", false),
    ("POST", "/v1/fleet/resume", false),
];

/// Method and path of each route of the server's own text.
fn routes() -> Vec<(String, String)> {
    let mut all = Vec::new();
    for route in ROUTES.split(".route(\"").skip(1) {
        let (path, rest) = route.split_once('"').unwrap();
        let how = rest.split("\n").next().unwrap();
        for method in ["get", "post", "put", "patch", "delete", "any"] {
            if how.contains(&format!("{method}(")) {
                let method = if method == "any" { "get" } else { method };
                all.push((method.to_uppercase(), path.to_string()));
            }
        }
    }
    all
}

#[test]
fn every_route_is_asked_here() {
    let routes = routes();
    assert!(routes.len() > 40, "the routes are not found any more: {routes:?}");
    for (method, path) in &routes {
        let asked = ASKED.iter().any(|(m, route, ..)| m == method && route == path);
        let listed = LISTS.iter().any(|(m, route, _)| m == method && route == path);
        assert!(asked || listed, "{method} {path}: say in ASKED or LISTS what it answers about a hidden session");
    }
    for word in OPERATIONS.split('"').skip(1).step_by(2).filter(|w| w.starts_with(char::is_uppercase)) {
        assert!(RPC.iter().any(|(method, _)| *method == word), "{word}: say in RPC what it answers");
    }
}

/// Operations of A2A, with what they are asked about `WEB`.
const RPC: &[(&str, &str)] = &[
    ("SendMessage", r#"{"message": {"messageId": "x1", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#),
    (
        "SendMessage",
        r#"{"message": {"messageId": "x2", "role": "ROLE_USER", "parts": [{"text": "x"}], "taskId": "WEB:m2"}}"#,
    ),
    ("SendStreamingMessage", r#"{"message": {"messageId": "x3", "role": "ROLE_USER", "parts": [{"text": "x"}]}}"#),
    ("GetTask", r#"{"id": "WEB:m1"}"#),
    ("ListTasks", r#"{}"#),
    ("CancelTask", r#"{"id": "WEB:m2"}"#),
    ("AckTask", r#"{"id": "WEB:m1"}"#),
    ("SubscribeToTask", r#"{"id": "WEB:m2"}"#),
    ("GetExtendedAgentCard", r#"{}"#),
    ("CreateTaskPushNotificationConfig", r#"{"taskId": "WEB:m2", "url": "http://x"}"#),
    ("GetTaskPushNotificationConfig", r#"{"taskId": "WEB:m2", "id": "x"}"#),
    ("ListTaskPushNotificationConfigs", r#"{"taskId": "WEB:m2"}"#),
    ("DeleteTaskPushNotificationConfig", r#"{"taskId": "WEB:m2", "id": "x"}"#),
];

/// Asked about the hidden session and about one that never was, the desk gets the same.
#[track_caller]
fn same(meshes: &Meshes, method: &str, path: &str, body: &str) {
    let of = |name: &str| meshes.at_work(method, &path.replace("WEB", name), &body.replace("WEB", name));
    // Of the same length, and as near to any other name.
    let (hidden, never) = (of("web"), of("wxb"));
    assert_ne!(never.status, 0, "{method} {path}: no answer");
    assert_eq!(
        (hidden.status, hidden.body.replace("web", "wxb")),
        (never.status, never.body),
        "{method} {path} {body}"
    );
    let good = (200..300).contains(&hidden.status) && !hidden.body.contains("\"error\"");
    assert!(!good || path.starts_with("/v1/asks/") || path.contains("/a2a"), "{method} {path}: {}", hidden.body);
}

#[test]
fn from_another_mesh_a_hidden_session_is_one_that_never_was() {
    let mut meshes = meshes();
    meshes.lab[SERVER].start();
    meshes.with_sessions();
    let before = meshes.server().get("/v1/sessions/web").json();
    let tasks = || meshes.server().get("/v1/tasks?session=web").json();
    let before_tasks = tasks();
    // First the lists: later the desk's own tries are in the log, in its own words.
    for (method, path, _) in LISTS.iter().filter(|(.., asked)| *asked) {
        let (home, work) = (meshes.at_home(method, path, ""), meshes.at_work(method, path, ""));
        assert_eq!((home.status, work.status), (200, 200), "{path}: {} {}", home.body, work.body);
        assert!(!work.body.contains("web"), "{path}: {}", work.body);
    }
    for (path, hidden) in [
        ("/v1/sessions", "\"web\""),
        ("/v1/fleet", "\"web\""),
        ("/v1/tasks", "web:m1"),
        ("/v1/audit", "session-add"),
        ("/v1/asks?all=1", "web"),
        ("/v1/search?q=done", "\"web\""),
        ("/.well-known/agent-card.json", "\"web\""),
        ("/a2a/.well-known/agent-card.json", "\"web\""),
    ] {
        assert!(meshes.at_home("GET", path, "").body.contains(hidden), "{path}: {hidden} is there at home");
        assert!(!meshes.at_work("GET", path, "").body.contains("web"), "{path}");
    }
    let feed = |from: IpAddr, to: IpAddr| {
        let get = "GET /v1/events?after=0 HTTP/1.1\r\nHost: server\r\nConnection: close\r\n\r\n";
        let seen = http::raw_until(from, at(to, &meshes.lab), get, "\"task\":\"other:asked\",\"state\":\"completed\"");
        seen.lines().filter(|line| line.starts_with("data:")).map(str::to_string).collect::<Vec<_>>()
    };
    let at_home = feed(meshes.lab[PHONE].address, meshes.lab[SERVER].address);
    let at_work = feed(meshes.lab[DESK].address, meshes.work[0]);
    assert!(at_home.iter().any(|line| line.contains("\"web\"")), "{at_home:?}");
    assert!(at_work.len() > 3 && !at_work.iter().any(|line| line.contains("web")), "{at_work:?}");

    for (method, _, path, body) in ASKED {
        same(&meshes, method, path, body);
    }
    for path in ["/a2a/WEB", "/a2a"] {
        for (method, params) in RPC {
            let mut params: Value = serde_json::from_str(params).unwrap();
            if path == "/a2a" && params.get("message").is_some() {
                params["message"]["metadata"] = json!({"shrooms/session": "WEB"});
            }
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
            same(&meshes, "POST", path, &call);
        }
    }
    let send = message("x9", "x").to_string();
    for (method, path, body) in [
        ("GET", "/a2a/WEB/.well-known/agent-card.json", ""),
        ("POST", "/a2a/WEB/message:send", send.as_str()),
        ("POST", "/a2a/WEB/message:stream", send.as_str()),
        ("GET", "/a2a/WEB/tasks", ""),
        ("GET", "/a2a/WEB/tasks/WEB:m1", ""),
        ("GET", "/a2a/tasks/WEB:m1", ""),
        ("POST", "/a2a/WEB/tasks/WEB:m2:cancel", "{}"),
        ("POST", "/a2a/tasks/WEB:m2:subscribe", "{}"),
    ] {
        same(&meshes, method, path, body);
    }
    // A name is one for all.
    let body = json!({"name": "web", "dir": "/", "command": ["true"]}).to_string();
    let taken = meshes.at_work("POST", "/v1/sessions", &body);
    assert!(taken.status == 409 && taken.body.contains("already a session 'web'"), "{}", taken.body);
    // It is untouched, and there for this machine and its mesh.
    assert_eq!(meshes.server().get("/v1/sessions/web").json(), before);
    assert_eq!(tasks(), before_tasks);
    assert_eq!(meshes.at_home("GET", "/v1/sessions/web", "").json(), before);
    let card = meshes.at_home("GET", "/a2a/web/.well-known/agent-card.json", "");
    assert!(card.status == 200 && card.body.contains("\"rust\""), "{}", card.body);
    // And removed it is no more there than before.
    assert_eq!(meshes.server().cli(&["session", "remove", "web"]).code, 0);
    for (method, _, path, body) in ASKED {
        same(&meshes, method, path, body);
    }
    assert!(!meshes.at_work("GET", "/v1/tasks", "").body.contains("web:"));
    assert!(meshes.at_home("GET", "/v1/tasks", "").body.contains("web:m1"));
}

#[test]
fn what_is_handed_on_must_be_there_for_both_and_from_the_desk_it_is_not() {
    let mut meshes = meshes();
    for machine in [SERVER, HUB] {
        meshes.lab[machine].start();
    }
    meshes.server().add("open", meshes.lab.dir.path(), &["cat"]);
    meshes.with_sessions();
    let through = |from: Option<IpAddr>, to: IpAddr, path: &str| match from {
        Some(from) => http::tcp(from, at(to, &meshes.lab), "GET", path, ""),
        None => meshes.lab[HUB].get(path),
    };
    let hub = &meshes.lab[HUB];
    for (who, from, to, path, sees) in [
        ("hub, at home", None, hub.address, "/v1/machines/server.home/sessions", true),
        ("hub, at work", None, hub.address, "/v1/machines/server.work/sessions", false),
        ("phone", Some(meshes.lab[PHONE].address), hub.address, "/v1/machines/server.home/sessions", true),
        ("desk", Some(meshes.lab[DESK].address), meshes.work[1], "/v1/machines/server.home/sessions", false),
        ("desk", Some(meshes.lab[DESK].address), meshes.work[1], "/v1/machines/server.work/sessions", false),
        ("desk's fleet", Some(meshes.lab[DESK].address), meshes.work[1], "/v1/fleet", false),
    ] {
        let answer = through(from, to, path);
        assert_eq!(answer.status, 200, "{who}: {}", answer.body);
        assert!(answer.body.contains("\"open\""), "{who}: {}", answer.body);
        assert_eq!(answer.body.contains("\"web\""), sees, "{who} {path}: {}", answer.body);
    }
    let desk = meshes.lab[DESK].address;
    let one = through(Some(desk), meshes.work[1], "/v1/machines/server.home/sessions/web");
    assert_eq!(one.status, 404, "{}", one.body);
}

#[test]
fn what_was_asked_before_a_session_was_hidden_goes_on_and_its_asker_gets_the_result() {
    let mut meshes = meshes();
    for machine in [SERVER, DESK] {
        meshes.lab[machine].start();
    }
    let gate = meshes.lab.path("open").display().to_string();
    let waits = format!("while [ ! -e '{gate}' ]; do sleep 0.02; done; echo 'the result'");
    meshes.server().add("web", meshes.lab.dir.path(), &["/bin/sh", "-c", &waits]);
    let desk = &meshes.lab[DESK];
    let sent = desk.cli(&["a2a", "send", "--id", "job", "server.work/web", "look"]);
    assert_eq!(sent.code, 0, "{sent:?}");
    poll("it works", || state(&meshes.server().task("web:job")) == "working");
    let owner = |args: &[&str]| meshes.server().cli(&[&["session", "set", "web"], args].concat());
    // From the desk nobody takes it away from the desk.
    let itself = meshes.at_work("PATCH", "/v1/sessions/web", r#"{"meshes": ["home"]}"#);
    assert!(itself.status == 400 && itself.body.contains("your own device is on work"), "{}", itself.body);
    let unknown = owner(&["--meshes", "wrk"]);
    assert!(unknown.code == 1 && unknown.err.contains("did you mean work?"), "{unknown:?}");
    assert_eq!(owner(&["--meshes", "home"]).code, 0);
    let more = desk.cli(&["a2a", "send", "server.work/web", "another"]);
    assert!(more.code == 1 && more.err.contains("no session 'web'"), "{more:?}");
    // Its own task is still its own: to look at, and to be told how it ends.
    let mine = meshes.at_work("GET", &format!("/v1/tasks/{}", segment("web:job")), "");
    assert_eq!(mine.status, 200, "{}", mine.body);
    assert!(meshes.at_work("GET", "/v1/tasks", "").body.contains("web:job"));
    assert_eq!(meshes.at_work("GET", "/v1/sessions/web", "").status, 404);
    std::fs::write(&gate, "").unwrap();
    let task = desk.get(&format!("/v1/tasks/{}?wait=30", segment("server.work/web:job"))).json()["task"].clone();
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "the result"), "{task}");
    let asks = desk.get("/v1/asks?all=1").json();
    assert_eq!(asks["asks"][1]["state"], "completed", "{asks}");
    // Shown again, it is there again.
    assert_eq!(owner(&["--meshes", ""]).code, 0);
    assert_eq!(meshes.at_work("GET", "/v1/sessions/web", "").status, 200);
}
