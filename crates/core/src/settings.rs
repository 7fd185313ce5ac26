//! What the owner may set about the life of tasks, as plain values. Their defaults are the rules'
//! own (`spec/tasks.md`). Nothing here reads a file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rights::Grants;
use crate::row::Price;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub watchdog: Watchdog,
    pub limits: Limits,
    pub sessions: Sessions,
    pub log: Log,
    /// What devices of the mesh may do here.
    pub grants: Grants,
    /// What models cost where a harness does not say, by the beginning of their names.
    pub prices: BTreeMap<String, Price>,
}

/// When a worker that went quiet is reminded; all of served time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Watchdog {
    /// Between two looks.
    pub pass_secs: u32,
    /// Quiet for so long before the first reminder.
    pub first_reminder_secs: u32,
    /// Quiet for so long after the turn of each reminder before the next: as many as there are, and
    /// no more.
    pub ladder_secs: Vec<u32>,
    /// Quiet for so long after the last one's turn, and the task is stalled.
    pub stalled_after_secs: u32,
    /// Reminders of one session within an hour.
    pub per_hour: u32,
    /// A tool call that runs longer is told to the owner, nothing more.
    pub long_call_secs: u32,
    /// A command in the background that runs longer is told to the owner, and is no sign of life any
    /// more.
    pub long_background_secs: u32,
}

impl Default for Watchdog {
    fn default() -> Watchdog {
        Watchdog {
            pass_secs: 30,
            first_reminder_secs: 300,
            ladder_secs: vec![60, 120, 300, 600],
            stalled_after_secs: 1_800,
            per_hour: 6,
            long_call_secs: 1_800,
            long_background_secs: 7_200,
        }
    }
}

impl Watchdog {
    /// How long a lane must be quiet (ms) before the reminder after `sent` ones; `None` when all were
    /// sent.
    pub fn gap_ms(&self, sent: u32) -> Option<i64> {
        let secs = match sent {
            0 => self.first_reminder_secs,
            n => *self.ladder_secs.get(n as usize - 1)?,
        };
        Some(i64::from(secs) * 1_000)
    }

    /// How many reminders there are in all.
    pub fn reminders(&self) -> u32 {
        1 + u32::try_from(self.ladder_secs.len()).unwrap_or(u32::MAX - 1)
    }
}

/// How long programs of sessions stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// A program that stays is stopped when it had nothing to do for so long (served); 0 = never. The
    /// next message goes on in its conversation.
    pub idle_secs: u32,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions { idle_secs: 1_800 }
    }
}

/// Bounds of what may wait, run and be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tasks that may wait in one session.
    pub queue: u32,
    /// New tasks of agents in an hour, from one device to one session.
    pub agent_tasks_per_hour: u32,
    /// Turns that run at once on this machine; 0 = four for each core.
    pub turns: u32,
    /// What may be spent on this machine on a day (of UTC), in millionths of a US dollar; 0 = no cap.
    pub daily_micros: u64,
    /// Hours of served time after which a task that nobody finished is canceled.
    pub expire_hours: u32,
    /// Days that ended tasks are kept, by wall and by served time.
    pub keep_days: u32,
    /// A session whose account was at its limit goes on by itself after the reset, once; else it is
    /// stopped then, until it is started.
    pub resume_after_limit: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            queue: 100,
            agent_tasks_per_hour: 30,
            turns: 0,
            daily_micros: 0,
            expire_hours: 24,
            keep_days: 7,
            resume_after_limit: true,
        }
    }
}

/// What is kept of what sessions said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// Lines of one session: the newest.
    pub lines: u32,
    /// Megabytes of the whole log on the disk.
    pub total_mb: u32,
    /// Kilobytes of one line; a longer one is cut.
    pub line_kb: u32,
}

impl Default for Log {
    fn default() -> Log {
        Log { lines: 200_000, total_mb: 2_000, line_kb: 64 }
    }
}

/// A setting that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: must be {what}, not {given}")]
pub struct BadSetting {
    pub name: &'static str,
    pub what: &'static str,
    pub given: u64,
}

impl Settings {
    /// Checks what was given.
    ///
    /// # Errors
    /// The first that is out of its bounds.
    pub fn check(&self) -> Result<(), BadSetting> {
        let (w, l) = (&self.watchdog, &self.limits);
        // A year of anything is never meant; nothing may be instant but a pass of a second.
        let year = 365 * 86_400;
        let within = |name, value: u32, from: u32, to: u32, what| match (from..=to).contains(&value) {
            true => Ok(()),
            false => Err(BadSetting { name, what, given: u64::from(value) }),
        };
        within("watchdog.pass_secs", w.pass_secs, 1, 3_600, "1 to 3600")?;
        for (name, value) in [
            ("watchdog.first_reminder_secs", w.first_reminder_secs),
            ("watchdog.stalled_after_secs", w.stalled_after_secs),
            ("watchdog.long_call_secs", w.long_call_secs),
            ("watchdog.long_background_secs", w.long_background_secs),
        ] {
            within(name, value, 1, year, "a second to a year")?;
        }
        for value in &w.ladder_secs {
            within("watchdog.ladder_secs", *value, 1, year, "a second to a year, each")?;
        }
        let steps = u32::try_from(w.ladder_secs.len()).unwrap_or(u32::MAX);
        within("watchdog.ladder_secs", steps, 0, 100, "at most 100 steps")?;
        within("sessions.idle_secs", self.sessions.idle_secs, 0, year, "0 (never) to a year")?;
        within("watchdog.per_hour", w.per_hour, 1, 3_600, "1 to 3600")?;
        within("limits.queue", l.queue, 1, 10_000, "1 to 10000")?;
        within("limits.agent_tasks_per_hour", l.agent_tasks_per_hour, 1, 100_000, "1 to 100000")?;
        within("limits.turns", l.turns, 0, 10_000, "0 to 10000")?;
        within("limits.expire_hours", l.expire_hours, 1, 24 * 365, "an hour to a year")?;
        within("limits.keep_days", l.keep_days, 1, 3_650, "1 to 3650")?;
        within("log.lines", self.log.lines, 100, 10_000_000, "100 to 10000000")?;
        within("log.total_mb", self.log.total_mb, 10, 1_000_000, "10 to 1000000")?;
        within("log.line_kb", self.log.line_kb, 1, 1_000, "1 to 1000")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_is_the_one_of_the_specification() {
        let w = Watchdog::default();
        let gaps: Vec<_> = (0..6).map(|n| w.gap_ms(n)).collect();
        assert_eq!(gaps, [Some(300_000), Some(60_000), Some(120_000), Some(300_000), Some(600_000), None]);
        assert_eq!(w.reminders(), 5);
        assert_eq!(Settings::default().check(), Ok(()));
    }

    #[test]
    fn a_setting_out_of_its_bounds_is_named() {
        let mut settings = Settings::default();
        settings.watchdog.ladder_secs = vec![60, 0];
        assert_eq!(settings.check().unwrap_err().name, "watchdog.ladder_secs");
        settings.watchdog.ladder_secs = vec![];
        settings.limits.queue = 0;
        assert_eq!(settings.check().unwrap_err().to_string(), "limits.queue: must be 1 to 10000, not 0");
    }
}
