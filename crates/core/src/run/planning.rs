//! Planning: takes the plan of the task, makes the plan of one sub-task, or asks the
//! model for one; and for another one of what failed.
//!
//! Contract out: [`Event::Planned`], later [`Event::Replanned`]. A task that does not
//! ask for a plan of the model's pays no model call. A plan of the model's is read as
//! strictly as one in a task file; what is wrong with it is told to the model, which
//! mends just that. Both the asking and the planning anew are bounded.

use super::decide::Draft;
use super::state::{Phase, Run, ThreadState};
use super::{critiquing, ending, prompt, thread};
use crate::event::{CONTRACT, Event, FailReason, StopReason};
use crate::id::SubtaskId;
use crate::input::Reply;
use crate::plan::{self, Plan, Subtask};
use crate::provenance::Digest;
use crate::task::{Planner, Problem};

/// How often a model may mend one plan.
const MENDS_MAX: u32 = 3;
/// Most problems of a plan that are told at once.
const PROBLEMS_TOLD: usize = 16;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    match draft.run.task.planning.by {
        Planner::Model => ask(draft),
        Planner::Task => {
            let given = draft.run.task.plan.clone();
            let Some(plan) = given.or_else(|| whole(&draft.run.task.goal)) else { return false };
            planned(draft, plan);
            true
        }
    }
}

/// The plan of a task that wants none.
fn whole(goal: &str) -> Option<Plan> {
    let id = SubtaskId::parse("main").ok()?;
    Plan::new(vec![Subtask::new(id, goal).into()]).ok()
}

fn planned(draft: &mut Draft, plan: Plan) {
    let sha256 = hash(&plan);
    draft.push(Event::Planned { contract: CONTRACT, plan, sha256 });
}

fn hash(plan: &Plan) -> Digest {
    Digest::of(&serde_json::to_vec(plan).unwrap_or_default())
}

/// The conversation in which the next plan is made.
pub(super) fn thread_id(run: &Run) -> Option<SubtaskId> {
    critiquing::free_id(run, &format!("plan-{}", run.plans + 1))
}

/// This is the conversation in which the next plan is made.
pub(super) fn is_planner(run: &Run, id: &SubtaskId) -> bool {
    let plans = run.phase == Phase::Planning || !run.replanning.is_empty();
    plans && thread_id(run).as_ref() == Some(id)
}

/// A sub-task that fails may be planned anew.
pub(super) fn may_plan_anew(run: &Run) -> bool {
    let made = run.plans.saturating_sub(1);
    let asked = u32::try_from(run.replanning.len()).unwrap_or(u32::MAX);
    let by_model = match run.task.planning.by {
        Planner::Model => true,
        Planner::Task => false,
    };
    by_model && made.saturating_add(asked) < run.task.planning.replans
}

/// Opens the conversation about a sub-task that failed, once it is closed itself.
pub(super) fn plan_anew(draft: &mut Draft) -> bool {
    let Some(failed) = draft.run.replanning.first() else { return false };
    !draft.run.threads.contains_key(failed) && ask(draft)
}

fn ask(draft: &mut Draft) -> bool {
    let Some(id) = thread_id(&draft.run) else { return false };
    match draft.run.threads.get(&id).map(|thread| &thread.state) {
        None => {
            let opening = prompt::planner(&draft.run, &id);
            draft.push(Event::SubtaskStarted { subtask: id, opening });
            true
        }
        Some(ThreadState::Answered(_)) => {
            no_plan(draft, "its answer was no plan");
            true
        }
        Some(
            ThreadState::Ready
            | ThreadState::Thinking(_)
            | ThreadState::BackingOff { .. }
            | ThreadState::Calling(_)
            | ThreadState::Done(_),
        ) => draft.run.phase == Phase::Planning && thread::proceed(draft),
    }
}

/// The planner answered: take the plan, have it mended, or give up.
pub(super) fn answered(draft: &mut Draft, id: &SubtaskId, reply: &Reply) {
    // A reply with calls is counted as unusable already.
    let counted = u32::from(!reply.calls.is_empty());
    let unusable = draft.run.threads.get(id).map_or(0, |thread| thread.unusable);
    let mends = unusable.saturating_sub(counted);
    let problems = if reply.calls.is_empty() {
        match take(draft, &reply.head) {
            Ok(()) => return,
            Err(problems) => problems,
        }
    } else {
        vec!["a planner has no tools: answer with the plan".to_owned()]
    };
    if mends >= MENDS_MAX {
        no_plan(draft, &problems.join("; "));
    } else if reply.calls.is_empty() {
        let text = prompt::not_a_plan(&problems);
        draft.push(Event::Noticed { subtask: id.clone(), text });
    }
}

fn take(draft: &mut Draft, said: &str) -> Result<(), Vec<String>> {
    let raw =
        serde_json::from_str(plan::unfenced(said)).map_err(|bad| vec![format!("it is no JSON: {bad}")])?;
    let told = |problems: Vec<Problem>| -> Vec<String> {
        problems.iter().take(PROBLEMS_TOLD).map(Problem::to_string).collect()
    };
    let mut made = plan::read(&raw).map_err(told)?;
    let run = &draft.run;
    let (Some(old), Some(failed)) = (run.plan.clone(), run.replanning.first().cloned()) else {
        planned(draft, made);
        return Ok(());
    };
    made = old.replaced(&failed, &made).map_err(|bad| vec![bad.to_string()])?;
    let sha256 = hash(&made);
    draft.push(Event::Replanned { contract: CONTRACT, instead_of: failed, plan: made, sha256 });
    Ok(())
}

fn no_plan(draft: &mut Draft, message: &str) {
    let message = message.chars().take(thread::QUOTE_MAX).collect();
    ending::stop(draft, StopReason::Fail(FailReason::NoPlan { message }));
}
