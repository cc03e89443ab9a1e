//! Edge cases: a judge looks for inputs that break the output, and they are run.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Opinion, short};

/// Most edge cases of one check.
pub const CASES_MAX: u32 = 16;
/// Longest input and longest expected output, in bytes.
const TEXT_MAX: usize = 4096;

/// How edge cases are run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EdgeCases {
    /// Program and arguments: gets a case's input on standard input, and prints what
    /// comes out.
    pub argv: Vec<String>,
    /// After this long a case has failed.
    pub timeout_ms: u64,
    /// How many are asked for.
    pub cases: u32,
}

/// One edge case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct EdgeCase {
    /// What goes in.
    pub input: String,
    /// What should come out; white space around it does not count.
    pub expected: String,
    /// Why it might not.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCases {
    cases: Vec<EdgeCase>,
}

impl EdgeCases {
    pub(super) fn schema(&self) -> Value {
        let text = json!({ "type": "string", "maxLength": TEXT_MAX });
        json!({
            "type": "object",
            "required": ["cases"],
            "additionalProperties": false,
            "properties": { "cases": {
                "type": "array", "maxItems": self.cases,
                "items": {
                    "type": "object",
                    "required": ["input", "expected", "why"],
                    "additionalProperties": false,
                    "properties": { "input": text, "expected": text, "why": { "type": "string", "maxLength": 500 } }
                }
            } }
        })
    }

    pub(super) fn read(&self, text: &str) -> Result<Vec<EdgeCase>, String> {
        let raw: RawCases = super::json(text)?;
        let most = usize::try_from(self.cases).unwrap_or(usize::MAX);
        if raw.cases.len() > most {
            return Err(format!("there are {} cases where {most} were asked for", raw.cases.len()));
        }
        if raw.cases.iter().any(|case| case.input.len().max(case.expected.len()) > TEXT_MAX) {
            return Err(format!("an input or output is longer than {TEXT_MAX} bytes"));
        }
        let case = |case: EdgeCase| EdgeCase { why: short(&case.why), ..case };
        Ok(raw.cases.into_iter().map(case).collect())
    }
}

/// The cases of all opinions.
pub(super) fn of(opinions: &[Opinion]) -> Vec<&EdgeCase> {
    let cases = opinions.iter().map(|opinion| match opinion {
        Opinion::Cases(cases) => cases.as_slice(),
        Opinion::Rubric(_) | Opinion::Claims(_) | Opinion::Sample(_) | Opinion::Unusable(_) => &[],
    });
    cases.flatten().collect()
}
