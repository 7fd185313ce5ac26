//! Permissions and questions of a harness: opened by it, answered once by a person (or by a rule of
//! the owner's), over with the run that asked. While one waits nothing is written into its turn
//! (`spec/runner.md`, "Prompts").

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{LaneNo, PromptNo, TurnNo};
use crate::principal::Principal;
use crate::refusal::{Refusal, when};
use crate::row::{About, EventKind, Harness, Prompt, PromptAnswer, PromptState, Question, Turn, TurnState};
use crate::text::cut;
use crate::time::Now;

use super::{Asked, Desk, Done, Loaded};

/// Who answers where auto-approve is on, as people read it.
pub(super) const AUTO: &str = "auto-approve";

/// Prompts of one run that may wait at once: far more than a harness has tools under way.
pub const MAX_PROMPTS: usize = 100;
/// Longest answer to a question, and longest reason of a refusal, in bytes.
pub const MAX_ANSWER: usize = 65_536;

impl Desk {
    /// The harness waits for a person.
    pub(super) fn prompted(&mut self, now: &Now, run: &Turn, key: String, asked: Asked) {
        let runs = run.state == TurnState::Running && run.boot == self.meta.boot;
        if !runs || self.prompts_of(run.no).any(|p| p.key == key) {
            return;
        }
        let full = self.prompts_of(run.no).filter(|p| p.open()).count() >= MAX_PROMPTS;
        let session = self.sessions.get(run.session).cloned();
        let auto = session.as_ref().is_some_and(|s| matches!(s.harness, Harness::Claude { auto_approve: true, .. }));
        let answer = |answer, by: &str| PromptState::Answered { answer, by: by.to_string() };
        let state = match &asked {
            _ if full => {
                let why = format!("{MAX_PROMPTS} prompts wait already");
                answer(PromptAnswer::Deny { why }, "the daemon")
            }
            Asked::Permission { needs_person: false, .. } if auto => {
                answer(PromptAnswer::Allow { always: Vec::new() }, AUTO)
            }
            _ => PromptState::Open,
        };
        let about = match asked {
            Asked::Permission { tool, input, why, suggestions, needs_person } => {
                About::Permission { tool, input: self.keep(&input), why, suggestions, needs_person }
            }
            Asked::Questions(questions) => About::Questions(questions),
        };
        let no = PromptNo(self.next());
        if let PromptState::Answered { answer, by } = &state {
            let word = if matches!(answer, PromptAnswer::Deny { .. }) { "denied" } else { "allowed" };
            self.line(run.session, format!("prompt {}: {word}, by {by}", no.0));
        }
        self.insert_prompt(Prompt {
            no,
            session: run.session,
            lane: run.lane,
            run: run.no,
            task: run.task,
            key,
            about,
            state,
            made: now.stamp(),
            ended: None,
        });
        self.prompt_event(now, no);
        self.count_prompts(now, run.task);
    }

    /// The harness waits no longer: it has the answer, or does not want one any more.
    pub(super) fn prompt_gone(&mut self, now: &Now, run: &Turn, key: &str) {
        let found = self.prompts_of(run.no).find(|p| p.key == key).map(|p| p.no);
        if let Some(no) = found {
            self.end_prompt(now, no, "the program does not wait for it any more");
            self.advance(now, run.lane);
        }
    }

    /// With a run its prompts are over.
    pub(super) fn end_prompts(&mut self, now: &Now, run: TurnNo) {
        let left: Vec<PromptNo> = self.prompts_of(run).map(|p| p.no).collect();
        for no in left {
            self.end_prompt(now, no, "the program that asked has ended");
        }
    }

    fn end_prompt(&mut self, now: &Now, no: PromptNo, why: &str) {
        let Some(prompt) = self.prompts.get(no).cloned().filter(|p| p.ended.is_none()) else { return };
        self.edit_prompt(no, |p| {
            p.ended = Some(now.stamp());
            if p.state == PromptState::Open {
                p.state = PromptState::Withdrawn { why: why.to_string() };
            }
        });
        if prompt.state == PromptState::Open {
            self.prompt_event(now, no);
            self.count_prompts(now, prompt.task);
        }
    }

    pub(super) fn answer_prompt(
        &mut self,
        now: &Now,
        by: &Principal,
        no: PromptNo,
        answer: PromptAnswer,
        loaded: &Loaded,
    ) -> Result<Done, Refusal> {
        self.owners_only(by, "answering a prompt")?;
        let held = self.prompts.get(no).cloned().or_else(|| loaded.prompt.clone().map(Arc::new));
        let prompt = held.ok_or(Refusal::NoPrompt { id: no.0 })?;
        // Nobody waits for it where its program is gone, or going.
        let asks =
            self.turns.get(prompt.run).is_some_and(|t| t.state == TurnState::Running && t.boot == self.meta.boot);
        if !prompt.open() || !asks {
            return Err(Refusal::PromptOver { id: no.0, how: how(&prompt) });
        }
        fits(&prompt, &answer)?;
        let word = match &answer {
            PromptAnswer::Allow { .. } => "allowed",
            PromptAnswer::Deny { .. } => "denied",
            PromptAnswer::Answers(_) => "answered",
        };
        self.line_by(prompt.session, &format!("prompt {}: {word}", no.0), by);
        let by = self.sender(by, None).label;
        self.edit_prompt(no, |p| p.state = PromptState::Answered { answer, by });
        self.prompt_event(now, no);
        self.count_prompts(now, prompt.task);
        // What had to wait for the answer may be written now.
        self.advance(now, prompt.lane);
        let prompt = self.prompts.get(no).cloned().unwrap_or(prompt);
        Ok(Done::Prompt(prompt))
    }

    /// Whether something in the lane waits for a person.
    pub(super) fn is_prompting(&self, lane: LaneNo) -> bool {
        let run = self.lanes.get(lane).and_then(|l| l.turn);
        run.is_some_and(|run| self.prompts_of(run).any(|p| p.open()))
    }

    pub(super) fn prompts_of(&self, run: TurnNo) -> impl Iterator<Item = &Arc<Prompt>> {
        self.index.prompts.get(&run).into_iter().flatten().filter_map(|no| self.prompts.get(*no))
    }

    /// How many prompts a task's turn waits for is a fact of the task, which others see.
    pub(super) fn count_prompts(&mut self, now: &Now, task: Option<crate::id::TaskNo>) {
        let Some(task) = task.and_then(|no| self.tasks.get(no)).filter(|t| t.open()).cloned() else { return };
        let run = self.lanes.get(task.lane).and_then(|l| l.turn);
        let of_run = run.into_iter().flat_map(|run| self.prompts_of(run));
        let open = of_run.filter(|p| p.open() && p.task == Some(task.no)).count();
        let open = u32::try_from(open).unwrap_or(u32::MAX);
        if task.prompts != open {
            self.edit_task(task.no, |t| {
                t.prompts = open;
                t.changed = now.stamp();
                t.seq += 1;
            });
            self.note(now, task.no, "");
            self.tell(now, task.no);
        }
    }

    pub(super) fn prompt_event(&mut self, now: &Now, no: PromptNo) {
        let Some(prompt) = self.prompts.get(no).cloned() else { return };
        let what = match &prompt.about {
            About::Permission { tool, .. } => format!("{}: may it use {}?", no.0, cut(tool, 80)),
            About::Questions(questions) => {
                let first = questions.first().map(|q| q.question.as_str()).unwrap_or_default();
                format!("{}: {first}", no.0)
            }
        };
        let task = prompt.task.and_then(|no| self.tasks.get(no)).map(|t| t.id.clone());
        let session = self.session_name(prompt.session);
        self.event(now, EventKind::Prompt, Some(&session), task.as_deref(), prompt.state.word(), &what);
    }
}

/// Whether an answer is one to this prompt.
fn fits(prompt: &Prompt, answer: &PromptAnswer) -> Result<(), Refusal> {
    let wrong = |why: String| Err(Refusal::WrongAnswer { id: prompt.no.0, why });
    match (&prompt.about, answer) {
        (_, PromptAnswer::Deny { why }) if why.len() > MAX_ANSWER => {
            Err(Refusal::TooLong { what: "reason", len: why.len(), max: MAX_ANSWER })
        }
        (_, PromptAnswer::Deny { .. }) => Ok(()),
        (About::Permission { suggestions, .. }, PromptAnswer::Allow { always }) => {
            match always.iter().find(|at| **at >= suggestions.len()) {
                Some(_) if suggestions.is_empty() => wrong("it suggests nothing to allow for good".to_string()),
                Some(at) => wrong(format!("it has no suggestion {at}, only 0 to {}", suggestions.len() - 1)),
                None => Ok(()),
            }
        }
        (About::Permission { .. }, PromptAnswer::Answers(_)) => {
            wrong("it is a permission: allow or deny it".to_string())
        }
        (About::Questions(_), PromptAnswer::Allow { .. }) => {
            wrong("it is a question: answer it, or deny it".to_string())
        }
        (About::Questions(questions), PromptAnswer::Answers(answers)) => answered(questions, answers).or_else(wrong),
    }
}

fn answered(questions: &[Question], answers: &BTreeMap<String, String>) -> Result<(), String> {
    let long = answers.values().map(String::len).max().unwrap_or_default();
    if long > MAX_ANSWER {
        return Err(format!("an answer is {long} bytes; at most {MAX_ANSWER} are taken"));
    }
    if let Some(unknown) = answers.keys().find(|a| !questions.iter().any(|q| q.question == **a)) {
        return Err(format!("it does not ask '{}'", cut(unknown, 200)));
    }
    let missing = questions.iter().find(|q| answers.get(&q.question).is_none_or(|a| a.trim().is_empty()));
    missing.map_or(Ok(()), |q| Err(format!("'{}' has no answer", cut(&q.question, 200))))
}

/// What became of one that nobody may answer any more.
fn how(prompt: &Prompt) -> String {
    let at = when(prompt.ended.map_or(prompt.made.wall, |s| s.wall));
    match &prompt.state {
        PromptState::Answered { by, .. } => format!("was {} by {by}", prompt.state.word()),
        PromptState::Withdrawn { why } => format!("was withdrawn on {at}: {why}"),
        PromptState::Open => "is over: the program that asked is gone".to_string(),
    }
}
