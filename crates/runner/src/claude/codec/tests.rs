//! Lines as Claude Code prints them, as tables: text in, shown events out.

use super::*;
use crate::codec::{Total, Usage};

const A: &str = "00000000-0000-4000-8000-00000000000a";
const B: &str = "00000000-0000-4000-8000-00000000000b";

/// Lines with `A` and `B` for the ids, and what they mean, shown.
#[track_caller]
fn check(claude: &mut Claude, lines: &[&str], expected: &[&str]) {
    let mut events = Vec::new();
    for line in lines {
        claude.feed(&line.replace("$A", A).replace("$B", B), &mut events);
    }
    let shown: Vec<String> = events.iter().map(show).collect();
    assert_eq!(shown, expected);
}

#[track_caller]
fn fresh(lines: &[&str], expected: &[&str]) {
    check(&mut Claude::new(), lines, expected);
}

fn show(event: &Event) -> String {
    let end = |end: &TurnEnd| {
        let total = |(model, total): (&String, &Total)| {
            let Usage { input, output, cache_read, cache_write } = total.usage;
            let is = if total.guessed { '~' } else { '=' };
            format!("{model}:{input}/{output}/{cache_read}/{cache_write}{is}{}", total.cost_usd)
        };
        format!(
            "end ok={} interrupted={} why={:?} text={:?} messages={} totals={} context={:?}/{:?}",
            end.ok,
            end.interrupted,
            end.why,
            end.text,
            end.messages.join(","),
            end.totals.iter().map(total).collect::<Vec<_>>().join(" "),
            end.context_used,
            end.context_window
        )
    };
    let shown = match event {
        Event::TurnEnded(ended) => end(ended),
        other => format!("{other:?}"),
    };
    shown.replace(A, "$A").replace(B, "$B")
}

fn lifecycle(id: &str, state: &str) -> String {
    format!(r#"{{"type":"command_lifecycle","command_uuid":"{id}","state":"{state}","uuid":"u","session_id":"c"}}"#)
}

fn echo(id: &str) -> String {
    format!(r#"{{"type":"user","message":{{"role":"user","content":[]}},"uuid":"{id}","isReplay":true}}"#)
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"c","model":"m","tools":[]}"#;
const ENDED: &str =
    r#"{"type":"result","subtype":"success","is_error":false,"result":"hi","terminal_reason":"completed"}"#;

#[test]
fn what_is_not_known_is_a_sign_of_life() {
    for line in [
        "",
        "no JSON",
        "[]",
        "null",
        r#""text""#,
        r#"{"type":7}"#,
        r#"{"type":"new_kind","x":1}"#,
        r#"{"type":"system","subtype":"status","status":"requesting"}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}]}}"#,
        r#"{"type":"assistant","message":null}"#,
        r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#,
        r#"{"type":"control_response","response":{"subtype":"success","request_id":"interrupt-1"}}"#,
        r#"{"type":"control_cancel_request","request_id":"never seen"}"#,
        r#"{"type":"stream_event","event":{"type":"message_stop"},"parent_tool_use_id":null}"#,
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":5}}"#,
    ] {
        fresh(&[line], &["Other"]);
    }
}

#[test]
fn a_turn_is_asked_when_a_message_of_ours_is_in_it() {
    let mut claude = Claude::new();
    claude.message(A, "x");
    check(
        &mut claude,
        &[&lifecycle(A, "queued"), &lifecycle(A, "started"), INIT, &echo(A), ENDED, &lifecycle(A, "completed")],
        &[
            r#"Lifecycle { id: "$A", state: Queued }"#,
            r#"Lifecycle { id: "$A", state: Started }"#,
            r#"Started { conversation: "c", model: "m", asked: true }"#,
            "Other",
            r#"end ok=true interrupted=false why=None text="hi" messages=$A totals= context=None/None"#,
            r#"Lifecycle { id: "$A", state: Completed }"#,
        ],
    );
    check(
        &mut claude,
        &[INIT, ENDED],
        &[
            r#"Started { conversation: "c", model: "m", asked: false }"#,
            r#"end ok=true interrupted=false why=None text="hi" messages= totals= context=None/None"#,
        ],
    );
}

#[test]
fn a_message_in_mid_turn_belongs_to_the_turn_it_was_folded_into() {
    let mut claude = Claude::new();
    claude.message(A, "x");
    check(
        &mut claude,
        &[&lifecycle(A, "started"), INIT],
        &[r#"Lifecycle { id: "$A", state: Started }"#, r#"Started { conversation: "c", model: "m", asked: true }"#],
    );
    claude.message(B, "y");
    check(
        &mut claude,
        &[&lifecycle(B, "queued"), &echo(B), &lifecycle(B, "started"), &lifecycle(B, "completed"), ENDED],
        &[
            r#"Lifecycle { id: "$B", state: Queued }"#,
            "Other",
            r#"Lifecycle { id: "$B", state: Started }"#,
            r#"Lifecycle { id: "$B", state: Completed }"#,
            r#"end ok=true interrupted=false why=None text="hi" messages=$A,$B totals= context=None/None"#,
        ],
    );
}

#[test]
fn a_dropped_repeat_is_told_once() {
    // In the same process: an echo and nothing else.
    let mut claude = Claude::new();
    claude.message(A, "x");
    check(
        &mut claude,
        &[&lifecycle(A, "started"), &echo(A), &lifecycle(A, "completed")],
        &[r#"Lifecycle { id: "$A", state: Started }"#, "Other", r#"Lifecycle { id: "$A", state: Completed }"#],
    );
    claude.message(A, "x");
    check(&mut claude, &[&echo(A), &echo(A)], &[r#"Lifecycle { id: "$A", state: Repeated }"#, "Other"]);
    // After a resume: an echo, and an end at once. Echoes of what is not ours say nothing.
    let mut claude = Claude::new();
    claude.message(A, "x");
    let repeated = r#"Lifecycle { id: "$A", state: Repeated }"#;
    check(&mut claude, &[&echo(B), &echo(A), &lifecycle(A, "completed")], &["Other", repeated, "Other"]);
}

#[test]
fn a_message_whose_turn_was_cut_or_that_never_ran_says_so() {
    fresh(
        &[&lifecycle(A, "started"), &lifecycle(A, "cancelled")],
        &[r#"Lifecycle { id: "$A", state: Started }"#, r#"Lifecycle { id: "$A", state: Cut }"#],
    );
    for ended in ["cancelled", "discarded", "refused"] {
        fresh(
            &[&lifecycle(A, "queued"), &lifecycle(A, ended)],
            &[r#"Lifecycle { id: "$A", state: Queued }"#, r#"Lifecycle { id: "$A", state: NotRun }"#],
        );
    }
}

#[test]
fn words_are_the_workers_own() {
    let words = r#"{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"hi\nyou"}]},"parent_tool_use_id":null}"#;
    let delta = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"h"}},"parent_tool_use_id":null}"#;
    let helper = r#""parent_tool_use_id":"t1""#;
    fresh(&[words, delta], &[r#"Words("hi\nyou")"#, r#"Delta("h")"#]);
    let none = r#""parent_tool_use_id":null"#;
    fresh(&[&words.replace(none, helper), &delta.replace(none, helper)], &["Other", "Other"]);
    let error = words.replace("\"type\":\"assistant\"", "\"type\":\"assistant\",\"is_api_error_message\":true");
    fresh(&[&error], &["Other"]);
}

#[test]
fn tools_are_told_with_who_uses_them() {
    let started = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls -l","description":"d"}}]},"parent_tool_use_id":"t1"}"#;
    let other =
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t3","name":"Odd","input":{"n":1}}]}}"#;
    let ended = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"Exit code 1","is_error":true},{"type":"tool_result","tool_use_id":"t3","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}]}}"#;
    fresh(
        &[started, other, ended],
        &[
            r#"ToolStarted { id: "t2", name: "Bash", input: "ls -l", by: Some("t1") }"#,
            r#"ToolStarted { id: "t3", name: "Odd", input: "{\"n\":1}", by: None }"#,
            r#"ToolEnded { id: "t2", is_error: true, output: "Exit code 1" }"#,
            r#"ToolEnded { id: "t3", is_error: false, output: "a\nb" }"#,
        ],
    );
    let mut events = Vec::new();
    Claude::new().feed(&started.replace("ls -l", &"é".repeat(3_000)), &mut events);
    let Event::ToolStarted { input, .. } = &events[0] else { panic!() };
    assert_eq!(input.chars().count(), crate::codec::MAX_SUMMARY + 1);
}

const PERMISSION: &str = r#"{"type":"control_request","request_id":"p1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch x"},"permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x *"},{"toolName":"Read"}],"behavior":"allow","destination":"localSettings"},{"type":"addDirectories","directories":["/d"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"new","x":1}],"decision_reason":"because","tool_use_id":"t"}}"#;

#[test]
fn a_permission_is_answered_once_and_grants_exactly_what_was_shown() {
    let asked = r#"Prompt { id: "p1", prompt: Permission { tool: "Bash", input: "{\"command\":\"touch x\"}", why: "because", suggestions: ["allow Bash(touch x *), Read in this directory, for you", "work in /d for this session", "mode acceptEdits for this session", "{\"type\":\"new\",\"x\":1}"], needs_person: false } }"#;
    let mut claude = Claude::new();
    check(&mut claude, &[PERMISSION], &[asked]);
    assert_eq!(claude.allow("p2", &[]), None);
    assert_eq!(claude.allow("p1", &[9]), None);
    assert_eq!(claude.answer("p1", &BTreeMap::from([("q".into(), "a".into())])), None);
    let answer: Value = serde_json::from_str(&claude.allow("p1", &[1]).unwrap()).unwrap();
    let expected = json!({"type":"control_response","response":{"subtype":"success","request_id":"p1","response":{
        "behavior":"allow","updatedInput":{"command":"touch x"},
        "updatedPermissions":[{"type":"addDirectories","directories":["/d"],"destination":"session"}]}}});
    assert_eq!(answer, expected);
    assert_eq!((claude.allow("p1", &[]), claude.deny("p1", "no")), (None, None));

    check(&mut claude, &[PERMISSION], &[asked]);
    let answer: Value = serde_json::from_str(&claude.deny("p1", "no").unwrap()).unwrap();
    assert_eq!(answer["response"]["response"], json!({"behavior":"deny","message":"no"}));

    check(&mut claude, &[PERMISSION], &[asked]);
    let withdrawn = r#"{"type":"control_cancel_request","request_id":"p1"}"#;
    check(&mut claude, &[withdrawn], &[r#"PromptWithdrawn { id: "p1" }"#]);
    assert_eq!(claude.allow("p1", &[]), None);
    let plan = PERMISSION.replace("\"decision_reason\"", "\"requires_user_interaction\":true,\"decision_reason\"");
    check(&mut claude, &[&plan], &[&asked.replace("needs_person: false", "needs_person: true")]);
}

#[test]
fn a_question_takes_answers_to_what_it_asks() {
    let mut claude = Claude::new();
    let line = r#"{"type":"control_request","request_id":"p1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":"a"}],"multiSelect":true}]},"requires_user_interaction":true}}"#;
    check(
        &mut claude,
        &[line],
        &[
            r#"Prompt { id: "p1", prompt: Question([Question { question: "Which?", header: "H", choices: [Choice { label: "A", description: "a" }], several: true }]) }"#,
        ],
    );
    let answers = |question: &str| BTreeMap::from([(question.to_owned(), "A".to_owned())]);
    assert_eq!((claude.allow("p1", &[]), claude.answer("p1", &answers("Other?"))), (None, None));
    assert_eq!(claude.answer("p1", &BTreeMap::new()), None);
    let answer: Value = serde_json::from_str(&claude.answer("p1", &answers("Which?")).unwrap()).unwrap();
    let response = &answer["response"]["response"];
    assert_eq!(response["behavior"], "allow");
    assert_eq!(response["updatedInput"]["answers"], json!({"Which?":"A"}));
    assert_eq!(response["updatedInput"]["questions"][0]["header"], "H");
    assert_eq!(claude.answer("p1", &answers("Which?")), None);
}

#[test]
fn a_request_for_what_we_do_not_have_is_refused_and_not_left_waiting() {
    let line = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"elicitation"}}"#;
    fresh(
        &[line],
        &[
            r#"Reply("{\"response\":{\"error\":\"not supported\",\"request_id\":\"r1\",\"subtype\":\"error\"},\"type\":\"control_response\"}")"#,
        ],
    );
}

#[test]
fn an_end_is_an_error_by_its_flag_and_says_why() {
    let end = |rest: &str| format!(r#"{{"type":"result",{rest}}}"#);
    let shown = |why: &str, interrupted: bool| {
        format!(
            "end ok=false interrupted={interrupted} why=Some({why:?}) text=\"\" messages= totals= context=None/None"
        )
    };
    for (line, why, interrupted) in [
        (
            r#""subtype":"success","is_error":true,"terminal_reason":"api_error","result":"API Error: 400 x""#,
            "API Error: 400 x",
            false,
        ),
        (
            r#""subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools","errors":["[ede_diagnostic] y"]"#,
            "aborted tools",
            true,
        ),
        (
            r#""subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]"#,
            "No conversation found",
            false,
        ),
        (r#""subtype":"error_max_turns","is_error":true"#, "error_max_turns", false),
    ] {
        fresh(&[&end(line)], &[&shown(why, interrupted)]);
    }
}

#[test]
fn figures_are_running_totals_by_model() {
    let mut claude = Claude::new();
    check(&mut claude, &[INIT], &[r#"Started { conversation: "c", model: "m", asked: false }"#]);
    let words = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"x"}],"usage":{"input_tokens":10,"cache_read_input_tokens":20,"cache_creation_input_tokens":3,"output_tokens":1}}}"#;
    check(&mut claude, &[words], &[r#"Words("x")"#]);
    let end = r#"{"type":"result","is_error":false,"result":"x","user_message_uuids":["$B"],"total_cost_usd":0.5,"usage":{"input_tokens":7,"output_tokens":8,"cache_read_input_tokens":9,"cache_creation_input_tokens":1},"modelUsage":{"small":{"contextWindow":900,"inputTokens":5,"costUSD":0.1,"costBasis":"unknown"},"m":{"contextWindow":200,"inputTokens":7,"outputTokens":8,"cacheReadInputTokens":9,"cacheCreationInputTokens":1,"costUSD":0.5,"costBasis":"list"}}}"#;
    check(
        &mut claude,
        &[end],
        &[
            r#"end ok=true interrupted=false why=None text="x" messages=$B totals=m:7/8/9/1=0.5 small:5/0/0/0~0.1 context=Some(33)/Some(200)"#,
        ],
    );
    let other = end.replace("\"m\":", "\"n\":");
    check(
        &mut claude,
        &[&other],
        &[
            r#"end ok=true interrupted=false why=None text="x" messages=$B totals=n:7/8/9/1=0.5 small:5/0/0/0~0.1 context=Some(33)/Some(900)"#,
        ],
    );
}

#[test]
fn background_work_is_told_once_however_it_is_announced() {
    let all = |tasks: &str| format!(r#"{{"type":"system","subtype":"background_tasks_changed","tasks":[{tasks}]}}"#);
    let task = r#"{"task_id":"b1","task_type":"local_bash","description":"a build"}"#;
    let started =
        r#"{"type":"system","subtype":"task_started","task_id":"b1","description":"a build","is_backgrounded":true}"#;
    let done =
        r#"{"type":"system","subtype":"task_notification","task_id":"b1","status":"failed","summary":"it broke"}"#;
    fresh(
        &[&all(task), started, done, &all("")],
        &[
            r#"BackgroundStarted { id: "b1", what: "a build" }"#,
            "Other",
            r#"BackgroundEnded { id: "b1", is_error: true, what: "it broke" }"#,
            "Other",
        ],
    );
    fresh(
        &[started, &all("")],
        &[
            r#"BackgroundStarted { id: "b1", what: "a build" }"#,
            r#"BackgroundEnded { id: "b1", is_error: false, what: "a build" }"#,
        ],
    );
    // A command that the turn waits for is announced, too, when it takes long.
    let waited_for = started.replace("true", "false");
    let moved = r#"{"type":"system","subtype":"task_updated","task_id":"b1","patch":{"is_backgrounded":true}}"#;
    fresh(&[&waited_for, done], &["Other", "Other"]);
    fresh(&[&waited_for, moved], &["Other", r#"BackgroundStarted { id: "b1", what: "" }"#]);
    fresh(&[&all(&task.replace("\"task_id\"", "\"ambient\":true,\"task_id\""))], &["Other"]);
}

#[test]
fn limits_retries_and_compaction() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1700000000,"rateLimitType":"five_hour"}}"#;
    let said = r#"{"type":"assistant","error":"rate_limit","is_api_error_message":true,"message":{"content":[{"type":"text","text":"You've hit your limit"}]}}"#;
    let heard = r#"Account(Account { status: "rejected", window: "five_hour", overage: "", windows: {"five_hour": (None, Some(1700000000000))} })"#;
    fresh(&[limit, said], &[r#"Limit { until: Some(1700000000000), text: "five hour" }"#, heard, "Other"]);
    fresh(&[said, said], &[r#"Limit { until: None, text: "You've hit your limit" }"#, "Other"]);
    let retry = r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded"}"#;
    fresh(&[retry], &[r#"Retry { attempt: 1, of: 10, why: "overloaded (529)" }"#]);
    fresh(&[r#"{"type":"system","subtype":"compact_boundary"}"#], &["Compacted"]);
}

#[test]
fn messages_are_one_line_and_never_a_command() {
    let mut claude = Claude::new();
    for (text, arrives) in [
        ("a\nb\tc \u{1b}[200~/x\u{1b}[201~ ✓", "a\nb\tc \u{1b}[200~/x\u{1b}[201~ ✓"),
        ("/clear", "\n/clear"),
        (" /clear", " /clear"),
        ("", ""),
    ] {
        let line = claude.message(A, text);
        assert!(!line.contains('\n'));
        let line: Value = serde_json::from_str(&line).unwrap();
        assert_eq!((line["type"].as_str(), line["uuid"].as_str()), (Some("user"), Some(A)));
        assert_eq!(line["message"]["content"], json!([{"type":"text","text":arrives}]));
    }
}

#[test]
fn it_is_up_when_it_answers_the_hello() {
    let mut claude = Claude::new();
    let hello: Value = serde_json::from_str(&claude.hello().unwrap()).unwrap();
    assert_eq!(hello["request"]["subtype"], "initialize");
    let line = format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{}}}}}"#,
        hello["request_id"]
    );
    check(&mut claude, &[&line], &["Ready"]);
    let requests = [claude.interrupt(), claude.interrupt()];
    assert!(requests[0] != requests[1] && requests[0].contains("\"interrupt\""));
}

#[test]
fn an_answer_is_told_when_it_begins_and_with_its_last_figures() {
    let start = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"a1","model":"m","usage":{"input_tokens":10,"output_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3}}},"parent_tool_use_id":null}"#;
    let end = r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":44}},"parent_tool_use_id":null}"#;
    let answer = |output: u64| {
        format!(
            "Answer(Answer {{ id: \"a1\", model: \"m\", usage: Usage {{ input: 10, output: {output}, cache_read: 2, cache_write: 3 }}, own: true }})"
        )
    };
    fresh(&[start, end], &[&answer(1), &answer(44)]);
    let helper = r#""parent_tool_use_id":"t1""#;
    let none = r#""parent_tool_use_id":null"#;
    fresh(&[&start.replace(none, helper), &end.replace(none, helper)], &["Other", "Other"]);
    // Of a helper's there is only the message itself.
    let message = r#"{"type":"assistant","message":{"id":"h1","model":"n","content":[],"usage":{"input_tokens":5,"output_tokens":1}},"parent_tool_use_id":"t1"}"#;
    fresh(
        &[message],
        &[
            r#"Answer(Answer { id: "h1", model: "n", usage: Usage { input: 5, output: 1, cache_read: 0, cache_write: 0 }, own: false })"#,
        ],
    );
}

#[test]
fn windows_of_an_account_are_told_with_what_is_used_of_them() {
    let line = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1700000000,"rateLimitType":"five_hour","utilization":0.42,"unifiedWindows":{"five_hour":{"utilization":0.43,"resetsAt":1700000000,"status":"allowed"},"seven_day":{"utilization":0.9,"resetsAt":1700400000,"status":"allowed_warning","surpassedThreshold":0.9}},"overageStatus":"rejected","overageDisabledReason":"out_of_credits","isUsingOverage":false}}"#;
    fresh(
        &[line],
        &[
            r#"Account(Account { status: "allowed_warning", window: "five_hour", overage: "rejected", windows: {"five_hour": (Some(0.43), Some(1700000000000)), "seven_day": (Some(0.9), Some(1700400000000))} })"#,
        ],
    );
    // As an older version says it.
    let line = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":1700000000,"rateLimitType":"seven_day","utilization":0.5}}"#;
    fresh(
        &[line],
        &[
            r#"Account(Account { status: "allowed", window: "seven_day", overage: "", windows: {"seven_day": (Some(0.5), Some(1700000000000))} })"#,
        ],
    );
}
