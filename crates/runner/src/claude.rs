//! Claude Code, driven headlessly: its command line, its lines on stdio, the conversation it keeps.
//! Made from what its version 2.1.332 does. It must not know how lines travel or what a task is.

mod arguments;
mod codec;
mod conversation;
mod conversations;
mod extra;
mod history;
mod ledger;
mod usage;
mod wire;

pub use arguments::{ArgumentError, ClaudeSpec, Conversation, NOT_INHERITED, PermissionMode, arguments, in_terminal};
pub use codec::Claude;
pub use conversation::{Landed, conversation_file, landed};
pub use conversations::{Kept, conversations, open_in};
pub use extra::check_extra;
pub use history::history;
pub use ledger::{Found, known, since};
