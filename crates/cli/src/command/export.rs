//! `bowline export`: a run outside the store. Events are written as they are
//! stored, not as a newer build would word them.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use bowline_core::event::Ending;
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_core::view::statement;
use bowline_store::{RunRow, RunStore};
use serde_json::Value;

use super::Desk;
use crate::args::ExportArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::runs::Exported;
use crate::pick;
use crate::report::Report;

/// Records read at once.
const PAGE: usize = 256;

/// Prints the journal, or writes journal, output and provenance.
pub(crate) async fn export(desk: &Desk<'_>, args: &ExportArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let store = engine.store().as_ref();
    let row = pick::run(store, &args.run).await?;
    if args.json {
        journal(store, &row, |line| desk.screen.json(line)).await?;
        return Ok(Exit::Committed);
    }
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("bowline-{}", row.run)));
    if args.out.is_none() && folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        // Nobody named it, so nobody meant what it leads to.
        return Err(CliError::refused(
            format!("{} is no folder", folder.display()),
            "move it away, or name another folder with --out DIR",
        ));
    }
    for (path, text) in files(store, &row).await? {
        let path = write_new(&folder, path, &text)?;
        desk.screen.line(&path.display().to_string());
    }
    Ok(Exit::Committed)
}

async fn files(store: &dyn RunStore, row: &RunRow) -> Result<Vec<(&'static str, String)>, CliError> {
    let mut lines = String::new();
    journal(store, row, |line| {
        lines.push_str(&serde_json::to_string(line).unwrap_or_default());
        lines.push('\n');
    })
    .await?;
    let mut files = vec![("journal.jsonl", lines)];
    let report = Report::load(store, &row.run).await?;
    let output = report.output.unwrap_or_default();
    if let Some(Ending::Committed { .. }) = report.run.ending() {
        let record = bowline::provenance(store, &row.run).await?.json;
        files.extend(statement(&record, &output).map(|text| ("statement.json", text)));
        files.push(("provenance.json", record));
    }
    if !output.is_empty() {
        files.push(("output.txt", output));
    }
    Ok(files)
}

/// Hands out one object for each record.
async fn journal(
    store: &dyn RunStore,
    row: &RunRow,
    mut each: impl FnMut(&Exported<'_>),
) -> Result<(), CliError> {
    let (mut next, mut prev) = (1, Digest::ZERO);
    loop {
        let page = store.records(&row.run, next, PAGE).await?;
        for record in &page {
            let line = object(record, prev);
            let events = line.events.as_array().map_or(1, |events| events.len().max(1));
            next = record.seq.saturating_add(events as u64);
            prev = record.hash;
            each(&line);
        }
        if page.len() < PAGE {
            return Ok(());
        }
    }
}

fn object(record: &Record, prev: Digest) -> Exported<'_> {
    // A body that is no JSON any more is still worth having.
    let events = serde_json::from_str(&record.body).unwrap_or_else(|_| Value::String(record.body.clone()));
    Exported {
        run: &record.run,
        seq: record.seq,
        at: record.at,
        format: record.format,
        prev,
        hash: record.hash,
        events,
    }
}

/// Writes a file that is not there yet.
fn write_new(folder: &Path, name: &str, text: &str) -> Result<PathBuf, CliError> {
    // A journal holds what nobody else may read: see `home::tighten`.
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(CliError::io("make", folder))?;
    let path = folder.join(name);
    let mut file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(CliError::refused(
                format!("{} is there already", path.display()),
                "nothing is overwritten: name another folder with --out DIR",
            ));
        }
        made => made.map_err(CliError::io("write", &path))?,
    };
    file.write_all(text.as_bytes()).map_err(CliError::io("write", &path))?;
    Ok(path)
}
