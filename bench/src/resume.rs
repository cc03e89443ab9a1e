//! Time to resume: a new process, from its start to the first effect that is due.
//!
//! A run is left as a crash leaves it, with a model call open. The child opens
//! the store, takes the run over and is done when the model is called again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bowline::store::{ListFilter, Role, RunStore, SqliteStore};
use serde_json::{Value, json};

use crate::report::{Judged, Section, Target};
use crate::watched::Watched;
use crate::world::{self, Last, Shape, World};
use crate::{Bench, stopwatch};

/// How the parent names this child.
pub(crate) const CHILD: &str = "resume-child";

/// Events of one round: reply, intent, outcome, next step.
const EVENTS_A_ROUND: usize = 4;

/// Events of the runs that are resumed.
const LENGTHS: [usize; 3] = [100, 1000, 10_000];

const PARTS: [&str; 5] = ["open", "claim", "fold", "append", "render"];

/// Measures all lengths, with a checkpoint and without.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "From the start of a new process to the call of the model, on runs of 200-byte messages. The \
        parts: open the store; claim (read and verify the journal); fold (and mail, workspace, model); append \
        of the takeover; render (the conversation, until the model has it). Medians; in \
        brackets the least and the most.";
    let mut section = Section::new("Time to resume", note);
    for &events in bench.sizes(&LENGTHS) {
        let world = World::new(&bench.folder(&format!("resume-{events}")))?;
        let shape = Shape { rounds: events / EVENTS_A_ROUND, bytes: 200, last: Last::Stalls };
        world.crash(1, shape)?;
        let with = repeat(bench, &world, shape.rounds, || Ok(()))?;
        let kept =
            checkpoint_seq(&world)?.map_or("no checkpoint".into(), |seq| format!("checkpoint at {seq}"));
        tell(&mut section, format!("{events} events, {kept}"), &with, limit(events, 100.0));
        let without = repeat(bench, &world, shape.rounds, || forget_checkpoints(&world))?;
        tell(
            &mut section,
            format!("{events} events, folded from the start"),
            &without,
            limit(events, 1000.0),
        );
    }
    Ok(section)
}

fn limit(events: usize, ms: f64) -> Option<f64> {
    (events == 10_000).then_some(ms)
}

fn tell(section: &mut Section, what: String, taken: &[Value], limit: Option<f64>) {
    let all = |part: &str| -> Vec<f64> {
        taken.iter().filter_map(|one| one.get(part).and_then(Value::as_f64)).collect()
    };
    let middle = |part: &str| stopwatch::median(all(part));
    let (total, range) = (middle("total"), stopwatch::range(&all("total")));
    let parts: Vec<String> = PARTS.iter().map(|part| format!("{part} {:.1}", middle(part))).collect();
    let result = format!("{total:.1} ms {range} ({})", parts.join(", "));
    match limit {
        Some(ms) => {
            section.judge(what, result, Judged { value: total, target: Target::AtMost(ms), unit: "ms" })
        }
        None => section.tell(what, result),
    }
}

fn repeat(
    bench: &Bench,
    world: &World,
    rounds: usize,
    mut prepare: impl FnMut() -> Result<()>,
) -> Result<Vec<Value>> {
    let mut taken = Vec::new();
    for _ in 0..bench.repeats() {
        prepare()?;
        let start = stopwatch::wall_nanos().to_string();
        let args = [CHILD.to_owned(), world.dir().display().to_string(), rounds.to_string(), start];
        taken.push(bench.child(&args)?);
    }
    Ok(taken)
}

fn database(world: &World) -> Result<rusqlite::Connection> {
    Ok(rusqlite::Connection::open(world.store_dir().join("store.db"))?)
}

fn forget_checkpoints(world: &World) -> Result<()> {
    database(world)?.execute("DELETE FROM checkpoints", [])?;
    Ok(())
}

fn checkpoint_seq(world: &World) -> Result<Option<i64>> {
    Ok(database(world)?.query_row("SELECT max(seq) FROM checkpoints", [], |row| row.get(0))?)
}

/// The child: resumes the one run in `dir` and tells how long each part took.
pub(crate) fn child(dir: &Path, rounds: usize, parent_start: u128) -> Result<Value> {
    let before = Duration::from_nanos(u64::try_from(stopwatch::wall_nanos() - parent_start)?);
    let start = stopwatch::now();
    let world = World::new(&PathBuf::from(dir))?;
    let store = Arc::new(Watched::new(SqliteStore::open(world.store_dir(), Role::Worker)?));
    let opened = stopwatch::now();
    world::runtime()?.block_on(async {
        let engine = world.engine(store.clone(), Shape { rounds, bytes: 200, last: Last::Stalls })?;
        let rows = store.list(ListFilter { open_only: true, ..ListFilter::default() }).await?;
        let run = rows.first().context("there is no run to resume")?.run.clone();
        let mut work = tokio::spawn(async move { engine.run(&run).await });
        tokio::select! {
            stopped = &mut work => bail!("the run did not call the model: {:?}", stopped??),
            stalled = world.until_stalled(1) => stalled?,
        }
        let called = *world.counts.first_stall.get().context("no model call was noted")?;
        work.abort();
        let moment = |of: &std::sync::OnceLock<_>| of.get().copied().context("a part was not noted");
        let (claimed, folded) = (moment(&store.claimed)?, moment(&store.folded)?);
        let appended = moment(&store.appended)?;
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        Ok(json!({
            "total": ms(before + (called - start)),
            "open": ms(opened - start),
            "claim": ms(claimed - opened),
            "fold": ms(folded - claimed),
            "append": ms(appended - folded),
            "render": ms(called - appended),
        }))
    })
}
