//! One conversation, and one writer of it: a session hands it to a terminal and takes it back, also
//! where the terminal or the daemon is killed meanwhile; and a conversation that began in a terminal
//! goes on as a session.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

use crate::lab::{Lab, poll};
use crate::model::{rule, say};
use crate::place::{kill, state};

#[test]
fn a_terminal_takes_a_conversation_over_and_what_came_meanwhile_is_worked_on_after_it() {
    let test = "a_terminal_takes_a_conversation_over_and_what_came_meanwhile_is_worked_on_after_it";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    lab[0].add("review");
    lab.model.rules(&[
        rule("Remember", &[vec![say("I remember it.")]]),
        rule("from the terminal", &[vec![say("A blue bird, as you said.")]]),
        rule("And now", &[vec![say("Still the bird.")]]),
    ]);
    lab[0].say("review", "Remember the blue bird.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    lab[0].until_session("review", "idle");
    // The real program, once, without a screen: as a terminal's it is the same program on the same file.
    let said = lab[0].in_terminal(&["session", "attach", "review", "--", "-p", "What was it? (from the terminal)"]);
    assert!(said.code == 0 && said.out.contains("A blue bird, as you said."), "{said:?}");
    lab[0].until_session("review", "idle");
    lab[0].say("review", "And now?");
    // What was said in the terminal was said in the same conversation, and is read on.
    poll("the session goes on", || lab.model.requests().len() == 3);
    let read = lab.model.requests();
    let said = ["Remember the blue bird.", "What was it? (from the terminal)", "And now?"];
    assert_eq!(read.last().unwrap().texts(), said);
}

/// Holds a lock as the command line does: a process that is no child of the daemon's.
fn hold(answer: &Value) -> Child {
    let lock = answer["lock"].as_str().unwrap();
    let script = "exec 9>>\"$1\"; flock -n 9 || exit 1; echo $$; exec sleep 1000";
    let mut child = Command::new("sh").args(["-c", script, "sh", lock]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(!line.is_empty(), "it holds {lock}");
    child
}

#[test]
fn while_a_terminal_has_it_nothing_is_written_and_its_death_gives_it_back() {
    let test = "while_a_terminal_has_it_nothing_is_written_and_its_death_gives_it_back";
    let Some(mut lab) = Lab::of(test, &["homeserver"]) else { return };
    lab[0].add("review");
    lab.model.rules(&[rule("Hello", &[vec![say("Hello.")]]), rule("from the owner", &[vec![say("I am at it.")]])]);
    lab[0].say("review", "Hello.");
    poll("it is read", || !lab.model.requests_of("homeserver/review").is_empty());
    lab[0].until_session("review", "idle");
    let attach = |lab: &Lab| lab[0].post("/v1/sessions/review/attach", &json!({}));
    let answer = attach(&lab);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let words = answer.json()["program"].as_array().unwrap().clone();
    assert!(words.iter().any(|w| w.as_str().unwrap().starts_with("--resume=")), "{words:?}");
    let mut terminal = hold(&answer.json());
    assert_eq!(lab[0].session("review")["state"], "attached");
    let id = lab[0].ask("review", "t", "Please look.");
    let refused = attach(&lab);
    assert!(refused.status == 409 && refused.body.contains("a terminal has the conversation"), "{}", refused.body);
    // A daemon that dies meanwhile leaves the terminal what it has.
    lab[0].kill();
    lab[0].start();
    let begun = Instant::now();
    poll("three seconds have passed", || begun.elapsed().as_secs() >= 3);
    assert_eq!(lab[0].session("review")["state"], "attached");
    assert_eq!((state(&lab[0].task(&id)).as_str(), lab.starts("review")), ("submitted", 1));
    kill(terminal.id() as i32);
    terminal.wait().unwrap();
    lab[0].until(&id, "working");
    assert_eq!(lab.starts("review"), 2);
    poll("its turn is over", || lab[0].session("review")["state"] == "idle");
    // One that never takes its lock, or says that it is done, gives it back, too.
    assert_eq!(attach(&lab).status, 200);
    assert_eq!(lab[0].post("/v1/sessions/review/detach", &json!({})).status, 204);
    assert_eq!(lab[0].session("review")["state"], "idle");
}

#[test]
fn a_conversation_that_began_in_a_terminal_is_listed_and_goes_on_as_a_session() {
    let test = "a_conversation_that_began_in_a_terminal_is_listed_and_goes_on_as_a_session";
    let Some(lab) = Lab::of(test, &["homeserver"]) else { return };
    lab.model.rules(&[
        rule("Remember", &[vec![say("I remember it.")]]),
        rule("What was it", &[vec![say("A blue bird.")]]),
        rule("Anew", &[vec![say("Who are you?")]]),
    ]);
    let said = lab[0].alone(&["-p", "Remember the blue bird."]);
    assert!(said.contains("I remember it."), "{said}");
    let list = || lab[0].get("/v1/conversations").json()["conversations"].as_array().unwrap().clone();
    let found = list();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["title"], "Remember the blue bird.");
    assert_eq!(found[0]["dir"].as_str().unwrap(), lab[0].work.canonicalize().unwrap().to_str().unwrap());
    let id = found[0]["id"].as_str().unwrap().to_string();
    let table = lab[0].good(&["session", "conversations"]);
    assert!(table.contains(&id) && table.contains("Remember the blue bird."), "{table}");
    let unknown = "00000000-0000-4000-8000-00000000dead";
    let said = lab[0].cli(&["session", "add", "old", "--resume", unknown]);
    assert!(said.code == 1 && said.err.contains("session conversations"), "{said:?}");
    let said = lab[0].cli(&["session", "add", "old", "--resume", &id]);
    assert!(said.code == 0 && said.err.contains("end it in its terminal"), "{said:?}");
    assert_eq!(list(), Vec::<Value>::new(), "it is a session's now");
    let again = lab[0].cli(&["session", "add", "other", "--resume", &id]);
    assert!(again.code == 1, "{again:?}");
    lab[0].say("old", "What was it?");
    poll("it goes on", || !lab.model.requests_of("homeserver/old").is_empty());
    let read = lab.model.requests_of("homeserver/old");
    let texts = read[0].texts();
    assert!(texts.iter().any(|t| t.contains("Remember the blue bird.")), "{texts:?}");
    lab[0].until_session("old", "idle");
    assert_eq!(lab[0].session("old")["conversation"], id.as_str());
    // A new conversation of the session leaves the old one to whoever wants it.
    lab[0].good(&["session", "new", "old"]);
    lab[0].say("old", "Anew.");
    poll("it began anew", || lab.model.requests_of("homeserver/old").len() == 2);
    let read = lab.model.requests_of("homeserver/old");
    assert!(!read[1].texts().iter().any(|t| t.contains("Remember")), "{:?}", read[1].texts());
    assert_eq!(list().len(), 1);
}
