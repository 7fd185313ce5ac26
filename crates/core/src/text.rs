//! Texts: what people and agents write. Rows keep a reference (number, length, digest); the text
//! itself lives in the store's `blob` table and passes through the desk only on its way there.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// The longest text that a message, answer or result may have: 1 MiB.
pub const MAX_TEXT: usize = 1 << 20;

/// A text with its digest, made outside the desk so that hashing costs the desk nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: Arc<str>,
    sha: Digest,
}

impl Text {
    /// Takes any text; [`Text::len`] is for the caller to bound.
    pub fn new(text: impl Into<Arc<str>>) -> Text {
        let text = text.into();
        let sha = Digest::of([text.as_bytes()]);
        Text { text, sha }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Its digest.
    pub fn sha(&self) -> Digest {
        self.sha
    }

    /// Bytes of UTF-8.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// No byte at all.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

impl From<&str> for Text {
    fn from(s: &str) -> Text {
        Text::new(s)
    }
}

/// Where a row's text is: a row of the store's `blob` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextRef {
    /// Row number in `blob`.
    pub no: i64,
    /// Bytes.
    pub len: u64,
    /// SHA-256 of the text.
    pub sha: Digest,
}

/// `text` cut at `max` characters with an ellipsis, never inside a character.
pub fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_string(),
        Some((at, _)) => format!("{}…", &text[..at]),
    }
}

/// The first line of `text` that is not blank, cut at `max` characters.
pub fn first_line(text: &str, max: usize) -> String {
    cut(text.lines().find(|l| !l.trim().is_empty()).unwrap_or("").trim(), max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_counts_characters_and_marks_the_cut() {
        for (text, max, want) in [("abc", 3, "abc"), ("abcd", 3, "abc…"), ("äöü", 2, "äö…"), ("", 3, "")] {
            assert_eq!(cut(text, max), want);
        }
        assert_eq!(first_line("\n  \n two words \nmore", 5), "two w…");
    }
}
