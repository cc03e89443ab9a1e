//! Raw manifest in, validated [`Manifest`] or every problem out.
//!
//! The same reading as for tasks: it goes on after a problem, knows every key and
//! where it belongs, and opens no file.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::mcp;
use super::server::{Reach, Server};
use super::{Agent, Capabilities, Gate, Gates, McpGrant, Paths, Privacy, Programs, SECRETS_MAX, SecretRef};
use crate::budget::Limits;
use crate::guard::loops::Settings;
use crate::task::field::{Field, Table};
use crate::task::guard;
use crate::task::limits::{self, Bound};
use crate::task::problem::{Problems, quoted};
use crate::task::section::Section;
use crate::task::{self, BadTask, FileKind, Sandbox, ToolChoice, in_todays_words, version};

/// Longest name, version, host or program, in bytes.
const WORD_MAX: usize = 256;
/// Longest description and longest instructions, in bytes.
const TEXT_MAX: usize = 64 * 1024;
/// Longest path, in bytes.
const PATH_MAX: usize = 4096;
/// Most entries of one capability.
const GRANTS_MAX: usize = 128;

const SPAWN: Bound = Bound::count("spawn", 0, 32);

/// A manifest that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Who it describes.
    pub agent: Agent,
    /// The tools it names.
    pub tools: Vec<ToolChoice>,
    /// The bounds it sets; `None` where it says nothing about them.
    pub limits: Option<Limits>,
    /// In what its programs run.
    pub sandbox: Sandbox,
    /// When the guard acts; `None` where it says nothing about it.
    pub guard: Option<Settings>,
    /// As it was written: what a task does not say is taken from here.
    pub(super) raw: Value,
}

impl Manifest {
    /// Whether a task of this agent needs no model of its own.
    #[must_use]
    pub fn names_model(&self) -> bool {
        self.raw.get("model").is_some()
    }
}

/// Reads a raw manifest, as it came out of TOML, YAML or JSON, already laid over
/// what it extends.
pub fn parse(raw: &Value) -> Result<Manifest, BadTask> {
    let (raw, _) = in_todays_words(raw.clone(), FileKind::Manifest);
    version::readable(&raw)?;
    let problems = Problems::default();
    let read = Field::whole(&raw, &problems).table(Section::Manifest).map(|top| read(&top, &raw));
    problems.settle(read)
}

fn read(top: &Table<'_>, raw: &Value) -> Manifest {
    version::check(top);
    let text = |key: &str, most: usize| top.get(key).and_then(|field| field.text(most).map(str::to_owned));
    let name = top.require("name", "say what people call the agent, as in name = \"reviewer\"");
    let section = |key: &str, section: Section| top.get(key).and_then(|field| field.table(section));
    if let Some(field) = top.get("extends") {
        field.wrong(
            "what it extends was not read",
            "read the manifest from its file, so that what it extends is found beside it",
        );
    }
    // What a task takes over is read here too, so that a manifest is known to be
    // right before any task uses it.
    top.get("model").and_then(|field| task::model_reference(&field));
    task::models::check_names(top, &task::models::read(top));
    text("instructions", TEXT_MAX);
    let sandbox = top.get("sandbox").map(|field| task::sandbox(&field)).unwrap_or_default();
    let guard = section("guard", Section::Guard).map(|table| guard::read(&table));
    let tools = task::tools(top);
    let limits = section("limits", Section::Limits).map(|table| {
        let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        limits::read(&table, &names)
    });
    let agent = Agent {
        name: name.and_then(|field| field.text(WORD_MAX).map(str::to_owned)).unwrap_or_default(),
        version: text("release", WORD_MAX),
        description: text("description", TEXT_MAX),
        privacy: top.get("privacy").and_then(|field| field.one_of(&Privacy::WORDS)).unwrap_or_default(),
        capabilities: section("capabilities", Section::Capabilities)
            .map(|table| capabilities(&table))
            .unwrap_or_default(),
        servers: mcp::servers(top),
        gates: section("gates", Section::Gates).map(|table| gates(&table)).unwrap_or_default(),
        secrets: top.get("secrets").map(|field| secrets(&field)).unwrap_or_default(),
    };
    let is_started = |server: &Server| matches!(server.how, Reach::Stdio { .. });
    if agent.servers.iter().any(is_started) && !agent.capabilities.file_read.is_whole() {
        top.get("mcp").into_iter().for_each(|field| {
            field.wrong(
                "a server that is started reads every file of the workspace, and `file_read` does not grant that",
                "grant file_read = [\".\"], or use a server at a `url`",
            );
        });
    }
    Manifest { agent, tools, limits, sandbox, guard, raw: raw.clone() }
}

fn capabilities(table: &Table<'_>) -> Capabilities {
    let words = |key: &str, most: usize| -> Vec<(Field<'_>, String)> {
        let items = table.get(key).and_then(|field| field.list(GRANTS_MAX)).unwrap_or_default();
        items.into_iter().filter_map(|item| Some((item.clone(), item.text(most)?.to_owned()))).collect()
    };
    let paths = |key: &str| {
        let path = |(field, path): (Field<'_>, String)| {
            if !super::covers(".", &path) {
                field.wrong(
                    format!("{} leaves the workspace", quoted(&path)),
                    "write a path below the workspace, without `..`; \".\" is all of it",
                );
            }
            path
        };
        Paths(words(key, PATH_MAX).into_iter().map(path).collect())
    };
    let (file_read, file_write) = (paths("file_read"), paths("file_write"));
    let programs: Vec<String> = words("shell", WORD_MAX).into_iter().map(|(_, word)| word).collect();
    let unread = file_write.0.iter().find(|path| super::covers(".", path) && !file_read.covers(path));
    if let (Some(field), Some(path)) = (table.get("file_write"), unread) {
        field.wrong(
            format!(
                "{} may be written and not read, and whoever edits or moves a file reads it",
                quoted(path)
            ),
            "grant it in `file_read` too",
        );
    }
    if let Some(field) = table.get("shell").filter(|_| !programs.is_empty() && !file_read.is_whole()) {
        field.wrong(
            "a program reads every file of the workspace, and `file_read` does not grant that",
            "grant file_read = [\".\"], or leave `shell` out",
        );
    }
    Capabilities {
        file_read,
        file_write,
        shell: if programs.iter().any(|name| name == "*") {
            Programs::Any
        } else {
            Programs::Named(programs)
        },
        network: words("network", WORD_MAX).into_iter().map(|(_, word)| word).collect(),
        mcp: words("mcp", WORD_MAX).iter().filter_map(|(field, word)| mcp_grant(field, word)).collect(),
        inference: table.get("inference").and_then(|field| field.yes_or_no()).unwrap_or(false),
        spawn: table
            .get("spawn")
            .and_then(|field| field.amount(&SPAWN))
            .and_then(|levels| u32::try_from(levels).ok())
            .unwrap_or(0),
    }
}

fn mcp_grant(field: &Field<'_>, word: &str) -> Option<McpGrant> {
    let Some((server, tool)) =
        word.split_once('.').filter(|(server, tool)| !server.is_empty() && !tool.is_empty())
    else {
        field.wrong(
            format!("{} names no tool of a server", quoted(word)),
            "write server.tool, as in \"git.git_log\", or server.* for all its tools",
        );
        return None;
    };
    Some(McpGrant { server: server.into(), tool: (tool != "*").then(|| tool.into()) })
}

fn gates(table: &Table<'_>) -> Gates {
    let any = [("ask", Gate::Ask), ("refuse", Gate::Refuse), ("allow", Gate::Allow)];
    // Nothing that leaves a grant is simply allowed: grant it, or ask.
    let strict = [("ask", Gate::Ask), ("refuse", Gate::Refuse)];
    let default = Gates::default();
    let read = |key: &str, words: &[(&'static str, Gate)], default: Gate| {
        table.get(key).and_then(|field| field.one_of(words)).unwrap_or(default)
    };
    Gates {
        tainted: read("tainted", &any, default.tainted),
        secrets: read("secrets", &strict, default.secrets),
        out_of_policy: read("out_of_policy", &strict, default.out_of_policy),
    }
}

fn secrets(field: &Field<'_>) -> BTreeMap<String, SecretRef> {
    let members = field.members();
    if members.len() > SECRETS_MAX {
        field.wrong(format!("{} secrets are too many", members.len()), format!("keep it to {SECRETS_MAX}"));
    }
    let entry = |(name, field): (&str, Field<'_>)| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || name.len() > WORD_MAX || !name.chars().all(is_name) {
            field.wrong(
                format!("{} is no name for a secret", quoted(name)),
                "use letters, digits and `_`, as in API_TOKEN",
            );
        }
        Some((name.to_owned(), secret(&field)?))
    };
    members.into_iter().filter_map(entry).collect()
}

fn secret(field: &Field<'_>) -> Option<SecretRef> {
    let remedy = "write { env = \"API_TOKEN\" } or { file = \"token.txt\" }";
    if !field.is_table() {
        // Never quoted back: it may be the secret itself.
        field.wrong("a secret is never written into a manifest, only where it is", remedy);
        return None;
    }
    place(field, &field.table(Section::Secret)?)
}

/// A variable or a file, one of them.
pub(super) fn place(field: &Field<'_>, table: &Table<'_>) -> Option<SecretRef> {
    let remedy = "write { env = \"API_TOKEN\" } or { file = \"token.txt\" }";
    let text = |key: &str| table.get(key).and_then(|field| field.text(PATH_MAX).map(str::to_owned));
    match (text("env"), text("file")) {
        (Some(name), None) => Some(SecretRef::Env(name)),
        (None, Some(path)) => Some(SecretRef::File(path)),
        (Some(_), Some(_)) | (None, None) => {
            field.wrong("a secret is in one place", remedy);
            None
        }
    }
}
