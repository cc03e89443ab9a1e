//! The `[guard]` of a task file: when the guard acts on an agent that goes in
//! circles. What a key means stands at the setting of the same name.

use super::field::Table;
use super::limits::Bound;
use crate::guard::loops::{Action, Settings};

/// The keys of `[guard]`.
pub(crate) const KEYS: [&str; 13] = [
    "act",
    "threshold",
    "read_repeats",
    "exec_repeats",
    "stubborn_at",
    "poll_at",
    "cycle_periods",
    "empty_at",
    "unknown_at",
    "denied_at",
    "truncated_at",
    "blocks",
    "similar_percent",
];

/// Most a count may be set to: far beyond any limit on calls.
const COUNT_MAX: u64 = 1_000_000;

pub(crate) fn read(table: &Table<'_>) -> Settings {
    let mut settings = Settings::default();
    let actions = [("block", Action::Block), ("stop", Action::Stop), ("both", Action::Both)];
    if let Some(action) = table.get("act").and_then(|field| field.one_of(&actions)) {
        settings.action = action;
    }
    for (key, setting, most) in [
        ("threshold", &mut settings.threshold, COUNT_MAX),
        ("read_repeats", &mut settings.read_repeats, COUNT_MAX),
        ("exec_repeats", &mut settings.exec_repeats, COUNT_MAX),
        ("stubborn_at", &mut settings.stubborn_at, COUNT_MAX),
        ("poll_at", &mut settings.poll_at, COUNT_MAX),
        ("cycle_periods", &mut settings.cycle_periods, COUNT_MAX),
        ("empty_at", &mut settings.empty_at, COUNT_MAX),
        ("unknown_at", &mut settings.unknown_at, COUNT_MAX),
        ("denied_at", &mut settings.denied_at, COUNT_MAX),
        ("truncated_at", &mut settings.truncated_at, COUNT_MAX),
        ("blocks", &mut settings.blocks, COUNT_MAX),
        ("similar_percent", &mut settings.similar_percent, 100),
    ] {
        let bound = Bound::count(key, 1, most);
        let read = table.get(key).and_then(|field| field.amount(&bound));
        if let Some(count) = read.and_then(|count| u32::try_from(count).ok()) {
            *setting = count;
        }
    }
    settings
}
