//! Who follows a task: each committed change of it, and the words of its worker as they come. All
//! followers of a task hear the same, in the same order; one that is too slow is cut off and begins
//! anew. Words are never kept: they are for listeners alone (design, "The desk").

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use shrooms_core::id::TaskNo;
use shrooms_core::row::Task;
use tokio::sync::broadcast;

/// What one follower may be behind: half a minute of a talkative worker.
const BEHIND: usize = 256;
/// Between two pieces of a worker's words: ten a second are as much as a person sees.
pub(crate) const GATHER: Duration = Duration::from_millis(100);
/// Bytes of a worker's words between two outcomes that are handed on as they come; the rest is in its
/// log, and the result comes whole.
const TALK: usize = 256 << 10;

/// Something that followers of a task hear.
#[derive(Clone, Debug)]
pub enum News {
    /// The row as committed.
    Task(Arc<Task>),
    /// More of what its worker says. `anew`: it begins to speak, or speaks of something else.
    Words { text: Arc<str>, anew: bool },
}

/// It fell too far behind; what it missed is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Behind;

/// One follower. Made before the task is read, so that no change falls between.
pub struct Follow {
    /// What its worker had said when it came.
    talk: Option<Arc<str>>,
    news: broadcast::Receiver<News>,
}

impl Follow {
    /// The next thing that happens to the task.
    ///
    /// # Errors
    /// [`Behind`]: it was too slow, or the daemon stops.
    pub async fn next(&mut self) -> Result<News, Behind> {
        match self.talk.take() {
            Some(text) => Ok(News::Words { text, anew: true }),
            None => self.news.recv().await.map_err(|_| Behind),
        }
    }
}

struct Followed {
    news: broadcast::Sender<News>,
    /// All that was said since the last outcome, up to [`TALK`].
    talk: String,
    /// How much of that was handed on.
    told: usize,
    /// It will be handed on soon.
    gathering: bool,
}

impl Followed {
    fn hand_on(&mut self) {
        self.gathering = false;
        let Some(text) = self.talk.get(self.told..).filter(|t| !t.is_empty()) else { return };
        let words = News::Words { text: text.into(), anew: self.told == 0 };
        self.told = self.talk.len();
        // Nobody may be there any more.
        let _ = self.news.send(words);
    }
}

#[derive(Default)]
pub(crate) struct Followers {
    tasks: Mutex<BTreeMap<TaskNo, Followed>>,
}

impl Followers {
    fn tasks(&self) -> MutexGuard<'_, BTreeMap<TaskNo, Followed>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn follow(&self, no: TaskNo) -> Follow {
        let mut tasks = self.tasks();
        let followed = tasks.entry(no).or_insert_with(|| Followed {
            news: broadcast::Sender::new(BEHIND),
            talk: String::new(),
            told: 0,
            gathering: false,
        });
        let talk = followed.talk.get(..followed.told).filter(|t| !t.is_empty()).map(Arc::from);
        Follow { talk, news: followed.news.subscribe() }
    }

    /// A row was committed. What was said before it is heard before it.
    pub(crate) fn publish(&self, task: &Arc<Task>) {
        let mut tasks = self.tasks();
        let Some(followed) = tasks.get_mut(&task.no) else { return };
        followed.hand_on();
        let _ = followed.news.send(News::Task(task.clone()));
        if task.has_outcome() {
            followed.talk.clear();
            followed.told = 0;
        }
        if followed.news.receiver_count() == 0 {
            tasks.remove(&task.no);
        }
    }

    /// Its worker says something. True: call [`Followers::hand_on`] after [`GATHER`].
    pub(crate) fn say(&self, no: TaskNo, text: &str) -> bool {
        let mut tasks = self.tasks();
        let Some(followed) = tasks.get_mut(&no) else { return false };
        if followed.talk.len() + text.len() > TALK {
            return false;
        }
        followed.talk.push_str(text);
        !std::mem::replace(&mut followed.gathering, true)
    }

    pub(crate) fn hand_on(&self, no: TaskNo) {
        if let Some(followed) = self.tasks().get_mut(&no) {
            followed.hand_on();
        }
    }

    /// Lets go of tasks that nobody follows any more.
    pub(crate) fn sweep(&self) {
        self.tasks().retain(|_, followed| followed.news.receiver_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(seq: u32, ended: bool) -> Arc<Task> {
        let mut task: Task = serde_json::from_str(shrooms_core::view::EXAMPLE).unwrap();
        task.seq = seq;
        task.ending = ended.then_some(shrooms_core::row::Ending::Completed);
        Arc::new(task)
    }

    async fn heard(follow: &mut Follow) -> String {
        match follow.next().await {
            Ok(News::Task(task)) => format!("row {}", task.seq),
            Ok(News::Words { text, anew }) => format!("{}{text}", if anew { "anew " } else { "" }),
            Err(Behind) => "behind".into(),
        }
    }

    #[tokio::test]
    async fn all_hear_the_same_in_order_and_words_come_before_the_row_that_follows_them() {
        let followers = Followers::default();
        let no = task(1, false).no;
        let mut one = followers.follow(no);
        assert!(followers.say(no, "a"));
        assert!(!followers.say(no, "b"), "it is handed on already");
        followers.hand_on(no);
        let mut late = followers.follow(no);
        assert!(followers.say(no, "c"));
        followers.publish(&task(2, false));
        followers.publish(&task(3, true));
        assert!(followers.say(no, "d"));
        followers.hand_on(no);
        for expected in ["anew ab", "c", "row 2", "row 3", "anew d"] {
            assert_eq!(heard(&mut one).await, expected);
            assert_eq!(heard(&mut late).await, expected);
        }
    }

    #[tokio::test]
    async fn one_that_is_too_slow_is_cut_off_and_harms_nobody() {
        let followers = Followers::default();
        let no = task(1, false).no;
        let (mut slow, mut quick) = (followers.follow(no), followers.follow(no));
        for seq in 0..=u32::try_from(BEHIND).unwrap() {
            followers.publish(&task(seq, false));
            assert_eq!(heard(&mut quick).await, format!("row {seq}"));
        }
        assert_eq!(heard(&mut slow).await, "behind");
    }

    #[test]
    fn words_are_bounded_and_nothing_is_kept_for_nobody() {
        let followers = Followers::default();
        let no = task(1, false).no;
        assert!(!followers.say(no, "x"), "nobody listens");
        let follow = followers.follow(no);
        assert!(followers.say(no, &"x".repeat(TALK)));
        assert!(!followers.say(no, "y"));
        drop(follow);
        followers.publish(&task(2, false));
        assert!(followers.tasks().is_empty());
        drop(followers.follow(no));
        followers.sweep();
        assert!(followers.tasks().is_empty());
    }
}
