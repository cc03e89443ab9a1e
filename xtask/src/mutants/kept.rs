//! What came of each change, kept in a file, so that an interrupted run goes on
//! and a later one asks first the test that noticed last time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::mutants::scratch::Scratch;
use crate::mutants::trial::Measured;

/// What came of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Outcome {
    /// A test failed.
    Killed,
    /// A test did not end.
    TimedOut,
    /// It does not compile.
    Unviable,
    /// No test noticed.
    Survived,
    /// It is in another shard.
    NotRun,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    /// The code the survivors were found on; they hold for no other.
    code: u64,
    /// The files the other outcomes were found on, each with a number of its text.
    #[serde(default)]
    texts: BTreeMap<String, u64>,
    /// The tests they were found with; others may notice what these did not.
    tests: u64,
    /// By name, with the place.
    outcomes: BTreeMap<String, Outcome>,
    /// The test that noticed, by name without the line: a guess, on other code too.
    noticed_by: BTreeMap<String, String>,
    /// What was measured of the tests, and a number of the build it was measured on.
    #[serde(default)]
    measured: Option<(u64, Measured)>,
    #[serde(skip)]
    path: PathBuf,
}

impl Kept {
    /// Reads it. Outcomes of a file that has changed are forgotten, and survivors of other
    /// code or other tests. What was noticed stays noticed: only a run anew finds a test
    /// that was made weaker.
    pub(super) fn read(scratch: &Scratch, name: &str) -> Result<Self> {
        let folder = &scratch.kept;
        let path = folder.join(format!("{name}.json"));
        let read = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok());
        let mut kept = Self { path, ..read.unwrap_or_default() };
        let is_same = (kept.code, kept.tests) == (scratch.code, scratch.tests);
        let old = std::mem::replace(&mut kept.texts, scratch.texts.clone());
        kept.outcomes.retain(|name, outcome| {
            let file = name.split(':').next().unwrap_or_default();
            let is_same_file = old.get(file).is_some_and(|text| scratch.texts.get(file) == Some(text));
            is_same_file && (is_same || *outcome != Outcome::Survived)
        });
        if kept.tests != scratch.tests {
            kept.measured = None;
        }
        (kept.code, kept.tests) = (scratch.code, scratch.tests);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(kept)
    }

    /// Keeps guesses only.
    pub(super) fn forget(&mut self) {
        self.outcomes.clear();
    }

    pub(super) fn outcome(&self, name: &str) -> Option<Outcome> {
        self.outcomes.get(name).copied()
    }

    pub(super) fn guess(&self, key: &str) -> Option<&str> {
        self.noticed_by.get(key).map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, outcome: Outcome) {
        self.outcomes.insert(name.to_owned(), outcome);
    }

    pub(super) fn set_guess(&mut self, key: String, test: String) {
        self.noticed_by.insert(key, test);
    }

    pub(super) fn measured(&self, build: u64) -> Option<&Measured> {
        self.measured.as_ref().filter(|(of, _)| *of == build).map(|(_, measured)| measured)
    }

    pub(super) fn set_measured(&mut self, build: u64, measured: Measured) {
        self.measured = Some((build, measured));
    }

    /// Writes it whole, or leaves the old one.
    pub(super) fn save(&self) -> Result<()> {
        let text = serde_json::to_vec(self).context("outcomes are plain")?;
        let part = self.path.with_extension("part");
        std::fs::write(&part, text).with_context(|| format!("cannot write {}", part.display()))?;
        std::fs::rename(&part, &self.path).with_context(|| format!("cannot write {}", self.path.display()))
    }
}
