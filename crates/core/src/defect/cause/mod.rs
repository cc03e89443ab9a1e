//! Root causes, told apart by rules.
//!
//! What comes from outside goes first: nothing that is rewritten mends a service
//! that is down. Then what repeated repairs have shown, then the output itself.

mod arithmetic;
mod code;
mod coherence;
mod evidence;
mod grounding;
mod json;
#[cfg(test)]
mod tests;
mod text;

pub use evidence::{Breach, Claim, Evidence, RepairTry, Retrieval, Source, Standing, ToolTrouble};
use serde::{Deserialize, Serialize};
pub use text::SENTENCES_MAX;

use crate::control::Strategy;
use crate::quality::Failure;

/// Repairs that have to have failed before anybody speaks of limits.
const TRIES_MIN: usize = 3;

/// Replies that have to have been cut off before the work is too big for one.
const CUTS_MIN: u32 = 2;

/// Why an output is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The shape is wrong.
    SchemaViolation,
    /// A source says otherwise.
    FactualError,
    /// A bug, or a conclusion that does not follow.
    LogicError,
    /// Something wanted is not there.
    Incompleteness,
    /// It contradicts itself.
    CoherenceFailure,
    /// It breaks a rule of the policy.
    SafetyViolation,
    /// It says what no source says, or uses what does not exist.
    Hallucination,
    /// What was needed was looked for and not found.
    RetrievalGap,
    /// A tool, program, service or device did not work.
    ToolFailure,
    /// Whoever makes it cannot make it better.
    CapabilityLimit,
    /// It does not fit one piece of work.
    ComplexityExceeded,
}

impl Cause {
    /// Every cause, in their order.
    pub const ALL: [Self; 11] = [
        Self::SchemaViolation,
        Self::FactualError,
        Self::LogicError,
        Self::Incompleteness,
        Self::CoherenceFailure,
        Self::SafetyViolation,
        Self::Hallucination,
        Self::RetrievalGap,
        Self::ToolFailure,
        Self::CapabilityLimit,
        Self::ComplexityExceeded,
    ];

    /// The words for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::SchemaViolation => "wrong form",
            Self::FactualError => "contradicted by a source",
            Self::LogicError => "logic error",
            Self::Incompleteness => "incomplete",
            Self::CoherenceFailure => "contradicts itself",
            Self::SafetyViolation => "breaks a rule",
            Self::Hallucination => "made up",
            Self::RetrievalGap => "nothing was found",
            Self::ToolFailure => "a tool failed",
            Self::CapabilityLimit => "beyond this model",
            Self::ComplexityExceeded => "too much at once",
        }
    }
}

/// How far a rule can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// The signs fit; another cause could show the same.
    Likely,
    /// It is what the cause means.
    Sure,
}

/// The rule that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A rule of the policy was broken.
    PolicyBreached,
    /// A tool failed and nobody got round it.
    ToolDown,
    /// A check could not be started.
    CheckNotStarted,
    /// A test met a service, device or program that was not there.
    EnvironmentBroken,
    /// What was asked for was not found.
    NothingFound,
    /// Every strategy left the same defects.
    SameAfterEveryStrategy,
    /// Replies were cut off again and again.
    CutOffAgain,
    /// Repairs broke what they did not mend.
    RepairsBreakOthers,
    /// The output does not fit its schema.
    SchemaMisfit,
    /// The only misfits are things that are not there.
    RequiredMissing,
    /// A reply was cut off.
    CutOffOnce,
    /// A wanted part is not there, is empty, or is a placeholder.
    PartMissing,
    /// The code says itself that it is not written yet.
    NotImplemented,
    /// The tests use something the code does not have.
    NameMissing,
    /// The code uses something its libraries do not have.
    NameInvented,
    /// The code does not compile or load.
    DoesNotBuild,
    /// A test failed, and nothing more special fits.
    TestFailed,
    /// A judge found a claim contradicted.
    ClaimContradicted,
    /// A judge found a claim in no source.
    ClaimUnsupported,
    /// A sum in the text is wrong.
    WrongArithmetic,
    /// Two places of the output cannot both be true.
    SaysTwoThings,
    /// A value differs from the source's.
    DiffersFromSource,
    /// A citation, quotation, address or figure is in no source.
    InNoSource,
}

/// Which cause, how sure, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RootCause {
    /// The root cause.
    pub cause: Cause,
    /// How far the rule can be trusted.
    pub trust: Trust,
    /// The rule that fired.
    pub rule: Rule,
    /// What it fired on, for a person.
    pub why: String,
}

impl RootCause {
    fn sure(cause: Cause, rule: Rule, why: impl Into<String>) -> Self {
        Self { cause, trust: Trust::Sure, rule, why: shortened(why.into()) }
    }

    fn likely(cause: Cause, rule: Rule, why: impl Into<String>) -> Self {
        Self { trust: Trust::Likely, ..Self::sure(cause, rule, why) }
    }
}

/// Longest reason, in bytes.
const WHY_MAX: usize = 300;

fn shortened(mut why: String) -> String {
    if why.len() > WHY_MAX {
        why.truncate(why.floor_char_boundary(WHY_MAX));
        why.push('…');
    }
    why
}

/// The root cause the evidence speaks for; `None` where that cannot be told without a model.
#[must_use]
pub fn root_cause(evidence: &Evidence) -> Option<RootCause> {
    breached(evidence)
        .or_else(|| outside(evidence))
        .or_else(|| limits(evidence))
        .or_else(|| shape(evidence))
        .or_else(|| parts(evidence))
        .or_else(|| code::judge(&evidence.failures))
        .or_else(|| claims(&evidence.claims))
        .or_else(|| content(evidence))
}

fn breached(evidence: &Evidence) -> Option<RootCause> {
    let breach = evidence.breaches.first()?;
    let why = format!("{}: {}", breach.rule, breach.excerpt);
    Some(RootCause::sure(Cause::SafetyViolation, Rule::PolicyBreached, why))
}

/// Tools, checks, services and evidence: what the output cannot help.
fn outside(evidence: &Evidence) -> Option<RootCause> {
    if let Some(trouble) = evidence.tools.iter().find(|trouble| trouble.is_open()) {
        let why = format!("{}: {}", trouble.tool, trouble.message);
        return Some(RootCause::sure(Cause::ToolFailure, Rule::ToolDown, why));
    }
    // What was killed for its time may be a hanging service or an endless loop.
    let says_why =
        |why: &&String| !["killed after", "time was up", "not known how"].iter().any(|w| why.contains(w));
    if let Some(why) = evidence.could_not_run.iter().find(says_why) {
        return Some(RootCause::sure(Cause::ToolFailure, Rule::CheckNotStarted, why.clone()));
    }
    if let Some(failure) = evidence.failures.iter().find(|failure| code::is_environment(failure)) {
        let why = format!("{}: {}", failure.name, failure.message);
        return Some(RootCause::likely(Cause::ToolFailure, Rule::EnvironmentBroken, why));
    }
    let retrieval = evidence.retrieval.as_ref()?;
    let nothing = retrieval.asked > 0 && retrieval.found == 0;
    if !nothing && retrieval.missing.is_empty() {
        return None;
    }
    let named = retrieval.missing.first().map_or("nothing was found", String::as_str);
    Some(RootCause::sure(Cause::RetrievalGap, Rule::NothingFound, named))
}

/// What repeated repairs have shown.
fn limits(evidence: &Evidence) -> Option<RootCause> {
    if evidence.cut_off >= CUTS_MIN {
        let why = format!("{} replies were cut off", evidence.cut_off);
        return Some(RootCause::sure(Cause::ComplexityExceeded, Rule::CutOffAgain, why));
    }
    let from = evidence.repairs.len().checked_sub(TRIES_MIN)?;
    let last = evidence.repairs.get(from..)?;
    let (first, latest) = (last.first()?, last.last()?);
    let strongest = evidence.repairs.iter().any(|repair| repair.strategy == Strategy::FullRegeneration);
    if strongest && last.iter().all(RepairTry::changed_nothing) && latest.after == first.before {
        let why = format!("{} repairs left {}", evidence.repairs.len(), latest.after.join(", "));
        return Some(RootCause::sure(Cause::CapabilityLimit, Rule::SameAfterEveryStrategy, why));
    }
    let breaking = last.iter().filter(|repair| repair.broke_something()).count();
    if breaking + 1 >= TRIES_MIN && latest.after.len() >= first.before.len() {
        let why = format!("{breaking} of {} repairs broke something else", last.len());
        return Some(RootCause::likely(Cause::ComplexityExceeded, Rule::RepairsBreakOthers, why));
    }
    None
}

fn shape(evidence: &Evidence) -> Option<RootCause> {
    let first = evidence.misfits.first()?;
    let why = format!("{} {}", first.place.as_deref().unwrap_or_default(), first.message);
    let why = why.trim();
    if evidence.cut_off > 0 {
        return Some(RootCause::sure(Cause::Incompleteness, Rule::CutOffOnce, why));
    }
    let missing = |misfit: &Failure| {
        let said = &misfit.message;
        said.contains("is a required property") || said.contains("less than") && said.contains("item")
    };
    if evidence.misfits.iter().all(missing) {
        return Some(RootCause::likely(Cause::Incompleteness, Rule::RequiredMissing, why));
    }
    Some(RootCause::sure(Cause::SchemaViolation, Rule::SchemaMisfit, why))
}

fn parts(evidence: &Evidence) -> Option<RootCause> {
    if evidence.cut_off > 0 {
        return Some(RootCause::sure(Cause::Incompleteness, Rule::CutOffOnce, "a reply was cut off"));
    }
    if let Some(part) = evidence.missing.first() {
        return Some(RootCause::sure(Cause::Incompleteness, Rule::PartMissing, part.clone()));
    }
    let output = evidence.output.as_deref().filter(|_| evidence.failures.is_empty())?;
    if output.trim().is_empty() {
        return Some(RootCause::sure(Cause::Incompleteness, Rule::PartMissing, "nothing was delivered"));
    }
    let placeholder = output.lines().find(|line| text::is_placeholder(line))?;
    Some(RootCause::likely(Cause::Incompleteness, Rule::PartMissing, placeholder.trim()))
}

fn claims(claims: &[Claim]) -> Option<RootCause> {
    let of = |standing: Standing| claims.iter().find(|claim| claim.standing == standing);
    if let Some(claim) = of(Standing::Contradicted) {
        let why = claim.text.clone();
        return Some(RootCause::sure(Cause::FactualError, Rule::ClaimContradicted, why));
    }
    let claim = of(Standing::Unsupported)?;
    Some(RootCause::sure(Cause::Hallucination, Rule::ClaimUnsupported, claim.text.clone()))
}

/// The output itself: against arithmetic, against itself, against its sources.
fn content(evidence: &Evidence) -> Option<RootCause> {
    let output = evidence.output.as_deref()?;
    if let Some(value) = json::read(output) {
        return coherence::of_json(&value).or_else(|| grounding::of_json(&value, &evidence.sources));
    }
    arithmetic::judge(output)
        .or_else(|| coherence::of_text(output))
        .or_else(|| grounding::of_text(output, &evidence.sources))
}
