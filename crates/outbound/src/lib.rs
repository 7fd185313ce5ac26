//! The only way out: every HTTP call that this program makes to another host or to its own daemon.
//!
//! | to call | use |
//! |---|---|
//! | another machine's agent or API | [`Outbound`], with a [`Peer`] that the mesh gave |
//! | any A2A agent on such a machine, by its card | [`Outbound::agent`], which gives an [`Agent`] |
//! | this machine's daemon, by its socket | [`LocalClient`] |
//!
//! Errors say **what may have happened**, for that decides whether a repeat is safe:
//! [`CallError::Away`] means that nothing left this machine, [`CallError::Unsure`] that the other
//! side may have acted. Nothing that acts is repeated in here, no redirect is followed, no proxy is used, no
//! name is looked up, every wait and every body has a bound.
//!
//! The crate knows nothing of tasks' rules, of retries, or of who is on the mesh.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod agent;
mod call;
mod cards;
mod error;
mod forward;
mod http;
mod local;
mod outbound;
mod peer;
mod secret;

pub use agent::{Agent, AgentOptions, Binding, Follow, StreamLimits, TaskStream};
pub use call::{CALL_TIMEOUT, WAIT_TIMEOUT};
pub use cards::CARD_MAX;
pub use error::{CallError, LocalError};
pub use forward::Forwarded;
pub use http::{BODY_MAX, CONNECT_TIMEOUT};
pub use local::{Download, Events, LocalClient, LocalEvent};
pub use outbound::Outbound;
pub use peer::Peer;
pub use secret::Secret;
pub use shrooms_a2a::rest::segment;
