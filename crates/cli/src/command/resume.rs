//! `bowline resume`: goes on with one run, or with every run that can go on.

use bowline::{Engine, EngineError, Worked};
use bowline_core::event::Ending;
use bowline_core::id::{ActionId, Millis};
use bowline_core::run::{Run, Thread};
use bowline_core::tool::Repeat;

use super::Desk;
use super::follow::while_working;
use super::work::{detail, patience, to_a_stop};
use crate::args::ResumeArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::pick;
use crate::render::progress::Progress;
use crate::render::{result, words};
use crate::report::Report;

/// Runs that are worked on at once.
const AT_ONCE: usize = 4;

/// Goes on.
pub(crate) async fn resume(desk: &Desk<'_>, args: ResumeArgs) -> Result<Exit, CliError> {
    if !desk.home.has_store() {
        desk.home.observe()?;
    }
    match &args.run {
        Some(word) => one(desk, word, &args).await,
        None => all(desk, &args).await,
    }
}

async fn one(desk: &Desk<'_>, word: &str, args: &ResumeArgs) -> Result<Exit, CliError> {
    let engine = desk.home.work(patience(args.show))?;
    let row = pick::run(engine.store().as_ref(), word).await?;
    let state = engine.inspect(&row.run).await?.run;
    if let (Some(Ending::Committed { .. } | Ending::Failed { .. }), false) =
        (state.ending(), args.raise.is_empty())
    {
        return Err(CliError::refused(
            format!("run {} has ended: {}", row.run, state.phase.word()),
            "an ending is final; start another run with higher limits",
        ));
    }
    let by = person();
    if state.is_brought_back() {
        take_up(desk, &engine, &state, args).await?;
    }
    let mut progress = Progress::new(desk.screen, detail(args.show));
    progress.begin(&row.run, row.next_seq, Some(state));
    if args.without.is_empty() {
        let resumed = engine.resume(&row.run, &by, args.raise.clone());
        return to_a_stop(desk, &engine, &row.run, &mut progress, resumed).await;
    }
    let resumed = engine.resume_without(&row.run, &by, args.raise.clone(), args.without.clone());
    to_a_stop(desk, &engine, &row.run, &mut progress, resumed).await
}

/// Takes up a run that was brought back from a backup, if the person says that they know.
async fn take_up(desk: &Desk<'_>, engine: &Engine, run: &Run, args: &ResumeArgs) -> Result<(), CliError> {
    let made_at = run.backup.as_ref().map_or(Millis(0), |backup| backup.made_at);
    let what = format!(
        "run {} was brought back from a backup of {}, and may have gone on elsewhere since",
        run.id,
        words::utc(made_at)
    );
    if !args.restored {
        return Err(CliError::refused(
            what,
            format!(
                "once nobody works on it elsewhere: `{} resume {} --restored`. Calls that must not be made twice are \
                 then in doubt before they are made",
                desk.home.program(),
                run.id
            ),
        ));
    }
    desk.screen.note(&what);
    for (action, tool) in open_calls(run) {
        desk.screen.note(&format!("  {action} {tool} may have been made since"));
    }
    desk.screen.note("  calls that must not be made twice will be in doubt before they are made");
    Ok(engine.take_up(&run.id, &person()).await?)
}

/// Calls a model asked for that had no answer when the backup was made, and must not be made twice.
fn open_calls(run: &Run) -> Vec<(ActionId, String)> {
    let calls = run.threads.values().flat_map(Thread::calls).filter(|(_, call)| {
        let is_once = run.tool(&call.call.tool).is_none_or(|spec| spec.repeat == Repeat::Never);
        is_once && !call.is_answered()
    });
    calls.map(|(action, call)| (action, call.call.tool.to_string())).collect()
}

async fn all(desk: &Desk<'_>, args: &ResumeArgs) -> Result<Exit, CliError> {
    let engine = desk.home.work(patience(args.show))?;
    let _interrupts = Interrupts::listen(&engine, desk.screen)?;
    let mut progress = Progress::of_many(desk.screen, detail(args.show));
    let (worked, unread) = match while_working(&engine, &mut progress, engine.work_off(AT_ONCE)).await {
        Ok(worked) => (worked, None),
        Err(EngineError::Queue { worked, source }) => (worked, Some(CliError::from(*source))),
        Err(error) => return Err(error.into()),
    };
    desk.screen.clear_live();
    if worked.is_empty() && unread.is_none() {
        desk.screen
            .note("nothing can go on: every run has ended or waits for a person (`bowline runs --open`)");
    }
    // A run that was taken up twice is told about once, as it was left.
    let mut last: Vec<Worked> = Vec::new();
    for (id, how) in worked {
        last.retain(|(known, _)| *known != id);
        last.push((id, how));
    }
    let mut exit = Exit::Committed;
    for (id, how) in last {
        match how {
            Ok(how) => {
                let report = Report::load(engine.store().as_ref(), &id).await?;
                result::show(desk.screen, &desk.home, &report, &how);
                exit = exit.worse(Exit::of_stop(&report.run, &how));
            }
            Err(error) => {
                let error = CliError::from(error);
                desk.screen.note(&format!("run {id} cannot go on"));
                desk.screen.failed(&error);
                exit = exit.worse(error.exit());
            }
        }
    }
    if let Some(error) = unread {
        desk.screen.note("no more runs could be taken up");
        desk.screen.failed(&error);
        exit = exit.worse(error.exit());
    }
    Ok(exit)
}
