//! Bytes stored for each byte of payload.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anyhow::{Result, ensure};
use bowline::Stopped;
use bowline::core::event::Ending;
use bowline::store::RunStore;

use crate::Bench;
use crate::report::{Judged, Section, Target};
use crate::world::{self, Last, Shape, World};
use crate::{disk, stopwatch};

/// One finished run, weighed.
pub(crate) struct Weighed {
    /// Bytes on disk beyond an empty store.
    pub(crate) stored: u64,
    /// Bytes of replies, arguments and outputs.
    pub(crate) payload: u64,
    /// Events in its journal.
    pub(crate) events: u64,
    /// What those bytes are, each with its bytes.
    pub(crate) parts: Vec<(String, u64)>,
    /// Seconds from submission to the end.
    pub(crate) seconds: f64,
}

/// Measures all sizes.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "One whole run; the store is closed, its log emptied, and an empty store subtracted. Payload \
        is every reply, every call's arguments and every output, once.";
    let mut section = Section::new("Bytes stored per byte of payload", note);
    for bytes in [200, 4096] {
        let mut sizes = Vec::new();
        for &rounds in bench.sizes(&[50, 200, 400]) {
            let dir = bench.folder(&format!("space-{bytes}-{rounds}"));
            let weighed = weigh(&dir, Shape { rounds, bytes, last: Last::Done })?;
            tell(&mut section, rounds, bytes, &weighed);
            sizes.push(weighed.stored as f64);
        }
        if let [_, middle, large] = sizes.as_slice() {
            let growth = large / middle;
            section.judge(
                format!("growth from 200 to 400 rounds of {bytes} bytes"),
                format!("{growth:.2} ×"),
                Judged { value: growth, target: Target::AtMost(2.1), unit: "× (linear)" },
            );
        }
    }
    Ok(section)
}

fn tell(section: &mut Section, rounds: usize, bytes: usize, weighed: &Weighed) {
    let Weighed { stored, payload, events, parts, .. } = weighed;
    let factor = *stored as f64 / *payload as f64;
    let overhead = (*stored as f64 - *payload as f64) / *events as f64;
    let what = format!("{rounds} rounds of {bytes} bytes");
    let result = format!("{factor:.2} × ({stored} for {payload} bytes)");
    if bytes >= 4096 {
        let judged = Judged { value: factor, target: Target::AtMost(1.3), unit: "×" };
        section.judge(what.clone(), result, judged);
    } else {
        section.tell(what.clone(), result);
    }
    section.judge(
        format!("{what}, overhead"),
        format!("{overhead:.0} bytes an event ({events} events)"),
        Judged { value: overhead, target: Target::AtMost(400.0), unit: "bytes" },
    );
    let parts: Vec<String> =
        parts.iter().map(|(name, bytes)| format!("{name} {:.0}", *bytes as f64 / *events as f64)).collect();
    section.tell(format!("{what}, where"), format!("{} bytes an event", parts.join(", ")));
}

/// Runs one loop to its end in a fresh store, and weighs what is left.
pub(crate) fn weigh(dir: &Path, shape: Shape) -> Result<Weighed> {
    let empty = World::new(&dir.join("empty"))?;
    drop(empty.open()?);
    let nothing = disk::settled_bytes(&empty.store_dir())?;
    let world = World::new(&dir.join("run"))?;
    let runtime = world::runtime()?;
    let (seconds, events) = runtime.block_on(async {
        let store: Arc<dyn RunStore> = Arc::new(world.open()?);
        let engine = world.engine(store.clone(), shape)?;
        let start = stopwatch::now();
        let (_, stopped) = engine.run_task(world.task("never")?).await?;
        let seconds = start.elapsed().as_secs_f64();
        ensure!(matches!(stopped, Stopped::Ended(Ending::Committed { .. })), "the run ended as {stopped:?}");
        let (_, events) = world::written(store.as_ref()).await?;
        anyhow::Ok((seconds, events))
    })?;
    // The last task that holds the store goes with the runtime.
    drop(runtime);
    let stored = disk::settled_bytes(&world.store_dir())?.saturating_sub(nothing);
    let parts = disk::parts(&world.store_dir())?;
    let payload = world.counts.payload.load(Ordering::Relaxed);
    std::fs::remove_dir_all(dir)?;
    Ok(Weighed { stored, payload, events, parts, seconds })
}
