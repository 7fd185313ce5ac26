//! A2A's objects by their schema, closed as the kit's is: no member that the specification does not
//! name, nothing that is null, enums by name, times in UTC.

use serde_json::Value;

/// What a member may be.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Flag,
    Count,
    /// One of A2A's own names, with this beginning.
    Name(&'static str),
    Time,
    Base64,
    /// Any JSON value.
    Any,
    /// An object of any members.
    Free,
    One(&'static Shape),
    /// A list; `true`: of at least one.
    Many(&'static Shape, bool),
}
use Kind::{Any, Base64, Count, Flag, Free, Many, Name, One, Text, Texts, Time};

/// An object: its members, and which of them must be there. `any_of`: exactly one of these.
pub struct Shape {
    members: &'static [(&'static str, Kind)],
    needed: &'static [&'static str],
    one_of: &'static [&'static str],
}

static PART: Shape = Shape {
    members: &[
        ("text", Text),
        ("raw", Base64),
        ("url", Text),
        ("data", Any),
        ("filename", Text),
        ("mediaType", Text),
        ("metadata", Free),
    ],
    needed: &[],
    one_of: &["text", "raw", "url", "data"],
};

static MESSAGE: Shape = Shape {
    members: &[
        ("messageId", Text),
        ("contextId", Text),
        ("taskId", Text),
        ("role", Name("ROLE_")),
        ("parts", Many(&PART, true)),
        ("metadata", Free),
        ("extensions", Texts),
        ("referenceTaskIds", Texts),
    ],
    // Of the server's messages the context, too.
    needed: &["messageId", "role", "parts", "contextId"],
    one_of: &[],
};

static ARTIFACT: Shape = Shape {
    members: &[
        ("artifactId", Text),
        ("name", Text),
        ("description", Text),
        ("parts", Many(&PART, true)),
        ("metadata", Free),
        ("extensions", Texts),
    ],
    needed: &["artifactId", "parts"],
    one_of: &[],
};

static STATUS: Shape = Shape {
    members: &[("state", Name("TASK_STATE_")), ("message", One(&MESSAGE)), ("timestamp", Time)],
    needed: &["state", "timestamp"],
    one_of: &[],
};

pub static TASK: Shape = Shape {
    members: &[
        ("id", Text),
        ("contextId", Text),
        ("status", One(&STATUS)),
        ("artifacts", Many(&ARTIFACT, false)),
        ("history", Many(&MESSAGE, false)),
        ("metadata", Free),
    ],
    needed: &["id", "contextId", "status"],
    one_of: &[],
};

static STATUS_UPDATE: Shape = Shape {
    members: &[("taskId", Text), ("contextId", Text), ("status", One(&STATUS)), ("metadata", Free)],
    needed: &["taskId", "contextId", "status"],
    one_of: &[],
};

static ARTIFACT_UPDATE: Shape = Shape {
    members: &[
        ("taskId", Text),
        ("contextId", Text),
        ("artifact", One(&ARTIFACT)),
        ("append", Flag),
        ("lastChunk", Flag),
        ("metadata", Free),
    ],
    needed: &["taskId", "contextId", "artifact"],
    one_of: &[],
};

/// An answer of SendMessage.
pub static SENT: Shape =
    Shape { members: &[("task", One(&TASK)), ("message", One(&MESSAGE))], needed: &[], one_of: &["task", "message"] };

/// An event of a stream.
pub static EVENT: Shape = Shape {
    members: &[
        ("task", One(&TASK)),
        ("message", One(&MESSAGE)),
        ("statusUpdate", One(&STATUS_UPDATE)),
        ("artifactUpdate", One(&ARTIFACT_UPDATE)),
    ],
    needed: &[],
    one_of: &["task", "message", "statusUpdate", "artifactUpdate"],
};

/// A page of ListTasks: all four, always.
pub static PAGE: Shape = Shape {
    members: &[("tasks", Many(&TASK, false)), ("nextPageToken", Text), ("pageSize", Count), ("totalSize", Count)],
    needed: &["tasks", "nextPageToken", "pageSize", "totalSize"],
    one_of: &[],
};

static INTERFACE: Shape = Shape {
    members: &[("url", Text), ("protocolBinding", Text), ("protocolVersion", Text), ("tenant", Text)],
    needed: &["url", "protocolBinding", "protocolVersion"],
    one_of: &[],
};

static EXTENSION: Shape = Shape {
    members: &[("uri", Text), ("description", Text), ("required", Flag), ("params", Free)],
    needed: &["uri"],
    one_of: &[],
};

static CAPABILITIES: Shape = Shape {
    members: &[
        ("streaming", Flag),
        ("pushNotifications", Flag),
        ("extendedAgentCard", Flag),
        ("extensions", Many(&EXTENSION, false)),
    ],
    needed: &["streaming", "pushNotifications", "extendedAgentCard"],
    one_of: &[],
};

static SKILL: Shape = Shape {
    members: &[
        ("id", Text),
        ("name", Text),
        ("description", Text),
        ("tags", Texts),
        ("examples", Texts),
        ("inputModes", Texts),
        ("outputModes", Texts),
    ],
    needed: &["id", "name", "description", "tags"],
    one_of: &[],
};

pub static CARD: Shape = Shape {
    members: &[
        ("name", Text),
        ("description", Text),
        ("version", Text),
        ("supportedInterfaces", Many(&INTERFACE, true)),
        ("capabilities", One(&CAPABILITIES)),
        ("skills", Many(&SKILL, true)),
        ("defaultInputModes", Texts),
        ("defaultOutputModes", Texts),
    ],
    needed: &[
        "name",
        "description",
        "version",
        "supportedInterfaces",
        "capabilities",
        "skills",
        "defaultInputModes",
        "defaultOutputModes",
    ],
    one_of: &[],
};

/// Holds a value against its shape, and every member at every depth against the rules of names.
#[track_caller]
pub fn check(shape: &Shape, value: &Value) {
    object(shape, value, "");
    walk(value, "");
}

#[track_caller]
fn object(shape: &Shape, value: &Value, at: &str) {
    let members = value.as_object().unwrap_or_else(|| panic!("{at}: no object: {value}"));
    for (name, value) in members {
        let at = format!("{at}.{name}");
        let known = shape.members.iter().find(|(known, _)| known == name);
        member(known.unwrap_or_else(|| panic!("{at}: unknown")).1, value, &at);
    }
    for name in shape.needed {
        assert!(members.contains_key(*name), "{at}.{name} is missing: {value}");
    }
    let found = shape.one_of.iter().filter(|name| members.contains_key(**name)).count();
    assert!(shape.one_of.is_empty() || found == 1, "{at}: {found} of {:?}: {value}", shape.one_of);
}

#[track_caller]
fn member(kind: Kind, value: &Value, at: &str) {
    let text = || value.as_str().unwrap_or_else(|| panic!("{at}: no text: {value}"));
    let list = || value.as_array().unwrap_or_else(|| panic!("{at}: no list: {value}"));
    match kind {
        Any => {}
        Free => assert!(value.is_object(), "{at}: {value}"),
        Flag => assert!(value.is_boolean(), "{at}: {value}"),
        Count => assert!(value.is_u64(), "{at}: {value}"),
        Text => assert!(value.is_string(), "{at}: no text: {value}"),
        Texts => assert!(list().iter().all(Value::is_string), "{at}: {value}"),
        Name(begin) => assert!(text().starts_with(begin) && !text().ends_with("UNSPECIFIED"), "{at}: {value}"),
        Time => assert!(is_time(text()), "{at}: {value}"),
        Base64 => {
            let bare = text().trim_end_matches('=');
            let good = bare.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/');
            assert!(good && text().len() % 4 == 0, "{at}: {value}");
        }
        One(shape) => object(shape, value, at),
        Many(shape, some) => {
            assert!(!(some && list().is_empty()), "{at} is empty");
            list().iter().for_each(|value| object(shape, value, at));
        }
    }
}

/// `2026-11-30T12:00:00.123Z`
fn is_time(text: &str) -> bool {
    let wanted = "0000-00-00T00:00:00.000Z";
    let like = |(have, want): (char, char)| if want == '0' { have.is_ascii_digit() } else { have == want };
    text.len() == wanted.len() && text.chars().zip(wanted.chars()).all(like)
}

/// The rules of names hold in metadata, too (DM-SERIAL-001 to -003).
#[track_caller]
fn walk(value: &Value, at: &str) {
    match value {
        Value::Array(all) => all.iter().for_each(|value| walk(value, at)),
        Value::Object(members) => {
            for (name, value) in members {
                let snake = name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                assert!(!snake, "{at}.{name} is in snake case");
                match name.as_str() {
                    "state" | "role" => assert!(value.is_string(), "{at}.{name}: {value}"),
                    "timestamp" => assert!(value.as_str().is_some_and(is_time), "{at}.{name}: {value}"),
                    _ => {}
                }
                walk(value, &format!("{at}.{name}"));
            }
        }
        _ => {}
    }
}
