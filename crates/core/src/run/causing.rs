//! Why an output is wrong, told from what the run knows of it, and how the next repair
//! goes about it.
//!
//! The strategy is the cheapest whose success is likely enough: by severity and place
//! of the worst defect, by what strategies did against this cause in other runs, and
//! never one that failed against the same defect before. Nothing here changes a run.

use super::state::{Breaker, Run};
use crate::control::Strategy;
use crate::defect::{
    Breach, Claim, Evidence, RepairTry, Retrieval, RootCause, Source, Standing, ToolTrouble, root_cause,
};
use crate::event::Outcome;
use crate::gate::Gate;
use crate::id::ToolName;
use crate::message::Payload;
use crate::quality::{CheckHow, CheckOutcome, Defect, Failure, Severity};
use crate::verify::{Assertion, Opinion, Proof, Stance, Target};
use crate::window::Window;

/// Repairs that are remembered for it.
pub(super) const TRIES_MAX: usize = 8;

/// The root cause of what the last verification found; `None` where that cannot be told
/// without a model.
pub(super) fn of(run: &Run) -> Option<RootCause> {
    root_cause(&evidence(run))
}

fn evidence(run: &Run) -> Evidence {
    let mut evidence = Evidence {
        output: run.output.as_deref().and_then(inline),
        sources: run.evidence.iter().filter_map(source).collect(),
        repairs: run.mending.tries.clone(),
        tools: in_trouble(run),
        retrieval: retrieval(run),
        cut_off: run.mending.cut_off,
        ..Evidence::default()
    };
    for (result, check) in run.failures.iter().zip(&run.task.checks) {
        match &result.outcome {
            CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => {}
            CheckOutcome::CouldNotRun(why) => evidence.could_not_run.push(why.clone()),
            CheckOutcome::Failed(failures) => take(&mut evidence, &check.how, failures, &result.log),
        }
    }
    evidence
}

/// What a failed check says. A judge's words are no test: only what they are about counts.
fn take(evidence: &mut Evidence, how: &CheckHow, failures: &[Failure], log: &Payload) {
    let failures = || failures.iter().cloned();
    match how {
        CheckHow::Schema(_) => evidence.misfits.extend(failures()),
        CheckHow::Assert(Assertion { target: Target::File(path), proof: Proof::Exists(true) }) => {
            evidence.missing.push(path.clone());
        }
        CheckHow::Assert(_) | CheckHow::Command { .. } | CheckHow::Tests(_) | CheckHow::EdgeCases(_) => {
            evidence.failures.extend(failures());
        }
        CheckHow::Claims(_) => evidence.claims.extend(claims(log)),
        CheckHow::Rubric(_) => {
            let breached = failures().filter(|failure| failure.name == Gate::Safe.word());
            evidence
                .breaches
                .extend(breached.map(|failure| Breach { rule: failure.name, excerpt: failure.message }));
        }
        CheckHow::Consistent(_) => {}
    }
}

/// Claims that a judge found wanting.
fn claims(log: &Payload) -> Vec<Claim> {
    let opinions: Vec<Opinion> =
        log.as_inline().and_then(|log| serde_json::from_str(log).ok()).unwrap_or_default();
    let claims = opinions.into_iter().filter_map(|opinion| match opinion {
        Opinion::Claims(claims) => Some(claims),
        Opinion::Rubric(_) | Opinion::Cases(_) | Opinion::Sample(_) | Opinion::Unusable(_) => None,
    });
    let stands = |claim: crate::verify::Claim| {
        let standing = match (claim.verdict, claim.source) {
            (Stance::Contradicted, _) => Standing::Contradicted,
            (Stance::Entailed, Some(_)) => Standing::Supported,
            (Stance::Neutral | Stance::Entailed, _) => Standing::Unsupported,
        };
        Claim { text: claim.claim, standing }
    };
    claims.flatten().map(stands).collect()
}

/// Tools that did not answer when they were asked last.
fn in_trouble(run: &Run) -> Vec<ToolTrouble> {
    let failing = run.breakers.iter().filter(|(_, breaker)| breaker.failures > 0);
    let trouble = |(tool, breaker): (&ToolName, &Breaker)| ToolTrouble {
        tool: tool.to_string(),
        outcome: Outcome::Unavailable,
        message: format!("no answer {} times in a row", breaker.failures),
        recovered: false,
    };
    failing.map(trouble).collect()
}

/// What was looked for, where it was: evidence that is empty was not found.
fn retrieval(run: &Run) -> Option<Retrieval> {
    let asked = run.evidence.len();
    let found = run.evidence.iter().filter(|item| !item.content.is_empty()).count();
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    (asked > 0).then(|| Retrieval { asked: count(asked), found: count(found), missing: Vec::new() })
}

/// The text of an output that is at hand.
fn inline(output: &[Payload]) -> Option<String> {
    output.iter().map(|part| part.as_inline()).collect::<Option<Vec<&str>>>().map(|parts| parts.concat())
}

fn source(item: &crate::event::Evidence) -> Option<Source> {
    Some(Source { id: item.path.clone(), text: item.content.as_inline()?.to_owned() })
}

/// What is wrong, by name, for comparing rounds.
pub(super) fn wrong(run: &Run) -> Vec<String> {
    let mut names = Vec::new();
    for result in &run.failures {
        match &result.outcome {
            CheckOutcome::Passed | CheckOutcome::NotApplicable(_) => {}
            CheckOutcome::CouldNotRun(_) => names.push(result.name.clone()),
            CheckOutcome::Failed(failures) => {
                names.extend(failures.iter().map(|failure| format!("{}: {}", result.name, failure.name)));
            }
        }
    }
    names
}

/// How the next repair goes about it.
pub(super) fn strategy(run: &Run) -> Option<Strategy> {
    if run.repairs_afresh() {
        return Some(Strategy::FullRegeneration);
    }
    let asked = run.mending.next_strategy();
    if run.mending.remedy.is_some() {
        return asked;
    }
    let defects = run.diagnosis.as_ref().map(|diagnosis| diagnosis.defects.as_slice()).unwrap_or_default();
    let Some(worst) = defects.iter().max_by_key(|defect| defect.severity) else { return asked };
    let gentlest = match asked {
        // Once a repair has failed, the controller's word counts too.
        Some(asked) if run.spend.repairs > 0 => by_defect(worst).max(asked),
        Some(_) | None => by_defect(worst),
    };
    let failed = run.mending.defects.last().and_then(|defect| run.mending.tried.get(defect));
    let cause =
        run.diagnosis.as_ref().and_then(|diagnosis| diagnosis.cause.as_ref()).map(|cause| cause.cause);
    let left = |strategy: &Strategy| failed.is_none_or(|failed| !failed.contains(strategy));
    let harder = || Strategy::ALL.into_iter().filter(|strategy| *strategy >= gentlest).filter(left);
    let promising = harder().find(|strategy| run.mending.rates.is_promising(cause, *strategy));
    promising.or_else(|| harder().next()).or_else(|| Strategy::ALL.into_iter().find(left)).or(asked)
}

/// The part of the output that the next repair replaces: where it is to change as little
/// as possible, and everything that is wrong stands in one place of the output.
pub(super) fn window(run: &Run, strategy: Option<Strategy>) -> Option<Window> {
    let is_small = strategy == Some(Strategy::MinimalEdit) && run.mending.remedy.is_none();
    let defects = run.diagnosis.as_ref().filter(|_| is_small)?.defects.as_slice();
    let place = defects.first()?.place.as_deref()?;
    let is_one = defects.iter().all(|defect| defect.place.as_deref() == Some(place));
    // A run that writes files means lines of those.
    let window = Window::around(place).filter(|_| is_one)?;
    match window {
        Window::Lines { .. } if !run.tools.is_empty() => None,
        Window::Lines { .. } | Window::Value(_) => Some(window),
    }
}

/// By how bad it is and whether anybody knows where.
fn by_defect(defect: &Defect) -> Strategy {
    match (defect.severity, &defect.place) {
        (Severity::Minor, Some(_)) => Strategy::MinimalEdit,
        (Severity::Minor, None) | (Severity::Major, Some(_)) => Strategy::SectionRewrite,
        (Severity::Major, None) | (Severity::Critical, _) => Strategy::FullRegeneration,
    }
}

impl Run {
    /// A repair was verified: what it mended and what it broke is remembered.
    pub(super) fn note_try(&mut self) {
        let after = wrong(self);
        let before = std::mem::replace(&mut self.mending.wrong, after.clone());
        let Some(strategy) = self.mending.strategy.filter(|_| self.spend.repairs > 0) else { return };
        if self.mending.tries.len() >= TRIES_MAX {
            self.mending.tries.remove(0);
        }
        self.mending.tries.push(RepairTry { strategy, before, after });
    }
}
