//! The worked example across two machines, and tasks that outlive the wait of whoever asked.

use serde_json::json;

use crate::lab::{Lab, poll};
use crate::model::{rule, say, shell, tool, update};
use crate::place::text;

const LAPTOP: usize = 0;
const HOME: usize = 1;
/// What the person says, and what the asker asks.
const PERSON: &str = "Ask the review agent on the home server whether branch checkout-retry is fine.";
const REQUEST: &str = "This is laptop/webapp. Please review branch checkout-retry.";

/// Two machines, with a session of Claude Code each.
fn two(test: &str) -> Option<Lab> {
    let lab = Lab::of(test, &["laptop", "homeserver"])?;
    lab[LAPTOP].add("webapp");
    lab[HOME].add("review");
    Some(lab)
}

#[test]
fn the_worked_example_goes_as_it_is_written() {
    let Some(lab) = two("the_worked_example_goes_as_it_is_written") else { return };
    let (laptop, home) = (&lab[LAPTOP], &lab[HOME]);
    let ask = json!({"to": "homeserver/review", "title": "Review checkout-retry", "text": REQUEST});
    let begin = [vec![say("I look who is there."), tool("list_agents", json!({}))], vec![tool("ask_agent", ask)]];
    let look = vec![say("I look at the branch."), shell("touch looked")];
    lab.model.rules(&[
        rule("Ask the review agent", &begin),
        rule(r"\[shrooms task review:\S+ from", std::slice::from_ref(&look)),
    ]);
    laptop.say("webapp", PERSON);

    // Looking who is there asks nobody; asking somebody does.
    let prompt = laptop.prompt("webapp");
    assert_eq!((&prompt["kind"], &prompt["tool"]), (&json!("permission"), &json!("mcp__shrooms__ask_agent")));
    assert!(prompt["task"].is_null() && prompt["input"].as_str().unwrap().contains(REQUEST), "{prompt}");
    let agents = lab.model.requests_of("laptop/webapp");
    let listed = agents.last().unwrap().returns_of("list_agents").concat();
    assert!(listed.contains("homeserver/review") && listed.contains("claude"), "{listed}");
    let number = prompt["id"].to_string();
    let list = laptop.good(&["prompt", "list"]);
    assert!(list.contains(&format!("{number}: session webapp")) && list.contains("ask_agent"), "{list}");
    assert!(laptop.asks().is_empty(), "nothing is asked before that");
    assert_eq!(laptop.good(&["prompt", "allow", &number]), format!("prompt {number}: allowed\n"));

    // The worker asks its owner before it touches a file: the task says so, and the asker waits on.
    let reference = laptop.asked(REQUEST);
    let id = reference.strip_prefix("homeserver/").unwrap();
    let prompt = home.prompt("review");
    assert_eq!((prompt["tool"].as_str(), prompt["task"].as_str()), (Some("Bash"), Some(id)), "{prompt}");
    for (place, name) in [(home, id), (laptop, reference.as_str())] {
        let task = place.until(name, "input-required");
        assert_eq!(task["metadata"]["shrooms/prompt"], true, "{task}");
    }
    assert_eq!(laptop.session("webapp")["state"], "working");

    let answer = json!({"task": reference, "text": "I have pushed it now."});
    let rest = [
        vec![say("It asks which branch."), tool("ask_agent", answer)],
        vec![tool("task_ack", json!({"task": reference}))],
        vec![say("The review says it is fine but for three problems.")],
    ];
    let blocked = update(id, "blocked", "The branch is not on origin. Is it pushed?");
    lab.model.rules(&[
        rule("Ask the review agent", &[&begin[..], &rest[..]].concat()),
        rule("more from laptop", &[vec![update(id, "done", "Three problems: ...")], vec![say("Done.")]]),
        rule(r"\[shrooms task review:\S+ from", &[look, vec![blocked], vec![say("I wait for them.")]]),
    ]);
    home.allow("review", "Bash");
    home.until(id, "input-required");
    laptop.allow("webapp", "mcp__shrooms__ask_agent");
    let done = home.until(id, "completed");
    assert_eq!(text(&done), "Three problems: ...");
    poll("it is acknowledged", || home.task(id)["metadata"]["shrooms/acknowledged"] == true);
    laptop.until_session("webapp", "idle");
    home.until_session("review", "idle");
    assert!(home.work.join("looked").exists());

    // The worker has read who asks what, how to finish, and the answer.
    let read = lab.model.requests_of("homeserver/review");
    let said = read.last().unwrap().texts();
    let header = format!("[shrooms task {id} from laptop.home (laptop/webapp)]\n{REQUEST}\n\n[This is a task: ");
    assert!(said.len() == 2 && said[0].starts_with(&header), "{said:#?}");
    let closing = format!("mcp__shrooms__task_update) for task \"{id}\": state \"done\" and a short summary");
    assert!(said[0].contains(&closing) && said[0].ends_with("brings reminders.]"), "{said:#?}");
    let more = format!("[shrooms task {id} — more from laptop.home (laptop/webapp)]\nI have pushed it now.\n");
    assert!(said[1].starts_with(&more) && said[1].contains("Is it pushed?"), "{said:#?}");

    // The asker has read the question and the end as returns, and nothing else was said to it.
    let read = lab.model.requests_of("laptop/webapp");
    let last = read.last().unwrap();
    let returns = last.returns_of("ask_agent");
    assert_eq!(returns.len(), 2, "{returns:#?}");
    assert!(returns[0].starts_with(&format!("task {reference}: input-required\n")), "{returns:#?}");
    assert!(returns[0].contains("The branch is not on origin. Is it pushed?"), "{returns:#?}");
    assert_eq!(returns[1], format!("task {reference}: completed\n\nThree problems: ...\n"));
    assert_eq!((read.len(), last.texts()), (5, vec![PERSON]), "one request for each step");
    assert_eq!(last.returns_of("task_ack").len(), 1);

    // And no turn follows: the next thing that each of them reads is what its person says.
    lab.model.rules(&[rule("And now", &[vec![say("Nothing.")]])]);
    for (place, session, agent, before) in
        [(laptop, "webapp", "laptop/webapp", 1), (home, "review", "homeserver/review", 2)]
    {
        let requests = lab.model.requests_of(agent).len();
        place.say(session, "And now?");
        poll(&format!("{session} reads it"), || lab.model.requests_of(agent).len() > requests);
        let read = lab.model.requests_of(agent);
        assert_eq!(read[requests].texts().len(), before + 1, "{:#?}", read[requests].texts());
    }
    assert_eq!((lab.starts("webapp"), lab.starts("review")), (1, 1));
    assert!(lab.is_held("webapp") && lab.is_held("review"), "the witness sees who runs");
}

#[test]
fn a_task_that_outlives_the_wait_comes_as_a_turn_and_once() {
    let test = "a_task_that_outlives_the_wait_comes_as_a_turn_and_once";
    let Some(lab) = Lab::of(test, &["laptop", "homeserver"]) else { return };
    let (laptop, home) = (&lab[LAPTOP], &lab[HOME]);
    laptop.add_auto("webapp");
    home.add_auto("review");
    let wait = format!("until [ -e '{}' ]; do sleep 0.05; done", lab.word("go"));
    let busy = rule("keep yourself busy", &[vec![shell(&wait)], vec![update("review:busy", "done", "Enough.")]]);
    let ask =
        |text: &str, wait: bool| tool("ask_agent", json!({"to": "homeserver/review", "text": text, "wait": wait}));
    let first = rule("Ask without", &[vec![ask("The first request.", false)], vec![say("It is asked.")]]);
    let second = rule("Ask and wait", &[vec![ask("The second request.", true)], vec![say("I go on later.")]]);
    lab.model.rules(&[busy.clone(), first.clone(), second.clone()]);
    home.ask("review", "busy", "Please keep yourself busy.");
    home.until("review:busy", "working");

    // One that does not wait; it stands in the queue.
    laptop.say("webapp", "Ask without waiting.");
    let one = laptop.asked("The first request.");
    poll("the turn is over", || lab.model.requests_of("laptop/webapp").len() == 2);
    let read = lab.model.requests_of("laptop/webapp");
    let said = read[1].returns_of("ask_agent").concat();
    assert!(said.starts_with(&format!("task {one}: submitted\n")), "{said}");
    // One that waits, until its owner wants something of the asker.
    laptop.say("webapp", "Ask and wait.");
    let two = laptop.asked("The second request.");
    laptop.say("webapp", "How far are you?");
    laptop.until_session("webapp", "idle");
    let read = lab.model.requests_of("laptop/webapp");
    let said = read.last().unwrap().returns_of("ask_agent")[1];
    let why = "(the wait ended, because something waits for you: a message of your owner; end your turn, and the \
               result will come to you as a message)";
    assert!(said.starts_with(&format!("task {two}: submitted\n")) && said.contains(why), "{said}");

    let id = |reference: &str| reference.strip_prefix("homeserver/").unwrap().to_string();
    let worker = |reference: &str, summary: &str| {
        let done = update(&id(reference), "done", summary);
        rule(&format!(r"\[shrooms task {} from", id(reference)), &[vec![done], vec![say("Done.")]])
    };
    let told = |reference: &str| {
        let ack = tool("task_ack", json!({"task": reference}));
        rule(&format!(r"\[shrooms task {reference} completed"), &[vec![ack], vec![say("I have it.")]])
    };
    let results = [told(&one), told(&two), worker(&one, "First result."), worker(&two, "Second result.")];
    lab.model.rules(&[&results[..], &[busy, first, second]].concat());
    lab.touch("go");
    for reference in [&one, &two] {
        let acknowledged = || home.task(&id(reference))["metadata"]["shrooms/acknowledged"] == true;
        poll(&format!("{reference} is acknowledged"), acknowledged);
    }
    laptop.until_session("webapp", "idle");
    let read = lab.model.requests_of("laptop/webapp");
    let last = read.last().unwrap();
    for (reference, request, result) in
        [(&one, "The first request.", "First result."), (&two, "The second request.", "Second result.")]
    {
        let head = format!("[shrooms task {reference} completed]\nYou had asked: {request}\n\n{result}\n\n");
        let close = format!("[When you have what you need, call the shrooms tool task_ack with task \"{reference}\".]");
        assert_eq!(last.texts().iter().filter(|text| **text == format!("{head}{close}")).count(), 1, "{last:#?}");
        assert_eq!(last.begins(&format!("[shrooms task {reference} ")), 1, "{last:#?}");
    }
    assert_eq!(last.returns_of("ask_agent").len(), 2, "no result came as a return, too: {last:#?}");
    assert!(laptop.asks().iter().filter(|ask| ask["to"] == "homeserver/review").all(|ask| ask["told"] == true));
}
