//! Settings that `session add` and `session set` take alike, as the API has them.
//! Must not know their bounds.

use serde_json::{Map, Value, json};

#[derive(Debug, clap::Args)]
pub struct Given {
    /// Something that it is good at, NAME or "NAME: WHAT"; once for each, '' for none
    #[arg(long = "skill", value_name = "SKILL")]
    skills: Option<Vec<String>>,
    /// Something that it is there for, a line; once for each, '' for none
    #[arg(long = "responsibility", value_name = "LINE")]
    responsibilities: Option<Vec<String>>,
    /// Your own words in its system prompt (claude); '' for none
    #[arg(long, value_name = "TEXT")]
    role: Option<String>,
    /// An argument for its program (claude); once for each word, '' for none
    #[arg(long = "arg", value_name = "WORD", allow_hyphen_values = true)]
    args: Option<Vec<String>>,
    /// Only devices of these meshes of this machine see it; '' for all
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    meshes: Option<Vec<String>>,
    /// Deny what it asks of you (claude) when you have not answered for so many seconds; 0: never
    #[arg(long, value_name = "SECONDS")]
    prompt_timeout: Option<u32>,
    /// Agents may ask for a task on a fresh conversation
    #[arg(long, value_name = "ON|OFF", value_parser = on_off, num_args = 0..=1, default_missing_value = "on")]
    fresh_by_agents: Option<bool>,
    /// Its program is not stopped when it rests (claude)
    #[arg(long, value_name = "ON|OFF", value_parser = on_off, num_args = 0..=1, default_missing_value = "on")]
    keep_running: Option<bool>,
    /// At the top of lists
    #[arg(long, value_name = "ON|OFF", value_parser = on_off, num_args = 0..=1, default_missing_value = "on")]
    starred: Option<bool>,
}

impl Given {
    /// Those that were given, by name.
    pub fn body(self) -> Map<String, Value> {
        let skills = self.skills.map(|all| said(all).iter().map(|skill| skill_of(skill)).collect::<Value>());
        let list = |all: Option<Vec<String>>| all.map(|all| Value::from(said(all)));
        let all = [
            ("skills", skills),
            ("responsibilities", list(self.responsibilities)),
            ("role", self.role.map(Value::from)),
            ("args", list(self.args)),
            ("meshes", list(self.meshes)),
            ("prompt_timeout", self.prompt_timeout.map(Value::from)),
            ("fresh_by_agents", self.fresh_by_agents.map(Value::from)),
            ("keep_running", self.keep_running.map(Value::from)),
            ("starred", self.starred.map(Value::from)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// The whole list; an empty word is none.
pub fn said(given: Vec<String>) -> Vec<String> {
    given.into_iter().filter(|word| !word.trim().is_empty()).collect()
}

/// `NAME`, or `NAME: WHAT`.
fn skill_of(text: &str) -> Value {
    match text.split_once(':') {
        Some((name, what)) => json!({"name": name.trim(), "description": what.trim()}),
        None => json!({"name": text.trim()}),
    }
}

pub fn on_off(word: &str) -> Result<bool, String> {
    match word {
        "on" | "true" | "yes" => Ok(true),
        "off" | "false" | "no" => Ok(false),
        _ => Err("must be on or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        given: Given,
    }

    #[track_caller]
    fn check(words: &[&str], body: Value) {
        let line = Line::try_parse_from([&["x"], words].concat()).unwrap();
        assert_eq!(Value::Object(line.given.body()), body);
    }

    #[test]
    fn what_is_given_is_the_whole_list_and_an_empty_word_none() {
        check(&[], json!({}));
        check(
            &["--skill", "rust", "--skill", "sql: Plans queries: fast"],
            json!({"skills": [
            {"name": "rust"}, {"name": "sql", "description": "Plans queries: fast"}]}),
        );
        check(
            &["--skill", "", "--responsibility", "", "--arg", "", "--meshes", "", "--role", ""],
            json!({"skills": [], "responsibilities": [], "args": [], "meshes": [], "role": ""}),
        );
        check(&["--arg", "--add-dir", "--arg", "/srv"], json!({"args": ["--add-dir", "/srv"]}));
        check(
            &["--meshes", "home,work", "--prompt-timeout", "60"],
            json!({"meshes": ["home", "work"], "prompt_timeout": 60}),
        );
        check(&["--starred", "on", "--keep-running", "off"], json!({"starred": true, "keep_running": false}));
    }

    #[test]
    fn a_switch_is_on_or_off() {
        assert_eq!((on_off("on"), on_off("no")), (Ok(true), Ok(false)));
        assert!(on_off("maybe").is_err());
    }
}
