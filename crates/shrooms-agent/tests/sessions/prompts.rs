//! What a session asks its person: denied with a reason, answered, answered twice, withdrawn, and not
//! answered by the session itself.

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::model::{rule, say, shell, update};
use crate::place::{PROGRAM, state};

fn question() -> Value {
    let options = json!([{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]);
    let question = json!({"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": options});
    json!({"tool": "AskUserQuestion", "input": {"questions": [question]}})
}

#[test]
fn a_prompt_is_answered_once_and_the_session_reads_what_was_said() {
    let test = "a_prompt_is_answered_once_and_the_session_reads_what_was_said";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    lab.model.rules(&[rule(
        "Paint it",
        &[
            vec![shell("touch painted")],
            vec![question()],
            vec![update("review:t", "done", "Blue.")],
            vec![say("Done.")],
        ],
    )]);
    let id = home.ask("review", "t", "Paint it.");
    let denied = home.prompt("review");
    assert_eq!((&denied["tool"], &denied["task"]), (&json!("Bash"), &json!(id)), "{denied}");
    let number = denied["id"].to_string();
    let wrong = home.cli(&["prompt", "answer", &number, "Blue"]);
    assert!(wrong.code == 1 && wrong.err.contains("is a permission"), "{wrong:?}");
    home.good(&["prompt", "deny", &number, "Not with that brush."]);
    let again = home.cli(&["prompt", "allow", &number]);
    assert!(again.code == 1 && again.err.contains("takes no other answer"), "{again:?}");
    let again = home.post(&format!("/v1/prompts/{number}"), &json!({"allow": true}));
    assert_eq!(again.status, 409, "{}", again.body);

    let asked = || home.prompts().into_iter().find(|prompt| prompt["kind"] == "question");
    poll("it asks", || asked().is_some());
    let number = asked().unwrap()["id"].to_string();
    assert_eq!(asked().unwrap()["questions"][0]["question"], "Which colour?");
    assert_eq!(state(&home.task(&id)), "input-required");
    let wrong = home.cli(&["prompt", "allow", &number]);
    assert!(wrong.code == 1 && wrong.err.contains("it is a question"), "{wrong:?}");
    home.good(&["prompt", "answer", &number, "Blue"]);
    let again = home.cli(&["prompt", "answer", &number, "Red"]);
    assert!(again.code == 1 && again.err.contains("takes no other answer"), "{again:?}");
    assert_eq!(state(&home.outcome(&id)), "completed");
    home.until_session("review", "idle");

    let read = lab.model.requests_of("homeserver/review");
    let last = read.last().unwrap();
    let (refused, answered) = (last.returns_of("Bash").concat(), last.returns_of("AskUserQuestion").concat());
    assert!(refused.contains("Not with that brush."), "{refused}");
    assert!(answered.contains("\"Which colour?\"=\"Blue\"") && !answered.contains("Red"), "{answered}");
    assert!(!home.work.join("painted").exists());
    assert!(home.prompts().is_empty());
}

#[test]
fn a_session_that_needs_no_permission_still_waits_for_answers() {
    let test = "a_session_that_needs_no_permission_still_waits_for_answers";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add_auto("review");
    lab.model.rules(&[rule(
        "Paint it",
        &[vec![shell("touch painted")], vec![question()], vec![update("review:t", "done", "Red.")], vec![say("Done.")]],
    )]);
    let id = home.ask("review", "t", "Paint it.");
    let asked = home.prompt("review");
    assert_eq!(asked["kind"], "question", "nothing was asked before: {asked}");
    assert!(home.work.join("painted").exists());
    home.good(&["prompt", "answer", &asked["id"].to_string(), "Red"]);
    assert_eq!(state(&home.outcome(&id)), "completed");
}

#[test]
fn a_process_of_a_session_cannot_answer_its_prompts() {
    let test = "a_process_of_a_session_cannot_answer_its_prompts";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    let out = lab.word("tried");
    let number = lab.word("number");
    // With the session's own pass, without one, and as nobody's child; by the socket, and over TCP from this
    // machine's own address.
    let status = home.get("/v1/status").json();
    let at = status["addresses"][0].as_str().unwrap();
    let own = at.split(':').next().unwrap();
    let over_tcp = format!(
        "curl -fsS --max-time 20 --interface {own} -H 'Content-Type: application/json' -d '{{\"allow\": true}}' \
         http://{at}/v1/prompts/$n"
    );
    let tries = [
        format!("{PROGRAM} prompt allow $n"),
        format!("SHROOMS_AGENT_PASS= SHROOMS_AGENT_SESSION= {PROGRAM} prompt allow $n"),
        format!("setsid -w env -u SHROOMS_AGENT_PASS -u SHROOMS_AGENT_SESSION {PROGRAM} prompt allow $n"),
        format!("{PROGRAM} prompt deny $n no"),
        format!("if {over_tcp}; then true; else false; fi"),
        format!("if setsid -w {over_tcp}; then true; else false; fi"),
    ];
    let tries: Vec<String> =
        tries.iter().map(|line| format!("{line} >> '{out}' 2>&1; echo \"code $?\" >> '{out}'")).collect();
    let script = format!(
        "until [ -e '{number}' ]; do sleep 0.05; done; n=$(cat '{number}'); {}; echo end >> '{out}'",
        tries.join("; ")
    );
    let background = json!({"shell": script, "background": true});
    let steps = [vec![background], vec![shell("touch painted")], vec![say("It is painted.")]];
    lab.model.rules(&[rule("Paint it", &steps)]);
    home.say("review", "Paint it.");
    home.allow("review", "Bash");
    let painting = || home.prompts().into_iter().find(|p| p["input"].as_str().is_some_and(|i| i.contains("painted\"")));
    poll("it asks whether it may paint", || painting().is_some());
    let prompt = painting().unwrap();
    std::fs::write(lab.path("number"), prompt["id"].to_string()).unwrap();
    poll("all was tried", || lab.lines("tried").last().is_some_and(|line| line == "end"));
    let tried = lab.lines("tried");
    assert_eq!(tried.iter().filter(|line| *line == "code 1").count(), 6, "{tried:#?}");
    assert_eq!(tried.iter().filter(|line| line.contains("error: 403")).count(), 2, "{tried:#?}");
    assert_eq!(painting(), Some(prompt.clone()), "it is as it was");
    assert!(!home.work.join("painted").exists());
    home.good(&["prompt", "allow", &prompt["id"].to_string()]);
    poll("it is painted", || home.work.join("painted").exists());
    home.until_session("review", "idle");
}

#[test]
fn a_prompt_is_withdrawn_when_its_session_is_stopped() {
    let Some(lab) = Lab::of("a_prompt_is_withdrawn_when_its_session_is_stopped", &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    let finish = [vec![update("review:t", "done", "Painted by hand.")], vec![say("Done.")]];
    lab.model.rules(&[
        rule(r"\[shrooms: the work on task", &finish),
        rule("Paint it", &[&[vec![shell("touch painted")]], &finish[..]].concat()),
    ]);
    let id = home.ask("review", "t", "Paint it.");
    let number = home.prompt("review")["id"].to_string();
    home.good(&["session", "stop", "review"]);
    poll("nothing waits any more", || home.prompts().is_empty());
    poll("the program has ended", || home.get(&format!("/v1/prompts/{number}")).json()["state"] == "withdrawn");
    let late = home.cli(&["prompt", "allow", &number]);
    assert!(late.code == 1 && late.err.contains("was withdrawn"), "{late:?}");
    assert!(home.task(&id)["metadata"]["shrooms/prompt"] != true, "{}", home.task(&id));
    home.good(&["session", "start", "review"]);
    assert_eq!(state(&home.outcome(&id)), "completed");
    assert!(!home.work.join("painted").exists(), "what was not allowed did not run");
}

#[test]
fn what_is_said_while_a_prompt_waits_is_read_once_after_it() {
    let test = "what_is_said_while_a_prompt_waits_is_read_once_after_it";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    let home = &lab[0];
    home.add("review");
    let steps = [vec![shell("touch painted")], vec![update("review:t", "done", "Painted.")], vec![say("Done.")]];
    lab.model.rules(&[rule("Paint it", &steps)]);
    let id = home.ask("review", "t", "Paint it.");
    let number = home.prompt("review")["id"].to_string();
    home.good(&["a2a", "reply", "homeserver/review:t", "Blue, if you can."]);
    home.say("review", "And mind the door.");
    assert_eq!(home.prompt("review")["id"].to_string(), number);
    let said = home.session_log("review").iter().filter(|line| line.starts_with("said ")).count();
    assert_eq!(said, 1, "nothing is written to a program that waits for a person");
    home.good(&["prompt", "allow", &number]);
    assert_eq!(state(&home.outcome(&id)), "completed");
    poll("both are read", || {
        let read = lab.model.requests_of("homeserver/review");
        let whole = read.last().unwrap().texts().concat();
        whole.contains("Blue, if you can.") && whole.contains("And mind the door.")
    });
    home.until_session("review", "idle");
    let read = lab.model.requests_of("homeserver/review");
    let whole = read.last().unwrap().texts().concat();
    for text in ["[shrooms task review:t — more from the owner]\nBlue, if you can.", "And mind the door."] {
        assert_eq!(whole.matches(text).count(), 1, "{text}: {whole}");
    }
}

#[test]
fn a_prompt_of_a_daemon_that_was_killed_takes_no_answer() {
    let Some(mut lab) = Lab::of("a_prompt_of_a_daemon_that_was_killed_takes_no_answer", &["homeserver"]) else {
        return;
    };
    lab[0].add("review");
    let finish = [vec![update("review:t", "done", "Painted by hand.")], vec![say("Done.")]];
    lab.model.rules(&[
        rule(r"\[shrooms: the work on task", &finish),
        rule("Paint it", &[&[vec![shell("touch painted")]], &finish[..]].concat()),
    ]);
    let id = lab[0].ask("review", "t", "Paint it.");
    let number = lab[0].prompt("review")["id"].to_string();
    // What became of the run is not known as long as its launcher holds still.
    let launcher = rustix::process::Pid::from_raw(lab.launcher("review")).unwrap();
    rustix::process::kill_process(launcher, rustix::process::Signal::STOP).unwrap();
    lab[0].kill();
    lab[0].start();
    let late = lab[0].cli(&["prompt", "allow", &number]);
    rustix::process::kill_process(launcher, rustix::process::Signal::CONT).unwrap();
    assert!(late.code == 1 && late.err.contains("takes no other answer"), "it went nowhere: {late:?}");
    assert_eq!(state(&lab[0].outcome(&id)), "completed");
    assert!(!lab[0].work.join("painted").exists());
}
