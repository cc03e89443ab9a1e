//! Measures the layers against injection and prints the tables of `docs/injection.md`.
//!
//! `trajectories DIR` reads the recorded trajectories in a folder and prints the
//! same text for the same input on every machine; `benign PATH…` counts false alarms
//! among texts that nobody meant as an attack; `speed` measures throughput.
//! Each ends with 1 when something it holds is not met.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what the person at the terminal reads"
)]

mod benign;
mod speed;
mod suspicious;
mod tainted;
mod trajectory;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "usage: injection trajectories DIR | benign PATH… | speed";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["trajectories", folder] => trajectories(Path::new(folder)),
        ["benign", paths @ ..] if !paths.is_empty() => benign::run(paths),
        ["speed"] => Ok(speed::run()),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("injection: {error}");
            ExitCode::from(2)
        }
    }
}

/// Anything that keeps a measurement from happening.
type Trouble = Box<dyn std::error::Error>;

fn trajectories(folder: &Path) -> Result<bool, Trouble> {
    let mut suspicious = suspicious::Tally::default();
    let mut tainted = tainted::Tally::default();
    for file in trajectory::files(folder)? {
        trajectory::each(&file, |run| {
            suspicious.take(&run);
            tainted.take(&run);
        })?;
    }
    // Both always print.
    let met = [suspicious.print(), tainted.print()];
    Ok(met.iter().all(|met| *met))
}
