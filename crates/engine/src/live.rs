//! What runs in this boot: which launcher belongs to which session, by which secret its processes
//! are known, and which turns are to be stopped. In memory alone: after a crash nothing of it is
//! true any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shrooms_core::id::{DeliveryNo, SessionUid, TurnNo};
use shrooms_core::row::{Ask, Delivery, Prompt, Task};
use tokio::sync::{Notify, mpsc};

/// The secret of a session's process; cannot be printed.
#[derive(Clone)]
pub(crate) struct Pass(String);

impl Pass {
    pub(crate) fn make() -> Result<Pass, getrandom::Error> {
        let mut bytes = [0u8; 24];
        getrandom::fill(&mut bytes)?;
        Ok(Pass(bytes.iter().map(|b| format!("{b:02x}")).collect()))
    }

    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `other` is this secret, in time that does not depend on where they differ.
    fn is(&self, other: &str) -> bool {
        let same_length = self.0.len() == other.len();
        let differ = self.0.bytes().zip(other.bytes()).fold(0, |acc, (a, b)| acc | (a ^ b));
        same_length && differ == 0
    }
}

/// What a program that stays is to be given, in this order.
pub(crate) enum Command {
    Write(Box<Written>),
    Interrupt,
    Answer(Arc<Prompt>),
}

/// A delivery with the rows that its text is made from, as committed.
pub(crate) struct Written {
    pub(crate) no: DeliveryNo,
    pub(crate) attempt: u32,
    pub(crate) delivery: Arc<Delivery>,
    pub(crate) task: Option<Arc<Task>>,
    pub(crate) ask: Option<Arc<Ask>>,
    /// The tasks that a reminder names, how long their worker was quiet, and of how many reminders
    /// there are.
    pub(crate) about: Vec<Arc<Task>>,
    pub(crate) quiet_secs: u64,
    pub(crate) reminders: u32,
}

/// Commands that may wait for a program: what may be unread in a lane (100 messages of a person, 100
/// of an asker, 100 answers), several times over.
const COMMANDS: usize = 1_024;

/// A turn that runs, or is about to.
struct Running {
    session: SessionUid,
    launcher: Option<i32>,
    pass: Option<Pass>,
    stop: Arc<Notify>,
    stopped: bool,
    commands: mpsc::Sender<Command>,
    /// Until the turn has begun.
    waiting: Option<mpsc::Receiver<Command>>,
}

/// What a turn that begins is given.
pub(crate) struct Begun {
    /// It was stopped before it began.
    pub(crate) stopped: bool,
    pub(crate) stop: Arc<Notify>,
    pub(crate) commands: mpsc::Receiver<Command>,
}

/// The turns of this boot.
#[derive(Default)]
pub struct Live {
    turns: Mutex<BTreeMap<TurnNo, Running>>,
}

impl Live {
    fn turns(&self) -> MutexGuard<'_, BTreeMap<TurnNo, Running>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(turns: &mut BTreeMap<TurnNo, Running>, turn: TurnNo, session: SessionUid) -> &mut Running {
        turns.entry(turn).or_insert_with(|| {
            let (commands, waiting) = mpsc::channel(COMMANDS);
            let stop = Arc::new(Notify::new());
            Running { session, launcher: None, pass: None, stop, stopped: false, commands, waiting: Some(waiting) }
        })
    }

    /// A turn is about to start.
    pub(crate) fn begin(&self, turn: TurnNo, session: SessionUid, pass: Pass) -> Begun {
        let mut turns = self.turns();
        let running = Self::entry(&mut turns, turn, session);
        running.pass = Some(pass);
        // A turn begins once; were it twice, the second would get nothing to do.
        let commands = running.waiting.take().unwrap_or_else(|| mpsc::channel(1).1);
        Begun { stopped: running.stopped, stop: running.stop.clone(), commands }
    }

    /// Gives a turn's program something to do, now or as soon as it has begun. Never waits. One that
    /// takes nothing more is stopped: what it was to be given is found out about after its end.
    pub(crate) fn tell(&self, turn: TurnNo, session: SessionUid, command: Command) {
        let mut turns = self.turns();
        let running = Self::entry(&mut turns, turn, session);
        if let Err(mpsc::error::TrySendError::Full(_)) = running.commands.try_send(command) {
            tracing::warn!(turn = turn.0, "a program takes nothing more: it is stopped");
            running.stopped = true;
            running.stop.notify_one();
        }
    }

    pub(crate) fn started(&self, turn: TurnNo, launcher: i32) {
        if let Some(running) = self.turns().get_mut(&turn) {
            running.launcher = Some(launcher);
        }
    }

    /// Asks for a turn's end, now or as soon as it has begun.
    pub(crate) fn stop(&self, turn: TurnNo, session: SessionUid) {
        let mut turns = self.turns();
        let running = Self::entry(&mut turns, turn, session);
        running.stopped = true;
        running.stop.notify_one();
    }

    /// Asks for the end of all.
    pub(crate) fn stop_all(&self) {
        for running in self.turns().values_mut() {
            running.stopped = true;
            running.stop.notify_one();
        }
    }

    pub(crate) fn end(&self, turn: TurnNo) {
        self.turns().remove(&turn);
    }

    /// Turns that run now.
    pub fn count(&self) -> usize {
        self.turns().values().filter(|r| r.launcher.is_some()).count()
    }

    /// Pids of the launchers that run now, with the session that each belongs to.
    pub fn launchers(&self) -> Vec<(i32, SessionUid)> {
        self.turns().values().filter_map(|r| r.launcher.map(|pid| (pid, r.session))).collect()
    }

    /// The session whose live process has this secret.
    pub fn session_of_pass(&self, pass: &str) -> Option<SessionUid> {
        self.turns().values().find(|r| r.pass.as_ref().is_some_and(|p| p.is(pass))).map(|r| r.session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_good_while_its_turn_lives_and_a_stop_may_come_first() {
        let live = Live::default();
        let pass = Pass::make().unwrap();
        let text = pass.expose().to_string();
        live.stop(TurnNo(1), SessionUid(9));
        live.tell(TurnNo(1), SessionUid(9), Command::Interrupt);
        let mut begun = live.begin(TurnNo(1), SessionUid(9), pass);
        assert!(begun.stopped);
        assert!(matches!(begun.commands.try_recv(), Ok(Command::Interrupt)));
        assert_eq!(live.session_of_pass(&text), Some(SessionUid(9)));
        assert_eq!(live.session_of_pass(&text[1..]), None);
        assert_eq!(live.session_of_pass(""), None);
        live.started(TurnNo(1), 42);
        assert_eq!(live.launchers(), vec![(42, SessionUid(9))]);
        live.end(TurnNo(1));
        assert_eq!(live.session_of_pass(&text), None);
        assert_eq!(live.count(), 0);
    }
}
