//! One package from its list of changes to their outcomes.

#![expect(clippy::print_stderr, reason = "this is what the person at the terminal waits with")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};

use crate::mutants::asked::Asked;
use crate::mutants::build::{self, Built, CompileError, Program};
use crate::mutants::found::{Mutant, Package};
use crate::mutants::kept::{Kept, Outcome};
use crate::mutants::schema::{self, CANARY, Change, Schema};
use crate::mutants::scratch::{Places, Scratch};
use crate::mutants::trial::{Bench, Ended, Test};

/// Builds that may fail before the compiler is said to go in circles.
const ROUNDS_MAX: usize = 40;
/// Fewer open changes than this part of all are built alone.
const FEW: usize = 10;
/// An odd number whose multiples lie far apart.
const SCATTER: u32 = 2_654_435_769;
/// After how many changes outcomes are written.
const SAVE_EVERY: usize = 20;

/// What came of each change, in the order of the list.
pub(super) fn run(
    places: &Places,
    asked: &Asked,
    package: &Package,
    mutants: &[Mutant],
) -> Result<Vec<Outcome>> {
    let files: BTreeSet<&str> = mutants
        .iter()
        .map(|mutant| mutant.file.as_str())
        .chain(package.roots.iter().map(String::as_str))
        .collect();
    let scratch = Scratch::copy(places, &files)?;
    let mut kept = Kept::read(&scratch, &asked.name(&package.name))?;
    if asked.is_anew {
        kept.forget();
    }
    let mut session = Session { asked, package, mutants, files, scratch, kept };
    let open: Vec<u32> = session.numbers().filter(|number| session.is_open(*number)).collect();
    if !open.is_empty() {
        session.judge(&open)?;
    }
    Ok(session.numbers().map(|number| session.outcome(number)).collect())
}

struct Session<'a> {
    asked: &'a Asked,
    package: &'a Package,
    mutants: &'a [Mutant],
    /// Files that are written, not copied.
    files: BTreeSet<&'a str>,
    scratch: Scratch,
    kept: Kept,
}

/// A built copy with many changes in it.
struct Combined {
    programs: Vec<Program>,
    /// The function each change lies in, if one is there to be reached.
    function_of: BTreeMap<u32, u32>,
    alone: BTreeSet<u32>,
    /// A number of what was built.
    text: u64,
}

impl Session<'_> {
    /// Changes are numbered from 1, in the order of the list.
    fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        1..=u32::try_from(self.mutants.len()).unwrap_or(u32::MAX - 1)
    }

    fn mutant(&self, number: u32) -> Result<&Mutant> {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        index.and_then(|index| self.mutants.get(index)).context("there is a mutant of this number")
    }

    fn is_open(&self, number: u32) -> bool {
        let is_mine =
            self.asked.shard.is_none_or(|shard| shard.has(usize::try_from(number).unwrap_or_default() - 1));
        is_mine && self.mutant(number).is_ok_and(|mutant| self.kept.outcome(&mutant.name).is_none())
    }

    fn outcome(&self, number: u32) -> Outcome {
        let known = self.mutant(number).ok().and_then(|mutant| self.kept.outcome(&mutant.name));
        known.unwrap_or(Outcome::NotRun)
    }

    fn set(&mut self, number: u32, outcome: Outcome) -> Result<()> {
        let name = self.mutant(number)?.name.clone();
        self.kept.set(&name, outcome);
        Ok(())
    }

    fn judge(&mut self, open: &[u32]) -> Result<()> {
        eprintln!("{}: building {} changes into one copy", self.package.name, open.len());
        let combined = self.combine(self.together(open))?;
        let bench = self.measure(&combined)?;
        eprintln!("{}: {} tests pass without a change", self.package.name, bench.measured.tests.len());
        canary(&bench)?;
        let mut open: Vec<u32> = open.iter().copied().filter(|number| self.is_open(*number)).collect();
        // Scattered, so that what an interrupted run has done is a sample of all files.
        open.sort_by_key(|number| (combined.alone.contains(number), number.wrapping_mul(SCATTER)));
        for (done, number) in open.iter().copied().enumerate() {
            let function = combined.function_of.get(&number).copied();
            let outcome = if combined.alone.contains(&number) {
                self.try_alone(number, function, &bench)?
            } else {
                self.try_change(&bench, number, function, number)?
            };
            self.set(number, outcome)?;
            if done % SAVE_EVERY == 0 || combined.alone.contains(&number) {
                self.kept.save()?;
                eprintln!("{}: {done} of {}", self.package.name, open.len());
            }
        }
        self.kept.save()
    }

    /// What is built together: all that may compile, so that a run that goes on needs no
    /// other build, unless few are left.
    fn together(&self, open: &[u32]) -> BTreeSet<u32> {
        if open.len() < self.mutants.len() / FEW {
            return open.iter().copied().collect();
        }
        self.numbers().filter(|number| self.outcome(*number) != Outcome::Unviable).collect()
    }

    /// What the tests reach and take, as an earlier run has found on the same build.
    fn measure(&mut self, combined: &Combined) -> Result<Bench> {
        let counts = |program: &Program, test: &str| self.asked.counts(&self.package.name, program, test);
        let programs = combined.programs.clone();
        if let Some(measured) = self.kept.measured(combined.text) {
            return Ok(Bench::again(programs, measured.clone()));
        }
        let bench = Bench::measure(programs, &self.scratch.kept, counts)?;
        self.kept.set_measured(combined.text, bench.measured.clone());
        self.kept.save()?;
        Ok(bench)
    }

    /// Builds all of these changes at once; what does not compile is left out and noted.
    fn combine(&mut self, mut numbers: BTreeSet<u32>) -> Result<Combined> {
        let mut alone = BTreeSet::new();
        for _ in 0..ROUNDS_MAX {
            let schemas = self.write(&numbers)?;
            alone.extend(schemas.values().flat_map(|schema| schema.alone.iter().copied()));
            match build::build(&self.scratch, &self.asked.packages(&self.package.name))? {
                Built::Programs(programs) => {
                    let function_of =
                        schemas.values().flat_map(|schema| schema.function_of.clone()).collect();
                    let text = schemas.values().fold(0, |hash, schema| schema.hash_after(hash));
                    return Ok(Combined { programs, function_of, alone, text });
                }
                Built::Errors(errors) => {
                    let blame = blame(&schemas, &errors)?;
                    eprintln!("{}: {} do not compile", self.package.name, blame.unviable.len());
                    for number in &blame.unviable {
                        numbers.remove(number);
                        self.set(*number, Outcome::Unviable)?;
                    }
                    numbers.retain(|number| !blame.alone.contains(number));
                    alone.extend(blame.alone);
                }
            }
        }
        bail!("after {ROUNDS_MAX} builds there are still changes that do not compile")
    }

    /// Writes the copy with these changes in it.
    fn write(&self, numbers: &BTreeSet<u32>) -> Result<BTreeMap<String, Schema>> {
        let mut schemas = BTreeMap::new();
        let mut first = 1;
        for path in &self.files {
            let mut changes = Vec::new();
            for number in numbers {
                let mutant = self.mutant(*number)?;
                if mutant.file == *path {
                    changes.push(Change { number: *number, mutant });
                }
            }
            let text = self.scratch.original(path)?;
            let mut schema =
                schema::write(&text, &changes, first).with_context(|| format!("{path} cannot be changed"))?;
            first = schema.next_function(first);
            if self.package.roots.iter().any(|root| root == path) {
                schema.text.push_str(schema::SWITCH);
            }
            self.scratch.write(path, &schema.text)?;
            schemas.insert((*path).to_owned(), schema);
        }
        Ok(schemas)
    }

    /// Writes the copy with one change in it.
    fn write_alone(&self, number: u32) -> Result<()> {
        let mutant = self.mutant(number)?;
        for path in &self.files {
            let text = self.scratch.original(path)?;
            let text = if mutant.file == *path { schema::write_one(&text, mutant)? } else { text };
            self.scratch.write(path, &text)?;
        }
        Ok(())
    }

    /// A build of its own for this change.
    fn try_alone(&mut self, number: u32, function: Option<u32>, bench: &Bench) -> Result<Outcome> {
        self.write_alone(number)?;
        match build::build(&self.scratch, &self.asked.packages(&self.package.name))? {
            Built::Errors(_) => Ok(Outcome::Unviable),
            Built::Programs(programs) => self.try_change(&bench.with(programs), number, function, 0),
        }
    }

    /// Runs the tests that reach the function, or all, until one notices: first the one
    /// that did last time, then those that lie near it, then the fast ones.
    fn try_change(
        &mut self,
        bench: &Bench,
        number: u32,
        function: Option<u32>,
        choice: u32,
    ) -> Result<Outcome> {
        let key = self.key(number)?;
        let guess = self.kept.guess(&key).map(str::to_owned);
        let reaching = |test: &&Test| function.is_none_or(|function| test.reaches.contains(&function));
        let mut tests: Vec<&Test> = bench.measured.tests.iter().filter(reaching).collect();
        let module = module(&self.mutant(number)?.file);
        tests.sort_by_key(|test| {
            (guess.as_deref() != Some(test.name.as_str()), Reverse(nearness(&module, &test.name)), test.time)
        });
        let mut size = 1;
        while !tests.is_empty() {
            let batch: Vec<&Test> = tests.drain(..size.min(tests.len())).collect();
            for program in batch.iter().map(|test| test.program).collect::<BTreeSet<_>>() {
                let of: Vec<&Test> = batch.iter().copied().filter(|test| test.program == program).collect();
                let (ended, noticed_by) = bench.run(program, &of, choice)?;
                if ended == Ended::Passed {
                    continue;
                }
                if let Some(test) = noticed_by {
                    self.kept.set_guess(key, test);
                }
                return Ok(if ended == Ended::TimedOut { Outcome::TimedOut } else { Outcome::Killed });
            }
            size *= 4;
        }
        Ok(Outcome::Survived)
    }

    /// The file, what is changed, and the how-manieth of that name it is.
    fn key(&self, number: u32) -> Result<String> {
        let mutant = self.mutant(number)?;
        let before = self.mutants.iter().take_while(|other| other.name != mutant.name);
        let same = before.filter(|other| other.file == mutant.file && other.what() == mutant.what()).count();
        Ok(format!("{}: {} #{same}", mutant.file, mutant.what()))
    }
}

/// `guard::loops::ladder` for the file of that module.
fn module(file: &str) -> Vec<String> {
    let path = file.rsplit_once("/src/").map_or(file, |(_, path)| path);
    let path = path.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

/// How many modules from the root on a test shares with a file.
fn nearness(module: &[String], test: &str) -> usize {
    module.iter().zip(test.split("::")).take_while(|(own, of)| own == of).count()
}

/// Shows that the switch is live: the canary must be noticed wherever a function is reached.
fn canary(bench: &Bench) -> Result<()> {
    let Some(test) =
        bench.measured.tests.iter().filter(|test| !test.reaches.is_empty()).min_by_key(|test| test.time)
    else {
        bail!("no test reaches a function that is changed");
    };
    match bench.run(test.program, &[test], CANARY)?.0 {
        Ended::Failed => Ok(()),
        Ended::Passed | Ended::TimedOut => bail!("{} does not notice a function that only panics", test.name),
    }
}

/// Which changes a failed build is to be blamed on.
#[derive(Debug, Default)]
struct Blame {
    unviable: BTreeSet<u32>,
    /// Changes to functions that do not compile with a choice in them.
    alone: BTreeSet<u32>,
}

fn blame(schemas: &BTreeMap<String, Schema>, errors: &[CompileError]) -> Result<Blame> {
    let mut blame = Blame::default();
    for error in errors {
        let arm = error.places.iter().find_map(|(file, range)| schemas.get(file)?.arm_at(range));
        if let Some(number) = arm {
            blame.unviable.insert(number);
            continue;
        }
        let function = error.places.iter().find_map(|(file, range)| schemas.get(file)?.function_at(range));
        let Some(numbers) = function else { bail!("the copy does not compile:\n{}", error.message) };
        blame.alone.extend(numbers);
    }
    Ok(blame)
}
