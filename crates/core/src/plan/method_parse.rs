//! Methods as people write them: `[[method]]` and `[planning]` of a task file, in, with
//! every problem and its place.

use std::collections::{BTreeMap, BTreeSet};

use super::decompose::decompose;
use super::method::{
    BadMethod, Library, METHODS_MAX, Method, NAME_MAX, PARAMETERS_MAX, STEPS_MAX, Sequence, Step, TaskStep,
    VALUE_MAX,
};
use super::parse::{after, each, fact, own_id, subtask};
use super::{Fact, LIST_MAX, Plan};
use crate::task::field::{Field, Table};
use crate::task::limits::Bound;
use crate::task::problem::shown_key;
use crate::task::section::Section;

/// The keys of `[[method]]`.
pub(crate) const METHOD_KEYS: [&str; 7] = ["task", "name", "when", "unless", "cost", "ordering", "step"];
/// The keys of `[[method.step]]`.
pub(crate) const STEP_KEYS: [&str; 13] = [
    "id", "task", "with", "goal", "after", "priority", "optional", "uses", "needs", "makes", "breaks",
    "tokens", "seconds",
];
/// Those of a step that is a sub-task.
const OF_SUBTASKS: [&str; 9] =
    ["goal", "priority", "optional", "uses", "needs", "makes", "breaks", "tokens", "seconds"];

/// Most facts of the beginning.
const FACTS_MAX: usize = 1024;
const COST: Bound = Bound::count("cost", 0, 1_000_000_000);

/// What holds from the beginning.
pub(crate) fn facts(planning: &Table<'_>) -> BTreeSet<Fact> {
    each(planning, "facts", FACTS_MAX, fact).into_iter().collect()
}

/// The plan methods make for a task.
pub(crate) fn made(start: &Field<'_>, name: &str, library: &Library, facts: &BTreeSet<Fact>) -> Option<Plan> {
    match decompose(library, name, facts) {
        Ok(made) => {
            Plan::new(made.nodes).map_err(|bad| start.wrong(bad.to_string(), "change the methods")).ok()
        }
        Err(no) => {
            start.wrong(no.to_string(), no.remedy());
            None
        }
    }
}

/// Methods that fit together.
pub(crate) fn library(field: &Field<'_>) -> Option<Library> {
    let mark = field.problems.count();
    let tables = field.tables(Section::Method, METHODS_MAX);
    let methods: Vec<Method> = tables.iter().filter_map(method).collect();
    if field.problems.count() > mark {
        // Methods with holes would be refused for what could not be read.
        return None;
    }
    match Library::new(methods) {
        Ok(library) => Some(library),
        Err(bad) => {
            bad.iter().for_each(|bad| tell(field, bad));
            None
        }
    }
}

fn tell(field: &Field<'_>, bad: &BadMethod) {
    let step = bad.step.map(|step| format!(".step[{step}]")).unwrap_or_default();
    let place = format!("method[{}]{step}", bad.method);
    field.problems.note(&place, bad.why.to_string(), bad.why.remedy());
}

fn method(table: &Table<'_>) -> Option<Method> {
    let text = |field: Field<'_>| field.text(NAME_MAX).map(str::to_owned);
    let task = table.require("task", "say which task it is for, as in task = \"fetch\"").and_then(text);
    let name =
        table.require("name", "say what people call it, as in name = \"from the mirror\"").and_then(text);
    let orderings = [("total", Sequence::Total), ("partial", Sequence::Partial)];
    let steps = table.require("step", "say what is done, in `[[method.step]]`");
    let steps = steps.map(|field| field.tables(Section::Step, STEPS_MAX)).unwrap_or_default();
    let method = Method {
        task: String::new(),
        name: String::new(),
        when: each(table, "when", LIST_MAX, fact),
        unless: each(table, "unless", LIST_MAX, fact),
        cost: table.get("cost").and_then(|field| field.amount(&COST)).unwrap_or_default(),
        ordering: table.get("ordering").and_then(|field| field.one_of(&orderings)).unwrap_or_default(),
        steps: steps.iter().filter_map(step).collect(),
    };
    Some(Method { task: task?, name: name?, ..method })
}

fn step(table: &Table<'_>) -> Option<Step> {
    let id = table.require("id", "name the step, as in id = \"get\"").and_then(|field| own_id(&field));
    let Some(task) = table.get("task") else {
        if let Some(with) = table.get("with") {
            with.wrong(
                "`with` is for steps that are tasks",
                "write the goal as it is, or give the step a `task`",
            );
        }
        return subtask(table, id).map(Step::Subtask);
    };
    for key in OF_SUBTASKS {
        if let Some(field) = table.get(key) {
            field.wrong(
                format!("`{key}` is for sub-tasks; this step is a task that methods do"),
                "take it or `task` out",
            );
        }
    }
    let task = task.text(NAME_MAX).map(str::to_owned);
    let with = table.get("with").map(|field| values(&field)).unwrap_or_default();
    Some(Step::Task(TaskStep { id: id?, task: task?, after: after(table), with }))
}

fn values(field: &Field<'_>) -> BTreeMap<String, String> {
    let members = field.members();
    if members.len() > PARAMETERS_MAX {
        field.wrong(format!("{} values are too many", members.len()), format!("keep it to {PARAMETERS_MAX}"));
        return BTreeMap::new();
    }
    let value = |(key, field): (&str, Field<'_>)| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if key.is_empty() || key.len() > NAME_MAX || !key.chars().all(is_word) {
            field.wrong(format!("{} is no name of a value", shown_key(key)), "use letters, digits, _ and -");
        }
        Some((key.to_owned(), field.text(VALUE_MAX)?.to_owned()))
    };
    members.into_iter().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::task::parse;

    fn task(methods: Value, planning: Value) -> Value {
        json!({ "goal": "x", "model": "scripted:x", "method": methods, "planning": planning })
    }

    /// The problems of a task, or its plan's ids.
    fn check(raw: &Value, expected: &[&str]) {
        let found: Vec<String> = match parse(raw) {
            Ok(task) => task.plan.unwrap().nodes().iter().map(|node| node.id().to_string()).collect(),
            Err(bad) => bad.problems.iter().map(ToString::to_string).collect(),
        };
        assert_eq!(found, expected);
    }

    fn step(id: &str) -> Value {
        json!({ "id": id, "goal": "do it" })
    }

    #[test]
    fn methods_become_the_plan_of_the_task_and_come_back_from_a_journal() {
        let methods = json!([
            { "task": "go", "name": "a", "step": [step("one"), { "id": "two", "task": "rest" }] },
            { "task": "rest", "name": "b", "ordering": "partial", "unless": ["tired"], "step": [step("x"), step("y")] },
        ]);
        let raw = task(methods, json!({ "start": "go", "facts": ["fresh"] }));
        check(&raw, &["one", "two-x", "two-y"]);
        let read = parse(&raw).unwrap();
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<crate::task::Task>(&text).unwrap(), read);
    }

    #[test]
    fn a_task_without_methods_is_written_as_it_always_was() {
        let plain = parse(&json!({ "goal": "x", "model": "scripted:x" })).unwrap();
        assert!(serde_json::to_value(&plain).unwrap().get("planning").is_none());
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        let methods = json!([
            { "task": "go", "name": "a", "cost": -1, "step": [{ "id": "t", "task": "go", "goal": "both" }] },
            { "name": "b", "ordering": "random", "step": [{ "id": "u", "goal": "g", "with": { "a": "b" } }] },
            { "task": "go", "name": "c" },
        ]);
        check(
            &task(methods, json!({ "start": "go" })),
            &[
                "method[0].cost: -1 is below 0; write a whole number from 0 to 1000000000",
                "method[0].step[0].goal: `goal` is for sub-tasks; this step is a task that methods do; take it or `task` out",
                "method[1].task: `task` is missing; say which task it is for, as in task = \"fetch\"",
                "method[1].ordering: \"random\" is none of \"total\" or \"partial\"; write \"total\" or \"partial\"",
                "method[1].step[0].with: `with` is for steps that are tasks; write the goal as it is, or give the step a `task`",
                "method[2].step: `step` is missing; say what is done, in `[[method.step]]`",
            ],
        );
    }

    #[test]
    fn a_start_without_methods_beside_a_plan_or_with_none_that_fits_is_refused() {
        let mut raw = json!({ "goal": "x", "model": "scripted:x", "planning": { "start": "go" } });
        check(&raw, &["planning.start: there are no methods to start with; add `[[method]]`"]);
        raw["method"] = json!([{ "task": "go", "name": "a", "when": ["sun"], "step": [step("s")] }]);
        check(
            &raw,
            &[
                "planning.start: no method of \"go\" fits: \"a\" because \"sun\" is not sure to hold; add a method \
               of \"go\" that always fits, or give the facts it needs",
            ],
        );
        raw["planning"]["facts"] = json!(["sun"]);
        raw["plan"] = json!([step("p")]);
        check(
            &raw,
            &[
                "planning.start: the task brings its plan, and methods would make another; leave `start` or `plan` out",
            ],
        );
    }
}
