//! The list of changes that change no behaviour, each with the reason why no test
//! could notice.
//!
//! Changes are named without their line, so that moving code changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::mutants::found::Mutant;
use crate::mutants::kept::Outcome;
use crate::offence::Offence;

/// Where it lies.
const LIST: &str = "xtask/mutants.toml";

/// The list, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct List {
    #[serde(default)]
    pub(super) equivalent: Vec<Equivalent>,
}

/// A change that behaves like the original.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Equivalent {
    /// The file it is in.
    pub(super) file: String,
    /// What it changes, as `cargo mutants` says it.
    pub(super) mutant: String,
    /// How many changes of that name in that file; 1 if left out.
    #[serde(default = "once")]
    pub(super) times: usize,
    /// Why no test could notice.
    pub(super) reason: String,
}

fn once() -> usize {
    1
}

/// What came of the changes of one name.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    survived: usize,
    /// Not run, or not compiled: they may be the ones that are meant.
    unknown: usize,
}

impl List {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
        toml::from_str(&text).with_context(|| format!("cannot read {LIST}"))
    }

    /// Survivors nobody explains, and entries that are no survivors.
    pub(super) fn judge(&self, judged: &[(Mutant, Outcome)]) -> Vec<Offence> {
        let mut offences = Vec::new();
        let mut explained: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for entry in &self.equivalent {
            *explained.entry((&entry.file, &entry.mutant)).or_default() += entry.times;
            if entry.reason.trim().is_empty() {
                offences.push(Offence::new("mutants", LIST, format!("{:?} has no reason", entry.mutant)));
            }
        }
        let mut counts: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
        for (mutant, outcome) in judged {
            let count = counts.entry((&mutant.file, mutant.what())).or_default();
            match outcome {
                Outcome::Survived => count.survived += 1,
                Outcome::NotRun => count.unknown += 1,
                Outcome::Killed | Outcome::TimedOut | Outcome::Unviable => {}
            }
        }
        for (name, count) in &counts {
            let excused = explained.get(name).copied().unwrap_or_default();
            if count.survived > excused {
                let message =
                    format!("no test notices: {} ({} ×); write one, or list it", name.1, count.survived);
                offences.push(Offence::new("mutants", name.0, message));
            }
        }
        let files: BTreeSet<&str> = judged.iter().map(|(mutant, _)| mutant.file.as_str()).collect();
        for (name, times) in explained.iter().filter(|(name, _)| files.contains(name.0)) {
            let count = counts.get(name).copied().unwrap_or_default();
            if count.survived + count.unknown < *times {
                let message = format!("{}: {:?} is noticed or gone; remove it from the list", name.0, name.1);
                offences.push(Offence::new("mutants", LIST, message));
            }
        }
        offences
    }
}
