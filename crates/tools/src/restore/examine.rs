//! What an undo would find: every file it would put back, looked at and left alone.
//!
//! A file that was written several times is put back step by step, so each step is
//! judged by how the file will look once the later ones are undone.

use std::collections::BTreeMap;

use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::tool::{Departure, FileImage};

use super::{Found, found};
use crate::background;
use crate::workspace::{MissingParents, PathError, Workspace};

/// How a file stands to what a call left there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// As the call left it: it is put back.
    AsLeft,
    /// As it was before the call: nothing to do.
    AsBefore,
    /// Neither: somebody changed it since.
    Changed,
}

/// What is at a place now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Nothing,
    /// A file with this content.
    File(Digest),
    /// A folder, a link, something too large to be ours.
    SomethingElse,
}

/// A file as an undo would find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked {
    /// How it stands.
    pub standing: Standing,
    /// What is there, once later calls are undone.
    pub now: Now,
}

/// Looks at the files of these images, which are in the order they would be put back.
pub async fn examine(workspace: &Workspace, images: Vec<FileImage>) -> Result<Vec<Looked>, String> {
    let workspace = workspace.clone();
    let limit = background::FILE_WORK_MAX;
    let work = move |_: &background::StopFlag| {
        let mut view = View { workspace: &workspace, changed: BTreeMap::new() };
        images.iter().map(|image| view.look(image)).collect::<Result<Vec<_>, PathError>>()
    };
    match background::run(limit, work).await {
        Ok(looked) => looked.map_err(|error| error.to_string()),
        Err(not_done) => Err(not_done.message(limit)),
    }
}

/// The workspace, as it will be once what was looked at before is put back.
struct View<'a> {
    workspace: &'a Workspace,
    changed: BTreeMap<String, Now>,
}

impl View<'_> {
    fn look(&mut self, image: &FileImage) -> Result<Looked, PathError> {
        let now = self.at(&image.path)?;
        let before = image.before.as_ref().map(Payload::digest).map_or(Now::Nothing, Now::File);
        let after = Now::File(image.after);
        let standing = match &image.departure {
            None if now == before => Standing::AsBefore,
            None if now == after => self.put(&[(&image.path, before)]),
            Some(Departure::Deleted { .. }) if now == before => Standing::AsBefore,
            Some(Departure::Deleted { .. }) if now == Now::Nothing => self.put(&[(&image.path, before)]),
            Some(Departure::Moved { to }) => {
                let there = self.at(to)?;
                if now == after && there == Now::Nothing {
                    Standing::AsBefore
                } else if now == Now::Nothing && there == after {
                    self.put(&[(&image.path, after), (to, Now::Nothing)])
                } else {
                    Standing::Changed
                }
            }
            None | Some(Departure::Deleted { .. }) => Standing::Changed,
        };
        Ok(Looked { standing, now })
    }

    fn put(&mut self, places: &[(&String, Now)]) -> Standing {
        self.changed.extend(places.iter().map(|(path, now)| ((*path).clone(), *now)));
        Standing::AsLeft
    }

    fn at(&self, path: &str) -> Result<Now, PathError> {
        if let Some(known) = self.changed.get(path) {
            return Ok(*known);
        }
        let resolved = self.workspace.resolve(path)?;
        let Some(place) = self.workspace.place(&resolved, MissingParents::Leave)? else {
            return Ok(Now::Nothing);
        };
        Ok(match found(&place)? {
            Found::File(Some(sha256)) => Now::File(sha256),
            Found::File(None) => Now::Nothing,
            Found::SomethingElse => Now::SomethingElse,
        })
    }
}
