//! What the person at the terminal reads: a line for each file, and the sum.

#![expect(clippy::print_stdout, reason = "this is what the person at the terminal reads")]

use std::collections::BTreeMap;

use crate::mutants::found::Mutant;
use crate::mutants::kept::Outcome;

/// How many changes came to what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    killed: usize,
    timed_out: usize,
    unviable: usize,
    survived: usize,
    not_run: usize,
}

impl Sum {
    pub(super) fn add(&mut self, outcome: Outcome) {
        let count = match outcome {
            Outcome::Killed => &mut self.killed,
            Outcome::TimedOut => &mut self.timed_out,
            Outcome::Unviable => &mut self.unviable,
            Outcome::Survived => &mut self.survived,
            Outcome::NotRun => &mut self.not_run,
        };
        *count += 1;
    }

    /// Of those that ran, which were noticed, in tenths of a per cent, rounded down.
    fn tenths(self) -> usize {
        let noticed = self.killed + self.timed_out;
        (noticed * 1000).checked_div(noticed + self.survived).unwrap_or_default()
    }

    pub(super) fn line(self, name: &str) -> String {
        let mut line = format!(
            "{:>5}.{} % noticed: {} killed, {} hung, {} survived; {} do not compile",
            self.tenths() / 10,
            self.tenths() % 10,
            self.killed,
            self.timed_out,
            self.survived,
            self.unviable,
        );
        if self.not_run > 0 {
            line.push_str(&format!("; {} not run", self.not_run));
        }
        format!("{line}  {name}")
    }
}

/// Prints a line for each file, each survivor, and the sum.
pub(super) fn print(judged: &[(Mutant, Outcome)]) {
    let mut files: BTreeMap<&str, Sum> = BTreeMap::new();
    let mut sum = Sum::default();
    for (mutant, outcome) in judged {
        files.entry(&mutant.file).or_default().add(*outcome);
        sum.add(*outcome);
    }
    for (file, sum) in &files {
        println!("{}", sum.line(file));
    }
    for (mutant, _) in judged.iter().filter(|(_, outcome)| *outcome == Outcome::Survived) {
        println!("survived: {}", mutant.name);
    }
    println!("{}", sum.line(&format!("all {}", judged.len())));
}
