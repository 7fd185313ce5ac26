//! Values of the official crate, as its own generator makes them: what of them is a value at all by
//! the specification's rules, and what of them those rules cannot tell apart.

use serde_json::{Value, json};

/// Members of which an empty text says nothing that a peer could use: we refuse it, or take it for
/// absent where they need it.
const NEEDED: [&str; 10] = [
    "messageId",
    "artifactId",
    "contextId",
    "taskId",
    "id",
    "url",
    "protocolBinding",
    "protocolVersion",
    "name",
    "scheme",
];

/// Made a value that the specification allows, where chance made none.
pub fn sound(mut value: Value) -> Value {
    each_member(&mut value, &mut |name, value| {
        let empty = *value == "" || *value == json!([]);
        match name {
            "parts" if empty => *value = json!([{"text": "x"}]),
            "supportedInterfaces" if empty => {
                *value = json!([{"url": "u", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]);
            }
            "role" if *value == "ROLE_UNSPECIFIED" => *value = json!("ROLE_USER"),
            "state" | "status" if *value == "TASK_STATE_UNSPECIFIED" => *value = json!("TASK_STATE_WORKING"),
            "historyLength" | "totalSize" | "pageSize" => {
                let most = if name == "pageSize" { 100 } else { i64::from(i32::MAX) };
                *value = value.as_i64().map_or(Value::Null, |number| number.clamp(1, most).into());
            }
            _ if empty && NEEDED.contains(&name) => *value = json!("x"),
            _ => {}
        }
        true
    });
    value
}

/// What it says: proto3 cannot tell an absent text, list or flag from an empty one, and moments are
/// of milliseconds with us.
pub fn meaning(mut value: Value) -> Value {
    each_member(&mut value, &mut |name, value| {
        if matches!(name, "timestamp" | "statusTimestampAfter")
            && let Some(moment) = value.as_str()
        {
            *value = in_millis(moment).into();
        }
        match name {
            // A content says something when it is empty, too.
            "text" | "raw" | "url" | "data" => true,
            "append" | "lastChunk" => *value != false,
            "configuration" => *value != json!({}),
            _ => *value != "" && *value != json!([]),
        }
    });
    value
}

/// `2026-01-31T09:05:00.123456789Z` and `2026-01-31T09:05:00Z` with three digits.
fn in_millis(moment: &str) -> String {
    let whole = moment.strip_suffix('Z').unwrap();
    let (seconds, digits) = whole.split_once('.').unwrap_or((whole, ""));
    format!("{seconds}.{:.3}Z", format!("{digits}000"))
}

/// Goes through all members of all objects, the innermost first; those that `keep` denies are taken out.
fn each_member(value: &mut Value, keep: &mut impl FnMut(&str, &mut Value) -> bool) {
    match value {
        Value::Object(map) => map.retain(|name, value| {
            each_member(value, keep);
            keep(name, value)
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| each_member(item, keep)),
        _ => {}
    }
}
