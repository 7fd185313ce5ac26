//! A message between a client and an agent.
//! Must not know who sent it in truth: what a message says of its sender is a claim.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{Map, Part};
use crate::decode::{Decode, Fields, Invalid, Path, deserialize_by_decode};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// From the client to the agent.
    User,
    /// From the agent to the client.
    Agent,
}

impl Role {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::User => "ROLE_USER",
            Role::Agent => "ROLE_AGENT",
        }
    }
}

impl Serialize for Role {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl Decode for Role {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        match (value.as_str(), value.as_u64()) {
            (Some("ROLE_USER"), _) | (_, Some(1)) => Ok(Role::User),
            (Some("ROLE_AGENT"), _) | (_, Some(2)) => Ok(Role::Agent),
            _ => Err(at.invalid("must be ROLE_USER or ROLE_AGENT")),
        }
    }
}

/// Parts that one message may have: more is no message that anybody writes, and each is shown to every
/// reader of its task.
pub const MAX_PARTS: usize = 1_000;

/// One message. On reading, `message_id` and `parts` are never empty.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Chosen by the sender.
    pub message_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    pub role: Role,
    pub parts: Vec<Part>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map>,
    /// URIs of extensions that put something into this message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extensions: Vec<String>,
    /// Other tasks that this message speaks of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reference_task_ids: Vec<String>,
}

impl Message {
    /// A message of one text part.
    pub fn text(message_id: impl Into<String>, role: Role, text: impl Into<String>) -> Self {
        Message {
            message_id: message_id.into(),
            context_id: None,
            task_id: None,
            role,
            parts: vec![Part::text(text)],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// The text parts that are not blank, joined by one empty line; empty if there are none.
    pub fn joined_text(&self) -> String {
        let texts: Vec<&str> =
            self.parts.iter().filter_map(Part::as_text).filter(|text| !text.trim().is_empty()).collect();
        texts.join("\n\n")
    }
}

impl Decode for Message {
    fn decode(value: Value, at: &Path<'_>) -> Result<Self, Invalid> {
        let mut fields = Fields::of(value, at)?;
        let message = Message {
            message_id: fields.require_text("messageId")?,
            context_id: fields.text("contextId")?,
            task_id: fields.text("taskId")?,
            role: fields.require("role")?,
            parts: fields.require("parts")?,
            metadata: fields.get("metadata")?,
            extensions: fields.get("extensions")?.unwrap_or_default(),
            reference_task_ids: fields.get("referenceTaskIds")?.unwrap_or_default(),
        };
        if message.parts.is_empty() {
            return Err(fields.invalid("parts", "must hold at least one part"));
        }
        if message.parts.len() > MAX_PARTS {
            return Err(fields.invalid("parts", format!("must hold at most {MAX_PARTS} parts")));
        }
        Ok(message)
    }
}

deserialize_by_decode!(Role, Message);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json, to_value};

    /// Reads the good message with some members changed; gives what is written back.
    fn check(change: Value, expected: Result<Value, &str>) {
        let mut input = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        for (key, value) in change.as_object().unwrap() {
            input[key] = value.clone();
        }
        let got = from_value::<Message>(input.clone())
            .map(|message| to_value(message).unwrap())
            .map_err(|error| error.to_string());
        assert_eq!(got, expected.map_err(str::to_owned), "{input}");
    }

    #[test]
    fn a_message_prints_only_what_it_has() {
        let plain = json!({"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]});
        check(json!({}), Ok(plain.clone()));
        check(json!({"contextId": "", "taskId": null, "extensions": [], "metadata": null}), Ok(plain));
        let full = json!({
            "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_AGENT",
            "parts": [{"text": "hi"}], "metadata": {"b": 1, "a": {"d": [], "c": null}},
            "extensions": ["urn:x"], "referenceTaskIds": ["o"],
        });
        check(full.clone(), Ok(full));
    }

    #[test]
    fn required_fields_are_required() {
        check(json!({"messageId": null}), Err("messageId: is required"));
        check(json!({"messageId": ""}), Err("messageId: must not be empty"));
        check(json!({"messageId": 5}), Err("messageId: must be a string"));
        check(json!({"parts": null}), Err("parts: is required"));
        check(json!({"parts": []}), Err("parts: must hold at least one part"));
        let many = vec![json!({"text": "a"}); MAX_PARTS + 1];
        check(json!({"parts": many}), Err("parts: must hold at most 1000 parts"));
        check(json!({"role": null}), Err("role: is required"));
    }

    #[test]
    fn a_role_comes_by_name_or_number() {
        let agent = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "hi"}]});
        check(json!({"role": 2}), Ok(agent));
        for bad in [json!(0), json!(3), json!("user"), json!("ROLE_UNSPECIFIED"), json!(-1)] {
            check(json!({"role": bad}), Err("role: must be ROLE_USER or ROLE_AGENT"));
        }
    }

    #[test]
    fn a_refusal_deep_inside_names_the_part() {
        check(json!({"parts": [{"text": "a"}, {"raw": "!"}]}), Err("parts[1].raw: must be base64"));
        check(json!({"parts": [{"text": "a"}, {}]}), Err("parts[1]: must have one of text, raw, url or data"));
        check(json!({"metadata": [1]}), Err("metadata: must be an object"));
        check(json!({"referenceTaskIds": "t"}), Err("referenceTaskIds: must be an array"));
    }

    #[test]
    fn text_parts_are_joined_by_one_empty_line_without_the_blank_ones() {
        let mut message = Message::text("m", Role::User, "one");
        message.parts.push(Part::text(" \n"));
        message.parts.push(Part::of(crate::PartContent::Data(json!(1))));
        message.parts.push(Part::text("two"));
        assert_eq!(message.joined_text(), "one\n\ntwo");
    }

    #[test]
    fn the_same_metadata_always_prints_the_same_bytes() {
        let read = |text: &str| serde_json::to_string(&serde_json::from_str::<Message>(text).unwrap()).unwrap();
        let one = read(r#"{"metadata":{"b":1,"a":2},"parts":[{"text":""}],"role":1,"messageId":"m"}"#);
        let two = read(r#"{"message_id":"m","role":1,"parts":[{"text":""}],"metadata":{"a":2,"b":1}}"#);
        assert_eq!(one, two);
        assert!(one.ends_with(r#""metadata":{"a":2,"b":1}}"#), "{one}");
    }
}
