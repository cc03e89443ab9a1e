//! Methods: how a task that nobody can do directly is done by doing others.
//!
//! A [`Library`] holds methods; several may be for one task, each for other
//! circumstances. A step of a method is a sub-task, or another task that has methods
//! of its own. A library can only be made by [`Library::new`], which refuses what could
//! never become a plan: tasks nobody has a method for, steps that wait in a circle, and
//! tasks whose every method leads back to tasks like them. Which methods fit is found
//! by [`decompose`](super::decompose::decompose).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::graph::Graph;
use super::{Fact, LIST_MAX, Subtask};
use crate::id::SubtaskId;
use crate::task::suggest;

/// Most methods of one library.
pub const METHODS_MAX: usize = 1024;
/// Most steps of one method.
pub const STEPS_MAX: usize = 256;
/// Longest name of a task, a method or a parameter, in bytes.
pub const NAME_MAX: usize = 128;
/// Most parameters of one step, and the longest value of one, in bytes.
pub const PARAMETERS_MAX: usize = 32;
/// Longest value of a parameter, in bytes.
pub const VALUE_MAX: usize = 4096;

/// One way to do a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// The task it is for.
    pub task: String,
    /// What it is called among the methods of that task.
    pub name: String,
    /// Facts that must hold for it to fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub when: Vec<Fact>,
    /// Facts that must not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unless: Vec<Fact>,
    /// Of those that fit, the cheapest comes first; the others are to fall back on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost: u64,
    /// How its steps are ordered.
    #[serde(default, skip_serializing_if = "is_total")]
    pub ordering: Sequence,
    /// What is done.
    pub steps: Vec<Step>,
}

/// How the steps of a method are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Sequence {
    /// Each waits for the one before it, besides what it says.
    #[default]
    Total,
    /// Each waits for what it says and nothing else.
    Partial,
}

/// One step of a method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Step {
    /// A task that has methods of its own.
    Task(TaskStep),
    /// A piece of work. Its `after` names steps of the same method.
    Subtask(Subtask),
}

/// A step that is done by some method of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskStep {
    /// What it is called in the method.
    pub id: SubtaskId,
    /// The task.
    pub task: String,
    /// Steps of the same method that come first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SubtaskId>,
    /// Values for the `{name}`s in the goals of that task's methods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub with: BTreeMap<String, String>,
}

impl Step {
    /// What it is called in the method.
    #[must_use]
    pub fn id(&self) -> &SubtaskId {
        match self {
            Self::Task(step) => &step.id,
            Self::Subtask(subtask) => &subtask.id,
        }
    }

    /// Steps that come first.
    #[must_use]
    pub fn after(&self) -> &[SubtaskId] {
        match self {
            Self::Task(step) => &step.after,
            Self::Subtask(subtask) => &subtask.after,
        }
    }
}

/// Methods that fit together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Vec<Method>", into = "Vec<Method>")]
pub struct Library {
    /// Those of one task stand together nowhere in particular: as given.
    methods: Vec<Method>,
}

/// What is wrong with methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadMethod {
    /// The place of the method in the list.
    pub method: usize,
    /// The place of the step in the method, where it is about one.
    pub step: Option<usize>,
    /// What is wrong.
    pub why: BadWhy,
}

/// What is wrong with a method.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadWhy {
    /// Over the cap.
    #[error("{count} methods are over the cap of {METHODS_MAX}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// Nothing is done in it, or too much.
    #[error("a method has 1 to {STEPS_MAX} steps, not {count}")]
    Steps {
        /// How many there are.
        count: usize,
    },
    /// Two of one name.
    #[error("another method of {task:?} is called {name:?}")]
    Twice {
        /// The task.
        task: String,
        /// The name of both.
        name: String,
    },
    /// Two steps of one name.
    #[error("another step of the method is called {id}")]
    StepTwice {
        /// The name of both.
        id: SubtaskId,
    },
    /// A step that waits for none of the method.
    #[error("step {id} waits for {missing}, which is no step of the method")]
    Dangling {
        /// Who waits.
        id: SubtaskId,
        /// For whom.
        missing: SubtaskId,
    },
    /// Steps that wait for each other.
    #[error("the steps from {id} on wait for each other")]
    Circle {
        /// The first of them.
        id: SubtaskId,
    },
    /// A task without a method.
    #[error("no method is for {task:?}")]
    Unknown {
        /// The task.
        task: String,
        /// One that has methods and looks much like it.
        nearest: Option<String>,
    },
    /// A task whose methods all lead to such tasks.
    #[error("every method of {task:?} leads back to a task that never ends in sub-tasks")]
    Endless {
        /// The task.
        task: String,
    },
    /// A value nobody reads.
    #[error("no method of {task:?} mentions {{{name}}}")]
    Unread {
        /// The task.
        task: String,
        /// The parameter.
        name: String,
    },
    /// A fact that must hold and must not.
    #[error("{:?} must hold and must not hold", .fact.as_str())]
    Never {
        /// The fact.
        fact: Fact,
    },
    /// Too many entries of one list.
    #[error("`{list}` has more than {LIST_MAX} entries")]
    LongList {
        /// Which list.
        list: &'static str,
    },
}

impl BadWhy {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::TooMany { .. } | Self::LongList { .. } => "leave some out".into(),
            Self::Steps { .. } => "add steps, or split the method".into(),
            Self::Twice { .. } | Self::StepTwice { .. } => "give each its own name".into(),
            Self::Dangling { .. } => "name a step of the same method".into(),
            Self::Circle { .. } => "let one of them come first".into(),
            Self::Unknown { nearest: Some(near), .. } => format!("did you mean {near:?}?"),
            Self::Unknown { task, nearest: None } => {
                format!("add a method with task = {task:?}, or make the step a sub-task with a `goal`")
            }
            Self::Endless { task } => format!("add a method of {task:?} that has sub-tasks only"),
            Self::Unread { name, .. } => format!("write {{{name}}} in a goal, or leave the value out"),
            Self::Never { .. } => "leave it out of `when` or out of `unless`".into(),
        }
    }
}

impl fmt::Display for BadMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "method[{}]", self.method)?;
        if let Some(step) = self.step {
            write!(f, ".step[{step}]")?;
        }
        write!(f, ": {}; {}", self.why, self.why.remedy())
    }
}

impl Library {
    /// Checks that the methods fit together. Everything that is wrong is told at once.
    pub fn new(methods: Vec<Method>) -> Result<Self, Vec<BadMethod>> {
        let mut bad = Vec::new();
        if methods.len() > METHODS_MAX {
            let why = BadWhy::TooMany { count: methods.len() };
            return Err(vec![BadMethod { method: METHODS_MAX, step: None, why }]);
        }
        let mut names = BTreeSet::new();
        let mut by_task: BTreeMap<&str, Vec<&Method>> = BTreeMap::new();
        methods.iter().for_each(|method| by_task.entry(&method.task).or_default().push(method));
        for (place, method) in methods.iter().enumerate() {
            let mut note =
                |step: Option<usize>, why: BadWhy| bad.push(BadMethod { method: place, step, why });
            if !names.insert((&method.task, &method.name)) {
                note(None, BadWhy::Twice { task: method.task.clone(), name: method.name.clone() });
            }
            judge(method, &mut note);
            judge_tasks(method, &by_task, &mut note);
        }
        if bad.is_empty() {
            bad.extend(endless(&methods));
        }
        if bad.is_empty() { Ok(Self { methods }) } else { Err(bad) }
    }

    /// All methods, as given.
    #[must_use]
    pub fn methods(&self) -> &[Method] {
        &self.methods
    }

    /// The methods of a task, cheapest first; as given among equals.
    #[must_use]
    pub fn of(&self, task: &str) -> Vec<&Method> {
        let mut found: Vec<&Method> = self.methods.iter().filter(|method| method.task == task).collect();
        found.sort_by_key(|method| method.cost);
        found
    }

    /// The task nearest to a mistyped one.
    #[must_use]
    pub fn nearest(&self, task: &str) -> Option<&str> {
        suggest::nearest(task, self.methods.iter().map(|method| method.task.as_str()))
    }
}

impl TryFrom<Vec<Method>> for Library {
    type Error = String;
    fn try_from(methods: Vec<Method>) -> Result<Self, String> {
        Self::new(methods).map_err(|bad| bad.iter().map(BadMethod::to_string).collect::<Vec<_>>().join("\n"))
    }
}

impl From<Library> for Vec<Method> {
    fn from(library: Library) -> Self {
        library.methods
    }
}

/// What is wrong with a method by itself.
fn judge(method: &Method, note: &mut impl FnMut(Option<usize>, BadWhy)) {
    if !(1..=STEPS_MAX).contains(&method.steps.len()) {
        note(None, BadWhy::Steps { count: method.steps.len() });
    }
    for (list, entries) in [("when", &method.when), ("unless", &method.unless)] {
        if entries.len() > LIST_MAX {
            note(None, BadWhy::LongList { list });
        }
    }
    if let Some(fact) = method.when.iter().find(|fact| method.unless.contains(fact)) {
        note(None, BadWhy::Never { fact: fact.clone() });
    }
    let mut places = BTreeMap::new();
    for (place, step) in method.steps.iter().enumerate() {
        if places.insert(step.id(), place).is_some() {
            note(Some(place), BadWhy::StepTwice { id: step.id().clone() });
        }
    }
    for (place, step) in method.steps.iter().enumerate() {
        if let Some(missing) = step.after().iter().find(|id| !places.contains_key(id)) {
            note(Some(place), BadWhy::Dangling { id: step.id().clone(), missing: missing.clone() });
        }
    }
    if let Err(circular) = Graph::new(method.steps.len(), &method.waits()).order() {
        let first = circular.0.first().and_then(|&place| Some((place, method.steps.get(place)?)));
        if let Some((place, step)) = first {
            note(Some(place), BadWhy::Circle { id: step.id().clone() });
        }
    }
}

impl Method {
    /// Pairs of steps of which the first comes before the second, by their places.
    pub(crate) fn waits(&self) -> Vec<(usize, usize)> {
        let places: BTreeMap<&SubtaskId, usize> =
            self.steps.iter().enumerate().map(|(place, step)| (step.id(), place)).collect();
        let mut waits = Vec::new();
        for (place, step) in self.steps.iter().enumerate() {
            waits.extend(step.after().iter().filter_map(|id| places.get(id)).map(|&first| (first, place)));
            if self.ordering == Sequence::Total && place > 0 {
                waits.push((place - 1, place));
            }
        }
        waits
    }

    /// The tasks among its steps, with their places.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = (usize, &TaskStep)> {
        self.steps.iter().enumerate().filter_map(|(place, step)| match step {
            Step::Task(step) => Some((place, step)),
            Step::Subtask(_) => None,
        })
    }

    fn mentions(&self, name: &str) -> bool {
        let mark = format!("{{{name}}}");
        self.steps.iter().any(|step| match step {
            Step::Task(step) => step.with.values().any(|value| value.contains(&mark)),
            Step::Subtask(subtask) => subtask.goal.contains(&mark),
        })
    }
}

/// What is wrong with the tasks a method asks for.
fn judge_tasks(
    method: &Method,
    by_task: &BTreeMap<&str, Vec<&Method>>,
    note: &mut impl FnMut(Option<usize>, BadWhy),
) {
    for (place, step) in method.tasks() {
        let task = step.task.clone();
        let Some(known) = by_task.get(step.task.as_str()) else {
            let nearest = suggest::nearest(&task, by_task.keys().copied()).map(str::to_owned);
            note(Some(place), BadWhy::Unknown { task, nearest });
            continue;
        };
        for name in step.with.keys() {
            if !known.iter().any(|method| method.mentions(name)) {
                note(Some(place), BadWhy::Unread { task: task.clone(), name: name.clone() });
            }
        }
    }
}

/// Tasks that can never end in sub-tasks, told at their first method.
fn endless(methods: &[Method]) -> Vec<BadMethod> {
    let mut ends: BTreeSet<&str> = BTreeSet::new();
    loop {
        let found: Vec<&str> = methods
            .iter()
            .filter(|method| !ends.contains(method.task.as_str()))
            .filter(|method| method.tasks().all(|(_, step)| ends.contains(step.task.as_str())))
            .map(|method| method.task.as_str())
            .collect();
        if found.is_empty() {
            break;
        }
        ends.extend(found);
    }
    let mut told = BTreeSet::new();
    let endless = |(place, method): (usize, &Method)| {
        let is_new = !ends.contains(method.task.as_str()) && told.insert(method.task.clone());
        is_new.then(|| BadMethod {
            method: place,
            step: None,
            why: BadWhy::Endless { task: method.task.clone() },
        })
    };
    methods.iter().enumerate().filter_map(endless).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(cost: &u64) -> bool {
    *cost == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_total(ordering: &Sequence) -> bool {
    *ordering == Sequence::Total
}
