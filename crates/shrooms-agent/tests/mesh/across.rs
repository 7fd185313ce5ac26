//! The main job over a real mesh: asks across machines, and who the worker is told that it is from.

use serde_json::json;

use crate::lab::{message, poll, state, text};
use crate::world::{M1, M2, PORT, World};

#[test]
fn a_session_asks_two_machines_and_is_told_each_result_once() {
    let Some(world) = World::of("a_session_asks_two_machines_and_is_told_each_result_once") else { return };
    let listed = world.lab[M1].cli(&["a2a", "list"]);
    for agent in ["m1/webapp", "m2/api", "m3/db"] {
        let lines = listed.out.lines().filter(|line| line.split_whitespace().next() == Some(agent)).count();
        assert_eq!(lines, 1, "{agent}: {listed:?}");
    }
    assert_eq!(listed.err, "", "nobody is unreachable");
    world.ask("job", &[("m2/api", "one"), ("m3/db", "two")]);
    poll("both are told", || world.told().len() >= 2);
    // Asked and done afterwards: it would come behind whatever is still on its way.
    let last = world.send(M1, "m2/api", "last");
    assert!(last.code == 0 && last.out.contains("result of api:last"), "{last:?}");
    let mut told = world.told();
    told.sort();
    assert_eq!(told, ["m2/api:one completed 0", "m3/db:two completed 0"]);
    for task in ["api:one", "db:two"] {
        assert_eq!(world.runs(task), 1, "{task}");
        let given = world.given(task);
        let head = given.lines().next().unwrap_or_default();
        assert_eq!(head, format!("[shrooms task {task} from m1.lab (m1/webapp)]"), "{given}");
    }
}

#[test]
fn a_machine_that_claims_to_be_another_is_shown_as_what_it_is() {
    let Some(world) = World::of("a_machine_that_claims_to_be_another_is_shown_as_what_it_is") else { return };
    let mut params = message("claimed", "please");
    params["message"]["metadata"] = json!({"shrooms/from": "m3/x", "shrooms/vouched": true});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}).to_string();
    let url = format!("http://[{}]:{PORT}/a2a/api", world.lab[M2].address);
    let said = world
        .net
        .on(M1, &["curl", "-gsS", "--max-time", "20", &url, "-H", "Content-Type: application/json", "-d", &body]);
    assert!(said.contains("api:claimed"), "{said}");
    let task = world.lab[M2].outcome("api:claimed");
    assert_eq!((state(&task).as_str(), text(&task).as_str()), ("completed", "result of api:claimed"));
    assert_eq!(task["metadata"]["shrooms/from"], "m1.lab (m3/x)", "the device first, what it says beside it");
    let given = world.given("api:claimed");
    assert_eq!(given.lines().next(), Some("[shrooms task api:claimed from m1.lab (m3/x)]"), "{given}");
}

#[test]
fn a_machine_reaches_itself_at_its_own_address() {
    let Some(world) = World::of("a_machine_reaches_itself_at_its_own_address") else { return };
    let url = format!("http://[{}]:{PORT}/v1/sessions", world.lab[M2].address);
    let listed = world.net.on(M2, &["curl", "-gsS", "--max-time", "20", &url]);
    assert!(listed.contains("\"api\""), "as its owner: {listed}");
}
