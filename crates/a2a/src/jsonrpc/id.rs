//! The id of a call: text, a number exactly as it was sent, or null.
//! Must not know what it belongs to.

use std::fmt;

use serde_json::value::RawValue;

/// Echoed with its type and, for a number, digit by digit (`1.0` is not answered as `1`).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Id {
    String(String),
    Number(Number),
    #[default]
    Null,
}

/// A JSON number in its own spelling.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Number(Box<str>);

impl Number {
    /// The spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Id::Number(Number(number.to_string().into()))
    }
}

impl From<&str> for Id {
    fn from(text: &str) -> Self {
        Id::String(text.to_owned())
    }
}

impl Id {
    /// From JSON text that a parser has found well-formed; `None` for what cannot be an id.
    pub(super) fn from_raw(raw: &RawValue) -> Option<Id> {
        let text = raw.get();
        match text.bytes().next()? {
            b'"' => serde_json::from_str(text).ok().map(Id::String),
            b'-' | b'0'..=b'9' => Some(Id::Number(Number(text.into()))),
            b'n' => Some(Id::Null),
            _ => None,
        }
    }

    /// Adds the id's JSON text.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            // Writing text into memory cannot fail.
            Id::String(text) => serde_json::to_writer(out, text).unwrap_or_default(),
            Id::Number(number) => out.extend_from_slice(number.0.as_bytes()),
            Id::Null => out.extend_from_slice(b"null"),
        }
    }
}

impl fmt::Display for Id {
    /// The JSON text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Vec::new();
        self.write(&mut out);
        f.write_str(&String::from_utf8_lossy(&out))
    }
}
