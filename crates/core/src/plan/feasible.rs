//! Whether a plan can work, before any of it is done: seven checks, each with its own
//! findings and remedies.
//!
//! [`check`] first settles who makes what for whom ([`links`]) and adds
//! the order that takes, then leaves out what the budget has no room for
//! ([`prune`](super::prune)), and judges what is left. A plan that waits for a person's
//! word is *blocked*, and blocked is not valid. Nothing here looks at the world: what
//! is known of it arrives as [`Circumstances`].

mod outfit;
mod simulate;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use super::flat::Flat;
use super::links::{self, Links};
use super::measure::{Estimates, Schedule};
use super::prune::{Left, Pruned, prune, tokens_of};
use super::width::{Width, width};
use super::{Fact, Plan};
use crate::id::{SubtaskId, ToolName};
use crate::task::suggest;
pub use outfit::{Outfit, left_of};

/// Most findings of one check; more are counted, not told.
const FINDINGS_MAX: usize = 100;

/// What is known of the world the plan would run in.
pub struct Circumstances<'a> {
    /// What holds from the beginning.
    pub facts: &'a BTreeSet<Fact>,
    /// The tools there are.
    pub tools: &'a dyn Tools,
    /// The budget that is left.
    pub left: Left,
    /// How many sub-tasks may run at once.
    pub slots: usize,
    /// What sub-tasks need that do not say.
    pub estimates: Estimates,
}

/// Answers for tools.
pub trait Tools {
    /// Whether a tool may be used.
    fn access(&self, tool: &ToolName) -> Access;
    /// The names of all tools there are.
    fn names(&self) -> Vec<&str>;
}

/// Whether a tool may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Without further ado.
    Granted,
    /// After a person agreed to each call.
    AsksFirst,
    /// Not at all.
    Denied {
        /// Why not.
        why: String,
    },
    /// There is no such tool.
    Missing,
}

/// What is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// Every tool it uses is there.
    Tools,
    /// What each sub-task needs holds when it starts, whatever branches are taken.
    Preconditions,
    /// The dearest branches fit the tokens that are left.
    Tokens,
    /// The longest path fits the time that is left.
    Latency,
    /// Nothing it uses is denied or waits for a person.
    Permissions,
    /// Nothing waits for itself.
    Order,
    /// It fits the time that is left with the slots there are.
    Concurrency,
}

impl Check {
    /// All of them, in the order they are told.
    pub const ALL: [Self; 7] = [
        Self::Tools,
        Self::Preconditions,
        Self::Tokens,
        Self::Latency,
        Self::Permissions,
        Self::Order,
        Self::Concurrency,
    ];

    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Preconditions => "preconditions",
            Self::Tokens => "tokens",
            Self::Latency => "latency",
            Self::Permissions => "permissions",
            Self::Order => "order",
            Self::Concurrency => "concurrency",
        }
    }
}

/// How a check came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// What was checked.
    pub check: Check,
    /// How it stands.
    pub stands: Stands,
    /// The figures it rests on, in words.
    pub note: String,
    /// What is wrong; empty if it holds.
    pub findings: Vec<Finding>,
}

/// How a check stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Stands {
    /// Nothing is wrong.
    Holds,
    /// Something is wrong.
    Fails,
    /// Nothing is wrong that a person's word could not change.
    Blocked,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The sub-task it is about; `None`: the plan as a whole.
    pub at: Option<SubtaskId>,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.at.as_ref().map_or("plan", SubtaskId::as_str);
        write!(f, "{place}: {}; {}", self.what, self.remedy)
    }
}

/// What came of all checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feasibility {
    /// The plan that was judged: with the order links ask for, without what was pruned.
    pub plan: Plan,
    /// Who makes what for whom.
    pub links: Links,
    /// What was left out to fit the budget.
    pub pruned: Vec<Pruned>,
    /// One for every check, in the order of [`Check::ALL`].
    pub verdicts: Vec<Verdict>,
}

impl Feasibility {
    /// Whether every check holds. What is blocked is not valid.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.stands == Stands::Holds)
    }

    /// Whether a person's word is all that is missing.
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        !self.is_valid() && self.verdicts.iter().all(|verdict| verdict.stands != Stands::Fails)
    }

    /// How one check came out.
    #[must_use]
    pub fn of(&self, check: Check) -> Option<&Verdict> {
        self.verdicts.iter().find(|verdict| verdict.check == check)
    }
}

/// Judges a plan.
#[must_use]
pub fn check(plan: Plan, circumstances: &Circumstances<'_>) -> Feasibility {
    let mut links = links::resolve(&plan, circumstances.facts);
    let mut order = Vec::new();
    let plan = match links.apply(plan.clone()) {
        Ok(ordered) => ordered,
        Err(bad) => {
            let remedy = "let fewer sub-tasks depend on what one of them breaks".to_owned();
            order.push(Finding { at: bad.node().cloned(), what: bad.to_string(), remedy });
            plan
        }
    };
    let (plan, pruned) = prune(plan, &links.links, &circumstances.left, &circumstances.estimates);
    forget(&mut links, &pruned);
    let flat = Flat::new(&plan);
    let schedule = Schedule::new(&flat, &circumstances.estimates);
    if flat.order.len() < flat.graph.len() {
        let what = "sub-tasks wait for each other".to_owned();
        order.push(Finding { at: None, what, remedy: "let one of them come first".into() });
    }
    let (tools, permissions) = tools(&flat, circumstances);
    let width = width(&flat);
    let verdicts = vec![
        tools,
        preconditions(&plan, &links, circumstances.facts),
        tokens(&plan, circumstances),
        latency(&flat, &schedule, circumstances),
        permissions,
        verdict(Check::Order, format!("{} added", count(links.orderings.len(), "ordering")), order),
        concurrency(&flat, &schedule, width, circumstances),
    ];
    drop(flat);
    Feasibility { plan, links, pruned, verdicts }
}

/// What is gone neither needs nor makes anything.
fn forget(links: &mut Links, pruned: &[Pruned]) {
    let gone: BTreeSet<&SubtaskId> = pruned.iter().map(|it| &it.id).collect();
    links.links.retain(|link| !gone.contains(&link.to));
    links.orderings.retain(|it| !gone.contains(&it.first) && !gone.contains(&it.then));
    links.problems.retain(|trouble| !gone.contains(trouble.id()));
}

fn verdict(check: Check, note: String, mut findings: Vec<Finding>) -> Verdict {
    let more = findings.len().saturating_sub(FINDINGS_MAX);
    findings.truncate(FINDINGS_MAX);
    if more > 0 {
        let what = format!("{more} more findings like these");
        findings.push(Finding { at: None, what, remedy: "mend those above first".into() });
    }
    let stands = if findings.is_empty() { Stands::Holds } else { Stands::Fails };
    Verdict { check, stands, note, findings }
}

/// Whether the tools are there, and whether they may be used.
fn tools(flat: &Flat<'_>, circumstances: &Circumstances<'_>) -> (Verdict, Verdict) {
    let (mut missing, mut barred) = (Vec::new(), Vec::new());
    let mut is_denied = false;
    let mut uses: BTreeSet<&ToolName> = BTreeSet::new();
    for (_, subtask) in flat.subtasks() {
        for tool in &subtask.uses {
            uses.insert(tool);
            let at = Some(subtask.id.clone());
            match circumstances.tools.access(tool) {
                Access::Granted => {}
                Access::Missing => {
                    let near = suggest::nearest(tool.as_str(), circumstances.tools.names());
                    let remedy = near.map_or_else(
                        || "give the task that tool, or plan without it".to_owned(),
                        |near| format!("did you mean {near}?"),
                    );
                    missing.push(Finding { at, what: format!("there is no tool {tool}"), remedy });
                }
                Access::AsksFirst => {
                    let remedy =
                        "have somebody ready to answer, or let the task say consent = \"not-needed\"";
                    let what = format!("{tool} waits for a person before each call");
                    barred.push(Finding { at, what, remedy: remedy.into() });
                }
                Access::Denied { why } => {
                    is_denied = true;
                    let remedy = "grant it to the agent, or plan without it".to_owned();
                    barred.push(Finding { at, what: format!("{tool} is denied: {why}"), remedy });
                }
            }
        }
    }
    let used = count(uses.len(), "tool");
    let mut permissions = verdict(Check::Permissions, format!("{used} used"), barred);
    if permissions.stands == Stands::Fails && !is_denied {
        permissions.stands = Stands::Blocked;
    }
    (verdict(Check::Tools, format!("{used} used"), missing), permissions)
}

fn preconditions(plan: &Plan, links: &Links, given: &BTreeSet<Fact>) -> Verdict {
    let mut findings: Vec<Finding> = Vec::new();
    let mut told: BTreeSet<&SubtaskId> = BTreeSet::new();
    for trouble in &links.problems {
        told.insert(trouble.id());
        let at = Some(trouble.id().clone());
        findings.push(Finding { at, what: trouble.to_string(), remedy: trouble.remedy() });
    }
    for (id, fact) in simulate::unmet(plan, given) {
        if !told.contains(id) {
            let what = format!("{:?} does not hold when it starts", fact.as_str());
            let remedy = "let a sub-task that makes it come first".to_owned();
            findings.push(Finding { at: Some(id.clone()), what, remedy });
        }
    }
    verdict(Check::Preconditions, count(links.links.len(), "link"), findings)
}

fn tokens(plan: &Plan, circumstances: &Circumstances<'_>) -> Verdict {
    let needed = tokens_of(plan, &circumstances.estimates);
    let Some(left) = circumstances.left.tokens else {
        return verdict(Check::Tokens, format!("about {needed} needed, no limit"), Vec::new());
    };
    let mut findings = Vec::new();
    if needed > left {
        findings.push(Finding {
            at: None,
            what: format!("about {needed} tokens are needed and {left} are left"),
            remedy: "raise limits.tokens, or mark sub-tasks that may be left out as optional".into(),
        });
    }
    verdict(Check::Tokens, format!("about {needed} of {left}"), findings)
}

fn latency(flat: &Flat<'_>, schedule: &Schedule, circumstances: &Circumstances<'_>) -> Verdict {
    let needed = schedule.total;
    let Some(left) = circumstances.left.seconds else {
        return verdict(Check::Latency, format!("at least {needed} s, no limit"), Vec::new());
    };
    let mut findings = Vec::new();
    if needed > left {
        let path = schedule.path(flat);
        findings.push(Finding {
            at: path.last().map(|id| (*id).clone()),
            what: format!(
                "the longest path of {} takes {needed} s and {left} s are left",
                count(path.len(), "sub-task")
            ),
            remedy:
                "let sub-tasks on it run beside each other, make them smaller, or raise limits.active_seconds"
                    .into(),
        });
    }
    verdict(Check::Latency, format!("at least {needed} s of {left} s"), findings)
}

fn concurrency(
    flat: &Flat<'_>,
    schedule: &Schedule,
    width: Width,
    circumstances: &Circumstances<'_>,
) -> Verdict {
    let slots = circumstances.slots;
    let wide = if width.is_exact() {
        format!("up to {} at once", width.at_least)
    } else {
        format!("up to {} to {} at once (bounds)", width.at_least, width.at_most)
    };
    if slots == 0 {
        let what = "nothing may run".to_owned();
        let finding = Finding { at: None, what, remedy: "raise limits.parallel to at least 1".into() };
        return verdict(Check::Concurrency, wide, vec![finding]);
    }
    let takes = slots::seconds(flat, schedule, slots);
    let note = format!("{wide}, {}: about {takes} s", count(slots, "slot"));
    let mut findings = Vec::new();
    if let Some(left) = circumstances.left.seconds
        && schedule.total <= left
        && takes > left
    {
        let wanted = slots::least(flat, schedule, left);
        findings.push(Finding {
            at: None,
            what: format!("with {} it takes about {takes} s and {left} s are left", count(slots, "slot")),
            remedy: format!("raise limits.parallel to at least {wanted}, or plan less"),
        });
    }
    verdict(Check::Concurrency, note, findings)
}

pub(crate) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
