//! Three machines, each with a session, on loopback: what the suite with real WireGuard shows, where no
//! network namespaces can be made.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::lab::{Lab, PROGRAM, message, poll, state, text};
use crate::wire::Wire;

/// Given lines `AGENT MESSAGE-ID`, it asks each agent; given a result, it leaves a line.
const ASKER: &str = "if [ \"$SHROOMS_KIND\" = result ]; then
  echo \"$SHROOMS_TASK $SHROOMS_STATE ${SHROOMS_REPEAT:-0}\" >> \"$LAB/told\"
  exit 0
fi
while read -r to mid; do \"$PROGRAM\" a2a send --id \"$mid\" \"$to\" please; done";

/// Keeps what it was given.
const WORKER: &str = "cat > \"$LAB/given-$SHROOMS_TASK\"
echo \"result of $SHROOMS_TASK\"";

fn with_sessions(lab: &Lab) {
    let set = format!("LAB='{}'\nPROGRAM='{PROGRAM}'\n", lab.dir.path().display());
    let asker = lab.script("asker.sh", &format!("{set}{ASKER}"));
    let worker = lab.script("worker.sh", &format!("{set}{WORKER}"));
    let asks = json!({"name": "webapp", "dir": lab.dir.path(), "harness": "scripted", "command": [asker]});
    assert_eq!(lab[0].post("/v1/sessions", &asks).status, 201);
    for (machine, name) in lab.machines.iter().skip(1).zip(["api", "db"]) {
        let works = json!({"name": name, "dir": lab.dir.path(), "command": [worker], "framed": true});
        assert_eq!(machine.post("/v1/sessions", &works).status, 201);
    }
}

fn head(lab: &Lab, task: &str) -> String {
    let given = std::fs::read_to_string(lab.path(&format!("given-{task}"))).unwrap_or_default();
    given.lines().next().unwrap_or_default().to_string()
}

#[test]
fn a_session_asks_two_machines_and_each_worker_is_told_from_which_device() {
    let lab = Lab::of(&["m1", "m2", "m3"]);
    with_sessions(&lab);
    let listed = lab[0].cli(&["a2a", "list"]);
    let agents: Vec<&str> = listed.out.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!((agents.as_slice(), listed.err.as_str()), (["m1/webapp", "m2/api", "m3/db"].as_slice(), ""));
    let job = json!({"to": "m1/webapp", "id": "job", "text": "m2/api one\nm3/db two\n"});
    let sent = lab[0].post("/v1/asks", &job);
    assert!((200..300).contains(&sent.status), "{}", sent.body);
    poll("both are told", || lab.lines("told").len() >= 2);
    let last = lab[0].cli(&["a2a", "send", "--wait", "--id", "last", "m2/api", "please"]);
    assert!(last.code == 0 && last.out.contains("result of api:last"), "{last:?}");
    let mut told = lab.lines("told");
    told.sort();
    assert_eq!(told, ["m2/api:one completed 0", "m3/db:two completed 0"]);
    assert_eq!(head(&lab, "api:one"), "[shrooms task api:one from m1.home (m1/webapp)]");
    assert_eq!(head(&lab, "db:two"), "[shrooms task db:two from m1.home (m1/webapp)]");
    // A claim is shown beside the device, and changes nothing about it.
    let mut claimed = message("claimed", "please");
    claimed["message"]["metadata"] = json!({"shrooms/from": "m3/x", "shrooms/vouched": true});
    lab[1].rpc(lab[0].address, "api", "SendMessage", claimed);
    let task = lab[1].outcome("api:claimed");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "result of api:claimed"));
    assert_eq!(head(&lab, "api:claimed"), "[shrooms task api:claimed from m1.home (m3/x)]");
}

#[test]
fn over_a_slow_wire_asks_and_lists_work_and_take_a_few_round_trips() {
    let mut lab = Lab::idle(&["m1", "m2"]);
    let wire = Wire::between(&mut lab);
    lab.machines.iter_mut().for_each(|machine| machine.start());
    with_sessions(&lab);
    let list = || {
        let begun = Instant::now();
        let listed = lab[0].cli(&["a2a", "list"]);
        assert!(listed.out.contains("m2/api") && listed.err.is_empty(), "{listed:?}");
        begun.elapsed()
    };
    let ask = |mid: &str| {
        let begun = Instant::now();
        let asked = lab[0].cli(&["a2a", "send", "--wait", "--id", mid, "m2/api", "please"]);
        assert!(asked.code == 0 && asked.out.contains(&format!("result of api:{mid}")), "{asked:?}");
        begun.elapsed()
    };
    let before = (list(), ask("before"));
    wire.slow(Duration::from_millis(50));
    let after = (list(), ask("after"));
    for (what, before, after) in [("a2a list", before.0, after.0), ("an ask", before.1, after.1)] {
        let ratio = after.as_secs_f64() / before.as_secs_f64();
        println!("{what}: {before:.0?}, with 100 ms of round trip {after:.0?}, {ratio:.1} times");
        assert!(after > Duration::from_millis(100), "{what}: the wire is slow at all: {after:?}");
        assert!(after < Duration::from_millis(2_500), "{what}: {after:?}");
    }
}
