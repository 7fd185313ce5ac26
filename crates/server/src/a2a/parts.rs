//! A message's parts as the text that a worker reads, and the digest that tells two messages apart.
//! Addresses are given as text and never fetched; a file is named with the place it is kept at.

use serde_json::Value;
use shrooms_a2a::{A2aError, Part, PartContent};
use shrooms_core::digest::Digest;

use super::files::Kept;

/// A message's parts, as they are kept.
#[derive(Debug, PartialEq)]
pub(super) struct Given {
    /// What the worker reads: text parts, data as fenced JSON, addresses as they are; joined by one
    /// empty line, blank ones left out.
    pub(super) text: String,
    /// The parts as JSON for the history, where they are not that one text. A file is named in it,
    /// and not repeated.
    pub(super) parts: Option<String>,
}

/// Reads the parts of a message; its files are kept already.
pub(super) fn read(parts: &[Part], files: &Kept) -> Result<Given, A2aError> {
    let mut texts: Vec<String> = Vec::new();
    let mut kept: Vec<Part> = parts.to_vec();
    for (i, part) in parts.iter().enumerate() {
        match &part.content {
            PartContent::Text(text) if text.trim().is_empty() => {}
            PartContent::Text(text) => texts.push(text.clone()),
            PartContent::Data(value) => texts.push(format!("```json\n{}\n```", pretty(value))),
            PartContent::Url(url) => texts.push(url.clone()),
            PartContent::Raw(bytes) => {
                let name = part.filename.as_deref().unwrap_or("without a name");
                let file = format!("a file: {}, {} bytes", shrooms_core::text::cut(name, 200), bytes.len());
                texts.push(match files.path(i) {
                    Some(path) => format!("({file}, at {})", path.display()),
                    None => format!("({file})"),
                });
                if let Some(kept) = kept.get_mut(i) {
                    kept.content = PartContent::Text(format!("({file})"));
                }
            }
        }
    }
    if texts.is_empty() {
        return Err(A2aError::invalid_params("message.parts", "hold no text: say what is wanted"));
    }
    let text = texts.join("\n\n");
    let plain = matches!(parts, [part] if *part == Part::text(text.as_str()));
    let parts = (!plain).then(|| serde_json::to_string(&kept).unwrap_or_default());
    Ok(Given { text, parts })
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}

/// The digest over parts: kind and content of each, not the metadata.
pub(super) fn digest(parts: &[Part]) -> Digest {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for part in parts {
        let (kind, content): (&str, Vec<u8>) = match &part.content {
            PartContent::Text(text) => ("text", text.clone().into_bytes()),
            PartContent::Raw(bytes) => ("raw", bytes.clone()),
            PartContent::Url(url) => ("url", url.clone().into_bytes()),
            PartContent::Data(value) => ("data", value.to_string().into_bytes()),
        };
        all.push(kind.into());
        all.push(content);
        all.push(part.filename.clone().unwrap_or_default().into_bytes());
        all.push(part.media_type.clone().unwrap_or_default().into_bytes());
    }
    Digest::of(all.iter().map(Vec::as_slice))
}

/// The digest of a message that is one text and nothing else.
pub(crate) fn digest_of_text(text: &str) -> Digest {
    digest(&[Part::text(text)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_become_one_text() {
        let text = |t: &str| Part::text(t);
        let check = |parts: &[Part], want: Result<&str, i32>| {
            let got = read(parts, &Kept::default()).map(|given| given.text).map_err(|e| e.code.json_rpc());
            assert_eq!(got.as_deref().map_err(|c| *c), want);
        };
        check(&[text("a")], Ok("a"));
        check(&[text("a"), text(" \n"), text("b\n")], Ok("a\n\nb\n"));
        check(&[Part::of(PartContent::Data(json!({"n": 1})))], Ok("```json\n{\n  \"n\": 1\n}\n```"));
        check(&[Part::of(PartContent::Url("http://x".into()))], Ok("http://x"));
        check(&[text(" ")], Err(-32602));
        check(&[text("a"), Part::of(PartContent::Raw(vec![1]))], Ok("a\n\n(a file: without a name, 1 bytes)"));
        assert_ne!(digest(&[text("ab")]), digest(&[text("a"), text("b")]));
        assert_eq!(digest(&[text("a")]), digest_of_text("a"));
    }
}
