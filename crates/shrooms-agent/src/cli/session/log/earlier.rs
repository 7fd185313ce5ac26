//! `session log --earlier`: what was said in the conversation of a session's program, by its own record.

use crate::api::{self, History};
use crate::context::{Context, query_value, session_path};
use crate::output::{one_line, plain, short_time};
use crate::report::{self, Exit, Failure};

pub async fn run(name: &str, before: Option<&str>, limit: Option<u32>, context: &Context) -> Result<Exit, Failure> {
    let mut query = format!("/history?limit={}", limit.unwrap_or(30));
    if let Some(before) = before {
        query.push_str(&format!("&before={}", query_value(before)));
    }
    let answer = context.get(&session_path(name, &query)?).await?;
    let history: History = api::read(&answer)?;
    context.out.show(&answer, |out| {
        let line = |words: &api::Words| match out.terminal {
            true => format!("{}  {}: {}\n", short_time(&words.time), words.role, words.text),
            false => format!(
                "{}\t{}\t{}\n",
                one_line(&words.time),
                one_line(&words.role),
                plain(&words.text).replace('\n', " ").trim_end()
            ),
        };
        history.history.iter().map(line).collect()
    })?;
    if let Some(next) = history.next.filter(|_| !context.out.json) {
        let more = context.place.command(&format!("session log {name} --earlier --before {}", one_line(&next)));
        report::note(&format!("there may be more: {more}"));
    }
    Ok(Exit::Done)
}
