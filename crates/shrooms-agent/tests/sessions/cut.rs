//! A scene for cuts: a person has webapp on the laptop ask review on the home server, whose tool asks
//! its owner before it runs. Something is killed at some moment; then the scene goes on to its end,
//! and everything was read once, ran once and was told once.

use serde_json::{Value, json};

use crate::lab::{Lab, freeze, kill_now, poll};
use crate::machine::Machine;
use crate::model::{rule, say, shell, tool, update};
use crate::place::state;
use crate::seen::{returned, written};

pub const LAPTOP: usize = 0;
pub const HOME: usize = 1;
/// What the person says, and what the asker asks.
pub const PERSON: &str = "Ask the review agent on the home server whether branch checkout-retry is fine.";
const REQUEST: &str = "This is laptop/webapp. Please review branch checkout-retry.";
/// What a person is told of a message of whose turn nothing came.
const CUT_OFF: &str = "your message was read; what was done about it was cut off";
/// What the worker comes to.
const RESULT: &str = "Three problems: ...";
const QUESTION: &str = "The branch is not on origin. Is it pushed?";

/// Who is killed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    Daemon,
    Launcher,
    Claude,
}
pub use Victim::{Claude, Daemon, Launcher};
pub const ALL: [Victim; 3] = [Daemon, Launcher, Claude];

/// How often the worker's tool runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ran {
    Once,
    /// What was cut off is not begun again, and the model goes on without it.
    Never,
    /// By a hair.
    AtMostOnce,
}

/// Where the models hold still: as long as it is there, an answer to this takes for ever.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Slow {
    Nowhere,
    /// The asker's first answer to its person.
    Person,
    /// The worker's first answer.
    Worker,
    /// The worker's last answer, when it has said how the task ended.
    Last,
    /// The asker's answer to what its call returned.
    Return,
    /// The asker's answer to a result that came as a turn.
    Result,
}

pub struct Scene {
    pub lab: Lab,
    /// The task's full reference, once it is known.
    pub reference: String,
    /// Whether the asker waits for the outcome.
    pub waits: bool,
    /// Whether the worker asks something back before it is done.
    pub asks_back: bool,
    /// Prompts of programs that were killed.
    old: Vec<Value>,
    case: String,
}

impl Scene {
    /// Both machines are up, and nothing has been said.
    pub fn new(test: &str, case: &str) -> Option<Scene> {
        let lab = Lab::of(test, &["laptop", "homeserver"])?;
        lab[LAPTOP].add_auto("webapp");
        lab[HOME].add("review");
        lab.touch("ready");
        let scene = Scene {
            lab,
            reference: String::new(),
            waits: true,
            asks_back: false,
            old: Vec::new(),
            case: case.to_string(),
        };
        scene.rules(Slow::Nowhere);
        println!("case: {case}");
        Some(scene)
    }

    /// Starts a machine's daemon again, to crash at this point, once.
    pub fn arm(&mut self, machine: usize, point: &str) {
        let once = self.lab.word("crashed");
        self.lab[machine].kill();
        self.lab[machine].start_with(&format!("{point}@{once}"));
    }

    pub fn id(&self) -> &str {
        self.reference.strip_prefix("homeserver/").unwrap_or("review:unknown")
    }

    /// What the models do, as far as the task is known. A worker that is told of a crash finishes
    /// without its tool.
    pub fn rules(&self, slow: Slow) {
        let hold = |at: Slow| if at == slow && at != Slow::Nowhere { vec![json!({"sleep": 600})] } else { vec![] };
        let (ran, go) = (self.lab.word("ran"), self.lab.word("go"));
        let work = shell(&format!("echo ran >> '{ran}'; until [ -e '{go}' ]; do sleep 0.05; done"));
        let ask = json!({"to": "homeserver/review", "text": REQUEST, "wait": self.waits});
        let answer = vec![tool("ask_agent", json!({"task": self.reference, "text": "It is pushed now."}))];
        let ready = shell(&format!("until [ -e '{}' ]; do sleep 0.05; done", self.lab.word("ready")));
        let blocked = vec![update(self.id(), "blocked", QUESTION)];
        let done = vec![update(self.id(), "done", RESULT)];
        let last = vec![[hold(Slow::Last), vec![say("Done.")]].concat()];
        let thanks = |at| vec![[hold(at), vec![say("I have it.")]].concat()];
        let begin = vec![[hold(Slow::Worker), vec![work]].concat()];
        let (worked, returned, cut_off) = match self.asks_back {
            true => (vec![blocked], vec![[hold(Slow::Return), vec![ready]].concat(), answer.clone()], vec![answer]),
            false => (vec![done.clone()], vec![], vec![]),
        };
        let asked = vec![[hold(Slow::Person), vec![tool("ask_agent", ask)]].concat()];
        self.lab.model.rules(&[
            rule(r"\[shrooms: the work on task", &[worked.clone(), last.clone()].concat()),
            rule(r"\[shrooms: your conversation", &[cut_off, thanks(Slow::Nowhere)].concat()),
            rule(r"\[shrooms task homeserver/\S+ needs", &[returned.clone(), thanks(Slow::Nowhere)].concat()),
            rule(r"\[shrooms task homeserver/", &thanks(Slow::Result)),
            rule(r"\[shrooms task review:\S+ . more", &[vec![done], last.clone()].concat()),
            rule(r"\[shrooms task review:", &[begin, worked, last].concat()),
            rule("Ask the review", &[asked, returned, thanks(Slow::Return)].concat()),
        ]);
    }

    /// The person speaks; the task is known after it, whatever crashes meanwhile.
    pub fn begin(&mut self, slow: Slow) {
        self.rules(slow);
        self.lab[LAPTOP].say("webapp", PERSON);
        self.learn();
        self.rules(slow);
    }

    /// Waits until the task is known. A person who hears that what was said was cut off says it again.
    pub fn learn(&mut self) {
        let mut again = false;
        poll(&format!("{}: the task is known", self.case), || {
            self.revive();
            let laptop = &self.lab[LAPTOP];
            self.allow_what_waits(laptop);
            let asks = laptop.asks();
            if asks.is_empty() && !again && self.lab.starts("webapp") > 0 && laptop.has_event(CUT_OFF) {
                laptop.say("webapp", "Once more: Ask the review agent.");
                again = true;
            }
            let task = asks.iter().find_map(|ask| ask["task"].as_str());
            self.reference = task.unwrap_or_default().to_string();
            task.is_some()
        });
    }

    /// Allows what a machine's programs ask; not what those asked that were killed.
    fn allow_what_waits(&self, machine: &Machine) {
        for prompt in machine.prompts().iter().filter(|prompt| !self.old.contains(&prompt["id"])) {
            // It may be withdrawn at this moment.
            machine.post(&format!("/v1/prompts/{}", prompt["id"]), &json!({"allow": true}));
        }
    }

    /// Starts a daemon again that has crashed; what it had started is gone then.
    pub fn revive(&mut self) {
        for machine in &mut self.lab.machines {
            if machine.has_ended() {
                machine.start();
            }
        }
    }

    pub fn kill(&mut self, machine: usize, victim: Victim) {
        // Whoever comes after it is to be answered.
        self.rules(Slow::Nowhere);
        let session = ["webapp", "review"][machine];
        self.old = self.lab[machine].prompts().into_iter().map(|prompt| prompt["id"].clone()).collect();
        match victim {
            Daemon => self.lab[machine].kill(),
            Launcher => kill_now(self.lab.launcher(session)),
            Claude => kill_now(self.lab.claude(session)),
        }
    }

    /// Claude Code takes nothing more in, until it is killed.
    pub fn freeze(&self, session: &str) {
        freeze(self.lab.claude(session));
    }

    /// Waits until a session's conversation holds a message that begins so.
    pub fn until_stored(&self, machine: usize, session: &str, head: &str) {
        poll(&format!("{}: {head} is stored", self.case), || {
            written(&self.lab[machine].conversation(session)).iter().any(|text| text.starts_with(head))
        });
    }

    /// The worker's tool is allowed, and runs.
    pub fn let_it_run(&mut self) {
        self.lab[HOME].allow("review", "Bash");
        poll("the tool runs", || !self.lab.lines("ran").is_empty());
    }

    /// Everything that is asked of a person is allowed, until the task has ended, its result is told
    /// and both rest.
    pub fn finish(&mut self) {
        self.rules(Slow::Nowhere);
        self.lab.touch("go");
        poll(&format!("{}: the task ends, and both rest", self.case), || {
            self.revive();
            let home = &self.lab[HOME];
            self.allow_what_waits(home);
            let rests = |machine: &Machine, session| machine.session(session)["state"] == "idle";
            let asks = self.lab[LAPTOP].asks();
            let told = !asks.is_empty() && asks.iter().all(|ask| ask["told"] == true);
            told && !is_open(home, self.id()) && rests(home, "review") && rests(&self.lab[LAPTOP], "webapp")
        });
    }

    /// To the end, and what must be true then.
    pub fn ends(mut self, ran: Ran, results: &[usize]) {
        self.finish();
        self.check(ran, results);
    }

    /// `results`: how often the asker may have the result, of which one is not marked as a repeat.
    pub fn check(&self, ran: Ran, results: &[usize]) {
        let case = &self.case;
        let (home, laptop) = (&self.lab[HOME], &self.lab[LAPTOP]);
        assert_eq!(state(&home.task(self.id())), "completed", "{case}");
        let tasks = home.get("/v1/tasks").json()["tasks"].as_array().map_or(0, Vec::len);
        assert_eq!(tasks, 1, "{case}: it was asked once");

        let head = format!("[shrooms task {} from ", self.id());
        let conversation = written(&home.conversation("review"));
        let landed = conversation.iter().filter(|text| text.starts_with(&head)).count();
        assert_eq!(landed, 1, "{case}: the task is once in the conversation: {conversation:#?}");
        let requests = self.lab.model.requests_of("homeserver/review");
        assert!(requests.last().is_some_and(|last| last.begins(&head) == 1), "{case}: {requests:#?}");
        for request in requests {
            assert!(request.begins(&head) <= 1, "{case}: the task is twice in a request: {request:#?}");
        }
        let runs = self.lab.lines("ran").len();
        let fits = match ran {
            Ran::Once => runs == 1,
            Ran::Never => runs == 0,
            Ran::AtMostOnce => runs <= 1,
        };
        assert!(fits, "{case}: the tool ran {runs} times, not {ran:?}");

        let rows = laptop.conversation("webapp");
        let told = results_of(&rows, &self.reference);
        let marked = told.iter().filter(|text| text.contains("\n(perhaps a repeat")).count();
        println!("{case}: the tool ran {runs} times, {} results, {marked} of them marked", told.len());
        assert!(results.contains(&told.len()), "{case}: {} results, not {results:?}: {told:#?}", told.len());
        assert!(told.len() - marked <= 1, "{case}: a repeat that is not marked: {told:#?}");
        assert!(told.iter().all(|text| text.contains(RESULT)), "{case}: {told:#?}");
        let said = written(&rows).iter().filter(|text| *text == PERSON).count();
        assert_eq!(said, 1, "{case}: the person's message is once in the conversation");
        for request in self.lab.model.requests() {
            assert_eq!(request.begins("[shrooms: a reminder"), 0, "{case}");
            assert!(request.texts().iter().filter(|text| **text == PERSON).count() <= 1, "{case}: {request:#?}");
        }
    }
}

fn is_open(machine: &Machine, id: &str) -> bool {
    let answer = machine.get(&format!("/v1/tasks/{}", crate::http::segment(id)));
    answer.status != 200 || !["completed", "failed", "canceled"].contains(&state(&answer.json()["task"]).as_str())
}

/// Each time that a conversation has the task's result, as a return or as a message.
fn results_of(rows: &[Value], reference: &str) -> Vec<String> {
    let returns = returned(rows).into_iter().filter(|text| text.starts_with(&format!("task {reference}: completed")));
    let turns = written(rows).into_iter().filter(|t| t.starts_with(&format!("[shrooms task {reference} completed]")));
    returns.chain(turns).collect()
}

/// One scene for each victim.
pub fn for_all(test: &str, moment: &str, mut one: impl FnMut(Scene, Victim)) {
    for victim in ALL {
        let Some(scene) = Scene::new(test, &format!("{moment}, {victim:?}")) else { return };
        one(scene, victim);
    }
}
