//! The little language of these tests. A line is a command, or several of one batch with ` & `
//! between them, and after `->` all that it did, in any order, with `;` between the items; or
//! `nothing`. A line without `->` prepares. Each script runs twice: once as it is, and once with
//! the desk read back from the store after every commit, which must make no difference.

use std::sync::Arc;

use super::facts::{ask_fact, turn_fact};
use super::line::{option, same, words};
use super::shown;
use shrooms_core::desk::{
    AskReq, Asked, Done, Hand, Input, Landed, NewMade, NewSession, OutboxFact, ReportReq, Request, SendReq, Target,
    TurnFact, Word,
};
use shrooms_core::name::FilesFrom;
use shrooms_core::principal::Principal;
use shrooms_core::refusal::Refusal;
use shrooms_core::rights::{Action, OnMesh, Right};
use shrooms_core::row::{
    Ask, Audit, DeliveryState, Device, Fence, Harness, Outbox, Price, PromptAnswer, Proof, Question, SessionSet, Spent,
    Tokens, ToolUse, Used,
};
use shrooms_core::text::Text;
use shrooms_core::time::Boot;
use shrooms_testkit::store::show;
use shrooms_testkit::world::{MACHINE, World};

pub fn check(script: &str) {
    assert!(script.contains("->"), "a script that expects nothing");
    for reloads in [false, true] {
        let mut world = World::default();
        world.reloads = reloads;
        let mut report = String::new();
        let mut wrong = false;
        for line in script.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with("//")) {
            let (commands, want) = line.split_once("->").map_or((line, None), |(c, w)| (c, Some(w)));
            let got = run_line(&mut world, commands.trim());
            let good = want.is_none_or(|w| same(w, &got));
            wrong |= !good;
            let got = if got.is_empty() { "nothing".into() } else { got.join("; ") };
            report.push_str(&format!("{} {line}\n", if good { "  " } else { "✗ " }));
            if !good {
                report.push_str(&format!("      got -> {got}\n"));
            }
        }
        assert!(!wrong, "\n{report}{}", if reloads { "(read back after every commit)" } else { "" });
    }
}

fn run_line(world: &mut World, commands: &str) -> Vec<String> {
    let before = world.store.clone();
    let batch: Vec<&str> = commands.split(" & ").collect();
    let mut items = Vec::new();
    world.batch = batch.len() > 1;
    for command in &batch {
        items.extend(run(world, &words(command)));
    }
    if std::mem::take(&mut world.batch) {
        world.commit();
    }
    items.extend(shown::happened(&before, world));
    items
}

fn run(world: &mut World, all: &[String]) -> Vec<String> {
    let words = all;
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    let by = option(&mut words, "by").map(|w| world.principal(&w));
    let asks = matches!(all[0].as_str(), "send" | "ask");
    let fresh = words.iter().position(|w| *w == "fresh" && asks).map(|at| words.remove(at)).is_some();
    let require = option(&mut words, "requires");
    let require = require.iter().flat_map(|w| w.split('+')).map(|w| Proof::parse(w).expect("a proof")).collect();
    let canceled = words.iter().position(|w| *w == "unwanted").map(|at| words.remove(at)).is_some();
    let vouched = words.iter().position(|w| *w == "vouched").map(|at| words.remove(at)).is_some();
    let about = option(&mut words, "about");
    let made = option(&mut words, "made");
    let (ask, claim, context) = (option(&mut words, "for"), option(&mut words, "claim"), option(&mut words, "context"));
    match words.as_slice() {
        ["session", verb, name, how @ ..] => session(world, verb, name, how, by.unwrap_or(Principal::Owner)),
        ["send", to, mid, text] => {
            // To a session a new task, to a task more on it.
            let request = Request::Send(SendReq {
                by: by.unwrap_or(Principal::Owner),
                claim,
                session: to.split(':').next().unwrap_or_default().to_string(),
                mid: mid.to_string(),
                task: to.contains(':').then(|| to.to_string()),
                text: Text::from(*text),
                digest: Text::from(*text).sha(),
                title: None,
                context,
                refs: Vec::new(),
                fresh,
                require,
                vouched,
                ask,
                parts: None,
                canceled,
                random: 7,
            });
            answer(world, request)
        }
        ["update", task, word, summary] => {
            let owner = world.store.task(task).map(|t| Principal::Session(t.session));
            let by = by.or(owner).expect("who says so");
            let word = match Word::parse(word) {
                Ok(word) => word,
                Err(refusal) => return vec![refused(&refusal)],
            };
            let made = made.iter().flat_map(|all| all.split('+'));
            let made = made.map(|parts| NewMade { name: None, parts: Text::from(parts) }).collect();
            answer(world, Request::Update { by, task: task.to_string(), word, summary: Text::from(*summary), made })
        }
        ["cancel", task, why @ ..] => {
            let why = why.first().map(|w| w.to_string());
            answer(world, Request::Cancel { by: by.unwrap_or(Principal::Owner), task: task.to_string(), why })
        }
        ["ack", task] => answer(world, Request::Ack { by: by.unwrap_or(Principal::Owner), task: task.to_string() }),
        ["ask", mid, agent, text, how @ ..] => {
            let (machine, session) = agent.split_once('/').expect("MACHINE/SESSION");
            let to = match machine {
                MACHINE => Target::Here { session: session.into() },
                _ => Target::Device { id: format!("id-{machine}"), machine: machine.into(), session: session.into() },
            };
            let request = Request::Ask(AskReq {
                by: by.unwrap_or(Principal::Owner),
                to,
                agent: agent.to_string(),
                mid: mid.to_string(),
                text: Text::from(*text),
                digest: Text::from(*text).sha(),
                title: None,
                context: None,
                refs: Vec::new(),
                fresh,
                require: Vec::new(),
                now_only: how.contains(&"now"),
                random: 7,
            });
            answer(world, request)
        }
        ["say", session, mid, text] => {
            let (session, mid, text) = (session.to_string(), mid.to_string(), Text::from(*text));
            answer(world, Request::Say { by: by.unwrap_or(Principal::Owner), session, mid, text })
        }
        ["prompt", session, key, what @ ..] => {
            let about = match what {
                ["question", text] => {
                    let question = text.to_string();
                    Asked::Questions(vec![Question {
                        question,
                        header: String::new(),
                        choices: vec![],
                        several: false,
                    }])
                }
                what => Asked::Permission {
                    tool: "Bash".into(),
                    input: Text::from("{}"),
                    why: String::new(),
                    suggestions: vec!["always".into()],
                    needs_person: what.contains(&"person"),
                },
            };
            let fact = TurnFact::Prompted { key: key.to_string(), about };
            observe(world, Input::Turn(fence(world, session), fact))
        }
        ["gone", session, key] => {
            let fact = TurnFact::PromptGone { key: key.to_string() };
            observe(world, Input::Turn(fence(world, session), fact))
        }
        ["allow", key, always @ ..] => {
            let always = always.iter().map(|n| n.parse().expect("a number")).collect();
            prompt(world, key, by, PromptAnswer::Allow { always })
        }
        ["deny", key] => prompt(world, key, by, PromptAnswer::Deny { why: "no".into() }),
        ["answer", key, question, text] => {
            let answers = [(question.to_string(), text.to_string())].into();
            prompt(world, key, by, PromptAnswer::Answers(answers))
        }
        ["offer", mid, call] => {
            let by = by.expect("whose call");
            let (no, call) = (find_ask(world, mid).no, call.to_string());
            answer(world, Request::Offer { by, no, call, seen: None })
        }
        ["seen", session, call] => {
            let fact = TurnFact::Seen { call: call.to_string() };
            observe(world, Input::Turn(fence(world, session), fact))
        }
        [hand @ ("move" | "park" | "release"), task, place @ ..] => {
            let hand = match *hand {
                "move" => Hand::Move { place: place[0].parse().expect("a place") },
                "park" => Hand::Park,
                _ => Hand::Release,
            };
            answer(world, Request::Queue { by: by.unwrap_or(Principal::Owner), task: task.to_string(), hand })
        }
        ["pause"] => answer(world, Request::Pause { by: by.unwrap_or(Principal::Owner) }),
        ["resume"] => answer(world, Request::Resume { by: by.unwrap_or(Principal::Owner) }),
        ["turns", most] => {
            world.place.settings.limits.turns = most.parse().expect("a number");
            world.crash();
            Vec::new()
        }
        ["limit", session, secs] => {
            let until = world.now.wall + secs.parse::<i64>().expect("seconds") * 1_000;
            observe(world, Input::Turn(fence(world, session), TurnFact::Limit { until, text: "five hour".into() }))
        }
        // A turn's end, with `MODEL:INPUT/OUTPUT[=MICROS]` each.
        ["spent", session, used @ ..] => {
            let spent = Spent { used: used.iter().map(|u| used_of(u)).collect(), ..Spent::default() };
            observe(world, Input::Turn(fence(world, session), TurnFact::Idle { words: Text::from(""), spent }))
        }
        // What a run had used when it ended.
        ["left", session, used @ ..] => {
            let used = used.iter().map(|u| used_of(u)).collect();
            observe(world, Input::Turn(fence(world, session), TurnFact::Left { used }))
        }
        ["price", model, micros] => {
            let price = Price { input: micros.parse().expect("a number"), ..Price::default() };
            world.place.settings.prices.insert(model.to_string(), price);
            world.crash();
            Vec::new()
        }
        ["usage"] => world.store.usage.iter().map(|u| shown::usage(u)).collect(),
        ["tool", session, name, how @ ..] => {
            let used = ToolUse {
                name: name.to_string(),
                ok: !how.contains(&"failed"),
                command: None,
                code: None,
                file: (*name == "Edit").then(|| "a.rs".to_string()),
            };
            observe(world, Input::Turn(fence(world, session), TurnFact::Tool(used)))
        }
        ["resume-after-limit", how] => {
            world.place.settings.limits.resume_after_limit = *how == "on";
            world.crash();
            Vec::new()
        }
        ["cap", "machine", micros] => {
            world.place.settings.limits.daily_micros = micros.parse().expect("a number");
            world.crash();
            Vec::new()
        }
        ["cap", name, micros] => {
            let daily_micros = Some(micros.parse().expect("a number"));
            let set = SessionSet { daily_micros, ..SessionSet::default() };
            answer(world, Request::SetSession { by: Principal::Owner, name: name.to_string(), set })
        }
        ["files", session, from @ ..] => {
            let from = from.iter().map(|from| FilesFrom::parse(from).expect("MACHINE/SESSION")).collect();
            let set = SessionSet { accept_files_from: Some(from), ..SessionSet::default() };
            answer(world, Request::SetSession { by: Principal::Owner, name: session.to_string(), set })
        }
        ["evidence", task] => {
            let e = &world.store.task(task).expect("a task").evidence;
            let tools: Vec<String> = e.tools.iter().map(|(name, n)| format!("{name} {n}")).collect();
            let tools = if tools.is_empty() { "none".into() } else { tools.join(" + ") };
            vec![format!("turns {}, tools {tools}", e.turns)]
        }
        ["background", session, id, how] => {
            let fact = TurnFact::Background { id: id.to_string(), what: "a build".into(), on: *how == "on" };
            observe(world, Input::Turn(fence(world, session), fact))
        }
        ["notneeded", session] => {
            let fence = fence(world, session);
            let (delivery, attempt) = *written_in(world, fence.turn).first().expect("something that was written");
            observe(world, Input::Turn(fence, TurnFact::NotNeeded { delivery, attempt }))
        }
        ["notrun", session] => {
            let fence = fence(world, session);
            let (delivery, attempt) = *written_in(world, fence.turn).first().expect("something that was written");
            observe(world, Input::Turn(fence, TurnFact::NotRun { delivery, attempt }))
        }
        ["told", mid] => {
            let no = find_ask(world, mid).no;
            answer(world, Request::Told { no, seen: None })
        }
        ["drop", mid] => {
            let no = find_ask(world, mid).no;
            answer(world, Request::CancelAsk { no })
        }
        ["report", mid, seq, state, rest @ ..] => {
            let device = by.map_or("id-laptop".to_string(), |by| match by {
                Principal::Device { id, .. } => id,
                other => panic!("{other:?} is no device"),
            });
            let held = world.desk.asks();
            let found = world.store.asks.values().chain(held).find(|a| a.mid == *mid).map(|a| world.desk.ask_id(a.no));
            let request = Request::Report(ReportReq {
                device,
                ask: found.unwrap_or_else(|| mid.to_string()),
                task_id: about.unwrap_or_else(|| format!("tests:{mid}")),
                seq: seq.parse().expect("a number"),
                state: state.to_string(),
                text: rest.first().map(|t| Text::from(*t)),
            });
            answer(world, request)
        }
        ["reply", mid, how @ ..] => {
            let ask = find_ask(world, mid);
            let (attempt, how) = match how {
                ["to", n, how @ ..] => (n.parse().expect("a number"), how),
                how => (ask.attempt, how),
            };
            observe(world, Input::Ask(ask.no, attempt, ask_fact(mid, how)))
        }
        ["reported", task, how] => {
            let no = world.store.outbox.values().find(|o| o.report.task_id == *task).expect("a report").no;
            let fact = match *how {
                "yes" => OutboxFact::Confirmed,
                _ => OutboxFact::Failed { why: "away".into() },
            };
            observe(world, Input::Outbox(no, fact))
        }
        ["machine", name] => {
            // What a desk is told that is made anew.
            world.place.machine = name.to_string();
            observe(world, Input::Machine(name.to_string()))
        }
        ["met", device, version @ ..] => {
            let device = Device {
                id: format!("id-{device}"),
                label: format!("{device}.mesh"),
                seen: 0,
                version: version.concat(),
            };
            answer(world, Request::Met(device))
        }
        ["grant", device, right] => {
            let right = Right::parse(right).expect("a right");
            let grants = &mut world.place.settings.grants;
            match *device {
                "all" => grants.default = right,
                device => drop(grants.named.insert(device.to_string(), right)),
            }
            world.crash();
            Vec::new()
        }
        ["mesh", devices @ ..] => {
            let devices = devices.iter().map(|d| d.split_once('=').expect("ID=LABEL"));
            let name = |label: &str| label.split('.').next().unwrap_or(label).to_string();
            let device = |(id, label): (&str, &str)| OnMesh {
                id: id.into(),
                label: label.into(),
                name: name(label),
                of_another: false,
            };
            let devices = devices.map(device).collect();
            answer(world, Request::Mesh { devices })
        }
        ["attempt", what] => {
            let (by, action) = (by.unwrap_or(Principal::Owner), Action::Own);
            answer(world, Request::Attempt { by, action, what: what.to_string() })
        }
        // What the log of a session was given.
        ["lines", session] => {
            let uid = world.store.session(session).expect("a session").uid;
            world.lines.iter().filter(|l| l.session == uid).map(|l| l.text.clone()).collect()
        }
        // Its last lines.
        ["audit", n] => {
            let (n, all) = (n.parse::<usize>().expect("how many"), &world.store.audit);
            let line = |a: &Arc<Audit>| format!("{} [{}] {} {}: {}", a.who, a.from, a.what, a.about, a.outcome);
            all.iter().skip(all.len().saturating_sub(n)).map(line).collect()
        }
        ["devices"] => {
            let devices = world.store.devices.values();
            devices.map(|d| format!("{} {} {}", d.id, d.seen - world.now.wall, d.version)).collect()
        }
        ["wait", secs] => {
            world.pass(secs.parse::<i64>().expect("seconds") * 1_000);
            Vec::new()
        }
        ["wall", secs] => {
            world.now.wall += secs.parse::<i64>().expect("seconds") * 1_000;
            observe(world, Input::Tick)
        }
        ["served", secs] => {
            world.now.served += secs.parse::<i64>().expect("seconds") * 1_000;
            observe(world, Input::Tick)
        }
        ["crash"] => {
            world.crash();
            Vec::new()
        }
        ["fail", rest @ ..] => {
            let rest: Vec<String> = rest.iter().map(|w| w.to_string()).collect();
            world.batch = true;
            run(world, &rest);
            world.batch = false;
            world.fail_commit();
            Vec::new()
        }
        ["times", n, rest @ ..] => {
            let mut out = Vec::new();
            for i in 1..=n.parse::<usize>().expect("how often") {
                // With the options, which are meant for the command.
                let at = all.iter().position(|w| w == rest[0]).expect("a command");
                let command: Vec<String> = all[at..].iter().map(|w| w.replace('#', &i.to_string())).collect();
                out = run(world, &command);
            }
            out
        }
        ["forget", task] => {
            world.store.drop_task(task);
            Vec::new()
        }
        ["show", "outbox"] => {
            let row = |o: &Outbox| format!("{} to {} about {}", o.report.task_id, o.device, o.report.ask);
            world.store.outbox.values().map(|o| row(o)).collect()
        }
        // What the asker goes by, to tell news from what it knows.
        ["numbers"] => {
            let mut out: Vec<String> =
                world.store.outbox.values().map(|o| format!("report {} {}", o.report.task_id, o.report.seq)).collect();
            let asks = world.store.asks.values().filter_map(|a| Some((a, a.known.as_ref()?.seq)));
            out.extend(asks.map(|(a, seq)| format!("ask {} {seq}", a.mid)));
            out
        }
        ["seq", task] => vec![format!("seq {}", world.store.task(task).expect("a task").seq)],
        ["texts"] => {
            let texts: Vec<String> = world.store.blobs.values().map(|t| show(t.as_str())).collect();
            vec![format!("texts {}", texts.join(", "))]
        }
        ["show", task] => match world.store.task(task) {
            Some(t) => vec![shown::task(t, world)],
            None => vec![shown::ask(&find_ask(world, task), &world.store)],
        },
        ["due"] => shown::due(world),
        ["feed"] => {
            let events = world.store.events.iter().map(|e| {
                let of = e.task.as_ref().or(e.session.as_ref()).map_or("machine", String::as_str);
                format!("{of} {}", e.state)
            });
            vec![events.collect::<Vec<_>>().join(", ")]
        }
        ["taken", session, nth @ ..] => {
            let fence = fence(world, session);
            let nth: usize = nth.first().map_or(1, |n| n.parse().expect("which"));
            let written = written_in(world, fence.turn);
            let (delivery, attempt) = *written.get(nth - 1).expect("something that was written");
            observe(world, Input::Turn(fence, TurnFact::Taken { delivery, attempt }))
        }
        ["trace", session, "landed", how @ ..] => {
            let fence = fence(world, session);
            let landed = written_in(world, fence.turn).into_iter().zip(how.iter().cycle()).map(|((no, _), how)| {
                let landed = match *how {
                    "yes" => Landed::Yes,
                    "no" => Landed::No,
                    _ => Landed::Unknown,
                };
                (no, landed)
            });
            let fact = TurnFact::Trace { began: true, exit: None, landed: landed.collect() };
            observe(world, Input::Turn(fence, fact))
        }
        [what, session, how @ ..] => {
            let fence = fence(world, session);
            observe(world, Input::Turn(fence, turn_fact(what, how)))
        }
        other => panic!("no such command: {other:?}"),
    }
}

fn session(world: &mut World, verb: &str, name: &str, how: &[&str], by: Principal) -> Vec<String> {
    let name = name.to_string();
    let request = match verb {
        "add" => {
            let claude = Harness::Claude { model: None, auto_approve: how.contains(&"auto") };
            let command = Harness::Command {
                argv: vec!["/bin/true".into()],
                framed: false,
                rerun_on_crash: how.contains(&"rerun"),
                takes_turns: how.contains(&"turns"),
            };
            let harness = if how.contains(&"claude") { claude } else { command };
            let conversation = how.iter().find_map(|w| w.strip_prefix("adopts=")).map(str::to_string);
            let set = SessionSet { keep_running: how.contains(&"kept").then_some(true), ..SessionSet::default() };
            let new = NewSession { set, conversation, ..NewSession::new(name, harness, "/tmp") };
            Request::AddSession { by, new: Box::new(new) }
        }
        "start" => Request::StartSession { by, name },
        "restart" => Request::RestartSession { by, name },
        "attach" => Request::Attach { by, name },
        "detach" => Request::Detach { by, name },
        "rename" => Request::RenameSession { by, name, to: how[0].to_string() },
        "undo" => Request::UndoRemove { by, name },
        "new" => Request::NewConversation { by, name, cancel: how.contains(&"cancel") },
        "set" => {
            let on = how.get(1).map(|w| *w == "on");
            let list = || Some(how[1..].iter().map(|w| w.to_string()).collect());
            let set = match how[0] {
                "auto" => SessionSet { auto_approve: on, ..SessionSet::default() },
                "timeout" => {
                    let prompt_timeout = Some(how[1].parse().expect("seconds"));
                    SessionSet { prompt_timeout, ..SessionSet::default() }
                }
                "meshes" => SessionSet { meshes: list(), ..SessionSet::default() },
                "duties" => SessionSet { responsibilities: list(), ..SessionSet::default() },
                "role" => SessionSet { role: Some(how[1].to_string()), ..SessionSet::default() },
                "star" => SessionSet { starred: on, ..SessionSet::default() },
                "running" => SessionSet { keep_running: on, ..SessionSet::default() },
                "fresh" => SessionSet { fresh_by_agents: on, ..SessionSet::default() },
                other => panic!("no such setting here: {other}"),
            };
            Request::SetSession { by, name, set }
        }
        "interrupt" => Request::Interrupt { by, name },
        "stop" => Request::StopSession { by, name },
        "remove" => Request::RemoveSession { by, name },
        other => panic!("session {other}?"),
    };
    answer(world, request)
}

/// `SESSION` is the turn that its lane has, `SESSION#2` the second that it ever had; `!attempt`
/// and `!boot` at the end make the fence one that fits nothing.
fn fence(world: &World, text: &str) -> Fence {
    let (text, wrong) = text.split_once('!').map_or((text, ""), |(t, w)| (t, w));
    let mut fence = match text.split_once('#') {
        None => world.turn_of(text).unwrap_or_else(|| panic!("{text} has no turn")),
        Some((name, n)) => {
            let mut all = world.turns.iter().filter(|(session, _)| session == name);
            all.nth(n.parse::<usize>().expect("which turn") - 1).unwrap_or_else(|| panic!("no turn {text}")).1
        }
    };
    match wrong {
        "attempt" => fence.attempt += 1,
        "boot" => fence.boot = Boot(fence.boot.0 - 1),
        _ => {}
    }
    fence
}

/// What was written in a run and is not over: what is not taken first, in order.
fn written_in(world: &World, run: shrooms_core::id::TurnNo) -> Vec<(shrooms_core::id::DeliveryNo, u32)> {
    let open = world
        .store
        .deliveries
        .values()
        .filter(|d| d.run == Some(run) && matches!(d.state, DeliveryState::Attempting | DeliveryState::Taken));
    let mut open: Vec<_> = open.map(|d| (d.state == DeliveryState::Taken, d.no, d.attempt)).collect();
    open.sort();
    open.into_iter().map(|(_, no, attempt)| (no, attempt)).collect()
}

fn prompt(world: &mut World, key: &str, by: Option<Principal>, given: PromptAnswer) -> Vec<String> {
    let no = world.store.prompts.values().find(|p| p.key == key).expect("a prompt").no;
    answer(world, Request::AnswerPrompt { by: by.unwrap_or(Principal::Owner), no, answer: given })
}

fn find_ask(world: &World, mid: &str) -> Ask {
    let found = world.store.asks.values().find(|a| a.mid == mid);
    (**found.unwrap_or_else(|| panic!("no ask {mid}"))).clone()
}

fn observe(world: &mut World, input: Input) -> Vec<String> {
    // The world has made sure that it was not refused.
    let _ = world.input(input);
    Vec::new()
}

/// What a caller is told, where the rows do not show it: a refusal, and what was there before.
fn answer(world: &mut World, request: Request) -> Vec<String> {
    let asked = matches!(request, Request::Send(_) | Request::Ask(_));
    match world.request(request) {
        Err(refusal) => vec![refused(&refusal)],
        Ok(Done::Task { task, made: false }) if asked => vec![format!("again {}", shown::task_state(&task, world))],
        Ok(Done::Ask { ask, made: false, .. }) if asked => vec![format!("again {}", shown::ask(&ask, &world.store))],
        Ok(_) => Vec::new(),
    }
}

fn refused(refusal: &Refusal) -> String {
    format!("refused '{refusal}'")
}

/// `MODEL:INPUT/OUTPUT`, or with `=MICROS` that the harness says.
fn used_of(text: &str) -> Used {
    let (model, rest) = text.split_once(':').expect("MODEL:INPUT/OUTPUT");
    let (tokens, micros) = rest.split_once('=').map_or((rest, None), |(tokens, micros)| (tokens, Some(micros)));
    let (input, output) = tokens.split_once('/').expect("INPUT/OUTPUT");
    let number = |text: &str| text.parse().expect("a number");
    let tokens = Tokens { input: number(input), output: number(output), ..Tokens::default() };
    Used { model: model.into(), tokens, micros: micros.map(number) }
}
