//! What a device reads that does not see a session: nothing of it, and all of the rest.

use std::sync::Arc;

use shrooms_core::desk::{AskReq, Asked, Effect, Target};
use shrooms_core::row::{Cause, Change, SessionSet, Tokens, Usage};

use super::*;
use crate::{UsageBy, UsageQuery, UsageSum};

impl Pair {
    /// A session of a program that stays, whose program waits for its owner.
    fn with_prompt(&mut self, name: &str) {
        let harness = Harness::Claude { model: None, auto_approve: false };
        let by = Principal::Owner;
        let add = Request::AddSession { by, new: Box::new(NewSession::new(name, harness, "/")) };
        self.request(add).unwrap();
        self.send(name, "m1", "one").unwrap();
        let uid = self.desk.session_by_name(name).unwrap().uid;
        let fence = self.desk.take_due().iter().find_map(|effect| match effect {
            Effect::Run { fence, .. } if fence.session == uid => Some(*fence),
            _ => None,
        });
        let about = Asked::Permission {
            tool: "Bash".into(),
            input: Text::from("{}"),
            why: String::new(),
            suggestions: Vec::new(),
            needs_person: false,
        };
        let now = self.now();
        let fact = TurnFact::Prompted { key: "p".into(), about };
        self.desk.handle(now, Input::Turn(fence.unwrap(), fact)).unwrap();
        self.commit();
    }

    /// A task of a device.
    fn send_by(&mut self, session: &str, mid: &str, by: Principal) {
        let text = Text::from("one");
        let send = SendReq { random: 7, ..SendReq::new(by, session, mid, text) };
        self.request(Request::Send(send)).unwrap();
    }

    /// What a session asks another one of this machine.
    fn ask(&mut self, mid: &str, by: Principal, to: &str) {
        let text = Text::from("one");
        let ask = AskReq {
            by,
            to: Target::Here { session: to.into() },
            agent: format!("home/{to}"),
            mid: mid.into(),
            digest: text.sha(),
            text,
            title: None,
            context: None,
            refs: vec![],
            fresh: false,
            require: vec![],
            now_only: false,
            random: 7,
        };
        self.request(Request::Ask(ask)).unwrap();
    }
}

fn hide(pair: &mut Pair, name: &str) {
    let set = SessionSet { meshes: Some(vec!["home".into()]), ..SessionSet::default() };
    pair.request(Request::SetSession { by: Principal::Owner, name: name.into(), set }).unwrap();
}

fn device(mesh: &str) -> Principal {
    Principal::Device {
        id: format!("{mesh}/1"),
        label: format!("phone.{mesh}"),
        right: Default::default(),
        meshes: vec![mesh.into()],
    }
}

fn reader_of(reader: &Reader, mesh: &str) -> Reader {
    let by = device(mesh);
    reader.for_device(&format!("{mesh}/1"), |session| by.sees(session)).unwrap()
}

#[test]
fn a_reader_of_another_mesh_finds_nothing_of_a_hidden_session() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("open");
    pair.send("open", "m1", "one").unwrap();
    pair.with_prompt("web");
    hide(&mut pair, "web");
    let all = Reader::open(dir.path()).unwrap();
    let (home, work) = (reader_of(&all, "home"), reader_of(&all, "work"));
    let uid = all.session_named("web").unwrap().unwrap().uid;
    let task = all.task("web:m1").unwrap().unwrap().no;
    let prompt = all.prompts().unwrap()[0].no;
    for (reader, sees) in [(&all, true), (&home, true), (&work, false)] {
        assert_eq!(reader.session_named("web").unwrap().is_some(), sees);
        assert_eq!(reader.session(uid).unwrap().is_some(), sees);
        assert_eq!(reader.hidden().has(uid), !sees);
        assert_eq!(reader.task("web:m1").unwrap().is_some(), sees);
        assert_eq!(reader.task_no(task).unwrap().is_some(), sees);
        assert_eq!(reader.prompt(prompt).unwrap().is_some(), sees);
        assert_eq!(reader.prompts().unwrap().len(), usize::from(sees));
        let names = if sees { vec!["open", "web"] } else { vec!["open"] };
        assert_eq!(reader.session_names().unwrap(), names);
        let rows = reader.sessions().unwrap();
        assert_eq!(rows.iter().map(|row| row.session.name.as_str()).collect::<Vec<_>>(), names);
        let page = reader.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() }).unwrap();
        assert_eq!((page.tasks.len(), page.total), (names.len(), names.len() as i64));
        let lines = reader.audit(None, 100).unwrap();
        assert_eq!(lines.iter().any(|line| line.about.contains("web")), sees, "{lines:?}");
        assert!(lines.iter().any(|line| line.about.contains("open")));
        let feed = reader.events(0, 100).unwrap();
        assert_eq!(feed.events.iter().any(|e| e.session.as_deref() == Some("web")), sees, "{:#?}", feed.events);
        assert_eq!(feed.newest, all.events(0, 100).unwrap().events.last().unwrap().seq);
    }
}

#[test]
fn what_a_device_sent_itself_it_reads_also_later() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("web");
    let by = device("work");
    pair.send_by("web", "mine", by);
    pair.send("web", "owners", "one").unwrap();
    hide(&mut pair, "web");
    let work = reader_of(&Reader::open(dir.path()).unwrap(), "work");
    assert!(work.task("web:mine").unwrap().is_some() && work.task("web:owners").unwrap().is_none());
    let page = work.tasks(&TaskFilter { limit: 10, ..TaskFilter::default() }).unwrap();
    assert_eq!((page.tasks.len(), page.total), (1, 1));
    // A removed one is as hidden as it was.
    pair.request(Request::RemoveSession { by: Principal::Owner, name: "web".into() }).unwrap();
    let work = reader_of(&Reader::open(dir.path()).unwrap(), "work");
    assert!(work.task("web:mine").unwrap().is_some() && work.task("web:owners").unwrap().is_none());
}

#[test]
fn an_ask_of_a_hidden_session_or_for_one_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    for name in ["web", "open", "other"] {
        pair.session(name);
    }
    let uid = |pair: &Pair, name: &str| pair.desk.session_by_name(name).unwrap().uid;
    for (mid, from, to) in [("a", "web", "open"), ("b", "open", "web"), ("c", "open", "other")] {
        pair.ask(mid, Principal::Session(uid(&pair, from)), to);
    }
    hide(&mut pair, "web");
    let all = Reader::open(dir.path()).unwrap();
    let work = reader_of(&all, "work");
    let mids = |reader: &Reader, limit: usize| -> Vec<String> {
        reader.asks(true, limit).unwrap().into_iter().map(|ask| ask.mid).collect()
    };
    assert_eq!((mids(&all, 10), mids(&work, 10)), (vec!["c".into(), "b".into(), "a".into()], vec!["c".to_string()]));
    assert_eq!(mids(&work, 1), ["c"]);
    for ask in all.asks(true, 10).unwrap() {
        assert_eq!(work.ask(ask.no).unwrap().is_some(), ask.mid == "c");
    }
    assert!(work.ask_of(None, "open:a").unwrap().is_none() && work.ask_of(None, "other:c").unwrap().is_some());
    // Who asked for a task that is seen is this machine, and no more is said.
    let task = work.task("open:a").unwrap().unwrap();
    assert_eq!(task.sender.label, "this machine");
    assert!(all.task("open:a").unwrap().unwrap().sender.label.contains("web"));
}

#[test]
fn what_a_hidden_session_used_and_asked_is_not_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut pair = open(dir.path());
    pair.session("open");
    pair.with_prompt("web");
    hide(&mut pair, "web");
    let all = Reader::open(dir.path()).unwrap();
    let uid = |name: &str| all.session_named(name).unwrap().unwrap().uid;
    let used = |no: i64, name: &str, by: &str| {
        let cause = Cause { by: by.into(), task: None };
        let tokens = Tokens { input: 1, output: 0, cache_read: 0, cache_write: 0 };
        let (session, name, harness, model) = (uid(name), name.to_string(), "claude".into(), "m".into());
        let (at, day, turns, cost, busy_ms) = (0, 0, 1, None, 0);
        Change::Usage(Arc::new(Usage {
            no,
            at,
            day,
            session,
            name,
            harness,
            model,
            cause,
            turns,
            tokens,
            cost,
            busy_ms,
        }))
    };
    pair.store.commit(&[used(1_001, "web", "the owner"), used(1_002, "open", "this machine (home/web)")]).unwrap();
    let by = vec![UsageBy::Session, UsageBy::Asker];
    for (mesh, want) in
        [("home", vec!["open this machine (home/web)", "web the owner"]), ("work", vec!["open this machine"])]
    {
        let sums = reader_of(&all, mesh).usage(&UsageQuery { since: 0, until: 0, by: by.clone(), limit: 9 }).unwrap();
        let shown = |s: &UsageSum| format!("{} {}", s.session.clone().unwrap(), s.asker.clone().unwrap());
        assert_eq!(sums.iter().map(shown).collect::<Vec<_>>(), want, "{mesh}");
        let total = reader_of(&all, mesh).usage(&UsageQuery { since: 0, until: 0, by: vec![], limit: 1 }).unwrap();
        assert_eq!(total[0].input, want.len() as u64, "{mesh}");
    }
}
