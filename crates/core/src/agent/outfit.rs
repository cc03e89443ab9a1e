//! Manifests laid over each other, and a task outfitted with its agent.
//!
//! What a task does not say, its agent says. What it does say may only be less: a
//! task names none but the agent's tools and sets no limit higher.

use serde_json::{Map, Value, json};

use super::Manifest;
use crate::budget::{Gauge, Limit, Limits};
use crate::task::problem::Problems;
use crate::task::{self, BadTask, FileKind, Sandbox, Task, in_todays_words};
use crate::view::gauge_line;

/// Keys of a task that its agent may bring.
const BROUGHT: [&str; 6] = ["model", "instructions", "tools", "tool", "sandbox", "guard"];

/// Lists of tables whose entries are the same when they have the same name.
const NAMED: [&str; 2] = ["tool", "mcp"];

/// Lays a manifest over the one it extends: its own word counts, tables are joined
/// key by key, tools and servers by name, and every other list is replaced.
#[must_use]
pub fn overlay(base: Value, own: Value) -> Value {
    match (base, own) {
        (Value::Object(mut base), Value::Object(own)) => {
            for (key, value) in own {
                let laid = match base.remove(&key) {
                    Some(below) if NAMED.contains(&key.as_str()) => joined(below, value),
                    Some(below) => overlay(below, value),
                    None => value,
                };
                base.insert(key, laid);
            }
            base.remove("extends");
            Value::Object(base)
        }
        (_, own) => own,
    }
}

fn joined(base: Value, own: Value) -> Value {
    let (Value::Array(mut all), Value::Array(own)) = (base, own.clone()) else { return own };
    for entry in own {
        let same = all.iter_mut().find(|known| known.get("name") == entry.get("name"));
        match same {
            Some(known) => *known = overlay(known.take(), entry),
            None => all.push(entry),
        }
    }
    Value::Array(all)
}

/// Reads a raw task that the manifest's agent works on.
pub fn outfit(raw: &Value, manifest: &Manifest) -> Result<Task, BadTask> {
    let (mut raw, _) = in_todays_words(raw.clone(), FileKind::Task);
    if let Value::Object(task) = &mut raw {
        task.remove("agent");
        bring(task, &manifest.raw);
    }
    let mut task = task::parse(&raw)?;
    let problems = Problems::default();
    for (place, what) in beyond(&task, manifest) {
        problems.note(&place, what, "ask for less in the task, or grant more in the manifest");
    }
    task.agent = Some(Box::new(manifest.agent.clone()));
    problems.settle(Some(task))
}

fn bring(task: &mut Map<String, Value>, manifest: &Value) {
    // `tools` and `[[tool]]` are one list in two notations.
    let names_tools = task.contains_key("tools") || task.contains_key("tool");
    for key in BROUGHT {
        let Some(brought) = manifest.get(key) else { continue };
        match key {
            "tools" if names_tools => {}
            "tool" if names_tools => settings(task, brought),
            _ if task.contains_key(key) => {}
            _ => {
                task.insert(key.into(), brought.clone());
            }
        }
    }
    if let Some(privacy) = manifest.get("privacy").filter(|_| !task.contains_key("privacy")) {
        task.insert("privacy".into(), privacy.clone());
    }
    let hosts = manifest.pointer("/capabilities/network");
    if let Some(hosts) = hosts.filter(|_| !task.contains_key("network")) {
        task.insert("network".into(), json!({ "hosts": hosts }));
    }
    for key in ["limits", "models"] {
        if let Some(brought) = manifest.get(key) {
            let own = task.remove(key).unwrap_or_else(|| json!({}));
            task.insert(key.into(), overlay(brought.clone(), own));
        }
    }
}

/// A task that names a tool by name alone means it with the agent's settings.
fn settings(task: &mut Map<String, Value>, brought: &Value) {
    let of = |name: &Value| brought.as_array()?.iter().find(|entry| entry.get("name") == Some(name)).cloned();
    let Some(Value::Array(names)) = task.get("tools").cloned() else { return };
    let (set, plain): (Vec<Value>, Vec<Value>) = names.into_iter().partition(|name| of(name).is_some());
    let mut tables: Vec<Value> = set.iter().filter_map(of).collect();
    if let Some(Value::Array(own)) = task.remove("tool") {
        tables.extend(own);
    }
    task.insert("tools".into(), plain.into());
    if !tables.is_empty() {
        task.insert("tool".into(), tables.into());
    }
}

/// What a task asks for and its agent does not bring: where, and what.
#[must_use]
pub fn beyond(task: &Task, manifest: &Manifest) -> Vec<(String, String)> {
    let name = &manifest.agent.name;
    let unnamed = |tool: &&task::ToolChoice| !manifest.tools.contains(tool);
    let tools = task.tools.iter().filter(unnamed).map(|tool| {
        let known = manifest.tools.iter().any(|known| known.name == tool.name);
        let what = if known { "has other settings for it" } else { "has no such tool" };
        ("tools".to_owned(), format!("the task uses {:?}, and the agent {name} {what}", tool.name))
    });
    let secrets = task.tools.iter().flat_map(|tool| {
        let named = tool.command.iter().flat_map(|command| &command.secrets);
        let missing = named.filter(|secret| !manifest.agent.secrets.contains_key(*secret));
        missing.map(|secret| {
            let what = format!("{:?} gets the secret {secret:?}, and the agent {name} has none", tool.name);
            ("tool".to_owned(), what)
        })
    });
    let granted = &manifest.agent.capabilities.network;
    let hosts = task.network.hosts.iter().filter(|host| !granted.contains(host)).map(|host| {
        let what = format!("the task reaches {host:?}, and the agent {name} has no capability for it");
        ("network.hosts".to_owned(), what)
    });
    let privacy = (task.privacy < manifest.agent.privacy).then(|| {
        let (asked, own) = (task.privacy, manifest.agent.privacy);
        ("privacy".to_owned(), format!("the task says {asked}, and the agent {name} is {own}"))
    });
    let held = &manifest.agent.capabilities;
    let unread = task.evidence.iter().filter(|path| !held.file_read.covers(path)).map(|path| {
        let what = format!("the task reads {path:?}, and the agent {name} may not");
        ("evidence".to_owned(), what)
    });
    let has_commands = task.checks.iter().any(|check| check.how.program().is_some());
    let programs = (has_commands && !held.file_read.is_whole()).then(|| {
        let what = "a check that is a program reads every file of the workspace, and so does what the agent \
             wrote for it; its `file_read` does not grant that";
        ("check".to_owned(), what.to_owned())
    });
    let ports = (!task.network.ports.is_empty()).then(|| {
        (
            "network.ports".to_owned(),
            format!("ports are the agent's to grant: {name} names them with its hosts"),
        )
    });
    let is_laxer = !is_within(&task.sandbox, &manifest.sandbox);
    let sandbox =
        is_laxer.then(|| ("sandbox".to_owned(), format!("the agent {name} runs programs in a stricter one")));
    let guard = manifest.guard.as_ref().filter(|own| **own != task.guard);
    let guard = guard.map(|_| ("guard".to_owned(), format!("the agent {name} has settings of its own")));
    let more = unread.chain(programs).chain(ports).chain(sandbox).chain(guard);
    let limits = manifest.limits.iter().flat_map(|limits| higher(&task.limits, limits));
    tools.chain(secrets).chain(hosts).chain(privacy).chain(more).chain(limits).collect()
}

/// Whether a sandbox lets programs do no more than another.
fn is_within(asked: &Sandbox, own: &Sandbox) -> bool {
    match (asked, own) {
        (_, Sandbox::None) => true,
        (Sandbox::Cage { read, write }, Sandbox::IfAvailable) => read.is_empty() && write.is_empty(),
        (Sandbox::IfAvailable, Sandbox::IfAvailable) => true,
        (Sandbox::Cage { read, write }, Sandbox::Cage { read: may_read, write: may_write }) => {
            read.iter().all(|path| may_read.contains(path))
                && write.iter().all(|path| may_write.contains(path))
        }
        (Sandbox::None | Sandbox::IfAvailable, Sandbox::Cage { .. })
        | (Sandbox::None, Sandbox::IfAvailable) => false,
    }
}

fn higher(asked: &Limits, granted: &Limits) -> Vec<(String, String)> {
    let tools = granted.tools.keys().cloned().map(Limit::Tool);
    let above = |limit: Limit| {
        let (used, allowed) = (asked.allowed(&limit), granted.allowed(&limit));
        let place = format!("limits.{}", limit.word());
        let line = gauge_line(&Gauge { limit, of: None, used, allowed });
        (used > allowed).then(|| (place, format!("the task asks for more than its agent has: {line}")))
    };
    Limit::ALL.into_iter().chain(tools).filter_map(above).collect()
}
