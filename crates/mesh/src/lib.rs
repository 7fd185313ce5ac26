//! Who is on the mesh: the names and addresses of its machines, and which machine a source
//! address is. The mesh is the authentication: the address that a connection comes from names the
//! device, and nothing that a message says can change it.
//!
//! - [`Mesh`]: the names as they are now, from a static file, shrooms, Tailscale, or loopback alone
//! - [`local`]: who on this host made a TCP connection, of whom a process descends, and which
//!   interface has an address
//! - [`near`]: names that somebody may have meant
//!
//! It must not know what a session, a task or a right is: it says who, others say what they may.

mod directory;
mod error;
mod file;
pub mod local;
mod machine;
mod mesh;
mod names;
mod naming;
mod spec;

pub use directory::{DirectoryKind, Sockets};
pub use error::{FindError, MeshError};
pub use machine::{DeviceId, Machine, NAME_LIMIT, Source, is_name};
pub use mesh::Mesh;
pub use naming::OwnMesh;
use shrooms_core::near::near;
pub use spec::MeshSpec;
