//! `bowline show`: everything about one run.

use super::Desk;
use crate::args::ShowArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::pick;
use crate::render::story;
use crate::report::Report;

/// Tells about a run.
pub(crate) async fn show(desk: &Desk<'_>, args: &ShowArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let row = pick::run(engine.store().as_ref(), &args.run).await?;
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
