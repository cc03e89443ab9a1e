//! One run of one task, as a value.
//!
//! The shell reports what happened ([`crate::input::Input`]); [`decide`] names the facts that
//! follow ([`crate::event::Event`]); the shell makes them durable; [`Run::apply`] folds them
//! in; [`Run::due`] says what the shell owes the world now. One file per phase
//! holds that phase's part of all three; `thread` and `call` hold the
//! perceive–reason–act loop that acting, critiquing and repairing share.
//!
//! Invariants
//! - Nothing here reads a clock, a file, a socket or a random number.
//! - `apply` accepts every event `decide` can produce.
//! - `due` looks at the state only, so a restart asks for the same work.
//! - A call of a reply is answered exactly once before the model is asked again.
//! - Nothing is started that its limits do not allow: reserve first, settle after.

mod acting;
mod apply;
mod aside;
mod assessed;
mod attempt;
mod backoff;
mod breaker;
mod call;
mod causing;
mod claim;
mod committing;
mod context;
mod controlling;
mod critiquing;
mod decide;
mod decomposing;
mod due;
mod ending;
mod escalating;
mod falling_back;
mod judging;
mod landing;
mod limit;
mod planned;
mod planning;
mod promoting;
mod prompt;
mod reducing;
mod remedying;
mod repairing;
mod report;
mod retrieving;
mod returning;
mod routing;
mod signal;
mod state;
mod step;
mod thread;
mod undoing;
mod verifying;
mod watch;

#[cfg(test)]
mod tests;

pub use context::CONTEXT_DEFAULT;
pub use decide::{Refused, decide};
pub use promoting::PROMOTIONS_MAX;
pub use prompt::diagnosis_schema;
pub use reducing::BadScope;
pub use state::{
    AlertState, Approval, ApprovalState, Backup, Batch, BatchCall, Breaker, CallState, Critique, Deed, Deeds,
    LANDING, Landing, Mending, OpenStep, PersonsUndo, Phase, Promotion, Recourses, RepairBase, RepairSpend,
    Reversal, RollingBack, Run, STATE, Summary, Thread, ThreadState, UndoAttempt, Undoing, Verification,
    Wait, Warned,
};
