//! The rules, pure: no clock, file, socket, environment, thread or Tokio.
//!
//! [`Desk`] decides how tasks, lanes, deliveries, asks and sessions change. It is plain data and
//! synchronous: [`Desk::handle`] takes the time, an input and what was read for it, changes rows
//! in memory and answers; [`Desk::take_changes`] gives the rows to commit, and [`Desk::due`] says
//! what should be under way once they are committed.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod desk;
pub mod digest;
pub mod file_name;
pub mod greeting;
pub mod id;
pub mod kind;
pub mod name;
pub mod near;
pub mod principal;
pub mod refusal;
pub mod rights;
pub mod row;
pub mod settings;
pub mod text;
pub mod time;
pub mod view;
pub mod words;

pub use desk::{Desk, Effect, EffectKey};
pub use kind::Kind;
pub use principal::{Ns, Principal};
pub use refusal::Refusal;
pub use text::{Text, TextRef};
pub use time::{Boot, Now, Stamp};
