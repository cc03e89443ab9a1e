//! How a call of a tool is undone, as a task file or a manifest says it.

use serde_json::{Value, json};

use super::field::{Field, Table};
use super::limits::Bound;
use super::section::Section;
use crate::plan::parse as plan;
use crate::tool::Class;
use crate::undo::{How, Look, Undo};

/// The keys of `undo`.
pub(super) const KEYS: [&str; 5] = ["command", "tool", "args", "probe", "timeout_seconds"];
/// The keys of its `probe`, where that is a tool.
pub(super) const PROBE_KEYS: [&str; 5] = ["tool", "args", "is", "contains", "at"];

/// Longest name of a tool, in bytes.
const NAME_MAX: usize = 256;
/// Largest arguments, in bytes of canonical JSON, and how deep.
const ARGS_MAX: usize = 16 * 1024;
const NESTING_MAX: usize = 16;

const TIMEOUT: Bound = Bound::seconds("timeout_seconds", 3600);

/// Whose tools they are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// The task's: undone by a command or another tool.
    Task,
    /// A server's: undone by another tool of the same server.
    Server,
}

/// Reads `undo` of a tool's table.
pub(crate) fn read(tool: &Table<'_>, by: By) -> Option<Box<Undo>> {
    let field = tool.get("undo")?;
    let table = field.table(Section::Undo)?;
    let classes = [("pure", Class::Pure), ("irreversible", Class::Irreversible)];
    let class = tool.get("class").and_then(|field| {
        let Value::String(word) = field.json(NAME_MAX, 1)? else { return None };
        classes.iter().find(|(known, _)| *known == word).map(|(word, _)| *word)
    });
    if let Some(class) = class {
        field.wrong(
            format!("a tool of class \"{class}\" has no undo"),
            "leave `class` out, or write \"compensable\"",
        );
    }
    let how = how(&field, &table, by);
    let args = table.get("args").and_then(|field| object(&field));
    let timeout_ms = table.get("timeout_seconds").and_then(|field| field.amount(&TIMEOUT));
    let undo = Undo { how: how?, args, timeout_ms };
    if let Err(bad) = undo.check() {
        field.wrong(bad.to_string(), "correct what stands between the braces");
    }
    Some(Box::new(undo))
}

fn how(field: &Field<'_>, table: &Table<'_>, by: By) -> Option<How> {
    match (table.get("command"), table.get("tool")) {
        (Some(command), None) if by == By::Task => {
            let probe = match table.get("probe") {
                Some(probe) => Some(probe.argv()?),
                None => None,
            };
            Some(How::Command { argv: command.argv()?, probe })
        }
        (Some(command), None) => {
            command.wrong("a tool of a server is undone by another tool of it", "write `tool` instead");
            None
        }
        (None, Some(tool)) => {
            let probe = match table.get("probe") {
                Some(probe) => Some(Box::new(look(&probe)?)),
                None => None,
            };
            Some(How::Tool { name: tool.text(NAME_MAX)?.to_owned(), probe })
        }
        (Some(_), Some(_)) => {
            field.wrong("a call is undone by a command or by a tool", "write one of them");
            None
        }
        (None, None) => {
            let remedy = "write `command` or `tool`: what undoes a call";
            field.wrong("nothing says what undoes a call", remedy);
            None
        }
    }
}

fn look(field: &Field<'_>) -> Option<Look> {
    let table = field.table(Section::UndoProbe)?;
    let tool = table.require("tool", "name the tool that tells whether it is undone already");
    let args = table.get("args").and_then(|field| object(&field));
    let test = plan::test(field, &table);
    Some(Look {
        tool: tool?.text(NAME_MAX)?.to_owned(),
        args: args.unwrap_or_else(|| json!({})),
        test: test?,
    })
}

fn object(field: &Field<'_>) -> Option<Value> {
    if !field.is_table() {
        field.wrong("expected a table", "write the arguments by name, as in { id = \"{result/id}\" }");
        return None;
    }
    field.json(ARGS_MAX, NESTING_MAX)
}
