//! One budget for a tree of agents.
//!
//! Every run of the tree has an account. What a run takes is booked on its own
//! account and on those of all runs above it, all or nothing: a child draws from
//! its parent's tokens, money and tool calls. A run's `steps` are its own; the
//! steps of a run and of everything below it are bounded by its `tree_steps`.
//!
//! Live, a decision's events are [booked](Ledger::book) before they are made
//! durable, and a refused booking is decided on again with a fresh
//! [allowance](Ledger::allowance). After a restart the ledger is folded from the
//! runs' journals ([`Ledger::apply`]), a parent's submission before its
//! children's and otherwise in any order, and is the same. Counters never fall.
//! Nothing here decides what happens to a run that is refused.

mod account;
mod error;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::budget::{Allowance, Cost, Limit, Limits, Share, UNLIMITED};
use crate::event::{Event, Exhausted, Raise};
use crate::id::{ActionId, RunId, ToolName};

pub use account::Account;
pub use error::{EnterError, ReserveError};

/// Most runs of one tree, whatever its limits say.
pub const RUNS_MAX: usize = 10_000;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    accounts: BTreeMap<RunId, Account>,
}

/// What a run is about to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// A model call.
    Step {
        /// Which of the run's steps.
        step: u32,
        /// What is set aside for it.
        reserve: Cost,
    },
    /// An attempt at a tool call, or the decision to make another.
    Call {
        /// The tool.
        tool: ToolName,
        /// What it adds to the calls made: nothing where it was counted before.
        calls: u64,
        /// What is booked for it, in micro-dollars.
        micros: u64,
        /// The call, and what is set aside for the model it asks, if it asks one: it is
        /// then a step as well.
        aside: Option<(ActionId, Cost)>,
    },
}

impl Ledger {
    /// The ledger of a tree that is nothing but its root.
    #[must_use]
    pub fn open(root: &RunId, limits: &Limits) -> Self {
        Self { accounts: BTreeMap::from([(root.clone(), Account::new(None, 0, limits))]) }
    }

    /// The account of a run.
    #[must_use]
    pub fn account(&self, run: &RunId) -> Option<&Account> {
        self.accounts.get(run)
    }

    /// Lets an agent in below another, or says which bound is in the way. Returns
    /// its depth; the root's is 0.
    pub fn enter(&mut self, child: &RunId, parent: &RunId, limits: &Limits) -> Result<u32, EnterError> {
        if self.accounts.contains_key(child) {
            return Err(EnterError::Known { run: child.clone() });
        }
        match self.accounts.get(parent) {
            None => return Err(EnterError::NoParent { parent: parent.clone() }),
            Some(account) if !account.alive => {
                return Err(EnterError::ParentEnded { parent: parent.clone() });
            }
            Some(_) => {}
        }
        let depth = self.depth_below(parent);
        for of in self.line(parent) {
            let Some(account) = self.accounts.get(&of) else { continue };
            account.admits(&of, depth)?;
        }
        if self.accounts.len() >= RUNS_MAX {
            return Err(EnterError::AgentsARun { of: parent.clone(), allowed: RUNS_MAX as u64 });
        }
        self.add(child, Some(parent), limits);
        Ok(depth)
    }

    /// Takes what is needed from the run's account and from every one above it;
    /// or takes nothing, and says which bound is too small.
    pub fn reserve(&mut self, run: &RunId, need: &Need) -> Result<(), ReserveError> {
        if !self.accounts.contains_key(run) {
            return Err(ReserveError::UnknownRun { run: run.clone() });
        }
        for (index, of) in self.line(run).iter().enumerate() {
            let Some(account) = self.accounts.get(of) else { continue };
            if let Some((limit, wanted, allowed)) = account.too_small_for(need, index == 0) {
                let of = (index > 0).then(|| of.clone());
                return Err(ReserveError::Over(Exhausted { limit, wanted, allowed, of }));
            }
        }
        self.take(run, need);
        Ok(())
    }

    /// Gives back what a step had set aside and books what it used.
    pub fn settle(&mut self, run: &RunId, step: u32, used: Cost) {
        let open = self.accounts.get_mut(run).and_then(|account| account.open.remove(&step));
        self.book_cost(run, open.unwrap_or_default(), used);
    }

    /// Gives back what a call had set aside for a model when its attempt is over, and
    /// books what it used.
    fn settle_aside(&mut self, run: &RunId, event: &Event) {
        let open = |action: &ActionId| {
            let account = self.accounts.get(run)?;
            Some((*action, account.open_asides.get(action).copied()?))
        };
        let over = if let Event::CallTroubled { action, why, .. } = event {
            open(action).map(|(action, reserved)| (action, reserved, why.paid(reserved)))
        } else if let Event::CallFinished { action, spent, .. } = event {
            open(action).map(|(action, reserved)| (action, reserved, spent.unwrap_or(reserved)))
        } else if let Event::CallInDoubt { action, .. } = event {
            open(action).map(|(action, reserved)| (action, reserved, reserved))
        } else {
            None
        };
        let Some((action, reserved, used)) = over else { return };
        if let Some(account) = self.accounts.get_mut(run) {
            account.open_asides.remove(&action);
        }
        self.book_cost(run, reserved, used);
    }

    /// The run has ended: its slot is free. What it still had open is paid as
    /// reserved, since nobody will tell.
    pub fn leave(&mut self, run: &RunId) {
        let Some(account) = self.accounts.get_mut(run) else { return };
        let steps = std::mem::take(&mut account.open).into_values();
        let asides = std::mem::take(&mut account.open_asides).into_values();
        let open = steps.chain(asides).fold(Cost::default(), Cost::plus);
        let was_alive = std::mem::replace(&mut account.alive, false);
        self.book_cost(run, open, open);
        if was_alive {
            self.count_alive(run, |alive| alive.saturating_sub(1));
        }
    }

    /// Books the events of one decision, all of them or none.
    pub fn book(&mut self, run: &RunId, events: &[Event]) -> Result<(), ReserveError> {
        let touched = self.line(run).into_iter();
        let before: Vec<_> =
            touched.filter_map(|of| self.accounts.get(&of).cloned().map(|account| (of, account))).collect();
        let booked = events.iter().try_for_each(|event| match need(event) {
            Some(need) => {
                self.settle_aside(run, event);
                self.reserve(run, &need)
            }
            None => {
                self.apply(run, event);
                Ok(())
            }
        });
        if booked.is_err() {
            self.accounts.extend(before);
        }
        booked
    }

    /// Folds one event of a run's journal. A journal is fact: nothing is refused.
    #[expect(clippy::too_many_lines, reason = "an exhaustive match that only dispatches")]
    pub fn apply(&mut self, run: &RunId, event: &Event) {
        self.settle_aside(run, event);
        if let Some(need) = need(event) {
            self.take(run, &need);
        }
        match event {
            Event::Submitted(submission) if !self.accounts.contains_key(run) => {
                self.add(run, submission.parent.as_ref(), &submission.task.limits);
            }
            Event::StepFinished { step, usage, micros, .. } => {
                self.settle(run, *step, Cost { tokens: usage.total(), micros: *micros });
            }
            Event::StepFailed { step, why, .. } => {
                let open = self.accounts.get(run).and_then(|account| account.open.get(step)).copied();
                self.settle(run, *step, why.kind.paid(open.unwrap_or_default()));
            }
            Event::Resumed { raised, .. } => self.reopen(run, raised),
            Event::Ended { .. } => self.leave(run),
            Event::Submitted(_)
            | Event::Claimed { .. }
            | Event::Planned { .. }
            | Event::Judged { .. }
            | Event::Decomposed { .. }
            | Event::Retrieved { .. }
            | Event::SubtaskStarted { .. }
            | Event::StepStarted { .. }
            | Event::CallRefused { .. }
            | Event::CallBlocked { .. }
            | Event::StrategySwitched { .. }
            | Event::RoundRepeated { .. }
            | Event::Controlled(_)
            | Event::Remedied(_)
            | Event::Routed(_)
            | Event::Elided(_)
            | Event::Escalated(_)
            | Event::ApprovalRequested { .. }
            | Event::ApprovalSettled { .. }
            | Event::CallStarted { .. }
            | Event::CallTroubled { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed { .. }
            | Event::CallFinished { .. }
            | Event::CallInDoubt { .. }
            | Event::CallSettled { .. }
            | Event::Noticed { .. }
            | Event::SubtaskFinished { .. }
            | Event::BranchChosen { .. }
            | Event::SubtaskFailed { .. }
            | Event::SubtaskDropped { .. }
            | Event::Replanned { .. }
            | Event::Acted { .. }
            | Event::Checked { .. }
            | Event::Verified { .. }
            | Event::Diagnosed { .. }
            | Event::RepairStarted { .. }
            | Event::Repaired { .. }
            | Event::LimitNear { .. }
            | Event::Stopping { .. }
            | Event::RollbackStarted { .. }
            | Event::Restored { .. }
            | Event::CompensationStarted { .. }
            | Event::CompensationTroubled { .. }
            | Event::Compensated { .. }
            | Event::AlertRaised { .. }
            | Event::AlertTold { .. }
            | Event::UndoStarted { .. }
            | Event::UndoFinished { .. }
            | Event::LandingStarted { .. }
            | Event::ChangesFound(_)
            | Event::Landed { .. }
            | Event::Promoted(_)
            | Event::FromBackup(_)
            | Event::Paused { .. }
            | Event::NotTakenUp { .. }
            | Event::SignalRefused { .. } => {}
        }
    }

    fn reopen(&mut self, run: &RunId, raised: &[Raise]) {
        let Some(account) = self.accounts.get_mut(run) else { return };
        account.limits.raise(raised);
        if !std::mem::replace(&mut account.alive, true) {
            self.count_alive(run, |alive| alive.saturating_add(1));
        }
    }

    /// What the tree leaves to a run now: of each limit the account, its own or
    /// above it, that has the least left.
    #[must_use]
    pub fn allowance(&self, run: &RunId) -> Allowance {
        let mut tightest: BTreeMap<Limit, Share> = BTreeMap::new();
        for of in self.line(run) {
            let Some(account) = self.accounts.get(&of) else { continue };
            for share in account.shares(&of) {
                let left =
                    |share: &Share| share.allowed.saturating_sub(share.used).saturating_sub(share.held);
                match tightest.get(&share.limit) {
                    Some(known) if left(known) <= left(&share) => {}
                    Some(_) | None => {
                        tightest.insert(share.limit.clone(), share);
                    }
                }
            }
        }
        Allowance(tightest.into_values().filter(|share| share.allowed != UNLIMITED).collect())
    }

    /// The run and every run above it, nearest first.
    fn line(&self, run: &RunId) -> Vec<RunId> {
        let above = |run: &RunId| self.accounts.get(run).and_then(|account| account.parent.clone());
        std::iter::successors(Some(run.clone()), above).take(RUNS_MAX).collect()
    }

    fn depth_below(&self, parent: &RunId) -> u32 {
        self.accounts.get(parent).map_or(0, |account| account.depth.saturating_add(1))
    }

    fn add(&mut self, run: &RunId, parent: Option<&RunId>, limits: &Limits) {
        let depth = parent.map_or(0, |parent| self.depth_below(parent));
        self.accounts.insert(run.clone(), Account::new(parent, depth, limits));
        self.count_alive(run, |alive| alive.saturating_add(1));
        for above in self.line(run).iter().skip(1) {
            if let Some(account) = self.accounts.get_mut(above) {
                account.agents = account.agents.saturating_add(1);
            }
        }
    }

    /// Changes how many agents are alive below each run above this one.
    fn count_alive(&mut self, run: &RunId, change: impl Fn(u64) -> u64) {
        for above in self.line(run).iter().skip(1) {
            if let Some(account) = self.accounts.get_mut(above) {
                account.agents_alive = change(account.agents_alive);
            }
        }
    }

    fn take(&mut self, run: &RunId, need: &Need) {
        for (index, of) in self.line(run).iter().enumerate() {
            if let Some(account) = self.accounts.get_mut(of) {
                account.take(need, index == 0);
            }
        }
    }

    fn book_cost(&mut self, run: &RunId, released: Cost, used: Cost) {
        for of in self.line(run) {
            if let Some(account) = self.accounts.get_mut(&of) {
                account.held = account.held.minus(released);
                account.settled = account.settled.plus(used);
            }
        }
    }
}

/// What an event starts.
fn need(event: &Event) -> Option<Need> {
    if let Event::StepStarted { step, reserved, .. } = event {
        return Some(Need::Step { step: *step, reserve: *reserved });
    }
    if let Event::CallStarted { action, tool, attempt, micros, reserved, .. } = event {
        let (calls, aside) = (u64::from(*attempt == 1), reserved.map(|reserved| (*action, reserved)));
        return Some(Need::Call { tool: tool.clone(), calls, micros: *micros, aside });
    }
    if let Event::CallTroubled { tool, .. } = event {
        return Some(Need::Call { tool: tool.clone(), calls: 1, micros: 0, aside: None });
    }
    None
}
