//! `cargo xtask schemas`: writes, checks or records the files of `schemas/`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what the person at the terminal reads"
)]

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use bowline_schemas::{published, recorded};

const USAGE: &str = "usage: bowline-schemas FOLDER [--check | --record RELEASE]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Result<()> {
    match words {
        [folder] => {
            let told = published::write(Path::new(folder))?;
            told.iter().for_each(|line| println!("{line}"));
            println!("{} schemas are what the types say", published::made()?.len());
            Ok(())
        }
        [folder, "--check"] => {
            let folder = Path::new(folder);
            let mut wrong = published::check(folder)?;
            let is_made = wrong.is_empty();
            wrong.extend(recorded::check(folder)?);
            wrong.iter().for_each(|line| println!("{line}"));
            if !is_made {
                bail!("run `cargo xtask schemas`, and look at what it changes");
            }
            if !wrong.is_empty() {
                bail!(
                    "keep what others rely on, or raise the version of the contract and go on reading the old one"
                );
            }
            println!(
                "{} schemas are what the types say, and only add to what was recorded",
                published::made()?.len()
            );
            Ok(())
        }
        [folder, "--record", release] => {
            let folder = Path::new(folder);
            let wrong = published::check(folder)?;
            if let Some(first) = wrong.first() {
                bail!("{first}; run `cargo xtask schemas` first");
            }
            println!("recorded {}", recorded::record(folder, release)?.display());
            Ok(())
        }
        _ => bail!("{USAGE}"),
    }
}
