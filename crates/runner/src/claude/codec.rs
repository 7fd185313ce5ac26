//! What Claude Code's lines mean, and the lines that it is told things with. One value a process: it
//! remembers which messages are in a turn and which prompts wait. It must not know how lines travel.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::usage::{self, usage};
use super::wire::{self, content_text, count, is, list, text};
use crate::codec::{Answer, Choice, Codec, Event, Prompt, Question, State, TurnEnd, summary};

/// Its tool for asking a person something; the answers go in with the permission.
const ASK: &str = "AskUserQuestion";

/// The id of the request that says that it is up.
const HELLO: &str = "hello";

/// A process of Claude Code.
#[derive(Default)]
pub struct Claude {
    /// Written by us in this process, and not at an end yet.
    written: BTreeSet<String>,
    /// Reported as queued or started, and not at an end yet; true once started.
    under_way: BTreeMap<String, bool>,
    /// Started since the last turn's end, also those that ended before it.
    in_turn: BTreeSet<String>,
    /// What waits for an answer: the input of a tool, and what may be allowed for good.
    prompts: BTreeMap<String, Waiting>,
    background: BTreeMap<String, String>,
    model: String,
    context_used: Option<u64>,
    /// The answer that is being given in the conversation itself.
    answer: Answer,
    /// The limit was told in this turn.
    limited: bool,
    interrupts: u64,
}

struct Waiting {
    tool: String,
    input: Value,
    suggestions: Vec<Value>,
}

impl Claude {
    pub fn new() -> Self {
        Self::default()
    }
}

impl Codec for Claude {
    fn feed(&mut self, line: &str, events: &mut Vec<Event>) {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            events.push(Event::Other);
            return;
        };
        let before = events.len();
        match text(&line, "type") {
            "system" => self.system(&line, events),
            "assistant" => self.assistant(&line, events),
            "user" => self.user(&line, events),
            "stream_event" => self.streamed(&line, events),
            "result" => self.result(&line, events),
            "command_lifecycle" => self.lifecycle(&line, events),
            "control_request" => self.asked(&line, events),
            "control_cancel_request" => {
                let id = text(&line, "request_id");
                if self.prompts.remove(id).is_some() {
                    events.push(Event::PromptWithdrawn { id: id.to_owned() });
                }
            }
            "control_response" if text(&line["response"], "request_id") == HELLO => {
                events.extend(wire::login(&line["response"]["response"]["account"]).map(Event::Login));
                events.push(Event::Ready);
            }
            "rate_limit_event" => self.limit(&line["rate_limit_info"], events),
            _ => {}
        }
        if events.len() == before {
            events.push(Event::Other);
        }
    }

    fn hello(&mut self) -> Option<String> {
        Some(wire::request(HELLO, "initialize"))
    }

    fn message(&mut self, id: &str, text: &str) -> String {
        self.written.insert(id.to_owned());
        wire::user(id, text)
    }

    fn allow(&mut self, prompt: &str, suggestions: &[usize]) -> Option<String> {
        let waiting = self.prompts.get(prompt).filter(|waiting| waiting.tool != ASK)?;
        let chosen: Option<Vec<&Value>> = suggestions.iter().map(|at| waiting.suggestions.get(*at)).collect();
        let mut response = json!({ "behavior": "allow", "updatedInput": waiting.input });
        let chosen = chosen?;
        if !chosen.is_empty() {
            response["updatedPermissions"] = json!(chosen);
        }
        self.prompts.remove(prompt);
        Some(wire::response(prompt, &response))
    }

    fn deny(&mut self, prompt: &str, why: &str) -> Option<String> {
        self.prompts.remove(prompt)?;
        Some(wire::response(prompt, &json!({ "behavior": "deny", "message": why })))
    }

    fn answer(&mut self, prompt: &str, answers: &BTreeMap<String, String>) -> Option<String> {
        let waiting = self.prompts.get(prompt).filter(|waiting| waiting.tool == ASK)?;
        let asked =
            |question: &String| list(&waiting.input, "questions").iter().any(|q| text(q, "question") == question);
        if answers.is_empty() || !answers.keys().all(asked) {
            return None;
        }
        let input = wire::answered(&waiting.input, answers.clone().into_iter());
        self.prompts.remove(prompt);
        Some(wire::response(prompt, &json!({ "behavior": "allow", "updatedInput": input })))
    }

    fn interrupt(&mut self) -> String {
        self.interrupts += 1;
        wire::request(&format!("interrupt-{}", self.interrupts), "interrupt")
    }
}

impl Claude {
    fn system(&mut self, line: &Value, events: &mut Vec<Event>) {
        match text(line, "subtype") {
            "init" => {
                self.model = text(line, "model").to_owned();
                events.push(Event::Started {
                    conversation: text(line, "session_id").to_owned(),
                    model: self.model.clone(),
                    asked: self.under_way.values().any(|started| *started),
                });
            }
            "compact_boundary" => {
                self.context_used = line["compact_metadata"]["post_tokens"].as_u64();
                events.push(Event::Compacted);
            }
            "api_retry" => events.push(Event::Retry {
                attempt: count(line, "attempt"),
                of: count(line, "max_retries"),
                why: match line["error_status"].as_u64() {
                    Some(status) => format!("{} ({status})", text(line, "error")),
                    None => text(line, "error").to_owned(),
                },
            }),
            // Also told for commands that the turn waits for, which are no background.
            "task_started" if is(line, "is_backgrounded") && !is(line, "ambient") => self.began(line, events),
            "task_updated" if is(&line["patch"], "is_backgrounded") => self.began(line, events),
            "task_notification" => {
                let is_error = text(line, "status") == "failed";
                self.ended(text(line, "task_id"), is_error, text(line, "summary"), events);
            }
            // All that there is now; it comes before the message of one that begins, and says of one
            // that was killed what nothing else does.
            "background_tasks_changed" => {
                let now: Vec<&Value> = list(line, "tasks").iter().filter(|task| !is(task, "ambient")).collect();
                let gone = |id: &&String| !now.iter().any(|task| text(task, "task_id") == id.as_str());
                let gone: Vec<String> = self.background.keys().filter(gone).cloned().collect();
                gone.iter().for_each(|id| self.ended(id, false, "", events));
                now.into_iter().for_each(|task| self.began(task, events));
            }
            _ => {}
        }
    }

    fn began(&mut self, task: &Value, events: &mut Vec<Event>) {
        let (id, what) = (text(task, "task_id").to_owned(), summary(text(task, "description")));
        if self.background.insert(id.clone(), what.clone()).is_none() {
            events.push(Event::BackgroundStarted { id, what });
        }
    }

    fn ended(&mut self, id: &str, is_error: bool, what: &str, events: &mut Vec<Event>) {
        if let Some(began) = self.background.remove(id) {
            let what = if what.is_empty() { began } else { summary(what) };
            events.push(Event::BackgroundEnded { id: id.to_owned(), is_error, what });
        }
    }

    fn assistant(&mut self, line: &Value, events: &mut Vec<Event>) {
        let by = line["parent_tool_use_id"].as_str().map(str::to_owned);
        let message = &line["message"];
        let is_error = is(line, "is_api_error_message") || !text(line, "error").is_empty();
        for block in list(message, "content") {
            match text(block, "type") {
                "text" if is_error => self.failed(line, block, events),
                "text" if by.is_none() => events.push(Event::Words(text(block, "text").to_owned())),
                "tool_use" => events.push(Event::ToolStarted {
                    id: text(block, "id").to_owned(),
                    name: text(block, "name").to_owned(),
                    input: summary(&wire::tool_input(&block["input"])),
                    by: by.clone(),
                }),
                _ => {}
            }
        }
        if is_error || !message["usage"].is_object() {
            return;
        }
        let usage = usage(&message["usage"]);
        if by.is_none() {
            self.context_used = Some(usage.input + usage.cache_read + usage.cache_write);
            return;
        }
        // Of a helper's answer nothing else is told.
        let [id, model] = ["id", "model"].map(|name| text(message, name).to_owned());
        events.push(Event::Answer(Answer { id, model, usage, own: false }));
    }

    /// The API's own events; only those of the conversation itself are looked at.
    fn streamed(&mut self, line: &Value, events: &mut Vec<Event>) {
        let event = &line["event"];
        if !line["parent_tool_use_id"].is_null() {
            return;
        }
        match text(event, "type") {
            "content_block_delta" if text(&event["delta"], "type") == "text_delta" => {
                events.push(Event::Delta(text(&event["delta"], "text").to_owned()));
            }
            "message_start" => {
                let message = &event["message"];
                let [id, model] = ["id", "model"].map(|name| text(message, name).to_owned());
                self.answer = Answer { id, model, usage: usage(&message["usage"]), own: true };
                events.push(Event::Answer(self.answer.clone()));
            }
            "message_delta" if event["usage"].is_object() => {
                // What it leaves out it has said before.
                self.answer.usage = self.answer.usage.max(usage(&event["usage"]));
                events.push(Event::Answer(self.answer.clone()));
            }
            _ => {}
        }
    }

    /// Not the worker's words, but what the turn's end gives as the reason.
    fn failed(&mut self, line: &Value, block: &Value, events: &mut Vec<Event>) {
        if text(line, "error") == "rate_limit" && !std::mem::replace(&mut self.limited, true) {
            events.push(Event::Limit { until: None, text: text(block, "text").to_owned() });
        }
    }

    fn user(&mut self, line: &Value, events: &mut Vec<Event>) {
        if is(line, "isReplay") {
            // It echoes every message with its first answer, and one that it has already at once.
            let id = text(line, "uuid");
            if !self.under_way.contains_key(id) && self.written.remove(id) {
                events.push(Event::Lifecycle { id: id.to_owned(), state: State::Repeated });
            }
            return;
        }
        for block in list(&line["message"], "content").iter().filter(|block| text(block, "type") == "tool_result") {
            events.push(Event::ToolEnded {
                id: text(block, "tool_use_id").to_owned(),
                is_error: is(block, "is_error"),
                output: summary(&content_text(&block["content"])),
            });
        }
    }

    fn lifecycle(&mut self, line: &Value, events: &mut Vec<Event>) {
        let id = text(line, "command_uuid").to_owned();
        let state = match text(line, "state") {
            "queued" => {
                self.under_way.insert(id.clone(), false);
                State::Queued
            }
            "started" => {
                self.under_way.insert(id.clone(), true);
                self.in_turn.insert(id.clone());
                State::Started
            }
            ended => {
                // A repeat after a resume is completed without having been queued: it is told already.
                let Some(started) = self.under_way.remove(&id) else { return };
                self.written.remove(&id);
                match ended {
                    "completed" => State::Completed,
                    "cancelled" if started => State::Cut,
                    _ => State::NotRun,
                }
            }
        };
        events.push(Event::Lifecycle { id, state });
    }

    fn asked(&mut self, line: &Value, events: &mut Vec<Event>) {
        let (id, request) = (text(line, "request_id"), &line["request"]);
        if text(request, "subtype") != "can_use_tool" {
            events.push(Event::Reply(wire::refusal(id, "not supported")));
            return;
        }
        let waiting = Waiting {
            tool: text(request, "tool_name").to_owned(),
            input: request["input"].clone(),
            suggestions: list(request, "permission_suggestions").to_vec(),
        };
        let prompt = if waiting.tool == ASK {
            Prompt::Question(list(&waiting.input, "questions").iter().map(question).collect())
        } else {
            Prompt::Permission {
                tool: waiting.tool.clone(),
                input: waiting.input.to_string(),
                why: text(request, "decision_reason").to_owned(),
                suggestions: waiting.suggestions.iter().map(wire::suggestion).collect(),
                needs_person: is(request, "requires_user_interaction"),
            }
        };
        self.prompts.insert(id.to_owned(), waiting);
        events.push(Event::Prompt { id: id.to_owned(), prompt });
    }

    fn limit(&mut self, info: &Value, events: &mut Vec<Event>) {
        if text(info, "status") == "rejected" {
            self.limited = true;
            let until = usage::millis(&info["resetsAt"]);
            events.push(Event::Limit { until, text: text(info, "rateLimitType").replace('_', " ") });
        }
        events.extend(usage::account(info).map(Event::Account));
    }

    fn result(&mut self, line: &Value, events: &mut Vec<Event>) {
        self.limited = false;
        let ok = !is(line, "is_error");
        let reason = text(line, "terminal_reason");
        let mut messages = std::mem::take(&mut self.in_turn);
        messages.extend(list(line, "user_message_uuids").iter().filter_map(Value::as_str).map(str::to_owned));
        // Several models may have been used; ours counts, or the largest.
        let models = &line["modelUsage"];
        let window = |model: &Value| model["contextWindow"].as_u64();
        let largest = || models.as_object().and_then(|all| all.values().filter_map(window).max());
        events.push(Event::TurnEnded(TurnEnd {
            ok,
            interrupted: !ok && reason.starts_with("aborted"),
            why: (!ok).then(|| why(line, reason)),
            // Of an error it is the error's text.
            text: if ok { text(line, "result").to_owned() } else { String::new() },
            messages: messages.into_iter().collect(),
            totals: usage::totals(models, false),
            context_used: self.context_used,
            context_window: window(&models[&self.model]).or_else(largest),
        }));
    }
}

fn why(line: &Value, reason: &str) -> String {
    let errors: Vec<&str> = list(line, "errors").iter().filter_map(Value::as_str).collect();
    let said = match text(line, "result") {
        "" => errors.join("; "),
        result => result.to_owned(),
    };
    match (said.as_str(), reason) {
        ("", "") => text(line, "subtype").to_owned(),
        ("", reason) => reason.replace('_', " "),
        // Of no use to a person: what it found in its own state.
        (said, reason) if said.starts_with("[ede_diagnostic]") && !reason.is_empty() => reason.replace('_', " "),
        (said, _) => said.to_owned(),
    }
}

fn question(question: &Value) -> Question {
    let choice = |option: &Value| Choice {
        label: text(option, "label").to_owned(),
        description: text(option, "description").to_owned(),
    };
    Question {
        question: text(question, "question").to_owned(),
        header: text(question, "header").to_owned(),
        choices: list(question, "options").iter().map(choice).collect(),
        several: is(question, "multiSelect"),
    }
}

#[cfg(test)]
mod tests;
