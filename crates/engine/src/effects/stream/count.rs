//! Counts what a program that stays uses: at a turn's end by the rise of its running totals, and at
//! the program's own end by what its files and its last answers say beyond them. What is counted is
//! the desk's to write down; this must not know of tasks.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use shrooms_a2a::Timestamp;
use shrooms_core::desk::{Input, Retry, TurnFact};
use shrooms_core::row::{self, Account, Answered, Context, Fence, Mark, Spent, Tokens, Totals, Turn, Used, Window};
use shrooms_core::text::cut;
use shrooms_runner::claude::{self, Found};
use shrooms_runner::codec::{self, Answer, TurnEnd, Usage};

use super::super::run::is_full;
use crate::engine::Inner;

/// Where a run's directory says up to where its conversation was counted when it began.
const FILE: &str = "counted.json";
/// Answers of one turn that are remembered until its end: what a crash cuts off is counted by the
/// files as well, and nobody's turn has so many.
const MAX_ANSWERS: usize = 10_000;
/// Characters of an answer's id, or of a model's name, that a row holds: they have a third of it.
const MAX_ID: usize = 100;
/// Characters of a window's name: Claude Code's longest has 26.
const MAX_NAME: usize = 60;

/// One process, from its start to its end.
pub(super) struct Count {
    mark: Mark,
    /// The model that the conversation is with: its record comes first.
    model: String,
    /// Answers since the last turn's end.
    answers: BTreeMap<String, (String, Usage)>,
    /// The last one in the conversation itself.
    last: Option<String>,
}

impl Count {
    pub(super) fn from(mark: Mark) -> Count {
        Count { mark, model: String::new(), answers: BTreeMap::new(), last: None }
    }

    /// A turn begins.
    pub(super) fn started(&mut self, model: &str) {
        model.clone_into(&mut self.model);
    }

    /// An answer is told. Where it is over, or a helper's, of which only that is told: what is to be kept
    /// of it until the turn's end, and how many tokens the conversation has with it.
    pub(super) fn answer(&mut self, answer: Answer) -> Option<(Answered, Option<u64>)> {
        if answer.id.is_empty() {
            return None;
        }
        let is_new = !self.answers.contains_key(&answer.id);
        if is_new && self.answers.len() >= MAX_ANSWERS {
            return None;
        }
        if answer.own {
            self.last = Some(answer.id.clone());
        }
        let known = self.answers.entry(answer.id.clone()).or_insert((answer.model, Usage::default()));
        let before = known.1;
        known.1 = before.max(answer.usage);
        let (model, usage) = known.clone();
        let is_over = if answer.own { !is_new } else { before != usage };
        if !is_over {
            return None;
        }
        let held = usage.input + usage.cache_read + usage.cache_write;
        let kept = Answered { id: cut(&answer.id, MAX_ID), model: cut(&model, MAX_ID), tokens: tokens(usage) };
        Some((kept, Some(held).filter(|held| answer.own && *held > 0)))
    }

    /// A turn is over.
    pub(super) fn turn_ended(&mut self, end: &TurnEnd, at: i64) -> Spent {
        let totals = totals(&end.totals);
        let mut used = row::rise(&self.mark.totals, &totals);
        used.sort_by_key(|u| u.model != self.model);
        let message = self.last.clone().or(self.mark.message.take());
        self.mark = Mark { from: self.mark.from, message, at, totals };
        self.answers.clear();
        let context = Context { used: end.context_used.unwrap_or(0), window: end.context_window.unwrap_or(0) };
        Spent { used, mark: Some(self.mark.clone()), context: Some(context) }
    }

    /// What the process had used when it ended, beyond its last turn's end. Blocking; ask when nothing
    /// of it runs.
    ///
    /// # Errors
    /// When the conversation's file cannot be read: then it is what was seen.
    pub(super) fn left(self, file: Option<&Path>) -> (Vec<Used>, std::io::Result<()>) {
        let at = Timestamp(self.mark.at).to_string();
        let found = file.map(|file| claude::since(file, self.mark.from, self.mark.message.as_deref(), &at));
        let (found, read) = match found {
            Some(Ok(found)) => (found, Ok(())),
            Some(Err(error)) => (Found::default(), Err(error)),
            None => (Found::default(), Ok(())),
        };
        (beyond(&self.mark, found, self.answers), read)
    }
}

/// Totals that the process stored at its end say it best. Without them it is the sum of its answers,
/// each as far as it was told.
fn beyond(mark: &Mark, found: Found, mut answers: BTreeMap<String, (String, Usage)>) -> Vec<Used> {
    let stored = found.totals.map(|t| totals(&t)).filter(|now| row::goes_on(&mark.totals, now));
    let (mut used, rest) = match stored {
        Some(now) => (row::rise(&mark.totals, &now), found.after),
        None => {
            for (id, (model, usage)) in found.answers {
                let known = answers.entry(id).or_insert((model, Usage::default()));
                known.1 = known.1.max(usage);
            }
            (Vec::new(), answers)
        }
    };
    let mut sums: BTreeMap<String, Tokens> = BTreeMap::new();
    for (model, usage) in rest.into_values() {
        *sums.entry(model).or_default() += tokens(usage);
    }
    let sums = sums.into_iter().filter(|(_, tokens)| !tokens.is_zero());
    used.extend(sums.map(|(model, tokens)| Used { model, tokens, micros: None }));
    used
}

/// Counts from here on: a process is about to be started in this conversation. What is in its file by
/// now was counted, or is nobody's here. Blocking.
pub(super) fn prepare(inner: &Inner, conversation: &str, dir: &Path) -> Result<Count, (String, Retry)> {
    let begin = || begin(file(inner, conversation)?.as_deref(), inner.clock.wall());
    let mark = begin().map_err(|e| (format!("its conversation cannot be read: {e}"), Retry::Counted))?;
    keep(dir, &mark).map_err(|e| {
        let retry = if is_full(&e) { Retry::Disk } else { Retry::Counted };
        (format!("cannot write to {}: {e}", dir.display()), retry)
    })?;
    Ok(Count::from(mark))
}

/// Tells what a process used beyond its last turn's end, now that it has ended.
pub(super) async fn left(inner: &Arc<Inner>, fence: Fence, count: Count, conversation: String) {
    let me = inner.clone();
    tell(inner, fence, move || {
        let file = file(&me, &conversation);
        let (used, read) = count.left(file.as_ref().ok().and_then(|f| f.as_deref()));
        if let Err(error) = file.map(|_| ()).and(read) {
            tracing::warn!(%error, turn = fence.turn.0, "a conversation cannot be read: its use is what was seen");
        }
        Ok(used)
    })
    .await;
}

/// The same of one that nobody watched to its end.
pub(in crate::effects) async fn settled(
    inner: &Arc<Inner>,
    fence: Fence,
    conversation: String,
    dir: PathBuf,
    turn: Arc<Turn>,
) {
    let me = inner.clone();
    let count = move || cut_off(&dir, turn.mark.clone(), turn.answers.clone(), file(&me, &conversation)?);
    tell(inner, fence, count).await;
}

async fn tell(inner: &Arc<Inner>, fence: Fence, count: impl FnOnce() -> std::io::Result<Vec<Used>> + Send + 'static) {
    let counted = tokio::task::spawn_blocking(count).await;
    match counted.map_err(std::io::Error::other).and_then(|counted| counted) {
        Ok(used) => inner.observe(Input::Turn(fence, TurnFact::Left { used })).await,
        Err(error) => tracing::warn!(%error, turn = fence.turn.0, "what a cut off turn used cannot be read"),
    }
}

/// The conversation's file, as soon as there is one. Blocking.
fn file(inner: &Inner, conversation: &str) -> std::io::Result<Option<PathBuf>> {
    inner.harnesses.claude_dir.as_ref().map_or(Ok(None), |dir| claude::conversation_file(dir, conversation))
}

fn begin(file: Option<&Path>, at: i64) -> std::io::Result<Mark> {
    let (from, known) = file.map_or(Ok((0, BTreeMap::new())), claude::known)?;
    Ok(Mark { from, message: None, at, totals: totals(&known) })
}

/// Keeps that where a later boot finds it.
fn keep(dir: &Path, mark: &Mark) -> std::io::Result<()> {
    std::fs::write(dir.join(FILE), serde_json::to_vec(mark).map_err(std::io::Error::other)?)
}

fn cut_off(
    dir: &Path,
    mark: Option<Mark>,
    answers: Vec<Answered>,
    file: Option<PathBuf>,
) -> std::io::Result<Vec<Used>> {
    let mark = match (mark, std::fs::read(dir.join(FILE))) {
        (Some(mark), _) => mark,
        (None, Ok(text)) => serde_json::from_slice(&text).map_err(std::io::Error::other)?,
        // It was not begun.
        (None, Err(e)) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(Vec::new()),
        (None, Err(e)) => return Err(e),
    };
    let answers = answers.into_iter().map(|a| (a.id, (a.model, usage(a.tokens)))).collect();
    let (used, read) = Count { answers, ..Count::from(mark) }.left(file.as_deref());
    read.map(|()| used)
}

/// The account's limits as the desk keeps them.
pub(super) fn account(said: codec::Account) -> Account {
    let window = |(name, (used, resets)): (String, (Option<f64>, Option<i64>))| {
        // Saturates; what is not a number is nothing.
        let used = used.map(|part| (part * 1_000.0).round() as u32);
        (cut(&name, MAX_NAME), Window { used, resets })
    };
    Account {
        at: 0,
        status: cut(&said.status, MAX_NAME),
        window: cut(&said.window, MAX_NAME),
        overage: cut(&said.overage, MAX_NAME),
        windows: said.windows.into_iter().take(row::MAX_WINDOWS).map(window).collect(),
    }
}

fn tokens(usage: Usage) -> Tokens {
    let Usage { input, output, cache_read, cache_write } = usage;
    Tokens { input, output, cache_read, cache_write }
}

fn usage(tokens: Tokens) -> Usage {
    let Tokens { input, output, cache_read, cache_write } = tokens;
    Usage { input, output, cache_read, cache_write }
}

fn totals(told: &BTreeMap<String, codec::Total>) -> Totals {
    let total = |total: &codec::Total| row::Total {
        tokens: tokens(total.usage),
        // Millionths; saturates, and takes what is not a number for 0.
        micros: (total.cost_usd * 1e6).round() as u64,
        guessed: total.guessed,
    };
    told.iter().map(|(model, of)| (model.clone(), total(of))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(output: u64) -> Usage {
        Usage { input: 100, output, cache_read: 0, cache_write: 0 }
    }

    fn answer(id: &str, output: u64, own: bool) -> Answer {
        Answer { id: id.into(), model: "m".into(), usage: of(output), own }
    }

    fn end(model: &str, input: u64, output: u64, usd: f64) -> TurnEnd {
        let usage = Usage { input, output, cache_read: 0, cache_write: 0 };
        let total = codec::Total { usage, cost_usd: usd, guessed: false };
        TurnEnd { totals: [(model.to_string(), total)].into(), ..TurnEnd::default() }
    }

    fn stored(input: u64) -> Option<BTreeMap<String, codec::Total>> {
        Some(end("m", input, 0, 0.0).totals)
    }

    fn shown(used: &[Used]) -> String {
        let one = |u: &Used| format!("{}:{}/{}={:?}", u.model, u.tokens.input, u.tokens.output, u.micros);
        used.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    fn answers(text: &str) -> BTreeMap<String, (String, Usage)> {
        let one = |word: &str| {
            let (id, output) = word.split_once('=').unwrap();
            (id.to_string(), ("m".to_string(), of(output.parse().unwrap())))
        };
        text.split_whitespace().map(one).collect()
    }

    #[test]
    fn a_turn_used_what_the_totals_rose_by_whatever_was_seen_of_it() {
        let mut count = Count::from(Mark { totals: totals(&end("m", 1_000, 10, 1.0).totals), ..Mark::default() });
        count.started("m");
        // Kept when it is over, with all that was said of it; a helper's as often as it is told anew.
        let mut told = |id, output, own| {
            let told = count.answer(answer(id, output, own));
            told.map(|(kept, context)| (kept.tokens.output, context))
        };
        assert_eq!((told("a", 1, true), told("a", 5, true)), (None, Some((5, Some(100)))));
        assert_eq!((told("h", 1, false), told("h", 1, false)), (Some((1, None)), None));
        assert_eq!(told("", 9, true), None);
        let spent = count.turn_ended(&end("m", 1_700, 70, 1.25), 5);
        assert_eq!(shown(&spent.used), "m:700/60=Some(250000)");
        assert_eq!((count.mark.message.as_deref(), count.mark.at, count.answers.len()), (Some("a"), 5, 0));
        assert_eq!(shown(&count.turn_ended(&end("m", 1_700, 70, 1.25), 6).used), "");
        assert_eq!(count.mark.message.as_deref(), Some("a"));
        // Of a turn of several models the conversation's own comes first.
        let mut both = end("m", 1_701, 70, 1.25);
        both.totals.extend(end("a", 3, 4, 0.5).totals);
        assert_eq!(shown(&count.turn_ended(&both, 7).used), "m:1/0=Some(0) a:3/4=Some(500000)");
    }

    #[test]
    fn what_is_left_is_by_the_stored_totals_or_the_sum_of_the_answers() {
        let mark = Mark { totals: totals(&end("m", 1_000, 0, 0.0).totals), ..Mark::default() };
        for (found, seen, left) in [
            (Found::default(), "", ""),
            (Found::default(), "a=1 b=2", "m:200/3=None"),
            // Each counts once, with the larger of its figures.
            (Found { answers: answers("a=7 c=3"), ..Found::default() }, "a=1 b=2", "m:300/12=None"),
            (Found { totals: stored(1_000), answers: answers("a=7"), ..Found::default() }, "", ""),
            (Found { totals: stored(1_250), answers: answers("a=7"), ..Found::default() }, "b=2", "m:250/0=Some(0)"),
            (
                Found { totals: stored(1_250), after: answers("c=3"), answers: answers("a=7 c=3") },
                "b=2",
                "m:250/0=Some(0) m:100/3=None",
            ),
            // Totals of another count say nothing of this one.
            (Found { totals: stored(999), answers: answers("a=7"), ..Found::default() }, "", "m:100/7=None"),
        ] {
            assert_eq!(shown(&beyond(&mark, found.clone(), answers(seen))), left, "{found:?} {seen}");
        }
    }

    #[test]
    fn what_a_run_began_with_is_found_by_a_later_boot() {
        let dir = tempfile::tempdir().unwrap();
        let none = cut_off(dir.path(), None, Vec::new(), None).unwrap();
        assert_eq!(shown(&none), "");
        let file = dir.path().join("c.jsonl");
        let row = |id: &str| {
            format!(
                "{{\"type\":\"assistant\",\"timestamp\":\"2026-11-30T09:00:00.000Z\",\"message\":{{\"id\":\"{id}\",\"model\":\"m\",\"usage\":{{\"input_tokens\":5,\"output_tokens\":1}}}}}}\n"
            )
        };
        std::fs::write(&file, row("a")).unwrap();
        let mark = begin(Some(&file), 0).unwrap();
        keep(dir.path(), &mark).unwrap();
        std::fs::write(&file, [row("a"), row("b"), row("c")].concat()).unwrap();
        assert_eq!(shown(&cut_off(dir.path(), None, Vec::new(), Some(file.clone())).unwrap()), "m:10/2=None");
        let later = Mark { message: Some("b".into()), ..mark };
        assert_eq!(
            shown(&cut_off(dir.path(), Some(later.clone()), Vec::new(), Some(file.clone())).unwrap()),
            "m:5/1=None"
        );
        // What was seen and is not in the file yet counts, too; what is in both once.
        let seen = |id: &str, output| Answered { id: id.into(), model: "m".into(), tokens: tokens(of(output)) };
        let seen = vec![seen("c", 4), seen("d", 7)];
        assert_eq!(shown(&cut_off(dir.path(), Some(later), seen, Some(file)).unwrap()), "m:200/11=None");
    }

    #[test]
    fn windows_are_kept_in_thousandths() {
        let windows = [("five_hour".to_string(), (Some(0.4249), Some(5))), ("odd".to_string(), (Some(f64::NAN), None))];
        let kept = account(codec::Account { status: "allowed".into(), windows: windows.into(), ..Default::default() });
        assert_eq!(kept.windows["five_hour"], Window { used: Some(425), resets: Some(5) });
        assert_eq!(kept.windows["odd"], Window { used: Some(0), resets: None });
    }
}
