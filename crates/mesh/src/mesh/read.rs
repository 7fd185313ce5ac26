//! One reading of the directory, and what of it becomes the names. `auto` looks for a daemon until one
//! has a mesh, and never comes back from it to loopback.

use std::net::IpAddr;
use std::sync::Arc;

use super::{Directory, Mesh, MeshError, State, nobody, now};
use crate::directory::{DirectoryKind, Listing};
use crate::names::Names;
use crate::naming::Naming;

/// What one reading leaves to the next.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub naming: Naming,
    began: Option<tokio::time::Instant>,
    /// The last refresh that the last reading answers.
    pub answers: u64,
    pub outcome: Option<String>,
}

/// What kept the names from being replaced.
pub(super) enum Failed {
    /// There was no list.
    Listing(MeshError),
    /// There was one, and it cannot be taken.
    Naming(MeshError),
}

const LOOPBACK_NOTICE: &str = "the mesh lists loopback addresses: any process on this host may pose as any of those \
     machines (for tests and demonstrations)";

impl Mesh {
    /// Reads the directory and replaces the names, or says in the trouble why not.
    pub(super) async fn read(&self, reading: &mut Reading) -> Result<(), Failed> {
        let before = self.state();
        let (directory, listed, notice) = self.ask(&before).await;
        // No await from here on: a refresh that is dropped has done all of the following or none.
        let kind = directory.kind();
        let troubled = |names: Arc<Names>, error: &MeshError| State {
            directory: directory.clone(),
            names,
            notice: before.notice.clone(),
            trouble: Some(error.to_string()),
            read: before.read,
        };
        let listing = match listed {
            Ok(listing) => listing,
            Err(error) => {
                self.install(troubled(before.names.clone(), &error));
                return Err(Failed::Listing(error));
            }
        };
        let wanted = &self.shared.wanted;
        let at = now();
        let age = at - *reading.began.get_or_insert(at);
        let named = match reading.naming.names(listing, wanted.meshes.as_deref(), wanted.port, age) {
            Ok(named) => named,
            Err(error) => {
                // A daemon that has not the meshes to be served: none is, rather than fewer.
                let names = if kind.is_daemon() { nobody(wanted.port) } else { before.names.clone() };
                self.install(troubled(names, &error));
                return Err(Failed::Naming(error));
            }
        };
        if kind == DirectoryKind::File && before.read.is_some() && before.names.me().name != named.names.me().name {
            let (before_name, now) = (before.names.me().name.clone(), named.names.me().name.clone());
            let error = MeshError::MeChanged { before: before_name, now };
            self.install(troubled(before.names.clone(), &error));
            return Err(Failed::Naming(error));
        }
        let on_loopback = || named.names.machines().iter().flat_map(|m| &m.addresses).any(IpAddr::is_loopback);
        let in_lab = kind != DirectoryKind::Loopback && on_loopback();
        let notice = notice.or_else(|| in_lab.then(|| LOOPBACK_NOTICE.to_owned()));
        let names = Arc::new(named.names);
        self.install(State { directory, names, notice, trouble: named.trouble, read: Some(at) });
        Ok(())
    }

    /// Asks the directory in use, or for `auto` the daemons first.
    async fn ask(&self, before: &State) -> (Arc<dyn Directory>, Result<Listing, MeshError>, Option<String>) {
        let wanted = &self.shared.wanted;
        let mut notice = None;
        if wanted.auto && before.directory.kind() == DirectoryKind::Loopback {
            let mut why = Vec::new();
            for directory in [wanted.shrooms(), wanted.tailscale()] {
                match directory.list().await {
                    Ok(listing) if listing.trouble.is_none() => return (directory, Ok(listing), None),
                    Ok(listing) => why.extend(listing.trouble),
                    Err(MeshError::NoDaemon { kind, path }) => {
                        why.push(format!("no {kind} daemon answers at {}", path.display()));
                    }
                    Err(error) => why.push(error.to_string()),
                }
            }
            notice = Some(format!(
                "this machine is alone, on 127.0.0.1 and ::1, until a mesh's daemon has a mesh for it ({}); --mesh \
                 file:PATH names machines without one",
                why.join("; ")
            ));
        }
        let mut listed = before.directory.list().await;
        // Meshes that a daemon would have: none is served before one does, rather than loopback.
        if let (true, Some(labels), Ok(_)) = (wanted.auto, &wanted.meshes, &listed)
            && before.directory.kind() == DirectoryKind::Loopback
        {
            let trouble = format!("--meshes {}: {}", labels.join(","), notice.take().unwrap_or_default());
            listed = Ok(Listing { trouble: Some(trouble), ..Listing::default() });
        }
        (before.directory.clone(), listed, notice)
    }
}
