//! Memory of a thousand runs at once, seen from a fresh process.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::Bench;
use crate::report::{Judged, Section, Target};
use crate::world::{self, Last, Shape, World};

/// How the parent names this child.
pub(crate) const CHILD: &str = "memory-child";

/// Runs at once.
const RUNS: usize = 1000;

/// Most megabytes that a thousand runs at work may take.
const ACTIVE_MB: f64 = 512.0;

/// Measures waiting and working runs.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "Resident memory of a fresh process. Idle: waiting for an approval, released. Active: each in \
        a model call that hangs, after some rounds of 200-byte messages.";
    let mut section = Section::new("Memory of 1,000 runs", note);
    let waiting = World::new(&bench.folder("memory-idle"))?;
    world::runtime()?.block_on(wait_for_approval(&waiting))?;
    let idle = bench.child(&args(&waiting, 0))?;
    let (base, after) = (kilobytes(&idle, "base")?, kilobytes(&idle, "after")?);
    section.tell(
        "idle, 1,000",
        format!(
            "{:.1} MB, {:.2} KB a run beyond the {:.1} MB of an open store",
            mb(after),
            (after - base) / 1000.0,
            mb(base)
        ),
    );
    for rounds in [0, bench.fewer(20)] {
        let world = World::new(&bench.folder(&format!("memory-active-{rounds}")))?;
        world.crash(RUNS, Shape { rounds, bytes: 200, last: Last::Stalls })?;
        let active = bench.child(&args(&world, rounds))?;
        let (base, after, most) =
            (kilobytes(&active, "base")?, kilobytes(&active, "after")?, kilobytes(&active, "most")?);
        section.judge(
            format!("active, 1,000 after {rounds} rounds"),
            format!(
                "{:.1} MB, {:.1} KB a run; {:.1} MB at most",
                mb(after),
                (after - base) / 1000.0,
                mb(most)
            ),
            Judged { value: mb(most), target: Target::AtMost(ACTIVE_MB), unit: "MB" },
        );
    }
    Ok(section)
}

fn args(world: &World, rounds: usize) -> [String; 3] {
    [CHILD.to_owned(), world.dir().display().to_string(), rounds.to_string()]
}

fn kilobytes(told: &Value, what: &str) -> Result<f64> {
    told.get(what).and_then(Value::as_f64).with_context(|| format!("the child did not tell {what}"))
}

fn mb(kilobytes: f64) -> f64 {
    kilobytes / 1024.0
}

async fn wait_for_approval(world: &World) -> Result<()> {
    let store = Arc::new(world.open()?);
    let engine = world.engine(store, Shape { rounds: 1, bytes: 200, last: Last::Done })?;
    world.submit(&engine, RUNS, "always").await?;
    let stopped = engine.work_off(RUNS).await?;
    let waiting =
        stopped.iter().filter(|(_, stopped)| matches!(stopped, Ok(bowline::Stopped::Waiting(_)))).count();
    ensure!(waiting == RUNS, "{waiting} of {RUNS} runs wait for an approval");
    Ok(())
}

/// The child: works on whatever can go on in `dir` until each hangs in a call.
pub(crate) fn child(dir: &Path, rounds: usize) -> Result<Value> {
    let world = World::new(dir)?;
    world::runtime()?.block_on(async {
        let store = Arc::new(world.open()?);
        let engine = world.engine(store, Shape { rounds, bytes: 200, last: Last::Stalls })?;
        let base = status("VmRSS:")?;
        let mut work = tokio::spawn(async move { engine.work_off(RUNS).await });
        // Waiting runs leave nothing to do; working ones never come back.
        tokio::select! {
            done = &mut work => { done??; }
            stalled = world.until_stalled(RUNS as u64) => stalled?,
        }
        let told = json!({ "base": base, "after": status("VmRSS:")?, "most": status("VmHWM:")? });
        work.abort();
        Ok(told)
    })
}

/// A line of what the system knows of this process, in kilobytes.
pub(crate) fn status(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory is read from /proc")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let words = line.and_then(|rest| rest.split_whitespace().next());
    words.and_then(|number| number.parse().ok()).with_context(|| format!("there is no {field} in /proc"))
}
