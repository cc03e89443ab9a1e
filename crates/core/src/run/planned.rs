//! Folds what is said of plans: made, begun, finished, chosen, given up, made anew.
//!
//! Decides nothing: which way a run goes on stands in the event.

use std::sync::Arc;

use super::planning;
use super::state::{Phase, Run, Thread, ThreadState};
use crate::event::{Event, SubtaskFailure, WayOn};
use crate::id::SubtaskId;
use crate::plan::{Plan, Progress};

impl Run {
    /// The work on the plan, or the plan itself, moved.
    pub(super) fn plan_moved(&mut self, event: &Event) {
        if let Event::Planned { plan, pruned, .. } = event {
            self.pruned = !pruned.is_empty();
            self.plan_made(plan, Progress::begin(plan));
            self.phase = Phase::Decomposing;
        } else if let Event::Replanned { instead_of, plan, .. } = event {
            let carried = self.plan.as_ref().map(|old| self.progress.carried(old, plan));
            self.plan_made(plan, carried.unwrap_or_else(|| Progress::begin(plan)));
            self.replanning.retain(|failed| failed != instead_of);
        } else if let Event::SubtaskStarted { subtask, opening } = event {
            self.threads.insert(subtask.clone(), Thread::open(opening, &self.task.guard));
            self.advance(|progress, plan| progress.started(plan, subtask));
        } else if let Event::SubtaskFinished { subtask, output } = event {
            if let Some(thread) = self.threads.get_mut(subtask) {
                thread.state = ThreadState::Done(output.clone());
            }
            self.advance(|progress, plan| progress.finished(plan, subtask));
        } else if let Event::BranchChosen { choice, branch, .. } = event {
            self.weighed += 1;
            self.advance(|progress, plan| progress.choose(plan, choice, *branch));
        } else if let Event::SubtaskFailed { subtask, why, then } = event {
            self.subtask_failed(subtask, why, then);
        } else if let Event::SubtaskDropped { subtask } = event {
            self.threads.remove(subtask);
        }
    }

    /// A plan was made, or changed: the conversation that made it is over.
    fn plan_made(&mut self, plan: &Plan, progress: Progress) {
        if let Some(id) = planning::thread_id(self) {
            self.threads.remove(&id);
        }
        self.plans += 1;
        self.progress = progress;
        self.plan = Some(Arc::new(plan.clone()));
    }

    fn advance(&mut self, how: impl FnOnce(&mut Progress, &Plan)) {
        if let Some(plan) = &self.plan {
            how(&mut self.progress, plan);
        }
    }

    fn subtask_failed(&mut self, subtask: &SubtaskId, why: &SubtaskFailure, then: &WayOn) {
        self.advance(|progress, plan| drop(progress.failed(plan, subtask)));
        let lesson = format!("{subtask}: {}", crate::view::subtask_failure(why)).into_boxed_str();
        match then {
            WayOn::FallsBack { choice, .. } => drop(self.lessons.insert(choice.clone(), lesson)),
            WayOn::PlansAnew => {
                self.lessons.insert(subtask.clone(), lesson);
                self.replanning.push(subtask.clone());
            }
        }
    }
}
