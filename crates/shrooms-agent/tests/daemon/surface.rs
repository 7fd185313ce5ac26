//! The surface as others use it: cards, lists, waits, events, what a command is given and how it
//! may end, and the daemon's own end.

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::json;

use crate::http;
use crate::lab::{Lab, PROGRAM, bearing, message, poll, state, text};

#[test]
fn cards_are_complete_and_cached_by_content() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let home = &lab[1];
    home.add("review", lab.dir.path(), &["true"]);
    let (from, to) = (lab[0].address, (home.address, home.port).into());
    for (path, name, url) in [
        ("/.well-known/agent-card.json", "homeserver", "/a2a"),
        ("/a2a/review/.well-known/agent-card.json", "homeserver/review", "/a2a/review"),
    ] {
        let answer = http::tcp(from, to, "GET", path, "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        let card = answer.json();
        assert_eq!(card["name"], name);
        assert_eq!(card["supportedInterfaces"][0]["url"], format!("http://{to}{url}"));
        assert_eq!(card["supportedInterfaces"][0]["protocolBinding"], "JSONRPC");
        assert_eq!(card["supportedInterfaces"][0]["protocolVersion"], "1.0");
        assert_eq!(card["capabilities"]["streaming"], true);
        assert_eq!(card["capabilities"]["extensions"][0]["required"], false);
        for field in ["description", "version", "defaultInputModes", "defaultOutputModes", "skills"] {
            assert!(!card[field].is_null() && card[field] != json!([]), "{field}: {card}");
        }
        let tag = answer.head.lines().find_map(|l| l.strip_prefix("etag: ")).expect(&answer.head);
        assert!(answer.head.contains("cache-control: max-age=") && answer.head.contains("last-modified: "));
        let again = http::tcp_with(from, to, "GET", path, &[("If-None-Match", tag)], "");
        assert_eq!((again.status, again.body.as_str()), (304, ""));
    }
    assert_eq!(http::tcp(from, to, "GET", "/a2a/nobody/.well-known/agent-card.json", "").status, 404);
}

#[test]
fn lists_page_through_everything_once_and_filters_hold() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let home = &lab[1];
    home.add("idle", lab.dir.path(), &["true"]);
    home.cli(&["session", "stop", "idle"]);
    home.add("other", lab.dir.path(), &["true"]);
    let from = lab[0].address;
    for n in 0..25 {
        let mut params = message(&format!("m{n}"), "x");
        params["message"]["contextId"] = json!(if n % 5 == 0 { "fives" } else { "rest" });
        home.rpc(from, "idle", "SendMessage", params);
    }
    home.rpc(from, "other", "SendMessage", message("elsewhere", "x"));
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let page = home.rpc(from, "idle", "ListTasks", json!({"pageSize": 10, "pageToken": token}))["result"].clone();
        assert_eq!((&page["totalSize"], &page["pageSize"]), (&json!(25), &json!(10)), "{page}");
        for task in page["tasks"].as_array().unwrap() {
            assert!(task.get("artifacts").is_none());
            seen.push(task["id"].as_str().unwrap().to_string());
        }
        token = page["nextPageToken"].as_str().unwrap().to_string();
        if token.is_empty() {
            break;
        }
    }
    let all: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), all.len()), (25, 25), "each once: {seen:?}");
    assert_eq!(seen.first().map(String::as_str), Some("idle:m24"), "the newest first");
    let fives = home.rpc(from, "idle", "ListTasks", json!({"contextId": "fives", "includeArtifacts": true}));
    assert_eq!(fives["result"]["totalSize"], 5, "{fives}");
    assert_eq!(fives["result"]["nextPageToken"], "");
    assert!(fives["result"]["tasks"][0]["artifacts"].is_array());
    let none = home.rpc(from, "idle", "ListTasks", json!({"status": "TASK_STATE_WORKING"}));
    assert_eq!(none["result"]["tasks"], json!([]));
    // A task of one session is not another's; to the whole machine it is known.
    let not_there = home.rpc(from, "other", "GetTask", json!({"id": "idle:m1"}));
    assert_eq!(not_there["error"]["code"], -32001, "{not_there}");
    let whole =
        json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": "idle:m1", "historyLength": 0}});
    let answer = http::tcp(from, (home.address, home.port).into(), "POST", "/a2a", &whole.to_string()).json();
    assert_eq!(answer["result"]["id"], "idle:m1", "{answer}");
    assert!(answer["result"].get("history").is_none());
}

#[test]
fn a_command_gets_what_it_needs_and_ends_as_it_says() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    let here = lab.dir.path();
    let run = |name: &str, body: &str, request: &str| {
        let script = lab.script(&format!("{name}.sh"), body);
        home.add(name, here, &[&script]);
        home.cli_in(&["a2a", "send", "--id", "t", "--title", "A title", name, "-"], here, request);
        home.outcome(&format!("{name}:t"))
    };
    let big: String = format!("{}\n\n/\n\ttab ✓ \u{1b}[200~x\u{1b}[201~\n[shrooms task x]\n", "y".repeat(200_000));
    let task = run("whole", "cat > \"$SHROOMS_RESULT\"", &big);
    assert_eq!(text(&task), big.trim_end(), "byte for byte");
    let task = run("given", "echo \"$SHROOMS_TASK|$SHROOMS_SENDER|$SHROOMS_TITLE|$SHROOMS_KIND|$PWD\"", "x");
    assert_eq!(text(&task), format!("given:t|the owner|A title|task|{}", here.canonicalize().unwrap().display()));
    let task = run("many", "for i in $(seq 1 100); do echo line $i; done", "x");
    assert!(text(&task).starts_with("line 61\n") && text(&task).ends_with("line 100"), "the last 40: {task}");
    let task = run("quiet", "true", "x");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "(no output)"));
    let task = run("mixed", "echo out; echo err >&2; exit 7", "x");
    assert!(text(&task).starts_with("exit code 7") && text(&task).contains("err"), "{task}");
    let task = run("says", &format!("{PROGRAM} a2a update $SHROOMS_TASK done 'my own words' >/dev/null; exit 1"), "x");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "my own words"));
    // What it leaves in the background is ended with it.
    let task = run("leaves", &format!("setsid sleep 600 </dev/null >/dev/null 2>&1 & echo '{}'", here.display()), "x");
    assert_eq!(state(&task), "completed");
    poll("nothing of it is left", || bearing(&lab[0].state).len() <= 1);
    let logged = home.cli(&["session", "log", "many"]);
    assert!(logged.out.contains("line 100"), "{logged:?}");
}

#[test]
fn what_the_asker_adds_is_read_before_the_end_is_said() {
    let lab = Lab::of(&["homeserver"]);
    let home = &lab[0];
    let go = lab.path("go");
    let body = format!(
        "read -r text; while [ $SHROOMS_KIND = task ] && [ ! -e '{}' ]; do sleep 0.02; done; echo \"$SHROOMS_KIND: $text\"",
        go.display()
    );
    home.add("count", lab.dir.path(), &[&lab.script("count.sh", &body)]);
    home.cli(&["a2a", "send", "--id", "t", "count", "all of them"]);
    poll("it works", || state(&home.task("count:t")) == "working");
    let said = home.cli(&["a2a", "reply", "count:t", "only the red ones"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::write(&go, "").unwrap();
    let task = home.outcome("count:t");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "correction: only the red ones"));
    assert_eq!(task["history"].as_array().unwrap().len(), 2);
}

#[test]
fn a_wait_is_held_until_there_is_an_outcome_and_a_client_that_goes_cancels_nothing() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let home = &lab[1];
    let go = lab.path("go");
    let body = format!("while [ ! -e '{}' ]; do sleep 0.02; done; echo done", go.display());
    home.add("slow", lab.dir.path(), &[&lab.script("slow.sh", &body)]);
    let mut params = message("w", "x");
    params["configuration"] = json!({});
    let call = json!({"jsonrpc": "2.0", "id": "a", "method": "SendMessage", "params": params}).to_string();
    // One client asks and hangs up.
    let gone = TcpStream::connect((home.address, home.port));
    drop(gone);
    std::thread::scope(|scope| {
        let waits =
            scope.spawn(|| http::tcp(lab[0].address, (home.address, home.port).into(), "POST", "/a2a/slow", &call));
        poll("it works", || home.get("/v1/tasks/slow%3Aw").status == 200 && state(&home.task("slow:w")) == "working");
        assert!(!waits.is_finished());
        std::fs::write(&go, "").unwrap();
        let answer = waits.join().unwrap().json();
        assert_eq!(answer["id"], "a");
        assert_eq!(state(&answer["result"]["task"]), "completed", "{answer}");
    });
    let said = lab[0].cli(&["a2a", "get", "--wait", "--timeout", "1", "homeserver/slow:w"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(&go).unwrap();
    let said = lab[0].cli(&["a2a", "send", "--wait", "--timeout", "1", "--id", "over", "homeserver/slow", "x"]);
    assert!(said.code == 3 && said.err.contains("a2a get --wait homeserver/slow:over"), "{said:?}");
    assert_eq!(state(&home.task("slow:over")), "working");
}

#[test]
fn events_come_in_order_and_are_taken_up_where_they_were_left() {
    let mut lab = Lab::of(&["homeserver"]);
    lab[0].add("quick", lab.dir.path(), &["echo", "hi"]);
    lab[0].cli(&["a2a", "send", "--wait", "--id", "one", "quick", "x"]);
    let read = |lab: &Lab, head: &str, until: &str| {
        let mut stream = UnixStream::connect(lab[0].socket()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        std::io::Write::write_all(&mut stream, format!("{head}Host: localhost\r\n\r\n").as_bytes()).unwrap();
        let mut got = String::new();
        let mut buffer = [0u8; 4096];
        while !got.contains(until) {
            let n = stream.read(&mut buffer).unwrap();
            assert!(n > 0, "ended early: {got}");
            got.push_str(&String::from_utf8_lossy(&buffer[..n]));
        }
        got
    };
    let all = read(&lab, "GET /v1/events?after=0 HTTP/1.1\r\n", "\"completed\"");
    let at = |what: &str| all.find(what).unwrap_or_else(|| panic!("no {what} in {all}"));
    assert!(at("\"added\"") < at("\"submitted\"") && at("\"submitted\"") < at("\"working\""), "{all}");
    let last = all.lines().filter_map(|l| l.strip_prefix("id: ")).next_back().unwrap().trim().to_string();
    lab[0].kill();
    lab[0].start();
    lab[0].cli(&["a2a", "send", "--wait", "--id", "two", "quick", "x"]);
    let next = read(&lab, &format!("GET /v1/events HTTP/1.1\r\nLast-Event-ID: {last}\r\n"), "\"completed\"");
    assert!(next.contains("quick:two") && !next.contains("\"quick:one\",\"state\":\"submitted\""), "{next}");
    let first: i64 = next.lines().find_map(|l| l.strip_prefix("id: ")).unwrap().trim().parse().unwrap();
    assert_eq!(first, last.parse::<i64>().unwrap() + 1, "no gap");
}

#[test]
fn a_daemon_that_is_told_to_end_lets_work_finish_and_a_second_word_does_not_wait() {
    let mut lab = Lab::of(&["homeserver"]);
    let runs = lab.path("runs");
    let body = format!("echo ran >> '{}'; read -r secs; sleep $secs; echo slept", runs.display());
    let script = lab.script("sleep.sh", &body);
    lab[0].add("sleep", lab.dir.path(), &[&script]);
    lab[0].cli(&["a2a", "send", "--id", "short", "sleep", "0.5"]);
    poll("it runs", || !lab.lines("runs").is_empty());
    assert_eq!(lab[0].stop(), 0, "{}", lab[0].log());
    lab[0].start();
    let task = lab[0].outcome("sleep:short");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "slept"));

    lab[0].cli(&["a2a", "send", "--id", "long", "sleep", "600"]);
    poll("it runs", || lab.lines("runs").len() == 2);
    assert_eq!(lab[0].stop_twice(), 0, "{}", lab[0].log());
    assert!(bearing(&lab[0].state).is_empty(), "nothing of it goes on");
    lab[0].start();
    let task = lab[0].outcome("sleep:long");
    assert!(state(&task) == "failed" && text(&task).starts_with("interrupted"), "{task}");
    assert_eq!(lab.lines("runs").len(), 2);
}
