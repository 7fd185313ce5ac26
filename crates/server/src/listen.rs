//! Binding: the unix socket and this machine's mesh addresses. Done before the engine starts, so
//! that a port in use is an error before any work is touched. `live` keeps the addresses bound.

mod live;

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use shrooms_core::Kind;
use shrooms_mesh::Mesh;
use thiserror::Error;
use tokio::net::UnixListener;

pub(crate) use live::Live;
pub use live::{Heard, Listening};

/// What keeps a server from starting.
#[derive(Debug, Error)]
pub enum ServeError {
    #[error(
        "cannot listen on {address}: {source}. If another program has it, stop that one, or choose another port with --port"
    )]
    Address { address: SocketAddr, source: io::Error },
    #[error("cannot listen on the socket {path}: {source}")]
    Socket { path: PathBuf, source: io::Error },
    #[error(
        "the path of the socket is too long ({len} bytes, at most 107): use a shorter --state directory than {path}"
    )]
    PathTooLong { path: PathBuf, len: usize },
    #[error("a listener failed: {0}")]
    Accept(io::Error),
}

impl ServeError {
    /// What kind of error it is.
    pub fn kind(&self) -> Kind {
        Kind::Config
    }
}

/// Sockets that are bound and not served yet.
pub struct Listeners {
    pub(crate) unix: UnixListener,
    pub(crate) tcp: Live,
}

/// What the kernel takes for the path of a unix socket, without its last zero.
const MAX_SOCKET_PATH: usize = 107;

impl Listeners {
    /// Binds `socket` (private to the user) and `port` on each of this machine's mesh addresses that
    /// the host has now; the others follow while the server runs.
    /// The caller holds the state's lock: a socket file that is there is nobody's.
    ///
    /// # Errors
    /// An address is in use; the socket's path is too long or not writable.
    pub async fn bind(mesh: &Mesh, socket: &Path, port: u16) -> Result<Listeners, ServeError> {
        let tcp = Live::open(mesh.clone(), port)?;
        let path = socket.to_path_buf();
        let len = path.as_os_str().len();
        if len > MAX_SOCKET_PATH {
            return Err(ServeError::PathTooLong { path, len });
        }
        let failed = |source| ServeError::Socket { path: path.clone(), source };
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(failed(e)),
            _ => {}
        }
        let unix = UnixListener::bind(&path).map_err(failed)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).map_err(failed)?;
        Ok(Listeners { unix, tcp })
    }

    /// What is listened on over TCP, now and later.
    pub fn listening(&self) -> Listening {
        self.tcp.listening()
    }
}
