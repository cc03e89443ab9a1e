//! Lines about checks, judges and what a verification came to.

use crate::event::{Event, Finding};
use crate::gate::{Assurance, Feature, GateResult, Score};
use crate::quality::{CheckOutcome, CheckResult};
use crate::verify::{Measure, Opinion};

/// One line about a check, a judge's answer or a verification.
pub(super) fn line(event: &Event) -> String {
    if let Event::Checked { result, .. } = event {
        return checked(result);
    }
    if let Event::Judged { ask, opinion, .. } = event {
        return judged(*ask, opinion);
    }
    let Event::Verified { finding, round, assurance, .. } = event else { return String::new() };
    verified(*finding, *round) + &assurance.as_deref().map(sure).unwrap_or_default()
}

fn checked(result: &CheckResult) -> String {
    let name = &result.name;
    let measured =
        result.measure.as_ref().map(|measure| format!(" ({})", measured(measure))).unwrap_or_default();
    match &result.outcome {
        CheckOutcome::Passed => format!("check {name}: passed{measured}"),
        CheckOutcome::Failed(failures) if measured.is_empty() => {
            format!("check {name}: failed ({})", failures.len())
        }
        CheckOutcome::Failed(_) => format!("check {name}: failed{measured}"),
        CheckOutcome::CouldNotRun(why) => format!("check {name}: could not run: {why}"),
        CheckOutcome::NotApplicable(why) => format!("check {name}: not applicable: {why}"),
    }
}

/// What a check measured, in a few words.
#[must_use]
pub fn measured(measure: &Measure) -> String {
    match measure {
        Measure::Tests(counts) => {
            let skipped =
                if counts.skipped > 0 { format!(", {} skipped", counts.skipped) } else { String::new() };
            format!("{} of {} tests{skipped}", counts.passed, counts.ran())
        }
        Measure::Rubric(found) if found.asks > 1 => {
            format!("{}; {} answers up to {} apart", found.aggregate, found.asks, found.disagreement())
        }
        Measure::Rubric(found) => found.aggregate.to_string(),
        Measure::Claims(counts) => format!(
            "{} of {} claims supported, {} contradicted",
            counts.supported,
            counts.claims,
            counts.claims.saturating_sub(counts.uncontradicted)
        ),
        Measure::Agreement(found) => format!("{} of agreement with {} answers", found.score, found.samples),
    }
}

fn judged(ask: u32, opinion: &Opinion) -> String {
    match opinion {
        Opinion::Rubric(scores) => format!("answer {ask}: the judge gives {} scores", scores.len()),
        Opinion::Claims(claims) => format!("answer {ask}: the judge finds {} claims", claims.len()),
        Opinion::Cases(cases) => format!("answer {ask}: the judge finds {} edge cases", cases.len()),
        Opinion::Sample(_) => format!("answer {ask}: another answer to compare with"),
        Opinion::Unusable(why) => format!("answer {ask}: the judge is of no use: {why}"),
    }
}

fn verified(finding: Finding, round: u32) -> String {
    match finding {
        Finding::Passed => format!("verified, round {round}: everything passed"),
        Finding::NothingToCheck => "verified: nothing to check".into(),
        Finding::SchemaFailed => format!("verified, round {round}: does not fit its schema"),
        Finding::ChecksFailed => format!("verified, round {round}: checks failed"),
        Finding::NotSure => format!("verified, round {round}: everything passed, and that is not enough"),
    }
}

fn sure(found: &Assurance) -> String {
    let confidence = found.confidence.map(|confidence| format!(", confidence {}", confidence.value));
    // What was not reached is worth a word only where nothing else is.
    let is_measured = |result: &&GateResult| result.score.measured().is_some();
    let shut: Vec<&GateResult> = found.gates.iter().filter(|result| !result.is_open()).collect();
    let some_measured = shut.iter().any(is_measured);
    let told = shut.iter().filter(|result| !some_measured || is_measured(result));
    let shut: Vec<String> = told
        .map(|result| match result.score {
            Score::Measured(value) => format!("{} {value} of {}", result.gate.word(), result.wanted),
            Score::CouldNotTell | Score::NotApplicable => format!("{} unknown", result.gate.word()),
        })
        .collect();
    let shut = if shut.is_empty() { String::new() } else { format!("; shut: {}", shut.join(", ")) };
    confidence.unwrap_or_default() + &shut
}

/// What a verification makes one sure of: a line for the gates, one for the confidence,
/// and one for each reason to ask a person.
#[must_use]
pub fn assured(found: &Assurance) -> Vec<String> {
    let gate = |result: &GateResult| match result.score {
        Score::NotApplicable => None,
        Score::CouldNotTell => Some(format!("{} could not be told", result.gate.word())),
        Score::Measured(value) => {
            let word = if result.is_open() { "" } else { "SHUT: " };
            Some(format!("{word}{} {value} of {}", result.gate.word(), result.wanted))
        }
    };
    let gates: Vec<String> = found.gates.iter().filter_map(gate).collect();
    let idle = found.gates.iter().filter(|result| result.score == Score::NotApplicable);
    let idle: Vec<&str> = idle.map(|result| result.gate.word()).collect();
    let mut lines = Vec::new();
    if !gates.is_empty() {
        lines.push(gates.join(", "));
    }
    if !idle.is_empty() {
        lines.push(format!("not applicable: {}", idle.join(", ")));
    }
    if let Some(confidence) = &found.confidence {
        let made = Feature::ALL.into_iter().filter_map(|feature| {
            let strength = confidence.features.of(feature)?;
            Some(format!("{} {strength}", feature.words()))
        });
        let made: Vec<String> = made.collect();
        let how = if confidence.calibrated { ", corrected by outcomes" } else { "" };
        lines.push(format!("confidence {}{how} ({})", confidence.value, made.join(", ")));
    }
    lines.extend(found.triggers.iter().map(|trigger| format!("a person is asked: {}", trigger.words())));
    lines
}
