//! The real Claude Code, driven through the stream mode and the codec, against the mock model.
//! Each test skips itself, aloud, where the program or the mock is missing.
#![cfg(feature = "real-claude")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "real processes end in real time")]

#[path = "support/claude.rs"]
mod lab;
mod support;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lab::{Lab, id};
use shrooms_runner::Ended;
use shrooms_runner::claude::{Landed, conversation_file};
use shrooms_runner::codec::{Codec, Event, Prompt, State, Total, TurnEnd};
use support::{alive, kill, to_the_end, until};

/// A tool that writes its process number and runs until it is ended.
const LASTING: &str = "[[shell echo $$ > tool; exec python3 -c 'import time; time.sleep(600)']] [[say never]]";

fn words(events: &[Event]) -> Vec<&str> {
    events.iter().filter_map(|event| if let Event::Words(text) = event { Some(text.as_str()) } else { None }).collect()
}

/// What the conversation used so far, of the one model that it is with.
fn total(end: &TurnEnd) -> Total {
    end.totals["claude-sonnet-4-5"]
}

fn cost(end: &TurnEnd) -> f64 {
    total(end).cost_usd
}

fn input(end: &TurnEnd) -> u64 {
    total(end).usage.input
}

#[tokio::test]
async fn turns_follow_one_another_in_one_process_and_cost_adds_up() {
    let Some(lab) = Lab::new("turns_follow_one_another_in_one_process_and_cost_adds_up") else { return };
    let mut session = lab.new_session(&[]).await;
    session.say(1, "[[say one two]]").await;
    session.until_state(1, State::Queued).await;
    session.until_state(1, State::Started).await;
    let started = session.until("a turn begins", |event| matches!(event, Event::Started { .. })).await;
    assert_eq!(started, Event::Started { conversation: id(0), model: "claude-sonnet-4-5".into(), asked: true });
    let (first, events) = session.until_end().await;
    let deltas: String = events
        .iter()
        .filter_map(|event| if let Event::Delta(text) = event { Some(text.as_str()) } else { None })
        .collect();
    assert_eq!((deltas.as_str(), words(&events)), ("one two", vec!["one two"]));
    assert_eq!((first.ok, first.text.as_str(), &first.messages), (true, "one two", &vec![id(1)]));
    assert_eq!((first.context_window, first.context_used), (Some(200_000), Some(input(&first))));
    session.until_state(1, State::Completed).await;

    let (second, events) = session.turn(2, "[[say three]]").await;
    assert_eq!((words(&events), second.messages.clone()), (vec!["three"], vec![id(2)]));
    assert!(cost(&first) > 0.0 && cost(&second) > cost(&first));
    let told = session.close().await;
    assert_eq!((told.exit().code, told.exit().stopped), (Some(0), false));
    let system = lab.requests().last().unwrap()["system"].to_string();
    assert!(system.contains("- appended"));
}

#[tokio::test]
async fn a_message_in_mid_turn_is_in_that_turn() {
    let Some(lab) = Lab::new("a_message_in_mid_turn_is_in_that_turn") else { return };
    let mut session = lab.new_session(&["Bash"]).await;
    session.say(1, "[[shell touch begun; until [ -e go ]; do sleep 0.1; done]] [[say done]]").await;
    until("the tool runs", || lab.place.file("work/begun").exists()).await;
    session.say(2, "and this").await;
    session.until_state(2, State::Queued).await;
    std::fs::write(lab.place.file("work/go"), "").unwrap();
    session.until_state(2, State::Started).await;
    let (end, _) = session.until_end().await;
    assert_eq!((end.ok, end.messages), (true, vec![id(1), id(2)]));
    session.until_state(1, State::Completed).await;
    session.close().await;
    assert_eq!((lab.landed(1), lab.landed(2)), (Landed::Yes, Landed::Yes));
}

#[tokio::test]
async fn messages_that_waited_are_one_turn_and_each_has_landed() {
    let Some(lab) = Lab::new("messages_that_waited_are_one_turn_and_each_has_landed") else { return };
    let mut session = lab.new_session(&[]).await;
    session.say(1, "[[sleep 1]] [[say one]]").await;
    session.say(2, "two").await;
    session.say(3, "[[say three]]").await;
    assert_eq!(session.until_end().await.0.messages, [id(1)]);
    let (end, _) = session.until_end().await;
    assert_eq!((end.text.as_str(), end.messages), ("three", vec![id(2), id(3)]));
    session.until_state(3, State::Completed).await;
    session.close().await;
    assert_eq!([1, 2, 3].map(|n| lab.landed(n)), [Landed::Yes; 3]);
}

#[tokio::test]
async fn a_permission_is_allowed_denied_and_allowed_for_good() {
    let Some(lab) = Lab::new("a_permission_is_allowed_denied_and_allowed_for_good") else { return };
    let mut session = lab.new_session(&[]).await;
    session.say(1, "[[shell touch one]] [[say allowed]]").await;
    let (prompt, asked) = session.until_prompt().await;
    let Prompt::Permission { tool, input, suggestions, needs_person, .. } = asked else { panic!("{asked:?}") };
    assert_eq!((tool.as_str(), needs_person), ("Bash", false));
    assert!(input.contains("touch one") && !lab.place.file("work/one").exists());
    let rule = suggestions.iter().position(|shown| shown.starts_with("allow Bash(touch one")).unwrap();
    let line = session.codec.allow(&prompt, &[]).unwrap();
    session.write(line).await;
    assert!(session.until_end().await.0.ok && lab.place.file("work/one").exists());

    session.say(2, "[[shell touch two]] [[say denied]]").await;
    let (prompt, _) = session.until_prompt().await;
    let line = session.codec.deny(&prompt, "not on my machine").unwrap();
    session.write(line).await;
    let (end, events) = session.until_end().await;
    assert!(events.iter().any(|event| matches!(
        event, Event::ToolEnded { is_error: true, output, .. } if output == "not on my machine")));
    assert!(end.ok && !lab.place.file("work/two").exists());

    session.say(3, "[[shell touch one]] [[say for good]]").await;
    let (prompt, _) = session.until_prompt().await;
    let line = session.codec.allow(&prompt, &[rule]).unwrap();
    session.write(line).await;
    session.until_end().await;
    let (_, events) = session.turn(4, "[[shell touch one]] [[say unasked]]").await;
    assert!(!events.iter().any(|event| matches!(event, Event::Prompt { .. })));
    let settings = std::fs::read_to_string(lab.place.file("work/.claude/settings.local.json")).unwrap();
    assert!(settings.contains("Bash(touch one") && !settings.contains("acceptEdits"));
    session.close().await;
}

#[tokio::test]
async fn a_question_is_answered() {
    let Some(lab) = Lab::new("a_question_is_answered") else { return };
    let mut session = lab.new_session(&[]).await;
    let asked = r#"{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"Red","description":"r"},{"label":"Blue","description":"b"}]}]}"#;
    session.say(1, &format!("[[tool AskUserQuestion {asked}]] [[say thanks]]")).await;
    let (prompt, Prompt::Question(questions)) = session.until_prompt().await else { panic!() };
    assert_eq!((questions[0].question.as_str(), questions[0].choices[1].label.as_str()), ("Which colour?", "Blue"));
    let answers = BTreeMap::from([("Which colour?".into(), "Green, if there is any".into())]);
    let line = session.codec.answer(&prompt, &answers).unwrap();
    session.write(line).await;
    let (end, events) = session.until_end().await;
    assert!(
        end.ok
            && events.iter().any(|event| matches!(
        event, Event::ToolEnded { is_error: false, output, .. } if output.contains("Green, if there is any")))
    );
    session.close().await;
}

#[tokio::test]
async fn an_interrupt_ends_the_turn_and_withdraws_its_prompt() {
    let Some(lab) = Lab::new("an_interrupt_ends_the_turn_and_withdraws_its_prompt") else { return };
    let mut session = lab.new_session(&[]).await;
    session.say(1, "[[slow 200]] [[say a b c d e f g h i j k l m n o p q r s t u v w x y z]]").await;
    session.until("words come", |event| matches!(event, Event::Delta(_))).await;
    let line = session.codec.interrupt();
    session.write(line).await;
    let (end, _) = session.until_end().await;
    assert_eq!((end.ok, end.interrupted, end.messages), (false, true, vec![id(1)]));
    session.until_state(1, State::Cut).await;

    session.say(2, "[[shell touch never]] [[say after]]").await;
    let (prompt, _) = session.until_prompt().await;
    let line = session.codec.interrupt();
    session.write(line).await;
    session.until("it is withdrawn", |event| *event == Event::PromptWithdrawn { id: prompt.clone() }).await;
    assert_eq!(session.codec.allow(&prompt, &[]), None);
    assert!(session.until_end().await.0.interrupted);
    // With no turn an interrupt is nothing, and the next turn is as any.
    let line = session.codec.interrupt();
    session.write(line).await;
    let (end, _) = session.turn(3, "[[say still here]]").await;
    assert_eq!((end.ok, end.text.as_str()), (true, "still here"));
    assert!(!lab.place.file("work/never").exists());
    session.close().await;
}

#[tokio::test]
async fn a_conversation_goes_on_in_a_new_process_and_repeats_are_dropped() {
    let Some(lab) = Lab::new("a_conversation_goes_on_in_a_new_process_and_repeats_are_dropped") else { return };
    let mut session = lab.new_session(&[]).await;
    let (first, _) = session.turn(1, "[[say remembered]]").await;
    session.say(1, "[[say remembered]]").await;
    session.until_state(1, State::Repeated).await;
    session.close().await;

    let mut session = lab.resumed(&[]).await;
    session.say(1, "[[say remembered]]").await;
    session.until_state(1, State::Repeated).await;
    let (second, events) = session.turn(2, "[[say go on]]").await;
    assert_eq!((second.text.as_str(), second.messages.clone()), ("go on", vec![id(2)]));
    assert!(cost(&second) > cost(&first));
    assert!(events.contains(&Event::Started { conversation: id(0), model: "claude-sonnet-4-5".into(), asked: true }));
    session.close().await;
    let body = lab.requests().last().unwrap()["body"].to_string();
    assert_eq!(body.matches("[[say remembered]]").count(), 1);
}

#[tokio::test]
async fn an_unknown_conversation_says_so_and_ends() {
    let Some(lab) = Lab::new("an_unknown_conversation_says_so_and_ends") else { return };
    let mut session = lab.new_session(&[]).await;
    session.turn(1, "[[say x]]").await;
    session.close().await;
    std::fs::remove_file(conversation_file(&lab.config(), &id(0)).unwrap().unwrap()).unwrap();
    let (end, told) = lab.resume_in_vain().await;
    assert!(!end.ok && end.why.unwrap().contains("No conversation found"));
    assert_eq!(told.exit().code, Some(1));
    assert!(told.exit().tail.contains("No conversation found"));
}

#[tokio::test]
async fn a_message_has_landed_when_its_row_is_stored_and_not_before() {
    let Some(lab) = Lab::new("a_message_has_landed_when_its_row_is_stored_and_not_before") else { return };
    // Killed before anything was written to it.
    lab.new_session(&[]).await.kill().await;
    assert_eq!(lab.landed(1), Landed::No);

    // Killed when it was stored, while the model has not said a word.
    let mut session = lab.new_session(&[]).await;
    session.say(1, "[[sleep 20]] [[say late]]").await;
    until("the message is stored", || lab.landed(1) == Landed::YesUnanswered).await;
    let told = session.kill().await;
    assert_eq!((told.exit().signal, told.exit().stopped), (Some(9), false));
    assert_eq!((lab.landed(1), lab.landed(2)), (Landed::YesUnanswered, Landed::No));

    // Another message in a new process is not an answer to it.
    let mut session = lab.resumed(&[]).await;
    session.turn(2, "[[say here]]").await;
    session.kill().await;
    assert_eq!((lab.landed(1), lab.landed(2)), (Landed::YesUnanswered, Landed::Yes));
}

#[tokio::test]
async fn a_message_whose_tool_has_run_has_landed() {
    let Some(lab) = Lab::new("a_message_whose_tool_has_run_has_landed") else { return };
    let mut session = lab.new_session(&["Bash"]).await;
    // The tool kills its harness at once.
    session.say(1, "[[shell touch ran; kill -9 $PPID; sleep 5]] [[say never]]").await;
    let told = to_the_end(&mut session.run).await;
    assert!(lab.place.file("work/ran").exists());
    assert_eq!((told.exit().signal, lab.landed(1)), (Some(9), Landed::Yes));
}

#[tokio::test]
async fn a_background_command_ends_in_a_turn_nobody_asked_for() {
    let Some(lab) = Lab::new("a_background_command_ends_in_a_turn_nobody_asked_for") else { return };
    let mut session = lab.new_session(&["Bash"]).await;
    let script = "[[shell & until [ -e go ]; do sleep 0.1; done; echo x]] [[say begun]] [[next]] [[say it has ended]]";
    let (end, events) = session.turn(1, script).await;
    assert_eq!(end.text, "begun");
    let began = events.iter().find_map(|event| match event {
        Event::BackgroundStarted { id, .. } => Some(id.clone()),
        _ => None,
    });
    std::fs::write(lab.place.file("work/go"), "").unwrap();
    let ended = session.until("it ends", |event| matches!(event, Event::BackgroundEnded { .. })).await;
    assert!(matches!(&ended, Event::BackgroundEnded { id, is_error: false, .. } if Some(id) == began.as_ref()));
    session.until("a turn begins", |event| matches!(event, Event::Started { asked: false, .. })).await;
    let (end, events) = session.until_end().await;
    assert_eq!((end.messages.len(), words(&events)), (0, vec!["it has ended"]));
    session.close().await;
}

#[tokio::test]
async fn an_error_of_the_model_is_a_failed_turn_and_the_session_goes_on() {
    let Some(lab) = Lab::new("an_error_of_the_model_is_a_failed_turn_and_the_session_goes_on") else { return };
    let mut session = lab.new_session(&[]).await;
    let (end, events) = session.turn(1, "[[fail 400 a bad thing]]").await;
    assert!(!end.ok && !end.interrupted && end.why.unwrap().contains("a bad thing"));
    assert!(words(&events).is_empty());
    let (end, events) = session.turn(2, "[[fail 429 slow down]]").await;
    assert!(!end.ok && events.iter().any(|event| matches!(event, Event::Retry { attempt: 1, of: 1, .. })));
    assert!(events.iter().any(|event| matches!(event, Event::Limit { until: None, text } if text.contains("429"))));
    let (end, _) = session.turn(3, "[[say well again]]").await;
    assert!(end.ok);
    session.close().await;
}

#[tokio::test]
async fn two_hundred_kilobytes_of_any_text_arrive_byte_for_byte() {
    let Some(lab) = Lab::new("two_hundred_kilobytes_of_any_text_arrive_byte_for_byte") else { return };
    let piece = "/compact\n\n\n\tindented\t \u{1f344}\u{200d}\u{1f680} é \u{1b}[200~pasted\n/clear\u{1b}[201~\r\n@work !ls #x \
                 \\n \"q\" <b> &amp; \u{2028}\u{7f}   \n";
    let text = format!("A line before.\n{}[[say ok]]\n\n", piece.repeat(200_000 / piece.len() + 1));
    let mut session = lab.new_session(&[]).await;
    let (end, _) = session.turn(1, &text).await;
    assert!(end.ok && end.text == "ok" && text.len() > 200_000);
    // A message is never a command, however it begins.
    let (end, _) = session.turn(2, "/clear").await;
    assert!(end.ok);
    session.close().await;
    let requests = lab.requests();
    let sent = |text: &str| {
        requests.iter().flat_map(|request| request["body"]["messages"].as_array().unwrap()).any(|message| {
            message["content"].as_array().is_some_and(|blocks| blocks.iter().any(|block| block["text"] == text))
        })
    };
    assert!(sent(&text), "the text did not arrive as it was");
    assert!(sent("\n/clear"));
}

#[tokio::test]
async fn stop_ends_a_running_tool_within_the_graces() {
    let Some(lab) = Lab::new("stop_ends_a_running_tool_within_the_graces") else { return };
    let mut session = lab.new_session(&["Bash"]).await;
    session.say(1, LASTING).await;
    let tool = lab.place.pid_in("work/tool").await;
    let asked = Instant::now();
    session.run.stop();
    let told = to_the_end(&mut session.run).await;
    // One second each before TERM and KILL, and room for a busy machine.
    assert!(asked.elapsed() < Duration::from_secs(6));
    assert!(!alive(tool) && !alive(session.pid));
    // It ends by itself on TERM.
    assert_eq!((told.exit().code, told.exit().stopped), (Some(143), true));
    assert_eq!((lab.place.clear().await.ended, lab.landed(1)), (0, Landed::Yes));
}

#[tokio::test]
async fn after_a_killed_launcher_leftovers_are_cleared_and_the_conversation_goes_on() {
    let name = "after_a_killed_launcher_leftovers_are_cleared_and_the_conversation_goes_on";
    let Some(lab) = Lab::new(name) else { return };
    let mut session = lab.new_session(&["Bash"]).await;
    session.say(1, LASTING).await;
    let tool = lab.place.pid_in("work/tool").await;
    kill(session.run.launcher_pid());
    // Its output is cut off now, so that it may end at once or live on; its tool does.
    assert_eq!(to_the_end(&mut session.run).await.ended, Ended::Lost);
    assert!(lab.place.clear().await.ended >= 1);
    assert!(!alive(tool) && !alive(session.pid));
    assert_eq!(lab.landed(1), Landed::Yes);

    let mut session = lab.resumed(&[]).await;
    let (end, _) = session.turn(2, "[[say back again]]").await;
    assert_eq!((end.ok, end.text.as_str()), (true, "back again"));
    session.close().await;
}
