//! Raw task in, validated [`Task`] or every problem out.
//!
//! Reading goes on after a problem, so that one look at the report mends the
//! whole file. Nothing here opens a file: paths are checked for their form only.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::field::{Field, Table};
use super::limits::{self, Bound};
use super::problem::{BadTask, Problems, quoted};
use super::renamed::{FileKind, in_todays_words};
use super::section::Section;
use super::{
    CommandTool, OnFailure, Repair, Review, Sandbox, Task, ToolChoice, Workspace, WorkspaceMode, each,
};
use super::{
    control, guard, invocation, memory, models, network, planning, recourse, routes, undo, verification,
    version,
};
use crate::agent::privacy::Privacy;
use crate::budget::Limits;
use crate::guard::Effect;
use crate::id::ToolName;
use crate::plan::parse as plan;
use crate::quality::{Check, Level};
use crate::tool::{Consent, Repeat};

/// Longest goal and longest instructions, in bytes.
const GOAL_MAX: usize = 64 * 1024;
/// Longest goal of a sub-task and longest description of a tool, in bytes.
const NOTE_MAX: usize = 16 * 1024;
/// Longest path, in bytes.
const PATH_MAX: usize = 4096;
/// Longest `model`, in bytes.
const MODEL_MAX: usize = 512;
/// Longest name of a class of tasks, in bytes.
const CLASS_MAX: usize = 64;
/// Longest name of a check, in bytes.
const NAME_MAX: usize = 128;
/// Most entries of `evidence`, and of `tools` and `tool` each.
const ENTRIES_MAX: usize = 128;
/// Most paths that `[sandbox]` grants for reading, and for writing.
const GRANTS_MAX: usize = 64;

/// What repeating a call may mean.
pub(crate) const EFFECTS: [(&str, Effect); 5] = [
    ("read", Effect::Read),
    ("write", Effect::Write),
    ("exec", Effect::Exec),
    ("cursor", Effect::Cursor),
    ("poll", Effect::Poll),
];

const TIMEOUT: Bound = Bound::seconds("timeout_seconds", 3600);

/// Reads a raw task, as it came out of TOML, YAML or JSON.
pub fn parse(raw: &Value) -> Result<Task, BadTask> {
    let (raw, _) = in_todays_words(raw.clone(), FileKind::Task);
    version::readable(&raw)?;
    let problems = Problems::default();
    let task = Field::whole(&raw, &problems).table(Section::Top).map(|top| read(&top));
    problems.settle(task)
}

/// The task that is nothing but a goal.
pub fn plain(goal: &str, model: &str) -> Result<Task, BadTask> {
    parse(&json!({ "goal": goal, "model": model }))
}

fn read(top: &Table<'_>) -> Task {
    version::check(top);
    if let Some(field) = top.get("agent") {
        field.wrong(
            "the manifest of the agent was not read",
            "read the task from its file, or give it its agent with `agent::outfit`",
        );
    }
    if let Some(field) = top.get(each::KEY) {
        field.wrong(
            "this is a task for each of many files, and none of them was named",
            "read the files it means with `task::each`, as `bowline run` does",
        );
    }
    let goal = top.require("goal", "say what is wanted, as in goal = \"Make the tests pass\"");
    let text = |field: Field<'_>| field.text(GOAL_MAX).map(str::to_owned);
    let section = |key: &str, section: Section| top.get(key).and_then(|field| field.table(section));
    let privacy = top.get("privacy").and_then(|field| field.one_of(&Privacy::WORDS)).unwrap_or_default();
    let (planning, made) = planning::read(top);
    let evidence = top.get("evidence").map(|field| evidence(&field)).unwrap_or_default();
    let standards = section("quality", Section::Quality).map(|table| verification::standards(&table));
    let standards = standards.unwrap_or_default();
    let goal = goal.and_then(text).unwrap_or_default();
    let model = model(top);
    let mut task = Task {
        goal,
        routes: routes::read(top, &model),
        model,
        instructions: top.get("instructions").and_then(text),
        repair: top
            .get("repair")
            .and_then(|field| field.one_of(&[("fix", Repair::Mend), ("from-scratch", Repair::Afresh)]))
            .unwrap_or_default(),
        review: review(top),
        on_failure: on_failure(top),
        on_alert: top.get("on_alert").and_then(|field| field.argv()),
        tools: tools(top),
        workspace: workspace(section("workspace", Section::Workspace)),
        sandbox: top.get("sandbox").map(|field| sandbox(&field)).unwrap_or_default(),
        network: section("network", Section::Network)
            .map(|table| network::read(&table, privacy))
            .unwrap_or_default(),
        privacy,
        checks: verification::checks(top, &evidence, &standards),
        evidence,
        standards,
        critic: top.get("critic").and_then(|field| model_reference(&field)),
        plan: top.get("plan").and_then(|field| plan::nodes(&field, plan::FILE)).or(made),
        planning,
        limits: Limits::default(),
        guard: section("guard", Section::Guard).map(|table| guard::read(&table)).unwrap_or_default(),
        control: section("control", Section::Control).map(|table| control::read(&table)).unwrap_or_default(),
        class: top.get("class").and_then(|field| field.text(CLASS_MAX).map(str::to_owned)),
        models: models::read(top),
        memory: section("memory", Section::Memory).and_then(|table| memory::read(&table)),
        agent: None,
    };
    models::check_names(top, &task.models);
    if let Some(table) = section("limits", Section::Limits) {
        let names: BTreeSet<&str> = task.tools.iter().map(|tool| tool.name.as_str()).collect();
        task.limits = limits::read(&table, &names);
    }
    recourse::suit(top, &task);
    suit_consistency(top, &task);
    task
}

/// What other answers are held against each other for must suit the rest of the task.
fn suit_consistency(top: &Table<'_>, task: &Task) {
    let Some(field) = top.get("consistency") else { return };
    if task.repair == Repair::Mend && task.checks.iter().any(|check| check.how.agree() > 0) {
        field.wrong(
            "answers that know of each other do not confirm each other",
            "write repair = \"from-scratch\" beside `agree`",
        );
    }
    if task.checks.iter().any(|check| check.how.rivals() > 0) {
        suit_rivals(&field, task);
    }
}

/// Another answer is held against the checks as it is: they must be about the answer.
fn suit_rivals(field: &Field<'_>, task: &Task) {
    let is_executed = |check: &Check| !check.how.is_judged() && check.how.level() != Level::Schema;
    if !task.checks.iter().any(is_executed) {
        field.wrong(
            "every answer of the right form would be a rival: nothing tells them apart",
            "add a [[check]], or leave `rivals` out",
        );
    }
    if !task.tools.is_empty() {
        field.wrong(
            "what is done with tools is not in the answer, so another answer cannot be checked",
            "leave `rivals` out, or `tools`",
        );
    }
}

fn on_failure(top: &Table<'_>) -> OnFailure {
    let words = [("rollback", OnFailure::Rollback), ("keep", OnFailure::Keep)];
    top.get("on_failure").and_then(|field| field.one_of(&words)).unwrap_or(OnFailure::Rollback)
}

fn review(top: &Table<'_>) -> Review {
    let words = [
        ("when-unsure", Review::WhenUnsure),
        ("when-unchecked", Review::WhenUnchecked),
        ("always", Review::Always),
        ("never", Review::Never),
    ];
    top.get("review").and_then(|field| field.one_of(&words)).unwrap_or(Review::WhenUnsure)
}

const MODEL_REMEDY: &str =
    "write kind:argument, as in model = \"scripted:model.yaml\", or the name of a table of [models]";

fn model(top: &Table<'_>) -> String {
    top.require("model", MODEL_REMEDY).and_then(|field| model_reference(&field)).unwrap_or_default()
}

/// A model, as `kind:argument`, or the name of a table of `[models]`.
pub(crate) fn model_reference(field: &Field<'_>) -> Option<String> {
    let text = field.text(MODEL_MAX)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_kind = |kind: &str| !kind.is_empty() && kind.chars().all(is_word);
    let fits =
        text.split_once(':').is_some_and(|(kind, argument)| is_kind(kind) && !argument.trim().is_empty());
    if !(fits || models::is_nickname(text)) || text.chars().any(char::is_control) {
        field.wrong(format!("{} names no model", quoted(text)), MODEL_REMEDY);
    }
    Some(text.into())
}

fn evidence(field: &Field<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut paths = Vec::new();
    for item in field.list(ENTRIES_MAX).into_iter().flatten() {
        let Some(path) = item.text(PATH_MAX) else { continue };
        if leaves_the_workspace(path) {
            item.wrong(
                format!("{} leaves the workspace", quoted(path)),
                "write a path below the workspace, without `..`",
            );
        }
        if !seen.insert(path) {
            item.wrong(format!("{} is named twice", quoted(path)), "name it once");
        }
        paths.push(path.to_owned());
    }
    paths
}

/// Judged by form alone, for both kinds of separators: the tools guard the rest.
pub(super) fn leaves_the_workspace(path: &str) -> bool {
    let has_drive = matches!(path.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    path.starts_with(['/', '\\']) || has_drive || path.split(['/', '\\']).any(|part| part == "..")
}

fn workspace(table: Option<Table<'_>>) -> Workspace {
    let get = |key: &str| table.as_ref().and_then(|table| table.get(key));
    let modes = [
        ("copy", WorkspaceMode::Copy),
        ("in-place", WorkspaceMode::InPlace),
        ("isolated", WorkspaceMode::Isolated),
    ];
    Workspace {
        path: get("path")
            .and_then(|field| field.text(PATH_MAX).map(str::to_owned))
            .unwrap_or_else(|| ".".into()),
        mode: get("mode").and_then(|field| field.one_of(&modes)).unwrap_or(WorkspaceMode::InPlace),
    }
}

/// A word, or a table of what is granted besides.
pub(crate) fn sandbox(field: &Field<'_>) -> Sandbox {
    if !field.is_table() {
        let words =
            [("cage", Sandbox::default()), ("if-available", Sandbox::IfAvailable), ("none", Sandbox::None)];
        return field.one_of(&words).unwrap_or_default();
    }
    let Some(table) = field.table(Section::Sandbox) else { return Sandbox::default() };
    let paths = |key: &str| -> Vec<String> {
        let items = table.get(key).and_then(|field| field.list(GRANTS_MAX)).unwrap_or_default();
        items.iter().filter_map(|item| item.text(PATH_MAX).map(str::to_owned)).collect()
    };
    Sandbox::Cage { read: paths("read"), write: paths("write") }
}

/// The tools of `tools` and `[[tool]]`.
pub(crate) fn tools(top: &Table<'_>) -> Vec<ToolChoice> {
    let mut names = BTreeSet::new();
    let plain = top.get("tools").and_then(|field| field.list(ENTRIES_MAX)).unwrap_or_default();
    let plain = plain.iter().filter_map(|field| {
        let name = tool_name(field, &mut names)?;
        Some(ToolChoice { name, ..ToolChoice::default() })
    });
    let mut choices: Vec<_> = plain.collect();
    let tables = top.get("tool").map(|field| field.tables(Section::Tool, ENTRIES_MAX)).unwrap_or_default();
    choices.extend(tables.iter().filter_map(|table| tool(table, &mut names)));
    choices
}

fn tool(table: &Table<'_>, names: &mut BTreeSet<String>) -> Option<ToolChoice> {
    let name = table
        .require("name", "say what the model calls it, as in name = \"pay\"")
        .and_then(|field| tool_name(&field, names));
    let consents = [("ask", Consent::Ask), ("not-needed", Consent::NotNeeded)];
    let repeats =
        [("freely", Repeat::Freely), ("with-same-key", Repeat::WithSameKey), ("never", Repeat::Never)];
    let choice = ToolChoice {
        name: String::new(),
        command: command_tool(table),
        consent: table.get("consent").and_then(|field| field.one_of(&consents)),
        repeat: table.get("repeat").and_then(|field| field.one_of(&repeats)),
        timeout_ms: table.get("timeout_seconds").and_then(|field| field.amount(&TIMEOUT)),
        effect: table.get("effect").and_then(|field| field.one_of(&EFFECTS)),
        invocation: invocation::read(table),
        undo: undo::read(table, undo::By::Task),
        substitute: table.get("substitute").and_then(|field| substitute(&field, name.as_deref())),
    };
    Some(ToolChoice { name: name?, ..choice })
}

fn substitute(field: &Field<'_>, of: Option<&str>) -> Option<ToolName> {
    let named = field.text(NAME_MAX)?;
    match ToolName::parse(named) {
        Ok(_) if Some(named) == of => {
            field
                .wrong("a tool cannot stand in for itself", "name another tool of the task, or leave it out");
            None
        }
        Ok(tool) => Some(tool),
        Err(bad) => {
            field.wrong(bad.to_string(), "name another tool of the task");
            None
        }
    }
}

fn command_tool(table: &Table<'_>) -> Option<CommandTool> {
    let Some(command) = table.get("command") else {
        for key in ["description", "schema", "probe", "secrets"] {
            if let Some(field) = table.get(key) {
                field.wrong(
                    format!("`{key}` is for tools with a `command`; a built-in tool brings its own"),
                    "remove it, or give the tool a `command`",
                );
            }
        }
        return None;
    };
    let argv = command.argv();
    let description = table
        .require("description", "tell the model what the tool does")
        .and_then(|field| field.text(NOTE_MAX).map(str::to_owned));
    let schema = table
        .require("schema", "give the JSON Schema of its arguments, as in schema = { type = \"object\" }")
        .and_then(|field| field.schema());
    let probe = table.get("probe").and_then(|field| field.argv());
    let secrets = table.get("secrets").and_then(|field| field.list(ENTRIES_MAX)).unwrap_or_default();
    let secrets = secrets.iter().filter_map(|field| field.text(NAME_MAX).map(str::to_owned)).collect();
    Some(CommandTool { argv: argv?, description: description?, schema: schema?, probe, secrets })
}

fn tool_name(field: &Field<'_>, names: &mut BTreeSet<String>) -> Option<String> {
    let name = field.text(NAME_MAX)?;
    if let Err(bad) = ToolName::parse(name) {
        field.wrong(bad.to_string(), "give it another name");
        return None;
    }
    if !names.insert(name.into()) {
        field.wrong(
            format!("another tool is called {}", quoted(name)),
            "name each tool once, in `tools` or in `[[tool]]`",
        );
    }
    Some(name.into())
}
