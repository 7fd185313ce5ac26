//! This host: who is at the other end of a local connection (the owner of its client socket, of whom
//! a process descends; read from /proc, because the mesh address only says "this machine"), and which
//! interface has an address. It must not know what a session is; callers bring the process ids.

mod changes;
mod holder;
mod interface;
mod process;
mod socket;

pub use changes::Changes;
pub use holder::{Unproven, lines_of_holders};
pub use interface::{Interface, Interfaces, Link};
pub use process::{Line, ancestors, lineage, own_pid};
pub use socket::{SocketOwner, socket_owner};
