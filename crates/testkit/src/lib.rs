//! For tests: machines in a box, fakes of the mesh's daemons, and the simulation of several that live through everything that
//! can go wrong (`cargo xtask simulate`).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test's tool: it stops at what must not be"
)]

pub mod daemons;
pub mod dice;
pub mod scripted;
pub mod sim;
pub mod store;
pub mod world;

pub use dice::Dice;
pub use store::Store;
pub use world::World;
