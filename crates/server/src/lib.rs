//! HTTP: the A2A endpoints, the cards, `/v1`, and who is asking. Alone in binding ports. Knows the
//! engine's handle, not the desk; every answer is of what is committed.
//!
//! - [`Listeners`] are bound before the engine starts; [`Server`] serves them until it is told to end
//! - `principal`: who a connection is from; `guard`: what is refused before any route;
//!   `rights`: whether a route is its caller's to use
//! - `a2a`: one file per JSON-RPC method; `v1`: one file per resource
//! - `task_json`: the one place where a stored task becomes an A2A task
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod a2a;
mod app;
mod guard;
mod listen;
mod principal;
mod problem;
mod rights;
mod room;
mod serve;
mod task_json;
mod v1;
mod wait;

pub use app::{Offers, Profile, ServerConfig};
pub use listen::{Heard, Listeners, Listening, ServeError};
pub use serve::Server;
