//! From what stands on the command line to a task: a folder, a file, or words.
//!
//! Paths in a task file are relative to that file; in the task that is submitted
//! they are absolute, so that it can be resumed from anywhere. Nothing is opened
//! here but the task file itself.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use bowline_core::agent::{self, Manifest};
use bowline_core::task::each::{self, Each};
use bowline_core::task::{self, BadTask, FileKind, Sandbox, Task, in_todays_words};
use rustix::fs::OFlags;
use serde_json::{Value, json};

use crate::args::TaskArgs;
use crate::error::CliError;
use crate::manifest;
use crate::render::{Screen, escape};

/// Names a task file may have in a folder, in this order.
const NAMES: [&str; 4] = ["task.toml", "task.yaml", "task.yml", "task.json"];

/// The longest task file, in bytes.
const TASK_BYTES_MAX: u64 = 4 << 20;

/// The task, and the manifest of the agent it names. Of a task for each of many files: the one
/// for the first.
pub(crate) fn read_with_agent(
    screen: &Screen,
    args: &TaskArgs,
) -> Result<(Task, Option<Manifest>), CliError> {
    match read_given(screen, args)? {
        (Given::One(task), manifest) => Ok((*task, manifest)),
        (Given::Each(mut batch), manifest) => Ok((batch.tasks.swap_remove(0).1, manifest)),
    }
}

/// What a task file stands for.
pub(crate) enum Given {
    /// One task.
    One(Box<Task>),
    /// A task for each of these files.
    Each(Batch),
}

/// A task for each of many files.
pub(crate) struct Batch {
    /// The files, and the task of each; at least one.
    pub(crate) tasks: Vec<(String, Task)>,
    /// How many must be committed.
    pub(crate) enough: usize,
}

/// Everything a command line means.
pub(crate) fn read_all(screen: &Screen, args: &TaskArgs) -> Result<Given, CliError> {
    read_given(screen, args).map(|(given, _)| given)
}

fn read_given(screen: &Screen, args: &TaskArgs) -> Result<(Given, Option<Manifest>), CliError> {
    let here = std::env::current_dir().map_err(CliError::io("find", "the working directory"))?;
    let Some(path) = task_path(&args.task)? else {
        return goal(screen, args, &here).map(|(task, manifest)| (Given::One(Box::new(task)), manifest));
    };
    let mut raw = read_file(screen, &path, FileKind::Task)?;
    let base = std::path::absolute(&path).map_err(CliError::io("find", &path))?;
    let base = base.parent().unwrap_or(&here).to_owned();
    replace(&mut raw, args, &here);
    let manifest = match (&args.agent, raw.get("agent")) {
        (Some(agent), _) => Some(manifest::load(screen, &here.join(agent))?),
        (None, Some(Value::String(agent))) => Some(manifest::load(screen, &join(&base, agent))?),
        // What is no text is refused by the reader, with its place.
        (None, Some(_) | None) => None,
    };
    let bad = |bad| CliError::Task { path: path.clone(), bad };
    let read = |raw: &Value| {
        let mut task = outfitted(raw, manifest.as_ref()).map_err(bad)?;
        anchor(&mut task, &base);
        Ok(task)
    };
    let given = match Each::of(&raw).map_err(bad)? {
        None => Given::One(Box::new(read(&raw)?)),
        Some(each) => {
            let tasks = files(&each, &workspace_of(&raw, &base))?.into_iter();
            let one = |file: String| read(&each::of_file(&raw, &file)).map(|task| (file, task));
            let tasks = tasks.map(one).collect::<Result<Vec<_>, CliError>>()?;
            Given::Each(Batch { enough: each.enough(tasks.len()), tasks })
        }
    };
    Ok((given, manifest))
}

/// Where the files of a raw task are; what is no path is refused when the task is read.
fn workspace_of(raw: &Value, base: &Path) -> PathBuf {
    let path = raw.get("workspace").and_then(|workspace| workspace.get("path")).and_then(Value::as_str);
    join(base, path.unwrap_or("."))
}

/// The files a task is run for, in the order of their names.
fn files(each: &Each, workspace: &Path) -> Result<Vec<String>, CliError> {
    let folder = join(workspace, each.folder());
    let entries = std::fs::read_dir(&folder).map_err(CliError::io("read", &folder))?;
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(CliError::io("read", &folder))?;
        let path = entry.file_name().to_str().and_then(|name| each.path_of(name));
        let is_file = || entry.path().metadata().is_ok_and(|about| about.is_file());
        found.extend(path.filter(|_| is_file()));
        if found.len() > each::FILES_MAX {
            return Err(CliError::refused(
                format!("{} has more than {} files for `each`", folder.display(), each::FILES_MAX),
                "divide them among several folders or patterns",
            ));
        }
    }
    if found.is_empty() {
        return Err(CliError::refused(
            format!("no file of {} fits `each`", folder.display()),
            "correct the pattern, or put files there; it is relative to the workspace",
        ));
    }
    found.sort();
    Ok(found)
}

fn outfitted(raw: &Value, manifest: Option<&Manifest>) -> Result<Task, BadTask> {
    match manifest {
        Some(manifest) => agent::outfit(raw, manifest),
        None => task::parse(raw),
    }
}

fn goal(screen: &Screen, args: &TaskArgs, here: &Path) -> Result<(Task, Option<Manifest>), CliError> {
    let manifest = args.agent.as_ref().map(|agent| manifest::load(screen, &here.join(agent))).transpose()?;
    let mut raw = json!({ "goal": args.task });
    replace(&mut raw, args, here);
    let is_named = |manifest: &Manifest| manifest.names_model();
    if args.model.is_none() && !manifest.as_ref().is_some_and(is_named) {
        return Err(CliError::refused(
            format!(
                "{:?} is no file or folder, so it is taken as a goal, and a goal needs a model",
                shown(&args.task)
            ),
            "add --model REF, as in --model local:smollm2-135m or --model scripted:model.yaml, or --agent FILE with a model in it, or name a task file: `bowline init DIR` makes one",
        ));
    }
    let mut task = outfitted(&raw, manifest.as_ref()).map_err(|bad| CliError::Goal { bad })?;
    anchor(&mut task, here);
    Ok((task, manifest))
}

/// The file that is meant; `None` when the words are a goal.
pub(crate) fn task_path(word: &str) -> Result<Option<PathBuf>, CliError> {
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

/// The file in today's words; whoever wrote it is told about old ones.
pub(crate) fn read_file(screen: &Screen, path: &Path, kind: FileKind) -> Result<Value, CliError> {
    let (raw, renamed) = in_todays_words(parse_file(path)?, kind);
    for renamed in &renamed {
        screen.note(&format!(
            "warning: {}: {} has a new name; write {}",
            escape::line(&path.display().to_string()),
            renamed.place(),
            escape::line(&renamed.line)
        ));
    }
    if !renamed.is_empty() {
        screen.note(
            "the old name will be refused by a later release; `bowline check --fix FILE` writes the new one",
        );
    }
    Ok(raw)
}

/// Opens a file for reading. Anything else than a file is refused at once: a pipe would be
/// waited for.
fn opened(path: &Path) -> io::Result<File> {
    let at_once = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(at_once).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no regular file")) }
}

pub(crate) fn parse_file(path: &Path) -> Result<Value, CliError> {
    let mut text = String::new();
    let file = opened(path).map_err(CliError::io("read", path))?;
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
    match ending(path) {
        Some("json") => serde_json::from_str(&text).map_err(|error| bad("JSON", error.to_string())),
        Some("yaml" | "yml") => {
            let options = serde_saphyr::options! { strict_booleans: true, with_snippet: false };
            serde_saphyr::from_str_with_options(&text, options)
                .map_err(|error| bad("YAML", error.to_string()))
        }
        Some(_) | None => parse_toml(&text).map_err(|error| bad("TOML", error.to_string())),
    }
}

pub(crate) fn parse_toml(text: &str) -> Result<Value, toml::de::Error> {
    toml::from_str(text)
}

/// Whether a file is read as TOML.
pub(crate) fn is_toml(path: &Path) -> bool {
    !matches!(ending(path), Some("json" | "yaml" | "yml"))
}

fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(|ending| ending.to_str())
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
    for model in task.routes.models_mut() {
        *model = absolute_model(model, base);
    }
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
        Some((local @ "local", path)) if is_weights_path(path) => {
            format!("{local}:{}", join(base, path).display())
        }
        Some(_) | None => model.into(),
    }
}

/// Whether weights are named by where they are, not by what they are called.
pub(crate) fn is_weights_path(name_or_path: &str) -> bool {
    name_or_path.contains('/') || name_or_path.ends_with(".gguf")
}

fn shown(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}
