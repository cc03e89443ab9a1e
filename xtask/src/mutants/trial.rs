//! Runs tests with one change chosen: which tests there are, which functions each
//! reaches, and whether one fails.
//!
//! Every run has a time limit and a limit of memory: a change may make a loop
//! endless. A run that meets its limit was noticed.

use std::collections::BTreeSet;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::mutants::build::Program;
use crate::mutants::schema::{CHOICE, HASTE, REACHED};

/// The least time of a processor a run is given. Other work on the machine takes none of it.
const LIMIT_MIN: Duration = Duration::from_secs(4);
/// How many times as long as without a change it may take.
const PATIENCE: u32 = 5;
/// How long a run may take by the clock: one that sleeps takes no time of a processor.
const WAIT_MAX: Duration = Duration::from_secs(600);
/// The signal that ends a run whose time is used up.
const SIGXCPU: i32 = 24;
/// The most memory a run may ask for, in KiB.
const MEMORY_KIB_MAX: u64 = 8 << 20;
/// How often an unfinished run is looked at.
const GLANCE: Duration = Duration::from_millis(2);

/// A test of one of the programs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Test {
    /// The index of its program.
    pub(super) program: usize,
    pub(super) name: String,
    /// How much time of a processor it takes without a change.
    pub(super) time: Duration,
    /// The functions it reaches.
    pub(super) reaches: BTreeSet<u32>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Passed,
    Failed,
    TimedOut,
}

/// The programs with what is known of them.
#[derive(Debug)]
pub(super) struct Bench {
    programs: Vec<Program>,
    pub(super) measured: Measured,
}

/// What is known of programs and their tests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Whether a program may end at its first panic: none of its tests needs one.
    is_hasty: Vec<bool>,
    pub(super) tests: Vec<Test>,
}

impl Bench {
    /// Runs every test that counts alone, without a change; all must pass.
    pub(super) fn measure(
        programs: Vec<Program>,
        folder: &Path,
        counts: impl Fn(&Program, &str) -> bool,
    ) -> Result<Self> {
        let mut bench = Self { programs, measured: Measured::default() };
        let reached = folder.join("reached");
        for (index, program) in bench.programs.iter().enumerate() {
            for name in names(program)?.into_iter().filter(|name| counts(program, name)) {
                let _ = std::fs::remove_file(&reached);
                let mut command = command(program, &[&name], MEASURED);
                let (ended, said) = wait(command.env(REACHED, &reached))?;
                if ended != Ended::Passed {
                    bail!("{}: {name} fails, or hangs, without a change", program.target);
                }
                let lines = std::fs::read_to_string(&reached).unwrap_or_default();
                let reaches = lines.lines().filter_map(|line| line.parse().ok()).collect();
                bench.measured.tests.push(Test { program: index, name, time: time_used(&said), reaches });
            }
        }
        if bench.measured.tests.is_empty() {
            bail!("no test counts; --tests takes PACKAGE, PACKAGE::TARGET or PACKAGE::TARGET::PART");
        }
        bench.measured.is_hasty = vec![true; bench.programs.len()];
        bench.measured.is_hasty =
            (0..bench.programs.len()).map(|index| bench.passes(index)).collect::<Result<_>>()?;
        Ok(bench)
    }

    /// The same tests in programs that were built anew.
    pub(super) fn with(&self, built: Vec<Program>) -> Self {
        let programs = self.programs.iter().map(|old| {
            let anew = built.iter().find(|new| (&new.package, &new.target) == (&old.package, &old.target));
            anew.unwrap_or(old).clone()
        });
        Self { programs: programs.collect(), measured: self.measured.clone() }
    }

    /// Programs of which everything is known.
    pub(super) fn again(programs: Vec<Program>, measured: Measured) -> Self {
        Self { programs, measured }
    }

    fn passes(&self, index: usize) -> Result<bool> {
        let tests: Vec<&Test> = self.measured.tests.iter().filter(|test| test.program == index).collect();
        Ok(tests.is_empty() || self.run(index, &tests, 0)?.0 == Ended::Passed)
    }

    /// Runs tests of one program with a change; the second is the test it ended in.
    pub(super) fn run(
        &self,
        program: usize,
        tests: &[&Test],
        change: u32,
    ) -> Result<(Ended, Option<String>)> {
        let index = program;
        let program = self.programs.get(index).context("there is such a program")?;
        let names: Vec<&str> = tests.iter().map(|test| test.name.as_str()).collect();
        let time: Duration = tests.iter().map(|test| test.time).sum();
        let seconds = (time * PATIENCE).max(LIMIT_MIN).as_secs() + 1;
        let mut command = command(program, &names, &format!("ulimit -S -t {seconds}; exec \"$@\""));
        command.env(CHOICE, change.to_string());
        if self.measured.is_hasty.get(index).copied().unwrap_or_default() {
            command.env(HASTE, "1");
        }
        let (ended, said) = wait(&mut command)?;
        Ok((ended, failing(&said)))
    }
}

/// The tests of a program.
fn names(program: &Program) -> Result<Vec<String>> {
    let mut command = Command::new(&program.path);
    let done = command.current_dir(&program.folder).args(["--list", "--format", "terse"]).output();
    let done = done.with_context(|| format!("cannot start {}", program.path.display()))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    Ok(said.lines().filter_map(|line| line.strip_suffix(": test").map(str::to_owned)).collect())
}

/// Starts a program and tells how much time its processes used.
const MEASURED: &str = "\"$@\"; code=$?; times; exit $code";

/// These tests of a program, one after the other, in little memory, started by `shell`.
fn command(program: &Program, names: &[&str], shell: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {MEMORY_KIB_MAX}; {shell}"), "sh"]).arg(&program.path);
    command.args(["--test-threads=1", "--exact"]).args(names).current_dir(&program.folder);
    command.env("CARGO_MANIFEST_DIR", &program.folder).env("RUST_BACKTRACE", "0");
    // Properties are tried on the same cases each time, so that outcomes do not change by chance.
    command.env("PROPTEST_RNG_SEED", "8785");
    command.env_remove(CHOICE).env_remove(REACHED).env_remove(HASTE);
    command
}

/// Waits for a run to end, or ends it with all it started; what it wrote comes with it.
fn wait(command: &mut Command) -> Result<(Ended, String)> {
    let mut out = std::env::temp_dir();
    out.push(format!("bowline-mutants-{}", std::process::id()));
    let file = std::fs::File::create(&out).with_context(|| format!("cannot write {}", out.display()))?;
    command.process_group(0).stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
    let started = now();
    let mut child = command.spawn().context("cannot start a test program")?;
    let ended = loop {
        if let Some(status) = child.try_wait().context("cannot wait for a test program")? {
            break ended(status);
        }
        if started.elapsed() > WAIT_MAX {
            end(&mut child)?;
            break Ended::TimedOut;
        }
        std::thread::sleep(GLANCE);
    };
    let said = std::fs::read(&out).unwrap_or_default();
    let _ = std::fs::remove_file(&out);
    Ok((ended, String::from_utf8_lossy(&said).into_owned()))
}

fn ended(status: ExitStatus) -> Ended {
    match status.signal() {
        Some(SIGXCPU) => Ended::TimedOut,
        _ if status.success() => Ended::Passed,
        _ => Ended::Failed,
    }
}

/// Kills the group the run leads.
fn end(child: &mut Child) -> Result<()> {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    child.wait().context("cannot wait for a test program")?;
    Ok(())
}

/// The last line of the shell's `times`, `0m1.250s 0m0.010s`, added up.
fn time_used(said: &str) -> Duration {
    let seconds = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(
            Duration::from_secs(60 * minutes.parse::<u64>().ok()?)
                + Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?,
        )
    };
    let last = said.lines().next_back().unwrap_or_default();
    last.split_whitespace().filter_map(seconds).sum()
}

/// The test that failed, or was running when the program ended.
fn failing(said: &str) -> Option<String> {
    let tests = said.lines().filter_map(|line| line.strip_prefix("test ")?.split_once(" ... "));
    tests
        .filter(|(name, result)| !name.starts_with("result:") && *result != "ok")
        .map(|(name, _)| name.to_owned())
        .next()
}

#[expect(clippy::disallowed_methods, reason = "how long a test takes is no decision of a run")]
fn now() -> Instant {
    Instant::now()
}
