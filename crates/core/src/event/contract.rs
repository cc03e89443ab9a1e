//! The version of what ends a phase: part of the on-disk contract.

use super::Event;

/// Version of every phase contract. Additive changes keep it. A journal with a newer one is refused when
/// it is read ([`crate::journal::BadRecord::Contract`]), before anything is done.
pub const CONTRACT: u16 = 1;

impl Event {
    /// The version of the phase contract it carries, if it ends a phase.
    #[must_use]
    pub fn contract(&self) -> Option<u16> {
        match self {
            Self::Planned { contract, .. }
            | Self::Decomposed { contract, .. }
            | Self::Retrieved { contract, .. }
            | Self::Replanned { contract, .. }
            | Self::Acted { contract, .. }
            | Self::Verified { contract, .. }
            | Self::Diagnosed { contract, .. }
            | Self::Repaired { contract, .. }
            | Self::Ended { contract, .. } => Some(*contract),
            Self::Submitted(_)
            | Self::Claimed { .. }
            | Self::NotTakenUp { .. }
            | Self::SubtaskStarted { .. }
            | Self::StepStarted { .. }
            | Self::StepFinished { .. }
            | Self::StepFailed { .. }
            | Self::Routed(_)
            | Self::Elided(_)
            | Self::CallRefused { .. }
            | Self::ApprovalRequested { .. }
            | Self::ApprovalSettled { .. }
            | Self::CallStarted { .. }
            | Self::CallTroubled { .. }
            | Self::BreakerOpened { .. }
            | Self::BreakerClosed { .. }
            | Self::CallFinished { .. }
            | Self::CallBlocked { .. }
            | Self::StrategySwitched { .. }
            | Self::RoundRepeated { .. }
            | Self::CallInDoubt { .. }
            | Self::CallSettled { .. }
            | Self::Noticed { .. }
            | Self::SubtaskFinished { .. }
            | Self::BranchChosen { .. }
            | Self::SubtaskFailed { .. }
            | Self::SubtaskDropped { .. }
            | Self::Checked { .. }
            | Self::Judged { .. }
            | Self::Controlled(_)
            | Self::Remedied(_)
            | Self::Escalated(_)
            | Self::RepairStarted { .. }
            | Self::LimitNear { .. }
            | Self::Stopping { .. }
            | Self::RollbackStarted { .. }
            | Self::Restored { .. }
            | Self::CompensationStarted { .. }
            | Self::CompensationTroubled { .. }
            | Self::Compensated { .. }
            | Self::AlertRaised { .. }
            | Self::AlertTold { .. }
            | Self::UndoStarted { .. }
            | Self::UndoFinished { .. }
            | Self::LandingStarted { .. }
            | Self::ChangesFound(_)
            | Self::Landed { .. }
            | Self::Promoted(_)
            | Self::FromBackup(_)
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::SignalRefused { .. } => None,
        }
    }
}
