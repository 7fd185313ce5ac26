//! Who a request is from, as the daemon established it from the connection: never from what a
//! message says. What a message says is a claim, shown beside it.

use serde::{Deserialize, Serialize};

use crate::id::SessionUid;
use crate::rights::{Action, Right};
use crate::row::Session;

/// Who a request is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Principal {
    /// This machine's own processes outside sessions.
    Owner,
    /// A process of one of this machine's sessions.
    Session(SessionUid),
    /// A device on the mesh, by its stable identity, with the label that people read
    /// (`laptop.home`).
    Device {
        /// Stable identity: rights and reports are bound to it.
        id: String,
        /// `NAME.MESH`, or `NAME`.
        label: String,
        /// What it may, as it was when the request came. (Rows of before rights are the owner's.)
        #[serde(default, skip_serializing_if = "Right::is_owner")]
        right: Right,
        /// Labels of the meshes that the request came over: of the device, and of the one that it was
        /// handed on for. Of a mesh without a label it is empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        meshes: Vec<String>,
    },
}

impl Principal {
    /// The namespace of this principal's message ids. This machine and every device with the
    /// owner's right are one sender; any other device is one of its own, so that it can neither
    /// guess nor take the owner's ids.
    pub fn ns(&self) -> Ns {
        match self {
            Principal::Owner | Principal::Session(_) | Principal::Device { right: Right::Owner, .. } => Ns::owner(),
            Principal::Device { id, .. } => Ns(format!("device/{id}")),
        }
    }

    /// The identity of a device that knows of no tasks but its own.
    pub fn guest(&self) -> Option<&str> {
        match self {
            Principal::Device { id, .. } if !self.may(Action::Look) => Some(id),
            Principal::Owner | Principal::Session(_) | Principal::Device { .. } => None,
        }
    }

    /// Whether a session is there for this principal: a device sees one that its owner keeps to some
    /// meshes only over these. What it may not see answers as what is not there.
    pub fn sees(&self, session: &Session) -> bool {
        match self {
            Principal::Device { meshes, .. } => {
                let listed = |mesh: &String| session.meshes.contains(mesh);
                // Of what came from nowhere nothing is known: it sees what everybody may.
                session.meshes.is_empty() || (!meshes.is_empty() && meshes.iter().all(listed))
            }
            Principal::Owner | Principal::Session(_) => true,
        }
    }

    /// Whether this is the same sender: a device by its identity, whatever it may or is called by now.
    pub fn is_same(&self, other: &Principal) -> bool {
        match (self, other) {
            (Principal::Device { id, .. }, Principal::Device { id: other, .. }) => id == other,
            (one, other) => one == other,
        }
    }
}

/// A namespace of message ids: one for the owner's machines, one each for door keys and lesser
/// devices (when they come).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ns(pub String);

impl Ns {
    /// This machine and every device with the owner's right.
    pub fn owner() -> Ns {
        Ns(String::new())
    }
}

/// Who sent a task, as its row keeps it and as others are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// As established.
    pub principal: Principal,
    /// What the message or the sender's daemon says: `MACHINE/SESSION`. Only where it adds
    /// something: a session of this machine needs no claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The words for people and for the worker's header: `laptop.home (laptop/webapp)`.
    pub label: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::LaneNo;
    use crate::row::Harness;
    use crate::time::Stamp;

    #[test]
    fn a_session_is_there_for_devices_of_its_meshes_and_for_this_machine() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_string).collect() };
        for (of_session, of_request, sees) in [
            (vec![], vec!["home".to_string()], true),
            (vec![], vec![String::new()], true),
            (vec![], vec![], true),
            (words("home"), words("home"), true),
            (words("home work"), words("work"), true),
            (words("home"), words("work"), false),
            // A mesh without a label, and one of nobody.
            (words("home"), vec![String::new()], false),
            (words("home"), vec![], false),
            // Handed on: both must see it.
            (words("home"), words("home work"), false),
            (words("home work"), words("home work"), true),
        ] {
            let harness = Harness::Claude { model: None, auto_approve: false };
            let created = Stamp { wall: 0, served: 0 };
            let mut session = Session::new(SessionUid(1), "web".into(), harness, "/".into(), LaneNo(2), created);
            session.meshes = of_session;
            let device = Principal::Device {
                id: "home/1".into(),
                label: "phone.home".into(),
                right: Right::Owner,
                meshes: of_request,
            };
            assert_eq!(device.sees(&session), sees, "{device:?} {:?}", session.meshes);
            assert!(Principal::Owner.sees(&session) && Principal::Session(SessionUid(9)).sees(&session));
        }
    }
}
