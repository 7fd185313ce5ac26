//! What the demo prints: the task's life as the events come, its result with the times, and what
//! to type next. On stdout, since here it is the result.

use std::path::Path;

use serde_json::Value;
use shrooms_outbound::Events;

use super::scene::Scene;
use crate::output::{Output, plain};

/// Prints, with times from the first event on.
pub struct Show(Output);

impl Show {
    pub fn new() -> Show {
        Show(Output::new(false))
    }

    pub fn line(&self, text: &str) {
        // Whoever read stdout may be gone; the demo goes on to its end and cleans up.
        let _ = self.0.print(&format!("{text}\n"));
    }

    /// Prints the life of the first task of `session` until it ends; gives its id.
    pub async fn follow(
        &self,
        mut events: Events,
        (machine, session): (&str, &str),
        scene: &Scene,
        program: &Path,
        once: bool,
    ) -> anyhow::Result<String> {
        let mut begun: Option<i64> = None;
        while let Some(event) = events.next().await? {
            let event: Value = serde_json::from_str(&event.data)?;
            let text = |key: &str| event.get(key).and_then(Value::as_str).unwrap_or("").to_string();
            if text("kind") != "task" || text("session") != session {
                continue;
            }
            let at = event.get("at").and_then(Value::as_str).and_then(|t| t.parse::<jiff::Timestamp>().ok());
            let at = at.map_or(0, jiff::Timestamp::as_millisecond);
            let since = at - *begun.get_or_insert(at);
            let (state, summary) = (text("state"), text("summary"));
            let summary = if summary.is_empty() { String::new() } else { format!("  {}", plain(&summary)) };
            self.line(&format!("  +{:>6.3} s  {machine}/{}  {state}{summary}", since as f64 / 1000.0, text("task")));
            if state == "input-required" {
                self.line("\n  It asks back. Answer it, in another terminal:");
                let laptop = scene.state("laptop");
                self.line(&format!(
                    "  SHROOMS_AGENT_STATE={} {} a2a reply {machine}/{} \"…\"\n",
                    laptop.display(),
                    program.display(),
                    text("task")
                ));
                if once {
                    return Ok(text("task"));
                }
            }
            if matches!(state.as_str(), "completed" | "failed" | "canceled" | "rejected") {
                return Ok(text("task"));
            }
        }
        anyhow::bail!("homeserver ended before the task did")
    }

    /// The result as the worker's machine has it; says whether it failed.
    pub fn result(&self, task: &Value) -> bool {
        let state = task.pointer("/status/state").and_then(Value::as_str).unwrap_or("");
        let word = state.trim_start_matches("TASK_STATE_").to_lowercase();
        self.line(&format!("\nThe result, {word}:\n"));
        let text = task.pointer("/status/message/parts/0/text").and_then(Value::as_str).unwrap_or("");
        self.line(&plain(text));
        self.line("");
        let from = task.pointer("/metadata/shrooms~1from").and_then(Value::as_str).unwrap_or("");
        self.line(&format!("  {:<10} {}", "asked by", plain(from)));
        for key in ["stored", "delivered", "started", "ended"] {
            let at = task.pointer(&format!("/metadata/shrooms~1receipt/{key}")).and_then(Value::as_str);
            self.line(&format!("  {key:<10} {}", at.unwrap_or("-")));
        }
        word != "completed"
    }

    /// That the asker has it.
    pub fn asker(&self, task: &Value) {
        let text = task.pointer("/status/message/parts/0/text").and_then(Value::as_str).unwrap_or("");
        let got = text.lines().find(|l| l.contains("task homeserver/")).unwrap_or("nothing");
        self.line(&format!("  {:<10} {}", "webapp got", plain(got.trim())));
    }

    pub fn next(&self, scene: &Scene, id: &str, program: &Path) {
        self.line("\nThe machines:");
        for (name, address) in scene.addresses() {
            self.line(&format!("  {name:<10} http://{address}/.well-known/agent-card.json"));
        }
        let laptop = scene.state("laptop").display().to_string();
        self.line("\nNext, in another terminal, while this runs:");
        self.line(&format!("  export SHROOMS_AGENT_STATE={laptop}      # you are on the laptop"));
        self.line(&format!("  alias shrooms-agent={}", program.display()));
        self.line("  shrooms-agent a2a list");
        self.line("  shrooms-agent a2a send --wait homeserver/tests \"Once more, please.\"");
        self.line(&format!("  shrooms-agent a2a get homeserver/{id}"));
        self.line("  shrooms-agent a2a asks --all");
    }
}

/// Words as a shell would take them.
pub fn shell_line(words: &[String]) -> String {
    let plain = |w: &str| !w.is_empty() && w.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c));
    let quote = |w: &String| if plain(w) { w.clone() } else { format!("'{}'", w.replace('\'', "'\\''")) };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}
