//! Planning: takes the plan of the task, makes the plan of one sub-task, or asks the
//! model for one; and for another one of what failed.
//!
//! Contract out: [`Event::Planned`], later [`Event::Replanned`]. A task that does not
//! ask for a plan of the model's pays no model call. A plan of the model's is read as
//! strictly as one in a task file; what is wrong with it is told to the model, which
//! mends just that. Both the asking and the planning anew are bounded.

use super::decide::Draft;
use super::state::{Phase, Run};
use super::thread::{self, Asked};
use super::{critiquing, ending, escalating, prompt};
use crate::event::{CONTRACT, Event, FailReason, StopReason};
use crate::id::SubtaskId;
use crate::input::Reply;
use crate::plan::feasible::{Check, Circumstances, Feasibility, Outfit, Stands, check, left_of};
use crate::plan::measure::Estimates;
use crate::plan::prune::Pruned;
use crate::plan::{self, Plan};
use crate::provenance::Digest;
use crate::task::{Planner, Problem};

/// Checks without which no plan is carried out. A budget that is too small stops a run
/// when it is used up, as it stops any other.
const REFUSED_FOR: [Check; 4] = [Check::Tools, Check::Preconditions, Check::Permissions, Check::Order];
/// The same for a piece of a plan: what it needs may have been made by the rest.
const REFUSED_ANEW_FOR: [Check; 2] = [Check::Tools, Check::Permissions];
/// How often a model may mend one plan.
const MENDS_MAX: u32 = 3;
/// Most problems of a plan that are told at once.
const PROBLEMS_TOLD: usize = 16;

pub(super) fn proceed(draft: &mut Draft) -> bool {
    match draft.run.task.planning.by {
        Planner::Task if draft.run.recourse.redecomposed => ask(draft),
        Planner::Model => ask(draft),
        Planner::Task => given(draft),
    }
}

fn given(draft: &mut Draft) -> bool {
    let Some(plan) = draft.run.task.plan.clone() else {
        let Some(plan) = Plan::of_one(&draft.run.task.goal) else { return false };
        planned(draft, plan, Vec::new());
        return true;
    };
    let judged = judge(&draft.run, plan);
    match refusals(&judged, &REFUSED_FOR).as_slice() {
        [] => planned(draft, judged.plan, judged.pruned),
        problems => no_plan(draft, &problems.join("; ")),
    }
    true
}

/// A plan with the order it needs, without what the budget has no room for, and what
/// speaks against it.
fn judge(run: &Run, plan: Plan) -> Feasibility {
    let circumstances = Circumstances {
        facts: &run.task.planning.facts,
        tools: &Outfit { specs: &run.tools, agent: run.task.agent.as_deref() },
        left: left_of(&run.limits),
        slots: usize::try_from(run.limits.parallel).unwrap_or(usize::MAX),
        estimates: Estimates::default(),
    };
    check(plan, &circumstances)
}

/// What of these checks keeps a plan from being carried out. One that waits for a person is
/// carried out: the person is asked then.
fn refusals(judged: &Feasibility, checks: &[Check]) -> Vec<String> {
    let failed = judged.verdicts.iter().filter(|verdict| verdict.stands == Stands::Fails);
    let failed = failed.filter(|verdict| checks.contains(&verdict.check));
    let findings = failed.flat_map(|verdict| &verdict.findings);
    findings.take(PROBLEMS_TOLD).map(ToString::to_string).collect()
}

fn planned(draft: &mut Draft, plan: Plan, pruned: Vec<Pruned>) {
    let sha256 = hash(&plan);
    let pruned = pruned.into_iter().map(|left_out| left_out.id).collect();
    draft.push(Event::Planned { contract: CONTRACT, plan, sha256, pruned });
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
    match Asked::of(&draft.run, &id) {
        Asked::NotYet => {
            let opening = prompt::planner(&draft.run, &id);
            draft.push(Event::SubtaskStarted { subtask: id, opening });
            true
        }
        Asked::Answered => {
            no_plan(draft, "its answer was no plan");
            true
        }
        Asked::Going => draft.run.phase == Phase::Planning && thread::proceed(draft),
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
    let made = plan::read(&raw).map_err(told)?;
    let run = &draft.run;
    let judged = judge(run, made.clone());
    let replaced = run.plan.clone().zip(run.replanning.first().cloned());
    let checks: &[Check] = if replaced.is_some() { &REFUSED_ANEW_FOR } else { &REFUSED_FOR };
    let problems = refusals(&judged, checks);
    if !problems.is_empty() {
        return Err(problems);
    }
    let Some((old, failed)) = replaced else {
        planned(draft, judged.plan, judged.pruned);
        return Ok(());
    };
    let plan = old.replaced(&failed, &made).map_err(|bad| vec![bad.to_string()])?;
    let sha256 = hash(&plan);
    draft.push(Event::Replanned { contract: CONTRACT, instead_of: failed, plan, sha256 });
    Ok(())
}

fn no_plan(draft: &mut Draft, message: &str) {
    let message = message.chars().take(thread::QUOTE_MAX).collect();
    let why = StopReason::Fail(FailReason::NoPlan { message });
    if draft.run.phase == Phase::Planning && draft.run.recourse.redecomposed {
        escalating::escalate(draft, why);
    } else {
        ending::stop(draft, why);
    }
}
