//! `bowline diff`: what a run changed in its files, against how it found them.

use super::Desk;
use crate::args::DiffArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::pick;
use crate::render::diff;

/// Shows it.
pub(crate) async fn diff(desk: &Desk<'_>, args: &DiffArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let row = pick::run(engine.store().as_ref(), &args.run).await?;
    let files = engine.changes(&row.run).await?;
    if desk.screen.is_json() {
        files.iter().for_each(|file| desk.screen.json(&diff::object(&row.run, file)));
    } else if args.stat {
        diff::stat(desk.screen, &files);
    } else {
        files.iter().for_each(|file| diff::unified(desk.screen, file));
    }
    Ok(Exit::Committed)
}
