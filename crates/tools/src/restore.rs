//! Undo of one write: the file is put back as it was before the call, and folders
//! that were made for it go with it.
//!
//! Declarative and idempotent: what is done depends only on how the file looks
//! now, so an undo that was interrupted is simply made again. A file somebody
//! else changed since is never touched, and a folder that is not empty stays.

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
    let work = move |_: &background::StopFlag| {
        let outcome = put_back(&workspace, &image, before.as_deref())?;
        match outcome {
            RestoreOutcome::Restored | RestoreOutcome::AlreadyAsBefore => {
                remove_new_folders(&workspace, &image)?;
            }
            RestoreOutcome::ChangedSince | RestoreOutcome::Failed(_) => {}
        }
        Ok(outcome)
    };
    match background::run(limit, work).await {
        Ok(outcome) => outcome.unwrap_or_else(|error: PathError| RestoreOutcome::Failed(error.to_string())),
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

/// Removes the folders that were made for the file, from the nearest up, as long
/// as they are empty.
fn remove_new_folders(workspace: &Workspace, image: &FileImage) -> Result<(), PathError> {
    let (Some(topmost), None) = (&image.new_folder, &image.before) else { return Ok(()) };
    let path = workspace.resolve(&image.path)?;
    if !path.folders().any(|folder| folder.as_str() == topmost) {
        return Err(PathError::Outside { path: topmost.clone() });
    }
    for folder in path.folders() {
        // Where even its own folder is missing, it is gone as well.
        let place = workspace.place(&folder, MissingParents::Leave)?;
        if !place.map_or(Ok(true), |place| place.remove_empty_folder())? || folder.as_str() == topmost {
            break;
        }
    }
    Ok(())
}
