//! Who on this host is at the other end: the owner of a TCP connection's client socket, and of
//! whom a process descends. Read from /proc, because the mesh address of a local connection only
//! says "this machine". It must not know what a session is; callers bring the process ids.

mod process;
mod socket;

pub use process::{ancestors, descendants_of, holders, lineage};
pub use socket::{SocketOwner, socket_owner};
