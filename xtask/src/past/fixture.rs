//! A recorded set, and each home in it: unpacked, looked at, finished, and compared with what
//! the program made of it that recorded it.
//!
//! A set is read and never written here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::examples::{self, Codes};
use super::facts::{self, Expected, Facts, Left};
use super::play::{Programs, play};
use super::scenario::Scenario;
use super::world::World;
use super::{FOLDER, SCENARIOS};

/// What one version left.
pub struct Set {
    /// What it is called: a version, and a letter.
    pub name: String,
    /// Where it lies.
    pub folder: PathBuf,
}

/// One home of a set.
pub struct Fixture {
    set: String,
    folder: PathBuf,
    /// What it is called.
    pub name: String,
    /// How it was made, and how it is finished.
    pub scenario: Scenario,
    /// What was known when it was recorded.
    pub expected: Expected,
}

/// Every set of a clone, the oldest name first.
pub fn sets(root: &Path) -> Result<Vec<Set>> {
    let folder = root.join(FOLDER);
    let mut sets = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && name != SCENARIOS {
            sets.push(Set { name, folder: entry.path() });
        }
    }
    ensure!(!sets.is_empty(), "there is no set in {}", folder.display());
    sets.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(sets)
}

impl Set {
    /// Its homes, by name.
    pub fn fixtures(&self) -> Result<Vec<Fixture>> {
        let homes = self.folder.join("homes");
        let mut names = Vec::new();
        for entry in fs::read_dir(&homes).with_context(|| format!("cannot read {}", homes.display()))? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        names.iter().map(|name| self.fixture(name)).collect()
    }

    /// What its examples ended with in the hands of the program that recorded it. A set of
    /// some scenarios has none.
    pub fn examples(&self) -> Result<BTreeMap<String, Codes>> {
        examples::recorded(&self.folder)
    }

    /// What they end with now.
    pub fn played(&self, programs: &Programs) -> Result<BTreeMap<String, Codes>> {
        examples::played(&self.folder, &self.name, programs)
    }

    /// The home of this name.
    pub fn fixture(&self, name: &str) -> Result<Fixture> {
        let folder = self.folder.join("homes").join(name);
        let text = |file: &str| {
            let path = folder.join(file);
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let scenario = Scenario::parse(&text("scenario.toml")?).with_context(|| name.to_owned())?;
        let expected = serde_json::from_str(&text("expected.json")?).with_context(|| name.to_owned())?;
        Ok(Fixture { set: self.name.clone(), folder, name: name.to_owned(), scenario, expected })
    }
}

impl Fixture {
    /// Its world, in its place, as it was left.
    pub fn unpack(&self) -> Result<World> {
        let world = World::take(&self.set, &self.name)?;
        world.unpack(&self.folder.join("world.tar.gz"))?;
        Ok(world)
    }

    /// Where its runs stand now.
    pub fn left(&self, world: &World, programs: &Programs) -> Result<Vec<Left>> {
        facts::left(world, &world.home(), programs)
    }

    /// Leads every run to its ending.
    pub fn finish(&self, world: &World, programs: &Programs) -> Result<()> {
        world.write(&self.scenario.later)?;
        self.scenario.finish.iter().try_for_each(|step| play(step, world, programs))
    }

    /// What became of it.
    pub fn facts(&self, world: &World, programs: &Programs) -> Result<Facts> {
        facts::facts(world, programs)
    }

    /// Whether every journal is sound, and still has the head it was left with.
    pub fn verify(&self, world: &World, programs: &Programs) -> Result<()> {
        for left in &self.expected.left {
            let words = ["audit", "verify", &left.run, "--expect", &left.head];
            programs.ask(world, &world.home(), &words)?;
        }
        Ok(())
    }

    /// Runs whose journal no longer begins with what it was when they were left.
    pub fn rewritten(&self, world: &World, programs: &Programs) -> Result<Vec<String>> {
        let mut rewritten = Vec::new();
        for left in &self.expected.left {
            if !facts::begins_with(world, programs, left)? {
                rewritten.push(left.run.clone());
            }
        }
        Ok(rewritten)
    }
}
