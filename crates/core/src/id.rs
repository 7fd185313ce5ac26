//! Row numbers, and the ids that others see: task ids, message ids, wire ids. All are made from
//! inputs (counters, the time, random bytes given), so that a replay gives the same ones.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub i64);
    )*};
}

numbers! {
    /// A session's stable uid inside; never reused, not changed by a rename.
    SessionUid;
    /// One conversation of a session, and its queue.
    LaneNo;
    /// A message as it was received (and the tombstone that is left of it).
    MessageNo;
    /// A task's row.
    TaskNo;
    /// One thing written to a harness.
    DeliveryNo;
    /// One run of a harness until it is idle again.
    TurnNo;
    /// The asker's own record of a task it gave away.
    AskNo;
    /// A permission or question that waits for a person.
    PromptNo;
    /// Something that is to be told to another machine.
    OutboxNo;
}

/// Longest message id that is used literally in a task id, in characters.
pub const MAX_LITERAL_ID: usize = 100;

/// The task id of message `mid` to `session`: literal where the message id is
/// `[A-Za-z0-9._-]{1,100}`, else made from a hash (`spec/tasks.md`, "Names and identity").
pub fn task_id(session: &str, mid: &str) -> String {
    if is_literal(mid) { format!("{session}:{mid}") } else { hashed_task_id(session, "", mid) }
}

/// The task id used where the literal one is taken (another namespace sent the same message id).
pub fn hashed_task_id(session: &str, ns: &str, mid: &str) -> String {
    let digest = Digest::of([session.as_bytes(), ns.as_bytes(), mid.as_bytes()]);
    format!("{session}:h-{}", digest.short(24))
}

fn is_literal(mid: &str) -> bool {
    let fits = mid.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    fits && (1..=MAX_LITERAL_ID).contains(&mid.len())
}

/// A message id of ours: `cli-` + UTC `YYYYMMDDTHHMMSS` + `-` + 8 hex digits.
///
/// `wall_ms` is milliseconds since 1970; times that no calendar shows are printed as 1970.
pub fn message_id(wall_ms: i64, random: [u8; 4]) -> String {
    let at = jiff::Timestamp::from_millisecond(wall_ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    format!("cli-{}-{:08x}", at.strftime("%Y%m%dT%H%M%S"), u32::from_be_bytes(random))
}

/// The id under which a delivery is known to a harness that takes one: a UUID (version 8) made
/// from the state's incarnation and the delivery's number, so that it is the same after a restart.
/// `repeat` is 0, or the attempt of something that is said once more although it may have been read:
/// a harness drops what it has already.
pub fn wire_id(incarnation: &str, delivery: DeliveryNo, repeat: u32) -> String {
    uuid([incarnation.as_bytes(), &delivery.0.to_be_bytes(), &repeat.to_be_bytes()])
}

/// The id of a lane's conversation for a harness that takes one, of its `generation`: a UUID, too.
pub fn conversation_id(incarnation: &str, lane: LaneNo, generation: u32) -> String {
    uuid([b"conversation", incarnation.as_bytes(), &lane.0.to_be_bytes(), &generation.to_be_bytes()])
}

/// The id of the conversation of a trial start, in which nothing is said; `no` is the trial's own.
pub fn trial_id(incarnation: &str, no: &str) -> String {
    uuid([b"trial", incarnation.as_bytes(), no.as_bytes()])
}

fn uuid<const N: usize>(parts: [&[u8]; N]) -> String {
    let h = Digest::of(parts).short(32);
    format!("{}-{}-8{}-a{}-{}", &h[..8], &h[8..12], &h[13..16], &h[17..20], &h[20..32])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_ids_are_literal_where_they_can_be() {
        for (mid, literal) in [
            ("cli-20261008T091502-3f9a1c2e", true),
            ("my.client_0001", true),
            ("a/b", false),
            ("a%2Fb", false),
            ("a:b", false),
            ("a b", false),
            ("a\n[shrooms task", false),
            ("", false),
        ] {
            let id = task_id("review", mid);
            assert_eq!(id == format!("review:{mid}"), literal, "{mid:?}");
            if !literal {
                assert!(id.starts_with("review:h-") && id.len() == "review:h-".len() + 24, "{id}");
                assert_eq!(id, task_id("review", mid), "the same again");
            }
        }
        assert!(task_id("r", &"a".repeat(100)).ends_with("aaa"));
        assert!(task_id("r", &"a".repeat(101)).starts_with("r:h-"));
        assert_ne!(hashed_task_id("r", "k1", "x"), hashed_task_id("r", "k2", "x"));
    }

    #[test]
    fn message_ids_show_the_time_and_wire_ids_are_uuids() {
        assert_eq!(message_id(1_791_450_902_000, [0x3f, 0x9a, 0x1c, 0x2e]), "cli-20261008T091502-3f9a1c2e");
        let id = wire_id("abc", DeliveryNo(7), 0);
        assert_eq!(id.len(), 36);
        assert_eq!(id, wire_id("abc", DeliveryNo(7), 0));
        assert_ne!(id, wire_id("abc", DeliveryNo(7), 2));
        assert_ne!(id, conversation_id("abc", LaneNo(7), 0));
        assert_ne!(id, wire_id("abd", DeliveryNo(7), 0));
    }
}
