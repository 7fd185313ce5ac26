//! What is set of a session and holds for prompts that wait already: permissions are allowed once
//! auto-approve is on, and what waits longer than the session lets it is denied (`spec/runner.md`,
//! "Prompts"). Time is served time: neither a suspended machine nor a clock that jumps denies anything.

use std::sync::Arc;

use crate::id::PromptNo;
use crate::row::{About, Prompt, PromptAnswer, PromptState, Session, SessionSet};
use crate::time::Now;

use super::prompts::AUTO;
use super::{Desk, Wake};

/// Who denies what waited too long, as people read it.
const LATE: &str = "the time limit";

impl Desk {
    /// When a prompt is to be denied, if its session has a limit (served, ms).
    fn late_at(&self, prompt: &Prompt) -> Option<i64> {
        let secs = self.sessions.get(prompt.session).map_or(0, |s| s.prompt_timeout);
        (secs > 0 && prompt.open()).then(|| prompt.made.served + i64::from(secs) * 1_000)
    }

    /// A prompt is looked at again when its time is over.
    pub(super) fn wake_for_prompt(&mut self, prompt: &Prompt) {
        if let Some(at) = self.late_at(prompt) {
            self.index.wakes.insert((at, Wake::Prompt(prompt.no)));
        }
    }

    /// Settings hold at once, also for what waits.
    pub(super) fn prompts_set(&mut self, now: &Now, session: &Session, set: &SessionSet) {
        let run = self.lanes.get(session.lane).and_then(|l| l.turn);
        let open: Vec<Arc<Prompt>> =
            run.into_iter().flat_map(|run| self.prompts_of(run)).filter(|p| p.open()).cloned().collect();
        for prompt in open {
            if set.auto_approve == Some(true) && matches!(prompt.about, About::Permission { needs_person: false, .. }) {
                self.line(prompt.session, format!("prompt {}: allowed, by {AUTO}", prompt.no.0));
                self.decide_prompt(now, &prompt, PromptAnswer::Allow { always: Vec::new() }, AUTO);
            }
            if set.prompt_timeout.is_some() {
                self.wake_for_prompt(&prompt);
            }
        }
    }

    /// Denies a prompt whose time is over; one that is answered, or has more time by now, stays.
    pub(super) fn deny_late(&mut self, now: &Now, no: PromptNo) {
        let Some(prompt) = self.prompts.get(no).cloned() else { return };
        if self.late_at(&prompt).is_none_or(|at| at > now.served) {
            return;
        }
        let secs = self.sessions.get(prompt.session).map_or(0, |s| s.prompt_timeout);
        let why = format!(
            "Nobody answered within {secs} s, the limit of this session, so it is denied. Go on without it if you can; \
             if you cannot, say what you need and stop."
        );
        self.line(prompt.session, format!("prompt {}: denied, nobody answered within {secs} s", no.0));
        self.decide_prompt(now, &prompt, PromptAnswer::Deny { why }, LATE);
    }

    fn decide_prompt(&mut self, now: &Now, prompt: &Prompt, answer: PromptAnswer, by: &str) {
        let by = by.to_string();
        self.edit_prompt(prompt.no, |p| p.state = PromptState::Answered { answer, by });
        self.prompt_event(now, prompt.no);
        self.count_prompts(now, prompt.task);
        self.advance(now, prompt.lane);
    }
}
