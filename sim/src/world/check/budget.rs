//! O9: what a run used, over all its lives, against what it was allowed.

use std::collections::BTreeMap;

use bowline_core::budget::{Cost, Limit, Limits};
use bowline_core::event::{CallTrouble, Event, Raise, StepTrouble};
use bowline_core::id::{ActionId, RunId, ToolName};

use super::{Numbered, Verdict, submission};
use crate::world::violation::Check;

/// One run's use of its bounds.
struct Spent {
    limits: Limits,
    steps: u32,
    tool_calls: u32,
    by_tool: BTreeMap<ToolName, u32>,
    repairs: u32,
    settled: Cost,
    reserved: BTreeMap<u32, Cost>,
    /// Set aside for tool calls that ask a model.
    asides: BTreeMap<ActionId, Cost>,
    /// What the provider billed beyond what was set aside.
    excess: Cost,
}

/// Steps, calls, repairs, tokens and money stay within the limits.
pub(super) fn bounds(run: &RunId, journal: &[Numbered], verdict: &mut Verdict) {
    let Some(submission) = submission(journal) else {
        verdict.violation(Check::O9, format!("run {run} was submitted without limits"));
        return;
    };
    let mut spent = Spent {
        limits: submission.task.limits.clone(),
        steps: 0,
        tool_calls: 0,
        by_tool: BTreeMap::new(),
        repairs: 0,
        settled: Cost::default(),
        reserved: BTreeMap::new(),
        asides: BTreeMap::new(),
        excess: Cost::default(),
    };
    for (seq, event) in journal {
        if let Some(what) = spent.take(event) {
            verdict.violation(Check::O9, format!("run {run} event {seq}: {what}"));
        }
    }
    let (held, limits, excess) = (spent.held(), &spent.limits, spent.excess);
    let tokens = held.tokens <= limits.tokens.saturating_add(excess.tokens);
    let money = held.micros <= limits.micros.saturating_add(excess.micros);
    verdict.require(tokens && money, Check::O9, || format!("run {run} used {held:?} of {limits:?}"));
}

impl Spent {
    fn held(&self) -> Cost {
        self.reserved.values().chain(self.asides.values()).fold(self.settled, |sum, cost| sum.plus(*cost))
    }

    /// Moves on by one event; says what is out of bounds.
    fn take(&mut self, event: &Event) -> Option<String> {
        if let Event::StepStarted { step, reserved, .. } = event {
            return self.step(*step, *reserved);
        }
        if let Event::StepFinished { step, usage, micros, .. } = event {
            self.settle(*step, Cost { tokens: usage.input + usage.output, micros: *micros });
        }
        if let Event::StepFailed { step, why, .. } = event {
            let paid = matches!(why.kind, StepTrouble::Lost | StepTrouble::TimedOut);
            let reserved = self.reserved.get(step).copied().unwrap_or_default();
            self.settle(*step, if paid { reserved } else { Cost::default() });
        }
        self.settle_aside(event);
        if let Event::CallStarted { action, micros, reserved, .. } = event {
            self.settled.micros += micros;
            if let Some(over) = reserved.and_then(|reserved| self.aside(*action, reserved)) {
                return Some(over);
            }
        }
        // Another attempt counts from the moment it is decided on.
        if let Event::CallStarted { attempt: 1, tool, .. } | Event::CallTroubled { tool, .. } = event {
            return self.call(tool);
        }
        // Beyond repair, rounds are counted anew.
        if let Event::Escalated(_) = event {
            self.repairs = 0;
        }
        if let Event::RepairStarted { .. } = event {
            self.repairs += 1;
            let over = self.repairs > self.limits.repairs;
            return over.then(|| format!("repair {} of {}", self.repairs, self.limits.repairs));
        }
        if let Event::Resumed { raised, .. } = event {
            raised.iter().for_each(|raise| self.raise(raise));
        }
        None
    }

    fn step(&mut self, step: u32, reserved: Cost) -> Option<String> {
        self.steps += 1;
        if step != self.steps {
            return Some(format!("step {step} is number {}", self.steps));
        }
        self.reserved.insert(step, reserved);
        let held = self.held();
        let within = self.steps <= self.limits.steps
            && held.tokens <= self.limits.tokens
            && held.micros <= self.limits.micros;
        (!within).then(|| format!("step {step} holds {held:?} of {:?}", self.limits))
    }

    /// A tool call that asks a model is a step as well.
    fn aside(&mut self, action: ActionId, reserved: Cost) -> Option<String> {
        self.steps += 1;
        self.asides.insert(action, reserved);
        let held = self.held();
        let within = self.steps <= self.limits.steps
            && held.tokens <= self.limits.tokens
            && held.micros <= self.limits.micros;
        (!within).then(|| format!("the question of {action} holds {held:?} of {:?}", self.limits))
    }

    /// What becomes of what a call had set aside: only trouble that is known to have
    /// kept it from happening is free.
    fn settle_aside(&mut self, event: &Event) {
        let (action, used) = match event {
            Event::CallFinished { action, spent, .. } => (action, *spent),
            Event::CallTroubled { action, why: CallTrouble::Unavailable, .. } => {
                (action, Some(Cost::default()))
            }
            Event::CallTroubled { action, .. } | Event::CallInDoubt { action, .. } => (action, None),
            _ => return,
        };
        if let Some(reserved) = self.asides.remove(action) {
            let used = used.unwrap_or(reserved);
            self.excess = self.excess.plus(used.minus(reserved));
            self.settled = self.settled.plus(used);
        }
    }

    fn call(&mut self, tool: &ToolName) -> Option<String> {
        self.tool_calls += 1;
        let uses = self.by_tool.entry(tool.clone()).or_default();
        *uses += 1;
        let (uses, most) = (*uses, self.limits.tools.get(tool).copied().unwrap_or(u32::MAX));
        if uses > most {
            return Some(format!("call {uses} of {most} of {tool}"));
        }
        let over = self.tool_calls > self.limits.tool_calls;
        over.then(|| format!("tool call {} of {}", self.tool_calls, self.limits.tool_calls))
    }

    fn settle(&mut self, step: u32, used: Cost) {
        let reserved = self.reserved.remove(&step).unwrap_or_default();
        self.excess = self.excess.plus(used.minus(reserved));
        self.settled = self.settled.plus(used);
    }

    fn raise(&mut self, raise: &Raise) {
        let count = u32::try_from(raise.to).unwrap_or(u32::MAX);
        match &raise.limit {
            Limit::Steps => self.limits.steps = self.limits.steps.max(count),
            Limit::ToolCalls => self.limits.tool_calls = self.limits.tool_calls.max(count),
            Limit::Tokens => self.limits.tokens = self.limits.tokens.max(raise.to),
            Limit::Money => self.limits.micros = self.limits.micros.max(raise.to),
            Limit::Repairs => self.limits.repairs = self.limits.repairs.max(count),
            Limit::Tool(tool) => {
                self.limits.tools.get_mut(tool).into_iter().for_each(|most| *most = (*most).max(count));
            }
            Limit::ActiveTime
            | Limit::RepairShare
            | Limit::RepairTime
            | Limit::Context
            | Limit::TreeSteps
            | Limit::Depth
            | Limit::AgentsAlive
            | Limit::Agents => {}
        }
    }
}
