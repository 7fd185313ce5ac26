//! Two sessions, each in a task of its own, that ask each other and wait: neither stands still.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::machine::Machine;
use crate::model::{rule, say, shell, tool, update};
use crate::place::text;

/// What the issue gives them; they need seconds.
const FIRST: Duration = Duration::from_secs(90);

#[test]
fn two_sessions_of_one_machine_that_ask_each_other_and_wait_both_end() {
    let test = "two_sessions_of_one_machine_that_ask_each_other_and_wait_both_end";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    // At the same moment.
    lab.touch("asked");
    ask_each_other(&lab, &lab[0], &lab[0], test);
}

#[test]
fn two_sessions_of_two_machines_that_ask_each_other_and_wait_both_end() {
    let test = "two_sessions_of_two_machines_that_ask_each_other_and_wait_both_end";
    let Some(lab) = Lab::of(test, &["laptop", "homeserver"]) else { return };
    ask_each_other(&lab, &lab[0], &lab[1], test);
}

fn ask_each_other(lab: &Lab, one: &Machine, two: &Machine, test: &str) {
    one.add_auto("a");
    two.add_auto("b");
    let (a, b) = (format!("{}/a", one.name), format!("{}/b", two.name));
    let held = |file: &str| shell(&format!("until [ -e '{}' ]; do sleep 0.05; done", lab.word(file)));
    let ask = |to: &str, text: &str| tool("ask_agent", json!({"to": to, "text": text}));
    let outer = [
        rule("Outer task of a", &[vec![ask(&b, "Question of a.")], vec![say("I wait.")]]),
        rule("Outer task of b", &[vec![held("asked")], vec![ask(&a, "Question of b.")], vec![say("I wait.")]]),
    ];
    // Whoever is asked does nothing before the ids are known.
    let question =
        |who: &str, steps: &[Vec<Value>]| rule(&format!(r"\[shrooms task [^\n]*\]\nQuestion of {who}\."), steps);
    let early = [question("a", &[vec![held("go")]]), question("b", &[vec![held("go")]])];
    lab.model.rules(&[&early[..], &outer[..]].concat());
    let begun = Instant::now();
    one.ask("a", "ta", "Outer task of a: find out what b knows.");
    two.ask("b", "tb", "Outer task of b: find out what a knows.");
    let of_a = one.asked("Question of a.");
    lab.touch("asked");
    let of_b = two.asked("Question of b.");
    let bare = |reference: &str| reference.rsplit('/').next().unwrap().to_string();
    let answered = |who: &str, reference: &str| {
        let done = update(&bare(reference), "done", &format!("Answer to {who}."));
        question(who, &[vec![held("go")], vec![done], vec![say("Answered.")]])
    };
    let told = |reference: &str, outer: &str| {
        let head = format!(r"\[shrooms task {reference} completed");
        rule(&head, &[vec![update(outer, "done", "I know it now.")], vec![say("That is all.")]])
    };
    let rules = [told(&of_a, "a:ta"), told(&of_b, "b:tb"), answered("a", &of_a), answered("b", &of_b)];
    lab.model.rules(&[&rules[..], &outer[..]].concat());
    lab.touch("go");

    let inner = [two.outcome(&bare(&of_a)), one.outcome(&bare(&of_b))];
    let first = begun.elapsed();
    let ends = [one.outcome("a:ta"), two.outcome("b:tb")];
    println!("{test}: the first results after {first:?}, all after {:?}", begun.elapsed());
    let words: Vec<String> = inner.iter().chain(&ends).map(text).collect();
    assert_eq!(words, ["Answer to a.", "Answer to b.", "I know it now.", "I know it now."]);
    let ended = inner.iter().chain(&ends).filter(|task| task["status"]["state"] == "TASK_STATE_COMPLETED").count();
    assert_eq!(ended, 4);
    assert!(first < FIRST, "{first:?}");
    one.until_session("a", "idle");
    two.until_session("b", "idle");

    // Each has read its own task, the other's question and the answer to its own, once each.
    for (agent, own, question, result) in [(&a, "a:ta", &of_b, &of_a), (&b, "b:tb", &of_a, &of_b)] {
        poll(&format!("{agent} is through"), || lab.model.requests_of(agent).len() >= 7);
        let read = lab.model.requests_of(agent);
        let last = read.last().unwrap();
        let heads = [
            format!("[shrooms task {own} from the owner"),
            format!("[shrooms task {} from ", bare(question)),
            format!("[shrooms task {result} completed]"),
        ];
        assert!(heads.iter().all(|head| last.begins(head) == 1), "{agent}: {:#?}", last.texts());
        assert_eq!(last.texts().len(), 3, "{agent}: {:#?}", last.texts());
        let waited = last.returns_of("ask_agent").concat();
        assert!(waited.contains("which you wait for"), "{agent} was told why its wait ended: {waited}");
        assert!(read.iter().all(|request| request.begins("[shrooms: a reminder") == 0));
    }
}
