//! How often rules name the root cause of a planted defect.
//!
//! `cargo run -p bowline-core --example defects [-- --wrong] [FOLDER]` reads `bench/defects` and prints,
//! class by class, how many were right of those that can be told without a model. Cases that are
//! held out are counted apart and never listed: rules are made by looking at the others.

#![expect(clippy::print_stdout, reason = "an example speaks to a person")]
#![expect(clippy::disallowed_methods, reason = "the example reads the cases from disk; core does not")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};

use bowline_core::defect::{Cause, Evidence, RootCause, root_cause};
use bowline_core::quality::Failure;
use serde::Deserialize;

/// One line of `cases.jsonl`.
#[derive(Deserialize)]
struct Case {
    id: String,
    class: Cause,
    without_a_model: bool,
    held_out: bool,
    given: Evidence,
}

/// One line of `found.jsonl`.
#[derive(Deserialize)]
struct Found {
    id: String,
    failures: Vec<Failure>,
    misfits: Vec<Failure>,
}

/// How many were right, of how many; and how many were left to a model.
#[derive(Clone, Copy, Default)]
struct Count {
    right: u32,
    silent: u32,
    total: u32,
}

/// Counts by class, of cases that can be told: seen and held out.
#[derive(Default)]
struct Table {
    rows: BTreeMap<Cause, [Count; 2]>,
    /// Cases nobody can tell: right would be silence, or luck.
    untellable: Count,
}

impl Table {
    fn sum(&self, held_out: bool) -> Count {
        let of = |[seen, held]: &[Count; 2]| if held_out { *held } else { *seen };
        self.rows.values().map(of).fold(Count::default(), |sum, next| Count {
            right: sum.right + next.right,
            silent: sum.silent + next.silent,
            total: sum.total + next.total,
        })
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let cases = cases(&given.map_or_else(planted, PathBuf::from))?;
    if std::env::args().any(|argument| argument == "--wrong") {
        for (case, said) in judged(&cases).filter(|(case, _)| !case.held_out && case.without_a_model) {
            if said.as_ref().map(|said| said.cause) != Some(case.class) {
                println!("{}: {:?}, said {said:?}", case.id, case.class);
            }
        }
    }
    let table = score(&cases);
    let row = |name: &str, [seen, held]: [Count; 2]| {
        println!(
            "{name:<20} {:>3} of {:>3}   held out {:>3} of {:>3}   left to a model {:>2}",
            seen.right,
            seen.total,
            held.right,
            held.total,
            seen.silent + held.silent
        );
    };
    for (cause, counts) in &table.rows {
        row(&format!("{cause:?}"), *counts);
    }
    row("all", [table.sum(false), table.sum(true)]);
    let Count { right, silent, total } = table.untellable;
    println!("cannot be told: {total}, of which {silent} left to a model and {right} right by luck");
    Ok(())
}

/// The folder of the planted defects.
fn planted() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/defects")
}

/// The cases, with what the readers found in them.
fn cases(folder: &Path) -> Result<Vec<Case>, Box<dyn Error>> {
    let lines = |name: &str| {
        std::fs::read(folder.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    for line in lines("found.jsonl")?.lines() {
        let one: Found = serde_json::from_str(line)?;
        found.insert(one.id.clone(), one);
    }
    let mut cases = Vec::new();
    for line in lines("cases.jsonl")?.lines() {
        let mut case: Case = serde_json::from_str(line)?;
        let found = found.remove(&case.id).ok_or_else(|| format!("{} is not in found.jsonl", case.id))?;
        (case.given.failures, case.given.misfits) = (found.failures, found.misfits);
        cases.push(case);
    }
    Ok(cases)
}

fn judged(cases: &[Case]) -> impl Iterator<Item = (&Case, Option<RootCause>)> {
    cases.iter().map(|case| (case, root_cause(&case.given)))
}

fn score(cases: &[Case]) -> Table {
    let mut table = Table::default();
    for (case, said) in judged(cases) {
        let count = if case.without_a_model {
            let [seen, held] = table.rows.entry(case.class).or_default();
            if case.held_out { held } else { seen }
        } else {
            &mut table.untellable
        };
        count.total += 1;
        count.right += u32::from(said.as_ref().is_some_and(|said| said.cause == case.class));
        count.silent += u32::from(said.is_none());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_of_ten_root_causes_are_right_where_they_can_be_told() {
        let table = score(&cases(&planted()).unwrap());
        for held_out in [false, true] {
            let Count { right, total, .. } = table.sum(held_out);
            assert!(right * 10 >= total * 9, "{right} of {total}, held out: {held_out}");
        }
        assert_eq!(table.rows.len(), Cause::ALL.len());
    }

    #[test]
    fn a_third_is_held_out_and_sixty_are_there() {
        let cases = cases(&planted()).unwrap();
        let held_out = cases.iter().filter(|case| case.held_out).count();
        assert!(cases.len() >= 60 && held_out >= 20, "{} cases, {held_out} held out", cases.len());
    }
}
