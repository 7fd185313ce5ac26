//! ListTasks: the newest change first, in pages. A page's token holds where the next one begins
//! and what it was asked with; with another filter it is refused.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use shrooms_a2a::A2aError;
use shrooms_a2a::types::{ListTasksParams, ListTasksResult};
use shrooms_core::digest::Digest;
use shrooms_core::id::SessionUid;
use shrooms_engine::{TaskFilter, TaskPage};

use super::frame::Outcome;
use super::refusal::refused;
use super::scope::Scope;
use crate::task_json::{self, Shown};

pub(super) async fn answer(scope: &Scope, params: ListTasksParams) -> Result<Outcome, A2aError> {
    let session = match &scope.session {
        Some(name) => Some(scope.session_named(name).await?.uid),
        None => None,
    };
    let print = fingerprint(session, &params);
    let after = params.page_token.as_deref().filter(|t| !t.is_empty()).map(|t| read_token(t, &print)).transpose()?;
    let size = params.page_size();
    let filter = TaskFilter {
        session,
        context: params.context_id.clone(),
        state: params.status.map(|s| s.word().to_string()),
        device: scope.by.guest().map(str::to_string),
        since: params.status_timestamp_after.map(|t| t.as_millis()),
        after,
        limit: size as usize,
    };
    let mut page = scope.app.engine.read(move |r| r.tasks(&filter)).await.map_err(refused)?;
    if params.include_artifacts.unwrap_or(false) {
        shorten(&mut page);
    }
    let shown = Shown { history: params.history_length, artifacts: params.include_artifacts.unwrap_or(false) };
    let tasks = task_json::show_all(&scope.app, page.tasks, shown).await.map_err(refused)?;
    let result = ListTasksResult {
        tasks,
        next_page_token: page.next.map_or_else(String::new, |next| token(next, &print)),
        page_size: size,
        total_size: u32::try_from(page.total).unwrap_or(u32::MAX),
    };
    Ok(Outcome::List(result))
}

/// Bytes of artifacts on one page, if one task alone does not have more: half of what clients read.
const PAGE_BYTES: u64 = 8 << 20;

/// Ends a page where its artifacts become too many; the next one goes on there.
fn shorten(page: &mut TaskPage) {
    let mut bytes = 0;
    let fits = page.tasks.iter().take_while(|task| {
        bytes += task.made.iter().map(|made| made.parts.len).sum::<u64>();
        bytes <= PAGE_BYTES
    });
    let keep = fits.count().max(1);
    if keep < page.tasks.len() {
        page.tasks.truncate(keep);
        page.next = page.tasks.last().map(|task| (task.changed.wall, task.no.0));
    }
}

/// What a token is tied to.
fn fingerprint(session: Option<SessionUid>, params: &ListTasksParams) -> String {
    let filter =
        format!("{:?} {:?} {:?} {:?}", session, params.context_id, params.status, params.status_timestamp_after);
    Digest::of([filter.as_bytes()]).short(12)
}

fn token((changed, no): (i64, i64), print: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{changed}.{no}.{print}"))
}

fn read_token(token: &str, print: &str) -> Result<(i64, i64), A2aError> {
    let bad = || A2aError::invalid_params("pageToken", "is not one that this list gave, with these filters");
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
    let text = String::from_utf8(bytes).map_err(|_| bad())?;
    let mut fields = text.split('.');
    let (changed, no, of) = (fields.next(), fields.next(), fields.next());
    match (changed.and_then(|c| c.parse().ok()), no.and_then(|n| n.parse().ok()), of) {
        (Some(changed), Some(no), Some(of)) if of == print => Ok((changed, no)),
        _ => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use shrooms_core::TextRef;
    use shrooms_core::id::TaskNo;
    use shrooms_core::row::{Made, Task};

    use super::*;

    /// Tasks with so many bytes of artifacts each; how many stay on the page, and whether it goes on there.
    #[track_caller]
    fn check(bytes: &[u64], kept: usize, shortened: bool) {
        let task = |(no, bytes): (usize, &u64)| {
            let mut task: Task = serde_json::from_str(shrooms_core::view::EXAMPLE).unwrap();
            task.no = TaskNo(no as i64);
            task.made = vec![Made { id: "m".into(), name: None, parts: TextRef { len: *bytes, ..task.request } }];
            task
        };
        let tasks = bytes.iter().enumerate().map(task).collect();
        let mut page = TaskPage { tasks, next: None, total: bytes.len() as i64 };
        shorten(&mut page);
        assert_eq!(page.tasks.len(), kept, "{bytes:?}");
        let next = page.next.map(|(_, no)| no);
        assert_eq!(next, shortened.then(|| kept as i64 - 1), "{bytes:?}");
    }

    #[test]
    fn a_page_ends_where_its_artifacts_become_too_many() {
        check(&[], 0, false);
        check(&[1, 2, 3], 3, false);
        check(&[PAGE_BYTES / 2, PAGE_BYTES / 2], 2, false);
        check(&[PAGE_BYTES / 2, PAGE_BYTES / 2, 1], 2, true);
        // One that is larger than a page has a page to itself.
        check(&[2 * PAGE_BYTES, 1], 1, true);
        check(&[2 * PAGE_BYTES], 1, false);
    }

    #[test]
    fn a_token_is_good_for_its_own_filters_alone() {
        let one = fingerprint(Some(SessionUid(1)), &ListTasksParams::default());
        let two = fingerprint(Some(SessionUid(2)), &ListTasksParams::default());
        let good = token((5, 7), &one);
        assert_eq!(read_token(&good, &one).unwrap(), (5, 7));
        assert!(read_token(&good, &two).is_err());
        for bad in ["", "zz", "é", &URL_SAFE_NO_PAD.encode("a.b"), &URL_SAFE_NO_PAD.encode("1.2")] {
            assert!(read_token(bad, &one).is_err(), "{bad}");
        }
    }
}
