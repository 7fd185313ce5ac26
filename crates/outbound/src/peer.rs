//! Where a call goes, and the addresses it makes: literal IP addresses only, so that no name is
//! looked up and no text of a caller can change the host.
//! Must not know how the mesh found the addresses.

use std::net::{IpAddr, SocketAddr};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A machine to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its name, for errors.
    pub name: String,
    /// Its addresses on the mesh, tried in this order; the next one only if the one before could not
    /// be connected to.
    pub addresses: Vec<IpAddr>,
    /// The port of its daemon.
    pub port: u16,
    /// The address of this machine to call from: the other side knows a device by it. It holds for
    /// addresses of its own family; for the other one the system chooses.
    pub bind: Option<IpAddr>,
}

impl Peer {
    /// Its addresses as sockets, in order.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = SocketAddr> + '_ {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port))
    }
}

/// All but the unreserved characters of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A text as one segment of a path. `None` for what cannot be one: nothing, `.` and `..`, which
/// mean another path however they are written.
pub fn segment(text: &str) -> Option<String> {
    let fits = !matches!(text, "" | "." | "..");
    fits.then(|| utf8_percent_encode(text, ENCODED).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_one_segment_whatever_is_in_it() {
        for (text, expected) in [
            ("review", Some("review")),
            ("Web.app_2-x", Some("Web.app_2-x")),
            ("homeserver/review:cli-1", Some("homeserver%2Freview%3Acli-1")),
            ("a b?c#d%2F", Some("a%20b%3Fc%23d%252F")),
            ("käse", Some("k%C3%A4se")),
            ("...", Some("...")),
            ("", None),
            (".", None),
            ("..", None),
        ] {
            assert_eq!(segment(text).as_deref(), expected, "{text:?}");
        }
    }
}
