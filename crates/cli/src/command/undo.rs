//! `bowline undo`: shows what a run did, and takes it back.
//!
//! Everything is shown before anything is touched. Where the world has moved on, all
//! three are shown: what was, what the run wrote, what is now.

use bowline::{UndoPlan, UndoStep, UndoWay, Undone};
use bowline_core::id::RunId;
use bowline_core::message::Payload;
use bowline_core::tool::{Departure, FileImage};
use bowline_core::undo::How;
use bowline_core::view;
use bowline_tools::restore::{Now, Standing};

use super::Desk;
use super::follow::while_working;
use crate::args::UndoArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::output::changes::{self as output, NotUndoable, UndoneCall, UndoneRun};
use crate::render::progress::{Detail, Progress};
use crate::render::{Look, escape, words};
use crate::{pick, question};

/// Calls that are shown one by one; the rest is counted.
const SHOWN_MAX: usize = 200;

/// Shows, asks, undoes.
pub(crate) async fn undo(desk: &Desk<'_>, args: &UndoArgs) -> Result<Exit, CliError> {
    let engine = if args.dry_run { desk.home.observe()? } else { worker(desk)? };
    let row = pick::run(engine.store().as_ref(), &args.run).await?;
    let (id, to) = (row.run.clone(), args.to.unwrap_or(0));
    let plan = engine.plan_undo(&id, to).await?;
    show(desk, &id, &plan);
    if args.dry_run {
        return Ok(Exit::Committed);
    }
    refuse_changed(desk, &id, &plan, args)?;
    let interrupts = Interrupts::listen(&engine, desk.screen)?;
    if !args.yes && !plan.is_begun && !plan.steps.is_empty() && !agreed(desk, &plan, &interrupts).await? {
        desk.screen.line("nothing was undone");
        return Ok(Exit::Unfinished);
    }
    let mut progress = Progress::new(desk.screen, Detail::Events);
    progress.begin(&id, row.next_seq, Some(engine.inspect(&id).await?.run));
    let by = person();
    let undone = while_working(&engine, &mut progress, engine.undo(&id, &by, to, args.leave_changed)).await?;
    desk.screen.clear_live();
    Ok(tell(desk, &id, &undone))
}

pub(super) fn worker(desk: &Desk<'_>) -> Result<bowline::Engine, CliError> {
    if !desk.home.has_store() {
        desk.home.observe()?;
    }
    desk.home.work(bowline::Patience::LeaveWhenWaiting)
}

/// What is not as the run left it is not overwritten.
fn refuse_changed(desk: &Desk<'_>, id: &RunId, plan: &UndoPlan, args: &UndoArgs) -> Result<(), CliError> {
    let changed = plan.changed().count();
    if changed == 0 || args.leave_changed || plan.is_begun {
        return Ok(());
    }
    Err(CliError::refused(
        format!(
            "{} changed since by somebody else; nothing was undone",
            words::several(changed as u64, "file")
        ),
        format!(
            "put them back as the run left them, or undo the rest: `{} undo {id} --leave-changed`",
            desk.home.program()
        ),
    ))
}

async fn agreed(desk: &Desk<'_>, plan: &UndoPlan, interrupts: &Interrupts) -> Result<bool, CliError> {
    if !desk.screen.can_ask() {
        return Err(CliError::refused(
            "nobody can be asked here: this is no terminal",
            "read what is shown above, then repeat the command with --yes",
        ));
    }
    desk.screen.ask(&format!("undo {}? [y/n] ", words::several(plan.steps.len() as u64, "call")));
    Ok(matches!(question::answer(interrupts).await.as_deref(), Some("y" | "yes")))
}

fn show(desk: &Desk<'_>, id: &RunId, plan: &UndoPlan) {
    if desk.screen.is_json() {
        for step in &plan.steps {
            desk.screen.json(&object(id, step));
        }
        for (action, tool) in &plan.remains {
            desk.screen.json(&NotUndoable { run: id, action: *action, tool, undo: () });
        }
        return;
    }
    let what = if plan.is_begun { "was begun and goes on with" } else { "would undo" };
    let head = format!("run {id}  {what} {}", words::several(plan.steps.len() as u64, "call"));
    desk.screen.line(&desk.screen.paint(Look::Strong, &head));
    for step in plan.steps.iter().take(SHOWN_MAX) {
        lines(step).iter().for_each(|line| desk.screen.line(&format!("  {line}")));
    }
    if plan.steps.len() > SHOWN_MAX {
        desk.screen.line(&format!("  … and {} more", plan.steps.len() - SHOWN_MAX));
    }
    for (action, tool) in plan.remains.iter().take(SHOWN_MAX) {
        desk.screen.line(&format!("  {action}  {tool}: nothing undoes it"));
    }
}

/// What is done about a call, from what to what.
fn lines(step: &UndoStep) -> Vec<String> {
    let name = format!("{}  {}", step.action, step.tool);
    match &step.way {
        UndoWay::Call { undo, is_known } => {
            let by = match &undo.how {
                How::Command { argv, .. } => escape::line(&argv.join(" ")),
                How::Tool { name, .. } => escape::line(name),
                How::Own => "the tool itself".into(),
            };
            let doubt = if *is_known { "" } else { " (it may not have happened)" };
            vec![format!("{name}: undone by {by}{doubt}")]
        }
        UndoWay::Landing { files, moved } => {
            let head =
                format!("{name}: takes the changes of {} back", words::several(u64::from(*files), "file"));
            let changed = moved.iter().flat_map(super::apply::three_ways);
            std::iter::once(head).chain(changed).collect()
        }
        UndoWay::File { image, looked } => {
            let path = escape::line(&image.path);
            match looked.standing {
                Standing::AsBefore => vec![format!("{name} {path}: is as before already")],
                Standing::AsLeft => vec![format!("{name} {path}: {} → {}", left(image), before(image))],
                Standing::Changed => vec![
                    format!("{name} {path}: CHANGED SINCE"),
                    format!("    was            {}", before(image)),
                    format!("    the run wrote  {}", left(image)),
                    format!("    is now         {}", now(looked.now)),
                ],
            }
        }
    }
}

fn before(image: &FileImage) -> String {
    match (&image.before, &image.departure) {
        (_, Some(Departure::Moved { .. })) => format!("here, {}", image.after.short()),
        (Some(payload), _) => {
            format!("{}, {}", words::several(payload.len(), "byte"), payload.digest().short())
        }
        (None, _) => "not there".into(),
    }
}

fn left(image: &FileImage) -> String {
    match &image.departure {
        None => image.after.short(),
        Some(Departure::Deleted { .. }) => "deleted".into(),
        Some(Departure::Moved { to }) => format!("moved to {}", escape::line(to)),
    }
}

fn now(now: Now) -> String {
    match now {
        Now::Nothing => "not there".into(),
        Now::File(sha256) => sha256.short(),
        Now::SomethingElse => "something else than a file of the run".into(),
    }
}

fn object<'a>(id: &'a RunId, step: &'a UndoStep) -> output::UndoStep<'a> {
    let undo = match &step.way {
        UndoWay::Call { undo, is_known } => output::UndoWay::Call { call: undo, is_known: *is_known },
        UndoWay::Landing { files, moved } => output::UndoWay::Landing { files: *files, moved },
        UndoWay::File { image, looked } => output::UndoWay::File {
            path: &image.path,
            was: image.before.as_ref().map(Payload::digest),
            wrote: image.result().1,
            now: match looked.now {
                Now::Nothing => output::Now::Nothing,
                Now::File(sha256) => output::Now::File(sha256),
                Now::SomethingElse => output::Now::Else(output::SomethingElse::SomethingElse),
            },
            standing: match looked.standing {
                Standing::AsLeft => output::Standing::AsLeft,
                Standing::AsBefore => output::Standing::AsBefore,
                Standing::Changed => output::Standing::Changed,
            },
        },
    };
    output::UndoStep { run: id, action: step.action, tool: &step.tool, undo }
}

fn tell(desk: &Desk<'_>, id: &RunId, undone: &Undone) -> Exit {
    let is_back = |how: &view::Undone| matches!(how, view::Undone::Compensated | view::Undone::WasAsBefore);
    let not: Vec<_> = undone.calls.iter().filter(|(_, how)| !is_back(how)).collect();
    let exit = if !undone.is_finished {
        Exit::Unfinished
    } else if undone.is_alerted {
        Exit::NotUndone
    } else if not.is_empty() {
        Exit::Committed
    } else {
        Exit::Failed
    };
    if desk.screen.is_json() {
        let calls = undone.calls.iter().map(|(action, outcome)| UndoneCall { action: *action, outcome });
        let (undone, finished) = (calls.collect(), undone.is_finished);
        desk.screen.json(&UndoneRun { run: id, undone, finished, exit: exit.code() });
        return exit;
    }
    let back = undone.calls.len() - not.len();
    let word = if undone.is_finished { "undone" } else { "interrupted; asking again goes on with it" };
    desk.screen.line(&format!("run {id}  {word}: {} as before", words::several(back as u64, "call")));
    for (action, how) in not {
        desk.screen.line(&format!("  ✗ {action}: {}", escape::line(&how.words())));
    }
    exit
}
