//! What can go wrong with a call, told apart by what may have happened on the other side.
//! Must not know what the caller does about it.

use std::path::PathBuf;

use serde::Deserialize;
use shrooms_a2a::jsonrpc::RemoteError;

use crate::http::Answer;

/// Why a call to another machine gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing of the call left this machine: no address could be connected to, or what it needs to
    /// know first, such as the agent's card, could not be had. A repeat is safe.
    #[error("{0}")]
    Away(String),
    /// Bytes may have left and no whole answer came: the other side may have acted or not.
    /// Only the same message id again is safe.
    #[error("{0}")]
    Unsure(String),
    /// A refusal: the agent's answer, or what follows from its card before anything is sent. Nothing
    /// was done.
    #[error(transparent)]
    Refused(#[from] RemoteError),
    /// Whatever is there answered with a status that is no success, and not as an agent: with a
    /// problem of our API, a redirect, a proxy's page.
    #[error("{detail} (HTTP {status})")]
    Http { status: u16, detail: String },
}

/// Why this machine's daemon gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// Nothing answers at the socket.
    #[error("no daemon answers at {} ({why})", socket.display())]
    NoDaemon { socket: PathBuf, why: String },
    /// The daemon refused, with the reason: `title` is one of the API's words, such as `not-found`.
    #[error("{detail}")]
    Api { status: u16, title: String, detail: String },
    /// The daemon took the connection and gave no whole answer: it may have acted or not.
    #[error("{0}")]
    Broken(String),
}

/// `application/problem+json`, and the older form with `error` alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
    error: Option<String>,
}

/// Of a page that is no problem, this much is enough to see what answered.
const PAGE_CHARS: usize = 200;

/// The title and the detail of an answer that is no success.
fn problem(answer: &Answer) -> (String, String) {
    let reason = answer.status.canonical_reason().unwrap_or("no success");
    let problem: Problem = serde_json::from_slice(&answer.body).unwrap_or_default();
    let page = || {
        let text = String::from_utf8_lossy(&answer.body);
        let words: Vec<&str> = text.split_whitespace().collect();
        let cut: String = words.join(" ").chars().take(PAGE_CHARS).collect();
        if cut.is_empty() { reason.to_owned() } else { cut }
    };
    let title = problem.title.unwrap_or_else(|| reason.to_owned());
    (title, problem.detail.or(problem.error).unwrap_or_else(page))
}

impl CallError {
    /// From an answer that is no success.
    pub(crate) fn http(answer: &Answer) -> Self {
        CallError::Http { status: answer.status.as_u16(), detail: problem(answer).1 }
    }
}

impl LocalError {
    /// From an answer that is no success.
    pub(crate) fn api(answer: &Answer) -> Self {
        let (title, detail) = problem(answer);
        LocalError::Api { status: answer.status.as_u16(), title, detail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::StatusCode;
    use reqwest::header::HeaderMap;

    fn check(status: u16, body: &str, title: &str, detail: &str) {
        let status = StatusCode::from_u16(status).unwrap();
        let answer = Answer { status, headers: HeaderMap::new(), body: body.as_bytes().to_vec() };
        assert_eq!(problem(&answer), (title.to_owned(), detail.to_owned()), "{body}");
    }

    #[test]
    fn a_problem_says_what_to_do_and_a_page_shows_its_beginning() {
        check(404, r#"{"title":"not-found","status":404,"detail":"no session"}"#, "not-found", "no session");
        check(409, r#"{"error":"taken"}"#, "Conflict", "taken");
        check(502, "<html>\n  Bad  gateway</html>", "Bad Gateway", "<html> Bad gateway</html>");
        check(302, "", "Found", "Found");
        check(599, "", "no success", "no success");
        check(500, r#"{"detail":7}"#, "Internal Server Error", r#"{"detail":7}"#);
        check(500, &"x".repeat(300), "Internal Server Error", &"x".repeat(200));
    }
}
