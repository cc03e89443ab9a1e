//! What a regulator is told beforehand, and whether it makes sense.

use serde::{Deserialize, Serialize};

use super::budget::{Cap, Limits, TOOLS_MAX};
use crate::guard::loops::{Action, Settings as LoopSettings};
use crate::guard::preset::{Preset, ZeroCost};
use crate::guard::{confidence, corrections, quality};

/// Everything a regulator can be told beforehand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What the run may use.
    pub limits: Limits,
    /// The loop detector; its action holds for presets too.
    pub loops: LoopSettings,
    /// Another rule in the detector's place.
    pub preset: Option<Preset>,
    /// When the work counts as getting worse.
    pub quality: quality::Settings,
    /// When corrections become a pattern.
    pub corrections: corrections::Settings,
    /// When a model counts as unsure.
    pub confidence: confidence::Settings,
}

impl Settings {
    /// The settings of a preset: its rule, and what its source means by limits.
    #[must_use]
    pub fn of(preset: Preset, action: Action, mut limits: Limits) -> Self {
        limits.truncations = preset.truncations();
        if limits.micros == Cap::At(0) && preset.zero_cost() == ZeroCost::Unlimited {
            limits.micros = Cap::Unlimited;
        }
        let loops = LoopSettings { action, ..LoopSettings::default() };
        Self { limits, loops, preset: Some(preset), ..Self::default() }
    }

    /// Whether they make sense together.
    pub fn check(&self) -> Result<(), BadSettings> {
        if self.limits.tools.len() > TOOLS_MAX {
            return Err(BadSettings::TooManyTools { count: self.limits.tools.len() });
        }
        if self.limits.truncations == 0 {
            return Err(BadSettings::NoTruncations);
        }
        if self.limits.steps == Cap::At(0) && self.preset == Some(Preset::AgentLoopV1) {
            return Err(BadSettings::NoSteps);
        }
        quality::Series::new(self.quality)?;
        confidence::Confidence::new(self.confidence)?;
        Ok(())
    }
}

/// Settings that make no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSettings {
    /// More tools have limits of their own than are kept.
    #[error("{count} tools have limits of their own; {TOOLS_MAX} may")]
    TooManyTools {
        /// How many.
        count: usize,
    },
    /// Every reply would end the run.
    #[error("truncations is 0: the run would end before it began")]
    NoTruncations,
    /// The preset wants at least one step.
    #[error("agent-loop-v1 with 0 steps")]
    NoSteps,
    /// The quality rule cannot work with them.
    #[error("quality: {0}")]
    Quality(#[from] quality::BadSettings),
    /// Unsure words cannot be told apart with them.
    #[error("confidence: {0}")]
    Confidence(#[from] confidence::BadConfidence),
}

impl BadSettings {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::TooManyTools { .. } => "limit tool calls together".into(),
            Self::NoTruncations | Self::NoSteps => "write a number above 0".into(),
            Self::Quality(bad) => bad.remedy(),
            Self::Confidence(bad) => bad.remedy().into(),
        }
    }
}
