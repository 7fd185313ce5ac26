//! Who may do what: the rights that a device is given, and the one table of what each principal
//! may (`spec/access.md`, "Rights"). It must not know which request is which action: that is said
//! where requests come in.

use std::collections::{BTreeMap, BTreeSet};
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

/// A device that is on the mesh now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnMesh {
    /// Stable identity.
    pub id: String,
    /// `NAME.MESH`, or `NAME`.
    pub label: String,
    pub name: String,
    /// The mesh says that it is not of the person whose machine this is.
    pub of_another: bool,
}

impl OnMesh {
    /// Whether a person who writes this means it.
    fn is_called(&self, text: &str) -> bool {
        // As labels are told apart: who sees `Laptop` reads `laptop`.
        text.eq_ignore_ascii_case(&self.label) || text.eq_ignore_ascii_case(&self.name)
    }
}

/// Which device a name means where the owner gave something to it: the one that had the name then.
pub type Pins = BTreeMap<String, String>;

/// Names that are bound at once; of more the first by the alphabet. They are in the row that each commit
/// writes.
pub const MAX_PINS: usize = 2_000;

/// The pins as they are to be: of `names` those that are bound stay so, and the others are bound to the
/// one device that has the name now; of two, to none until one has gone, and never to another person's.
/// A name that nothing is given to any more is free.
pub fn pin(names: &BTreeSet<&str>, pins: &Pins, devices: &[OnMesh]) -> Pins {
    let bound = names.iter().filter_map(|name| {
        if let Some(id) = pins.get(*name) {
            return Some(((*name).to_string(), id.clone()));
        }
        let mut called = devices.iter().filter(|device| device.is_called(name) && !device.of_another);
        match (called.next(), called.next()) {
            (Some(device), None) => Some(((*name).to_string(), device.id.clone())),
            _ => None,
        }
    });
    bound.take(MAX_PINS).collect()
}

/// The rights that the owner gives to devices of the mesh: one for all, and those that are named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Grants {
    pub default: Right,
    /// Of devices that the mesh says are another person's: no default is meant for them.
    pub others: Right,
    /// By `NAME.MESH` or `NAME`, or by a device's stable identity, which has a slash.
    pub named: BTreeMap<String, Right>,
}

/// Devices that may be named: far more than a person has.
pub const MAX_GRANTS: usize = 1_000;

impl Default for Grants {
    fn default() -> Grants {
        Grants { default: Right::Owner, others: Right::None, named: BTreeMap::new() }
    }
}

impl Grants {
    /// What a device may. A name is a device's own word: the right that was given to it is for the
    /// device that had it then, and stays with that one whatever it calls itself later. Another one
    /// with that name has the lesser of that right and of everybody's, whichever way the owner meant
    /// it. Another person's device has nothing by a name.
    pub fn of(&self, pins: &Pins, device: &OnMesh) -> Right {
        if let Some(right) = self.named.get(&device.id) {
            return *right;
        }
        let bound: Vec<(&String, &Right)> =
            self.named.iter().filter(|(name, _)| pins.get(*name).is_some_and(|id| *id == device.id)).collect();
        // The label says more than the name.
        let by_label = bound.iter().find(|(name, _)| **name == device.label).map(|(_, right)| **right);
        if let Some(right) = by_label {
            return right;
        }
        if let Some((_, first)) = bound.first() {
            return bound.iter().fold(**first, |least, (_, right)| least.lesser(**right));
        }
        let default = if device.of_another { self.others } else { self.default };
        let taken = self.named.iter().filter(|(name, _)| device.is_called(name));
        taken.fold(default, |least, (_, right)| least.lesser(*right))
    }

    /// The names that rights are given to.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.keys().map(String::as_str).filter(|key| !is_identity(key))
    }

    /// Nothing was said: every device is the owner's.
    pub fn is_plain(&self) -> bool {
        *self == Grants::default()
    }

    /// One line for the audit log.
    pub fn said(&self) -> String {
        let named = self.named.iter().map(|(device, right)| format!(", {device}: {right}"));
        let others = Some(self.others).filter(|right| *right != Right::None);
        let others = others.map(|right| format!(", others' devices: {right}")).unwrap_or_default();
        format!("every device: {}{others}{}", self.default, named.collect::<String>())
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
        Principal::Device { id: "home/fd00::2".into(), label: "phone.home".into(), right, meshes: vec!["home".into()] }
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
                "others" => grants.others = right,
                device => drop(grants.named.insert(device.to_string(), right)),
            }
        }
        grants
    }

    /// `ID=LABEL`, the name being what is before the first dot.
    fn devices(text: &str) -> Vec<OnMesh> {
        let device = |pair: &str| {
            let (id, label) = pair.split_once('=').unwrap();
            let name = label.split('.').next().unwrap();
            OnMesh { id: id.into(), label: label.into(), name: name.into(), of_another: id.starts_with("other") }
        };
        text.split_whitespace().map(device).collect()
    }

    fn bind(grants: &Grants, pins: &Pins, on_mesh: &str) -> Pins {
        pin(&grants.names().collect(), pins, &devices(on_mesh))
    }

    #[track_caller]
    fn check(given: &str, on_mesh: &str, expected: &str) {
        let grants = grants(given);
        let pins = bind(&grants, &Pins::new(), on_mesh);
        let got: Vec<&str> = devices(on_mesh).iter().map(|device| grants.of(&pins, device).word()).collect();
        assert_eq!(got.join(" "), expected, "{given}");
    }

    #[test]
    fn a_right_is_for_the_device_that_had_the_name() {
        let two = "home/1=laptop.home home/2=phone.home";
        check("", two, "owner owner");
        check("*=ask", two, "ask ask");
        check("*=ask laptop.home=owner", two, "owner ask");
        check("*=ask laptop=owner", two, "owner ask");
        check("phone.home=none", two, "owner none");
        check("*=read home/2=ask", two, "read ask");
        check("laptop=read laptop.home=ask", two, "ask owner");
        // Two of one name: neither is given more, and neither escapes.
        let same = "home/1=laptop.home home/2=laptop.home";
        check("*=ask laptop.home=owner", same, "ask ask");
        check("laptop.home=none", same, "none none");
        check("*=ask laptop.home=read", same, "none none");
        check("*=none home/1=owner", same, "owner none");
        // On two meshes the label says which.
        let meshes = "home/1=laptop.home work/2=laptop.work";
        check("*=ask laptop=owner", meshes, "ask ask");
        check("*=ask laptop.work=owner", meshes, "ask owner");
        // Another person's devices have what is given to them alone.
        let others = "home/1=laptop.home other/2=phone.home other/3=tv.home";
        check("", others, "owner none none");
        check("*=ask phone.home=owner", others, "ask none none");
        check("others=ask tv.home=owner", others, "owner ask ask");
        check("others=ask tv.home=none", others, "owner ask none");
        check("other/3=read", others, "owner none read");
    }

    #[test]
    fn a_second_device_of_a_name_gets_none_of_its_rights_also_when_the_first_has_gone() {
        let given = grants("*=ask laptop.home=owner");
        let right = |pins: &Pins, device: &str| given.of(pins, &devices(device)[0]);
        let first = bind(&given, &Pins::new(), "home/1=laptop.home");
        let later = bind(&given, &first, "home/2=laptop.home");
        assert_eq!(later, first);
        assert_eq!(right(&later, "home/2=laptop.home"), Right::Ask);
        assert_eq!(right(&later, "home/1=laptop.home"), Right::Owner);
        // Under another name it is the same device, and has neither more nor less.
        assert_eq!(right(&later, "home/1=notebook.home"), Right::Owner);
        let tied = grants("phone.home=none");
        let pins = bind(&tied, &Pins::new(), "home/5=phone.home");
        assert_eq!(tied.of(&pins, &devices("home/5=television.home")[0]), Right::None);
        // Taken back and given again, it is for who has the name then.
        let none = bind(&grants("*=ask"), &later, "home/2=laptop.home");
        assert_eq!(none, Pins::new());
        let again = bind(&given, &none, "home/2=laptop.home");
        assert_eq!(right(&again, "home/2=laptop.home"), Right::Owner);
        assert_eq!(given.said(), "every device: ask, laptop.home: owner");
    }
}
