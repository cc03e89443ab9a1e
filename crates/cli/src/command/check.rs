//! `bowline check`: whether a task or a manifest is right, and what it allows, in words.

use std::path::Path;

use bowline_core::agent::{Manifest, explain};
use bowline_core::task::{FileKind, explain as explain_task};

use super::Desk;
use crate::args::{CheckArgs, TaskArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::escape;
use crate::{manifest, rewrite, taskfile};

/// Reads the file as what it is, and explains it.
pub(crate) fn check(desk: &Desk<'_>, args: &CheckArgs) -> Result<Exit, CliError> {
    let path = Path::new(&args.file);
    let is_task = path.is_dir() || taskfile::parse_file(path)?.get("goal").is_some();
    if args.fix {
        fix(desk, &args.file, if is_task { FileKind::Task } else { FileKind::Manifest })?;
    }
    if is_task {
        return task(desk, args);
    }
    let manifest = manifest::load(desk.screen, path)?;
    desk.screen.line(&format!("{} is a manifest", path.display()));
    show(desk, &manifest);
    Ok(Exit::Committed)
}

/// Writes new names into the file, and says which.
fn fix(desk: &Desk<'_>, file: &str, kind: FileKind) -> Result<(), CliError> {
    let Some(path) = taskfile::task_path(file)? else { return Ok(()) };
    let renamed = rewrite::in_place(&path, kind)?;
    let name = escape::line(&path.display().to_string());
    for renamed in &renamed {
        desk.screen.line(&format!("{name}: {} is now {}", renamed.place(), escape::line(&renamed.line)));
    }
    if renamed.is_empty() {
        desk.screen.line(&format!("{name} has no old names: it was not changed"));
    }
    Ok(())
}

fn task(desk: &Desk<'_>, args: &CheckArgs) -> Result<Exit, CliError> {
    let (task, agent) = (args.file.clone(), args.agent.clone());
    let asked = TaskArgs { task, agent, workspace: None, model: None };
    let (task, manifest) = taskfile::read_with_agent(desk.screen, &asked)?;
    desk.screen.line(&format!("{} is a task", args.file));
    let goal = task.goal.lines().next().unwrap_or_default();
    desk.screen.line(&format!("  goal     {}", escape::line(goal)));
    desk.screen.line(&format!("  model    {}", escape::line(&task.model)));
    let names: Vec<&str> = task.tools.iter().map(|tool| tool.name.as_str()).collect();
    desk.screen
        .line(&format!("  tools    {}", if names.is_empty() { "none".into() } else { names.join(", ") }));
    let checks: Vec<&str> = task.checks.iter().map(|check| check.name.as_str()).collect();
    let checks = if checks.is_empty() { "none: a person is asked".into() } else { checks.join(", ") };
    desk.screen.line(&format!("  checks   {}", escape::line(&checks)));
    explain_task(&task).iter().for_each(|line| desk.screen.line(&format!("  {}", escape::line(line))));
    match manifest {
        Some(manifest) => show(desk, &manifest),
        None => desk.screen.line("no agent: every tool of the task may be used as the task says"),
    }
    Ok(Exit::Committed)
}

fn show(desk: &Desk<'_>, manifest: &Manifest) {
    explain(manifest).iter().for_each(|line| desk.screen.line(&escape::line(line)));
}
