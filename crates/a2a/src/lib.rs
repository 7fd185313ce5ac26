//! A2A 1.0 on the wire: what goes over it and how it is read, and nothing else.
//!
//! Basis: the A2A specification 1.0.1 and its `a2a.proto`, whose JSON form (ProtoJSON) this crate
//! reads leniently where that form allows several spellings and strictly where a text is ambiguous.
//! Every refusal names the field that caused it.
//!
//! | to do | use |
//! |---|---|
//! | read a request, answer it, call another agent | [`jsonrpc`] |
//! | read or write a request of the HTTP+JSON binding | [`rest`] |
//! | the values themselves | [`types`], [`card`] |
//! | refuse | [`error`] |
//! | choose the dialect and the operation | [`version`], [`method`], [`operation`] |
//! | stream, and see the task through it | [`sse`], [`fold`] |
//! | shrooms' own keys in metadata | [`shrooms`] |
//!
//! The crate knows no clock, socket, file, environment, thread or Tokio. The 0.3 dialect is not
//! spoken yet; its method names are known, so that its callers are told so.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod card;
pub mod decode;
pub mod error;
pub mod fold;
pub mod jsonrpc;
pub mod method;
pub mod operation;
pub mod rest;
pub mod shrooms;
pub mod sse;
pub mod types;
pub mod version;

pub use card::AgentCard;
pub use decode::{Decode, Invalid, decode};
pub use error::{A2aError, ErrorCode};
pub use fold::Fold;
pub use method::Method;
pub use operation::Operation;
pub use types::{
    Artifact, Map, Message, Part, PartContent, Role, SendMessageResponse, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent, Timestamp,
};
