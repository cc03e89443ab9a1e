//! `bowline delete`: removes a run whole, so that no byte of it is left in the home. What remains
//! says that it was there, and nothing of what was in it.
//!
//! First the run, then its folders, then what the database keeps of removed rows: whoever is
//! killed in between does the same again, and gets to the end.

use std::fs;

use bowline_store::{ListFilter, Removal, RunStore, SqliteStore, StoreError, Tombstone};

use super::Desk;
use super::gc;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::person;
use crate::home_args::DeleteArgs;
use crate::pick;
use crate::question::read_line;
use crate::render::{escape, words};

/// Deletes a run.
pub(crate) async fn delete(desk: &Desk<'_>, args: &DeleteArgs) -> Result<Exit, CliError> {
    let engine = super::undo::worker(desk)?;
    let store = engine.store().as_ref();
    let found = match pick::run(store, &args.run).await {
        Ok(row) => Found::Run(Box::new(row)),
        Err(missing) => match tombstone(store, &args.run).await? {
            Some(left) => Found::Tombstone(left),
            None => return Err(missing),
        },
    };
    let run = match &found {
        Found::Run(row) if !row.summary.is_over() => {
            return Err(StoreError::NotEnded { run: row.run.clone() }.into());
        }
        Found::Run(row) => row.run.clone(),
        Found::Tombstone(left) => left.run.clone(),
    };
    // The store is of today's version by now; what it was before may hold the run too.
    let copies = SqliteStore::copies(desk.home.path());
    if let (Some(copy), false) = (copies.first(), args.with_copies) {
        return Err(CliError::refused(
            format!("{} was made before a migration and may hold run {run} too", copy.display()),
            "say --with-copies to remove such copies as well, or move them away; nothing was deleted",
        ));
    }
    if let Found::Run(row) = &found {
        let goal = escape::cut(&escape::line(&row.summary.goal), 60);
        desk.screen.line(&format!("run {run}  {}  {goal}", row.summary.phase));
        if !args.yes && !agreed(desk).await? {
            desk.screen.line("nothing was deleted");
            return Ok(Exit::Unfinished);
        }
        store.remove(&run, Removal { by: person(), at: clock::now() }).await?;
    }
    gc::folders(&desk.home, &run, false)?;
    for copy in &copies {
        fs::remove_file(copy).map_err(CliError::io("remove", copy))?;
    }
    store.scrub().await?;
    desk.screen.line(&format!("deleted {run}: its journal, content, copy, results and messages"));
    desk.screen.line(
        "  `bowline runs --deleted` tells that it was there. Backups and exports of it are not touched.",
    );
    Ok(Exit::Committed)
}

enum Found {
    Run(Box<bowline_store::RunRow>),
    /// It was deleted before, perhaps not to the end.
    Tombstone(Tombstone),
}

/// What is left of the run a word means.
pub(super) async fn tombstone(store: &dyn RunStore, word: &str) -> Result<Option<Tombstone>, CliError> {
    let filter = ListFilter { prefix: word.to_owned(), max: 2, ..ListFilter::default() };
    let mut left = store.tombstones(filter).await?;
    let exact = left.iter().position(|left| left.run.as_str() == word);
    Ok(match (exact, left.len()) {
        (Some(exact), _) => Some(left.swap_remove(exact)),
        (None, 1) => left.pop(),
        (None, _) => None,
    })
}

/// What a person reads about a run that was deleted.
pub(super) fn told(left: &Tombstone, now: bowline_core::id::Millis) -> String {
    format!(
        "run {} was deleted by {}, {} ago ({}): it had {}, and its head was {}",
        left.run,
        escape::line(&left.by),
        words::age(now.since(left.at)),
        words::utc(left.at),
        words::several(left.events, "event"),
        left.head
    )
}

async fn agreed(desk: &Desk<'_>) -> Result<bool, CliError> {
    if !desk.screen.can_ask() {
        return Err(CliError::refused(
            "nobody can be asked here whether to delete this run",
            "say it with --yes; it cannot be brought back",
        ));
    }
    desk.screen.ask("delete it for good? [y/n] ");
    let said = tokio::task::spawn_blocking(read_line).await.ok().flatten();
    Ok(matches!(said.as_deref(), Some("y" | "yes")))
}
