//! Files: those that a worker hands over with its result, and those that come in a message; and a
//! worker's words that are heard while it works.

use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use crate::http;
use crate::lab::{Lab, PROGRAM, message, poll, state, text};

/// Lines of everything below a folder, with what is in them.
fn tree(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(tree(&path)),
            false => found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap())),
        }
    }
    found.sort();
    found
}

fn with_file(id: &str, name: &str, raw: &str) -> Value {
    let mut message = message(id, "Look at this.");
    let file = json!({"raw": raw, "filename": name, "mediaType": "text/plain"});
    message["message"]["parts"].as_array_mut().unwrap().push(file);
    message
}

#[test]
fn a_worker_hands_files_over_and_its_asker_elsewhere_saves_them() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (away, home) = (&lab[0], &lab[1]);
    std::fs::create_dir_all(lab.path("work/out")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", lab.path("work/link")).unwrap();
    let worker = lab.script(
        "worker",
        &format!(
            "printf one > a.txt; printf two > out/a.txt\n\
             {PROGRAM} a2a update --attach link \"$SHROOMS_TASK\" done x 2> refused; cat refused >&2\n\
             cd out && {PROGRAM} a2a update --attach a.txt --attach ../a.txt \"$SHROOMS_TASK\" done 'See both.'"
        ),
    );
    home.add("maker", &lab.path("work"), &[&worker]);
    let sent = away.cli(&["a2a", "send", "--wait", "--id", "m", "homeserver/maker", "make"]);
    assert!(sent.out.contains("See both.") && sent.out.contains("(file: a.txt, 3 bytes)"), "{} {}", sent.out, sent.err);
    let refused = std::fs::read_to_string(lab.path("work/refused")).unwrap();
    assert!(refused.contains("leads out of"), "{refused}");
    // What was handed over is kept as it was then.
    std::fs::write(lab.path("work/a.txt"), "changed").unwrap();
    let saved = lab.path("saved");
    let got = away.cli(&["a2a", "get", "--save", saved.to_str().unwrap(), "homeserver/maker:m"]);
    assert_eq!(got.code, 0, "{} {}", got.out, got.err);
    let names = tree(&saved).into_iter().map(|(path, text)| (path.rsplit('/').next().unwrap().to_string(), text));
    let names: Vec<_> = names.collect();
    assert_eq!(names, [("a-2.txt".into(), "one".into()), ("a.txt".into(), "two".into())], "{}", got.out);
    let task = home.task("maker:m");
    let made: Vec<_> = task["artifacts"].as_array().unwrap().iter().map(|a| a["name"].as_str().unwrap()).collect();
    assert_eq!(made, ["a.txt", "a.txt", "result"]);
    assert_eq!(task["artifacts"][0]["parts"][0]["mediaType"], "text/plain");
}

#[test]
fn a_file_in_a_message_is_kept_for_a_session_that_takes_it_and_for_no_other() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (home, from) = (&lab[1], lab[0].address);
    home.add("reader", lab.dir.path(), &["cat"]);
    let uploads = home.state.join("uploads");
    let refused = home.rpc(from, "reader", "SendMessage", with_file("m1", "a.txt", "b25l"));
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    let hint = "session set reader --accept-files-from 'laptop/*'";
    assert!(refused["error"]["message"].as_str().unwrap().contains(hint), "{refused}");
    assert_eq!(tree(&uploads), []);

    let set = home.cli(&["session", "set", "reader", "--accept-files-from", "laptop/*"]);
    assert_eq!(set.code, 0, "{}", set.err);
    for _ in ["first", "again"] {
        let sent = home.rpc(from, "reader", "SendMessage", with_file("m1", "../a.txt", "b25l"));
        assert_eq!(sent["result"]["task"]["id"], "reader:m1", "{sent}");
    }
    let kept = uploads.join("reader/drop/from-laptop__/a.txt");
    let done = home.outcome("reader:m1");
    let said = format!("Look at this.\n\n(a file: ../a.txt, 3 bytes, at {})", kept.display());
    assert_eq!((state(&done).as_str(), text(&done)), ("completed", said));
    assert_eq!(done["history"][0]["parts"][1]["text"], "(a file: ../a.txt, 3 bytes)");
    assert_eq!(tree(&uploads), [(kept.display().to_string(), "one".to_string())]);

    // Refused for another reason, it leaves nothing; another of the same name has a number.
    let other = home.rpc(from, "reader", "SendMessage", with_file("m1", "b.txt", "dHdv"));
    assert_eq!(other["error"]["code"], -32602, "{other}");
    assert_eq!(tree(&uploads).len(), 1);
    home.rpc(from, "reader", "SendMessage", with_file("m2", "a.txt", "dHdv"));
    assert!(tree(&uploads)[0].0.ends_with("a-2.txt"), "{:?}", tree(&uploads));
    let too_large = with_file("m3", "big", &"AAAA".repeat((10 << 20) / 3 + 2));
    let answer = home.rpc(from, "reader", "SendMessage", too_large);
    assert_eq!(answer["error"]["code"], -32005, "{}", answer["error"]);
    let fits = with_file("m4", "big", &"AAAA".repeat(10 << 18));
    let sent = home.rpc(from, "reader", "SendMessage", fits);
    assert_eq!(sent["result"]["task"]["id"], "reader:m4", "{}", sent["error"]);
}

#[test]
fn what_a_command_says_is_heard_while_it_runs_and_the_result_replaces_it() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (home, from) = (&lab[1], lab[0].address);
    let go = lab.path("go");
    let worker = lab.script(
        "worker",
        &format!(
            "echo one; echo two; until [ -e {} ]; do sleep 0.05; done; echo three; echo all > $SHROOMS_RESULT",
            go.display()
        ),
    );
    home.add("talker", lab.dir.path(), &[&worker]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": message("m", "talk")});
    let body = body.to_string();
    let stream = http::connect(from, (home.address, home.port).into()).unwrap();
    let head = format!(
        "POST /a2a/talker HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        home.address,
        home.port,
        body.len()
    );
    std::io::Write::write_all(&mut &stream, head.as_bytes()).unwrap();
    let mut partial = String::new();
    let mut last = Value::Null;
    let mut words = Vec::new();
    for line in BufReader::new(&stream).lines() {
        let line = line.unwrap();
        let Some(data) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(data).unwrap();
        let update = &event["result"]["artifactUpdate"];
        if let Some(text) = update["artifact"]["parts"][0]["text"].as_str() {
            if update["artifact"]["metadata"]["shrooms/partial"] == true {
                assert_eq!(update["append"] == true, !partial.is_empty(), "{event}");
                partial.push_str(text);
                if partial == "one\ntwo\n" {
                    std::fs::write(&go, "").unwrap();
                }
            }
            words.push(text.to_string());
        }
        let state = event["result"]["statusUpdate"]["status"]["state"].as_str().unwrap_or("").to_string();
        last = event;
        if state == "TASK_STATE_COMPLETED" {
            break;
        }
    }
    assert!(partial.starts_with("one\ntwo\n"), "{partial:?}");
    assert_eq!(words.last().map(String::as_str), Some("all"), "{words:?}");
    assert_eq!(last["result"]["statusUpdate"]["status"]["message"]["parts"][0]["text"], "all");
    poll("the stored task has the result alone", || home.task("talker:m")["artifacts"].as_array().unwrap().len() == 1);
}

/// Each message has a file of its own: one that comes to nothing takes no other's with it.
#[test]
fn the_same_file_in_many_messages_at_once_is_lost_by_none_that_was_taken() {
    let lab = Lab::of(&["laptop", "homeserver"]);
    let (home, from) = (&lab[1], lab[0].address);
    home.add("reader", lab.dir.path(), &["cat"]);
    home.cli(&["session", "set", "reader", "--accept-files-from", "laptop/*"]);
    home.rpc(from, "reader", "SendMessage", message("taken", "other words"));
    for round in 0..8 {
        let (same, other) = (format!("same-{round}"), format!("other-{round}"));
        std::thread::scope(|scope| {
            for id in [same.as_str(), &same, &same, &other, "taken"] {
                scope.spawn(move || home.rpc(from, "reader", "SendMessage", with_file(id, "a.txt", "b25l")));
            }
        });
        for id in [same, other] {
            let said = text(&home.outcome(&format!("reader:{id}")));
            let path = said.rsplit(", at ").next().unwrap().trim_end_matches(')');
            assert_eq!(std::fs::read_to_string(path).ok().as_deref(), Some("one"), "{id}: {said}");
        }
    }
    // Two a round, and nothing of those that came to nothing.
    assert_eq!(tree(&home.state.join("uploads")).len(), 16);
}
