//! What is seen of a program that stays: each event of its codec as an observation for the desk, and
//! as a line of the session's log. It must not write to the program.

use std::collections::BTreeMap;
use std::sync::Arc;

use shrooms_core::Text;
use shrooms_core::desk::{Asked, Input, TurnFact};
use shrooms_core::id::DeliveryNo;
use shrooms_core::row::{self, Fence, Spent, Task, ToolUse};
use shrooms_core::text::{MAX_TEXT, cut};
use shrooms_runner::codec::{Event, Prompt, State, TurnEnd};
use shrooms_runner::crash;

use super::super::run::log;
use super::count::{self, Count};
use crate::engine::Inner;

/// Characters of a message that the log holds: the conversation has it whole.
const EXCERPT: usize = 2_000;
/// Longest tool input that a prompt shows, in characters: a person reads no more.
const MAX_INPUT: usize = 200_000;

pub(super) struct Seen {
    inner: Arc<Inner>,
    fence: Fence,
    up: bool,
    /// It did not say in time that it is up.
    pub(super) was_slow: bool,
    /// A turn runs.
    works: bool,
    /// What was written, by the id it was written under.
    written: BTreeMap<String, (DeliveryNo, u32)>,
    /// Names and inputs of tools that are being used, by the id of the use.
    tools: BTreeMap<String, (String, String)>,
    conversation: Option<String>,
    /// What a conversation that this run begins is begun with about itself.
    noted: Option<String>,
    /// Why its last turn failed, as the desk was told.
    failed: Option<Option<String>>,
    task: Option<Arc<Task>>,
    /// What its model says from here on is another message of it.
    said_one: bool,
    count: Count,
}

impl Seen {
    pub(super) fn new(inner: Arc<Inner>, fence: Fence, noted: Option<String>, count: Count) -> Seen {
        Seen {
            inner,
            fence,
            up: false,
            was_slow: false,
            works: false,
            written: BTreeMap::new(),
            tools: BTreeMap::new(),
            conversation: None,
            noted,
            failed: None,
            task: None,
            said_one: false,
            count,
        }
    }

    /// It has said that it is ready for messages.
    pub(super) fn is_up(&self) -> bool {
        self.up
    }

    pub(super) fn works(&self) -> bool {
        self.works
    }

    /// A call of a tool is under way.
    pub(super) fn uses_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    /// One has been for long.
    pub(super) async fn long_call(&mut self) {
        let name = self.tools.values().next().map(|(name, _)| name.clone()).unwrap_or_default();
        self.log("note", format!("a call of {name} runs for long"));
        self.tell(TurnFact::LongCall { name }).await;
    }

    /// Something was written that no turn has yet.
    pub(super) fn waits(&self) -> bool {
        !self.written.is_empty()
    }

    /// A message is about to be written.
    pub(super) fn write(&mut self, id: &str, no: DeliveryNo, attempt: u32, task: Option<Arc<Task>>, text: &str) {
        self.written.insert(id.to_string(), (no, attempt));
        self.task = task;
        self.log("said", cut(text, EXCERPT));
    }

    async fn tell(&self, fact: TurnFact) {
        self.inner.observe(Input::Turn(self.fence, fact)).await;
    }

    fn log(&self, kind: &'static str, text: impl Into<String>) {
        log(&self.inner, self.fence, self.task.as_ref().map(|t| t.id.clone()), kind, text.into());
    }

    /// It has ended: what it used beyond its last turn's end.
    pub(super) async fn left(self, conversation: String) {
        let (inner, fence) = (self.inner.clone(), self.fence);
        count::left(&inner, fence, self.count, conversation).await;
    }

    /// A message came to nothing: if no turn runs, there will be no end of one to hear of.
    pub(super) async fn rested(&mut self) {
        if !self.works {
            self.tell(TurnFact::Idle { words: Text::from(""), spent: Spent::default() }).await;
        }
    }

    /// Takes in an event; a line that must be written, or the program waits for ever.
    pub(super) async fn event(&mut self, event: Event) -> Option<String> {
        match event {
            Event::Ready => self.up = true,
            Event::Login(Some(_)) => {}
            Event::Login(None) => self.log("note", "Claude Code is not logged in: run it once yourself (claude)"),
            Event::Started { conversation, model, .. } => {
                self.works = true;
                self.count.started(&model);
                if self.conversation.as_ref() != Some(&conversation) {
                    tracing::debug!(model, conversation, "a conversation goes on");
                    self.conversation = Some(conversation.clone());
                    let noted = self.noted.take();
                    self.tell(TurnFact::Conversation { id: conversation, noted }).await;
                }
                self.tell(TurnFact::Busy).await;
            }
            Event::Lifecycle { id, state } => self.lifecycle(&id, state).await,
            Event::Delta(text) => self.say(&text),
            Event::Other => {}
            Event::Words(text) => {
                self.said_one = true;
                self.log("words", text);
            }
            Event::ToolStarted { id, name, input, by } => {
                if by.is_none() {
                    self.log("tool", format!("{name}: {input}"));
                }
                self.tools.insert(id, (name, input));
            }
            Event::ToolEnded { id, is_error, output } => self.tool_ended(&id, is_error, &output).await,
            Event::Prompt { id, prompt } => {
                self.log("note", asks(&prompt));
                crash::point("prompt_seen");
                self.tell(TurnFact::Prompted { key: id, about: about(prompt) }).await;
            }
            Event::PromptWithdrawn { id } => self.tell(TurnFact::PromptGone { key: id }).await,
            Event::TurnEnded(end) => self.turn_ended(end).await,
            Event::BackgroundStarted { id, what } => {
                self.log("note", format!("in the background: {what}"));
                self.tell(TurnFact::Background { id, what, on: true }).await;
            }
            Event::BackgroundEnded { id, what, is_error } => {
                let how = if is_error { "failed" } else { "ended" };
                self.log("note", format!("{how} in the background: {what}"));
                self.tell(TurnFact::Background { id, what, on: false }).await;
            }
            Event::Limit { until, text } => {
                let at = until.map(|ms| format!(", until {}", shrooms_core::refusal::when(ms)));
                self.log("note", format!("the account is at its limit: {text}{}", at.unwrap_or_default()));
                if let Some(until) = until {
                    self.tell(TurnFact::Limit { until, text }).await;
                }
            }
            Event::Account(said) => self.tell(TurnFact::Account(count::account(said))).await,
            Event::Answer(answer) => {
                if let Some((answer, context)) = self.count.answer(answer) {
                    self.tell(TurnFact::Answered { answer, context }).await;
                }
            }
            Event::Compacted => {
                self.log("note", "the beginning of the conversation was replaced by a summary");
                self.tell(TurnFact::Compacted).await;
            }
            Event::Retry { attempt, of, why } => {
                self.log("note", format!("the model could not be reached ({why}): try {attempt} of {of}"));
            }
            Event::Reply(line) => return Some(line),
        }
        None
    }

    /// A piece of a message of its model, for whoever follows the task that it works on.
    fn say(&mut self, text: &str) {
        self.inner.overhear(self.fence.session, self.task.as_ref().map(|t| t.id.as_str()), text);
        let between = if std::mem::take(&mut self.said_one) { "\n\n" } else { "" };
        if let Some(task) = &self.task {
            self.inner.say(task.no, &format!("{between}{text}"));
        }
    }

    async fn lifecycle(&mut self, id: &str, state: State) {
        let Some(&(delivery, attempt)) = self.written.get(id) else { return };
        match state {
            State::Started => {
                self.works = true;
                crash::point("taken_seen");
                self.tell(TurnFact::Taken { delivery, attempt }).await;
            }
            // It was there already, and nothing comes of it.
            State::Repeated => {
                self.written.remove(id);
                self.tell(TurnFact::Taken { delivery, attempt }).await;
                self.rested().await;
            }
            State::NotRun => {
                self.written.remove(id);
                self.tell(TurnFact::NotRun { delivery, attempt }).await;
                self.rested().await;
            }
            State::Completed | State::Cut => {
                self.written.remove(id);
            }
            State::Queued => {}
        }
    }

    async fn tool_ended(&mut self, id: &str, is_error: bool, output: &str) {
        let Some((name, input)) = self.tools.remove(id) else { return };
        // Ours speak of the work; they are not the work.
        if !name.starts_with("mcp__shrooms__") {
            self.tell(TurnFact::Tool(tool_use(&name, input, is_error, output))).await;
        }
        if is_error {
            self.log("tool", format!("{name} failed: {output}"));
            return;
        }
        // The calls that an outcome may have been offered through.
        if name.ends_with("__ask_agent") || name.ends_with("__task_status") {
            crash::point("return_seen");
            self.tell(TurnFact::Seen { call: id.to_string() }).await;
        }
    }

    async fn turn_ended(&mut self, end: TurnEnd) {
        self.works = false;
        self.tools.clear();
        let spent = self.count.turn_ended(&end, self.inner.clock.wall());
        let failed = end.why.clone().filter(|_| !end.ok && !end.interrupted);
        if self.failed != Some(failed.clone()) {
            self.failed = Some(failed.clone());
            self.tell(TurnFact::Failed { why: failed }).await;
        }
        let words = match (end.ok, &end.why) {
            (true, _) => end.text,
            (false, why) => {
                let why = why.clone().unwrap_or_else(|| "no reason is given".into());
                let how = if end.interrupted { "its turn was interrupted" } else { "its turn failed" };
                self.log("note", format!("{how}: {why}"));
                format!("({how}: {why})")
            }
        };
        crash::point("turn_end_seen");
        self.tell(TurnFact::Idle { words: Text::new(cut(&words, MAX_TEXT / 4)), spent }).await;
    }
}

/// What a tool did, as evidence.
fn tool_use(name: &str, input: String, is_error: bool, output: &str) -> ToolUse {
    let runs = name == "Bash";
    let changes = matches!(name, "Edit" | "Write" | "NotebookEdit" | "MultiEdit");
    let code = output.strip_prefix("Exit code ").and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    ToolUse {
        name: cut(name, 100),
        ok: !is_error,
        command: runs.then(|| input.clone()),
        code: code.filter(|_| runs),
        file: changes.then(|| cut(&input, 500)),
    }
}

/// A prompt as a line of the log.
fn asks(prompt: &Prompt) -> String {
    match prompt {
        Prompt::Permission { tool, input, .. } => format!("asks whether it may use {tool}: {}", cut(input, EXCERPT)),
        Prompt::Question(questions) => {
            let first = questions.first().map(|q| q.question.as_str()).unwrap_or_default();
            format!("asks: {}", cut(first, EXCERPT))
        }
    }
}

fn about(prompt: Prompt) -> Asked {
    match prompt {
        Prompt::Permission { tool, input, why, suggestions, needs_person } => {
            Asked::Permission { tool, input: Text::new(cut(&input, MAX_INPUT)), why, suggestions, needs_person }
        }
        Prompt::Question(questions) => Asked::Questions(questions.into_iter().map(question).collect()),
    }
}

fn question(question: shrooms_runner::codec::Question) -> row::Question {
    let choice = |c: shrooms_runner::codec::Choice| row::Choice { label: c.label, description: c.description };
    row::Question {
        question: question.question,
        header: question.header,
        choices: question.choices.into_iter().map(choice).collect(),
        several: question.several,
    }
}
