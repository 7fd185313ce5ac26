//! The desk's rules as tables: a script is text in, all that each of its lines did is text out
//! (`script` says how to write one). What must always hold is checked by `world` after every
//! commit of every script, and by `random` and `random_stream` on scripts that nobody wrote.

/// One test for each name: its script is checked.
macro_rules! rules {
    ($($name:ident $script:literal)*) => {$(
        #[test]
        fn $name() {
            super::script::check($script);
        }
    )*};
}

mod asks_away;
mod asks_here;
mod blocked;
mod bounds;
mod cancel;
mod crashes;
mod dice;
mod found;
mod messages;
mod offers;
mod outbox;
mod owner;
mod prompts;
mod queue;
mod random;
mod random_stream;
mod say;
mod script;
mod sessions;
mod shown;
mod store;
mod stream;
mod turns;
mod watchdog;
mod world;
