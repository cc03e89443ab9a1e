//! `bowline plan`: the plan a task would get, judged and drawn, without running it.

use bowline::EngineError;
use bowline_core::plan::Plan;
use bowline_core::plan::draw::Picture;
use bowline_core::plan::feasible::{Circumstances, Outfit, check, left_of};
use bowline_core::plan::measure::{Estimates, measure};
use bowline_core::task::Planner;
use bowline_tools::Registry;

use super::Desk;
use crate::args::{PlanArgs, PlanFormat, TaskArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::escape;
use crate::taskfile;

/// Reads the task, judges its plan, and shows both.
pub(crate) fn plan(desk: &Desk<'_>, args: &PlanArgs) -> Result<Exit, CliError> {
    let (task, agent) = (args.task.clone(), args.agent.clone());
    let asked = TaskArgs { task, agent, workspace: None, model: None };
    let (task, _) = taskfile::read_with_agent(desk.screen, &asked)?;
    let given = match task.planning.by {
        Planner::Task => task.plan.clone().or_else(|| Plan::of_one(&task.goal)),
        Planner::Model => None,
    };
    let Some(plan) = given else {
        return Err(CliError::refused(
            "the model makes the plan of this task when the run begins",
            "run it and look with `bowline show`, or write `[[plan]]` or `[[method]]` to see it before",
        ));
    };
    let specs = Registry::new(&task.tools).map_err(EngineError::from)?.specs();
    let tools = Outfit { specs: &specs, agent: task.agent.as_deref() };
    let estimates = Estimates::default();
    let circumstances = Circumstances {
        facts: &task.planning.facts,
        tools: &tools,
        left: left_of(&task.limits),
        slots: usize::try_from(task.limits.parallel).unwrap_or(usize::MAX),
        estimates,
    };
    let feasibility = check(plan, &circumstances);
    let measure = measure(&feasibility.plan, &estimates);
    show(desk, &Picture { feasibility: &feasibility, measure: &measure }, args.format);
    Ok(if feasibility.is_valid() { Exit::Committed } else { Exit::Refused })
}

fn show(desk: &Desk<'_>, picture: &Picture<'_>, format: PlanFormat) {
    match format {
        PlanFormat::Text => picture.text().iter().for_each(|line| desk.screen.line(&escape::line(line))),
        PlanFormat::Json => desk.screen.json(&picture.drawn()),
        PlanFormat::Mermaid => {
            picture.mermaid().lines().for_each(|line| desk.screen.line(&escape::line(line)))
        }
        PlanFormat::Dot => picture.dot().lines().for_each(|line| desk.screen.line(&escape::line(line))),
    }
}
