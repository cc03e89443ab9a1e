//! `bowline show`: everything about one run.

use bowline_store::RunStore;

use super::{Desk, delete};
use crate::args::ShowArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::runs::Deleted;
use crate::pick;
use crate::render::story;
use crate::report::Report;

/// What is left of a run that was deleted; `None` if it was not.
async fn deleted(desk: &Desk<'_>, store: &dyn RunStore, args: &ShowArgs) -> Result<Option<Exit>, CliError> {
    let Some(left) = delete::tombstone(store, &args.run).await? else { return Ok(None) };
    if args.json {
        desk.screen.json(&Deleted { deleted: (&left).into() });
    } else {
        desk.screen.line(&delete::told(&left, clock::now()));
    }
    Ok(Some(Exit::Committed))
}

/// Tells about a run.
pub(crate) async fn show(desk: &Desk<'_>, args: &ShowArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let row = match pick::run(engine.store().as_ref(), &args.run).await {
        Ok(row) => row,
        Err(missing) => return deleted(desk, engine.store().as_ref(), args).await?.ok_or(missing),
    };
    let report = Report::load(engine.store().as_ref(), &row.run).await?;
    if args.json {
        desk.screen.json(&story::object(&report, args.events));
        return Ok(Exit::Committed);
    }
    story::tell(desk.screen, &desk.home, &report, clock::now());
    if args.events {
        desk.screen.line("");
        story::timeline(desk.screen, &report.events);
    }
    Ok(Exit::Committed)
}
