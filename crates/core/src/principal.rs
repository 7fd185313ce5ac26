//! Who a request is from, as the daemon established it from the connection: never from what a
//! message says. What a message says is a claim, shown beside it.

use serde::{Deserialize, Serialize};

use crate::id::SessionUid;
use crate::rights::{Action, Right};

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
