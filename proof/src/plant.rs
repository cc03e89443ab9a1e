//! Planted bugs: a shell, a store, a tool or a provider that breaks its contract.
//! Each must be noticed as the promise it breaks, or the proof proves nothing.

use crate::promise::Promise;

/// A seam that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// After a crash the shell sends again what was out.
    SendAgain,
    /// A probe says that a call did not happen which did.
    LyingProbe,
    /// Each attempt gets a key of its own.
    FreshKey,
    /// The shell makes a call while a person is still asked about it.
    EffectFirst,
    /// A lost call is reported as done.
    ForgedOutcome,
    /// An append is repeated blindly.
    DoubledAppend,
    /// A failed check is reported as passed.
    ForgedCheck,
    /// A person's no to the output is delivered as a yes.
    ForgedReview,
    /// A yes to other bytes is delivered as one to these.
    YesByName,
    /// The shell goes on after the end.
    WorkAfterEnd,
    /// The provider bills more than was set aside.
    OverBilling,
    /// An append is acknowledged and lost.
    LostAppend,
    /// Replies of tools are swallowed.
    SwallowedReply,
    /// Half an append is kept.
    TornAppend,
    /// An append of an undo is repeated blindly.
    DoubledUndo,
    /// What was undone is journalled as another call.
    WrongUndo,
    /// Each attempt to undo a call gets a key of its own.
    FreshUndoKey,
    /// The store adds the undo of a call that never was.
    UndoOfNothing,
    /// An alert loses the calls it is about.
    EmptyAlert,
    /// An undo for a person ends the run once more.
    EndedAgain,
}

/// Every planted bug, the scenario it is planted in, and what must notice it.
pub const PLANTS: &[(Plant, &str, Promise)] = &[
    (Plant::SendAgain, "effects", Promise::AtMostOnce),
    (Plant::LyingProbe, "probes", Promise::AtMostOnce),
    (Plant::FreshKey, "effects", Promise::OneKey),
    (Plant::EffectFirst, "consent", Promise::IntentFirst),
    (Plant::ForgedOutcome, "effects", Promise::TrueOutcome),
    (Plant::DoubledAppend, "effects", Promise::OneAnswer),
    (Plant::ForgedCheck, "effects", Promise::CheckedCommit),
    (Plant::ForgedReview, "repairs", Promise::AgreedCommit),
    (Plant::YesByName, "consent", Promise::Consent),
    (Plant::WorkAfterEnd, "people", Promise::Final),
    (Plant::OverBilling, "money", Promise::Bounded),
    (Plant::LostAppend, "effects", Promise::SameState),
    (Plant::SwallowedReply, "effects", Promise::Progress),
    (Plant::TornAppend, "effects", Promise::Quiet),
    (Plant::DoubledUndo, "repairs", Promise::Undone),
    (Plant::WrongUndo, "saga", Promise::Undone),
    (Plant::FreshUndoKey, "saga", Promise::UndoneOnce),
    (Plant::UndoOfNothing, "saga", Promise::OnlyDone),
    (Plant::EmptyAlert, "saga", Promise::Alerted),
    (Plant::EndedAgain, "saga", Promise::Final),
];
