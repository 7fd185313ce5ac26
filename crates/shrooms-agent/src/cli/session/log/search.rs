//! `session log --search`: the lines that hold some words, the newest first.

use crate::api::{self, Hits};
use crate::context::{Context, query_value, session_path};
use crate::output::short_time;
use crate::report::{Exit, Failure};

pub async fn run(name: &str, words: &str, limit: Option<u32>, context: &Context) -> Result<Exit, Failure> {
    let limit = limit.map(|limit| format!("&limit={limit}")).unwrap_or_default();
    let path = session_path(name, &format!("/search?q={}{limit}", query_value(words)))?;
    let answer = context.get(&path).await?;
    let hits: Hits = api::read(&answer)?;
    context.out.show(&answer, |out| {
        let rows: Vec<[String; 4]> = hits
            .found
            .iter()
            .map(|hit| [hit.seq.to_string(), short_time(&hit.at), hit.kind.clone(), hit.snippet.clone()])
            .collect();
        out.table(["NO", "AT", "KIND", "TEXT"], &rows)
    })?;
    Ok(Exit::Done)
}
