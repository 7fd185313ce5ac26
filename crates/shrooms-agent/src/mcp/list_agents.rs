//! The tool `list_agents`: who is there.

use rmcp::model::{Tool, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::Deserialize;

use super::{Server, input};
use crate::agents;
use crate::api::{self, Fleet};
use crate::output::one_line;
use crate::report::Failure;

pub const NAME: &str = "list_agents";

/// A list of all agents with every call would be a bill of tokens.
const LINES: usize = 20;
const LINES_MAX: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only agents whose line holds all of these words
    query: Option<String>,
    /// At most this many lines (20 unless said)
    #[schemars(range(min = 1, max = LINES_MAX))]
    limit: Option<usize>,
}

pub fn tool() -> Tool {
    let about = "List the agents on all of this person's machines, a line each: MACHINE/SESSION, what runs it, its \
                 state (idle, working, stopped), its directory, and where its owner says so its skills and what it \
                 is responsible for.";
    let annotations = ToolAnnotations::with_title("List agents").read_only(true).open_world(false);
    Tool::new(NAME, about, input::schema::<Input>()).with_annotations(annotations)
}

pub async fn call(server: &Server, input: Input) -> Result<String, Failure> {
    let limit = input.limit.unwrap_or(LINES);
    if !(1..=LINES_MAX).contains(&limit) {
        return Err(Failure::new(format!("bad input: limit: must be from 1 to {LINES_MAX}, not {limit}")));
    }
    let fleet: Fleet = api::read(&server.context.get("/v1/fleet").await?)?;
    Ok(text(&fleet, input::said(input.query.as_ref()).unwrap_or_default(), limit))
}

fn text(fleet: &Fleet, query: &str, limit: usize) -> String {
    let lines: Vec<String> =
        agents::rows(fleet).iter().map(|row| row.each_ref().map(|c| one_line(c)).join("\t")).collect();
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let fits = |line: &&String| {
        let line = line.to_lowercase();
        words.iter().all(|word| line.contains(word.as_str()))
    };
    let found: Vec<&String> = lines.iter().filter(fits).collect();
    let mut out: String = found.iter().take(limit).map(|line| format!("{line}\n")).collect();
    match (found.len(), lines.len()) {
        (0, 0) => out.push_str("no agents yet; a person adds one with: shrooms-agent session add NAME -- COMMAND\n"),
        (0, all) => out.push_str(&format!("none of the {all} agents fits the query; leave it out to see them\n")),
        (fitting, _) if fitting > limit => {
            out.push_str(&format!("({} more: narrow the query, or raise the limit)\n", fitting - limit));
        }
        _ => {}
    }
    for silent in agents::silent(fleet) {
        out.push_str(&format!("({})\n", one_line(&silent)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(names: &[&str], query: &str, limit: usize, expected: &str) {
        let session = |name: &&str| json!({"name": name, "harness": "command", "state": "idle", "dir": "/srv\nx"});
        let sessions: Vec<_> = names.iter().map(session).collect();
        let machines = json!({"machines": [
            {"machine": "box", "me": true, "reachable": true, "sessions": sessions},
            {"machine": "desk", "me": false, "reachable": false, "why": "no route", "sessions": []},
        ]});
        let got = text(&api::read(&machines).unwrap(), query, limit);
        assert_eq!(
            got,
            format!("{expected}(desk is unreachable (never seen from here): no route)\n"),
            "{query} {limit}"
        );
    }

    #[test]
    fn a_line_an_agent_and_what_is_not_shown_is_said() {
        let (a, b) = ("box/a\tcommand, idle, in /srv x\n", "box/b\tcommand, idle, in /srv x\n");
        check(&["b", "a"], "", 20, &format!("{a}{b}"));
        check(&["b", "a"], "BOX/b idle", 20, b);
        check(&["b", "a"], "", 1, &format!("{a}(1 more: narrow the query, or raise the limit)\n"));
        check(&["b", "a"], "zebra", 20, "none of the 2 agents fits the query; leave it out to see them\n");
        check(&[], "", 20, "no agents yet; a person adds one with: shrooms-agent session add NAME -- COMMAND\n");
    }
}
