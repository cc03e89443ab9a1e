//! Files a task names as evidence, read through the path guard.

use crate::Workspace;
use crate::background;
use crate::workspace::FILE_BYTES_MAX;

/// The bytes of a file of the workspace, at most [`FILE_BYTES_MAX`]; the error says why not.
pub async fn read(workspace: &Workspace, path: &str) -> Result<Vec<u8>, String> {
    let path = workspace.resolve(path).map_err(|error| error.to_string())?;
    let workspace = workspace.clone();
    let limit = background::FILE_WORK_MAX;
    background::run(limit, move |_| workspace.read(&path, FILE_BYTES_MAX))
        .await
        .map_err(|not_done| not_done.message(limit))?
        .map_err(|error| error.to_string())
}
