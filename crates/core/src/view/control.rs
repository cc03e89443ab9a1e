//! Lines about the controller of repair and about rounds that look alike.

use crate::control::{Decision, Ppm, Strategy};
use crate::event::{Controlled, Event, Remedied, Remedy};

/// One line about rounds of repair: what the controller said, what was tried.
pub(super) fn line(event: &Event) -> String {
    if let Event::RoundRepeated { round, back } = event {
        return repeated_line(*round, *back);
    }
    if let Event::Remedied(tried) = event {
        return remedied_line(tried);
    }
    let Event::Controlled(said) = event else { return String::new() };
    controlled_line(said)
}

/// What the controller said.
fn controlled_line(said: &Controlled) -> String {
    let judgement = &said.judgement;
    let quality = judgement.quality.lowest().unwrap_or_default();
    let word = match judgement.decision {
        Decision::Repair { intensity } => manner(intensity),
        Decision::Escalate { why, intensity } => format!("escalate, {}; {}", why.words(), manner(intensity)),
        Decision::Stop { why } => format!("stop, {}", why.words()),
    };
    let rounds = judgement.rounds.map_or("never".into(), |rounds| format!("in {rounds} rounds"));
    format!("quality {quality}, gate {rounds}: {word}")
}

fn manner(intensity: Ppm) -> String {
    format!("repair with intensity {intensity} ({})", Strategy::of(intensity).words())
}

/// What is tried against rounds that look alike.
fn remedied_line(tried: &Remedied) -> String {
    let remedy = match tried.remedy {
        Remedy::SwitchStrategy { from, to } => format!("{} instead of {}", to.words(), from.words()),
        Remedy::Perturb { vary } => format!("asked in other words, variation {vary}"),
        Remedy::FreshEvidence => "evidence is read again".into(),
        Remedy::Person => "a person must look at it".into(),
    };
    format!("remedy: {remedy}; {}", tried.why)
}

fn repeated_line(round: u32, back: u32) -> String {
    format!("round {round}: output and diagnosis are nearly those of {back} rounds before")
}

/// The quality each failed verification measured, with how hard the repair after it
/// tried; a last one of quality 1 where everything passed.
#[must_use]
pub fn quality_series<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<(Ppm, Ppm)> {
    let mut series = Vec::new();
    for event in events {
        if let Event::Controlled(said) = event {
            let quality = said.judgement.quality.lowest().unwrap_or_default();
            series.push((quality, said.judgement.decision.intensity().unwrap_or_default()));
        } else if let Event::Verified { finding: crate::event::Finding::Passed, .. } = event {
            series.push((Ppm::ONE, Ppm::ZERO));
        }
    }
    series
}

/// Width of a bar.
const BAR: usize = 20;

/// The quality round by round as bars of plain characters, one line each, with what
/// the controller said. Nothing where it never spoke.
#[must_use]
pub fn quality_curve<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<String> {
    let mut lines = Vec::new();
    for event in events {
        let (quality, word) = if let Event::Controlled(said) = event {
            let word = match said.judgement.decision {
                Decision::Repair { intensity } => Strategy::of(intensity).words(),
                Decision::Escalate { why, .. } => why.words(),
                Decision::Stop { why } => why.words(),
            };
            (said.judgement.quality.lowest().unwrap_or_default(), word)
        } else if let Event::Verified { finding: crate::event::Finding::Passed, .. } = event {
            (Ppm::ONE, "passed")
        } else {
            continue;
        };
        let filled = usize::try_from(quality.percent()).unwrap_or(0) * BAR / 100;
        let bar = format!("{}{}", "#".repeat(filled.min(BAR)), ".".repeat(BAR.saturating_sub(filled)));
        lines.push(format!("round {:>2}  {quality}  {bar}  {word}", lines.len() + 1));
    }
    // A run that passed at once has no curve.
    if lines.len() < 2 && lines.iter().all(|line| line.ends_with("passed")) { Vec::new() } else { lines }
}
