//! The canonical form of a state: two runs that differ only by what the clock
//! showed, and not by how long anything still takes, are one.
//!
//! Everything the machine compares with the clock is a moment in the state, and
//! everything it adds to the clock comes from limits and from the run's own
//! chance. So moving the clock and all moments together changes no decision. Time
//! that was worked is kept only where a limit reads it.

use std::sync::Arc;

use bowline_core::append_list::AppendList;
use bowline_core::budget::UNLIMITED;
use bowline_core::id::Millis;
use bowline_core::provenance::Digest;
use bowline_core::run::{ApprovalState, CallState, Phase, Run, ThreadState};

/// The hash of the canonical form.
pub(crate) fn digest(run: &Run) -> Digest {
    let mut run = run.clone();
    let now = run.now;
    let from_now = |at: &mut Millis| *at = Millis(at.since(now));
    for approval in run.approvals.values_mut() {
        match approval.state {
            ApprovalState::Open => from_now(&mut approval.expires_at),
            // Nobody looks at it again.
            ApprovalState::Settled(_) => approval.expires_at = Millis(0),
        }
    }
    run.breakers.values_mut().filter_map(|breaker| breaker.until.as_mut()).for_each(from_now);
    for thread in run.threads.values_mut() {
        // `talk` is their running hash.
        thread.messages = AppendList::default();
        match &mut thread.state {
            ThreadState::BackingOff { until } => from_now(until),
            ThreadState::Calling(batch) => {
                for call in &mut batch.calls {
                    if let CallState::BackingOff { until, .. } = &mut call.state {
                        from_now(until);
                    }
                }
            }
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::Answered(_)
            | ThreadState::Done(_) => {}
        }
    }
    if let Phase::RollingBack(rollback) = &mut run.phase {
        rollback.undoing.attempt.iter_mut().filter_map(|out| out.again_at.as_mut()).for_each(from_now);
    }
    if let Some(undo) = &mut run.deeds.undo {
        undo.undoing.attempt.iter_mut().filter_map(|out| out.again_at.as_mut()).for_each(from_now);
    }
    (run.now, run.submitted_at) = (Millis(0), Millis(0));
    if run.limits.active_ms == UNLIMITED && run.limits.repair_ms == UNLIMITED {
        run.spend.active_ms = 0;
        run.repair_spend.active_ms = 0;
    }
    // The same in every state of a scenario, and long.
    run.tools = Arc::new([]);
    run.digest()
}
