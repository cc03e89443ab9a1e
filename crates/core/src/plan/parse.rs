//! A plan as people and models write it: in, with every problem and its place.
//!
//! The form is that of `[[plan]]` of a task file (see [`crate::task`]): a table is a
//! sub-task, or a choice if it has `branch` or `when`. Nothing here judges how nodes fit
//! together; what [`Plan::judged`] finds is told with the place the node stands at.

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::bad::BadPlan;
use super::node::{Branch, Choice, Condition, Fact, Node, Rule, Subtask, Test};
use super::schema::MODEL_DEPTH_MAX;
use super::{AFTER_MAX, BRANCHES_MAX, DEPTH_MAX, LIST_MAX, NODES_MAX, Plan};
use crate::id::{SubtaskId, ToolName};
use crate::task::Problem;
use crate::task::field::{Field, Table};
use crate::task::limits::Bound;
use crate::task::problem::{Problems, quoted, shown_key};
use crate::task::section::Section;
use crate::task::suggest;

/// The keys of `[[plan]]`.
pub(crate) const KEYS: [&str; 13] = [
    "id", "goal", "after", "priority", "optional", "uses", "needs", "makes", "breaks", "tokens", "seconds",
    "when", "branch",
];
/// Those that only a sub-task has.
const OF_SUBTASKS: [&str; 8] = ["goal", "optional", "uses", "needs", "makes", "breaks", "tokens", "seconds"];

/// Longest goal of a sub-task, in bytes.
const GOAL_MAX: usize = 16 * 1024;
/// Longest text that is looked at before it is judged as a name, in bytes.
const NAME_MAX: usize = 128;
/// Longest name of a branch, in bytes.
const BRANCH_NAME_MAX: usize = 200;
/// Longest text or value a condition compares with, in bytes.
const COMPARED_MAX: usize = 4096;
/// Deepest nesting of a value a condition compares with: a journal must stay readable
/// when it stands in the deepest branch.
const COMPARED_NESTING_MAX: usize = 8;
/// Longest place a condition looks at, in bytes.
const POINTER_MAX: usize = 1024;
/// Highest and, below nothing, lowest priority.
const PRIORITY_MAX: i32 = 1_000_000;
const TOKENS: Bound = Bound::count("tokens", 1, 1_000_000_000_000);
const SECONDS: Bound = Bound::count("seconds", 1, 31_536_000);

/// How deep choices may be nested in a task file.
pub(crate) const FILE: usize = DEPTH_MAX;

/// Reads what a model answered to [`schema`](super::schema): an object with `plan`. What
/// it left empty (null) is taken for left out. Never an empty list of problems.
pub fn read(raw: &Value) -> Result<Plan, Vec<Problem>> {
    let problems = Problems::default();
    let raw = without_nulls(raw);
    let plan = match &raw {
        Value::Object(map) => {
            for key in map.keys().filter(|key| *key != "plan") {
                let place = shown_key(key);
                problems.note(&place, format!("`{place}` is not known beside `plan`"), "leave it out");
            }
            map.get("plan")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    };
    let read = match plan {
        Some(plan) => nodes(&Field::at(plan, "plan", &problems), MODEL_DEPTH_MAX),
        None => {
            problems.note("plan", "`plan` is missing", "write an object whose `plan` is a list of sub-tasks");
            None
        }
    };
    problems.settle(read).map_err(|bad| bad.problems)
}

/// A list of nodes that is a whole plan.
pub(crate) fn nodes(field: &Field<'_>, depth_max: usize) -> Option<Plan> {
    let mark = field.problems.count();
    let mut reader = Reader { problems: field.problems, depth_max, spots: Vec::new() };
    let nodes = reader.list(field, 0);
    if field.problems.count() > mark {
        // A plan with holes would be refused for waiting on what could not be read.
        return None;
    }
    match Plan::judged(nodes) {
        Ok(plan) => Some(plan),
        Err(bad) => {
            bad.iter().for_each(|bad| reader.tell(field, bad));
            None
        }
    }
}

/// The id of a node that is not one of Bowline's own.
pub(super) fn own_id(field: &Field<'_>) -> Option<SubtaskId> {
    let id = subtask_id(field)?;
    if ["repair-", "critique-", "plan-", "judge-"].iter().any(|ours| id.as_str().starts_with(ours))
        || id.as_str() == "critique"
    {
        field.wrong(format!("{id} is a name Bowline uses itself"), "give the sub-task another id");
    }
    Some(id)
}

fn subtask_id(field: &Field<'_>) -> Option<SubtaskId> {
    let id = SubtaskId::parse(field.text(NAME_MAX)?);
    if let Err(bad) = &id {
        field.wrong(bad.to_string(), "give the sub-task another id");
    }
    id.ok()
}

/// Where a node stands in what was written.
struct Spot {
    id: SubtaskId,
    place: String,
    looks_at: Option<SubtaskId>,
}

struct Reader<'a> {
    problems: &'a Problems,
    depth_max: usize,
    spots: Vec<Spot>,
}

impl Reader<'_> {
    fn list(&mut self, field: &Field<'_>, depth: usize) -> Vec<Node> {
        let tables = field.tables(Section::Plan, NODES_MAX);
        tables.iter().filter_map(|table| self.node(table, depth)).collect()
    }

    fn node(&mut self, table: &Table<'_>, depth: usize) -> Option<Node> {
        let is_choice = ["branch", "when"].iter().any(|key| table.get(key).is_some());
        let id =
            table.require("id", "name the sub-task, as in id = \"read\"").and_then(|field| own_id(&field));
        let spot = self.spots.len();
        if let Some(id) = &id {
            self.spots.push(Spot { id: id.clone(), place: table.place().into(), looks_at: None });
        }
        if !is_choice {
            return subtask(table, id).map(Node::Subtask);
        }
        let choice = self.choice(table, id, depth)?;
        if let (Some(spot), Rule::When(condition)) = (self.spots.get_mut(spot), &choice.rule) {
            spot.looks_at = Some(condition.of.clone());
        }
        Some(Node::Choice(choice))
    }

    fn choice(&mut self, table: &Table<'_>, id: Option<SubtaskId>, depth: usize) -> Option<Choice> {
        for key in OF_SUBTASKS {
            if let Some(field) = table.get(key) {
                field.wrong(
                    format!("`{key}` is for sub-tasks; this is a choice between branches"),
                    "move it into a branch, or take `branch` and `when` out",
                );
            }
        }
        let after = after(table);
        let priority = priority(table);
        let rule = match table.get("when") {
            Some(field) => condition(&field).map(Rule::When),
            None => Some(Rule::FirstThatWorks),
        };
        let field = table.require("branch", "say what is done, in `[[plan.branch]]`");
        let branches = field.map(|field| self.branches(&field, depth + 1)).unwrap_or_default();
        Some(Choice { id: id?, after, priority, rule: rule?, branches })
    }

    fn branches(&mut self, field: &Field<'_>, depth: usize) -> Vec<Branch> {
        if depth > self.depth_max {
            field.wrong(
                format!("choices are nested deeper than {}", self.depth_max),
                "put the choice beside the one it is in",
            );
            return Vec::new();
        }
        let tables = field.tables(Section::Branch, BRANCHES_MAX);
        let branch = |table: &Table<'_>| {
            let name = table.get("name").and_then(|field| field.text(BRANCH_NAME_MAX));
            let nodes = table.require("plan", "say what is done in the branch, in `[[plan.branch.plan]]`");
            let nodes = nodes.map(|field| self.list(&field, depth)).unwrap_or_default();
            Branch { name: name.unwrap_or_default().into(), nodes }
        };
        tables.iter().map(branch).collect()
    }

    /// Notes what is wrong with the nodes where it stands.
    fn tell(&self, field: &Field<'_>, bad: &BadPlan) {
        let mut spots = self.spots.iter().filter(|spot| Some(&spot.id) == bad.node());
        let is_second = matches!(bad, BadPlan::Twice { .. });
        let spot = if is_second { spots.next_back() } else { spots.next() };
        match spot {
            Some(spot) => self.problems.note(&place(spot, bad), bad.to_string(), self.remedy(bad)),
            None => field.wrong(bad.to_string(), self.remedy(bad)),
        }
    }

    fn remedy(&self, bad: &BadPlan) -> String {
        let known = self.spots.iter().map(|spot| spot.id.as_str());
        let missing = if let BadPlan::Dangling { missing, .. } = bad { Some(missing) } else { None };
        let near = missing.and_then(|missing| suggest::nearest(missing.as_str(), known));
        near.map_or_else(|| bad.remedy().into(), |near| format!("did you mean {near:?}?"))
    }
}

fn place(spot: &Spot, bad: &BadPlan) -> String {
    let waits = |awaited: &SubtaskId| {
        let key = if spot.looks_at.as_ref() == Some(awaited) { "when.of" } else { "after" };
        format!("{}.{key}", spot.place)
    };
    match bad {
        BadPlan::Empty | BadPlan::TooMany { .. } => spot.place.clone(),
        BadPlan::Twice { .. } => format!("{}.id", spot.place),
        BadPlan::Dangling { missing, .. } => waits(missing),
        BadPlan::IntoBranch { inside, .. } => waits(inside),
        BadPlan::Ancestor { choice, .. } => waits(choice),
        BadPlan::LongList { list, .. } => format!("{}.{list}", spot.place),
        BadPlan::BadPointer { .. } => format!("{}.when.at", spot.place),
        BadPlan::TooConditional { .. } => format!("{}.when", spot.place),
        BadPlan::TooDeep { .. } | BadPlan::Branches { .. } => format!("{}.branch", spot.place),
        BadPlan::EmptyBranch { branch, .. } => format!("{}.branch[{branch}].plan", spot.place),
        BadPlan::Cycle { .. } => format!("{}.after", spot.place),
    }
}

pub(super) fn subtask(table: &Table<'_>, id: Option<SubtaskId>) -> Option<Subtask> {
    let goal = table
        .require("goal", "say what the sub-task must achieve")
        .and_then(|field| field.text(GOAL_MAX).map(str::to_owned));
    let rest = Subtask {
        after: after(table),
        priority: priority(table),
        optional: table.get("optional").and_then(|field| field.yes_or_no()).unwrap_or_default(),
        uses: each(table, "uses", LIST_MAX, tool_name),
        needs: each(table, "needs", LIST_MAX, fact),
        makes: each(table, "makes", LIST_MAX, fact),
        breaks: each(table, "breaks", LIST_MAX, fact),
        tokens: table.get("tokens").and_then(|field| field.amount(&TOKENS)),
        seconds: table.get("seconds").and_then(|field| field.amount(&SECONDS)),
        ..Subtask::new(id?, goal?)
    };
    Some(rest)
}

pub(super) fn after(table: &Table<'_>) -> Vec<SubtaskId> {
    each(table, "after", AFTER_MAX, subtask_id)
}

fn priority(table: &Table<'_>) -> i32 {
    let field = table.get("priority");
    field.and_then(|field| field.whole_number(-PRIORITY_MAX, PRIORITY_MAX)).unwrap_or_default()
}

pub(super) fn each<T>(
    table: &Table<'_>,
    key: &str,
    most: usize,
    read: impl Fn(&Field<'_>) -> Option<T>,
) -> Vec<T> {
    let items = table.get(key).and_then(|field| field.list(most)).unwrap_or_default();
    items.iter().filter_map(read).collect()
}

fn tool_name(field: &Field<'_>) -> Option<ToolName> {
    let name = ToolName::parse(field.text(NAME_MAX)?);
    if let Err(bad) = &name {
        field.wrong(bad.to_string(), "name a tool");
    }
    name.ok()
}

pub(super) fn fact(field: &Field<'_>) -> Option<Fact> {
    let fact = Fact::parse(field.text(COMPARED_MAX)?);
    if let Err(bad) = &fact {
        field.wrong(bad.to_string(), "say it in fewer words");
    }
    fact.ok()
}

fn condition(field: &Field<'_>) -> Option<Condition> {
    let table = field.table(Section::When)?;
    let of = table
        .require("of", "name the sub-task whose output is looked at, as in of = \"sort\"")
        .and_then(|field| subtask_id(&field));
    let test = test(field, &table);
    Some(Condition { of: of?, test: test? })
}

/// What an output must pass: `is`, `contains`, or `at` and `is` of a table.
pub(crate) fn test(field: &Field<'_>, table: &Table<'_>) -> Option<Test> {
    let text = |field: Field<'_>| field.text(COMPARED_MAX).map(str::to_owned);
    match (table.get("at"), table.get("is"), table.get("contains")) {
        (None, Some(is), None) => text(is).map(Test::Is),
        (None, None, Some(contains)) => text(contains).map(Test::Contains),
        (Some(at), Some(is), None) => in_json(&at, &is),
        (at, is, contains) => {
            let given = [("at", at), ("is", is), ("contains", contains)];
            let given: Vec<_> =
                given.iter().filter(|(_, field)| field.is_some()).map(|(key, _)| *key).collect();
            let found = if given.is_empty() { "nothing".into() } else { quoted(&given.join(", ")) };
            field.wrong(
                format!("{found} is no test of an output"),
                "write `is`, or `contains`, or `at` and `is`",
            );
            None
        }
    }
}

fn in_json(at: &Field<'_>, is: &Field<'_>) -> Option<Test> {
    let place = at.text_or_nothing(POINTER_MAX);
    let is = is.json(COMPARED_MAX, COMPARED_NESTING_MAX);
    Some(Test::Json { at: place?.into(), is: is? })
}

/// A model that must name every key writes null for those it has nothing for.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| !value.is_null());
            Value::Object(kept.map(|(key, value)| (key.clone(), without_nulls(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
