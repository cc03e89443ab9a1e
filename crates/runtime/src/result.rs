//! Results: the provenance record, and the files people look at.
//!
//! The journal is the truth: the record of provenance is a fold of it, and only
//! its hash is kept. The exported files can be made again at any time.

use std::path::Path;

use bowline_core::event::{Ending, Event};
use bowline_core::id::{Millis, RunId};
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_core::view::{Provenance, statement};
use bowline_store::{RunStore, StoreError};
use tokio::io::AsyncWriteExt as _;

const PAGE: usize = 512;

/// A record of provenance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The record, as canonical JSON.
    pub json: String,
    /// The last event it tells of.
    pub seq: u64,
}

/// Folds a run's journal into its record of provenance: everything before the
/// commit, or everything so far.
pub async fn provenance(store: &dyn RunStore, id: &RunId) -> Result<Made, StoreError> {
    let mut facts = Provenance::new(id);
    let mut run: Option<Run> = None;
    let (mut head, mut at, mut next) = (Digest::ZERO, Millis(0), 1);
    'journal: loop {
        let page = store.records(id, next, PAGE).await?;
        let full = page.len() == PAGE;
        for record in page {
            for event in record.events()? {
                if let Event::Ended { ending: Ending::Committed { .. }, .. } = event {
                    break 'journal;
                }
                facts.note(&event, record.at);
                match &mut run {
                    Some(run) => run.apply(&event, record.at),
                    None => run = Run::begin(id, &event, record.at),
                }
                next += 1;
            }
            (head, at) = (record.hash, record.at);
        }
        if !full {
            break;
        }
    }
    let run = run.ok_or_else(|| StoreError::NoRun { run: id.clone() })?;
    Ok(Made { json: facts.finish(&run, head, at), seq: run.seq })
}

/// A file for this user alone.
async fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = tokio::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path).await?;
    file.write_all(text.as_bytes()).await?;
    file.flush().await
}

/// Writes the output, its provenance and the statement about both below `folder`, each file whole or not
/// at all.
pub(crate) async fn export(folder: &Path, run: &RunId, output: &str, record: &str) -> Result<(), StoreError> {
    let folder = folder.join(run.as_str());
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::StorageFull => StoreError::DiskFull,
        _ => StoreError::Database { action: "write the result", message: error.to_string() },
    };
    tokio::fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder).await.map_err(failed)?;
    let statement = statement(record, output).unwrap_or_default();
    let files = [("output.txt", output), ("provenance.json", record), ("statement.json", statement.as_str())];
    for (name, text) in files {
        let temporary = folder.join(format!(".{name}.new"));
        write_private(&temporary, text).await.map_err(failed)?;
        tokio::fs::rename(&temporary, folder.join(name)).await.map_err(failed)?;
    }
    Ok(())
}
