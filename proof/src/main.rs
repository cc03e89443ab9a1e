//! `bowline-proof`: the run machine under a model checker, as a program.
//!
//! ```text
//! bowline-proof [--bounds small|full] [--threads N] [SCENARIO…]
//! bowline-proof --bugs
//! ```

#![expect(clippy::print_stderr, reason = "a program tells people what went wrong on standard error")]
#![expect(clippy::print_stdout, reason = "the figures are its result")]

use std::process::ExitCode;

use bowline_proof::{Bounds, Figures, PLANTS, SCENARIOS, Scenario, Verdict, check, find};

const USAGE: &str = "usage: bowline-proof [--bounds small|full] [--threads N] [SCENARIO…] | --bugs";
/// The conventional exit code of a command line that makes no sense.
const EXIT_USAGE: u8 = 64;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let holds = match words.as_slice() {
        ["--bugs"] => bugs(),
        words => match Wanted::parse(words) {
            Some(wanted) => prove(&wanted),
            None => {
                eprintln!("{USAGE}");
                return ExitCode::from(EXIT_USAGE);
            }
        },
    };
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What to explore.
struct Wanted<'a> {
    bounds: Bounds,
    threads: usize,
    names: Vec<&'a str>,
}

impl<'a> Wanted<'a> {
    fn parse(words: &[&'a str]) -> Option<Self> {
        let mut wanted = Self { bounds: Bounds::Small, threads: 2, names: Vec::new() };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--bounds" => wanted.bounds = Bounds::parse(words.next()?)?,
                "--threads" => wanted.threads = words.next()?.parse().ok().filter(|count| *count > 0)?,
                name => wanted.names.push(known(name)?),
            }
        }
        Some(wanted)
    }

    fn scenarios(&self) -> impl Iterator<Item = Scenario> {
        let all =
            SCENARIOS.iter().filter(|(bounds, _)| *bounds == self.bounds).map(|(_, scenario)| *scenario);
        all.filter(|scenario| self.names.is_empty() || self.names.contains(&scenario.name))
    }
}

/// The name, if a scenario has it.
fn known(name: &str) -> Option<&str> {
    SCENARIOS.iter().any(|(_, scenario)| scenario.name == name).then_some(name)
}

fn prove(wanted: &Wanted<'_>) -> bool {
    let (mut holds, mut states, mut moves, mut seconds) = (true, 0, 0, 0.0);
    println!("{:<10} {:>10} {:>11} {:>6} {:>8}", "scenario", "states", "moves", "depth", "seconds");
    for scenario in wanted.scenarios() {
        let verdict = check(scenario, wanted.threads);
        let Figures { states: found, moves: made, depth, took } = verdict.figures;
        println!("{:<10} {found:>10} {made:>11} {depth:>6} {:>8.1}", scenario.name, took.as_secs_f64());
        tell(&verdict);
        holds &= verdict.holds();
        (states, moves, seconds) = (states + found, moves + made, seconds + took.as_secs_f64());
    }
    println!("{:<10} {states:>10} {moves:>11} {:>6} {seconds:>8.1}", "together", "");
    println!("{}", if holds { "every promise holds" } else { "NOT PROVED" });
    holds
}

fn tell(verdict: &Verdict) {
    for (promise, path) in &verdict.broken {
        println!("  {promise} is broken by");
        path.iter().for_each(|step| println!("    {step:?}"));
    }
    for landmark in &verdict.missed {
        println!("  {} is never reached", landmark.name());
    }
}

fn bugs() -> bool {
    let mut noticed = 0;
    for (plant, name, promise) in PLANTS {
        let small =
            SCENARIOS.iter().find(|(bounds, scenario)| *bounds == Bounds::Small && scenario.name == *name);
        let path = small.and_then(|(_, scenario)| find(*scenario, *plant, *promise));
        match path {
            Some(path) => {
                noticed += 1;
                println!("{plant:?}: noticed by {} after {} moves", promise.name(), path.len());
            }
            None => println!("{plant:?}: NOT noticed by {}", promise.name()),
        }
    }
    println!("{noticed} of {} planted bugs noticed", PLANTS.len());
    noticed == PLANTS.len()
}
