//! Errors of `/v1` and of everything that is no JSON-RPC: `application/problem+json`, with what
//! to do in `detail` and, for older clients, in `error`.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use shrooms_core::{Kind, Refusal};
use shrooms_engine::EngineError;

/// A refusal with its kind; the status follows from the kind unless it is given.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: Kind,
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Problem {
        let status = StatusCode::from_u16(kind.http()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Problem { kind, status, detail: detail.into() }
    }

    pub(crate) fn bad(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::User, detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::NotFound, detail)
    }

    pub(crate) fn refused(detail: impl Into<String>) -> Problem {
        Problem::new(Kind::Refused, detail)
    }

    pub(crate) fn with_status(mut self, status: StatusCode) -> Problem {
        self.status = status;
        self
    }
}

impl From<EngineError> for Problem {
    fn from(e: EngineError) -> Problem {
        Problem::new(e.kind(), e.to_string())
    }
}

impl From<Refusal> for Problem {
    fn from(e: Refusal) -> Problem {
        Problem::new(e.kind(), e.to_string())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = json!({
            "type": "about:blank",
            "title": self.kind.word(),
            "status": self.status.as_u16(),
            "detail": self.detail,
            "error": self.detail,
        });
        (self.status, [(header::CONTENT_TYPE, "application/problem+json")], body.to_string()).into_response()
    }
}
