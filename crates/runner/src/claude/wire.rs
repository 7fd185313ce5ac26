//! Lines on Claude Code's stdio and in its files as JSON values: picking out of them, with nothing for
//! what is missing or of another kind, and making those that it reads. What they mean is not known here.

use serde_json::{Map, Value, json};

/// A text member, empty when there is none.
pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// The members of a list, none when it is none.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A number that counts something, 0 when there is none.
pub(super) fn count(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_default()
}

pub(super) fn is(value: &Value, name: &str) -> bool {
    value[name].as_bool().unwrap_or_default()
}

/// What a tool gave back: a text, or pieces of text among others.
pub(super) fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().map(|block| text(block, "text")).filter(|t| !t.is_empty()).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

/// The login that it has found; `Some(None)` for none, `None` where it does not say, as with the
/// providers of clouds, which have logins of their own.
pub(super) fn login(account: &Value) -> Option<Option<String>> {
    if text(account, "apiProvider") != "firstParty" {
        return None;
    }
    let named = ["apiKeySource", "tokenSource"].map(|key| text(account, key));
    Some(named.into_iter().find(|source| !source.is_empty() && *source != "none").map(str::to_owned))
}

/// What a person wants to see of what a tool is given.
pub(super) fn tool_input(input: &Value) -> String {
    const TELLING: [&str; 7] = ["command", "file_path", "path", "pattern", "url", "query", "prompt"];
    let telling = TELLING.iter().find_map(|name| input[name].as_str());
    telling.map_or_else(|| input.to_string(), str::to_owned)
}

/// A permission that may be given for good, in words.
pub(super) fn suggestion(update: &Value) -> String {
    let where_to = match text(update, "destination") {
        "session" => " for this session",
        "localSettings" => " in this directory, for you",
        "projectSettings" => " in this directory, for everybody",
        "userSettings" => " everywhere",
        _ => "",
    };
    let what = match text(update, "type") {
        "addRules" => {
            let rule = |rule: &Value| match text(rule, "ruleContent") {
                "" => text(rule, "toolName").to_owned(),
                content => format!("{}({content})", text(rule, "toolName")),
            };
            let rules: Vec<String> = list(update, "rules").iter().map(rule).collect();
            format!("{} {}", text(update, "behavior"), rules.join(", "))
        }
        "addDirectories" => {
            let directories: Vec<&str> = list(update, "directories").iter().filter_map(Value::as_str).collect();
            format!("work in {}", directories.join(", "))
        }
        "setMode" => format!("mode {}", text(update, "mode")),
        // Whole: what is not understood is shown as it is.
        _ => return update.to_string(),
    };
    format!("{what}{where_to}")
}

pub(super) fn user(id: &str, text: &str) -> String {
    // A message that begins with a slash, exactly so, would be run as a command, `/clear` among them.
    let guard = if text.starts_with('/') { "\n" } else { "" };
    let content = json!([{ "type": "text", "text": format!("{guard}{text}") }]);
    json!({ "type": "user", "uuid": id, "message": { "role": "user", "content": content } }).to_string()
}

pub(super) fn request(id: &str, subtype: &str) -> String {
    json!({ "type": "control_request", "request_id": id, "request": { "subtype": subtype } }).to_string()
}

pub(super) fn response(id: &str, response: &Value) -> String {
    let response = json!({ "subtype": "success", "request_id": id, "response": response });
    json!({ "type": "control_response", "response": response }).to_string()
}

pub(super) fn refusal(id: &str, why: &str) -> String {
    json!({ "type": "control_response", "response": { "subtype": "error", "request_id": id, "error": why } })
        .to_string()
}

/// `input` with the answers in it.
pub(super) fn answered(input: &Value, answers: impl Iterator<Item = (String, String)>) -> Value {
    let mut input = input.clone();
    input["answers"] =
        answers.map(|(question, answer)| (question, Value::String(answer))).collect::<Map<_, _>>().into();
    input
}
