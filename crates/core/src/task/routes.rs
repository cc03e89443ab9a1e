//! `fallbacks` and `ladder`: the models of a task besides its own; and what is tried
//! beyond repair.
//!
//! Who is asked when is decided by the run (`run::routing`), never here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::field::{Field, Table};
use super::model_reference;
use super::problem::quoted;
use super::recourse::{self, Recourse};

/// Most models in `fallbacks`, and in `ladder`.
pub const MODELS_MAX: usize = 8;

/// Models a run may be moved to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Routes {
    /// Asked in this order when the one that should be cannot.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// Stronger ones, the weakest first, for what the task's own model could not mend.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ladder: Vec<String>,
    /// What is tried once repairs came to nothing; `None`: what there is a model or a planner for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalate: Option<Vec<Recourse>>,
}

impl Routes {
    /// Nothing about it was said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// The run can be moved to another model.
    #[must_use]
    pub fn has_others(&self) -> bool {
        !self.fallbacks.is_empty() || !self.ladder.is_empty()
    }

    /// Every model that is named, those of the ladder last.
    pub fn models(&self) -> impl Iterator<Item = &String> {
        self.fallbacks.iter().chain(&self.ladder)
    }

    /// The same, to change their names.
    pub fn models_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.fallbacks.iter_mut().chain(&mut self.ladder)
    }
}

/// What a task says about other models than its own.
pub(super) fn read(top: &Table<'_>, model: &str) -> Routes {
    let list = |key: &str| top.get(key).map(|field| models(&field, model)).unwrap_or_default();
    Routes { fallbacks: list("fallbacks"), ladder: list("ladder"), escalate: recourse::read(top) }
}

fn models(field: &Field<'_>, own: &str) -> Vec<String> {
    let mut seen = BTreeSet::from([own.to_owned()]);
    let mut found = Vec::new();
    for item in field.list(MODELS_MAX).into_iter().flatten() {
        let Some(model) = model_reference(&item) else { continue };
        if !seen.insert(model.clone()) {
            let what = if model == own { "is the task's own model" } else { "is named twice" };
            item.wrong(format!("{} {what}", quoted(&model)), "name each model once");
        }
        found.push(model);
    }
    found
}
