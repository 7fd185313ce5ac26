//! Durable truth: one writer, group commit. `state.db` holds the desk's rows (synchronous FULL:
//! nothing is acknowledged before its commit returned); `log.db` holds what sessions said
//! (bounded, droppable). Knows rows, not rules.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod error;
mod log;
mod prune;
mod read;
mod schema;
mod usage;
mod write;

#[cfg(test)]
mod tests;

pub use error::StoreError;
pub use log::{Found, LogBounds, LogHealth, LogHost, LogLine, LogPage, LogPlace, LogReader, LogWriter, SearchStop};
pub use read::{AskPage, AskedText, Feed, Hidden, Reader, SessionRow, TaskFilter, TaskPage, TaskTexts};
pub use usage::{UsageBy, UsageQuery, UsageSum};
pub use write::{Lock, Store};
