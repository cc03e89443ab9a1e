//! Undo of one write: the file is put back as it was before the call.
//!
//! Declarative and idempotent: what is done depends only on how the file looks
//! now, so an undo that was interrupted is simply made again. A file somebody
//! else changed since is never touched.

use bowline_core::event::RestoreOutcome;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::tool::FileImage;

use crate::background;
use crate::workspace::{Current, MissingParents, PathError, TempName, Workspace};

/// Puts a file back. `before` is its content before the call, `None` if there was no file.
pub async fn restore(workspace: &Workspace, image: &FileImage, before: Option<&[u8]>) -> RestoreOutcome {
    let recorded = image.before.as_ref().map(Payload::digest);
    if before.map(Digest::of) != recorded {
        return RestoreOutcome::Failed("the bytes to restore are not those that were recorded".to_owned());
    }
    let (workspace, image) = (workspace.clone(), image.clone());
    let before = before.map(<[u8]>::to_vec);
    let limit = background::FILE_WORK_MAX;
    let work = move |_: &background::StopFlag| put_back(&workspace, &image, before.as_deref());
    match background::run(limit, work).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => RestoreOutcome::Failed(error.to_string()),
        Err(not_done) => RestoreOutcome::Failed(not_done.message(limit)),
    }
}

fn put_back(
    workspace: &Workspace,
    image: &FileImage,
    before: Option<&[u8]>,
) -> Result<RestoreOutcome, PathError> {
    let path = workspace.resolve(&image.path)?;
    let Some(place) = workspace.place(&path, MissingParents::Leave)? else {
        // Not even the directory is there: as before, if there was no file.
        return Ok(if before.is_none() {
            RestoreOutcome::AlreadyAsBefore
        } else {
            RestoreOutcome::ChangedSince
        });
    };
    let now = match place.current() {
        Ok(current) => current.as_ref().map(Current::digest),
        Err(PathError::NotAFile { .. } | PathError::Link { .. } | PathError::TooLarge { .. }) => {
            return Ok(RestoreOutcome::ChangedSince);
        }
        Err(error) => return Err(error),
    };
    if now == before.map(Digest::of) {
        return Ok(RestoreOutcome::AlreadyAsBefore);
    }
    if now != Some(image.after) {
        return Ok(RestoreOutcome::ChangedSince);
    }
    match before {
        Some(bytes) => place.replace(bytes, &TempName::for_undo(image))?,
        None => place.remove()?,
    }
    Ok(RestoreOutcome::Restored)
}
