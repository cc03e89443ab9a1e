//! What a tree of agents leaves to one of its runs, beyond the run's own limits.
//!
//! Made by the ledger (`guard::ledger`) when an input is decided on; a decision
//! takes from it what it starts and gives back what it settles, so that several
//! steps of one decision cannot share what is there once.

use super::{Cost, Gauge, Limit};
use crate::event::Event;
use crate::id::RunId;

/// A bound that belongs to a run and to all agents below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which limit.
    pub limit: Limit,
    /// The run whose limit it is.
    pub of: RunId,
    /// What is used for good.
    pub used: u64,
    /// What is set aside for model calls in flight, and may come back.
    pub held: u64,
    /// What may be used.
    pub allowed: u64,
}

/// Every bound above a run, the tightest of each kind.
///
/// A run that finds all of it held by others starts nothing and says nothing:
/// whoever shares a ledger ticks such a run when something settles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowance(pub Vec<Share>);

impl Share {
    /// How much of it is used, with what is in flight, as this run sees it.
    #[must_use]
    pub fn gauge(&self, run: &RunId) -> Gauge {
        let used = self.used.saturating_add(self.held);
        let of = (self.of != *run).then(|| self.of.clone());
        Gauge { limit: self.limit.clone(), of, used, allowed: self.allowed }
    }

    fn take(&mut self, event: &Event) {
        match (&self.limit, event) {
            (
                Limit::Steps | Limit::TreeSteps,
                Event::StepStarted { .. } | Event::CallStarted { reserved: Some(_), .. },
            )
            | (Limit::ToolCalls, Event::CallStarted { attempt: 1, .. } | Event::CallTroubled { .. }) => {
                self.used = self.used.saturating_add(1);
            }
            (
                Limit::Tool(name),
                Event::CallStarted { attempt: 1, tool, .. } | Event::CallTroubled { tool, .. },
            ) if name == tool => {
                self.used = self.used.saturating_add(1);
            }
            (
                Limit::Tokens,
                Event::StepStarted { reserved, .. } | Event::CallStarted { reserved: Some(reserved), .. },
            ) => {
                self.held = self.held.saturating_add(reserved.tokens);
            }
            (
                Limit::Money,
                Event::StepStarted { reserved, .. } | Event::CallStarted { reserved: Some(reserved), .. },
            ) => {
                self.held = self.held.saturating_add(reserved.micros);
            }
            (_, _) => {}
        }
    }
}

impl Allowance {
    /// What a decision starts takes its part at once.
    pub(crate) fn take(&mut self, event: &Event) {
        self.0.iter_mut().for_each(|share| share.take(event));
    }

    /// What a step had set aside comes back at once, less what it used.
    pub(crate) fn settle(&mut self, released: Cost, used: Cost) {
        for share in &mut self.0 {
            let (back, booked) = match share.limit {
                Limit::Tokens => (released.tokens, used.tokens),
                Limit::Money => (released.micros, used.micros),
                Limit::Steps
                | Limit::ToolCalls
                | Limit::ActiveTime
                | Limit::Repairs
                | Limit::RepairShare
                | Limit::RepairTime
                | Limit::Context
                | Limit::TreeSteps
                | Limit::Depth
                | Limit::AgentsAlive
                | Limit::Agents
                | Limit::Tool(_) => (0, 0),
            };
            share.held = share.held.saturating_sub(back);
            share.used = share.used.saturating_add(booked);
        }
    }
}
