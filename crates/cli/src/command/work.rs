//! Working on one run in this process: shown as it goes, questions put to the
//! person at the terminal, the result at the end.

use bowline::{Engine, EngineError, Patience, Stopped};
use bowline_core::id::RunId;

use super::Desk;
use super::follow::while_working;
use crate::args::ShowFlags;
use crate::error::CliError;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::question;
use crate::render::progress::{Detail, Progress};
use crate::render::result;
use crate::report::Report;

/// Whether to stay when only a person can move the run.
pub(crate) fn patience(flags: ShowFlags) -> Patience {
    if flags.wait { Patience::WaitForPeople } else { Patience::LeaveWhenWaiting }
}

/// How much to show on the way.
pub(crate) fn detail(flags: ShowFlags) -> Detail {
    if flags.quiet { Detail::Nothing } else { Detail::Events }
}

/// Works on a run until it stops for good; `first` is the first attempt.
pub(crate) async fn to_a_stop(
    desk: &Desk<'_>,
    engine: &Engine,
    id: &RunId,
    progress: &mut Progress,
    first: impl Future<Output = Result<Stopped, EngineError>>,
) -> Result<Exit, CliError> {
    let interrupts = Interrupts::listen(engine, desk.screen)?;
    let mut stopped = while_working(engine, progress, first).await?;
    while let Stopped::Waiting(waits) = &stopped {
        if !desk.screen.can_ask() || interrupts.were_asked() {
            break;
        }
        desk.screen.clear_live();
        if !question::put(engine, desk.screen, (id, waits), &interrupts).await? {
            break;
        }
        stopped = while_working(engine, progress, engine.run(id)).await?;
    }
    let report = Report::load(engine.store().as_ref(), id).await?;
    if let (Stopped::Waiting(waits), false) = (&stopped, desk.screen.is_json() || desk.screen.can_ask()) {
        for wait in waits {
            for line in question::shown(engine.store().as_ref(), &report.run, (wait, false)).await? {
                desk.screen.line(&line);
            }
        }
    }
    desk.screen.clear_live();
    result::show(desk.screen, &desk.home, &report, &stopped);
    Ok(Exit::of_stop(&report.run, &stopped))
}
