//! Files a task names as evidence, read through the path guard.

use crate::Workspace;
use crate::background;
use crate::workspace::{FILE_BYTES_MAX, PathError};

/// The bytes of a file of the workspace, at most [`FILE_BYTES_MAX`]; the error says why not.
pub async fn read(workspace: &Workspace, path: &str) -> Result<Vec<u8>, String> {
    let (workspace, path) = (workspace.clone(), path.to_owned());
    let limit = background::FILE_WORK_MAX;
    background::run(limit, move |_| workspace.read(&workspace.resolve(&path)?, FILE_BYTES_MAX))
        .await
        .map_err(|not_done| not_done.message(limit))?
        .map_err(|error: PathError| error.to_string())
}
