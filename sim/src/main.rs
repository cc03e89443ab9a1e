//! `bowline-sim`: the outside world of a Bowline run, as a program.
//!
//! ```text
//! bowline-sim ledger --dir DIR        keep the ledger in DIR
//! bowline-sim tool OP --dir DIR       make one call (arguments on standard input)
//! bowline-sim tool look-OP --dir DIR  find out whether a call happened
//! bowline-sim kill --bowline PROGRAM --checker SCRIPT [--count N] [--seed S]
//!                                     kill the program N times, resume it, judge it
//! bowline-sim kill --bowline PROGRAM --checker SCRIPT --every STEP
//!                                     faults at every system call (STEP-th write) of a small run
//! bowline-sim kill --bowline PROGRAM --checker SCRIPT --migrations N --old-store STATEMENTS
//!                                     kill N migrations of an old store, judge it
//! bowline-sim sim [--seeds N] [--seed S] | --bugs
//!                                     run the engine in simulated worlds, judge it
//! bowline-sim past checkpoint --home HOME
//!                                     write a checkpoint of where each run of a home stands
//! bowline-sim past journals --home HOME
//!                                     print the journals of a home with the content they name
//! ```

#![expect(clippy::print_stderr, reason = "a program tells people what went wrong on standard error")]
#![expect(clippy::print_stdout, reason = "the figures of the kill harness are its result")]

use std::error::Error as _;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bowline_sim::kill::error::KillError;
use bowline_sim::kill::options::Options;
use bowline_sim::kill::sabotage::Sabotage;
use bowline_sim::kill::{self, Outcome, every, migrating};
use bowline_sim::ledger::serve::serve;
use bowline_sim::ledger::wire::LINE_MAX;
use bowline_sim::oracle::READY;
use bowline_sim::past::{self, PastError};
use bowline_sim::tool::{Answer, Errand, run};
use bowline_sim::world::report;

const USAGE: &str = "usage: bowline-sim ledger --dir DIR
       bowline-sim tool [look-|flaky-|stuck-]pay|slow_pay|put|reserve|release|tell --dir DIR
       bowline-sim kill --bowline PROGRAM --checker SCRIPT [--count N] [--doubles N] [--triples N] [--seed S]
                        [--workers N] [--batch N] [--every STEP] [--sabotage NAME] [--dir DIR]
                        [--migrations N --old-store STATEMENTS]
       bowline-sim sim --seeds N [--seed FIRST] | --seed S | --bugs
       bowline-sim past checkpoint|journals --home HOME";
/// The conventional exit code of a command line that makes no sense.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["ledger", "--dir", folder] => ledger(Path::new(folder)),
        ["tool", errand, "--dir", folder] => match Errand::parse(errand) {
            Some(errand) => tool(errand, &PathBuf::from(folder)),
            None => usage(),
        },
        ["kill", words @ ..] => kill_harness(words),
        ["sim", words @ ..] => simulate(words),
        ["past", "checkpoint", "--home", home] => done(&past::checkpoint(Path::new(home))),
        ["past", "journals", "--home", home] => {
            done(&past::journals(Path::new(home), &mut io::stdout().lock()))
        }
        _ => usage(),
    }
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(EXIT_USAGE)
}

fn done(outcome: &Result<(), PastError>) -> ExitCode {
    let Err(error) = outcome else { return ExitCode::SUCCESS };
    eprintln!("bowline-sim: {error}\n  {}", error.remedy());
    ExitCode::FAILURE
}

fn ledger(folder: &Path) -> ExitCode {
    let ready = || {
        // Nobody has to listen: a ledger started by hand serves all the same.
        let mut stdout = io::stdout();
        let _told = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    };
    match serve(folder, ready) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            eprintln!("bowline-sim: {error}{cause}\n  {}", error.remedy());
            ExitCode::FAILURE
        }
    }
}

fn tool(errand: Errand, folder: &Path) -> ExitCode {
    let mut input = String::new();
    if let Err(error) = io::stdin().take(LINE_MAX).read_to_string(&mut input) {
        eprintln!("bowline-sim: standard input: {error}");
        return ExitCode::from(Answer::DidNotHappen(String::new()).exit());
    }
    let answer = run(errand, folder, |name| std::env::var(name).ok(), &input);
    match &answer {
        Answer::Happened(result) => {
            let mut stdout = io::stdout();
            if writeln!(stdout, "{result}").and_then(|()| stdout.flush()).is_err() {
                // It happened, but whoever asked will never read so.
                return ExitCode::from(Answer::Unknown(String::new()).exit());
            }
        }
        Answer::DidNotHappen(why) | Answer::Unknown(why) => eprintln!("bowline-sim: {why}"),
    }
    ExitCode::from(answer.exit())
}

fn kill_harness(words: &[&str]) -> ExitCode {
    let folder = std::env::temp_dir().join(format!("bowline-kill-{}", std::process::id()));
    let sim = match std::env::current_exe() {
        Ok(sim) => sim,
        Err(error) => {
            eprintln!("bowline-sim: this program cannot find itself: {error}");
            return ExitCode::FAILURE;
        }
    };
    let options = match Options::parse(words, sim, folder) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("bowline-sim: {wrong}");
            return usage();
        }
    };
    let outcome = match (options.sabotage, options.every, options.migrations) {
        (Some(sabotage), _, _) => sabotaged(&options, sabotage),
        (None, Some(step), _) => hurt(&options, step),
        (None, None, Some(count)) => migrated(&options, count),
        (None, None, None) => killed(&options),
    };
    outcome.unwrap_or_else(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        eprintln!("bowline-sim: {error}{cause}\n  {}", error.remedy());
        eprintln!("everything is kept in {}", options.folder.display());
        ExitCode::FAILURE
    })
}

fn killed(options: &Options) -> Result<ExitCode, KillError> {
    let outcome = kill::run(options, &|line| eprintln!("{line}"))?;
    print!("{}", outcome.tally.table(outcome.moments, outcome.took_ms));
    report_violations(&outcome);
    let kills = outcome.tally.kills();
    if outcome.violations.is_empty() {
        println!("{kills} passed, 0 failed");
        return Ok(ExitCode::SUCCESS);
    }
    let (count, seed, batch) = (options.count, options.seed, outcome.batch.unwrap_or(0));
    println!("the same plan again: cargo xtask kill --count {count} --seed {seed}");
    println!("only this part of it: cargo xtask kill --count {count} --seed {seed} --batch {batch}");
    println!("{} kills, {} violations", kills, outcome.violations.len());
    Ok(ExitCode::FAILURE)
}

fn hurt(options: &Options, step: usize) -> Result<ExitCode, KillError> {
    let (struck, outcome) = every::run(options, step, &|line| eprintln!("{line}"))?;
    Ok(told(&struck, &outcome))
}

fn migrated(options: &Options, count: usize) -> Result<ExitCode, KillError> {
    let (struck, outcome) = migrating::run(options, count, &|line| eprintln!("{line}"))?;
    Ok(told(&struck, &outcome))
}

fn told(struck: &every::Struck, outcome: &Outcome) -> ExitCode {
    print!("{}", every::told(struck, outcome.took_ms));
    report_violations(outcome);
    let tried: u64 = struck.values().map(|(tried, _)| tried).sum();
    println!("{tried} faults, {} violations", outcome.violations.len());
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn sabotaged(options: &Options, sabotage: Sabotage) -> Result<ExitCode, KillError> {
    let (caught, outcome) = kill::sabotage(options, sabotage)?;
    let (name, check) = (sabotage.word(), sabotage.caught_by());
    if caught {
        println!("sabotage {name}: caught by {check}");
        return Ok(ExitCode::SUCCESS);
    }
    report_violations(&outcome);
    println!("sabotage {name}: NOT caught by {check}");
    Ok(ExitCode::FAILURE)
}

fn report_violations(outcome: &Outcome) {
    for violation in &outcome.violations {
        println!("{violation}");
    }
    if !outcome.violations.is_empty() {
        println!("everything is kept in {}", outcome.folder.display());
    }
}

fn simulate(words: &[&str]) -> ExitCode {
    let Some(wanted) = report::parse(words) else { return usage() };
    match report::run(wanted, &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bowline-sim: {error}");
            ExitCode::FAILURE
        }
    }
}
