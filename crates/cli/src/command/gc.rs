//! `bowline gc`: removes runs that ended long ago, and folders whose run is gone.
//!
//! First the run, then its folders: a crash in between leaves folders without a
//! run, which the next `gc` removes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bowline_cage::tree::{self, Go, Look};
use bowline_core::id::RunId;
use bowline_store::{EndingKind, ListFilter, Removal, RunRow, StoreError};
use bowline_tools::isolation;

use super::Desk;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::home::{Home, person};
use crate::home_args::GcArgs;
use crate::render::{escape, words};

/// Removes what is old and over.
pub(crate) async fn gc(desk: &Desk<'_>, args: &GcArgs) -> Result<Exit, CliError> {
    let engine = if args.dry_run { desk.home.observe()? } else { desk.home.observe_current()? };
    let store = engine.store();
    let now = clock::now();
    let mut rows = store.list(ListFilter { max: usize::MAX, ..ListFilter::default() }).await?;
    let (mut removed, mut freed) = (0_u64, 0_u64);
    // One folder that cannot be removed does not keep the others.
    let mut stuck = None;
    for row in
        rows.extract_if(.., |row| is_over(row, args.halted) && now.since(row.updated_at) >= args.older_than)
    {
        let goal = escape::cut(&escape::line(&row.summary.goal), 60);
        let verb = if args.dry_run { "would remove" } else { "removed" };
        if !args.dry_run {
            let removal = Removal { by: person(), at: now };
            match store.remove(&row.run, removal).await {
                Ok(bytes) => freed = freed.saturating_add(bytes),
                // Somebody reopened or removed it meanwhile.
                Err(StoreError::NotEnded { .. } | StoreError::NoRun { .. }) => continue,
                Err(error) => return Err(error.into()),
            }
        }
        removed += 1;
        desk.screen.line(&format!("{verb} run {}  {}  {goal}", row.run, row.summary.phase));
        match folders(&desk.home, &row.run, args.dry_run) {
            Ok(bytes) => freed = freed.saturating_add(bytes),
            Err(error) => stuck = stuck.or(Some(error)),
        }
    }
    let kept: BTreeSet<RunId> = rows.into_iter().map(|row| row.run).collect();
    if !args.dry_run {
        orphaned_bases(&desk.home, &kept)?;
    }
    for orphan in orphans(&desk.home, &kept)? {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        match remove_folder(&orphan, args.dry_run) {
            Ok(bytes) => {
                freed = freed.saturating_add(bytes);
                desk.screen.line(&format!("{verb} {}: its run is gone", orphan.display()));
            }
            Err(error) => stuck = stuck.or(Some(error)),
        }
    }
    let verb = if args.dry_run { "would be removed" } else { "removed" };
    desk.screen.line(&format!(
        "{} {verb}, {} bytes of content and files",
        words::several(removed, "run"),
        words::count(freed)
    ));
    stuck.map_or(Ok(Exit::Committed), Err)
}

fn is_over(row: &RunRow, halted_too: bool) -> bool {
    match row.summary.ending.filter(|_| !row.summary.owes) {
        Some(EndingKind::Committed | EndingKind::Failed) => true,
        Some(EndingKind::Halted) => halted_too,
        None => false,
    }
}

pub(super) fn folders(home: &Home, run: &RunId, dry_run: bool) -> Result<u64, CliError> {
    let copy = remove_folder(&home.workspaces().join(run.as_str()), dry_run)?;
    if !dry_run {
        forget_base(&home.bases().join(format!("{run}.json")))?;
    }
    Ok(copy.saturating_add(remove_folder(&home.results().join(run.as_str()), dry_run)?))
}

fn forget_base(base: &Path) -> Result<(), CliError> {
    isolation::forget(base).map_err(CliError::io("remove", base))
}

/// Removes what copies of runs began with that are not in the store.
fn orphaned_bases(home: &Home, known: &BTreeSet<RunId>) -> Result<(), CliError> {
    for entry in fs::read_dir(home.bases()).into_iter().flatten().flatten() {
        let path = entry.path();
        let stem = path.file_name().and_then(|name| name.to_str()?.split('.').next());
        let run = stem.and_then(|stem| RunId::parse(stem).ok());
        if let Some(run) = run.filter(|run| !known.contains(run)) {
            forget_base(&home.bases().join(format!("{run}.json")))?;
        }
    }
    Ok(())
}

/// Folders of runs that are not in the store.
pub(crate) fn orphans(home: &Home, known: &BTreeSet<RunId>) -> Result<Vec<PathBuf>, CliError> {
    let mut found = Vec::new();
    for place in [home.workspaces(), home.results()] {
        let entries = match fs::read_dir(&place) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(CliError::io("read", &place)(error)),
        };
        for entry in entries.flatten() {
            // Anything that is not named like a run is not ours.
            let run = entry.file_name().to_str().and_then(|name| RunId::parse(name).ok());
            if run.is_some_and(|run| !known.contains(&run)) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a folder and says how many bytes its files had.
fn remove_folder(folder: &Path, dry_run: bool) -> Result<u64, CliError> {
    if folder.symlink_metadata().is_err() {
        return Ok(0);
    }
    if dry_run {
        return Ok(bytes_in(folder));
    }
    tree::remove(folder).map_err(CliError::io("remove", folder))
}

/// How many bytes the files have that can be looked at.
fn bytes_in(folder: &Path) -> u64 {
    let mut bytes = 0_u64;
    let size = |path: &Path| path.symlink_metadata().map_or(0, |about| about.len());
    let looked = Look { opens: true, is_over: &|| false }.through(folder, |met| {
        if !met.kind.is_dir() {
            bytes = bytes.saturating_add(size(met.path));
        }
        Go::In
    });
    if looked.is_ok() { bytes } else { 0 }
}
