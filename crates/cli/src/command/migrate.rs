//! `bowline migrate`: brings the store to today's version, which any command that works on runs
//! does by itself; here one can say that no copy is wanted.

use bowline_store::migrations::VERSION;

use super::Desk;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home_args::MigrateArgs;

/// Brings the store up.
pub(crate) fn migrate(desk: &Desk<'_>, args: &MigrateArgs) -> Result<Exit, CliError> {
    let before = desk.home.observe()?.store().version();
    if before == VERSION {
        desk.screen.line(&format!("the store is of version {VERSION}; there is nothing to do"));
        return Ok(Exit::Committed);
    }
    desk.home.bring_up(!args.no_backup)?;
    desk.screen.line(&format!("the store is of version {VERSION}"));
    Ok(Exit::Committed)
}
