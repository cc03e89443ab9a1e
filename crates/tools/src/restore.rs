//! Undo of one write: the file is put back as it was before the call, and folders
//! that were made for it go with it.
//!
//! Declarative and idempotent: what is done depends only on how the file looks
//! now, so an undo that was interrupted is simply made again. A file somebody
//! else changed since is never touched, and a folder that is not empty stays.

mod examine;

use bowline_core::event::RestoreOutcome;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::tool::{Departure, FileImage};

use crate::background;
use crate::workspace::{Current, MissingParents, PathError, Place, TempName, Workspace};

pub use examine::{Looked, Now, Standing, examine};

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
    let Found::File(now) = found(&place)? else { return Ok(RestoreOutcome::ChangedSince) };
    match &image.departure {
        None => unwrite(&place, image, now, before),
        Some(Departure::Deleted { mode }) => undelete(&place, image, now, before, *mode),
        Some(Departure::Moved { to }) => move_back(workspace, image, (&place, now), to),
    }
}

fn unwrite(
    place: &Place,
    image: &FileImage,
    now: Option<Digest>,
    before: Option<&[u8]>,
) -> Result<RestoreOutcome, PathError> {
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

fn undelete(
    place: &Place,
    image: &FileImage,
    now: Option<Digest>,
    before: Option<&[u8]>,
    mode: u32,
) -> Result<RestoreOutcome, PathError> {
    match (now, before) {
        (None, Some(bytes)) => {
            place.make_again(bytes, mode, &TempName::for_undo(image))?;
            Ok(RestoreOutcome::Restored)
        }
        (now, before) if now == before.map(Digest::of) => Ok(RestoreOutcome::AlreadyAsBefore),
        (_, _) => Ok(RestoreOutcome::ChangedSince),
    }
}

fn move_back(
    workspace: &Workspace,
    image: &FileImage,
    (source, now): (&Place, Option<Digest>),
    to: &str,
) -> Result<RestoreOutcome, PathError> {
    let target = workspace.place(&workspace.resolve(to)?, MissingParents::Leave)?;
    let there = match &target {
        Some(target) => match found(target)? {
            Found::File(there) => there,
            Found::SomethingElse => return Ok(RestoreOutcome::ChangedSince),
        },
        None => None,
    };
    match (now, target) {
        (None, Some(target)) if there == Some(image.after) => {
            target.move_to(source)?;
            Ok(RestoreOutcome::Restored)
        }
        (Some(now), _) if now == image.after && there.is_none() => Ok(RestoreOutcome::AlreadyAsBefore),
        (_, _) => Ok(RestoreOutcome::ChangedSince),
    }
}

/// What is at a place.
enum Found {
    /// A file with this content, or nothing.
    File(Option<Digest>),
    /// What none of our calls would have left there.
    SomethingElse,
}

fn found(place: &Place) -> Result<Found, PathError> {
    match place.current() {
        Ok(current) => Ok(Found::File(current.as_ref().map(Current::digest))),
        Err(PathError::NotAFile { .. } | PathError::Link { .. } | PathError::TooLarge { .. }) => {
            Ok(Found::SomethingElse)
        }
        Err(error) => Err(error),
    }
}

/// Removes the folders that were made for the file, from the nearest up, as long
/// as they are empty.
fn remove_new_folders(workspace: &Workspace, image: &FileImage) -> Result<(), PathError> {
    let Some(topmost) = &image.new_folder else { return Ok(()) };
    // A file that was there before has its folder to stay in.
    if image.departure.is_none() && image.before.is_some() {
        return Ok(());
    }
    let path = workspace.resolve(image.result().0)?;
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
