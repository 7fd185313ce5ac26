//! What can be wrong with a mesh, each with what to do about it.
//! Every text is for the person at the terminal; none carries a secret.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::DirectoryKind;

/// Why a mesh could not be opened or read again.
#[derive(Debug, thiserror::Error)]
pub enum MeshError {
    /// `--mesh` is none of the known words.
    #[error("--mesh {given} is not known{} (use auto, loopback, file:PATH, shrooms or tailscale)", hint(near))]
    Spec { given: String, near: Vec<String> },
    /// `--me` where the mesh's daemon names this machine.
    #[error(
        "--me does not go with --mesh {0}: there this machine's name is the one that {0} has for it; leave --me out, and \
         rename it there if need be"
    )]
    MeGiven(String),
    /// `--socket` where no daemon is asked.
    #[error(
        "--socket is the mesh daemon's, and --mesh {0} asks none: leave it out, or use --mesh shrooms or tailscale"
    )]
    SocketGiven(String),
    /// Nobody listens there.
    #[error(
        "no {kind} daemon answers at {}, so that nobody can reach this machine: start it (this daemon follows), or say \
         where its socket is with --socket; --mesh loopback or file:PATH does without",
        path.display()
    )]
    NoDaemon { kind: DirectoryKind, path: PathBuf },
    /// It is there, and not for this user.
    #[error(
        "this user may not ask the {kind} daemon at {}: add the user to the socket's group, and start this daemon from a \
         new login",
        path.display()
    )]
    NotAllowed { kind: DirectoryKind, path: PathBuf },
    /// It takes the question and says nothing.
    #[error("the {kind} daemon at {} did not answer within {seconds} s: look at its log, or restart it", path.display())]
    Silent { kind: DirectoryKind, path: PathBuf, seconds: u64 },
    /// It answers something else.
    #[error("what answers at {} does not speak as the {kind} daemon does: {what}", path.display())]
    Strange { kind: DirectoryKind, path: PathBuf, what: String },
    /// Tailscale is there, and off.
    #[error("Tailscale is not up on this machine (it says {state:?}): run `tailscale up`, and this daemon follows")]
    TailscaleDown { state: String },
    /// What a refresh at the same time came to.
    #[error("{0}")]
    Shared(String),
    /// `--me`, `me`, a machine's name or a mesh label breaks the rule for names.
    #[error(
        "{what} {name:?} cannot be a name: first a letter or digit, then letters, digits, '.', '_' or '-', at most 64 \
         characters; no address, and not \"localhost\""
    )]
    BadName { what: &'static str, name: String },
    /// `--meshes` names a label that no machine of the mesh has.
    #[error("--meshes: no mesh is labelled {label:?}{} ({known})", hint(near))]
    UnknownLabel { label: String, near: Vec<String>, known: String },
    /// `--meshes` with nothing in it.
    #[error("--meshes is empty: name at least one mesh, or leave it out to serve all")]
    NoLabels,
    /// This machine is on none of the meshes that `--meshes` names.
    #[error("--meshes leaves out every mesh that {name:?} is on ({on}): name one of them, or leave --meshes out")]
    NotServed { name: String, on: String },
    /// The file cannot be read.
    #[error("the mesh file {} cannot be read: {source}; make it, or use --mesh loopback", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The file is larger than any list of machines.
    #[error("the mesh file {} is over {limit} bytes: it should only list machines", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    /// The file is not the TOML that was expected.
    #[error("the mesh file {} is not right: {text}", path.display())]
    Syntax { path: PathBuf, text: String },
    /// What the file says contradicts itself or the rules.
    #[error("the mesh file {} is not right: {problem}", path.display())]
    File { path: PathBuf, problem: FileProblem },
    /// While running, the file began to call this machine otherwise.
    #[error("the mesh file now calls this machine {now:?}, not {before:?}: restart the daemon to take that name")]
    MeChanged { before: String, now: String },
}

/// One thing that a mesh file must not say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileProblem {
    #[error("it lists no machine: add a [[machine]] with name and addresses")]
    NoMachine,
    #[error("unknown key {key:?} {place}{} (allowed: {allowed})", hint(near))]
    UnknownKey { key: String, place: String, near: Vec<String>, allowed: String },
    #[error("{0:?} is listed twice: give one of them another name or another mesh")]
    DuplicateMachine(String),
    #[error("{label:?} may be either of two machines: give {name:?} a mesh label or another name")]
    Confusable { label: String, name: String },
    #[error("the address {address} belongs to both {first:?} and {second:?}: an address names one machine")]
    DuplicateAddress { address: IpAddr, first: String, second: String },
    #[error("{0:?} has no address: list at least one in addresses = [\"…\"]")]
    NoAddress(String),
    #[error(
        "{machine:?} has the address {text:?}, which is not an IP address: write it alone, without port or /prefix"
    )]
    BadAddress { machine: String, text: String },
    #[error("{machine:?} has the address {address}, which names no single machine: use its address on the mesh")]
    UselessAddress { machine: String, address: IpAddr },
    #[error("{0:?} has port 0: give the port its daemon listens on, or leave it out")]
    NoPort(String),
    #[error(
        "it does not say which machine this is, and no machine in it has an address of this host: set me = \"NAME\" \
         in the file, or --me NAME ({0})"
    )]
    NoMe(String),
    #[error("several of its machines have an address of this host ({0}): set me = \"NAME\" in the file, or --me NAME")]
    SeveralMe(String),
    #[error("this machine is called {name:?}, but no such machine is listed{} ({known})", hint(near))]
    UnknownMe { name: String, near: Vec<String>, known: String },
}

/// Why no single machine has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No machine has that name.
    #[error("no machine is named {name:?}{} ({known})", hint(near))]
    Unknown { name: String, near: Vec<String>, known: String },
    /// No machine has that address.
    #[error("no machine of the mesh has the address {0}: use a machine's name")]
    UnknownAddress(IpAddr),
    /// Several meshes have a machine of that name.
    #[error("{name:?} is on more than one mesh: say {}", choices.join(" or "))]
    Ambiguous { name: String, choices: Vec<String> },
}

/// `: did you mean a or b?`, or nothing.
fn hint(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!(": did you mean {}?", near.join(" or ")) }
}

/// How many names an error shows before it only counts the rest: one line of a terminal.
const SHOWN: usize = 8;

/// `there is: a, b` for the end of an error.
pub(crate) fn known(names: &[String]) -> String {
    match names.len() {
        0 => "there is none".to_owned(),
        count if count > SHOWN => format!("there is: {} and {} more", names[..SHOWN].join(", "), count - SHOWN),
        _ => format!("there is: {}", names.join(", ")),
    }
}
