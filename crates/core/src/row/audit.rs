//! The audit log's lines, and the devices of the mesh as this machine has met them.

use serde::{Deserialize, Serialize};

use crate::id::SessionUid;
use crate::rights::Pins;

/// One line of the audit log: a message between agents, or something that changes what is allowed or
/// set. Kept for 90 days; never a text that was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// 1, 2, 3 … without a gap.
    pub no: i64,
    /// Wall time, milliseconds.
    pub at: i64,
    /// In people's words: `the owner`, `laptop.home (laptop/webapp)`.
    pub who: String,
    /// As established: `owner`, `session NAME`, or a device's stable identity.
    pub from: String,
    /// One word: `send`, `settings` …
    pub what: String,
    /// The session, task, agent or device that it is about.
    pub about: String,
    /// `ok`, or why not; at most 300 bytes.
    pub outcome: String,
    /// The sessions that it is of; nobody is shown these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<SessionUid>,
}

/// A device of the mesh as it last showed itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Stable identity.
    pub id: String,
    /// `NAME.MESH`, or `NAME`, when it was last seen.
    pub label: String,
    /// When it last called, or answered (wall time, milliseconds).
    pub seen: i64,
    /// What its daemon said of itself; empty where it has not, or is older than greetings.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
}

/// What was said about rights, and which devices those by name were given to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The grants in one line, as the audit log has them.
    pub said: String,
    pub pins: Pins,
}
