//! `cargo xtask <command>`: names the checks and ends with 0 only if they pass.

#![expect(clippy::print_stderr, reason = "this is what the person at the terminal reads")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use xtask::{
    ci, control, fuzz, hostile, kill, layers, licences, mcp, mutants, past, prove, redteam, release, schemas,
    sim, tidy,
};

const USAGE: &str = "usage: cargo xtask <command>

  ci [STAGE…]   everything a change must pass, or only the named stages
  tidy          house rules: pages, sizes, purity of core, names, bans
  layers        which crate depends on which, against the table in Cargo.toml
  licences      every dependency has a permissive licence
  schemas       writes schemas/ as the types say it (--check: only looks, also against the recorded set;
                --record RELEASE: keeps today's set for ever)
  release       every step of a release that this machine can do; publishes nothing (--dry-run: writes nothing)
  kill [ARG…]   SIGKILL for the real program, resume, proof (--count N, --seed S)
  sim [ARG…]    the engine in simulated worlds (--seeds N, --seed S), or with --bugs in it
  control [ARG…] the controller of repair against simulated repairs; writes docs/control.md
                (--runs N, --seed S)
  prove [ARG…]  every state of the run machine in bounded worlds (--bounds small|full, --threads N, SCENARIO…),
                or with --bugs around it
  benign PATH…  false alarms of the guard against injections among the texts below the paths
  hostile DIR   the guards against hostile cases: every set (NAME.jsonl) found in DIR (--rounds N of its races)
  redteam [DIR] attacks on the real program, each a file in DIR (fixtures/redteam), with and without the wall
  fixtures record --bin PROGRAM --out DIR [NAME…]
                homes with open runs, and journals, as this program leaves them (fixtures/past)
  mcp DIR       real MCP servers and the conformance suite, installed into DIR
  mutants [ARG…] breaks core::guard, or FILE…, in small ways; a test must notice
                (--shard K/N, --tests PACKAGE[::TARGET[::PART]], --anew)
  fuzz [ARG…]   inputs nobody thought of: no target panics, no promise breaks
                (--seconds N, --seed S, --input FILE, TARGET…)
  bench [ARG…]  what Bowline costs, against the bare disk and a peer (--quick: half a minute)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, rest)) = args.split_first() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let outcome = root().and_then(|root| match (command.as_str(), rest) {
        ("ci", stages) => ci::run(&root, stages).map(|()| true),
        ("tidy", []) => ci::rule(&root, tidy::run).map(|()| true),
        ("layers", []) => ci::rule(&root, layers::run).map(|()| true),
        ("licences", []) => ci::rule(&root, licences::run).map(|()| true),
        ("release", words) => release::run(&root, words).map(|()| true),
        ("schemas", words) => schemas::run(&root, words).map(|()| true),
        ("kill", words) => kill::run(&root, words).map(|()| true),
        ("sim", words) => sim::run(&root, words).map(|()| true),
        ("control", words) => control::run(&root, words).map(|()| true),
        ("prove", words) => prove::run(&root, words).map(|()| true),
        ("hostile", [folder, options @ ..]) => hostile::run(&root, folder, options).map(|()| true),
        ("benign", paths) => hostile::benign(&root, paths).map(|()| true),
        ("redteam", words) => redteam::run(&root, words).map(|()| true),
        ("fixtures", [record, words @ ..]) if record == "record" => past::run(&root, words).map(|()| true),
        ("mcp", [folder]) => mcp::run(&root, folder).map(|()| true),
        ("mutants", words) => mutants::run(&root, words).map(|()| true),
        ("fuzz", words) => fuzz::run(&root, words).map(|()| true),
        ("bench", args) => xtask::bench::run(&root, args).map(|()| true),
        _ => Ok(false),
    });
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The clone this was built from.
fn root() -> Result<PathBuf> {
    // Asked at run time: with one target folder for two clones, the path of the build
    // may be the other one's.
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&folder).parent().context("xtask lies in no workspace")?;
    root.canonicalize().with_context(|| format!("{} is gone; build xtask again", root.display()))
}
