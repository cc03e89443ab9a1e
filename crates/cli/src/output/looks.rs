//! Lines of commands that look at something and judge it.

use bowline_core::gate::{Calibration, Reliability};
use bowline_core::id::RunId;
use bowline_core::provenance::Digest;
use serde::Serialize;

use super::runs::Remains;

/// What the examination of a run's journal found.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Verified<'a> {
    /// Which run.
    pub run: &'a RunId,
    /// Nothing is wrong.
    pub ok: bool,
    /// How many events it has.
    pub events: u64,
    /// How many records.
    pub records: u64,
    /// How many texts and files it names.
    pub contents: usize,
    /// Hash of the last record.
    pub head: Digest,
    /// How many events came after the head that was expected, where that is there.
    pub events_after_expected: Option<u64>,
    /// Everything that is wrong, in the order it was found.
    pub problems: &'a [String],
}

/// A run that was named and deleted: nothing of it can be examined, its head can be compared.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct VerifiedDeleted<'a> {
    /// Which run.
    pub run: &'a RunId,
    /// Its head is the one that was expected, or none was.
    pub ok: bool,
    /// What is left of it.
    pub deleted: Remains<'a>,
}

/// How far the confidence of runs can be relied upon.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Calibrated<'a> {
    /// Of which class of tasks; `null`: of all.
    pub class: &'a Option<String>,
    /// Outputs people judged.
    pub outcomes: usize,
    /// How many are needed before confidence is corrected.
    pub enough: usize,
    /// How confidence stood to what came true.
    pub as_it_was: &'a Reliability,
    /// The correction; `null` while there are too few.
    pub learned: Option<Calibration>,
    /// The same with the correction.
    pub corrected: Option<&'a Reliability>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Health<'a> {
    /// What.
    pub check: &'a str,
    /// How it is.
    pub health: HealthWord,
    /// What was found.
    pub found: &'a str,
    /// What to do about it, if anything.
    pub remedy: Option<&'a str>,
}

/// How something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HealthWord {
    /// As it should be.
    Ok,
    /// It works, and could be better.
    Warn,
    /// It does not work.
    Bad,
}
