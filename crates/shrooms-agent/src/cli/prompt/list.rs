//! `prompt list`: what waits for a person.

use crate::api::{self, Prompt, Prompts};
use crate::context::{Context, session_path};
use crate::output::plain;
use crate::report::{Exit, Failure};

/// Characters of a tool's input that the list shows.
const SHOWN: usize = 1_000;

/// List the permissions and questions that wait for you
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent prompt list
  shrooms-agent prompt list --session review")]
pub struct Args {
    /// Those of one session
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let path = match &args.session {
        Some(name) => {
            // Only for the check that it can be a part of an address.
            session_path(name, "")?;
            format!("/v1/prompts?session={name}")
        }
        None => "/v1/prompts".to_owned(),
    };
    let answer = context.get(&path).await?;
    let prompts: Prompts = api::read(&answer)?;
    context.out.show(&answer, |_| prompts.prompts.iter().map(text).collect::<Vec<_>>().join("\n"))?;
    Ok(Exit::Done)
}

/// A block each: what is asked, by whom, and how it is answered.
fn text(prompt: &Prompt) -> String {
    let task = prompt.task.as_ref().map(|task| format!(", task {task}")).unwrap_or_default();
    let mut out = format!("{}: session {}{task}\n", prompt.id, prompt.session);
    let id = prompt.id;
    if prompt.questions.is_empty() {
        let input = shrooms_core::text::cut(&prompt.input, SHOWN);
        out.push_str(&format!("  may it use {}? {}\n", plain(&prompt.tool), plain(&input).replace('\n', "\n  ")));
        if !prompt.why.is_empty() {
            out.push_str(&format!("  why: {}\n", plain(&prompt.why)));
        }
        out.push_str(&format!("  prompt allow {id}   |   prompt deny {id} \"WHY\"\n"));
        for (at, suggestion) in prompt.suggestions.iter().enumerate() {
            out.push_str(&format!("  prompt allow {id} --always {at}: {}\n", plain(suggestion)));
        }
        return out;
    }
    for question in &prompt.questions {
        out.push_str(&format!("  {}\n", plain(&question.question)));
        for choice in &question.choices {
            let about = if choice.description.is_empty() { "" } else { ": " };
            out.push_str(&format!("    - {}{about}{}\n", plain(&choice.label), plain(&choice.description)));
        }
        if question.several {
            out.push_str("    (several may be given, joined by \", \")\n");
        }
    }
    let answers = vec!["\"ANSWER\""; prompt.questions.len()].join(" ");
    out.push_str(&format!("  prompt answer {id} {answers}\n"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_prompt_says_what_it_asks_and_how_it_is_answered() {
        let prompt = json!({"id": 17, "session": "review", "task": "review:m-1", "state": "open", "kind": "permission",
            "tool": "Bash", "input": "{\"command\":\"touch x\"}", "suggestions": ["allow Bash(touch *)"], "made": ""});
        let shown = text(&api::read(&prompt).unwrap());
        assert_eq!(
            shown,
            "17: session review, task review:m-1\n  may it use Bash? {\"command\":\"touch x\"}\n  prompt allow 17   |   \
             prompt deny 17 \"WHY\"\n  prompt allow 17 --always 0: allow Bash(touch *)\n"
        );
        let question = json!({"id": 18, "session": "review", "state": "open", "kind": "question", "made": "",
            "questions": [{"question": "Which\u{1b}[2J?", "choices": [{"label": "A", "description": "a"}, {"label": "B"}]}]});
        let shown = text(&api::read(&question).unwrap());
        assert!(shown.contains("    - A: a\n    - B\n  prompt answer 18 \"ANSWER\"\n"), "{shown}");
        assert!(!shown.contains('\u{1b}'));
    }
}
