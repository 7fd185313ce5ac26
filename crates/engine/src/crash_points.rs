//! Where tests make the daemon crash, by name; the launcher has its own list in `runner`.

/// Named crash points of the daemon, for tests (feature `crash-points`).
pub const CRASH_POINTS: [&str; 12] = [
    "before_commit",
    "after_commit",
    "before_start",
    "after_start",
    "began_seen",
    "exit_seen",
    "before_settle",
    "after_settle",
    "before_send",
    "after_send",
    "before_report",
    "after_report",
];

/// Those of programs that stay: each is passed in the tests with the real Claude Code.
pub const STREAM_CRASH_POINTS: [&str; 8] = [
    "stream_started",
    "before_write",
    "after_write",
    "taken_seen",
    "prompt_seen",
    "before_answer",
    "return_seen",
    "turn_end_seen",
];
