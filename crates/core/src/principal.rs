//! Who a request is from, as the daemon established it from the connection: never from what a
//! message says. What a message says is a claim, shown beside it.

use serde::{Deserialize, Serialize};

use crate::id::SessionUid;

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
    },
}

impl Principal {
    /// The namespace of this principal's message ids. This machine and every device with the
    /// owner's right are one sender.
    pub fn ns(&self) -> Ns {
        match self {
            Principal::Owner | Principal::Session(_) | Principal::Device { .. } => Ns::owner(),
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
