//! Following runs at work in this process: observations as they come, the
//! journal where one was missed.

use std::time::Duration;

use bowline::{Engine, Observation, Seen, fold, history};
use bowline_core::id::RunId;
use bowline_core::run::Run;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::clock;
use crate::render::progress::Progress;

/// How often the live line is drawn.
const REDRAW: Duration = Duration::from_millis(200);

/// Does the work and shows what happens meanwhile, to the last event.
pub(crate) async fn while_working<T>(
    engine: &Engine,
    progress: &mut Progress,
    work: impl Future<Output = T>,
) -> T {
    let mut observations = engine.watch();
    let mut redraw = tokio::time::interval(REDRAW);
    tokio::pin!(work);
    let outcome = loop {
        tokio::select! {
            outcome = &mut work => break outcome,
            seen = observations.recv() => match seen {
                Ok(observation) => take(engine, progress, observation).await,
                Err(RecvError::Lagged(_)) => catch_up_all(engine, progress).await,
                Err(RecvError::Closed) => break work.await,
            },
            _ = redraw.tick() => progress.tick(clock::now()),
        }
    };
    loop {
        match observations.try_recv() {
            Ok(observation) => take(engine, progress, observation).await,
            Err(TryRecvError::Lagged(_)) => {}
            Err(TryRecvError::Empty | TryRecvError::Closed) => break,
        }
    }
    catch_up_all(engine, progress).await;
    outcome
}

async fn take(engine: &Engine, progress: &mut Progress, observation: Observation) {
    let Observation { run, seen } = observation;
    let (seq, at, event) = match seen {
        Seen::Event { seq, at, event } => (seq, at, event),
        Seen::State { seq, sha256 } => return progress.state(&run, seq, sha256),
        Seen::Words { .. } => return,
    };
    match progress.next(&run) {
        // Found by working off: shown from here on.
        None => progress.begin(&run, seq, state_before(engine, &run, seq).await),
        Some(next) if next < seq => catch_up(engine, progress, &run, next).await,
        Some(_) => {}
    }
    progress.event(&run, (seq, at, &event));
}

async fn catch_up_all(engine: &Engine, progress: &mut Progress) {
    for (run, next) in progress.places() {
        catch_up(engine, progress, &run, next).await;
    }
}

/// Shows what the journal has from `next` on. A journal that cannot be read is
/// reported by the work itself.
async fn catch_up(engine: &Engine, progress: &mut Progress, run: &RunId, next: u64) {
    for (seq, at, event) in history(engine.store().as_ref(), run, next, u64::MAX).await.unwrap_or_default() {
        progress.event(run, (seq, at, &event));
    }
}

/// The run as it was before that event.
async fn state_before(engine: &Engine, run: &RunId, seq: u64) -> Option<Run> {
    let before = seq.checked_sub(1).filter(|&before| before > 0)?;
    fold(engine.store().as_ref(), run, before).await.ok().map(|folded| folded.run)
}
