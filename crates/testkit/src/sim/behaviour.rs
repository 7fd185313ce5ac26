//! How a program behaves.

/// One way of behaving, of a session for its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// Does what it is asked, says so, and waits for what it asks.
    Lively,
    /// The same, in its own time.
    Slow,
    /// Ends its turns without a word of the task.
    Silent,
    /// Dies again and again, at any point.
    Dying,
    /// Talks on after the end: of tasks that are over, in turns that nobody asked for.
    Late,
    /// Nobody can say afterwards what it has read.
    Unknown,
    /// A command that is run for each task.
    Command,
}

impl Behaviour {
    /// All of them.
    pub const ALL: [Behaviour; 7] = [
        Behaviour::Lively,
        Behaviour::Slow,
        Behaviour::Silent,
        Behaviour::Dying,
        Behaviour::Late,
        Behaviour::Unknown,
        Behaviour::Command,
    ];

    pub(super) fn is_unknown(self) -> bool {
        self == Behaviour::Unknown
    }
}
