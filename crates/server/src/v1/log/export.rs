//! `GET /v1/sessions/NAME/export`: all of a session's log that is kept, as it was when it was asked for,
//! page by page. What breaks off is broken off: nobody takes it for the whole.

use std::fmt::Write;
use std::io;

use axum::body::Body;

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Deserialize;
use shrooms_a2a::Timestamp;
use shrooms_core::id::SessionUid;
use shrooms_engine::{LogLine, LogPlace};

use super::Line;
use crate::app::{App, State};
use crate::problem::Problem;
use crate::v1::input::{Asked, Part};
use crate::v1::sessions::row;

/// Lines read at once.
const PAGE: usize = 500;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportQuery {
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Jsonl,
    Markdown,
}

impl Format {
    fn media(self) -> &'static str {
        match self {
            Format::Jsonl => "application/jsonl",
            Format::Markdown => "text/markdown; charset=utf-8",
        }
    }

    fn end(self) -> &'static str {
        match self {
            Format::Jsonl => "jsonl",
            Format::Markdown => "md",
        }
    }
}

struct Exporting {
    app: App,
    session: SessionUid,
    format: Format,
    log: String,
    after: i64,
    last: i64,
    /// What comes before the first line; taken with it.
    head: String,
    /// The day of the line before.
    day: String,
}

pub(crate) async fn export(
    State(app): State<App>,
    Part(name): Part,
    Asked(query): Asked<ExportQuery>,
) -> Result<Response, Problem> {
    let session = row(&app, &name).await?.session.uid;
    let end = app.engine.log_page(session, LogPlace::End, 1).await?;
    let format = query.format;
    let head = match format {
        Format::Jsonl => String::new(),
        Format::Markdown => {
            let (machine, at) = (app.engine.machine(), Timestamp(app.engine.wall()));
            format!("# {machine}/{name}\n\nIts log as of {at}, lines {} to {}.\n", end.oldest, end.newest)
        }
    };
    let (log, after, last) = (end.log, end.oldest - 1, end.newest);
    let exporting = Exporting { app, session, format, log, after, last, head, day: String::new() };
    let chunks = stream::try_unfold(exporting, |mut exporting| async move {
        Ok::<_, io::Error>(exporting.next().await?.map(|chunk| (chunk, exporting)))
    });
    let mut response = Body::from_stream(chunks).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(format.media()));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Names of sessions are letters, digits and dashes.
    if let Ok(file) = HeaderValue::from_str(&format!("attachment; filename=\"{name}.{}\"", format.end())) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    Ok(response)
}

impl Exporting {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let mut out = std::mem::take(&mut self.head);
        if self.after < self.last {
            let page = self.app.engine.log_page(self.session, LogPlace::After(self.after), PAGE).await;
            let page = page.map_err(io::Error::other)?;
            if page.log != self.log {
                return Err(io::Error::other("the log was begun anew meanwhile"));
            }
            let last = self.last;
            for line in page.lines.into_iter().filter(|line| line.seq <= last) {
                self.after = line.seq;
                self.write(&mut out, line)?;
            }
            // Those that were to come have gone: they were too old.
            if out.is_empty() {
                self.after = self.last;
            }
        }
        Ok((!out.is_empty()).then(|| out.into()))
    }

    fn write(&mut self, out: &mut String, line: LogLine) -> io::Result<()> {
        match self.format {
            Format::Jsonl => {
                out.push_str(&serde_json::to_string(&Line::of(line))?);
                out.push('\n');
            }
            Format::Markdown => markdown(out, &mut self.day, &Line::of(line)),
        }
        Ok(())
    }
}

/// A line of the log as a paragraph under its day. What was said to it is quoted; what is no prose
/// stands as code, and ends no block by itself.
fn markdown(out: &mut String, day: &mut String, line: &Line) {
    let (date, time) = line.at.split_once('T').unwrap_or((&line.at, ""));
    if date != day {
        *day = date.to_string();
        let _ = write!(out, "\n## {date}\n");
    }
    let task = line.task.as_ref().map(|task| format!(", task `{task}`")).unwrap_or_default();
    let _ = write!(out, "\n**{} {}**{task}\n\n", time.get(..8).unwrap_or(time), line.kind);
    match line.kind {
        "words" => out.push_str(&line.text),
        "said" | "note" => {
            let quoted: Vec<String> = line.text.lines().map(|line| format!("> {line}")).collect();
            out.push_str(&quoted.join("\n"));
        }
        _ => {
            let longest = line.text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let _ = write!(out, "{fence}\n{}\n{fence}", line.text.trim_end());
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_readable_as_markdown() {
        let line = |at: &str, kind: &'static str, task: Option<&str>, text: &str| Line {
            seq: 1,
            at: at.into(),
            kind,
            task: task.map(String::from),
            text: text.into(),
        };
        let (mut out, mut day) = (String::new(), String::new());
        for line in [
            line("2026-11-30T09:15:04.120Z", "said", Some("tests:m"), "Look\nat it."),
            line("2026-11-30T09:15:05.000Z", "words", None, "I *look*."),
            line("2026-12-01T00:00:00.000Z", "tool", None, "Bash: echo ```\n"),
        ] {
            markdown(&mut out, &mut day, &line);
        }
        assert_eq!(
            out,
            "\n## 2026-11-30\n\n**09:15:04 said**, task `tests:m`\n\n> Look\n> at it.\n\n**09:15:05 words**\n\nI *look*.\n\
             \n## 2026-12-01\n\n**00:00:00 tool**\n\n````\nBash: echo ```\n````\n"
        );
    }
}
