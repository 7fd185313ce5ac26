//! Child processes that are never run twice and never lose their result.
//!
//! [`start`] runs a program under a **launcher**, a process of its own that holds the lane's lock,
//! writes `started` before the program and `exit` after it into the run's directory, and ends every
//! descendant before the lock frees. What is true about a run after any crash is in its directory
//! ([`read_trace`]) once [`clear_leftovers`] has said that nothing of it is alive.
//!
//! - `run`: the daemon's side; `launcher`: the other process; `wire`: what they say to each other
//! - `companion`: programs beside this one, outside every run
//! - `terminal`: a harness in the owner's own terminal, outside every run, alone with its conversation
//! - `record`: the files of a run; `lock`: the lane's lock; `proc`: reading `/proc`, sending signals
//! - `codec`: what happens in a harness, in one shape; `claude`: Claude Code, in that shape
//! - `history`: what a harness's own record of a conversation holds
//! - `leftovers`: what a killed launcher left behind; `crash`: named crash points for tests
//!
//! The crate knows nothing of tasks, sessions or lanes: it gets a directory, a lock and a mark.

pub mod claude;
mod clock;
pub mod codec;
pub mod companion;
pub mod crash;
mod error;
mod history;
mod launcher;
mod leftovers;
mod lock;
mod orphans;
mod proc;
mod record;
mod run;
pub mod terminal;
mod wire;

pub use error::{Leftover, StartError};
pub use history::{History, Role, Said};
pub use launcher::launcher_main;
pub use leftovers::{Cleared, clear_leftovers};
pub use orphans::reap_orphans;
pub use proc::become_subreaper;
pub use record::{Trace, read_trace};
pub use run::{Ended, Run, RunEvent, WriteError, start};
pub use wire::{DEFAULT_GRACE_MS, ExitRecord, Input, MARK, MAX_STREAM_LINE, RESULT, Refusal, RunSpec};
