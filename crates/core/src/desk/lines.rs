//! What a session's own log says of it: a line for each change of a setting and of its state, made with
//! the change and handed over with its commit. The log itself is the engine's.

use crate::id::SessionUid;
use crate::principal::Principal;

use super::Desk;

/// A line for the log of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogNote {
    pub session: SessionUid,
    pub text: String,
}

impl Desk {
    /// Lines since the last call: to be written when what came with them is committed, and not before.
    pub fn take_lines(&mut self) -> Vec<LogNote> {
        std::mem::take(&mut self.lines)
    }

    pub(super) fn line(&mut self, session: SessionUid, text: impl Into<String>) {
        self.lines.push(LogNote { session, text: text.into() });
    }

    /// What somebody did.
    pub(super) fn line_by(&mut self, session: SessionUid, what: &str, by: &Principal) {
        let by = self.sender(by, None).label;
        self.line(session, format!("{what}, by {by}"));
    }
}
