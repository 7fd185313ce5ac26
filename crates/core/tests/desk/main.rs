//! The desk's rules as tables: a script is text in, all that each of its lines did is text out
//! (`script` says how to write one). What must always hold is checked by the testkit's `World` after
//! every commit of every script, and by its simulation on scripts that nobody wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests stop at the first surprise")]

/// One test for each name: its script is checked.
macro_rules! rules {
    ($($name:ident $script:literal)*) => {$(
        #[test]
        fn $name() {
            crate::script::check($script);
        }
    )*};
}

mod asks_away;
mod asks_here;
mod blocked;
mod bounds;
mod cancel;
mod crashes;
mod facts;
mod found;
mod found_by_chance;
mod line;
mod made;
mod messages;
mod offers;
mod outbox;
mod owner;
mod prompts;
mod queue;
mod rest;
mod rights;
mod say;
mod script;
mod sessions;
mod settings;
mod shown;
mod stream;
mod turns;
mod usage;
mod watchdog;
