//! The limits of a task file, and the same limits raised on a command line.
//!
//! Every limit has a least and a largest value: "no limit" cannot be written.

use super::field::Table;
use crate::budget::{Limit, Limits};
use crate::event::Raise;
use crate::provenance::{Decimal, NotWhole};
use crate::task::suggest;

const YEAR_SECONDS: u64 = 365 * 24 * 60 * 60;

/// What may be written for an amount.
pub(super) struct Bound {
    key: &'static str,
    least: u64,
    most: u64,
    unit: Unit,
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
}

impl Bound {
    const fn count(key: &'static str, least: u64, most: u64) -> Self {
        Self { key, least, most, unit: Unit::Count }
    }

    /// Whole seconds, from 1.
    pub(super) const fn seconds(key: &'static str, most: u64) -> Self {
        Self { key, least: 1, most, unit: Unit::Seconds }
    }

    /// What is expected, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self.unit {
            Unit::Count => "a whole number",
            Unit::Seconds => "a whole number of seconds",
            Unit::Dollars => "an amount of dollars",
        }
    }

    /// What to write instead.
    pub(super) fn remedy(&self) -> String {
        let decimals = match self.unit {
            Unit::Count | Unit::Seconds => "",
            Unit::Dollars => " with at most 6 decimals",
        };
        format!("write {} from {} to {}{decimals}", self.kind(), self.least, self.most)
    }

    /// The amount in the unit it is kept in, or what is wrong with it.
    pub(super) fn keep(&self, written: &Decimal, text: &str) -> Result<u64, String> {
        let (places, scale) = match self.unit {
            Unit::Count => (0, 1),
            Unit::Seconds => (0, 1000),
            Unit::Dollars => (6, 1),
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

const STEPS: Bound = Bound::count("steps", 1, 1_000_000);
const TOOL_CALLS: Bound = Bound::count("tool_calls", 0, 10_000_000);
const TOKENS: Bound = Bound::count("tokens", 1, 1_000_000_000_000);
const COST_USD: Bound = Bound { key: "cost_usd", least: 0, most: 1_000_000_000, unit: Unit::Dollars };
const ACTIVE_SECONDS: Bound = Bound::seconds("active_seconds", YEAR_SECONDS);
const REPAIRS: Bound = Bound::count("repairs", 0, 1000);
const PARALLEL: Bound = Bound::count("parallel", 1, 64);
const TRUNCATIONS: Bound = Bound::count("truncations", 1, 100);
const ATTEMPTS: Bound = Bound::count("attempts", 1, 100);
const OUTPUT_TOKENS: Bound = Bound::count("output_tokens", 1, 10_000_000);
const MODEL_SECONDS: Bound = Bound::seconds("model_seconds", 24 * 60 * 60);
const APPROVAL_SECONDS: Bound = Bound::seconds("approval_seconds", YEAR_SECONDS);

/// What `[limits]` knows.
pub(super) const KEYS: [&str; 12] = [
    STEPS.key,
    TOOL_CALLS.key,
    TOKENS.key,
    COST_USD.key,
    ACTIVE_SECONDS.key,
    REPAIRS.key,
    PARALLEL.key,
    TRUNCATIONS.key,
    ATTEMPTS.key,
    OUTPUT_TOKENS.key,
    MODEL_SECONDS.key,
    APPROVAL_SECONDS.key,
];

/// Reads `[limits]`; what is not written keeps its default.
pub(super) fn read(table: &Table<'_>) -> Limits {
    let default = Limits::default();
    let large = |bound: &Bound, default: u64| {
        table.get(bound.key).and_then(|field| field.amount(bound)).unwrap_or(default)
    };
    let small =
        |bound: &Bound, default: u32| u32::try_from(large(bound, u64::from(default))).unwrap_or(default);
    Limits {
        steps: small(&STEPS, default.steps),
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
    }
}

/// Reads a raised limit as a command line gives it: `steps=100`, `cost_usd=2.5`,
/// `active_seconds=60`. The bounds are those of the task file.
pub fn parse_raise(text: &str) -> Result<Raise, String> {
    let words = || Limit::ALL.into_iter().map(Limit::word);
    let known = || words().collect::<Vec<_>>().join(", ");
    let Some((key, amount)) = text.split_once('=') else {
        return Err(format!("{text:?} raises nothing; write LIMIT=AMOUNT with one of {}", known()));
    };
    let (key, amount) = (key.trim(), amount.trim());
    let Some(limit) = Limit::ALL.into_iter().find(|limit| limit.word() == key) else {
        let remedy = suggest::nearest(key, words())
            .map_or_else(|| format!("write one of {}", known()), |near| format!("did you mean {near}?"));
        return Err(format!("{key:?} is no limit that can be raised; {remedy}"));
    };
    let bound = match limit {
        Limit::Steps => STEPS,
        Limit::ToolCalls => TOOL_CALLS,
        Limit::Tokens => TOKENS,
        Limit::Money => COST_USD,
        Limit::ActiveTime => ACTIVE_SECONDS,
    };
    let kept = match Decimal::read(amount) {
        Some(written) => bound.keep(&written, amount),
        None => Err(format!("{amount:?} is no number")),
    };
    kept.map(|to| Raise { limit, to }).map_err(|what| format!("{key}: {what}; {}", bound.remedy()))
}
