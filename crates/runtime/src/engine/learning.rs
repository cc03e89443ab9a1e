//! What runs of the same class tell of the next one: asked once, when a task is
//! submitted, and kept in its journal, so that a replay needs no other run.

use std::collections::BTreeSet;

use bowline_core::control::{Move, Plant, Rates, estimate, moves};
use bowline_core::gate::{Calibration, Recorded, fit};
use bowline_core::id::RunId;
use bowline_core::task::Task;
use bowline_core::view::{outcome, quality_series, repair_rates};
use bowline_store::{EndingKind, ListFilter, RunStore};

use crate::error::EngineError;
use crate::fold::history;

/// Latest runs that are looked at, and how many of the class are read.
const RUNS_MAX: usize = 200;
const READ_MAX: usize = 32;
/// Latest runs among which one of the class must have been committed.
const LATELY: usize = 50;
/// Runs that are read for what people said about their outputs.
const OUTCOMES_MAX: usize = 500;

/// What is known of a class of tasks.
#[derive(Default)]
pub(super) struct Learned {
    /// Gain and noise of repairs.
    pub(super) plant: Option<Plant>,
    /// How far confidence was off.
    pub(super) calibration: Option<Calibration>,
    /// What strategies of repair did.
    pub(super) rates: Rates,
    /// Others were committed lately, and none of this class.
    pub(super) novel: bool,
}

/// What is known of the task's class; nothing where it has none. What cannot be read is
/// left out: a submission does not fail for it.
pub(super) async fn of(store: &dyn RunStore, task: &Task) -> Learned {
    let Some(class) = task.class.as_deref() else { return Learned::default() };
    let filter = ListFilter { max: RUNS_MAX, ..ListFilter::default() };
    let Ok(rows) = store.list(filter.clone()).await else { return Learned::default() };
    let Ok(ours) = store.list(ListFilter { class: Some(class.into()), ..filter }).await else {
        return Learned::default();
    };
    let ours: BTreeSet<RunId> = ours.into_iter().map(|row| row.run).collect();
    let mut seen: Vec<Move> = Vec::new();
    let mut recorded: Vec<Recorded> = Vec::new();
    let mut rates = Rates::default();
    let (mut read, mut committed, mut committed_here) = (0, 0, 0);
    let ended = rows.iter().filter_map(|row| Some((row, row.summary.ending?)));
    for (place, (row, ending)) in ended.enumerate() {
        let is_recent = place < LATELY && ending == EndingKind::Committed;
        committed += u32::from(is_recent);
        if read == READ_MAX && !is_recent {
            continue;
        }
        if ours.contains(&row.run) {
            committed_here += u32::from(is_recent);
            if read < READ_MAX {
                read += 1;
                let events = history(store, &row.run, 1, u64::MAX).await.unwrap_or_default();
                let events = || events.iter().map(|(_, _, event)| event);
                seen.extend(moves(&quality_series(events())));
                recorded.extend(outcome(events()));
                repair_rates(events(), &mut rates);
            }
        }
    }
    Learned {
        plant: (!seen.is_empty()).then(|| estimate(&seen, &Plant::default())),
        calibration: fit(&recorded),
        rates,
        novel: committed > 0 && committed_here == 0,
    }
}

/// What people said about outputs, of runs of this class or of all.
pub(super) async fn outcomes(
    store: &dyn RunStore,
    class: Option<&str>,
) -> Result<Vec<Recorded>, EngineError> {
    let filter = ListFilter { class: class.map(str::to_owned), max: OUTCOMES_MAX, ..ListFilter::default() };
    let mut recorded = Vec::new();
    for row in store.list(filter).await? {
        let events = history(store, &row.run, 1, u64::MAX).await?;
        recorded.extend(outcome(events.iter().map(|(_, _, event)| event)));
    }
    Ok(recorded)
}
