//! `cargo xtask fixtures record --bin PROGRAM --out DIR [NAME…]`: lets a program, given by its
//! path, make a set of fixtures from the scenarios.
//!
//! The program works for real and is killed for real. What it leaves is packed; then the same
//! program finishes it, and what came of that is what every later program must reach, too. A
//! set that is there is never written to.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail, ensure};

use super::examples;
use super::facts::{self, Expected, Left};
use super::play::{Programs, play};
use super::scenario::{self, Scenario};
use super::world::World;
use super::{FOLDER, SCENARIOS, manifest};

const USAGE: &str = "usage: cargo xtask fixtures record --bin PROGRAM --out DIR [--sim PROGRAM] [NAME…]";
/// A kill that no tool waits for may come too late: so often it is tried.
const TRIES: u32 = 60;

/// What is recorded, with what, and where to.
struct Recording {
    programs: Programs,
    /// `bowline-sim` of the same version: it writes checkpoints and reads journals out.
    sim: PathBuf,
    out: PathBuf,
    set: String,
}

/// With the words of the command line.
pub fn run(root: &Path, words: &[String]) -> Result<()> {
    let asked = Asked::parse(words)?;
    let bin = asked.bin.canonicalize().with_context(|| format!("there is no {}", asked.bin.display()))?;
    let sim = asked.sim.unwrap_or_else(|| bin.with_file_name("bowline-sim"));
    ensure!(sim.is_file(), "there is no {}: build bowline-sim of the same version beside it", sim.display());
    let set = asked.out.file_name().context(USAGE)?.to_string_lossy().into_owned();
    ensure!(!asked.out.exists(), "{} is there already: a set is written once", asked.out.display());
    fs::create_dir_all(&asked.out).with_context(|| format!("cannot make {}", asked.out.display()))?;
    let folder = tempfile::Builder::new().prefix("bowline-past-").tempdir()?;
    std::os::unix::fs::symlink(&bin, folder.path().join("bowline"))?;
    let recording = Recording { programs: Programs::in_folder(folder.path()), sim, out: asked.out, set };
    let mut scenarios = scenario::read(&root.join(FOLDER).join(SCENARIOS))?;
    if let Some(unknown) = asked.names.iter().find(|name| scenarios.iter().all(|(known, _)| known != *name)) {
        bail!("there is no scenario {unknown}");
    }
    scenarios.retain(|(name, _)| asked.names.is_empty() || asked.names.contains(name));
    for (name, text) in &scenarios {
        recording.one(name, text).with_context(|| format!("scenario {name}"))?;
    }
    if asked.names.is_empty() {
        examples::record(root, &recording.out, &recording.set, &recording.programs)?;
    }
    let version = Command::new(&bin).arg("--version").output().context("cannot ask for the version")?;
    manifest::write(&recording.out, String::from_utf8_lossy(&version.stdout).trim())?;
    println!("{} scenarios recorded in {}", scenarios.len(), recording.out.display());
    Ok(())
}

/// The words, read.
struct Asked {
    bin: PathBuf,
    sim: Option<PathBuf>,
    out: PathBuf,
    names: Vec<String>,
}

impl Asked {
    fn parse(words: &[String]) -> Result<Self> {
        let (mut bin, mut sim, mut out, mut names) = (None, None, None, Vec::new());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bin" => bin = words.next(),
                "--sim" => sim = words.next(),
                "--out" => out = words.next(),
                name if !name.starts_with('-') => names.push(name.to_owned()),
                _ => bail!("{USAGE}"),
            }
        }
        let (Some(bin), Some(out)) = (bin, out) else { bail!("{USAGE}") };
        Ok(Self { bin: bin.into(), sim: sim.map(PathBuf::from), out: out.into(), names })
    }
}

impl Recording {
    fn one(&self, name: &str, text: &str) -> Result<()> {
        let scenario = Scenario::parse(text)?;
        for need in &scenario.needs {
            let found = Command::new("which").arg(need).output().is_ok_and(|ran| ran.status.success());
            ensure!(found, "there is no {need} here, which it needs");
        }
        let world = self.left(name, &scenario)?;
        let mut told = "journals only".to_owned();
        if scenario.is_open() {
            let folder = self.out.join("homes").join(name);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("scenario.toml"), text)?;
            let (left_at, left) = (seconds()?, self.look(&world)?);
            world.pack(&folder.join("world.tar.gz"))?;
            world.write(&scenario.later)?;
            scenario.finish.iter().try_for_each(|step| play(step, &world, &self.programs))?;
            let expected = Expected { left_at, left, facts: facts::facts(&world, &self.programs)? };
            let endings: Vec<&str> =
                expected.facts.runs.iter().map(|run| run.ending.as_deref().unwrap_or("open")).collect();
            told = endings.join(", ");
            let json = serde_json::to_string_pretty(&expected)?;
            fs::write(folder.join("expected.json"), format!("{json}\n"))?;
        }
        self.journals(&world, name)?;
        println!("{name}: {told}");
        Ok(())
    }

    /// A world in which the runs stand where they are to be left.
    fn left(&self, name: &str, scenario: &Scenario) -> Result<World> {
        let mut found = Vec::new();
        for _ in 0..TRIES {
            let world = World::take(&self.set, name)?;
            world.write(&scenario.files)?;
            scenario.record.iter().try_for_each(|step| play(step, &world, &self.programs))?;
            if !scenario.is_open() {
                return Ok(world);
            }
            found = self.look(&world)?.into_iter().map(|left| left.last).collect();
            if found == scenario.left_at {
                if scenario.checkpoint {
                    self.sim(&["past", "checkpoint", "--home"], &world)?;
                }
                return Ok(world);
            }
        }
        bail!("its runs were left at {found:?}, not at {:?}, {TRIES} times", scenario.left_at)
    }

    /// Where runs stand, asked of a copy: the home itself stays as it was left.
    fn look(&self, world: &World) -> Result<Vec<Left>> {
        if !world.home().exists() {
            return Ok(Vec::new());
        }
        let copy = world.copy_of_home()?;
        facts::left(world, &copy, &self.programs)
    }

    /// Every journal with the content it names, a line for each record and each content.
    fn journals(&self, world: &World, name: &str) -> Result<()> {
        if !world.home().join("store.db").exists() {
            return Ok(());
        }
        let folder = self.out.join("journals");
        fs::create_dir_all(&folder)?;
        let journals = self.sim(&["past", "journals", "--home"], world)?;
        fs::write(folder.join(format!("{name}.jsonl")), journals).context("cannot write the journals")
    }

    fn sim(&self, words: &[&str], world: &World) -> Result<Vec<u8>> {
        let ran = Command::new(&self.sim).args(words).arg(world.home()).output();
        let ran = ran.with_context(|| format!("cannot start {}", self.sim.display()))?;
        if !ran.status.success() {
            bail!(
                "bowline-sim {words:?} ended with {}: {}",
                ran.status,
                String::from_utf8_lossy(&ran.stderr)
            );
        }
        Ok(ran.stdout)
    }
}

/// The time, in whole seconds that are over.
#[expect(clippy::disallowed_methods, reason = "a fixture says when it was recorded")]
fn seconds() -> Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() + 1)
}
