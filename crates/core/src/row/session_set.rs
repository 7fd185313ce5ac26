//! What the owner may set about a session: its bounds, what each setting is of, and how a change of
//! it reads. It must not know which meshes or programs there are.

use serde::{Deserialize, Serialize};

use crate::name::FilesFrom;
use crate::refusal::Refusal;
use crate::text::cut;

use super::session::{Harness, Session};

/// Skills of one session, and lines of its responsibilities: more is no list that a model or a person
/// chooses by.
pub const MAX_SKILLS: usize = 10;
/// Longest name of a skill, in characters.
pub const MAX_SKILL_NAME: usize = 40;
/// Longest description of a skill, and longest responsibility, in characters: a line.
pub const MAX_LINE: usize = 200;
/// Longest role, in characters: some pages would be a bill of tokens with each request.
pub const MAX_ROLE: usize = 4_000;
/// Words of a program's arguments of the owner's.
pub const MAX_ARGS: usize = 32;
/// Bytes of all of them; the system takes 128 KiB for one.
pub const MAX_ARGS_BYTES: usize = 8_000;
/// Labels in a list of meshes: far more than a machine is on.
pub const MAX_MESHES: usize = 32;
/// Longest time that a prompt may be left to wait before it is denied: a week, in seconds.
pub const MAX_PROMPT_TIMEOUT: u32 = 7 * 86_400;
/// Characters of a value that a line about a change shows.
const SHOWN: usize = 200;
/// The skill that every session has on its card.
const COMMON: &str = "chat";

/// Something that a session is good at, in its owner's words: a skill of its A2A card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skill {
    /// Short, as people write it.
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

impl Skill {
    /// Its id on the card: the name in small letters, with `-` for what is neither letter nor digit.
    pub fn id(&self) -> String {
        let plain = |c: char| if c.is_alphanumeric() { c } else { '-' };
        self.name.to_lowercase().chars().map(plain).collect()
    }
}

/// What the owner may set about a session; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionSet {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_approve: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fresh_by_agents: Option<bool>,
    /// The whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept_files_from: Option<Vec<FilesFrom>>,
    /// Empty = by the harness's own settings; for its next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// 0 = no cap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub daily_micros: Option<u64>,
    /// The whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<Skill>>,
    /// The whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responsibilities: Option<Vec<String>>,
    /// For its next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// The whole list; for its next start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starred: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_running: Option<bool>,
    /// The whole list; empty = all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meshes: Option<Vec<String>>,
    /// Served seconds; 0 = never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_timeout: Option<u32>,
}

impl SessionSet {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        *self == SessionSet::default()
    }

    /// The settings that it changes, by name.
    pub(crate) fn named(&self) -> Vec<&'static str> {
        self.values().into_iter().map(|(name, _)| name).collect()
    }

    /// Whether it can be set about a session of this harness.
    ///
    /// # Errors
    /// The first setting that is out of its bounds, or has no effect there.
    pub fn check(&self, harness: &Harness) -> Result<(), Refusal> {
        let bad = |setting, what: String| Err(Refusal::BadSetting { setting, what });
        let of_a_program = [
            ("auto_approve", self.auto_approve == Some(true)),
            ("model", self.model.as_ref().is_some_and(|m| !m.trim().is_empty())),
            ("role", self.role.as_ref().is_some_and(|r| !r.trim().is_empty())),
            ("args", self.args.as_ref().is_some_and(|a| !a.is_empty())),
            ("keep_running", self.keep_running == Some(true)),
            ("prompt_timeout", self.prompt_timeout.is_some_and(|secs| secs > 0)),
        ];
        if let Some((setting, _)) = of_a_program.iter().find(|(_, given)| *given).filter(|_| !harness.stays()) {
            return bad(setting, "is for sessions whose program stays (claude): a command is run for each task".into());
        }
        self.skills.as_deref().map_or(Ok(()), check_skills)?;
        if let Some(lines) = &self.responsibilities {
            if lines.len() > MAX_SKILLS {
                return bad("responsibilities", format!("at most {MAX_SKILLS} lines are taken, not {}", lines.len()));
            }
            lines.iter().try_for_each(|line| check_line("responsibilities", line, MAX_LINE))?;
        }
        if let Some(role) = &self.role {
            let chars = role.chars().count();
            if chars > MAX_ROLE {
                return bad("role", format!("at most {MAX_ROLE} characters are taken, not {chars}"));
            }
            if role.contains(|c: char| c.is_control() && c != '\n' && c != '\t') {
                return bad("role", "must be text: no control characters but line ends and tabs".into());
            }
        }
        if let Some(args) = &self.args {
            let bytes: usize = args.iter().map(String::len).sum();
            if args.len() > MAX_ARGS || bytes > MAX_ARGS_BYTES {
                let most = format!("at most {MAX_ARGS} words with {MAX_ARGS_BYTES} bytes in all are taken");
                return bad("args", format!("{most}: put the rest into the program's own settings"));
            }
            if args.iter().any(|word| word.contains(char::is_control)) {
                return bad("args", "no word may hold a control character".into());
            }
        }
        if self.meshes.as_ref().is_some_and(|m| m.len() > MAX_MESHES) {
            return bad("meshes", format!("at most {MAX_MESHES} labels are taken"));
        }
        if self.prompt_timeout.is_some_and(|secs| secs > MAX_PROMPT_TIMEOUT) {
            return bad("prompt_timeout", format!("must be from 1 to {MAX_PROMPT_TIMEOUT} seconds, or 0 for no limit"));
        }
        Ok(())
    }

    pub(crate) fn apply(&self, session: &mut Session) {
        fn put<T: Clone>(given: &Option<T>, place: &mut T) {
            given.iter().for_each(|value| *place = value.clone());
        }
        put(&self.fresh_by_agents, &mut session.fresh_by_agents);
        if let Some(senders) = &self.accept_files_from {
            session.accept_files_from = senders.iter().map(ToString::to_string).collect();
        }
        put(&self.daily_micros, &mut session.daily_micros);
        put(&self.skills, &mut session.skills);
        put(&self.responsibilities, &mut session.responsibilities);
        put(&self.role.as_ref().map(|role| role.trim().to_string()), &mut session.role);
        put(&self.args, &mut session.args);
        put(&self.starred, &mut session.starred);
        put(&self.keep_running, &mut session.keep_running);
        put(&self.meshes, &mut session.meshes);
        put(&self.prompt_timeout, &mut session.prompt_timeout);
        if let Harness::Claude { model, auto_approve } = &mut session.harness {
            put(&self.auto_approve, auto_approve);
            if let Some(given) = &self.model {
                *model = Some(given.trim().to_string()).filter(|m| !m.is_empty());
            }
        }
    }

    /// What it changes, each setting by its name with its new value, for people.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let flag = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_string());
        let list = |all: Option<Vec<String>>, none: &str| {
            all.map(|all| if all.is_empty() { none.to_string() } else { all.join(", ") })
        };
        let plain = |text: &Option<String>| text.as_ref().map(|t| t.trim().to_string());
        let text = |text: &Option<String>| plain(text).map(|t| if t.is_empty() { "none".to_string() } else { t });
        let names = self.skills.as_ref().map(|all| all.iter().map(|s| s.name.clone()).collect());
        let from = self.accept_files_from.as_ref().map(|all| all.iter().map(ToString::to_string).collect());
        let all = [
            ("auto_approve", flag(self.auto_approve)),
            ("fresh_by_agents", flag(self.fresh_by_agents)),
            ("accept_files_from", list(from, "nobody")),
            ("model", plain(&self.model).map(|m| if m.is_empty() { "by its settings".to_string() } else { m })),
            (
                "daily_usd",
                self.daily_micros.map(|micros| match micros {
                    0 => "no cap".to_string(),
                    micros => format!("{:.2}", micros as f64 / 1e6),
                }),
            ),
            ("skills", list(names, "none")),
            ("responsibilities", list(self.responsibilities.clone(), "none")),
            ("role", text(&self.role)),
            ("args", self.args.as_ref().map(|all| if all.is_empty() { "none".to_string() } else { all.join(" ") })),
            ("starred", flag(self.starred)),
            ("keep_running", flag(self.keep_running)),
            ("meshes", list(self.meshes.clone(), "all")),
            (
                "prompt_timeout",
                self.prompt_timeout.map(|secs| match secs {
                    0 => "none".to_string(),
                    secs => format!("{secs} s"),
                }),
            ),
        ];
        let shown = |value: String| cut(&value.replace(['\n', '\t'], " "), SHOWN);
        all.into_iter().filter_map(|(name, value)| Some((name, shown(value?)))).collect()
    }

    /// The same in one line.
    pub(crate) fn shown(&self) -> String {
        let all = self.values().into_iter().map(|(name, value)| format!("{name}: {value}"));
        all.collect::<Vec<_>>().join(", ")
    }
}

fn check_skills(skills: &[Skill]) -> Result<(), Refusal> {
    let bad = |what: String| Err(Refusal::BadSetting { setting: "skills", what });
    if skills.len() > MAX_SKILLS {
        return bad(format!("at most {MAX_SKILLS} are taken, not {}", skills.len()));
    }
    for (at, skill) in skills.iter().enumerate() {
        check_line("skills", &skill.name, MAX_SKILL_NAME)?;
        if !skill.description.is_empty() {
            check_line("skills", &skill.description, MAX_LINE)?;
        }
        let id = skill.id();
        if !id.contains(char::is_alphanumeric) {
            return bad(format!("'{}' has neither a letter nor a digit", skill.name));
        }
        if id == COMMON {
            return bad(format!("'{}' is what every session has: name another", skill.name));
        }
        if skills.iter().take(at).any(|other| other.id() == id) {
            return bad(format!("'{}' is there twice", skill.name));
        }
    }
    Ok(())
}

/// One line that says something, of at most so many characters.
fn check_line(setting: &'static str, line: &str, most: usize) -> Result<(), Refusal> {
    let what = match line.chars().count() {
        0 => "an empty line says nothing: leave it out".to_string(),
        n if n > most => format!("'{}' has {n} characters; at most {most} are taken", cut(line, 40)),
        _ if line.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) => {
            format!("'{}' must be one line", cut(&line.replace(char::is_control, " "), 40))
        }
        _ if line.trim() != line => format!("'{}' begins or ends with a blank", cut(line, 40)),
        _ => return Ok(()),
    };
    Err(Refusal::BadSetting { setting, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(names: &[&str]) -> SessionSet {
        let skill = |name: &&str| Skill { name: (*name).into(), description: String::new() };
        SessionSet { skills: Some(names.iter().map(skill).collect()), ..SessionSet::default() }
    }

    fn lines(lines: &[&str]) -> SessionSet {
        let lines = lines.iter().map(ToString::to_string).collect();
        SessionSet { responsibilities: Some(lines), ..SessionSet::default() }
    }

    fn role(role: &str) -> SessionSet {
        SessionSet { role: Some(role.into()), ..SessionSet::default() }
    }

    fn args(args: &[&str]) -> SessionSet {
        SessionSet { args: Some(args.iter().map(ToString::to_string).collect()), ..SessionSet::default() }
    }

    #[track_caller]
    fn check(set: &SessionSet, wrong: &str) {
        let claude = Harness::Claude { model: None, auto_approve: false };
        match (set.check(&claude), wrong) {
            (Ok(()), "") => {}
            (Err(refusal), wrong) if !wrong.is_empty() => {
                let said = refusal.to_string();
                assert!(said.contains(wrong), "{said} has no '{wrong}'");
            }
            (got, wrong) => panic!("{got:?}, not '{wrong}': {set:?}"),
        }
    }

    #[test]
    fn every_setting_has_its_bounds() {
        check(&skills(&["Rust", "code review", "Größen"]), "");
        check(&skills(&[]), "");
        check(&skills(&["Rust", "rust"]), "skills: 'rust' is there twice");
        check(&skills(&["Chat"]), "every session has");
        check(&skills(&["--"]), "neither a letter nor a digit");
        check(&skills(&[""]), "says nothing");
        check(&skills(&["a\nb"]), "one line");
        check(&skills(&[&"x".repeat(MAX_SKILL_NAME)]), "");
        check(&skills(&[&"x".repeat(MAX_SKILL_NAME + 1)]), "at most 40");
        let many: Vec<String> = (0..=MAX_SKILLS).map(|n| format!("s{n}")).collect();
        check(&skills(&many.iter().map(String::as_str).collect::<Vec<_>>()), "at most 10 are taken, not 11");
        let described = |text: String| SessionSet {
            skills: Some(vec![Skill { name: "rust".into(), description: text }]),
            ..SessionSet::default()
        };
        check(&described("ä".repeat(MAX_LINE)), "");
        check(&described("ä".repeat(MAX_LINE + 1)), "at most 200");
        check(&lines(&["releases", "the changelog"]), "");
        check(&lines(&[" "]), "begins or ends with a blank");
        check(&lines(&["a\u{2028}b"]), "one line");
        check(&lines(&["x"; MAX_SKILLS + 1]), "at most 10 lines");
        check(&role("You look after\n\tthe tests."), "");
        check(&role(&"ä".repeat(MAX_ROLE)), "");
        check(&role(&"ä".repeat(MAX_ROLE + 1)), "role: at most 4000 characters are taken, not 4001");
        check(&role("a\u{1b}[0m"), "no control characters");
        check(&args(&["--add-dir", "/srv"]), "");
        check(&args(&["x"; MAX_ARGS + 1]), "args: at most 32 words");
        check(&args(&[&"x".repeat(MAX_ARGS_BYTES + 1)]), "8000 bytes");
        check(&args(&["a\0"]), "control character");
        let timeout = |secs| SessionSet { prompt_timeout: Some(secs), ..SessionSet::default() };
        check(&timeout(0), "");
        check(&timeout(MAX_PROMPT_TIMEOUT), "");
        check(&timeout(MAX_PROMPT_TIMEOUT + 1), "prompt_timeout: must be from 1 to 604800");
        let meshes = SessionSet { meshes: Some(vec!["m".into(); MAX_MESHES + 1]), ..SessionSet::default() };
        check(&meshes, "meshes: at most 32");
    }

    #[test]
    fn what_has_no_effect_on_a_command_is_not_set() {
        let command = Harness::Command {
            argv: vec!["/bin/true".into()],
            framed: false,
            rerun_on_crash: false,
            takes_turns: false,
        };
        let some = SessionSet::default;
        for (set, refused) in [
            (SessionSet { auto_approve: Some(true), ..some() }, Some("auto_approve")),
            (SessionSet { auto_approve: Some(false), ..some() }, None),
            (SessionSet { model: Some("opus".into()), ..some() }, Some("model")),
            (SessionSet { keep_running: Some(true), ..some() }, Some("keep_running")),
            (SessionSet { prompt_timeout: Some(60), ..some() }, Some("prompt_timeout")),
            (role("x"), Some("role")),
            (role(""), None),
            (args(&["--x"]), Some("args")),
            (skills(&["rust"]), None),
            (lines(&["releases"]), None),
            (SessionSet { starred: Some(true), ..some() }, None),
            (SessionSet { meshes: Some(vec!["home".into()]), ..some() }, None),
        ] {
            let got = set.check(&command).err().map(|refusal| refusal.to_string());
            assert_eq!(got.is_some(), refused.is_some(), "{set:?}: {got:?}");
            assert!(got.is_none_or(|said| said.starts_with(refused.unwrap_or_default())));
        }
    }

    #[test]
    fn a_change_is_said_by_its_name_and_value() {
        let set = SessionSet {
            auto_approve: Some(true),
            daily_micros: Some(0),
            skills: Some(vec![Skill { name: "Rust".into(), description: "Reviews it".into() }]),
            role: Some("You\nlook".into()),
            meshes: Some(vec![]),
            prompt_timeout: Some(60),
            ..SessionSet::default()
        };
        assert_eq!(
            set.shown(),
            "auto_approve: on, daily_usd: no cap, skills: Rust, role: You look, meshes: all, prompt_timeout: 60 s"
        );
        assert_eq!(set.named(), ["auto_approve", "daily_usd", "skills", "role", "meshes", "prompt_timeout"]);
    }
}
