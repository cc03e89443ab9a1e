//! `bowline pause` and `bowline cancel`: durable as soon as they return, and
//! effective too, if need be by applying the message here.

use std::time::Duration;

use bowline::Engine;
use bowline_core::event::Ending;
use bowline_core::id::RunId;
use bowline_core::input::Signal;
use bowline_store::RunStore;

use super::Desk;
use crate::args::OneRun;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::pick;
use crate::report::Report;

/// How long a worker may take to notice its mail.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long to wait for a change before looking anyway.
const LOOK_MS: u64 = 100;

/// Stops the clock of a run.
pub(crate) async fn pause(desk: &Desk<'_>, args: &OneRun) -> Result<Exit, CliError> {
    send(desk, &args.run, Signal::Pause).await
}

/// Ends a run, resumable.
pub(crate) async fn cancel(desk: &Desk<'_>, args: &OneRun) -> Result<Exit, CliError> {
    send(desk, &args.run, Signal::Cancel).await
}

async fn send(desk: &Desk<'_>, word: &str, signal: Signal) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let id = pick::run(engine.store().as_ref(), word).await?.run;
    let run = engine.inspect(&id).await?.run;
    if let Some(ending) = run.ending() {
        let remedy = match ending {
            Ending::Halted { .. } => {
                format!("it was halted before; `{} resume {id}` reopens it", desk.home.program())
            }
            Ending::Committed { .. } | Ending::Failed { .. } => {
                "an ending is final; there is nothing to stop".into()
            }
        };
        return Err(CliError::refused(format!("run {id} has ended: {}", run.phase.word()), remedy));
    }
    if run.paused && signal == Signal::Pause {
        desk.screen.line(&format!("run {id} is paused already"));
        return Ok(Exit::Committed);
    }
    engine.signal(&id, &person(), signal).await?;
    take_effect(desk, &engine, &id).await?;
    let report = Report::load(engine.store().as_ref(), &id).await?;
    if !engine.store().mail(&id).await?.is_empty() && report.run.ending().is_none() {
        desk.screen.line(&format!(
            "run {id} has been told, and has not taken it in yet: whoever works on it next will"
        ));
        return Ok(Exit::Committed);
    }
    let is_paused = report.run.paused && report.run.ending().is_none();
    let state = if is_paused { "paused" } else { report.run.phase.word() };
    desk.screen.line(&format!("run {id} is {state}"));
    crate::render::result::steps(desk.screen, &desk.home, &report.run);
    Ok(Exit::Committed)
}

/// Has the message taken in: here if nobody works in this store, else by whoever does.
async fn take_effect(desk: &Desk<'_>, observer: &Engine, id: &RunId) -> Result<(), CliError> {
    if let Some(engine) = desk.home.work_if_free()? {
        // The message is durable whatever comes of this, so trouble is told and no more.
        if let Err(error) = engine.run(id).await {
            desk.screen.failed(&error.into());
        }
        return Ok(());
    }
    // Nobody answers in time: it stays in the mailbox, which the caller says.
    let _in_time = tokio::time::timeout(PATIENCE, taken_in(observer.store().as_ref(), id)).await;
    Ok(())
}

async fn taken_in(store: &dyn RunStore, id: &RunId) {
    while store.mail(id).await.is_ok_and(|mail| !mail.is_empty()) {
        store.changed(LOOK_MS).await;
    }
}
