//! The outside ledger: what really happened in the world.
//!
//! [`wire`] is what is said over the socket and written to the file, [`book`]
//! the file itself, [`serve`] the process around it. The ledger knows nothing
//! of runs beyond what callers show it.
//!
//! Invariants
//! - An answer is sent only after its entry is synced.
//! - Entries are appended, never changed; the n-th line is entry n.
//! - `pay` and `slow_pay` add an entry for every request, whatever its key.

pub mod book;
pub mod serve;
pub mod wire;

/// The ledger's file below its folder.
pub const FILE: &str = "ledger.jsonl";
/// The ledger's socket below its folder.
pub const SOCKET: &str = "ledger.sock";
