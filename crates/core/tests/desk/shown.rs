//! What one line of a script did, as text: what changed in the store for others to see, and what
//! was started. One item for each row, its facts joined by commas.

use std::collections::BTreeMap;

use shrooms_core::desk::{Desk, Effect};
use shrooms_core::id::DeliveryNo;
use shrooms_core::row::{
    Ask, AskState, CostFrom, DeliveryKind, Outbox, Prompt, Session, SessionState, Task, Tokens, Usage,
};
use shrooms_core::view;
use shrooms_testkit::store::{Store, show};
use shrooms_testkit::world::World;

/// Items in a steady order: tasks, asks, sessions, reports.
#[derive(Default)]
struct Items(BTreeMap<(u8, i64, String), Vec<String>>);

impl Items {
    fn add(&mut self, subject: (u8, i64, String), fact: impl Into<String>) {
        self.0.entry(subject).or_default().push(fact.into());
    }
}

fn of_task(t: &Task) -> (u8, i64, String) {
    (0, t.no.0, t.id.clone())
}

fn of_ask(a: &Ask) -> (u8, i64, String) {
    (1, a.no.0, format!("ask {}", a.mid))
}

fn of_session(s: &Session) -> (u8, i64, String) {
    (2, s.uid.0, format!("session {}", s.name))
}

fn of_report(o: &Outbox) -> (u8, i64, String) {
    (3, o.report.task.0, format!("report {}", o.report.task_id))
}

fn of_prompt(p: &Prompt) -> (u8, i64, String) {
    (4, p.no.0, format!("prompt {}", p.key))
}

/// What is different from `before`, and what was started since.
pub fn happened(before: &Store, world: &mut World) -> Vec<String> {
    let effects = std::mem::take(&mut world.effects);
    let (after, desk) = (&world.store, &world.desk);
    let mut items = Items::default();
    tasks(before, after, desk, &mut items);
    asks(before, after, &mut items);
    for (uid, s) in &after.sessions {
        if before.sessions.get(uid).map(|b| &b.state) != Some(&s.state) {
            items.add(of_session(s), session_state(s));
        }
    }
    for o in before.outbox.values().filter(|o| !after.outbox.contains_key(&o.no)) {
        items.add(of_report(o), "gone");
    }
    for o in after.outbox.values().filter(|o| !before.outbox.contains_key(&o.no)) {
        items.add(of_report(o), with(&o.report.state, after.shown(o.report.text)));
    }
    for p in after.prompts.values() {
        let old = before.prompts.get(&p.no);
        if old.map(|o| &o.state) != Some(&p.state) {
            items.add(of_prompt(p), p.state.word());
        }
    }
    for effect in &effects {
        started(effect, after, &mut items);
    }
    items.0.into_iter().map(|((_, _, subject), facts)| format!("{subject} {}", facts.join(", "))).collect()
}

fn tasks(before: &Store, after: &Store, desk: &Desk, items: &mut Items) {
    for (no, t) in &after.tasks {
        let old = before.tasks.get(no);
        let seen = |t: &Task| (view::state(t), view::words(t));
        if old.map(|o| seen(o)) != Some(seen(t)) {
            items.add(of_task(t), with(view::state(t).word(), after.shown(view::words(t))));
        }
        let place = desk.place_in_queue(t);
        if old.is_none() && place > 0 {
            items.add(of_task(t), format!("place {place}"));
        }
        if t.open() && old.map_or(0, |o| o.pending) != t.pending {
            items.add(of_task(t), format!("pending {}", t.pending));
        }
        if t.given_back && old.is_none_or(|o| !o.given_back) {
            items.add(of_task(t), "given back");
        }
        for made in t.made.iter().skip(old.map_or(0, |o| o.made.len())) {
            items.add(of_task(t), with("made", after.shown(Some(made.parts))));
        }
        if t.direct && old.is_none_or(|o| !o.direct) {
            items.add(of_task(t), "direct");
        }
        if t.unproven && old.is_none_or(|o| !o.unproven) {
            items.add(of_task(t), "unproven");
        }
        if t.stalled && old.is_none_or(|o| !o.stalled) {
            items.add(of_task(t), "stalled");
        }
        if t.overdue && old.is_none_or(|o| !o.overdue) {
            items.add(of_task(t), "overdue");
        }
        match (old.is_some_and(|o| o.waiting), t.waiting) {
            (false, true) => items.add(of_task(t), "waits for its ask"),
            (true, false) if t.open() => items.add(of_task(t), "goes on"),
            _ => {}
        }
        if t.acked.is_some() && old.is_none_or(|o| o.acked.is_none()) {
            items.add(of_task(t), "acked");
        }
    }
}

fn asks(before: &Store, after: &Store, items: &mut Items) {
    for (no, a) in &after.asks {
        let old = before.asks.get(no);
        let seen = |a: &Ask| (a.state, a.known.as_ref().map(|k| (k.state.clone(), k.text)));
        if old.map(|o| seen(o)) != Some(seen(a)) {
            items.add(of_ask(a), ask_state(a, after));
        }
        let flags = [("unsure", (|a| a.unsure) as fn(&Ask) -> bool), ("told", |a| a.told), ("cancel", |a| a.cancel)];
        for (word, flag) in flags {
            match (old.is_some_and(|o| flag(o)), flag(a)) {
                (false, true) => items.add(of_ask(a), word),
                (true, false) => items.add(of_ask(a), format!("not {word}")),
                _ => {}
            }
        }
    }
}

fn started(effect: &Effect, after: &Store, items: &mut Items) {
    match effect {
        Effect::Run { fence, delivery } if after.turns[&fence.turn].stream => {
            items.add(subject(after, *delivery), "its program starts");
        }
        Effect::Write { delivery, .. } => items.add(subject(after, *delivery), written(after, *delivery)),
        Effect::Interrupt { fence, .. } => items.add(subject(after, after.turns[&fence.turn].cause), "is interrupted"),
        Effect::Run { delivery, .. } => items.add(subject(after, *delivery), run(after, *delivery)),
        Effect::Stop { fence } => items.add(subject(after, after.turns[&fence.turn].cause), "is stopped"),
        Effect::Answer { prompt, .. } => items.add(of_prompt(&after.prompts[prompt]), "the program is told"),
        Effect::Settle { delivery, .. } => items.add(subject(after, *delivery), "is settled"),
        Effect::Send { ask, attempt } => items.add(of_ask(&after.asks[ask]), format!("send {attempt}")),
        Effect::Look { ask, attempt } => items.add(of_ask(&after.asks[ask]), format!("look {attempt}")),
        Effect::CancelAway { ask, attempt } => items.add(of_ask(&after.asks[ask]), format!("cancel {attempt}")),
        Effect::Report { outbox, tries } => items.add(of_report(&after.outbox[outbox]), format!("try {tries}")),
    }
}

fn subject(store: &Store, delivery: DeliveryNo) -> (u8, i64, String) {
    let delivery = &store.deliveries[&delivery];
    match (delivery.task, delivery.ask) {
        (_, Some(ask)) => of_ask(&store.asks[&ask]),
        (Some(task), _) => of_task(&store.tasks[&task]),
        _ => of_session(&store.sessions[&delivery.session]),
    }
}

/// The same of what is written to a program that stays.
fn written(store: &Store, delivery: DeliveryNo) -> String {
    run(store, delivery).replacen("starts", "written", 1)
}

/// `starts`, and all that is not as usual: what it brings, what goes along, which attempt.
fn run(store: &Store, delivery: DeliveryNo) -> String {
    let d = &store.deliveries[&delivery];
    let text = store.shown(d.text).unwrap_or_default();
    let mut out = match d.kind {
        DeliveryKind::Task => "starts".to_string(),
        DeliveryKind::Answer => format!("starts, answer {text}"),
        DeliveryKind::Correction => format!("starts, correction {text}"),
        DeliveryKind::Recover => "starts, recover".to_string(),
        DeliveryKind::Say => format!("starts, said {text}"),
        DeliveryKind::Recap => "starts, recap".to_string(),
        DeliveryKind::Wake => "starts, nothing".to_string(),
        DeliveryKind::Reminder => {
            let named: Vec<_> = d.about.iter().map(|no| store.tasks[no].id.as_str()).collect();
            format!("starts, reminder of {}", named.join(" and "))
        }
        DeliveryKind::Result => format!("brought {text} to {}", store.sessions[&d.session].name),
    };
    for extra in &d.extra {
        out.push_str(&format!(" + {}", store.shown(Some(*extra)).unwrap_or_default()));
    }
    if d.attempt > 1 {
        out.push_str(&format!(", attempt {}", d.attempt));
    }
    if d.repeat {
        out.push_str(", a repeat");
    }
    out
}

fn ask_state(a: &Ask, store: &Store) -> String {
    let state = match a.state {
        AskState::Unsent => "unsent",
        AskState::Open => "open",
        AskState::Ended => "ended",
    };
    match &a.known {
        None => state.to_string(),
        Some(k) => format!("{state} {}", with(&k.state, store.shown(k.text))),
    }
}

fn session_state(s: &Session) -> String {
    match &s.state {
        SessionState::Ready => "ready".into(),
        SessionState::Stopped { why } => format!("stopped {}", show(why)),
        SessionState::Removed => "removed".into(),
    }
}

fn with(state: &str, words: Option<String>) -> String {
    words.map_or_else(|| state.to_string(), |w| format!("{state} {w}"))
}

/// A task's id and state.
pub fn task_state(t: &Task, world: &World) -> String {
    format!("{} {}", t.id, with(view::state(t).word(), world.store.shown(view::words(t))))
}

/// A task as it stands, with its receipt.
pub fn task(t: &Task, world: &World) -> String {
    let mut facts = vec![with(view::state(t).word(), world.store.shown(view::words(t)))];
    match world.desk.place_in_queue(t) {
        0 => {}
        place => facts.push(format!("place {place}")),
    }
    if t.pending > 0 {
        facts.push(format!("pending {}", t.pending));
    }
    let marks = [("delivered", t.delivered), ("started", t.started), ("ended", t.ended), ("acked", t.acked)];
    facts.extend(marks.iter().filter(|(_, at)| at.is_some()).map(|(word, _)| word.to_string()));
    facts.push(format!("from {}", t.sender.label));
    format!("{} {}", t.id, facts.join(", "))
}

/// An ask as it stands.
pub fn ask(a: &Ask, store: &Store) -> String {
    let flags = [("unsure", a.unsure), ("told", a.told), ("cancel", a.cancel), ("telling", a.telling.is_some())];
    let flags: Vec<String> = flags.iter().filter(|(_, on)| *on).map(|(word, _)| format!(", {word}")).collect();
    format!("ask {} {}{}", a.mid, ask_state(a, store), flags.concat())
}

/// All that is due, whether it was started or not.
pub fn due(world: &World) -> Vec<String> {
    let store = &world.store;
    let name = |effect: &Effect| {
        let mut items = Items::default();
        started(effect, store, &mut items);
        let item = items.0.into_iter().next().expect("an effect is about something");
        format!("{} {}", item.0.2, item.1.concat())
    };
    world.desk.due().map(name).collect()
}

/// A record of use: whose, what, and where its cost is from.
pub fn usage(u: &Usage) -> String {
    let task = u.cause.task.as_ref().map(|t| format!(" for {t}")).unwrap_or_default();
    let cost = match u.cost {
        Some((micros, CostFrom::Harness)) => format!("costs {micros}"),
        Some((micros, CostFrom::Prices)) => format!("costs {micros} by prices"),
        None => "costs unknown".to_string(),
    };
    let turns = if u.turns > 0 { format!("a turn of {} ms", u.busy_ms) } else { "no turn".to_string() };
    let Tokens { input, output, .. } = u.tokens;
    format!("{} {} {input}/{output}, by {}{task}, {turns}, {cost}", u.name, u.model, u.cause.by)
}
