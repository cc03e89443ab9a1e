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
            _ => None,
        }
    }
}
