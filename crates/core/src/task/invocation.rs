//! How a tool is called, as a task file says it.

use super::field::Table;
use super::limits::{self, Bound};
use crate::tool::{AT_ONCE_MAX, ATTEMPTS_MAX, Class, Invocation};

const CLASSES: [(&str, Class); 4] = [
    ("pure", Class::Pure),
    ("reversible", Class::Reversible),
    ("compensable", Class::Compensable),
    ("irreversible", Class::Irreversible),
];
const ATTEMPTS: Bound = Bound::count("attempts", 1, ATTEMPTS_MAX as u64);
const AT_ONCE: Bound = Bound::count("concurrency", 1, AT_ONCE_MAX as u64);
const COST_USD: Bound = Bound::dollars("cost_usd", 1_000_000);
const OUTPUT_BYTES: Bound = Bound::count("output_bytes", 256, 1024 * 1024);

/// Reads the keys of `[[tool]]` that are about calling it.
pub(super) fn read(table: &Table<'_>) -> Invocation {
    let amount = |bound: &Bound| table.get(bound.key()).and_then(|field| field.amount(bound));
    Invocation {
        class: table.get("class").and_then(|field| field.one_of(&CLASSES)),
        attempts: amount(&ATTEMPTS).map(limits::count),
        at_once: amount(&AT_ONCE).map(limits::count),
        cost_micros: amount(&COST_USD),
        output_bytes: amount(&OUTPUT_BYTES),
    }
}
