//! The `google.rpc` objects in an error's details; each carries its `@type`.
//! Must not know the codes' meanings.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ErrorCode;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "@type", rename_all_fields = "camelCase")]
pub enum Detail {
    /// Why, for programs.
    #[serde(rename = "type.googleapis.com/google.rpc.ErrorInfo")]
    ErrorInfo { reason: String, domain: String, metadata: BTreeMap<String, String> },
    /// Which fields of the request are bad.
    #[serde(rename = "type.googleapis.com/google.rpc.BadRequest")]
    BadRequest { field_violations: Vec<FieldViolation> },
    /// After how long a repeat makes sense, in proto's form for durations: `30s`.
    #[serde(rename = "type.googleapis.com/google.rpc.RetryInfo")]
    RetryInfo { retry_delay: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldViolation {
    /// The path from the params: `message.parts[1]`.
    pub field: String,
    pub description: String,
}

impl Detail {
    /// The ErrorInfo of a code, with no metadata.
    pub(crate) fn info(code: ErrorCode) -> Self {
        Detail::ErrorInfo {
            reason: code.reason().to_owned(),
            domain: code.domain().to_owned(),
            metadata: BTreeMap::new(),
        }
    }

    /// How long to wait before a repeat.
    pub fn retry_in_seconds(seconds: u32) -> Self {
        Detail::RetryInfo { retry_delay: format!("{seconds}s") }
    }
}
