//! The oracle from the outside: the real program, real processes, the real
//! checker, and journals sealed by the core itself.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on stops")]

mod checker;
mod ledger;
mod world;
