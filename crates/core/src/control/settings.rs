//! How a task sets the controller, and what an intensity means to a repair.

use serde::{Deserialize, Serialize};

use super::{Band, Gains, Plant, Ppm, Quality};

/// What a run does with the controller's word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Obedience {
    /// Repairs follow its intensity; escalating and stopping early are noted, and
    /// only the limits end the run. The default.
    #[default]
    Advise,
    /// When it says that repairing will not do, a person is asked, or the run fails
    /// with that reason.
    Obey,
}

/// Everything that can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What quality is wanted.
    pub setpoints: Quality,
    /// The error that is small enough.
    pub gate: Ppm,
    /// What repairs of this class of tasks are believed to do.
    pub plant: Plant,
    /// The law.
    pub gains: Gains,
    /// Its bounds.
    pub band: Band,
    /// Rounds without progress beyond the noise that are a stall.
    pub stall: u32,
    /// How much more a round costs at intensity 1, as a share of one at 0.
    pub slope: Ppm,
    /// What the run does with it.
    #[serde(default)]
    pub obedience: Obedience,
}

impl Settings {
    /// The damping that gains are derived with when none is written.
    pub const DAMPING: Ppm = Ppm(300_000);

    /// The defaults, with gains for this plant.
    #[must_use]
    pub fn of(plant: Plant, damping: Ppm) -> Self {
        Self {
            setpoints: Quality::all(Ppm::ONE),
            gate: Ppm(50_000),
            gains: Gains::damped(plant.gain, damping),
            plant,
            band: Band { least: Ppm(100_000), most: Ppm::ONE },
            stall: 2,
            slope: Ppm::ONE,
            obedience: Obedience::Advise,
        }
    }
}

impl Settings {
    /// The same for a plant that was seen, with gains for it, where the task says
    /// nothing about either.
    #[must_use]
    pub fn believing(&self, learned: Option<Plant>) -> Self {
        let default = Self::default();
        match learned {
            Some(plant) if self.plant == default.plant && self.gains == default.gains => {
                Self { plant, gains: Gains::damped(plant.gain, Self::DAMPING), ..*self }
            }
            Some(_) | None => *self,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::of(Plant::default(), Self::DAMPING)
    }
}

/// How a repair goes about it, gentlest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Only what the failures name.
    MinimalEdit,
    /// The parts that hold the defects, as wholes.
    SectionRewrite,
    /// Everything, from the task.
    FullRegeneration,
}

impl Strategy {
    /// Every strategy, gentlest and cheapest first.
    pub const ALL: [Self; 3] = [Self::MinimalEdit, Self::SectionRewrite, Self::FullRegeneration];
    /// Below this, a minimal edit.
    pub const EDIT_BELOW: Ppm = Ppm(400_000);
    /// Below this, a section is rewritten.
    pub const SECTION_BELOW: Ppm = Ppm(900_000);

    /// What an intensity asks for.
    #[must_use]
    pub fn of(intensity: Ppm) -> Self {
        if intensity < Self::EDIT_BELOW {
            Self::MinimalEdit
        } else if intensity < Self::SECTION_BELOW {
            Self::SectionRewrite
        } else {
            Self::FullRegeneration
        }
    }

    /// Another one than this: the harder one, and after the hardest the gentlest.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::MinimalEdit => Self::SectionRewrite,
            Self::SectionRewrite => Self::FullRegeneration,
            Self::FullRegeneration => Self::MinimalEdit,
        }
    }

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::MinimalEdit => "minimal edit",
            Self::SectionRewrite => "section rewrite",
            Self::FullRegeneration => "full regeneration",
        }
    }
}
