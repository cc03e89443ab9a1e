//! The controller of repair against simulated repairs: measures, and writes
//! `docs/control.md` with its charts.
//!
//! `control [--runs N] [--seed S] [--series FILE] [--out DIR]`. The same words give
//! the same page on every machine. Ends with 1 when something the page promises is
//! not met.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is what the person at the terminal reads"
)]

mod chart;
mod dice;
mod page;
mod policy;
mod study;
#[cfg(test)]
mod tests;
mod world;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use study::Size;

const USAGE: &str = "usage: control [--runs N] [--seed S] [--series FILE] [--out DIR]";

struct Asked {
    size: Size,
    series: PathBuf,
    out: PathBuf,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match asked(&args).and_then(|asked| run(&asked)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("control: {error}");
            ExitCode::from(2)
        }
    }
}

fn asked(args: &[String]) -> Result<Asked, String> {
    let mut asked = Asked {
        size: Size { runs: 10_000, seed: 15 },
        series: PathBuf::from("fixtures/control/series.json"),
        out: PathBuf::from("docs"),
    };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        let wrong = |what: &str| format!("{word} wants {what}, not {value:?}");
        match word.as_str() {
            "--runs" => asked.size.runs = value.parse().map_err(|_| wrong("a number of runs"))?,
            "--seed" => asked.size.seed = value.parse().map_err(|_| wrong("a number"))?,
            "--series" => asked.series = value.into(),
            "--out" => asked.out = value.into(),
            _ => return Err(USAGE.into()),
        }
    }
    Ok(asked)
}

#[expect(clippy::disallowed_methods, reason = "a study writes its page; core itself writes nothing")]
fn run(asked: &Asked) -> Result<bool, String> {
    let moves = moves(&asked.series)?;
    let figures = page::Figures::measure(asked.size, &moves);
    let write = |name: &str, text: &str| {
        let path = asked.out.join(name);
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
    };
    write("control.md", &figures.page(asked.size))?;
    write("control-rounds.svg", &chart::rounds(asked.size))?;
    write("control-cost.svg", &chart::costs(&figures))?;
    let broken = figures.broken();
    broken.iter().for_each(|promise| eprintln!("control: {promise}"));
    println!("{}", figures.summary());
    Ok(broken.is_empty())
}

/// What one repair did, over all series of a file.
fn moves(path: &Path) -> Result<Vec<f64>, String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let file: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{} is no JSON: {error}", path.display()))?;
    let series =
        file.get("series").and_then(serde_json::Value::as_array).ok_or("there is no list `series`")?;
    let numbers = |one: &serde_json::Value| -> Vec<f64> {
        one.as_array().into_iter().flatten().filter_map(serde_json::Value::as_f64).collect()
    };
    let step = |one: Vec<f64>| one.windows(2).filter_map(|pair| Some(pair.last()? - pair.first()?)).collect();
    let moves: Vec<f64> = series.iter().map(numbers).flat_map::<Vec<f64>, _>(step).collect();
    if moves.is_empty() { Err("no series has two rounds".into()) } else { Ok(moves) }
}
