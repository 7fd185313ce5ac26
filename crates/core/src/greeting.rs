//! How daemons of different versions get on: what one says of itself, and what another makes of it
//! (`spec/access.md`: the one before the current works with the current).

use serde::{Deserialize, Serialize};

/// The protocol between daemons that this program speaks. It grows when a daemon must know that the
/// other one does something new; what merely adds a field does not change it.
pub const PROTOCOL: u32 = 2;
/// The oldest that it still speaks with: the one before, of daemons that have no greeting yet.
pub const OLDEST: u32 = 1;
/// What this program does that an older one may not.
pub const FEATURES: [&str; 4] = ["audit", "forward", "rights", "streams"];
/// Features that are read of another daemon's greeting, and the longest text of one.
const MOST_FEATURES: usize = 100;
const LONGEST: usize = 40;

/// What a daemon says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Greeting {
    /// Of the program.
    pub version: String,
    pub protocol: u32,
    pub oldest: u32,
    pub features: Vec<String>,
    /// What the caller may there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<String>,
}

impl Greeting {
    /// This program's.
    pub fn own(version: &str) -> Greeting {
        let features = FEATURES.map(str::to_string).to_vec();
        Greeting { version: version.to_string(), protocol: PROTOCOL, oldest: OLDEST, features, right: None }
    }

    /// A peer's words within their bounds.
    pub fn bounded(mut self) -> Greeting {
        let cut = |text: &mut String| *text = crate::text::cut(&plain(text), LONGEST);
        cut(&mut self.version);
        self.features.truncate(MOST_FEATURES);
        self.features.iter_mut().for_each(cut);
        self.right.iter_mut().for_each(cut);
        self
    }

    /// Why the two cannot work together, and which is to be renewed; `None` = they can.
    pub fn misfit(&self) -> Option<&'static str> {
        if self.protocol < OLDEST {
            return Some("its daemon is too old for this one: renew it there");
        }
        if self.oldest > PROTOCOL {
            return Some("its daemon is too new for this one: renew this machine's");
        }
        None
    }
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_before_works_with_the_current_and_says_who_is_to_be_renewed() {
        let own = Greeting::own("0.1.0");
        assert_eq!(own.misfit(), None);
        let before = Greeting { protocol: PROTOCOL - 1, oldest: PROTOCOL - 1, ..own.clone() };
        assert_eq!(before.misfit(), None);
        assert!(Greeting { protocol: OLDEST - 1, ..before }.misfit().unwrap().contains("too old"));
        let next = Greeting { protocol: PROTOCOL + 1, oldest: PROTOCOL, ..own.clone() };
        assert_eq!(next.misfit(), None);
        let after = Greeting { protocol: PROTOCOL + 2, oldest: PROTOCOL + 1, ..own };
        assert!(after.misfit().unwrap().contains("too new"));
        assert!(FEATURES.is_sorted());
    }

    #[test]
    fn what_a_peer_says_of_itself_is_short_and_plain() {
        let loud = Greeting {
            version: "1\u{1b}[31m".repeat(100),
            features: vec!["x y".into(); 1_000],
            right: Some("owner\n".into()),
            ..Greeting::default()
        };
        let heard = loud.bounded();
        assert!(heard.version.len() <= LONGEST + 3 && !heard.version.contains(char::is_control), "{}", heard.version);
        assert_eq!((heard.features.len(), heard.features[0].as_str()), (MOST_FEATURES, "xy"));
        assert_eq!(heard.right.as_deref(), Some("owner"));
    }
}
