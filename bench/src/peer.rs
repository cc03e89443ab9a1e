//! The same loop on LangGraph with its SQLite checkpointer, each step synced.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::report::{Judged, Section, Target};
use crate::world::{Last, Shape};
use crate::{Bench, space, stopwatch};

/// Bytes of each message.
const TEXT: usize = 200;

const TITLE: &str = "Beside LangGraph";

/// One loop on the peer.
struct Theirs {
    seconds: f64,
    bytes: f64,
    versions: String,
}

/// Measures both, in turns.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let python = match environment() {
        Ok(python) => python,
        Err(error) => {
            return Ok(Section::new(TITLE, format!("Skipped: LangGraph is not available ({error:#}).")));
        }
    };
    let mut section = Section::new(TITLE, "");
    let mut versions = String::new();
    for &rounds in bench.sizes(&[50, 200, 400]) {
        let theirs = run(bench, &python, rounds)?;
        let mut rates = Vec::new();
        let mut bytes = 0.0;
        for repeat in 0..bench.repeats() {
            let dir = bench.folder(&format!("peer-{rounds}-{repeat}"));
            let ours = space::weigh(&dir, Shape { rounds, bytes: TEXT, last: Last::Done })?;
            rates.push(rounds as f64 / ours.seconds);
            bytes = ours.stored as f64;
        }
        let range = stopwatch::range(&rates);
        let (ours, theirs_rate) = (stopwatch::median(rates), rounds as f64 / theirs.seconds);
        let ratio = ours / theirs_rate;
        let what = format!("{rounds} rounds");
        let result = format!("{ratio:.1} × ({ours:.0} rounds/s {range} against {theirs_rate:.1})");
        if rounds == 400 {
            section.judge(&what, result, Judged { value: ratio, target: Target::AtLeast(20.0), unit: "×" });
        } else {
            section.tell(&what, result);
        }
        let smaller = theirs.bytes / bytes;
        section.tell(
            format!("{what}, stored"),
            format!("{smaller:.1} × less ({bytes:.0} bytes against {:.0})", theirs.bytes),
        );
        versions = theirs.versions;
    }
    Ok(section.noting(format!(
        "A model and a tool node in this process, {TEXT}-byte messages, one run; both write SQLite in WAL \
         mode with synchronous=FULL, LangGraph with durability=\"sync\". Versions: {versions}."
    )))
}

fn run(bench: &Bench, python: &Path, rounds: usize) -> Result<Theirs> {
    let dir = bench.folder(&format!("langgraph-{rounds}"));
    std::fs::create_dir_all(&dir)?;
    let mut command = Command::new(python);
    command.arg(scripts().join("loop.py")).arg(&dir).arg(rounds.to_string()).arg(TEXT.to_string());
    let told: Value = serde_json::from_slice(&output(&mut command)?)?;
    std::fs::remove_dir_all(&dir)?;
    let number = |name: &str| told.get(name).and_then(Value::as_f64).context("the loop told too little");
    let versions = told.get("versions").and_then(Value::as_object).into_iter().flatten();
    let versions: Vec<String> =
        versions.map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("?"))).collect();
    Ok(Theirs { seconds: number("seconds")?, bytes: number("bytes")?, versions: versions.join(", ") })
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("langgraph")
}

/// The Python of a virtual environment that has what the script needs; made
/// once, outside the clone, and again when the pinned versions change.
fn environment() -> Result<PathBuf> {
    let wanted = std::fs::read_to_string(scripts().join("requirements.txt"))?;
    let venv = cache_dir()?.join("bowline-bench-venv");
    let (python, mark) = (venv.join("bin").join("python"), venv.join("installed.txt"));
    if std::fs::read_to_string(&mark).is_ok_and(|there| there == wanted) && python.exists() {
        return Ok(python);
    }
    output(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1"]);
    output(pip.arg("--requirement").arg(scripts().join("requirements.txt")))?;
    std::fs::write(&mark, wanted)?;
    Ok(python)
}

fn cache_dir() -> Result<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache"))).context("there is no home folder")
}

fn output(command: &mut Command) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().with_context(|| format!("cannot start {name}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        bail!("{name} ended with {}: {last}", done.status);
    }
    Ok(done.stdout)
}
