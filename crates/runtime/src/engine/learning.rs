//! What repairs did in runs of the same class: asked once, when a task is submitted,
//! and kept in its journal, so that a replay needs no other run.

use bowline_core::control::{Move, Plant, estimate, moves};
use bowline_core::event::Event;
use bowline_core::id::RunId;
use bowline_core::task::Task;
use bowline_core::view::quality_series;
use bowline_store::{ListFilter, RunStore};

use crate::fold::history;

/// Latest runs that are looked at, and how many of the class are read.
const RUNS_MAX: usize = 200;
const READ_MAX: usize = 32;

/// Gain and noise of the task's class; `None` where it has none, or no run of it
/// repaired anything. What cannot be read is left out: a submission does not fail for it.
pub(super) async fn plant(store: &dyn RunStore, task: &Task) -> Option<Plant> {
    let class = task.class.as_deref()?;
    let rows = store.list(ListFilter { max: RUNS_MAX, ..ListFilter::default() }).await.ok()?;
    let mut seen: Vec<Move> = Vec::new();
    let mut read = 0;
    for row in rows.iter().filter(|row| row.summary.ending.is_some()) {
        if read == READ_MAX {
            break;
        }
        if is_of(store, &row.run, class).await {
            read += 1;
            let events = history(store, &row.run, 1, u64::MAX).await.unwrap_or_default();
            seen.extend(moves(&quality_series(events.iter().map(|(_, _, event)| event))));
        }
    }
    (!seen.is_empty()).then(|| estimate(&seen, &Plant::default()))
}

async fn is_of(store: &dyn RunStore, run: &RunId, class: &str) -> bool {
    let first = history(store, run, 1, 1).await.unwrap_or_default();
    first.iter().any(|(_, _, event)| match event {
        Event::Submitted(submission) => submission.task.class.as_deref() == Some(class),
        _ => false,
    })
}
