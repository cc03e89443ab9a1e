//! What a run remembers from one round of repair to the next.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::control::{Memory, Plant, Ppm, Rates, Strategy};
use crate::defect::RepairTry;
use crate::event::Remedy;
use crate::gate::Calibration;
use crate::message::Payload;
use crate::task::Submission;
use crate::window::Window;

/// Rounds of repair so far, as the controller and the remedies see them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mending {
    /// What repairs did in other runs of the class.
    pub learned: Option<Plant>,
    /// What became of outputs of the class, as far as people said.
    pub calibration: Option<Calibration>,
    /// Nothing of the class was committed lately, though something else was.
    pub novel: bool,
    /// The controller's memory.
    pub memory: Memory,
    /// How hard the next repair tries; `None` where nobody said.
    pub intensity: Option<Ppm>,
    /// Repairs so far, in units of one of intensity 0.
    pub units: Ppm,
    /// How the last repair went about it.
    pub strategy: Option<Strategy>,
    /// What is tried in the next repair because rounds look alike.
    pub remedy: Option<Remedy>,
    /// The first round each of the remembered rounds looks like, oldest first.
    pub defects: Vec<u32>,
    /// Remedies used, by the first round of a defect.
    pub remedies: BTreeMap<u32, u32>,
    /// Repairs that were asked in other words.
    pub varied: u32,
    /// Evidence is being read again.
    pub rereading: bool,
    /// The part of the output that the repair under way replaces.
    pub window: Option<Window>,
    /// What strategies did in other runs of the class.
    pub rates: Rates,
    /// Strategies that were tried, by the first round of a defect.
    pub tried: BTreeMap<u32, BTreeSet<Strategy>>,
    /// The last repairs, oldest first.
    pub tries: Vec<RepairTry>,
    /// Replies that were cut off while the output was made.
    pub cut_off: u32,
    /// What the last verification found wrong, by name.
    pub wrong: Vec<String>,
    /// Answers that held in all other checks and wait for another that is the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<Payload>,
    /// Answers that failed where the work is done anew, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<Payload>,
    /// The last output holds, and so does another answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undecided: bool,
}

impl Mending {
    /// What is known when a run begins.
    pub(super) fn learned(submission: &Submission) -> Self {
        Self {
            learned: submission.learned,
            calibration: submission.calibration,
            novel: submission.novel,
            rates: submission.rates.clone(),
            ..Self::default()
        }
    }

    /// Forgets this run's repairs; what other runs taught stays.
    pub(in crate::run) fn begin_anew(&mut self) {
        let (learned, calibration, novel) = (self.learned, self.calibration, self.novel);
        let rates = std::mem::take(&mut self.rates);
        *self = Self { learned, calibration, novel, rates, varied: self.varied, ..Self::default() };
    }

    /// How the next repair goes about it.
    #[must_use]
    pub fn next_strategy(&self) -> Option<Strategy> {
        match self.remedy {
            Some(Remedy::SwitchStrategy { to, .. }) => Some(to),
            Some(Remedy::Perturb { .. } | Remedy::FreshEvidence | Remedy::Person) | None => {
                self.intensity.map(Strategy::of)
            }
        }
    }
}
