//! `bowline check`: whether a task or a manifest is right, and what it allows, in words.

use std::path::Path;

use bowline_core::agent::{Manifest, explain};

use super::Desk;
use crate::args::{CheckArgs, TaskArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::escape;
use crate::{manifest, taskfile};

/// Reads the file as what it is, and explains it.
pub(crate) fn check(desk: &Desk<'_>, args: &CheckArgs) -> Result<Exit, CliError> {
    let path = Path::new(&args.file);
    if path.is_dir() || taskfile::parse_file(path)?.get("goal").is_some() {
        return task(desk, args);
    }
    let manifest = manifest::load(path)?;
    desk.screen.line(&format!("{} is a manifest", path.display()));
    show(desk, &manifest);
    Ok(Exit::Committed)
}

fn task(desk: &Desk<'_>, args: &CheckArgs) -> Result<Exit, CliError> {
    let (task, agent) = (args.file.clone(), args.agent.clone());
    let asked = TaskArgs { task, agent, workspace: None, model: None };
    let (task, manifest) = taskfile::read_with_agent(&asked)?;
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
    match manifest {
        Some(manifest) => show(desk, &manifest),
        None => desk.screen.line("no agent: every tool of the task may be used as the task says"),
    }
    Ok(Exit::Committed)
}

fn show(desk: &Desk<'_>, manifest: &Manifest) {
    explain(manifest).iter().for_each(|line| desk.screen.line(&escape::line(line)));
}
