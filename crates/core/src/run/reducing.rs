//! Reducing: a person reopens a halted run with less to do.
//!
//! What is named is left out of the plan, and whatever waits for it with it; what is done
//! stays. A conversation that was begun for it ends like one of a branch that was given
//! up: what of it is out comes home, and what nobody knows of is settled first. The
//! output is of the nodes that nobody who stays waits for. It is one in part: the checks
//! of what is left out do not apply, and a person agrees to it before it is committed.

use std::sync::Arc;

use super::planning;
use super::state::{Phase, Run};
use crate::event::Ending;
use crate::id::SubtaskId;
use crate::plan::{Node, Plan};
use crate::task::suggest;

/// Why a run does not go on without what was named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScope {
    /// It is at work, waits, or has ended for good.
    #[error("the run is not halted")]
    NotHalted,
    /// Nothing says yet what there is to do.
    #[error("the run has no plan yet")]
    NoPlan,
    /// No such node.
    #[error("the plan has no sub-task {id}{}", .nearest.as_ref().map_or(String::new(), |near| format!(", did you mean {near}?")))]
    Unknown {
        /// What was named.
        id: SubtaskId,
        /// What was probably meant.
        nearest: Option<SubtaskId>,
    },
    /// One way of several.
    #[error("{id} is inside the choice {choice}")]
    Inside {
        /// What was named.
        id: SubtaskId,
        /// The outermost choice it is in.
        choice: SubtaskId,
    },
    /// It has delivered.
    #[error("{id} is done already")]
    Done {
        /// What was named.
        id: SubtaskId,
    },
    /// Everything waits for what was named.
    #[error("nothing would be left of the plan")]
    NothingLeft,
}

impl BadScope {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotHalted => "cancel it first; what has ended for good is not reopened".into(),
            Self::NoPlan => "resume it without leaving anything out".into(),
            Self::Unknown { .. } => "name a sub-task of the plan that `show` lists".into(),
            Self::Inside { choice, .. } => format!("leave out {choice} as a whole, or let it find its way"),
            Self::Done { .. } => "what is done stays; name what is not done".into(),
            Self::NothingLeft => "leave out less, or let the run be: it keeps what it did".into(),
        }
    }
}

impl Run {
    /// What a halted run would go on without, if these nodes of its plan were left out:
    /// they, and whatever waits for them.
    pub fn scope_without(&self, named: &[SubtaskId]) -> Result<Vec<SubtaskId>, BadScope> {
        let halted_in = match (self.ending(), &self.halted_in) {
            (Some(Ending::Halted { .. }), Some(phase)) => phase,
            (_, _) => return Err(BadScope::NotHalted),
        };
        let plan = self.plan.as_ref().filter(|_| **halted_in != Phase::Planning).ok_or(BadScope::NoPlan)?;
        named.iter().try_for_each(|id| self.may_leave_out(plan, id))?;
        let left_out = plan.with_dependents(named);
        match plan.without(&left_out) {
            Ok(_) => Ok(left_out),
            Err(_) => Err(BadScope::NothingLeft),
        }
    }

    fn may_leave_out(&self, plan: &Plan, id: &SubtaskId) -> Result<(), BadScope> {
        if plan.node(id).is_none() {
            let names = plan.nodes().iter().map(Node::id);
            let nearest = suggest::nearest(id.as_str(), names.map(SubtaskId::as_str));
            let nearest = nearest.and_then(|near| SubtaskId::parse(near).ok());
            return Err(BadScope::Unknown { id: id.clone(), nearest });
        }
        let around = std::iter::successors(plan.parent(id), |(choice, _)| plan.parent(&choice.id));
        if let Some((choice, _)) = around.last() {
            return Err(BadScope::Inside { id: id.clone(), choice: choice.id.clone() });
        }
        if self.progress.is_done(plan, id) {
            return Err(BadScope::Done { id: id.clone() });
        }
        Ok(())
    }

    /// What the output is without: by the word of a person, and for what did not hold.
    #[must_use]
    pub fn missing(&self) -> Vec<SubtaskId> {
        self.recourse.left_out.iter().chain(&self.recourse.missing).cloned().collect()
    }

    /// A person has these nodes left out.
    pub(super) fn scope_reduced(&mut self, left_out: &[SubtaskId]) {
        let Some(old) = self.plan.clone().filter(|_| !left_out.is_empty()) else { return };
        let Ok(plan) = old.without(left_out) else { return };
        let is_gone = |id: &SubtaskId| old.node(id).is_some() && plan.node(id).is_none();
        self.recourse.given_up.extend(self.threads.keys().filter(|id| is_gone(id)).cloned());
        if self.replanning.iter().any(is_gone) {
            self.replanning.retain(|failed| !is_gone(failed));
            // It was about another way to what nobody wants any more.
            if let Some(id) = planning::thread_id(self) {
                self.threads.remove(&id);
            }
        }
        self.progress = self.progress.carried(&old, &plan);
        self.plan = Some(Arc::new(plan));
        self.recourse.left_out.extend_from_slice(left_out);
        // An earlier output was one of the whole, and is no measure for a part.
        self.best = None;
        self.pruned = true;
    }
}
