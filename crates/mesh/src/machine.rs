//! A device on the mesh: its name, its addresses, its stable identity, and the rule for names.
//! Plain values; where they came from is not known here.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

/// The longest name of a machine, a mesh label or a session, in characters: what the mesh daemon
/// and the wire allow.
pub const NAME_LIMIT: usize = 64;

/// The stable identity of a device: what rights are bound to. Another device with the same name
/// has another one.
///
/// For the static file and loopback it is `MESH-LABEL/ADDRESS` with the first address; the part
/// before the slash is empty for a machine without a mesh label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId(pub String);

impl fmt::Display for DeviceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// One device on one mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Its mesh name, as [`is_name`] allows.
    pub name: String,
    /// The label of its mesh, where there is one.
    pub mesh: Option<String>,
    /// Its addresses on that mesh, the preferred first; never empty, IPv4-mapped forms as IPv4.
    pub addresses: Vec<IpAddr>,
    /// The TCP port its daemon listens on.
    pub port: u16,
    /// What rights are bound to.
    pub id: DeviceId,
    /// Its mesh says that it is another person's, or no person's, than this machine is.
    pub of_another: bool,
}

impl Machine {
    /// `laptop.home`, or `laptop` where the mesh has no label.
    #[must_use]
    pub fn label(&self) -> String {
        match &self.mesh {
            Some(mesh) => format!("{}.{mesh}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Who a source address is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// This machine itself.
    Me,
    /// Another device of the mesh.
    Device(Arc<Machine>),
    /// Nobody: the connection is to be closed without an answer, after one [`crate::Mesh::refresh`].
    Unknown,
}

/// Whether this may name a machine, a mesh or a session: first an ASCII letter or digit, then
/// letters, digits, `.`, `_`, `-`; at most [`NAME_LIMIT`] characters.
#[must_use]
pub fn is_name(text: &str) -> bool {
    text.len() <= NAME_LIMIT
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: bool) {
        assert_eq!(is_name(name), expected, "for {name:?}");
    }

    #[test]
    fn a_name_starts_with_a_letter_or_digit_and_holds_no_slash() {
        check("laptop", true);
        check("9-lives_v1.2", true);
        check(&"a".repeat(64), true);
        check(&"a".repeat(65), false);
        check("", false);
        check("-x", false);
        check(".x", false);
        check("a/b", false);
        check("a b", false);
        check("büro", false);
    }
}
