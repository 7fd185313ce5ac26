//! Tells the asker's machine of a change of its task. Sent until confirmed; a machine that does
//! not know the ask any more has nothing left to be told.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use shrooms_core::desk::{Input, OutboxFact};
use shrooms_core::row::Outbox;
use shrooms_outbound::CallError;
use shrooms_runner::crash;

use crate::engine::Inner;

/// A report is one commit on the other side.
const REPORT: Duration = Duration::from_secs(30);

pub(super) async fn report(inner: &Arc<Inner>, row: &Outbox) {
    let fact = match tell(inner, row).await {
        Ok(()) => OutboxFact::Confirmed,
        // There is no such ask there (any more): nobody is left to be told.
        Err(CallError::Http { status: 404, detail }) => {
            tracing::info!(detail, task = row.report.task_id, "the asker's machine does not know this ask");
            OutboxFact::Confirmed
        }
        Err(error) => {
            tracing::debug!(%error, task = row.report.task_id, "a report was not taken; it is told again");
            OutboxFact::Failed { why: error.to_string() }
        }
    };
    inner.observe(Input::Outbox(row.no, fact)).await;
}

async fn tell(inner: &Arc<Inner>, row: &Outbox) -> Result<(), CallError> {
    let away = |why: String| CallError::Away(why);
    let machine = inner.mesh.machines().iter().find(|m| m.id.0 == row.device).cloned();
    let machine = machine.ok_or_else(|| away(format!("{} is not on the mesh now", row.device)))?;
    let report = &row.report;
    let text = match report.text {
        None => None,
        Some(text) => {
            let me = inner.clone();
            let read = tokio::task::spawn_blocking(move || me.reader.text(text.no)).await;
            let read = read.map_err(|e| away(e.to_string()))?;
            Some(read.map_err(|e| away(e.to_string()))?)
        }
    };
    let body = json!({
        "ask": report.ask, "task": report.task_id, "seq": report.seq, "state": report.state, "text": text,
    });
    crash::point("before_report");
    let sent = inner.outbound.post_json(&inner.peer(&machine), "/v1/asks/report", &body, REPORT).await;
    crash::point("after_report");
    sent.map(|_| ())
}
