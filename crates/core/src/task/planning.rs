//! `[planning]` and `[[method]]`: where the plan of a task comes from.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::field::{Field, Table};
use super::limits::Bound;
use super::section::Section;
use crate::plan::method::{Library, NAME_MAX};
use crate::plan::{Fact, Plan, method_parse};

/// The keys of `[planning]`.
pub(super) const KEYS: [&str; 4] = ["by", "replans", "start", "facts"];

/// How often the model plans anew what failed, where the task does not say.
const REPLANS: u32 = 2;
const REPLANS_BOUND: Bound = Bound::count("replans", 0, 16);

/// Where the plan comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Planning {
    /// Who makes it.
    #[serde(default, skip_serializing_if = "Planner::is_task")]
    pub by: Planner,
    /// How often the model plans anew what failed.
    #[serde(default = "usual_replans", skip_serializing_if = "is_usual")]
    pub replans: u32,
    /// The task its methods begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// What holds from the beginning.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub facts: BTreeSet<Fact>,
    /// The methods the plan was made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Library>,
}

/// Who makes a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Planner {
    /// The task brings it, or the methods for it, or needs none. The default.
    #[default]
    Task,
    /// The model, when the run begins.
    Model,
}

impl Planner {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    fn is_task(&self) -> bool {
        *self == Self::Task
    }
}

fn usual_replans() -> u32 {
    REPLANS
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_usual(replans: &u32) -> bool {
    *replans == REPLANS
}

impl Default for Planning {
    fn default() -> Self {
        Self { by: Planner::default(), replans: REPLANS, start: None, facts: BTreeSet::new(), methods: None }
    }
}

impl Planning {
    /// Nothing about it was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What a task says about planning, and the plan its methods make.
pub(super) fn read(top: &Table<'_>) -> (Planning, Option<Plan>) {
    let table = top.get("planning").and_then(|field| field.table(Section::Planning));
    let get = |key: &str| table.as_ref().and_then(|table| table.get(key));
    let planners = [("task", Planner::Task), ("model", Planner::Model)];
    let by = get("by").and_then(|field| field.one_of(&planners)).unwrap_or_default();
    let replans = get("replans").and_then(|field| field.amount(&REPLANS_BOUND));
    let start = get("start");
    suit(top, by, start.as_ref(), get("replans").as_ref());
    let facts = table.as_ref().map(method_parse::facts).unwrap_or_default();
    let methods = top.get("method").and_then(|field| method_parse::library(&field));
    let name = start.as_ref().and_then(|field| field.text(NAME_MAX));
    let plan = match (&start, name, &methods) {
        (Some(field), Some(name), Some(library)) => method_parse::made(field, name, library, &facts),
        (_, _, _) => None,
    };
    let replans = replans.and_then(|count| u32::try_from(count).ok()).unwrap_or(REPLANS);
    (Planning { by, replans, start: name.map(str::to_owned), facts, methods }, plan)
}

/// One plan at most, and nothing that would have no effect.
fn suit(top: &Table<'_>, by: Planner, start: Option<&Field<'_>>, replans: Option<&Field<'_>>) {
    let (plan, methods) = (top.get("plan"), top.get("method"));
    if let (Some(start), Some(_)) = (start, &plan) {
        start
            .wrong("the task brings its plan, and methods would make another", "leave `start` or `plan` out");
    }
    match (start, &methods) {
        (Some(start), None) => start.wrong("there are no methods to start with", "add `[[method]]`"),
        (None, Some(methods)) => methods.wrong(
            "nothing says which task the methods are for",
            "add [planning] with start = the task to begin with",
        ),
        (Some(_), Some(_)) | (None, None) => {}
    }
    match (by, plan.as_ref().or(start), replans) {
        (Planner::Model, Some(given), _) => given.wrong(
            "the model is asked for the plan, and the task brings one",
            "leave it out, or write by = \"task\"",
        ),
        (Planner::Task, _, Some(replans)) => replans.wrong(
            "only a plan that the model made is made anew by it",
            "leave it out, or write by = \"model\"",
        ),
        (Planner::Model, None, _) | (Planner::Task, _, None) => {}
    }
}
