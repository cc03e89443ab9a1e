//! One run's account: what it and everything below it have used.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{EnterError, Need};
use crate::budget::{Cost, Limit, Limits, Share, UNLIMITED};
use crate::id::{ActionId, RunId, ToolName};

/// See the module's page. Agents are counted below the run, without itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The run above it.
    pub parent: Option<RunId>,
    /// Levels above it.
    pub depth: u32,
    /// It has not ended.
    pub alive: bool,
    /// Its bounds, with what was raised.
    pub limits: Limits,
    /// Model calls of its own.
    pub steps: u64,
    /// Model calls, with those below.
    pub tree_steps: u64,
    /// Tool calls, with those below.
    pub tool_calls: u64,
    /// Calls of tools that have a bound here, with those below.
    pub tools: BTreeMap<ToolName, u64>,
    /// Tokens and money settled, with those below.
    pub settled: Cost,
    /// Set aside for model calls in flight, with those below.
    pub held: Cost,
    /// Its own model calls in flight.
    pub open: BTreeMap<u32, Cost>,
    /// Its own tool calls in flight that ask a model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub open_asides: BTreeMap<ActionId, Cost>,
    /// Agents below it that have not ended.
    pub agents_alive: u64,
    /// Agents below it that ever were.
    pub agents: u64,
}

/// A bound: which, what is used for good, what is held, what would be added.
type Row = (Limit, u64, u64, u64);

impl Account {
    pub(super) fn new(parent: Option<&RunId>, depth: u32, limits: &Limits) -> Self {
        Self {
            parent: parent.cloned(),
            depth,
            alive: true,
            limits: limits.clone(),
            steps: 0,
            tree_steps: 0,
            tool_calls: 0,
            tools: BTreeMap::new(),
            settled: Cost::default(),
            held: Cost::default(),
            open: BTreeMap::new(),
            open_asides: BTreeMap::new(),
            agents_alive: 0,
            agents: 0,
        }
    }

    /// Whether one more agent, at this depth of the tree, may be below this run.
    pub(super) fn admits(&self, of: &RunId, depth: u32) -> Result<(), EnterError> {
        let levels = u64::from(depth.saturating_sub(self.depth));
        let of = || of.clone();
        let allowed = self.limits.allowed(&Limit::Depth);
        if levels > allowed {
            return Err(EnterError::DepthLimit { of: of(), allowed });
        }
        let allowed = self.limits.allowed(&Limit::AgentsAlive);
        if self.agents_alive >= allowed {
            return Err(EnterError::AgentsAlive { of: of(), allowed });
        }
        let allowed = self.limits.allowed(&Limit::Agents);
        if self.agents >= allowed {
            return Err(EnterError::AgentsARun { of: of(), allowed });
        }
        Ok(())
    }

    /// The first bound that is too small, with what was wanted and is allowed.
    pub(super) fn too_small_for(&self, need: &Need, own: bool) -> Option<(Limit, u64, u64)> {
        let rows = match need {
            Need::Step { reserve, .. } => vec![
                (Limit::Steps, self.steps, 0, u64::from(own)),
                (Limit::TreeSteps, self.tree_steps, 0, 1),
                (Limit::Tokens, self.settled.tokens, self.held.tokens, reserve.tokens),
                (Limit::Money, self.settled.micros, self.held.micros, reserve.micros),
            ],
            Need::Call { tool, calls, micros, aside } => {
                let reserve = aside.map_or(Cost::default(), |(_, reserve)| reserve);
                let steps = u64::from(aside.is_some());
                let micros = micros.saturating_add(reserve.micros);
                vec![
                    (Limit::ToolCalls, self.tool_calls, 0, *calls),
                    (Limit::Tool(tool.clone()), self.uses(tool), 0, *calls),
                    (Limit::Steps, self.steps, 0, if own { steps } else { 0 }),
                    (Limit::TreeSteps, self.tree_steps, 0, steps),
                    (Limit::Tokens, self.settled.tokens, self.held.tokens, reserve.tokens),
                    (Limit::Money, self.settled.micros, self.held.micros, micros),
                ]
            }
        };
        rows.into_iter().find_map(|(limit, used, held, need)| {
            let allowed = self.limits.allowed(&limit);
            let wanted = used.saturating_add(held).saturating_add(need);
            // What takes nothing is not in the way of a run that has nothing left.
            (need > 0 && wanted > allowed).then_some((limit, wanted, allowed))
        })
    }

    pub(super) fn take(&mut self, need: &Need, own: bool) {
        match need {
            Need::Step { step, reserve } => {
                self.count_step(*reserve, own);
                own.then(|| self.open.insert(*step, *reserve));
            }
            Need::Call { tool, calls, micros, aside } => {
                if let Some((action, reserve)) = aside {
                    self.count_step(*reserve, own);
                    own.then(|| self.open_asides.insert(*action, *reserve));
                }
                self.tool_calls = self.tool_calls.saturating_add(*calls);
                self.settled = self.settled.plus(Cost { tokens: 0, micros: *micros });
                if self.limits.tools.contains_key(tool) {
                    let uses = self.tools.entry(tool.clone()).or_default();
                    *uses = uses.saturating_add(*calls);
                }
            }
        }
    }

    fn count_step(&mut self, reserve: Cost, own: bool) {
        self.tree_steps = self.tree_steps.saturating_add(1);
        self.steps = self.steps.saturating_add(u64::from(own));
        self.held = self.held.plus(reserve);
    }

    /// Every bound that a run at or below this one shares.
    pub(super) fn shares(&self, of: &RunId) -> Vec<Share> {
        let rows: [Row; 4] = [
            (Limit::TreeSteps, self.tree_steps, 0, 0),
            (Limit::ToolCalls, self.tool_calls, 0, 0),
            (Limit::Tokens, self.settled.tokens, self.held.tokens, 0),
            (Limit::Money, self.settled.micros, self.held.micros, 0),
        ];
        let tools = self.limits.tools.keys().map(|tool| (Limit::Tool(tool.clone()), self.uses(tool), 0, 0));
        let share = |(limit, used, held, _): Row| {
            let allowed = self.limits.allowed(&limit);
            Share { limit, of: of.clone(), used, held, allowed }
        };
        rows.into_iter().chain(tools).map(share).filter(|share| share.allowed != UNLIMITED).collect()
    }

    fn uses(&self, tool: &ToolName) -> u64 {
        self.tools.get(tool).copied().unwrap_or(0)
    }
}
