//! Durable transitions per second: acknowledged appends on the SQLite store, and
//! the same through the whole engine, beside the bare disk.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bowline::core::budget::Cost;
use bowline::core::event::{Event, Outcome, Purpose};
use bowline::core::id::{ActionId, Millis, SubtaskId, ToolName, WorkerId};
use bowline::core::message::{Call, Payload, Stop, Usage};
use bowline::core::provenance::Digest;
use bowline::core::tool::{Repeat, Touch};
use bowline::store::{Append, Fence, ListFilter, RunStore, SqliteStore, Summary};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::Bench;
use crate::disk::{self, Beside, Medians, Place};
use crate::report::{Judged, Section, Target};
use crate::stopwatch;
use crate::world::{self, Last, Shape, World};

/// Bytes of each text.
const TEXT: usize = 200;

/// Runs at once, what their appends should reach of the bare disk, and the
/// rounds each gets in the engine.
const LOADS: [(usize, f64, usize); 3] = [(1, 0.8, 200), (64, 8.0, 25), (1000, 12.0, 8)];

/// Measures all loads.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "A transition is one acknowledged append: alternately a reply with the intent of its call, \
        and the outcome with the next step, 200 bytes of text each. The baseline appends 512 bytes to a \
        plain file and syncs them, right before and after each measurement. Medians. \
        In brackets the least and the largest ratio: where they lie far apart, the disk was shared and a \
        ratio, also one above 1 for a single run, says little. Each commit is one sync. For comparison, the \
        first line writes over a file instead of growing it, as SQLite does in a log it has used before.";
    let mut section = Section::new("Durable transitions per second", note);
    let overwrites: Vec<Beside> = (0..bench.repeats())
        .map(|_| {
            let (dir, window) = (bench.scratch(), bench.raw_window());
            Beside::take(dir, window, || disk::raw_writes_per_second(dir, window, Place::Overwrite))
        })
        .collect::<Result<_>>()?;
    let Medians { rate, raw, ratio, range } = disk::medians(&overwrites);
    section
        .tell("bare disk, written over", format!("{ratio:.2} × {range} ({rate:.0}/s; appending {raw:.0}/s)"));
    for (runs, target, rounds) in LOADS {
        let (taken, grouped) = appends(bench, runs)?;
        let Medians { rate, raw, ratio, range } = disk::medians(&taken);
        section.judge(
            format!("store, {runs} at once"),
            format!(
                "{ratio:.2} × {range} ({rate:.0}/s; bare disk {raw:.0}/s; {grouped:.1} appends a commit)"
            ),
            Judged { value: ratio, target: Target::AtLeast(target), unit: "×" },
        );
        let taken = engine(bench, runs, rounds)?;
        let Medians { rate, raw, ratio, range } = disk::medians(&taken);
        section.tell(
            format!("engine, {runs} at once"),
            format!("{ratio:.2} × {range} ({rate:.0}/s; bare disk {raw:.0}/s)"),
        );
    }
    Ok(section)
}

fn appends(bench: &Bench, runs: usize) -> Result<(Vec<Beside>, f64)> {
    let world = World::new(&bench.folder(&format!("appends-{runs}")))?;
    let runtime = world::runtime()?;
    let store = Arc::new(world.open()?);
    let mut fences = runtime.block_on(claims(&world, &store, runs))?;
    let before = store.stats();
    let mut taken = Vec::new();
    for _ in 0..bench.repeats() {
        taken.push(Beside::take(bench.scratch(), bench.raw_window(), || {
            append_for(&runtime, &store, &mut fences, bench.window())
        })?);
    }
    let after = store.stats();
    let grouped = (after.jobs - before.jobs) as f64 / (after.commits - before.commits) as f64;
    Ok((taken, grouped))
}

async fn claims(world: &World, store: &Arc<SqliteStore>, runs: usize) -> Result<Vec<Fence>> {
    let shape = Shape { rounds: 0, bytes: TEXT, last: Last::Done };
    let engine = world.engine(store.clone(), shape)?;
    world.submit(&engine, runs, "never").await?;
    let worker = WorkerId::parse("bench")?;
    let claimed = store.claim_ready(&worker, runs, u64::MAX / 4, Millis(1)).await?;
    ensure!(claimed.len() == runs, "only {} of {runs} runs could be claimed", claimed.len());
    Ok(claimed.into_iter().map(|claimed| claimed.fence).collect())
}

/// Every run appends as fast as it is acknowledged, until the time is over.
fn append_for(
    runtime: &Runtime,
    store: &Arc<SqliteStore>,
    fences: &mut Vec<Fence>,
    window: Duration,
) -> Result<f64> {
    runtime.block_on(async {
        let start = stopwatch::now();
        let mut at_work = JoinSet::new();
        for fence in fences.drain(..) {
            at_work.spawn(append_until(store.clone(), fence, start, window));
        }
        let mut total = 0;
        while let Some(done) = at_work.join_next().await {
            let (fence, count) = done??;
            fences.push(fence);
            total += count;
        }
        Ok(stopwatch::rate(total, start.elapsed()))
    })
}

async fn append_until(
    store: Arc<SqliteStore>,
    mut fence: Fence,
    start: Instant,
    window: Duration,
) -> Result<(Fence, u64)> {
    let mut count = 0;
    while start.elapsed() < window {
        let transition = fence.next_seq / 2;
        let append = append(transition)?;
        store.append(&mut fence, append).await?;
        count += 1;
    }
    Ok((fence, count))
}

/// What the engine would append at this point of a loop.
fn append(transition: u64) -> Result<Append> {
    let step = u32::try_from(transition / 2)?;
    let digest = |of: &str| Digest::of_parts(&[of.as_bytes(), &transition.to_be_bytes()]);
    let text = Payload::inline(&format!("{transition:0>TEXT$}"));
    let events =
        if transition.is_multiple_of(2) { asks(step, text, digest)? } else { hears(step, text, digest)? };
    let summary = Summary {
        goal: "Look up everything there is and say what it comes to".into(),
        phase: "acting".into(),
        steps: step,
        tool_calls: step,
        tokens: transition * 525,
        ..Summary::default()
    };
    let at = Millis(1_700_000_000_000 + transition);
    Ok(Append { at, events, blobs: Vec::new(), checkpoint: None, summary, consumed: Vec::new() })
}

/// A reply that asks for a call, and the call.
fn asks(step: u32, text: Payload, digest: impl Fn(&str) -> Digest) -> Result<Vec<Event>> {
    let args = format!("{{\"at\":{step}}}");
    let call = Call {
        id: format!("call-{step}").into(),
        tool: "look".into(),
        args: Payload::inline(&args),
        sha256: None,
    };
    let usage = Usage { input: 1000, output: 50, ..Usage::default() };
    let finished = Event::StepFinished {
        step,
        stop: Stop::ToolUse,
        usage,
        micros: 0,
        text,
        calls: vec![call],
        heard: None,
        likelihood: None,
        claim: None,
    };
    let started = Event::CallStarted {
        action: ActionId { step, index: 0 },
        tool: ToolName::parse("look")?,
        args: digest("args"),
        touch: Touch::Read,
        repeat: Repeat::Freely,
        key: digest("key"),
        attempt: 1,
        image: None,
        micros: 0,
        reserved: None,
        undo: None,
    };
    Ok(vec![finished, started])
}

/// The result of a call, and the next question.
fn hears(step: u32, text: Payload, digest: impl Fn(&str) -> Digest) -> Result<Vec<Event>> {
    let finished = Event::CallFinished {
        action: ActionId { step, index: 0 },
        outcome: Outcome::Ok,
        output: text,
        full: None,
        duration_ms: 3,
        trace: None,
        suspicions: Vec::new(),
        spent: None,
    };
    let reserved = Cost { tokens: 5000, micros: 100 };
    Ok(vec![
        finished,
        Event::StepStarted {
            step: step + 1,
            purpose: Purpose::Act(SubtaskId::parse("main")?),
            request: digest("request"),
            reserved,
            notice: None,
            last: None,
            sent: None,
        },
    ])
}

fn engine(bench: &Bench, runs: usize, rounds: usize) -> Result<Vec<Beside>> {
    let mut taken = Vec::new();
    for repeat in 0..bench.repeats() {
        let dir = bench.folder(&format!("engine-{runs}-{repeat}"));
        let window = bench.raw_window();
        taken.push(Beside::take(bench.scratch(), window, || engine_rate(&dir, runs, bench.fewer(rounds)))?);
        std::fs::remove_dir_all(&dir)?;
    }
    Ok(taken)
}

/// Records per second from the first claim to the last ending.
fn engine_rate(dir: &Path, runs: usize, rounds: usize) -> Result<f64> {
    let world = World::new(dir)?;
    let store: Arc<dyn RunStore> = Arc::new(world.open()?);
    world::runtime()?.block_on(async {
        let engine = world.engine(store.clone(), Shape { rounds, bytes: TEXT, last: Last::Done })?;
        world.submit(&engine, runs, "never").await?;
        let start = stopwatch::now();
        let stopped = engine.work_off(runs).await?;
        let took = start.elapsed();
        ensure!(stopped.len() == runs, "only {} of {runs} runs came to a stop", stopped.len());
        let open = ListFilter { open_only: true, ..ListFilter::default() };
        ensure!(store.list(open).await?.is_empty(), "some runs did not end");
        let (records, _) = world::written(store.as_ref()).await?;
        Ok(stopwatch::rate(records - runs as u64, took))
    })
}
