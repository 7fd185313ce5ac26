//! Names of sessions, agents and tasks, as people write them: `SESSION`, `MACHINE/SESSION`,
//! `MACHINE/SESSION:MESSAGE-ID`. Split at the first `/`, then at the first `:`; what a task id
//! means is looked up, never taken apart.

use serde::{Deserialize, Serialize};

use crate::refusal::Refusal;

/// Longest session name, in characters.
pub const MAX_NAME: usize = 64;

/// Session names that mean something else in an address.
pub const RESERVED: [&str; 7] = ["outside", "owner", "localhost", "routine", "door", "tasks", "extendedAgentCard"];

/// Checks a session's name: first a letter or digit, then letters, digits, `.`, `_`, `-`; at most
/// 64; none of [`RESERVED`]. ASCII letters only, since a name is part of addresses.
pub fn check_session_name(name: &str) -> Result<(), Refusal> {
    let fits = name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if !fits {
        return Err(Refusal::BadName { name: crate::text::cut(name, 80) });
    }
    if RESERVED.contains(&name) {
        return Err(Refusal::ReservedName { name: name.to_string() });
    }
    Ok(())
}

/// An agent as written: a session, perhaps on a named machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRef {
    /// Machine name, address or `localhost`; absent = look for the session on every machine.
    pub machine: Option<String>,
    /// The session's name.
    pub session: String,
}

impl AgentRef {
    /// Splits at the first `/` that is not inside brackets (an IPv6 address may be the machine).
    pub fn parse(text: &str) -> Result<AgentRef, Refusal> {
        let bad = || Refusal::BadAgent { text: crate::text::cut(text, 120) };
        let (machine, session) = match text.split_once('/') {
            Some((m, s)) => (Some(m), s),
            None => (None, text),
        };
        if machine.is_some_and(|m| m.is_empty() || m.contains(char::is_whitespace)) {
            return Err(bad());
        }
        check_session_name(session).map_err(|_| bad())?;
        Ok(AgentRef { machine: machine.map(str::to_string), session: session.to_string() })
    }
}

/// Whose files a session takes: `MACHINE/SESSION`, or `MACHINE/*` for all of that machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilesFrom {
    machine: String,
    /// Absent = all.
    session: Option<String>,
}

impl FilesFrom {
    /// Reads one entry of the list.
    pub fn parse(text: &str) -> Result<FilesFrom, Refusal> {
        let bad = || Refusal::BadAgent { text: crate::text::cut(text, 120) };
        if let Some(machine) = text.strip_suffix("/*") {
            let fits = !machine.is_empty() && !machine.contains(|c: char| c == '/' || c.is_whitespace());
            return fits.then(|| FilesFrom { machine: machine.into(), session: None }).ok_or_else(bad);
        }
        match AgentRef::parse(text)? {
            AgentRef { machine: Some(machine), session } => Ok(FilesFrom { machine, session: Some(session) }),
            AgentRef { machine: None, .. } => Err(bad()),
        }
    }

    /// The machine that it names, by its name or its label.
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Whether it names this sender: a machine by its name or its label, and a session of it, where
    /// that is known.
    pub fn names(&self, machine: &[&str], session: Option<&str>) -> bool {
        machine.contains(&self.machine.as_str()) && self.session.as_deref().is_none_or(|wanted| session == Some(wanted))
    }
}

impl std::fmt::Display for FilesFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.machine, self.session.as_deref().unwrap_or("*"))
    }
}

impl TryFrom<String> for FilesFrom {
    type Error = Refusal;
    fn try_from(text: String) -> Result<FilesFrom, Refusal> {
        FilesFrom::parse(&text)
    }
}

impl From<FilesFrom> for String {
    fn from(from: FilesFrom) -> String {
        from.to_string()
    }
}

/// A task as written: an id, perhaps on a named machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRef {
    /// Machine name, address or `localhost`; absent = this machine.
    pub machine: Option<String>,
    /// The task's id, whole: `SESSION:MESSAGE-ID`.
    pub id: String,
}

impl TaskRef {
    /// Splits at the first `/`; the id must hold a `:`.
    pub fn parse(text: &str) -> Result<TaskRef, Refusal> {
        let bad = || Refusal::BadTaskRef { text: crate::text::cut(text, 120) };
        let (machine, id) = match text.split_once('/') {
            Some((m, i)) => (Some(m.to_string()), i),
            None => (None, text),
        };
        let blank = |s: &str| s.is_empty() || s.contains(|c: char| c.is_whitespace() || c.is_control());
        let (session, mid) = id.split_once(':').ok_or_else(bad)?;
        if blank(session) || blank(mid) || machine.as_deref().is_some_and(blank) {
            return Err(bad());
        }
        Ok(TaskRef { machine, id: id.to_string() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_taken_from_a_session_or_a_whole_machine() {
        for (text, machine, session, want) in [
            ("laptop/review", vec!["laptop", "laptop.home"], Some("review"), true),
            ("laptop/review", vec!["laptop"], Some("tests"), false),
            ("laptop/review", vec!["laptop"], None, false),
            ("laptop/*", vec!["laptop"], None, true),
            ("laptop.home/*", vec!["laptop", "laptop.home"], Some("x"), true),
            ("laptop/*", vec!["server"], Some("x"), false),
        ] {
            let from = FilesFrom::parse(text).unwrap();
            assert_eq!(from.names(&machine, session), want, "{text} {machine:?} {session:?}");
            assert_eq!(from.to_string(), text);
        }
        for bad in ["", "review", "*", "*/*/*", "/*", "a b/*", "laptop/", "laptop/a b"] {
            assert!(FilesFrom::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn session_names_follow_the_rule() {
        for (name, good) in [
            ("review", true),
            ("Web.app_2-x", true),
            ("7", true),
            ("", false),
            (".hidden", false),
            ("a b", false),
            ("a/b", false),
            ("a:b", false),
            ("käse", false),
            ("owner", false),
            ("door", false),
            ("doors", true),
        ] {
            assert_eq!(check_session_name(name).is_ok(), good, "{name}");
        }
        assert!(check_session_name(&"a".repeat(64)).is_ok());
        assert!(check_session_name(&"a".repeat(65)).is_err());
    }

    #[test]
    fn agents_and_tasks_split_at_the_first_slash_then_the_first_colon() {
        let agent = |t: &str| AgentRef::parse(t).ok().map(|a| (a.machine, a.session));
        let some = |m: &str, s: &str| Some((Some(m.to_string()), s.to_string()));
        assert_eq!(agent("homeserver/review"), some("homeserver", "review"));
        assert_eq!(agent("[fd00::1]/review"), some("[fd00::1]", "review"));
        assert_eq!(agent("review"), Some((None, "review".into())));
        for bad in ["", "/x", "a/", "a/b/c", "a/b c", "a/b\n"] {
            assert_eq!(agent(bad), None, "{bad:?}");
        }
        let task = |t: &str| TaskRef::parse(t).ok().map(|a| (a.machine, a.id));
        assert_eq!(task("homeserver/review:cli-1"), some("homeserver", "review:cli-1"));
        assert_eq!(task("[fd00::1]/review:x"), some("[fd00::1]", "review:x"));
        assert_eq!(task("review:a:b"), Some((None, "review:a:b".into())));
        for bad in ["review", "m/review", "review:", ":x", "m/review:a b", "m/review:\n", "/review:x"] {
            assert_eq!(task(bad), None, "{bad:?}");
        }
    }
}
