//! Results: the provenance record, and the files people look at.
//!
//! The journal is the truth; the exported files can be made again from it.

use std::path::Path;

use bowline_core::id::{Millis, RunId};
use bowline_core::message::Payload;
use bowline_core::provenance::canonical_value;
use bowline_core::run::Run;
use bowline_core::view::Provenance;
use bowline_store::{RunStore, StoreError};

const PAGE: usize = 512;

/// Folds a run's journal into its provenance record, as canonical JSON.
pub async fn provenance(
    store: &dyn RunStore,
    id: &RunId,
    output: &[Payload],
    now: Millis,
) -> Result<String, StoreError> {
    let mut provenance = Provenance::new(id);
    let mut run: Option<Run> = None;
    let mut next = 1;
    loop {
        let page = store.records(id, next, PAGE).await?;
        let full = page.len() == PAGE;
        for record in page {
            for event in record.events()? {
                provenance.note(&event, record.at);
                match &mut run {
                    Some(run) => run.apply(&event, record.at),
                    None => run = Run::begin(id, &event, record.at),
                }
                next += 1;
            }
            provenance.head = record.hash;
        }
        if !full {
            break;
        }
    }
    provenance.spend = run.map(|run| run.spend).unwrap_or_default();
    provenance.made_at = now;
    provenance.output = output.iter().map(Payload::digest).collect();
    Ok(canonical_value(&serde_json::to_value(&provenance).unwrap_or_default()))
}

/// Writes the output and its provenance below `folder`, each file whole or not
/// at all.
pub(crate) async fn export(folder: &Path, run: &RunId, output: &str, record: &str) -> Result<(), StoreError> {
    let folder = folder.join(run.as_str());
    let failed = |error: std::io::Error| StoreError::Database {
        action: "write the result",
        message: error.to_string(),
    };
    tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
    for (name, text) in [("output.txt", output), ("provenance.json", record)] {
        let temporary = folder.join(format!(".{name}.new"));
        tokio::fs::write(&temporary, text).await.map_err(failed)?;
        tokio::fs::rename(&temporary, folder.join(name)).await.map_err(failed)?;
    }
    Ok(())
}
