//! The parts of a task file that say how its output is verified: `[output]`, `[[check]]`,
//! `[rubric]`, `[claims]`, `[edge_cases]`, `[consistency]` and `[quality]`.
//!
//! Checks come out in the order they are made: the cheapest first, and among equals as
//! they are written. What contradicts itself is refused here, not found out in a run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::field::{Field, Table};
use super::limits::Bound;
use super::problem::quoted;
use super::section::Section;
use crate::control::Ppm;
use crate::gate::{Doubts, Gate, Thresholds};
use crate::id::SubtaskId;
use crate::quality::{Check, CheckHow, TestLevel, TestRun};
use crate::verify::{
    ASKS_MAX, Assertion, By, CASES_MAX, ClaimRules, DIMENSIONS_MAX, Dimension, EdgeCases, Of, Proof, Rubric,
    SAMPLES, Sampling, Target,
};

/// Most checks that are written.
const CHECKS_MAX: usize = 128;
/// Longest name of a check or a dimension, in bytes.
const NAME_MAX: usize = 128;
/// Longest path and longest pattern, in bytes.
const PATH_MAX: usize = 4096;
/// Longest description of a dimension, in bytes.
const ABOUT_MAX: usize = 2048;
/// Largest value an assertion may compare with, in bytes and levels.
const VALUE_MAX: usize = 16 * 1024;
const VALUE_LEVELS: usize = 16;
/// How far a number may be off at most.
const WITHIN_MAX: u64 = 1_000_000_000;
/// How long a check may take when it does not say.
const TIMEOUT_MS: u64 = 120_000;
const CASE_TIMEOUT_MS: u64 = 10_000;
const CASES: u32 = 5;

const TIMEOUT: Bound = Bound::seconds("timeout_seconds", 3600);

/// Keys of `[[check]]`.
pub(super) const CHECK_KEYS: [&str; 13] = [
    "name",
    "command",
    "timeout_seconds",
    "tests",
    "report",
    "part",
    "file",
    "exists",
    "matches",
    "lacks",
    "at",
    "is",
    "within",
];
/// Keys of `[quality]`.
pub(super) const QUALITY_KEYS: [&str; 9] =
    ["correct", "complete", "coherent", "safe", "tests", "consistent", "auto", "review", "looser"];

/// The names of the checks that sections become.
const OUTPUT_CHECK: &str = "output schema";
const RUBRIC_CHECK: &str = "rubric";
const CLAIMS_CHECK: &str = "claims";
const CASES_CHECK: &str = "edge cases";
const ANSWERS_CHECK: &str = "consistency";
/// Most answers that may be asked to be the same.
const ANSWERS_MAX: i32 = 7;

/// What an output must reach, and how sure the run must be of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Standards {
    /// What each gate asks for.
    pub thresholds: Thresholds,
    /// How sure the run must be.
    pub doubts: Doubts,
}

impl Standards {
    /// Nothing is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Every check of a task, in the order they are made.
pub(super) fn checks(top: &Table<'_>, evidence: &[String], standards: &Standards) -> Vec<Check> {
    let mut names = BTreeSet::new();
    let section = |key: &str, section: Section| top.get(key).and_then(|field| field.table(section));
    let mut add = |key: &str, name: &str, how: Option<CheckHow>| {
        if top.get(key).is_some() {
            names.insert(name.to_owned());
        }
        how.map(|how| Check { name: name.into(), how, part: None })
    };
    let mut checks: Vec<Check> = [
        add("output", OUTPUT_CHECK, section("output", Section::Output).and_then(|table| schema(&table))),
        add("claims", CLAIMS_CHECK, section("claims", Section::Claims).map(|table| claims(&table, evidence))),
        add(
            "edge_cases",
            CASES_CHECK,
            section("edge_cases", Section::EdgeCases).and_then(|table| cases(&table)),
        ),
        add(
            "rubric",
            RUBRIC_CHECK,
            section("rubric", Section::Rubric).map(|table| rubric(&table, standards)),
        ),
        add(
            "consistency",
            ANSWERS_CHECK,
            section("consistency", Section::Consistency).map(|table| sampling(&table)),
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    let tables = top.get("check").map(|field| field.tables(Section::Check, CHECKS_MAX)).unwrap_or_default();
    checks.extend(tables.iter().filter_map(|table| check(table, &mut names)));
    checks.sort_by_key(|check| check.how.level());
    checks
}

fn schema(table: &Table<'_>) -> Option<CheckHow> {
    let field = table.require("schema", "give a JSON Schema, or leave `[output]` out")?;
    field.schema().map(CheckHow::Schema)
}

fn check(table: &Table<'_>, names: &mut BTreeSet<String>) -> Option<Check> {
    let name = table.require("name", "say what people call it, as in name = \"tests\"").and_then(|field| {
        let name = field.text(NAME_MAX)?;
        if !names.insert(name.into()) {
            field.wrong(format!("another check is called {}", quoted(name)), "give each check its own name");
        }
        Some(name.to_owned())
    });
    let how = match table.get("command") {
        Some(command) => program(table, &command),
        None => assertion(table).map(CheckHow::Assert),
    };
    let part = part(table);
    Some(Check { name: name?, how: how?, part })
}

/// The part of the plan a check is about. Repairs give the output as a whole, so only what
/// lies in the workspace has parts.
fn part(table: &Table<'_>) -> Option<SubtaskId> {
    let field = table.get("part")?;
    if table.get("command").is_none() && table.get("file").is_none() {
        field.wrong("only a `command` or a `file` can be about a part", "leave `part` out, or name a `file`");
    }
    let part = SubtaskId::parse(field.text(NAME_MAX)?);
    if let Err(bad) = &part {
        field.wrong(bad.to_string(), "name a sub-task of `plan`");
    }
    part.ok()
}

/// Refuses keys that mean nothing beside what the check is.
fn refuse(table: &Table<'_>, keys: &[&str], what: &str) {
    for field in keys.iter().filter_map(|key| table.get(key)) {
        field.wrong(format!("this means nothing {what}"), "remove it, or make it a check of its own");
    }
}

fn timeout(table: &Table<'_>, default: u64) -> u64 {
    table.get("timeout_seconds").and_then(|field| field.amount(&TIMEOUT)).unwrap_or(default)
}

fn program(table: &Table<'_>, command: &Field<'_>) -> Option<CheckHow> {
    refuse(table, &["file", "exists", "matches", "lacks", "at", "is", "within"], "beside a `command`");
    let (argv, timeout_ms) = (command.argv(), timeout(table, TIMEOUT_MS));
    let Some(level) = table.get("tests") else {
        refuse(table, &["report"], "without `tests`");
        return Some(CheckHow::Command { argv: argv?, timeout_ms });
    };
    let level = level.one_of(&TestLevel::WORDS).unwrap_or(TestLevel::Unit);
    let report = table.get("report").and_then(|field| inside(&field));
    Some(CheckHow::Tests(TestRun { argv: argv?, timeout_ms, level, report }))
}

/// A path below the workspace.
fn inside(field: &Field<'_>) -> Option<String> {
    let path = field.text(PATH_MAX)?;
    if super::parse::leaves_the_workspace(path) {
        field.wrong(
            format!("{} leaves the workspace", quoted(path)),
            "write a path below the workspace, without `..`",
        );
    }
    Some(path.to_owned())
}

fn assertion(table: &Table<'_>) -> Option<Assertion> {
    refuse(table, &["tests", "report", "timeout_seconds"], "without a `command`");
    let file = table.get("file");
    let target = match &file {
        None => Target::Output,
        Some(field) => Target::File(inside(field)?),
    };
    let kinds = ["exists", "matches", "lacks", "at"];
    let mut given = kinds.into_iter().filter_map(|key| Some((key, table.get(key)?)));
    let Some((kind, field)) = given.next() else {
        table.require(
            "command",
            "say what to run, or what must hold: `exists`, `matches`, `lacks`, or `at` and `is`",
        );
        return None;
    };
    if let Some((_, second)) = given.next() {
        second.wrong("one check states one thing", "make it a check of its own");
    }
    if kind != "at" {
        refuse(table, &["is", "within"], "without `at`");
    }
    let pattern = |wanted: bool| Some(Proof::Matches { pattern: field.text(PATH_MAX)?.to_owned(), wanted });
    let proof = match kind {
        "exists" => {
            if file.is_none() {
                field.wrong("only a file is there or not", "name it, as in file = \"out.json\"");
            }
            Proof::Exists(field.yes_or_no()?)
        }
        "matches" => pattern(true)?,
        "lacks" => pattern(false)?,
        _ => Proof::Value(value(table, &field)?),
    };
    Some(Assertion { target, proof })
}

fn value(table: &Table<'_>, at: &Field<'_>) -> Option<Of> {
    let pointer = at.text_or_nothing(PATH_MAX)?;
    if !pointer.is_empty() && !pointer.starts_with('/') {
        at.wrong(format!("{} is no JSON pointer", quoted(pointer)), "begin with `/`, as in at = \"/total\"");
    }
    let is = table.require("is", "say what must be there, as in is = 12.5")?;
    let value = is.json(VALUE_MAX, VALUE_LEVELS)?;
    let within = table.get("within").and_then(|field| {
        if !value.is_number() {
            field.wrong("only a number can be nearly right", "remove it");
        }
        field.amount(&Bound::fraction("within", WITHIN_MAX))
    });
    let within = within.and_then(|within| i64::try_from(within).ok()).map(Ppm).unwrap_or_default();
    Some(Of { at: pointer.to_owned(), is: value, within })
}

fn share(table: &Table<'_>, key: &'static str) -> Option<Ppm> {
    let amount = table.get(key)?.amount(&Bound::fraction(key, 1))?;
    i64::try_from(amount).ok().map(Ppm)
}

fn count(table: &Table<'_>, key: &'static str, most: u32) -> Option<u32> {
    let amount = table.get(key)?.amount(&Bound::count(key, 1, u64::from(most)))?;
    u32::try_from(amount).ok()
}

fn rubric(table: &Table<'_>, standards: &Standards) -> CheckHow {
    let mut rubric = Rubric::default();
    if let Some(field) = table.get("dimension") {
        let tables = field.tables(Section::Dimension, DIMENSIONS_MAX);
        rubric.dimensions = tables.iter().filter_map(dimension).collect();
        let sum: i64 = rubric.dimensions.iter().map(|dimension| dimension.weight.0).sum();
        if rubric.dimensions.len() == tables.len() && sum != Ppm::ONE.0 {
            field.wrong(format!("the weights are {} together", Ppm(sum)), "make them 1 together");
        }
        let mut seen = BTreeSet::new();
        if let Some(twice) = rubric.dimensions.iter().find(|dimension| !seen.insert(dimension.name.clone())) {
            field.wrong(format!("two dimensions are called {}", quoted(&twice.name)), "name each once");
        }
    }
    rubric.aggregate = share(table, "aggregate").unwrap_or(rubric.aggregate);
    rubric.asks = count(table, "asks", ASKS_MAX).unwrap_or(rubric.asks);
    contradictions(table, &rubric, standards);
    CheckHow::Rubric(rubric)
}

fn dimension(table: &Table<'_>) -> Option<Dimension> {
    let name =
        table.require("name", "name it, as in name = \"correct\"").and_then(|field| field.text(NAME_MAX));
    let about = table
        .require("about", "say what it is about, and what 0 and 1 mean")
        .and_then(|field| field.text(ABOUT_MAX));
    table.require("weight", "say how much it counts, from 0 to 1");
    let (weight, minimum) = (share(table, "weight"), share(table, "minimum").unwrap_or_default());
    Some(Dimension { name: name?.into(), weight: weight?, minimum, about: about?.into() })
}

/// A gate below the least that its dimension may have would never be what decides.
fn contradictions(table: &Table<'_>, rubric: &Rubric, standards: &Standards) {
    for dimension in &rubric.dimensions {
        let Some(gate) = Rubric::gate(&dimension.name) else { continue };
        let wanted = standards.thresholds.of(gate);
        if wanted < dimension.minimum {
            table.wrong(
                format!(
                    "{}: the gate asks for {wanted}, the rubric for {} at least",
                    gate.word(),
                    dimension.minimum
                ),
                "raise the gate in `[quality]`, or lower the minimum",
            );
        }
    }
}

fn claims(table: &Table<'_>, evidence: &[String]) -> CheckHow {
    let mut sources = evidence.to_vec();
    if let Some(field) = table.get("sources") {
        let named = field.list(CHECKS_MAX).unwrap_or_default();
        let known = |field: &Field<'_>| {
            let path = field.text(PATH_MAX)?;
            if !evidence.iter().any(|known| known == path) {
                field.wrong(format!("{} is not read as evidence", quoted(path)), "name it in `evidence` too");
            }
            Some(path.to_owned())
        };
        sources = named.iter().filter_map(known).collect();
    }
    if sources.is_empty() {
        table.wrong("there is nothing to hold claims against", "name files in `evidence`");
    }
    let default = ClaimRules::of(sources);
    CheckHow::Claims(ClaimRules {
        threshold: share(table, "threshold").unwrap_or(default.threshold),
        ..default
    })
}

fn cases(table: &Table<'_>) -> Option<CheckHow> {
    let command = table.require("command", "say what to run with a case on its standard input");
    let argv = command.and_then(|field| field.argv());
    let cases = count(table, "cases", CASES_MAX).unwrap_or(CASES);
    Some(CheckHow::EdgeCases(EdgeCases { argv: argv?, timeout_ms: timeout(table, CASE_TIMEOUT_MS), cases }))
}

fn sampling(table: &Table<'_>) -> CheckHow {
    let [fewest, ..] = SAMPLES;
    let samples = table.get("samples").and_then(|field| {
        let count = u32::try_from(field.whole_number(1, 7)?).ok()?;
        if !SAMPLES.contains(&count) {
            field.wrong(format!("{count} answers may have no majority"), "ask for 3, 5 or 7");
        }
        Some(count)
    });
    let by =
        table.get("by").and_then(|field| field.one_of(&[("vote", By::Vote), ("similarity", By::Similarity)]));
    let by = by.unwrap_or(By::Vote);
    let agree = instead(table, "agree", 2).unwrap_or(0);
    let rivals = instead(table, "rivals", 1).unwrap_or(0);
    let samples = if agree + rivals > 0 { 0 } else { samples.unwrap_or(fewest) };
    CheckHow::Consistent(Sampling { samples, by, agree, rivals })
}

/// `agree` or `rivals`: answers that are held against the checks, instead of samples that
/// nobody checked.
fn instead(table: &Table<'_>, key: &'static str, least: i32) -> Option<u32> {
    let field = table.get(key)?;
    let count = u32::try_from(field.whole_number(least, ANSWERS_MAX)?).ok()?;
    if ["samples", "agree", "rivals"].into_iter().any(|other| other != key && table.get(other).is_some()) {
        field.wrong(
            "`samples` asks for other answers, `agree` for answers that hold and are the same, \
             `rivals` for answers that do not hold",
            "keep one of them",
        );
    }
    Some(count)
}

/// `[quality]`. Anything below the defaults must be meant: `looser = true`.
pub(super) fn standards(table: &Table<'_>) -> Standards {
    let default = Standards::default();
    let looser = table.get("looser").and_then(|field| field.yes_or_no()).unwrap_or(false);
    let least = |key: &'static str, default: Ppm| {
        let written = share(table, key).unwrap_or(default);
        if let (Some(field), true) = (table.get(key), written < default && !looser) {
            field.wrong(
                format!("{written} is looser than the default, {default}"),
                "write looser = true beside it if that is meant",
            );
        }
        written
    };
    let of = |gate: Gate| least(gate.word(), default.thresholds.of(gate));
    let thresholds = Thresholds {
        correct: of(Gate::Correct),
        complete: of(Gate::Complete),
        coherent: of(Gate::Coherent),
        safe: of(Gate::Safe),
        tests: of(Gate::Tests),
        consistent: of(Gate::Consistent),
    };
    let doubts =
        Doubts { auto: least("auto", default.doubts.auto), review: least("review", default.doubts.review) };
    if let (Some(field), true) =
        (table.get("review").or_else(|| table.get("auto")), doubts.review > doubts.auto)
    {
        field.wrong(
            format!("nobody is asked from {} on, and below {} nobody either", doubts.auto, doubts.review),
            "make `review` at most `auto`",
        );
    }
    Standards { thresholds, doubts }
}
