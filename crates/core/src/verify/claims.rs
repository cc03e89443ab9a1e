//! Claims of an output, held against evidence.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Conclusion, Measure, Opinion, failure, short};
use crate::control::Ppm;
use crate::quality::CheckOutcome;

/// Most claims that are looked at.
pub const CLAIMS_MAX: usize = 64;

/// How claims are judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimRules {
    /// Files of the evidence that count as support.
    pub sources: Vec<String>,
    /// What the two shares below must come to together.
    pub threshold: Ppm,
    /// How much counts that nothing contradicts.
    pub semantic: Ppm,
    /// How much counts that a source supports it.
    pub factual: Ppm,
}

impl ClaimRules {
    /// The defaults, for these sources.
    #[must_use]
    pub fn of(sources: Vec<String>) -> Self {
        Self { sources, threshold: Ppm(800_000), semantic: Ppm(500_000), factual: Ppm(500_000) }
    }
}

/// How the evidence stands to a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stance {
    /// It says so.
    Entailed,
    /// It says nothing about it.
    Neutral,
    /// It says otherwise.
    Contradicted,
}

/// One claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// What is claimed.
    pub claim: String,
    /// How the evidence stands to it.
    pub verdict: Stance,
    /// The file that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// How many claims stand how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClaimCounts {
    /// All of them.
    pub claims: u64,
    /// Those nothing contradicts.
    pub uncontradicted: u64,
    /// Those a named source supports.
    pub supported: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaims {
    claims: Vec<Claim>,
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["claims"],
        "additionalProperties": false,
        "properties": { "claims": {
            "type": "array", "maxItems": CLAIMS_MAX,
            "items": {
                "type": "object",
                "required": ["claim", "verdict"],
                "additionalProperties": false,
                "properties": {
                    "claim": { "type": "string", "maxLength": 500 },
                    "verdict": { "enum": ["entailed", "neutral", "contradicted"] },
                    "source": { "type": "string", "maxLength": 500 }
                }
            }
        } }
    })
}

impl ClaimRules {
    pub(super) fn read(&self, text: &str) -> Result<Vec<Claim>, String> {
        let raw: RawClaims = super::json(text)?;
        if raw.claims.len() > CLAIMS_MAX {
            return Err(format!("there are {} claims where {CLAIMS_MAX} are the most", raw.claims.len()));
        }
        let stranger = raw.claims.iter().filter_map(|claim| claim.source.as_ref());
        if let Some(source) = stranger.into_iter().find(|source| !self.sources.contains(source)) {
            return Err(format!("{} is none of the sources", short(source)));
        }
        let short = |claim: Claim| Claim { claim: short(&claim.claim), ..claim };
        Ok(raw.claims.into_iter().map(short).collect())
    }

    pub(super) fn conclude(&self, opinions: &[Opinion]) -> Conclusion {
        let claims: Option<&Vec<Claim>> = opinions.iter().find_map(|opinion| match opinion {
            Opinion::Claims(claims) => Some(claims),
            Opinion::Rubric(_) | Opinion::Cases(_) | Opinion::Sample(_) | Opinion::Unusable(_) => None,
        });
        let Some(claims) = claims else {
            return (CheckOutcome::CouldNotRun("the judge listed no claims".into()), None);
        };
        if claims.is_empty() {
            return (CheckOutcome::NotApplicable("the output claims nothing".into()), None);
        }
        let counts = counted(claims);
        let value = self.value(counts);
        let outcome = if value >= self.threshold {
            CheckOutcome::Passed
        } else {
            let wrong = claims.iter().filter(|claim| !is_supported(claim));
            CheckOutcome::Failed(wrong.map(|claim| failure("claims", words(claim), None)).collect())
        };
        (outcome, Some(Measure::Claims(counts)))
    }

    /// What the claims are worth together.
    #[must_use]
    pub fn value(&self, counts: ClaimCounts) -> Ppm {
        let semantic = self.semantic.times(Ppm::share(counts.uncontradicted, counts.claims));
        semantic.plus(self.factual.times(Ppm::share(counts.supported, counts.claims)))
    }
}

fn counted(claims: &[Claim]) -> ClaimCounts {
    let count = |is: fn(&&Claim) -> bool| u64::try_from(claims.iter().filter(is).count()).unwrap_or(u64::MAX);
    ClaimCounts {
        claims: count(|_| true),
        uncontradicted: count(|claim| claim.verdict != Stance::Contradicted),
        supported: count(|claim| is_supported(claim)),
    }
}

fn is_supported(claim: &Claim) -> bool {
    claim.verdict == Stance::Entailed && claim.source.is_some()
}

fn words(claim: &Claim) -> String {
    let text = &claim.claim;
    match (claim.verdict, &claim.source) {
        (Stance::Contradicted, Some(source)) => format!("{source} contradicts this: {text}"),
        (Stance::Contradicted, None) => format!("the evidence contradicts this: {text}"),
        (Stance::Neutral, _) | (Stance::Entailed, None) => format!("no source supports this: {text}"),
        (Stance::Entailed, Some(source)) => format!("{source} says this: {text}"),
    }
}
