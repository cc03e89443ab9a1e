//! The limits of a task file, and the same limits raised on a command line.
//!
//! Every limit has a least and a largest value. What a run uses up may also be
//! `unlimited`, in so many letters; leaving a key out never means that. Bounds of
//! a single call or wait have no such word: those always end.

use std::collections::{BTreeMap, BTreeSet};

use super::field::Table;
use crate::budget::{Limit, Limits, TreeLimits, UNLIMITED, UNLIMITED_COUNT, word};
use crate::event::Raise;
use crate::id::ToolName;
use crate::provenance::{Decimal, NotWhole};
use crate::task::suggest;

const YEAR_SECONDS: u64 = 365 * 24 * 60 * 60;

/// What may be written for an amount.
pub(crate) struct Bound {
    key: &'static str,
    least: u64,
    most: u64,
    unit: Unit,
    ending: Ending,
}

/// Whether there must be an end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// Always.
    Needed,
    /// Unless somebody writes that there is none.
    Waivable,
}

/// How an amount is written and kept.
#[derive(Clone, Copy)]
enum Unit {
    /// A whole number, kept as it is.
    Count,
    /// Whole seconds, kept in milliseconds.
    Seconds,
    /// Dollars with up to six decimals, kept in micro-dollars.
    Dollars,
    /// A number with up to six decimals, kept in millionths.
    Fraction,
}

impl Bound {
    pub(crate) const fn count(key: &'static str, least: u64, most: u64) -> Self {
        Self { key, least, most, unit: Unit::Count, ending: Ending::Needed }
    }

    /// Whole seconds, from 1.
    pub(crate) const fn seconds(key: &'static str, most: u64) -> Self {
        Self { key, least: 1, most, unit: Unit::Seconds, ending: Ending::Needed }
    }

    /// Dollars, from nothing.
    pub(super) const fn dollars(key: &'static str, most: u64) -> Self {
        Self { key, least: 0, most, unit: Unit::Dollars, ending: Ending::Needed }
    }

    /// A number with decimals.
    pub(super) const fn fraction(key: &'static str, most: u64) -> Self {
        Self { key, least: 0, most, unit: Unit::Fraction, ending: Ending::Needed }
    }

    /// What it is called in the file.
    pub(super) fn key(&self) -> &'static str {
        self.key
    }

    /// The same, and `unlimited` may be written.
    const fn or_unlimited(self) -> Self {
        Self { ending: Ending::Waivable, ..self }
    }

    /// What the word `unlimited` comes to here, if it may be written.
    pub(crate) fn unlimited(&self) -> Option<u64> {
        (self.ending == Ending::Waivable).then_some(UNLIMITED)
    }

    /// What is expected, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self.unit {
            Unit::Count => "a whole number",
            Unit::Seconds => "a whole number of seconds",
            Unit::Dollars => "an amount of dollars",
            Unit::Fraction => "a number",
        }
    }

    /// What to write instead.
    pub(crate) fn remedy(&self) -> String {
        let decimals = match self.unit {
            Unit::Count | Unit::Seconds => "",
            Unit::Dollars | Unit::Fraction => " with at most 6 decimals",
        };
        let word = match self.ending {
            Ending::Needed => String::new(),
            Ending::Waivable => format!(", or {:?}", word::WORD),
        };
        format!("write {} from {} to {}{decimals}{word}", self.kind(), self.least, self.most)
    }

    /// The amount in the unit it is kept in, or what is wrong with it.
    pub(crate) fn keep(&self, written: &Decimal, text: &str) -> Result<u64, String> {
        let (places, scale) = match self.unit {
            Unit::Count => (0, 1),
            Unit::Seconds => (0, 1000),
            Unit::Dollars | Unit::Fraction => (6, 1),
        };
        let per_unit = 10_u64.pow(u32::from(places));
        let low = || format!("{text} is below {}", self.least);
        let high = || format!("{text} is above {}", self.most);
        if written.negative {
            return Err(low());
        }
        let amount = written.magnitude(places).map_err(|why| match (why, self.unit) {
            (NotWhole::TooLarge, _) => high(),
            (NotWhole::Fraction, Unit::Dollars) => format!("{text} is finer than a millionth of a dollar"),
            (NotWhole::Fraction, Unit::Fraction) => format!("{text} is finer than a millionth"),
            (NotWhole::Fraction, Unit::Count | Unit::Seconds) => format!("{text} is not a whole number"),
        })?;
        if amount < self.least * per_unit {
            return Err(low());
        }
        if amount > self.most * per_unit {
            return Err(high());
        }
        Ok(amount * scale)
    }
}

const STEPS: Bound = Bound::count("steps", 1, 1_000_000).or_unlimited();
const TOOL_CALLS: Bound = Bound::count("tool_calls", 0, 10_000_000).or_unlimited();
const TOKENS: Bound = Bound::count("tokens", 1, 1_000_000_000_000).or_unlimited();
const COST_USD: Bound = Bound::dollars("cost_usd", 1_000_000_000).or_unlimited();
const ACTIVE_SECONDS: Bound = Bound::seconds("active_seconds", YEAR_SECONDS).or_unlimited();
const REPAIRS: Bound = Bound::count("repairs", 0, 1000).or_unlimited();
const REPAIR_PERCENT: Bound = Bound::count("repair_percent", 0, 100).or_unlimited();
const REPAIR_SECONDS: Bound = Bound::seconds("repair_seconds", YEAR_SECONDS).or_unlimited();
const CONTEXT_TOKENS: Bound = Bound::count("context_tokens", 1, 100_000_000).or_unlimited();
const DEPTH: Bound = Bound::count("depth", 0, 32).or_unlimited();
const AGENTS_ALIVE: Bound = Bound::count("agents_alive", 0, 1000).or_unlimited();
const AGENTS: Bound = Bound::count("agents", 0, 10_000).or_unlimited();
const TREE_STEPS: Bound = Bound::count("tree_steps", 1, 10_000_000).or_unlimited();
const ONE_TOOL: Bound = Bound::count("tools", 0, 10_000_000).or_unlimited();
const PARALLEL: Bound = Bound::count("parallel", 1, 64);
const TRUNCATIONS: Bound = Bound::count("truncations", 1, 100);
const ATTEMPTS: Bound = Bound::count("attempts", 1, 100);
const OUTPUT_TOKENS: Bound = Bound::count("output_tokens", 1, 10_000_000);
const MODEL_SECONDS: Bound = Bound::seconds("model_seconds", 24 * 60 * 60);
const APPROVAL_SECONDS: Bound = Bound::seconds("approval_seconds", YEAR_SECONDS);

/// What `[limits]` knows.
pub(crate) const KEYS: [&str; 20] = [
    STEPS.key,
    TOOL_CALLS.key,
    TOKENS.key,
    COST_USD.key,
    ACTIVE_SECONDS.key,
    REPAIRS.key,
    REPAIR_PERCENT.key,
    REPAIR_SECONDS.key,
    CONTEXT_TOKENS.key,
    DEPTH.key,
    AGENTS_ALIVE.key,
    AGENTS.key,
    TREE_STEPS.key,
    ONE_TOOL.key,
    PARALLEL.key,
    TRUNCATIONS.key,
    ATTEMPTS.key,
    OUTPUT_TOKENS.key,
    MODEL_SECONDS.key,
    APPROVAL_SECONDS.key,
];

/// Reads `[limits]` of a task with these tools; what is not written keeps its
/// default.
pub(crate) fn read(table: &Table<'_>, tools: &BTreeSet<&str>) -> Limits {
    let default = Limits::default();
    let large = |bound: &Bound, default: u64| {
        table.get(bound.key).and_then(|field| field.amount(bound)).unwrap_or(default)
    };
    let small = |bound: &Bound, default: u32| {
        table.get(bound.key).and_then(|field| field.amount(bound)).map_or(default, count)
    };
    let steps = small(&STEPS, default.steps);
    let tree = TreeLimits::default();
    Limits {
        steps,
        tool_calls: small(&TOOL_CALLS, default.tool_calls),
        tokens: large(&TOKENS, default.tokens),
        micros: large(&COST_USD, default.micros),
        active_ms: large(&ACTIVE_SECONDS, default.active_ms),
        repairs: small(&REPAIRS, default.repairs),
        parallel: small(&PARALLEL, default.parallel),
        truncations: small(&TRUNCATIONS, default.truncations),
        attempts: small(&ATTEMPTS, default.attempts),
        output_tokens: large(&OUTPUT_TOKENS, default.output_tokens),
        model_ms: large(&MODEL_SECONDS, default.model_ms),
        approval_ms: large(&APPROVAL_SECONDS, default.approval_ms),
        repair_percent: small(&REPAIR_PERCENT, default.repair_percent),
        repair_ms: large(&REPAIR_SECONDS, default.repair_ms),
        context_tokens: large(&CONTEXT_TOKENS, default.context_tokens),
        tools: one_by_one(table, tools),
        tree: TreeLimits {
            depth: small(&DEPTH, tree.depth),
            agents_alive: small(&AGENTS_ALIVE, tree.agents_alive),
            agents: small(&AGENTS, tree.agents),
            // A run that may make more calls than a whole tree would never get to make them.
            steps: small(&TREE_STEPS, tree.steps.max(steps)),
        },
    }
}

/// An amount as a count; bounds keep everything else below 32 bits.
pub(super) fn count(amount: u64) -> u32 {
    u32::try_from(amount).unwrap_or(UNLIMITED_COUNT)
}

/// Reads `[limits.tools]`: one bound for each tool that is named.
fn one_by_one(table: &Table<'_>, tools: &BTreeSet<&str>) -> BTreeMap<ToolName, u32> {
    let fields = table.get(ONE_TOOL.key).map(|field| field.members()).unwrap_or_default();
    let mut bounds = BTreeMap::new();
    for (name, field) in fields {
        if !tools.contains(name) {
            let remedy = suggest::nearest(name, tools.iter().copied()).map_or_else(
                || "name a tool of `tools` or `[[tool]]`".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            field.wrong(format!("the task has no tool {name:?}"), remedy);
            continue;
        }
        if let (Ok(name), Some(amount)) = (ToolName::parse(name), field.amount(&ONE_TOOL)) {
            bounds.insert(name, count(amount));
        }
    }
    bounds
}

/// Reads a raised limit as a command line gives it: `steps=100`, `cost_usd=2.5`,
/// `active_seconds=60`, `tools.pay=3`, `tokens=unlimited`. The bounds are those of
/// the task file.
pub fn parse_raise(text: &str) -> Result<Raise, String> {
    let words = || Limit::ALL.iter().map(Limit::word).collect::<Vec<_>>();
    let known = || format!("{}, {}NAME", words().join(", "), Limit::TOOL_PREFIX);
    let Some((key, amount)) = text.split_once('=') else {
        return Err(format!("{text:?} raises nothing; write LIMIT=AMOUNT with one of {}", known()));
    };
    let (key, amount) = (key.trim(), amount.trim());
    let Some(limit) = raisable(key) else {
        let remedy = suggest::nearest(key, words().iter().map(String::as_str))
            .map_or_else(|| format!("write one of {}", known()), |near| format!("did you mean {near}?"));
        return Err(format!("{key:?} is no limit that can be raised; {remedy}"));
    };
    let bound = bound_of(&limit);
    let kept = match (Decimal::read(amount), bound.unlimited()) {
        (Some(written), _) => bound.keep(&written, amount),
        (None, Some(unlimited)) if amount == word::WORD => Ok(unlimited),
        (None, _) => Err(format!("{amount:?} is no number")),
    };
    kept.map(|to| Raise { limit, to }).map_err(|what| format!("{key}: {what}; {}", bound.remedy()))
}

fn raisable(key: &str) -> Option<Limit> {
    if let Some(name) = key.strip_prefix(Limit::TOOL_PREFIX) {
        return ToolName::parse(name).ok().map(Limit::Tool);
    }
    Limit::ALL.into_iter().find(|limit| limit.word() == key)
}

fn bound_of(limit: &Limit) -> Bound {
    match limit {
        Limit::Steps => STEPS,
        Limit::ToolCalls => TOOL_CALLS,
        Limit::Tokens => TOKENS,
        Limit::Money => COST_USD,
        Limit::ActiveTime => ACTIVE_SECONDS,
        Limit::Repairs => REPAIRS,
        Limit::RepairShare => REPAIR_PERCENT,
        Limit::RepairTime => REPAIR_SECONDS,
        Limit::Context => CONTEXT_TOKENS,
        Limit::TreeSteps => TREE_STEPS,
        Limit::Depth => DEPTH,
        Limit::AgentsAlive => AGENTS_ALIVE,
        Limit::Agents => AGENTS,
        Limit::Tool(_) => ONE_TOOL,
    }
}
