//! Who may do what: the rights that a device is given, and the one table of what each principal
//! may (`spec/access.md`, "Rights"). It must not know which request is which action: that is said
//! where requests come in.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::principal::Principal;

/// What a device of the mesh may do here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Right {
    /// Everything, as the owner on this machine.
    #[default]
    Owner,
    /// To give tasks to its agents, and to see and cancel those that it gave.
    Ask,
    /// To look at everything, and to change nothing.
    Read,
    /// Nothing.
    None,
}

/// All rights, the most first.
pub const RIGHTS: [Right; 4] = [Right::Owner, Right::Ask, Right::Read, Right::None];

impl Right {
    /// As it is written in the config and shown.
    pub fn word(self) -> &'static str {
        match self {
            Right::Owner => "owner",
            Right::Ask => "ask",
            Right::Read => "read",
            Right::None => "none",
        }
    }

    /// The right of this word.
    pub fn parse(word: &str) -> Option<Right> {
        RIGHTS.into_iter().find(|right| right.word() == word)
    }

    pub(crate) fn is_owner(&self) -> bool {
        *self == Right::Owner
    }

    /// What both allow: of a request that one device hands on for another.
    pub fn lesser(self, other: Right) -> Right {
        match (self, other) {
            (Right::Owner, right) | (right, Right::Owner) => right,
            (one, two) if one == two => one,
            // Asking and reading have nothing in common that is worth a word of its own.
            _ => Right::None,
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// What a request is, as far as rights go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// See which agents there are: cards, their names, which daemon this is.
    Find,
    /// Give an agent a task, follow and cancel what one gave.
    Ask,
    /// See sessions with their settings, tasks and asks.
    Look,
    /// See what was said, prompts, the feed, the audit log.
    See,
    /// What a session's tools do: ask other agents, say how its own tasks go.
    Work,
    /// Everything else: settings, sessions, prompts, queues, words in the owner's voice.
    Own,
}

/// All actions, the least first.
pub const ACTIONS: [Action; 6] = [Action::Find, Action::Ask, Action::Look, Action::See, Action::Work, Action::Own];

impl Principal {
    /// Whether requests of this kind are this principal's to make.
    pub fn may(&self, action: Action) -> bool {
        use Action::{Ask, Find, Look, Own, See, Work};
        match self {
            Principal::Owner | Principal::Device { right: Right::Owner, .. } => true,
            Principal::Session(_) => match action {
                Find | Ask | Look | Work => true,
                See | Own => false,
            },
            Principal::Device { right: Right::Ask, .. } => matches!(action, Find | Ask),
            Principal::Device { right: Right::Read, .. } => matches!(action, Find | Look | See),
            Principal::Device { right: Right::None, .. } => false,
        }
    }
}

/// The rights that the owner gives to devices of the mesh: one for all, and those that are named.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    pub default: Right,
    /// By `NAME.MESH`, or by a device's stable identity, which has a slash.
    pub named: BTreeMap<String, Right>,
}

/// Devices that may be named: far more than a person has.
pub const MAX_GRANTS: usize = 1_000;

/// Which device a grant by name was given to: the identity that had the name when it was.
pub type Pins = BTreeMap<String, String>;

impl Grants {
    /// What the device with this identity and label may. A name is a device's own word: the right
    /// that was given to it is for the device that had it then. Another one with that name has the
    /// lesser of that right and of everybody's, whichever way the owner meant it.
    pub fn of(&self, pins: &Pins, id: &str, label: &str) -> Right {
        if let Some(right) = self.named.get(id) {
            return *right;
        }
        match self.named.get(label) {
            Some(right) if pins.get(label).is_some_and(|pinned| pinned == id) => *right,
            Some(right) => self.default.lesser(*right),
            None => self.default,
        }
    }

    /// The pins as they are to be, with the devices (identity, label) that are on the mesh now: a
    /// grant by name is for the one device that has the name; of two, for none until one has gone.
    pub fn pin<'a>(&self, pins: &Pins, devices: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Pins {
        let by_name = self.named.keys().filter(|key| !is_identity(key));
        let pinned = by_name.filter_map(|label| {
            if let Some(id) = pins.get(label) {
                return Some((label.clone(), id.clone()));
            }
            let mut named = devices.clone().filter(|(_, of)| *of == label.as_str());
            match (named.next(), named.next()) {
                (Some((id, _)), None) => Some((label.clone(), id.to_string())),
                _ => None,
            }
        });
        pinned.collect()
    }

    /// Nothing was said: every device is the owner's.
    pub fn is_plain(&self) -> bool {
        *self == Grants::default()
    }

    /// One line for the audit log.
    pub fn said(&self) -> String {
        let named = self.named.iter().map(|(device, right)| format!(", {device}: {right}"));
        format!("every device: {}{}", self.default, named.collect::<String>())
    }
}

/// Whether a device is named by its stable identity: names have no slash.
pub fn is_identity(device: &str) -> bool {
    device.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::SessionUid;

    fn device(right: Right) -> Principal {
        Principal::Device { id: "home/fd00::2".into(), label: "phone.home".into(), right }
    }

    #[test]
    fn each_principal_may_what_the_table_says() {
        for (who, may) in [
            (Principal::Owner, "Find Ask Look See Work Own"),
            (device(Right::Owner), "Find Ask Look See Work Own"),
            (Principal::Session(SessionUid(1)), "Find Ask Look Work"),
            (device(Right::Ask), "Find Ask"),
            (device(Right::Read), "Find Look See"),
            (device(Right::None), ""),
        ] {
            let got: Vec<String> = ACTIONS.iter().filter(|a| who.may(**a)).map(|a| format!("{a:?}")).collect();
            assert_eq!(got.join(" "), may, "{who:?}");
        }
    }

    #[test]
    fn the_lesser_of_two_rights_allows_nothing_that_one_of_them_does_not() {
        for one in RIGHTS {
            assert_eq!(Right::parse(one.word()), Some(one));
            for two in RIGHTS {
                let both = one.lesser(two);
                assert_eq!(both, two.lesser(one));
                let all = ACTIONS.iter().filter(|a| device(both).may(**a));
                assert!(all.clone().all(|a| device(one).may(*a) && device(two).may(*a)), "{one} {two}");
            }
        }
        assert_eq!(Right::Owner.lesser(Right::Ask), Right::Ask);
        assert_eq!(Right::parse("all"), None);
    }

    fn grants(text: &str) -> Grants {
        let mut grants = Grants::default();
        for (device, right) in text.split_whitespace().map(|pair| pair.split_once('=').unwrap()) {
            let right = Right::parse(right).unwrap();
            match device {
                "*" => grants.default = right,
                device => drop(grants.named.insert(device.to_string(), right)),
            }
        }
        grants
    }

    #[track_caller]
    fn check(given: &str, devices: &[(&str, &str)], expected: &str) {
        let grants = grants(given);
        let pins = grants.pin(&Pins::new(), devices.iter().copied());
        let got: Vec<String> =
            devices.iter().map(|(id, label)| grants.of(&pins, id, label).word().to_string()).collect();
        assert_eq!(got.join(" "), expected, "{given}");
    }

    #[test]
    fn a_right_is_for_the_device_that_had_the_name() {
        check("", &[("home/1", "laptop.home")], "owner");
        check("*=ask", &[("home/1", "laptop.home"), ("home/2", "phone.home")], "ask ask");
        check("*=ask laptop.home=owner", &[("home/1", "laptop.home"), ("home/2", "phone.home")], "owner ask");
        check("phone.home=none", &[("home/1", "laptop.home"), ("home/2", "phone.home")], "owner none");
        check("*=read home/2=ask", &[("home/1", "laptop.home"), ("home/2", "phone.home")], "read ask");
        // Two of one name: neither is given more, and neither escapes.
        check("*=ask laptop.home=owner", &[("home/1", "laptop.home"), ("home/2", "laptop.home")], "ask ask");
        check("laptop.home=none", &[("home/1", "laptop.home"), ("home/2", "laptop.home")], "none none");
        check("*=ask laptop.home=read", &[("home/1", "laptop.home"), ("home/2", "laptop.home")], "none none");
        check("*=none home/1=owner", &[("home/1", "laptop.home"), ("home/2", "laptop.home")], "owner none");
    }

    #[test]
    fn a_second_device_of_a_name_gets_none_of_its_rights_also_when_the_first_has_gone() {
        let given = grants("*=ask laptop.home=owner");
        let first = given.pin(&Pins::new(), [("home/1", "laptop.home")].into_iter());
        let later = given.pin(&first, [("home/2", "laptop.home")].into_iter());
        assert_eq!(later, first);
        assert_eq!(given.of(&later, "home/2", "laptop.home"), Right::Ask);
        assert_eq!(given.of(&later, "home/1", "laptop.home"), Right::Owner);
        // Under another name it is the same device, and the right is by the name.
        assert_eq!(given.of(&later, "home/1", "notebook.home"), Right::Ask);
        // Taken back and given again, it is for who has the name then.
        let none = grants("*=ask").pin(&later, [("home/2", "laptop.home")].into_iter());
        assert_eq!(none, Pins::new());
        let again = given.pin(&none, [("home/2", "laptop.home")].into_iter());
        assert_eq!(given.of(&again, "home/2", "laptop.home"), Right::Owner);
        assert_eq!(given.said(), "every device: ask, laptop.home: owner");
    }
}
