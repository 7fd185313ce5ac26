//! What turns used, to the token, against what the model gave: a day of tasks of the owner and of
//! another session, words of a person, a reminder, a helper, a new conversation, and whatever dies in
//! mid-turn. Every answer of the model has figures of its own, so that none can stand for another.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::lab::{Lab, kill_now, poll};
use crate::model::{say, shell, tool, update};
use crate::place::state;

const MODEL: &str = "claude-sonnet-4-5";
/// What Claude Code counts for that model, as of November 2026.
const PRICES: &str = "'claude-sonnet' = {input=3, output=15, cache_read=0.3, cache_write=3.75}\n";
const KINDS: [&str; 4] = ["input", "output", "cache_read", "cache_write"];

/// Until a turn's end that the model has no more part in.
const LATE: Duration = Duration::from_secs(15);

/// Tokens, in the order of [`KINDS`].
type Figures = [u64; 4];

/// The figures of the model's nth answer; no two have one in common.
fn figures(n: u64) -> Figures {
    [10_000 + n * 137, 100 + n * 11, 1_000 + n * 17, 500 + n * 23]
}

/// Whose the answers to a prompt are.
struct Part {
    prompt: String,
    /// `SESSION ASKER TASK`, with commas between; `-` for no task.
    of: &'static str,
    /// The number of its first answer, and what each does.
    first: u64,
    steps: Vec<Value>,
}

/// A conversation's script: `first` numbers its answers.
fn part(prompt: &str, of: &'static str, first: u64, steps: &[Value]) -> Part {
    Part { prompt: prompt.to_string(), of, first, steps: steps.to_vec() }
}

#[derive(Default)]
struct Day(Vec<Part>);

impl Day {
    /// From here on the model knows these, too; those of the same prompt are replaced.
    fn script(&mut self, lab: &Lab, parts: Vec<Part>) {
        for part in parts {
            self.0.retain(|known| known.prompt != part.prompt);
            self.0.push(part);
        }
        let steps = |part: &Part| -> Vec<Value> {
            let one = |(step, n): (&Value, u64)| {
                let figures: serde_json::Map<_, _> =
                    KINDS.iter().zip(figures(n)).map(|(kind, n)| (kind.to_string(), json!(n))).collect();
                json!([{"usage": figures}, step])
            };
            part.steps.iter().zip(part.first..).map(one).collect()
        };
        let rules: Vec<Value> = self.0.iter().map(|p| json!({"match": p.prompt, "steps": steps(p)})).collect();
        lab.model.rules(&rules);
    }

    /// What the model gave, by its own record of requests: by `SESSION ASKER TASK`.
    fn given(&self, lab: &Lab) -> BTreeMap<String, Figures> {
        let mut sums: BTreeMap<String, Figures> = BTreeMap::new();
        for entry in lab.model.entries() {
            let (prompt, step) = (entry["prompt"].as_str().unwrap(), entry["step"].as_u64().unwrap());
            let part = self.0.iter().find(|p| prompt.contains(&p.prompt));
            let part = part.unwrap_or_else(|| panic!("the model was asked what is in no script: {prompt}"));
            assert!((step as usize) < part.steps.len(), "the model was asked once more, {}: {step}", part.prompt);
            assert!(entry["fail"].is_null());
            add(sums.entry(part.of.to_string()).or_default(), &figures(part.first + step));
        }
        sums
    }
}

fn add(sum: &mut Figures, more: &Figures) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// The same sums, by the words at these places alone.
fn by(sums: &BTreeMap<String, Figures>, places: &[usize]) -> BTreeMap<String, Figures> {
    let mut by: BTreeMap<String, Figures> = BTreeMap::new();
    for (of, figures) in sums {
        let words: Vec<&str> = of.split(',').collect();
        let key: Vec<&str> = places.iter().map(|at| words[*at]).collect();
        add(by.entry(key.join(",")).or_default(), figures);
    }
    by
}

fn tokens(row: &Value) -> Figures {
    KINDS.map(|kind| row[kind].as_u64().unwrap())
}

/// What the daemon says, by these members of its rows.
fn told(lab: &Lab, by: &str, members: &[&str]) -> BTreeMap<String, Figures> {
    let answer = lab[0].get(&format!("/v1/usage?by={by}"));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    let rows = answer["rows"].as_array().unwrap().clone();
    let key =
        |row: &Value| members.iter().map(|m| row[*m].as_str().unwrap_or("-").to_string()).collect::<Vec<_>>().join(",");
    let mut sums: BTreeMap<String, Figures> = BTreeMap::new();
    rows.iter().for_each(|row| add(sums.entry(key(row)).or_default(), &tokens(row)));
    let mut all = [0; 4];
    sums.values().for_each(|row| add(&mut all, row));
    assert_eq!(all, tokens(&answer["total"]), "the total is the sum of the rows");
    sums
}

/// A turn's record comes with its end, which the model's last answer comes before. What differs is said
/// by whoever compares.
fn until_told(lab: &Lab, given: &BTreeMap<String, Figures>) {
    let begun = Instant::now();
    while told(lab, "session,asker,task", &["session", "by", "task"]) != *given && begun.elapsed() < LATE {
        std::thread::sleep(Duration::from_millis(40));
    }
}

/// The records are what the model gave, by everything that they are summed by.
fn compare(day: &Day, lab: &Lab, what: &str) {
    for session in ["review", "tests"] {
        lab[0].until_session(session, "idle");
    }
    let given = day.given(lab);
    until_told(lab, &given);
    assert_eq!(told(lab, "session,asker,task", &["session", "by", "task"]), given, "{what}");
    assert_eq!(told(lab, "session", &["session"]), by(&given, &[0]), "{what}");
    assert_eq!(told(lab, "asker", &["by"]), by(&given, &[1]), "{what}");
    assert_eq!(told(lab, "task", &["task"]), by(&given, &[2]), "{what}");
    let days = told(lab, "day,model,harness", &["model", "harness"]);
    assert_eq!(days, by(&given, &[]).into_values().map(|f| (format!("{MODEL},claude"), f)).collect(), "{what}");
}

fn config(lab: &Lab, first_reminder_secs: u32) {
    let text = format!(
        "[watchdog]\npass_secs = 1\nfirst_reminder_secs = {first_reminder_secs}\nladder_secs = [600]\n[prices]\n{PRICES}"
    );
    fs::create_dir_all(&lab[0].state).unwrap();
    fs::write(lab[0].state.join("config.toml"), text).unwrap();
}

fn until_file(lab: &Lab, name: &str) -> Value {
    shell(&format!("echo run >> '{0}-runs'; until [ -e '{0}' ]; do sleep 0.05; done", lab.word(name)))
}

#[test]
fn a_days_use_is_what_the_model_gave_to_the_token() {
    let Some(mut lab) = Lab::idle("a_days_use_is_what_the_model_gave_to_the_token", &["homeserver"]) else { return };
    let mut day = Day::default();
    // A reminder comes soon in the first part of the day, and never in the rest.
    config(&lab, 2);
    lab[0].start();
    for name in ["review", "tests"] {
        let dir = lab[0].work.display().to_string();
        let add = ["session", "add", name, "--harness", "claude", "--auto-approve", "--model", MODEL, "--dir", &dir];
        lab[0].good(&add);
    }
    let done = |id: &str| update(id, "done", "It is done.");
    day.script(
        &lab,
        vec![
            // The reminder quotes the request: it is looked for first.
            part("a reminder, not", "review,shrooms,review:slow", 3, &[done("review:slow"), say("Done.")]),
            part("be slow", "review,the owner,review:slow", 1, &[say("I think about it.")]),
        ],
    );
    lab[0].ask("review", "slow", "Please be slow.");
    assert_eq!(state(&lab[0].outcome("review:slow")), "completed");
    lab[0].until_session("review", "idle");
    compare(&day, &lab, "a reminder");
    assert_eq!(lab[0].stop(), 0);
    config(&lab, 600);
    lab[0].start();

    day.script(
        &lab,
        vec![
            part("run it", "review,the owner,review:t1", 11, &[shell("echo hi"), done("review:t1"), say("Done.")]),
            part("a word of mine", "review,the owner,-", 21, &[say("I hear.")]),
        ],
    );
    lab[0].ask("review", "t1", "Please run it.");
    assert_eq!(state(&lab[0].outcome("review:t1")), "completed");
    lab[0].until_session("review", "idle");
    lab[0].say("review", "This is a word of mine.");
    compare(&day, &lab, "a resume, a task, a word");
    evidence(&lab, "review:t1");
    context(&lab, &figures(21));

    asked_by_another(&mut day, &lab);
    helped(&mut day, &lab);
    killed(&mut day, &mut lab);

    // A new conversation begins with totals of its own.
    lab[0].good(&["session", "new", "review"]);
    poll("it is of the new conversation", || lab[0].session("review")["context_used"].is_null());
    let last = part("be the last", "review,the owner,review:t9", 91, &[done("review:t9"), say("Done.")]);
    day.script(&lab, vec![last]);
    lab[0].ask("review", "t9", "Please be the last.");
    assert_eq!(state(&lab[0].outcome("review:t9")), "completed");
    compare(&day, &lab, "a new conversation");
    shown(&day, &lab);
    // Nothing of it is told again.
    assert_eq!(lab[0].stop(), 0);
    lab[0].start();
    compare(&day, &lab, "another start");
}

/// One session asks another and waits for it.
fn asked_by_another(day: &mut Day, lab: &Lab) {
    let ask = tool("ask_agent", json!({"to": "homeserver/review", "text": "A question of tests."}));
    let asks = [ask, update("tests:t2", "done", "I know it."), say("Done.")];
    let asker = "review,this machine (homeserver/tests),";
    // The worker waits until its task's id is known to the script.
    let question = |id: &str, of: &'static str| {
        part(
            "A question of tests",
            of,
            31,
            &[until_file(lab, "go-ask"), update(id, "done", "An answer."), say("Done.")],
        )
    };
    day.script(
        lab,
        vec![question("review:unknown", asker), part("ask the other", "tests,the owner,tests:t2", 41, &asks)],
    );
    lab[0].ask("tests", "t2", "Please ask the other one.");
    let reference = lab[0].asked("A question of tests.");
    let id = reference.rsplit('/').next().unwrap();
    day.script(lab, vec![question(id, Box::leak(format!("{asker}{id}").into_boxed_str()))]);
    lab.touch("go-ask");
    assert_eq!(state(&lab[0].outcome("tests:t2")), "completed");
    lab[0].until_session("review", "idle");
    compare(day, lab, "a task of another session");
    evidence(lab, id);
}

/// A helper of the worker's works beside it, in conversations of its own.
fn helped(day: &mut Day, lab: &Lab) {
    let helper = json!({"description": "help", "prompt": "HELPER WORK", "subagent_type": "general-purpose"});
    let steps = [
        json!({"tool": "Agent", "input": helper}),
        say("It helps me."),
        update("review:t4", "done", "It was done for me."),
        say("Done."),
    ];
    day.script(
        lab,
        vec![
            part("have help", "review,the owner,review:t4", 51, &steps),
            part("HELPER WORK", "review,the owner,review:t4", 61, &[shell("echo help"), say("I have helped.")]),
        ],
    );
    lab[0].ask("review", "t4", "Please have help.");
    assert_eq!(state(&lab[0].outcome("review:t4")), "completed");
    lab[0].until_session("review", "idle");
    compare(day, lab, "a helper");
}

/// The program, its launcher and the daemon are killed in mid-turn, between two requests.
fn killed(day: &mut Day, lab: &mut Lab) {
    for (at, what) in ["program", "launcher", "daemon", "both"].into_iter().enumerate() {
        let id = format!("review:{what}");
        let of: &'static str = Box::leak(format!("review,the owner,{id}").into_boxed_str());
        let first = 101 + at as u64 * 10;
        let go = format!("go-{what}");
        day.script(
            lab,
            vec![
                part(
                    &format!("survive the {what}"),
                    of,
                    first,
                    &[shell("echo begun"), until_file(lab, &go), say("Odd.")],
                ),
                part(&format!("on task {id}"), of, first + 5, &[update(&id, "done", "After all."), say("Done.")]),
            ],
        );
        // The recovery quotes the request: it is looked for first.
        let recovery = day.0.pop().unwrap();
        day.0.insert(0, recovery);
        day.script(lab, Vec::new());
        lab[0].ask("review", what, &format!("Please survive the {what}."));
        poll("its tool runs", || lab.lines(&format!("{go}-runs")).len() == 1);
        let (program, launcher) = (lab.claude("review"), lab.launcher("review"));
        match what {
            "program" => kill_now(program),
            "launcher" => kill_now(launcher),
            "daemon" => lab[0].kill(),
            _ => {
                lab[0].kill();
                kill_now(program);
            }
        }
        lab.touch(&go);
        if lab[0].has_ended() {
            lab[0].start();
        }
        assert_eq!(state(&lab[0].outcome(&id)), "completed");
        lab[0].until_session("review", "idle");
        compare(day, lab, what);
        evidence(lab, &id);
    }
}

/// A task's evidence is what its records say.
fn evidence(lab: &Lab, id: &str) {
    let answer = lab[0].get("/v1/usage?by=task").json();
    let row = answer["rows"].as_array().unwrap().iter().find(|row| row["task"] == id).unwrap().clone();
    let task = lab[0].task(id);
    let seen = &task["metadata"]["shrooms/evidence"];
    assert_eq!(seen["tokens"], tokens(&row).iter().sum::<u64>(), "{task} {row}");
    assert_eq!(seen["turns"], row["turns"], "{task} {row}");
    assert_eq!(task["metadata"]["shrooms/cost_usd"], row["cost_usd"], "{task} {row}");
}

/// A session shows how full its conversation is.
fn context(lab: &Lab, last: &Figures) {
    lab[0].until_session("review", "idle");
    let session = lab[0].session("review");
    let [input, _, cache_read, cache_write] = last;
    assert_eq!(session["context_used"], input + cache_read + cache_write, "{session}");
    assert_eq!(session["context_window"], 200_000, "{session}");
    let list = lab[0].good(&["session", "list"]);
    assert!(list.lines().any(|line| line.starts_with("review\t") && line.contains(" %\t")), "{list}");
}

/// The cost is the harness's, and by the owner's prices where a kill left it unsaid; the day's money is
/// the same; the command line shows it.
fn shown(day: &Day, lab: &Lab) {
    let mut all = [0; 4];
    day.given(lab).values().for_each(|figures| add(&mut all, figures));
    let [input, output, cache_read, cache_write] = all.map(|n| n as f64);
    let expected = (input * 3.0 + output * 15.0 + cache_read * 0.3 + cache_write * 3.75) / 1e6;
    let answer = lab[0].get("/v1/usage").json();
    let total = &answer["total"];
    assert!((total["cost_usd"].as_f64().unwrap() - expected).abs() < 1e-4, "{total} {expected}");
    assert_eq!((&total["cost_from"], &total["unpriced"]), (&json!("both"), &Value::Null), "{total}");
    let spent = lab[0].get("/v1/status").json()["spent_usd"].as_f64().unwrap();
    // The day may have turned meanwhile.
    let today = lab[0].get("/v1/usage?days=1").json()["total"]["cost_usd"].as_f64().unwrap_or(0.0);
    assert!((spent - today).abs() < 1e-9, "{spent} {today}");
    let busy = total["busy_ms"].as_u64().unwrap();
    assert!(busy > 0, "{total}");
    // Of the tools' own time a part is busy, and a turn that was cut off is one, as is what took it up.
    let turns: u64 = 2 + 2 + 2 + 2 + 4 * 2 + 1;
    assert_eq!(total["turns"], turns, "{total}");

    let lines = lab[0].good(&["usage", "--by", "session"]);
    let rows: Vec<Vec<&str>> = lines.lines().map(|line| line.split('\t').collect()).collect();
    let sums = by(&day.given(lab), &[0]);
    let of = |name: &str| sums[name].map(|n| n.to_string());
    for (row, name) in rows.iter().zip(["review", "tests"]) {
        let [input, output, read, write] = of(name);
        assert_eq!(
            (row[1], row[4], row[7], row[8], row[9], row[10]),
            (name, "claude", &*input, &*read, &*write, &*output)
        );
    }
    assert_eq!(rows.len(), 2, "{lines}");
    let json: Value = serde_json::from_str(&lab[0].good(&["usage", "--json", "--machine", "homeserver"])).unwrap();
    assert_eq!((&json["machine"], tokens(&json["total"])), (&json!("homeserver"), all));
}
