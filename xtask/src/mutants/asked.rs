//! The words of the command line.

use anyhow::{Context, Result, bail};

use crate::mutants::build::Program;

/// What is broken when nothing is named.
const PLACE: &str = "crates/core/src/guard";

/// What to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) shard: Option<Shard>,
    /// Tests that may notice: those of the package that is broken if empty. Fewer are
    /// faster and stricter.
    pub(super) tests: Vec<Chosen>,
    /// Forget what is known from earlier runs.
    pub(super) is_anew: bool,
    /// Files and folders below the root.
    pub(super) places: Vec<String>,
}

/// Tests, as `PACKAGE`, `PACKAGE::TARGET` or `PACKAGE::TARGET::PART`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    package: String,
    target: Option<String>,
    /// What their names have in them.
    part: Option<String>,
}

impl Chosen {
    fn parse(word: &str) -> Self {
        let mut parts = word.splitn(3, "::").map(str::to_owned);
        Self { package: parts.next().unwrap_or_default(), target: parts.next(), part: parts.next() }
    }

    fn has(&self, package: &str, target: &str, test: &str) -> bool {
        self.package == package
            && self.target.as_ref().is_none_or(|chosen| chosen == target)
            && self.part.as_ref().is_none_or(|part| test.contains(part.as_str()))
    }
}

/// Each `of`-th mutant, in turns, so that each shard is a sample of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    number: usize,
    of: usize,
}

impl Shard {
    fn parse(word: &str) -> Result<Self> {
        let parts = word.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((number, of)) if number < of => Ok(Self { number, of }),
            _ => bail!("--shard needs K/N with K below N, not {word:?}"),
        }
    }

    /// Whether the mutant at this place of the list is in it.
    pub(super) fn has(self, index: usize) -> bool {
        index % self.of == self.number
    }
}

impl Asked {
    pub(super) fn parse(words: &[String]) -> Result<Self> {
        let mut asked = Self { shard: None, tests: Vec::new(), is_anew: false, places: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--shard" => asked.shard = Some(Shard::parse(words.next().context("--shard needs K/N")?)?),
                "--tests" => {
                    asked.tests.push(Chosen::parse(words.next().context("--tests needs a package")?));
                }
                "--anew" => asked.is_anew = true,
                option if option.starts_with('-') => bail!(
                    "{option:?} is not understood; there are --shard K/N, --tests PACKAGE[::TARGET[::PART]], --anew and files"
                ),
                place => asked.places.push(place.trim_end_matches('/').to_owned()),
            }
        }
        if asked.places.is_empty() {
            asked.places.push(PLACE.into());
        }
        Ok(asked)
    }

    /// Whether a test may notice.
    pub(super) fn counts(&self, broken: &str, program: &Program, test: &str) -> bool {
        if self.tests.is_empty() {
            return program.package == broken;
        }
        self.tests.iter().any(|chosen| chosen.has(&program.package, &program.target, test))
    }

    /// The packages whose tests are built.
    pub(super) fn packages<'a>(&'a self, broken: &'a str) -> Vec<&'a str> {
        if self.tests.is_empty() {
            return vec![broken];
        }
        self.tests.iter().map(|chosen| chosen.package.as_str()).collect()
    }

    /// What outcomes are kept under: other tests, other outcomes.
    pub(super) fn name(&self, broken: &str) -> String {
        let mut name = broken.to_owned();
        for Chosen { package, target, part } in &self.tests {
            let parts = [Some(package), target.as_ref(), part.as_ref()];
            name.push_str(&format!(
                "-{}",
                parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(".")
            ));
        }
        name.replace("::", ".").replace('/', ".")
    }
}
