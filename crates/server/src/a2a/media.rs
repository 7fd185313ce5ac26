//! Media types of the two bindings: what is taken, and what an answer is called.
//! Must not know bodies.

use axum::http::{HeaderMap, header};

/// Of JSON-RPC, and of HTTP+JSON where the client speaks it (specification 1.0.0 had no other).
pub(super) const JSON: &str = "application/json";
/// Of HTTP+JSON since 1.0.1.
const A2A_JSON: &str = "application/a2a+json";

/// The type of a successful answer over HTTP+JSON: as the request calls its own body, or what it
/// accepts; by itself the one that the specification wants.
pub(super) fn of_answer(headers: &HeaderMap) -> &'static str {
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok()).unwrap_or("");
    for said in [text(header::CONTENT_TYPE), text(header::ACCEPT)] {
        let mut types = said.split(',').map(bare);
        if types.clone().any(|t| t == A2A_JSON) {
            return A2A_JSON;
        }
        if types.any(|t| t == JSON) {
            return JSON;
        }
    }
    A2A_JSON
}

/// Whether a body of this type is read.
pub(crate) fn is_json(content_type: &str) -> bool {
    matches!(bare(content_type).as_str(), JSON | A2A_JSON)
}

fn bare(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or("").trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_known_by_its_type_alone() {
        for (kind, json) in [
            ("application/json", true),
            ("application/json; charset=utf-8", true),
            ("Application/A2A+JSON", true),
            ("text/plain", false),
            ("application/x-www-form-urlencoded", false),
            ("", false),
        ] {
            assert_eq!(is_json(kind), json, "{kind}");
        }
    }

    #[test]
    fn an_answer_is_called_as_the_request_calls_itself() {
        for (content_type, accept, want) in [
            ("application/json", "*/*", JSON),
            ("application/a2a+json", "*/*", A2A_JSON),
            ("", "application/json", JSON),
            ("", "text/html, application/a2a+json;q=0.9, application/json", A2A_JSON),
            ("application/json", "application/a2a+json", JSON),
            ("", "*/*", A2A_JSON),
            ("", "", A2A_JSON),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [(header::CONTENT_TYPE, content_type), (header::ACCEPT, accept)] {
                if !value.is_empty() {
                    headers.insert(name, value.parse().unwrap());
                }
            }
            assert_eq!(of_answer(&headers), want, "{content_type} {accept}");
        }
    }
}
