//! `session show`: all that there is to know of one session, its settings among it.

use serde_json::Value;

use crate::context::{Context, session_path};
use crate::report::{Exit, Failure};

/// Show a session with all its settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  shrooms-agent session show review
  shrooms-agent session show review --json")]
pub struct Args {
    /// The session
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: String,
}

pub async fn run(args: Args, context: &Context) -> Result<Exit, Failure> {
    let answer = context.get(&session_path(&args.name, "")?).await?;
    context.out.show(&answer, |out| out.pairs(&pairs(&answer)))?;
    Ok(Exit::Done)
}

/// Each by its name in the API; a list on one line.
fn pairs(session: &Value) -> Vec<[String; 2]> {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let shown = |value: &Value| match value {
        Value::Array(all) => all.iter().map(word).collect::<Vec<_>>().join(", "),
        value => word(value),
    };
    session.as_object().into_iter().flatten().map(|(name, value)| [name.clone(), shown(value)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_one_line_and_texts_have_no_quotes() {
        let session = json!({"name": "a", "args": ["--x", "y"], "tasks_open": 2, "skills": [{"name": "rust"}]});
        let pairs = pairs(&session);
        let shown: Vec<String> = pairs.iter().map(|pair| pair.join("=")).collect();
        assert_eq!(shown, ["args=--x, y", "name=a", "skills={\"name\":\"rust\"}", "tasks_open=2"]);
    }
}
