//! What Bowline costs, in one run on one machine: durable transitions, stored
//! bytes, time to resume, memory, guarding a call, what stands between a call and
//! the world, a call of a model server, and the same loop on a peer.
//!
//! Rates are compared with the bare disk in the same minute, because absolute
//! numbers of a shared machine say little. What must be fresh (a resuming
//! process, its memory) is measured in a child: this program, started again.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the report is for the person at the terminal"
)]

mod defects;
mod disk;
mod gain;
mod guard;
mod isolation;
mod machine;
mod memory;
mod migration;
mod peer;
mod remote;
mod report;
mod resume;
mod space;
mod stopwatch;
mod throughput;
mod tools;
mod watched;
mod world;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use report::Section;
use serde_json::Value;

const USAGE: &str = "usage: cargo xtask bench [--quick] [--out FILE] [--date DATE] [--dir DIR] [SUBJECT…]

  --quick      half a minute instead of several, without the longest runs
  --out FILE   writes the report as Markdown, too
  --date DATE  the date the report names
  --dir DIR    where to measure; on the disk that matters (default: the system's temporary folder)
  SUBJECT      throughput, space, resume, memory, migration, guard, tools, isolation, remote, defects, peer; all when none is named

  cargo xtask bench loop-gain   measures what the loop is worth, see docs/loop-gain.md";

/// A subject of the benchmark: its name and what measures it.
type Subject = (&'static str, fn(&Bench) -> Result<Section>);

const SUBJECTS: [Subject; 11] = [
    ("throughput", throughput::measure),
    ("space", space::measure),
    ("resume", resume::measure),
    ("memory", memory::measure),
    ("migration", migration::measure),
    ("guard", guard::measure),
    ("tools", tools::measure),
    ("isolation", isolation::measure),
    ("remote", remote::measure),
    ("defects", defects::measure),
    ("peer", peer::measure),
];

/// The word under which this program is the first in a cage.
pub(crate) const CAGE: &str = "cage-launch";

/// How much to measure, and where.
pub(crate) struct Bench {
    quick: bool,
    scratch: tempfile::TempDir,
}

impl Bench {
    /// A folder of its own for one measurement.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// The disk that is measured.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Whether there is half a minute instead of several.
    pub(crate) fn is_quick(&self) -> bool {
        self.quick
    }

    /// All sizes, or all but the longest when in a hurry.
    pub(crate) fn sizes<'a>(&self, all: &'a [usize]) -> &'a [usize] {
        match all {
            [shorter @ .., _] if self.quick => shorter,
            all => all,
        }
    }

    /// How often a measurement is repeated.
    pub(crate) fn repeats(&self) -> usize {
        if self.quick { 3 } else { 5 }
    }

    /// How long appends are counted.
    pub(crate) fn window(&self) -> Duration {
        Duration::from_millis(if self.quick { 300 } else { 1500 })
    }

    /// How long the bare disk is looked at, each time.
    pub(crate) fn raw_window(&self) -> Duration {
        Duration::from_millis(if self.quick { 100 } else { 400 })
    }

    /// So many rounds, or fewer when in a hurry.
    pub(crate) fn fewer(&self, rounds: usize) -> usize {
        if self.quick { rounds.div_ceil(4) } else { rounds }
    }

    /// Starts this program again and reads what it tells.
    pub(crate) fn child(&self, args: &[String]) -> Result<Value> {
        let done = Command::new(std::env::current_exe()?).args(args).output()?;
        if !done.status.success() {
            bail!("{}: {}", args.join(" "), String::from_utf8_lossy(&done.stderr).trim());
        }
        serde_json::from_slice(&done.stdout).context("cannot read what the child tells")
    }
}

/// What was asked for.
#[derive(Default)]
struct Asked {
    quick: bool,
    out: Option<PathBuf>,
    date: Option<String>,
    dir: Option<PathBuf>,
    subjects: Vec<String>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        [resume::CHILD, dir, rounds, start] => resume_child(dir, rounds, start),
        [memory::CHILD, dir, rounds] => memory_child(dir, rounds),
        [migration::CHILD, home] => migration::child(home).map(|told| println!("{told}")),
        [guard::CHILD, whose, calls] => guard_child(whose, calls),
        [gain::WORD, rest @ ..] => gain::main(rest),
        [CAGE, ..] => std::process::exit(bowline_cage::launch::main(std::env::args_os().skip(2))),
        words => parse(words).and_then(|asked| run(&asked)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn resume_child(dir: &str, rounds: &str, start: &str) -> Result<()> {
    println!("{}", resume::child(Path::new(dir), rounds.parse()?, start.parse()?)?);
    Ok(())
}

fn memory_child(dir: &str, rounds: &str) -> Result<()> {
    println!("{}", memory::child(Path::new(dir), rounds.parse()?)?);
    Ok(())
}

fn guard_child(whose: &str, calls: &str) -> Result<()> {
    println!("{}", guard::child(whose, calls.parse()?)?);
    Ok(())
}

fn parse(words: &[&str]) -> Result<Asked> {
    let mut asked = Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n\n{USAGE}"));
        match *word {
            "--quick" => asked.quick = true,
            "--out" => asked.out = Some(value()?.into()),
            "--date" => asked.date = Some((*value()?).to_owned()),
            "--dir" => asked.dir = Some(value()?.into()),
            name if SUBJECTS.iter().any(|(known, _)| *known == name) => asked.subjects.push(name.to_owned()),
            other => bail!("{other:?} is not understood\n\n{USAGE}"),
        }
    }
    Ok(asked)
}

fn run(asked: &Asked) -> Result<()> {
    let dir = asked.dir.clone().unwrap_or_else(std::env::temp_dir);
    let scratch =
        tempfile::tempdir_in(&dir).with_context(|| format!("cannot measure in {}", dir.display()))?;
    let bench = Bench { quick: asked.quick, scratch };
    let depth = if asked.quick { "quick" } else { "whole" };
    let facts = machine::facts(asked.date.as_deref().unwrap_or("not given"), bench.scratch());
    let mut page = format!("# What Bowline costs\n\nMade by `cargo xtask bench` ({depth}).\n\n{facts}\n");
    print!("{page}");
    let mut sections = Vec::new();
    let wanted = |name: &str| asked.subjects.is_empty() || asked.subjects.iter().any(|asked| asked == name);
    for (name, measure) in SUBJECTS.iter().filter(|(name, _)| wanted(name)) {
        let section = measure(&bench).with_context(|| format!("cannot measure {name}"))?;
        let told = section.markdown();
        print!("{told}");
        page.push_str(&told);
        sections.push(section);
    }
    let last = report::summary(&sections);
    print!("{last}");
    page.push_str(&last);
    if let Some(out) = &asked.out {
        std::fs::write(out, page).with_context(|| format!("cannot write {}", out.display()))?;
    }
    Ok(())
}
