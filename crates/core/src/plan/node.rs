//! What a plan is made of: sub-tasks, and choices between branches of them.
//!
//! Plain values: whether they fit together is judged by [`Plan::new`](super::Plan::new)
//! alone. A node is written without a tag, so that a plan that is a list of
//! sub-tasks reads as it always did; a choice is told by its `branches`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::id::{BadName, SubtaskId, ToolName};
use crate::provenance::canonical_value;

/// Longest fact, in bytes.
pub const FACT_MAX: usize = 200;

/// One node of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Node {
    /// A choice between branches.
    Choice(Choice),
    /// A piece of work.
    Subtask(Subtask),
}

/// A piece of work, done in one conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Subtask {
    /// Its name in the plan.
    pub id: SubtaskId,
    /// What it must achieve.
    pub goal: String,
    /// What must be done before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SubtaskId>,
    /// What may start is started highest first.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// May be left out when the budget is short.
    #[serde(default, skip_serializing_if = "is_false")]
    pub optional: bool,
    /// Tools it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ToolName>,
    /// What must hold before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Fact>,
    /// What holds after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub makes: Vec<Fact>,
    /// What no longer holds after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Fact>,
    /// Tokens it is expected to cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Seconds it is expected to take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
}

/// Several ways on, of which one is taken. It is over when a branch of it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(deny_unknown_fields))]
pub struct Choice {
    /// Its name in the plan.
    pub id: SubtaskId,
    /// What must be done before anything in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SubtaskId>,
    /// Added to the priorities of what is in it.
    #[serde(skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// Which branch is taken.
    #[serde(skip_serializing_if = "Rule::is_first_that_works")]
    pub rule: Rule,
    /// The ways on.
    pub branches: Vec<Branch>,
}

/// How a choice chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The first branch; when something in it fails for good, the next.
    #[default]
    FirstThatWorks,
    /// The first branch if the condition holds, else the second; without a second
    /// nothing is done.
    When(Condition),
}

impl Rule {
    fn is_first_that_works(&self) -> bool {
        *self == Self::FirstThatWorks
    }
}

/// One way on: all of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// What people call it; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What is done in it.
    pub nodes: Vec<Node>,
}

/// A question about what an earlier node delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// The sub-task or choice whose output is looked at; waited for.
    pub of: SubtaskId,
    /// What is asked of it.
    pub test: Test,
}

/// What is asked of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// It is this text; space around both does not count.
    Is(String),
    /// It holds this text.
    Contains(String),
    /// It is JSON and holds this value at this place.
    Json {
        /// Where: an RFC 6901 pointer, empty for the whole.
        at: String,
        /// What must be there.
        is: Value,
    },
}

impl Test {
    /// Whether this output passes. JSON may stand in a fence; `1.0` is `1`.
    #[must_use]
    pub fn holds(&self, output: &str) -> bool {
        match self {
            Self::Is(text) => output.trim() == text.trim(),
            Self::Contains(text) => output.contains(text.as_str()),
            Self::Json { at, is } => {
                let found = serde_json::from_str::<Value>(unfenced(output)).ok();
                let found = found.as_ref().and_then(|value| value.pointer(at));
                found.is_some_and(|found| canonical_value(found) == canonical_value(is))
            }
        }
    }
}

/// JSON as models write it: possibly in a fence.
pub(crate) fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.map_or(text, |inner| inner.strip_suffix("```").unwrap_or(inner)).trim()
}

/// Something that holds or does not, in a few words: `the tests pass`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Fact(Box<str>);

impl Fact {
    /// The only way in. Space around it is dropped.
    pub fn parse(raw: &str) -> Result<Self, BadName> {
        let text = raw.trim();
        if (1..=FACT_MAX).contains(&text.len()) && !text.chars().any(char::is_control) {
            return Ok(Self(text.into()));
        }
        let raw = raw.chars().take(80).collect();
        Err(BadName { what: "fact", raw, rule: "1 to 200 bytes on one line" })
    }

    /// The fact as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Fact {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = String::deserialize(from)?;
        Self::parse(&raw).map_err(serde::de::Error::custom)
    }
}

impl Subtask {
    /// A sub-task that waits for nothing and says nothing more.
    #[must_use]
    pub fn new(id: SubtaskId, goal: impl Into<String>) -> Self {
        Self {
            id,
            goal: goal.into(),
            after: Vec::new(),
            priority: 0,
            optional: false,
            uses: Vec::new(),
            needs: Vec::new(),
            makes: Vec::new(),
            breaks: Vec::new(),
            tokens: None,
            seconds: None,
        }
    }
}

impl Node {
    /// Its name in the plan.
    #[must_use]
    pub fn id(&self) -> &SubtaskId {
        match self {
            Self::Choice(choice) => &choice.id,
            Self::Subtask(subtask) => &subtask.id,
        }
    }

    /// What it says it waits for.
    #[must_use]
    pub fn after(&self) -> &[SubtaskId] {
        match self {
            Self::Choice(choice) => &choice.after,
            Self::Subtask(subtask) => &subtask.after,
        }
    }

    /// What it says about when to start it.
    #[must_use]
    pub fn priority(&self) -> i32 {
        match self {
            Self::Choice(choice) => choice.priority,
            Self::Subtask(subtask) => subtask.priority,
        }
    }

    /// Its branches; a sub-task has none.
    #[must_use]
    pub fn branches(&self) -> &[Branch] {
        match self {
            Self::Choice(choice) => &choice.branches,
            Self::Subtask(_) => &[],
        }
    }

    /// Everything it waits for itself: `after`, and what its condition looks at.
    pub fn waits(&self) -> impl Iterator<Item = &SubtaskId> {
        let looked_at = match self {
            Self::Choice(Choice { rule: Rule::When(condition), .. }) => Some(&condition.of),
            Self::Choice(Choice { rule: Rule::FirstThatWorks, .. }) | Self::Subtask(_) => None,
        };
        self.after().iter().chain(looked_at)
    }
}

impl From<Subtask> for Node {
    fn from(subtask: Subtask) -> Self {
        Self::Subtask(subtask)
    }
}

impl From<Choice> for Node {
    fn from(choice: Choice) -> Self {
        Self::Choice(choice)
    }
}

/// Read in one pass: an untagged enum would be buffered once for every level.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawNode {
    id: SubtaskId,
    goal: Option<String>,
    #[serde(default)]
    after: Vec<SubtaskId>,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    uses: Vec<ToolName>,
    #[serde(default)]
    needs: Vec<Fact>,
    #[serde(default)]
    makes: Vec<Fact>,
    #[serde(default)]
    breaks: Vec<Fact>,
    tokens: Option<u64>,
    seconds: Option<u64>,
    #[serde(default)]
    rule: Rule,
    branches: Option<Vec<Branch>>,
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = RawNode::deserialize(from)?;
        if let Some(branches) = raw.branches {
            let RawNode { id, after, priority, rule, .. } = raw;
            return Ok(Self::Choice(Choice { id, after, priority, rule, branches }));
        }
        let goal = raw.goal.ok_or_else(|| serde::de::Error::missing_field("goal"))?;
        Ok(Self::Subtask(Subtask {
            id: raw.id,
            goal,
            after: raw.after,
            priority: raw.priority,
            optional: raw.optional,
            uses: raw.uses,
            needs: raw.needs,
            makes: raw.makes,
            breaks: raw.breaks,
            tokens: raw.tokens,
            seconds: raw.seconds,
        }))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_false(word: &bool) -> bool {
    !*word
}
