//! What the daemon saw of the work on a task, beside what its worker says of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Names of tools, and files, that one task's evidence holds; the counts go on.
const MAX_NAMES: usize = 100;
/// Commands that it holds: the newest.
const MAX_COMMANDS: usize = 20;
/// Characters of a command that it holds.
const MAX_COMMAND: usize = 200;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Turns that ended.
    pub turns: u32,
    /// Calls of tools that ended, by name, but not those of our own server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, u32>,
    /// All of them, also of names that there was no room for.
    pub tool_calls: u32,
    /// Those that failed.
    pub failed: u32,
    /// Files that tools changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_changed: Vec<String>,
    /// Commands that ended, the newest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// Of a program that is run for the task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    pub tokens: u64,
    /// Millionths of a US dollar, where the harness says what a turn costs.
    pub cost_micros: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    pub command: String,
    pub ok: bool,
    /// Where the harness says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
}

/// A call of a tool that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolUse {
    pub name: String,
    pub ok: bool,
    /// The command, of a tool that runs one.
    pub command: Option<String>,
    pub code: Option<i32>,
    /// The file, of a tool that changes one.
    pub file: Option<String>,
}

/// What an asker requires of a `done`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    ToolCalls,
    FilesChanged,
}

impl Proof {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Proof::ToolCalls => "tool_calls",
            Proof::FilesChanged => "files_changed",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Proof> {
        [Proof::ToolCalls, Proof::FilesChanged].into_iter().find(|p| p.word() == word)
    }
}

impl Evidence {
    pub(crate) fn tool(&mut self, used: &ToolUse) {
        self.tool_calls = self.tool_calls.saturating_add(1);
        self.failed = self.failed.saturating_add(u32::from(!used.ok));
        if self.tools.len() < MAX_NAMES || self.tools.contains_key(&used.name) {
            *self.tools.entry(used.name.clone()).or_default() += 1;
        }
        let file = used.file.as_ref().filter(|_| used.ok);
        if let Some(file) = file.filter(|f| self.files_changed.len() < MAX_NAMES && !self.files_changed.contains(f)) {
            self.files_changed.push(file.clone());
        }
        if let Some(command) = &used.command {
            if self.commands.len() >= MAX_COMMANDS {
                self.commands.remove(0);
            }
            let command = crate::text::cut(command, MAX_COMMAND);
            self.commands.push(Command { command, ok: used.ok, code: used.code });
        }
    }

    /// Whether it shows what is required.
    pub fn proves(&self, proof: Proof) -> bool {
        match proof {
            Proof::ToolCalls => self.tool_calls > self.failed,
            Proof::FilesChanged => !self.files_changed.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_is_bounded_and_counts_on() {
        let mut e = Evidence::default();
        for i in 0..300 {
            e.tool(&ToolUse {
                name: format!("t{i}"),
                ok: i % 2 == 0,
                command: Some("x".repeat(300)),
                code: None,
                file: Some(format!("f{i}")),
            });
        }
        assert_eq!((e.tool_calls, e.failed, e.tools.len()), (300, 150, MAX_NAMES));
        assert_eq!((e.files_changed.len(), e.commands.len()), (MAX_NAMES, MAX_COMMANDS));
        assert_eq!(e.commands[0].command.chars().count(), MAX_COMMAND + 1);
        assert!(e.proves(Proof::ToolCalls) && e.proves(Proof::FilesChanged));
        let mut failed = Evidence::default();
        failed.tool(&ToolUse { name: "Edit".into(), ok: false, command: None, code: None, file: Some("f".into()) });
        assert!(!failed.proves(Proof::ToolCalls) && !failed.proves(Proof::FilesChanged));
        assert_eq!(Proof::parse("files_changed"), Some(Proof::FilesChanged));
        assert_eq!(Proof::parse("x"), None);
    }
}
