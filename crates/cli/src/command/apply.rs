//! `bowline apply`: shows what a committed run changed apart, and brings it home.
//!
//! All of it or nothing. Where the folder has moved on, all three are shown: what was,
//! what the run wrote, what is now.

use bowline::ApplyPlan;
use bowline_core::event::{LandOutcome, MovedOn};
use bowline_core::id::RunId;
use bowline_core::view;

use super::Desk;
use super::follow::while_working;
use crate::args::ApplyArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::output::changes as output;
use crate::render::diff;
use crate::render::progress::{Detail, Progress};
use crate::render::{Look, escape, words};
use crate::{pick, question};

/// Shows, asks, applies.
pub(crate) async fn apply(desk: &Desk<'_>, args: &ApplyArgs) -> Result<Exit, CliError> {
    let engine = if args.dry_run { desk.home.observe()? } else { super::undo::worker(desk)? };
    let row = pick::run(engine.store().as_ref(), &args.run).await?;
    let id = row.run.clone();
    let plan = engine.plan_apply(&id).await?;
    show(desk, &id, &plan);
    if args.dry_run {
        return Ok(if plan.moved.is_empty() { Exit::Committed } else { Exit::Failed });
    }
    if !plan.moved.is_empty() && !plan.is_begun {
        return Err(moved(desk, &id, plan.moved.len()));
    }
    let interrupts = Interrupts::listen(&engine, desk.screen)?;
    if !args.yes && !plan.is_begun && !agreed(desk, &plan, &interrupts).await? {
        desk.screen.line("nothing was applied");
        return Ok(Exit::Unfinished);
    }
    let mut progress = Progress::new(desk.screen, Detail::Events);
    progress.begin(&id, row.next_seq, Some(engine.inspect(&id).await?.run));
    let outcome = while_working(&engine, &mut progress, engine.apply(&id, &person())).await?;
    desk.screen.clear_live();
    Ok(tell(desk, &id, outcome.as_ref()))
}

fn moved(desk: &Desk<'_>, id: &RunId, files: usize) -> CliError {
    CliError::refused(
        format!(
            "{} changed meanwhile by somebody else; nothing was applied",
            words::several(files as u64, "file")
        ),
        format!(
            "put them back as the run found them, or make them as it wants them, then `{} apply {id}`",
            desk.home.program()
        ),
    )
}

async fn agreed(desk: &Desk<'_>, plan: &ApplyPlan, interrupts: &Interrupts) -> Result<bool, CliError> {
    if !desk.screen.can_ask() {
        return Err(CliError::refused(
            "nobody can be asked here: this is no terminal",
            "read what is shown above, then repeat the command with --yes",
        ));
    }
    desk.screen
        .ask(&format!("apply the changes of {}? [y/n] ", words::several(plan.files.len() as u64, "file")));
    Ok(matches!(question::answer(interrupts).await.as_deref(), Some("y" | "yes")))
}

fn show(desk: &Desk<'_>, id: &RunId, plan: &ApplyPlan) {
    if desk.screen.is_json() {
        for file in &plan.files {
            desk.screen.json(&diff::object(id, file));
        }
        desk.screen.json(&output::ApplyPlan { run: id, files: plan.files.len(), moved: &plan.moved });
        return;
    }
    let what = if plan.is_begun { "was begun and goes on with" } else { "would change" };
    let head = format!("run {id}  {what} {}", words::several(plan.files.len() as u64, "file"));
    desk.screen.line(&desk.screen.paint(Look::Strong, &head));
    diff::stat(desk.screen, &plan.files);
    for file in &plan.moved {
        three_ways(file).iter().for_each(|line| desk.screen.line(&format!("  {line}")));
    }
}

/// A file that moved on: what was, what the run wrote, what is now.
pub(super) fn three_ways(file: &MovedOn) -> Vec<String> {
    vec![
        format!("{}: CHANGED MEANWHILE", escape::line(&file.path)),
        format!("    was            {}", escape::line(&file.was.words())),
        format!("    the run wrote  {}", escape::line(&file.wrote.words())),
        format!("    is now         {}", escape::line(&file.now.words())),
    ]
}

fn tell(desk: &Desk<'_>, id: &RunId, outcome: Option<&LandOutcome>) -> Exit {
    let exit = match outcome {
        Some(LandOutcome::Landed) => Exit::Committed,
        Some(LandOutcome::MovedOn(_) | LandOutcome::Not(_)) => Exit::Failed,
        Some(LandOutcome::Torn(_)) => Exit::NotUndone,
        None => Exit::Unfinished,
    };
    if desk.screen.is_json() {
        desk.screen.json(&output::Applied { run: id, outcome, exit: exit.code() });
        return exit;
    }
    let how = outcome.map_or_else(|| "interrupted; asking again goes on with it".into(), view::landed);
    desk.screen.line(&format!("run {id}  {}", escape::line(&how)));
    if let Some(LandOutcome::MovedOn(moved)) = outcome {
        moved.iter().flat_map(three_ways).for_each(|line| desk.screen.line(&format!("  {line}")));
    }
    exit
}
