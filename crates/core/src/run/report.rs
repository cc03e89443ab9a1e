//! What a run that reached a limit leaves behind: what was done, the partial
//! work, and what would let it go on.

use std::collections::BTreeSet;

use super::apply::joined;
use super::state::{Phase, Run, Summary, Thread, ThreadState};
use crate::budget::Limit;
use crate::event::{Exhausted, HaltReport, Raise, SubtaskOutput};
use crate::id::SubtaskId;
use crate::message::Content;

/// Most files that are named.
const FILES_MAX: usize = 256;

/// The report of a halt by this limit.
pub(super) fn of(run: &Run, why: &Exhausted) -> HaltReport {
    let subtasks = run.plan.iter().flat_map(|plan| plan.subtasks()).map(|subtask| subtask.id.clone());
    let (done, open): (Vec<_>, Vec<_>) = subtasks.partition(|id| super::acting::output_of(run, id).is_some());
    let mut seen = BTreeSet::new();
    let touched =
        run.images.iter().flat_map(|(_, image)| [image.path.as_str()].into_iter().chain(image.moved_to()));
    let files = touched.filter(|path| seen.insert(*path));
    HaltReport {
        spend: run.spend,
        done,
        open,
        files: files.take(FILES_MAX).map(str::to_owned).collect(),
        summary: latest(run).map(|summary| summary.step),
        partial: partial(run),
        raise: Raise { limit: why.limit.clone(), to: enough(why) },
    }
}

/// An amount that lets the run go on for a while: twice what it had, and at
/// least one working step before the next summary.
fn enough(why: &Exhausted) -> u64 {
    let wanted = match why.limit {
        Limit::Steps | Limit::TreeSteps => why.wanted.saturating_add(1),
        Limit::ToolCalls
        | Limit::Tokens
        | Limit::Money
        | Limit::ActiveTime
        | Limit::Repairs
        | Limit::RepairShare
        | Limit::RepairTime
        | Limit::Context
        | Limit::Depth
        | Limit::AgentsAlive
        | Limit::Agents
        | Limit::Tool(_) => why.wanted,
    };
    wanted.max(why.allowed.saturating_mul(2)).max(1)
}

/// The last summary of a conversation that is not done.
fn latest(run: &Run) -> Option<&Summary> {
    run.threads.values().filter_map(open_summary).max_by_key(|summary| summary.step)
}

fn open_summary(thread: &Thread) -> Option<&Summary> {
    let open = !matches!(thread.state, ThreadState::Done(_));
    thread.summary.as_ref().filter(|summary| open && !summary.text.is_empty())
}

/// While acting, what each sub-task delivered or summarised; later, the summary
/// of the repair, or the output that was not accepted.
fn partial(run: &Run) -> Option<Content> {
    if run.phase != Phase::Acting {
        let summary = latest(run).map(|summary| vec![summary.text.clone()]);
        return summary.or_else(|| run.output.clone());
    }
    let plan = run.plan.as_ref()?;
    let so_far = |id: &SubtaskId| {
        let summary = || run.threads.get(id).and_then(open_summary).map(|summary| &summary.text);
        let output = super::acting::output_of(run, id).or_else(summary)?;
        Some(SubtaskOutput { subtask: id.clone(), output: output.clone() })
    };
    let pieces: Vec<_> = plan.subtasks().iter().filter_map(|subtask| so_far(&subtask.id)).collect();
    (!pieces.is_empty()).then(|| joined(&pieces))
}
