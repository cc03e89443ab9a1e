//! Which run a word on the command line means.

use bowline_core::id::RunId;
use bowline_store::{ListFilter, RunRow, RunStore};

use crate::error::CliError;

/// Most candidates that are named when a beginning fits several runs.
const NAMED: usize = 5;

/// The run: an id, a unique beginning of one, or `last`.
pub(crate) async fn run(store: &dyn RunStore, word: &str) -> Result<RunRow, CliError> {
    if word == "last" {
        let newest = store.list(ListFilter { max: 1, ..ListFilter::default() }).await?;
        return newest
            .into_iter()
            .next()
            .ok_or_else(|| CliError::refused("there are no runs yet", "start one with `bowline run TASK`"));
    }
    let id = RunId::parse(word)
        .map_err(|bad| CliError::refused(bad.to_string(), "`bowline runs` lists the runs"))?;
    let filter = ListFilter { prefix: id.to_string(), max: NAMED + 1, ..ListFilter::default() };
    let mut found = store.list(filter).await?;
    if let Some(exact) = found.iter().position(|row| row.run == id) {
        return Ok(found.swap_remove(exact));
    }
    match found.len() {
        0 => Err(CliError::refused(format!("there is no run {id}"), "`bowline runs` lists the runs")),
        1 => Ok(found.swap_remove(0)),
        _ => {
            let mut names: Vec<String> = found.iter().take(NAMED).map(|row| row.run.to_string()).collect();
            if found.len() > NAMED {
                names.push("…".into());
            }
            Err(CliError::refused(
                format!("several runs begin with {id}: {}", names.join(", ")),
                "write more of the id",
            ))
        }
    }
}
