//! Addresses: slashes behind them, ids with colons in every spelling, and cards as caches ask for them.

use serde_json::{Value, json};

use crate::http;
use crate::lab::poll;
use crate::shape::{self, check};
use crate::wire::{Agent, Asked, BOTH, HttpJson, JsonRpc, header, message, state};
use crate::world::plain;

fn get(agent: &Agent, target: &str) -> Value {
    agent.put(HttpJson, &Asked::new("GET", target, "").header("A2A-Version", "1.0")).good()
}

fn post(agent: &Agent, target: &str, body: &Value) -> Value {
    let asked = Asked::new("POST", target, body.to_string()).header("Content-Type", "application/json");
    agent.put(HttpJson, &asked).good()
}

#[test]
fn an_address_is_good_with_and_without_a_slash_behind_it() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for path in ["/a2a/w", "/a2a/w/"] {
        let task = Agent { path: path.into(), ..w.clone() }.task(JsonRpc, &message("tck-complete-task-1", "go"));
        assert_eq!(state(&task), "COMPLETED");
    }
    for path in ["/a2a", "/a2a/"] {
        let list = Agent { path: path.into(), ..w.clone() }.good(JsonRpc, "ListTasks", &json!({}));
        assert_eq!(list["totalSize"], 1);
    }
    let params = message("tck-complete-task-1", "go");
    for target in ["/a2a/w/message:send", "/a2a/w/message:send/", "/a2a/w/message%3Asend", "/a2a/w/message%3asend/"] {
        assert_eq!(state(&post(&w, target, &params)["task"]), "COMPLETED", "{target}");
    }
    for target in ["/a2a/w/tasks", "/a2a/w/tasks/", "/a2a/tasks", "/a2a/tasks/", "/a2a/w/tasks?pageSize=5"] {
        assert_eq!(get(&w, target)["totalSize"], 1, "{target}");
    }
}

#[test]
fn an_id_with_colons_is_found_in_every_spelling() {
    let world = plain(&["w"]);
    let w = world.session("w");
    // Of ids that look like a verb, too. What the worker does is in the text then.
    for mid in ["a-1", "cancel", "subscribe", "a:cancel", "a/b ü%41"] {
        let task = w.task(JsonRpc, &message(mid, "tck-input-required"));
        let id = task["id"].as_str().unwrap();
        let raw = http::segment(id).replace("%3A", ":");
        let names = [raw.clone(), raw.replace(':', "%3A"), raw.replace(':', "%3a")];
        // A GET whose last raw word is this subscribes.
        let plain = if mid == "subscribe" { &names[1..] } else { &names[..] };
        for name in plain {
            for target in [format!("/a2a/w/tasks/{name}"), format!("/a2a/tasks/{name}/")] {
                let got = get(&w, &target);
                assert_eq!((&got["id"], &got["status"]), (&task["id"], &task["status"]), "{target}");
            }
        }
        assert_eq!(w.get(JsonRpc, &task)["id"], task["id"]);
        let listening = Asked::new("GET", format!("/a2a/w/tasks/{raw}:subscribe"), "");
        let first = w.open_with(HttpJson, &listening).unwrap().event().unwrap();
        assert_eq!(first["task"]["id"], task["id"]);
        for name in &names {
            for verb in [":subscribe", "%3Asubscribe", "%3asubscribe"] {
                let listening = Asked::new("POST", format!("/a2a/w/tasks/{name}{verb}"), "");
                let first = w.open_with(HttpJson, &listening).unwrap().event().unwrap();
                assert_eq!(first["task"]["id"], task["id"], "{name}{verb}");
            }
        }
        let asked = Asked::new("POST", format!("/a2a/w/tasks/{}%3Acancel", names[1]), "");
        assert_eq!(state(&w.put(HttpJson, &asked).good()), "CANCELED", "{id}");
    }
}

#[test]
fn a_body_and_a_path_that_name_two_tasks_are_refused() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let task = w.task(JsonRpc, &message("tck-input-required-1", "go"));
    let id = task["id"].as_str().unwrap();
    let cancel = |body: Value| {
        let asked = Asked::new("POST", format!("/a2a/w/tasks/{id}:cancel"), body.to_string());
        w.put(HttpJson, &asked.header("Content-Type", "application/json"))
    };
    assert_eq!(cancel(json!({"id": "w:other"})).fault().fields, ["id"]);
    assert_eq!(state(&w.get(HttpJson, &task)), "INPUT_REQUIRED");
    assert_eq!(state(&cancel(json!({"id": id, "metadata": {}})).good()), "CANCELED");
}

/// An answer is called what the request calls itself or accepts.
#[test]
fn the_type_of_an_answer_over_http_json_is_negotiated() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let list = Asked::new("GET", "/a2a/w/tasks", "");
    for (accept, want) in [
        ("", "application/a2a+json"),
        ("*/*", "application/a2a+json"),
        ("application/json", "application/json"),
        ("application/a2a+json", "application/a2a+json"),
        ("application/json, application/a2a+json", "application/a2a+json"),
    ] {
        let asked = if accept.is_empty() { list.clone() } else { list.clone().header("Accept", accept) };
        assert_eq!(w.put(HttpJson, &asked).header("content-type"), Some(want), "{accept}");
    }
    let params = message("tck-complete-task-1", "go").to_string();
    for kind in ["application/json", "application/a2a+json", "application/json; charset=utf-8", "APPLICATION/A2A+JSON"]
    {
        let asked = Asked::new("POST", "/a2a/w/message:send", params.clone()).header("Content-Type", kind);
        let reply = w.put(HttpJson, &asked);
        let want = if kind.to_lowercase().contains("a2a") { "application/a2a+json" } else { "application/json" };
        assert_eq!(reply.header("content-type"), Some(want), "{kind}");
        reply.good();
    }
    for binding in BOTH {
        let reply = w.ask(binding, "ListTasks", &json!({}));
        assert_eq!(reply.header("cache-control"), Some("no-store"), "what tasks are is nothing to keep");
    }
}

const CARDS: [&str; 2] = ["/.well-known/agent-card.json", "/a2a/w/.well-known/agent-card.json"];

#[test]
fn a_card_has_addresses_that_work_from_where_it_was_read() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let (address, port) = (w.to.ip(), w.to.port());
    for (path, endpoint) in CARDS.into_iter().zip(["/a2a", "/a2a/w"]) {
        for host in [
            format!("{address}:{port}"),
            format!("laptop:{port}"),
            format!("laptop.home:{port}"),
            format!("localhost:{port}"),
            format!("LAPTOP:{port}"),
        ] {
            let answer = w.exchange(&Asked::new("GET", path, "").header("Host", host.as_str()));
            let card = answer.json();
            check(&shape::CARD, &card);
            for interface in card["supportedInterfaces"].as_array().unwrap() {
                assert_eq!(interface["url"], format!("http://{host}{endpoint}"));
            }
            assert_eq!(card["name"], if endpoint == "/a2a" { "laptop" } else { "laptop/w" });
            assert_eq!(header(&answer.head, "content-type"), Some("application/json"));
        }
    }
    // Over the socket there is no such place; what it is known by is said.
    let card = world.lab[0].get(CARDS[0]).json();
    assert_eq!(card["supportedInterfaces"][0]["url"], format!("http://{address}:{port}/a2a"));
    // And there it is spoken.
    let listed = w.good(JsonRpc, "ListTasks", &json!({}));
    assert_eq!(listed["totalSize"], 0);
}

#[test]
fn a_card_that_is_known_is_not_sent_again() {
    let world = plain(&["w"]);
    let w = world.session("w");
    for path in CARDS {
        let asked = Asked::new("GET", path, "");
        let first = w.exchange(&asked);
        let tag = header(&first.head, "etag").unwrap().to_string();
        let with = |name: &'static str, value: &str| w.exchange(&asked.clone().header(name, value));
        for known in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".to_string()] {
            let answer = with("If-None-Match", &known);
            assert_eq!((answer.status, answer.body.as_str()), (304, ""), "{known}");
            for name in ["etag", "cache-control"] {
                assert_eq!(header(&answer.head, name), header(&first.head, name), "{name}");
            }
            assert!(header(&answer.head, "last-modified").is_some());
        }
        for other in ["\"other\"", "x", ""] {
            assert_eq!(with("If-None-Match", other).body, first.body, "{other}");
        }
        // By its date, too, as soon as that is surely of this card: dates are of whole seconds.
        let since = |date: &str| with("If-Modified-Since", date).status;
        assert_eq!(since("Mon, 01 Jan 2001 00:00:00 GMT"), 200);
        for nonsense in ["yesterday", "", "2030-01-01T00:00:00Z"] {
            assert_eq!(since(nonsense), 200, "{nonsense}");
        }
        let modified = || header(&w.exchange(&asked).head, "last-modified").unwrap().to_string();
        poll("its date is of a card that has not changed since", || since(&modified()) == 304);
        let date = modified();
        // The tag counts where both are there.
        let both = asked.clone().header("If-Modified-Since", date.as_str()).header("If-None-Match", "\"other\"");
        assert_eq!(w.exchange(&both).status, 200);
        // HEAD: the same without the body.
        let head = w.exchange(&Asked::new("HEAD", path, ""));
        assert_eq!((head.status, head.body.as_str()), (200, ""));
        for name in ["etag", "cache-control", "content-type", "content-length"] {
            assert_eq!(header(&head.head, name), header(&first.head, name), "{name}");
        }
        let head = w.exchange(&Asked::new("HEAD", path, "").header("If-None-Match", tag.as_str()));
        assert_eq!(head.status, 304);
    }
}

/// Also where the newest session goes: a date that goes back would keep the old card alive.
#[test]
fn a_card_that_has_changed_is_sent_whatever_its_reader_knows() {
    let world = plain(&["w"]);
    let w = world.session("w");
    let asked = Asked::new("GET", CARDS[0], "");
    let look = || {
        let answer = w.exchange(&asked);
        let known = |name| header(&answer.head, name).unwrap().to_string();
        (known("etag"), known("last-modified"))
    };
    let changes: [&dyn Fn(); 3] = [
        &|| world.add("v", json!({})),
        &|| assert_eq!(world.lab[0].cli(&["session", "rename", "v", "u"]).code, 0),
        &|| assert_eq!(world.lab[0].cli(&["session", "remove", "u"]).code, 0),
    ];
    for (n, change) in changes.into_iter().enumerate() {
        poll("its reader knows it by its date, too", || {
            w.exchange(&asked.clone().header("If-Modified-Since", look().1)).status == 304
        });
        let (tag, date) = look();
        change();
        for (name, value) in [("If-None-Match", &tag), ("If-Modified-Since", &date)] {
            let answer = w.exchange(&asked.clone().header(name, value.as_str()));
            assert_eq!(answer.status, 200, "change {n}: {name}: {value}");
        }
    }
}
