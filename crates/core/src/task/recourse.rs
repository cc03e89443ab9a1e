//! `escalate`: what a task wants tried once repairs came to nothing.
//!
//! The order is fixed; a task says which of it. What could have no effect is refused.

use serde::{Deserialize, Serialize};

use super::Task;
use super::field::Table;
use super::planning::Planner;
use super::problem::quoted;

/// Something that is tried once repairs came to nothing, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Recourse {
    /// The next model of the ladder repairs.
    BiggerModel,
    /// The model breaks the task down otherwise.
    ReDecompose,
    /// The parts whose own checks hold, if a person agrees.
    Partial,
    /// A person is asked what to do.
    Person,
}

impl Recourse {
    /// The words of task files, in order.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("bigger-model", Self::BiggerModel),
        ("re-decompose", Self::ReDecompose),
        ("partial", Self::Partial),
        ("person", Self::Person),
    ];
}

impl Task {
    /// Whether this is tried once repairs came to nothing. Where the task does not say:
    /// the models of its ladder, and another plan where the model makes plans.
    #[must_use]
    pub fn tries(&self, way: Recourse) -> bool {
        match &self.routes.escalate {
            Some(ways) => ways.contains(&way),
            None => match way {
                Recourse::BiggerModel => true,
                Recourse::ReDecompose => self.planning.by == Planner::Model,
                Recourse::Partial | Recourse::Person => false,
            },
        }
    }
}

/// The list, if there is one.
pub(super) fn read(top: &Table<'_>) -> Option<Vec<Recourse>> {
    let mut ways: Vec<Recourse> = Vec::new();
    for item in top.get("escalate")?.list(Recourse::WORDS.len())? {
        let Some(way) = item.one_of(&Recourse::WORDS) else { continue };
        match ways.last() {
            Some(last) if *last == way => item.wrong("it stands here twice", "name each once"),
            Some(last) if *last > way => item.wrong(
                "the order is fixed",
                "write bigger-model, re-decompose, partial, person, leaving out what is not wanted",
            ),
            Some(_) | None => {}
        }
        ways.push(way);
    }
    Some(ways)
}

/// Refuses what could have no effect, and parts that are none.
pub(super) fn suit(top: &Table<'_>, task: &Task) {
    let says = |way: Recourse| task.routes.escalate.as_ref().map(|ways| ways.contains(&way));
    if let Some(field) = top.get("escalate") {
        if says(Recourse::BiggerModel) == Some(true) && task.routes.ladder.is_empty() {
            field.wrong("there is no stronger model to ask", "name some in `ladder`, or leave it out");
        }
        if says(Recourse::Partial) == Some(true) && task.checks.iter().all(|check| check.part.is_none()) {
            field.wrong(
                "no check says which part it is about, so no part can be known to hold",
                "add `part` to checks of single sub-tasks, or leave \"partial\" out",
            );
        }
    }
    if let Some(field) = top.get("ladder")
        && !task.tries(Recourse::BiggerModel)
    {
        field.wrong("nobody climbs it", "add \"bigger-model\" to `escalate`, or leave the ladder out");
    }
    let last = task.plan.as_ref().map(|plan| plan.last()).unwrap_or_default();
    let about = task.checks.iter().filter_map(|check| Some((check, check.part.as_ref()?)));
    for (check, part) in about.filter(|(_, part)| last.len() < 2 || !last.contains(part)) {
        if let Some(field) = top.get("check") {
            field.wrong(
                format!("{part}, which the check {} is about, is no part of the output", quoted(&check.name)),
                "name one of several sub-tasks of `plan` that no other waits for",
            );
        }
    }
}
