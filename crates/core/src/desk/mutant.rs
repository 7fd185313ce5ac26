//! Ways of breaking a rule, on purpose: the simulation is worth what it finds, so each of these
//! must be found by it (`cargo xtask simulate --mutants`). Without the feature `simulation` no desk
//! breaks any.

use super::Desk;

/// One broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mutant {
    /// What an earlier boot began is started again instead of asked about.
    RunsAgain,
    /// What the conversation does not have is taken for read: a message is lost.
    LosesUnread,
    /// What may have been read is written again, unmarked.
    WritesAgain,
    /// A task that has ended ends again.
    EndsTwice,
    /// A lane that has a task begins another.
    SharesLane,
    /// A result that was told is told again.
    TellsTwice,
    /// What was offered as a call's return is taken for read, shown or not.
    TrustsOffers,
    /// A task that waits for its asker is reminded of.
    WakesBlocked,
    /// The reminders never end.
    RemindsOn,
    /// Older news of a task replaces newer.
    TakesOldNews,
    /// The same message id again makes another task.
    ForgetsIds,
    /// That nobody answers is taken for the end of a task.
    TakesSilenceForAnEnd,
    /// A task's time is counted by the wall.
    ExpiresByWall,
    /// What may have arrived is cancelled as if it had not.
    CancelsUnsure,
    /// More turns begin than may run.
    IgnoresCap,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 15] = [
        Mutant::RunsAgain,
        Mutant::LosesUnread,
        Mutant::WritesAgain,
        Mutant::EndsTwice,
        Mutant::SharesLane,
        Mutant::TellsTwice,
        Mutant::TrustsOffers,
        Mutant::WakesBlocked,
        Mutant::RemindsOn,
        Mutant::TakesOldNews,
        Mutant::ForgetsIds,
        Mutant::TakesSilenceForAnEnd,
        Mutant::ExpiresByWall,
        Mutant::CancelsUnsure,
        Mutant::IgnoresCap,
    ];
}

impl Desk {
    /// Whether this desk breaks that rule.
    #[cfg(feature = "simulation")]
    pub(super) fn breaks(&self, rule: Mutant) -> bool {
        self.place.mutant == Some(rule)
    }

    /// None does.
    #[cfg(not(feature = "simulation"))]
    pub(super) const fn breaks(&self, _: Mutant) -> bool {
        false
    }
}
