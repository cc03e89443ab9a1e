//! From what stands on the command line to a task: a folder, a file, or words.
//!
//! Paths in a task file are relative to that file; in the task that is submitted
//! they are absolute, so that it can be resumed from anywhere. Nothing is opened
//! here but the task file itself.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bowline_core::agent::{self, Manifest};
use bowline_core::task::{self, BadTask, Sandbox, Task};
use serde_json::{Value, json};

use crate::args::TaskArgs;
use crate::error::CliError;
use crate::manifest;

/// Names a task file may have in a folder, in this order.
const NAMES: [&str; 4] = ["task.toml", "task.yaml", "task.yml", "task.json"];

/// The longest task file, in bytes.
const TASK_BYTES_MAX: u64 = 4 << 20;

/// The task a command line means.
pub(crate) fn read(args: &TaskArgs) -> Result<Task, CliError> {
    read_with_agent(args).map(|(task, _)| task)
}

/// The task, and the manifest of the agent it names.
pub(crate) fn read_with_agent(args: &TaskArgs) -> Result<(Task, Option<Manifest>), CliError> {
    let here = std::env::current_dir().map_err(CliError::io("find", "the working directory"))?;
    let Some(path) = task_path(&args.task)? else { return goal(args, &here) };
    let mut raw = parse_file(&path)?;
    let base = std::path::absolute(&path).map_err(CliError::io("find", &path))?;
    let base = base.parent().unwrap_or(&here).to_owned();
    replace(&mut raw, args, &here);
    let manifest = match (&args.agent, raw.get("agent")) {
        (Some(agent), _) => Some(manifest::load(&here.join(agent))?),
        (None, Some(Value::String(agent))) => Some(manifest::load(&join(&base, agent))?),
        // What is no text is refused by the reader, with its place.
        (None, Some(_) | None) => None,
    };
    let mut task = outfitted(&raw, manifest.as_ref()).map_err(|bad| CliError::Task { path, bad })?;
    anchor(&mut task, &base);
    Ok((task, manifest))
}

fn outfitted(raw: &Value, manifest: Option<&Manifest>) -> Result<Task, BadTask> {
    match manifest {
        Some(manifest) => agent::outfit(raw, manifest),
        None => task::parse(raw),
    }
}

fn goal(args: &TaskArgs, here: &Path) -> Result<(Task, Option<Manifest>), CliError> {
    let manifest = args.agent.as_ref().map(|agent| manifest::load(&here.join(agent))).transpose()?;
    let mut raw = json!({ "goal": args.task });
    replace(&mut raw, args, here);
    let is_named = |manifest: &Manifest| manifest.names_model();
    if args.model.is_none() && !manifest.as_ref().is_some_and(is_named) {
        return Err(CliError::refused(
            format!(
                "{:?} is no file or folder, so it is taken as a goal, and a goal needs a model",
                shown(&args.task)
            ),
            "add --model REF, as in --model scripted:model.yaml, or --agent FILE with a model in it, or name a task file: `bowline init DIR` makes one",
        ));
    }
    let mut task = outfitted(&raw, manifest.as_ref()).map_err(|bad| CliError::Goal { bad })?;
    anchor(&mut task, here);
    Ok((task, manifest))
}

/// The file that is meant; `None` when the words are a goal.
fn task_path(word: &str) -> Result<Option<PathBuf>, CliError> {
    let path = Path::new(word);
    if path.is_dir() {
        let found = NAMES.iter().map(|name| path.join(name)).find(|file| file.is_file());
        return match found {
            Some(file) => Ok(Some(file)),
            None => Err(CliError::refused(
                format!("there is no task in {}: none of {}", path.display(), NAMES.join(", ")),
                format!("write one: `bowline init {}` makes one that runs as it is", path.display()),
            )),
        };
    }
    if path.exists() {
        return Ok(Some(path.to_owned()));
    }
    if looks_like_a_path(word) {
        return Err(CliError::refused(
            format!("there is no file or folder {:?}", shown(word)),
            "correct the path; a goal in words has spaces and no file's ending",
        ));
    }
    Ok(None)
}

fn looks_like_a_path(word: &str) -> bool {
    let is_file = [".toml", ".yaml", ".yml", ".json"].iter().any(|ending| word.ends_with(ending));
    let is_plain = !word.contains(char::is_whitespace);
    word.trim().is_empty() || (is_plain && (is_file || word.contains('/')))
}

pub(crate) fn parse_file(path: &Path) -> Result<Value, CliError> {
    let mut text = String::new();
    let file = File::open(path).map_err(CliError::io("read", path))?;
    file.take(TASK_BYTES_MAX + 1).read_to_string(&mut text).map_err(CliError::io("read", path))?;
    if text.len() as u64 > TASK_BYTES_MAX {
        return Err(CliError::refused(
            format!("{} has more than {TASK_BYTES_MAX} bytes", path.display()),
            "a task file holds settings: put material into the workspace and name it in `evidence`",
        ));
    }
    let bad = |form: &'static str, message: String| CliError::Syntax {
        path: path.to_owned(),
        form,
        message: message.trim_end().to_owned(),
    };
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("json") => serde_json::from_str(&text).map_err(|error| bad("JSON", error.to_string())),
        Some("yaml" | "yml") => {
            let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
            serde_saphyr::from_str_with_options(&text, options)
                .map_err(|error| bad("YAML", error.to_string()))
        }
        Some(_) | None => toml::from_str(&text).map_err(|error| bad("TOML", error.to_string())),
    }
}

/// What the command line says stands above what the file says.
fn replace(raw: &mut Value, args: &TaskArgs, here: &Path) {
    let Value::Object(top) = raw else { return };
    if let Some(model) = &args.model {
        top.insert("model".into(), absolute_model(model, here).into());
    }
    if let Some(folder) = &args.workspace {
        let path = here.join(folder).display().to_string();
        match top.get_mut("workspace") {
            Some(Value::Object(workspace)) => {
                workspace.insert("path".into(), path.into());
            }
            Some(_) | None => {
                top.insert("workspace".into(), json!({ "path": path }));
            }
        }
    }
}

/// Makes every path of the task absolute.
fn anchor(task: &mut Task, base: &Path) {
    task.model = absolute_model(&task.model, base);
    task.critic = task.critic.as_deref().map(|critic| absolute_model(critic, base));
    let workspace = join(base, &task.workspace.path);
    task.workspace.path = workspace.display().to_string();
    if let Sandbox::Cage { read, write } = &mut task.sandbox {
        for path in read.iter_mut().chain(write) {
            // What is not there is named by the cage, which refuses it.
            let real = base.join(&*path).canonicalize().unwrap_or_else(|_| join(base, path));
            *path = real.display().to_string();
        }
    }
    for choice in &mut task.tools {
        if let Some(command) = &mut choice.command {
            // A tool of the task, not of the workspace: the agent must not be able to rewrite it.
            let words = command.argv.iter_mut().chain(command.probe.iter_mut().flatten());
            words.filter(|word| word.starts_with("./")).for_each(|word| anchor_word(word, base));
        }
    }
    for check in &mut task.checks {
        if let Some(argv) = check.how.program_mut() {
            // A check runs in the workspace; what is not there is meant beside the task file.
            let meant = |word: &&mut String| {
                word.starts_with("./")
                    && !workspace.join(word.as_str()).exists()
                    && base.join(word.as_str()).exists()
            };
            argv.iter_mut().filter(meant).for_each(|word| anchor_word(word, base));
        }
    }
}

fn anchor_word(word: &mut String, base: &Path) {
    *word = join(base, word).display().to_string();
}

/// Joins and drops `.`, so that paths people read are short.
pub(crate) fn join(base: &Path, path: &str) -> PathBuf {
    base.join(path).components().filter(|part| *part != std::path::Component::CurDir).collect()
}

/// A model by a reference that is good from everywhere.
pub(crate) fn absolute_model(model: &str, base: &Path) -> String {
    match model.split_once(':') {
        Some(("scripted", path)) if !path.trim().is_empty() => {
            format!("scripted:{}", join(base, path).display())
        }
        Some(_) | None => model.into(),
    }
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}
