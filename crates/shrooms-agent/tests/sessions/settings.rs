//! Settings that reach Claude Code itself: its model, its role, arguments of the owner's; permissions
//! while it runs; and prompts that nobody answers in time.

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::machine::Machine;
use crate::model::{rule, say, shell, update};
use crate::place::state;

fn set(home: &Machine, words: &[&str]) -> Value {
    let args = [&["session", "set", "review"], words, &["--json"]].concat();
    serde_json::from_str(&home.good(&args)).unwrap()
}

/// Has the session answer once, and gives what the model was sent for it.
fn asked(lab: &Lab, text: &str) -> (String, String) {
    let home = &lab[0];
    home.say("review", text);
    let of = || lab.model.requests_of("homeserver/review").into_iter().rfind(|r| r.texts().concat().contains(text));
    poll(&format!("it reads {text}"), || of().is_some());
    home.until_session("review", "idle");
    let request = of().unwrap();
    (request.model.clone(), request.system.clone())
}

fn restart(lab: &Lab) {
    lab[0].good(&["session", "stop", "review"]);
    poll("its program has ended", || !lab.is_held("review"));
    lab[0].good(&["session", "start", "review"]);
}

#[test]
fn role_model_and_arguments_hold_from_the_next_start_in_the_same_conversation() {
    let test = "role_model_and_arguments_hold_from_the_next_start_in_the_same_conversation";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    lab.model.rules(&[rule("count", &[vec![say("One.")]])]);
    let dir = home.work.display().to_string();
    let made =
        ["session", "add", "review", "--harness", "claude", "--dir", &dir, "--model", "claude-sonnet-4-5", "--json"];
    let made: Value = serde_json::from_str(&home.good(&made)).unwrap();
    assert_eq!((&made["model"], made.get("from_next_start")), (&json!("claude-sonnet-4-5"), None), "{made}");
    let (model, system) = asked(&lab, "count the first");
    assert_eq!(model, "claude-sonnet-4-5");
    assert!(system.contains("You are the agent homeserver/review") && !system.contains("Your owner says"), "{system}");
    let conversation = home.session("review")["conversation"].clone();

    let role = "You look after the tests.\nNever push.";
    let words = ["--role", role, "--model", "claude-opus-4-5", "--arg"];
    let wrong = home.cli(&[&["session", "set", "review"], &words[..], &["--resume", "--arg", "x"]].concat());
    assert!(wrong.code == 1 && wrong.err.contains("args: --resume: the daemon says it itself"), "{wrong:?}");
    assert_eq!(home.session("review")["model"], "claude-sonnet-4-5", "nothing of a refused request is set");
    let settings = "{\"env\": {\"MARKED\": \"by args\"}}";
    let shown = set(home, &[&words[..], &["--settings", "--arg", settings]].concat());
    assert_eq!(shown["from_next_start"], json!(["args", "model", "role"]), "{shown}");
    assert_eq!(shown["role"], role);
    let said = home.cli(&["session", "set", "review", "--role", role]);
    assert!(said.err.contains("from the next start") && said.err.contains("session restart review"), "{said:?}");
    // Not before.
    let (model, system) = asked(&lab, "count the second");
    assert!(model == "claude-sonnet-4-5" && !system.contains("Never push."), "{model}: {system}");
    restart(&lab);
    let marked = lab.word("marked");
    lab.model.rules(&[rule("count", &[vec![shell(&format!("echo \"$MARKED\" > '{marked}'"))], vec![say("Three.")]])]);
    set(home, &["--auto-approve", "on"]);
    let (model, system) = asked(&lab, "count the third");
    assert_eq!(model, "claude-opus-4-5");
    let (note, owner) = system.split_once("Your owner says what you are here for:\n").expect("the role is there");
    assert!(note.contains("You are the agent homeserver/review") && owner.starts_with(role), "{system}");
    assert_eq!(lab.lines("marked"), ["by args"]);
    assert_eq!(home.session("review")["conversation"], conversation, "it is the same conversation");
    // Kept over a fresh one, and gone when it is taken away.
    home.good(&["session", "new", "review"]);
    lab.model.rules(&[rule("count", &[vec![say("Four.")]])]);
    assert!(asked(&lab, "count the fourth").1.contains("Never push."));
    assert_ne!(home.session("review")["conversation"], conversation);
    set(home, &["--role", "", "--arg", "", "--model", ""]);
    restart(&lab);
    let (_, system) = asked(&lab, "count the fifth");
    assert!(system.contains("You are the agent homeserver/review") && !system.contains("Never push."), "{system}");
    let lines = home.session_log("review");
    for line in
        ["note model: claude-opus-4-5, by the owner", "note role: none, by the owner", "note args: none, by the owner"]
    {
        assert!(lines.iter().any(|l| l == line), "{line}: {lines:#?}");
    }
}

#[test]
fn auto_approve_holds_at_once_also_for_what_waits() {
    let Some(lab) = Lab::of("auto_approve_holds_at_once_also_for_what_waits", &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    lab.model.rules(&[rule(
        "Paint it",
        &[
            vec![shell("touch one")],
            vec![shell("touch two")],
            vec![update("review:t", "done", "Painted.")],
            vec![say("Done.")],
        ],
    )]);
    let id = home.ask("review", "t", "Paint it.");
    let waits = home.prompt("review")["id"].to_string();
    set(home, &["--auto-approve", "on"]);
    assert_eq!(state(&home.outcome(&id)), "completed");
    assert!(home.work.join("one").exists() && home.work.join("two").exists());
    let prompt = home.get(&format!("/v1/prompts/{waits}")).json();
    assert_eq!((&prompt["state"], &prompt["by"]), (&json!("allowed"), &json!("auto-approve")), "{prompt}");
    home.until_session("review", "idle");
    // Off again, it asks again, in the same program.
    set(home, &["--auto-approve", "off"]);
    lab.model.rules(&[rule("Once more", &[vec![shell("touch three")], vec![say("Done.")]])]);
    home.say("review", "Once more.");
    let prompt = home.prompt("review");
    assert!(prompt["tool"] == "Bash" && !home.work.join("three").exists(), "{prompt}");
    home.good(&["prompt", "deny", &prompt["id"].to_string(), "No."]);
    home.until_session("review", "idle");
    assert_eq!(lab.starts("review"), 1, "it was one program all the time");
}

#[test]
fn a_prompt_that_nobody_answers_in_time_is_denied_and_the_worker_is_told() {
    let test = "a_prompt_that_nobody_answers_in_time_is_denied_and_the_worker_is_told";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    set(home, &["--prompt-timeout", "2"]);
    let options = json!([{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]);
    let question = json!({"question": "Which?", "header": "Colour", "multiSelect": false, "options": options});
    let question = json!({"tool": "AskUserQuestion", "input": {"questions": [question]}});
    lab.model.rules(&[rule(
        "Paint it",
        &[
            vec![shell("touch painted")],
            vec![question],
            vec![update("review:t", "blocked", "I may not paint.")],
            vec![say("I wait.")],
        ],
    )]);
    let id = home.ask("review", "t", "Paint it.");
    let number = home.prompt("review")["id"].to_string();
    let task = home.until(&id, "input-required");
    assert_eq!(task["metadata"]["shrooms/prompt"], true, "{task}");
    poll("it is blocked", || {
        let task = home.task(&id);
        state(&task) == "input-required" && task["metadata"].get("shrooms/prompt").is_none()
    });
    let prompt = home.get(&format!("/v1/prompts/{number}")).json();
    assert_eq!((&prompt["state"], &prompt["by"]), (&json!("denied"), &json!("the time limit")), "{prompt}");
    let late = home.cli(&["prompt", "allow", &number]);
    assert!(late.code == 1 && late.err.contains("was denied by the time limit"), "{late:?}");
    home.until_session("review", "idle");
    assert!(!home.work.join("painted").exists());
    let read = lab.model.requests_of("homeserver/review");
    let last = read.last().unwrap();
    for tool in ["Bash", "AskUserQuestion"] {
        let returned = last.returns_of(tool).concat();
        assert!(returned.contains("Nobody answered within 2 s"), "{tool}: {returned}");
    }
    let denied = format!("note prompt {number}: denied, nobody answered within 2 s");
    poll("its log says so", || home.session_log("review").contains(&denied));
    assert!(home.has_event("\"kind\":\"prompt\",\"session\":\"review\",\"task\":\"review:t\",\"state\":\"denied\""));
}
