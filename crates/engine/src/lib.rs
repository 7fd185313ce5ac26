//! The machine room: feeds the desk, commits what it decided, carries out what is then due, and
//! publishes what changed. No HTTP.
//!
//! - [`Engine`] is the handle; `desk_loop` the one thread that owns the desk and the store's writer
//! - `effects`: one file per thing that is done outside; `live`: what runs in this boot; `progress`: when another
//!   machine's task is worth a look
//! - `prove`: a harness is tried before a session is made of it; `worktree`: a place of its own for one
//! - `terminal`: who has a conversation in a terminal; `conversations`: those that began there; `history`: what a harness
//!   has of one
//! - `view`: what a caller does not see is not there for it
//! - `hub`: who waits for what; `follow`: who hears all of a task; `log`: what sessions said, and who listens; `clock`: the two clocks; `wording`: what a program is given
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod clock;
mod conversations;
mod crash_points;
mod desk_loop;
mod devices;
mod effects;
mod engine;
mod error;
mod follow;
mod history;
mod hub;
mod live;
mod log;
mod progress;
mod prove;
mod terminal;
mod view;
mod wording;
pub mod worktree;

pub use clock::{Source, SystemClock};
pub use conversations::Conversation;
pub use crash_points::{CRASH_POINTS, STREAM_CRASH_POINTS};
pub use effects::ask::MAX_SEQ;
pub use engine::{Config, Engine, Harnesses, Making};
pub use error::EngineError;
pub use follow::{Behind, Follow, News};
pub use hub::Watch;
pub use live::Live;
pub use log::{Heard, Listen};
pub use progress::Progress;
pub use prove::{NotProven, Proven, Trial};
/// What calls to other machines are made with, and come to.
pub use shrooms_outbound::{CALL_TIMEOUT, CallError, Peer, segment};
/// What conversations are shown as.
pub use shrooms_runner::{History, Role, Said};
/// What committed rows are read with.
pub use shrooms_store::{
    Feed, Found, LogLine, LogPage, LogPlace, Reader, SessionRow, StoreError, TaskFilter, TaskPage, TaskTexts, UsageBy,
    UsageQuery, UsageSum,
};
pub use terminal::Terminal;
