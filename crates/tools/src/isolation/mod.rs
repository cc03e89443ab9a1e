//! File work apart: a copy with a base, what changed in it, and how that is brought to
//! the folder it is a copy of.
//!
//! Flow: [`prepare`] makes or opens the copy; [`differences`] and [`find`] hold it against its
//! base; [`land`] changes the folder, wholly or not at all, or takes the changes back.
//!
//! Never: anything decided here about whether changes are applied; a protected name among
//! them; a folder half changed at the end of an attempt that was let finish.

pub(crate) mod base;
mod changes;
mod land;

use std::path::{Path, PathBuf};

use bowline_core::event::{LandOutcome, MovedOn};

pub use crate::workspace::Thing;
pub(crate) use base::private_folder;
pub use base::{BadBase, Base, forget};
pub use changes::Difference;

use crate::Sandbox;
use crate::background::{self, FILE_WORK_MAX, StopFlag};
use crate::workspace::{CopyError, PathError, Workspace, copy_apart};
use land::Attempt;

/// Most files that are brought back.
pub const FILES_MAX: usize = 10_000;

/// Most bytes of them, before and after.
pub const BYTES_MAX: u64 = 128 * 1024 * 1024;

/// One path that is changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Below the workspace.
    pub path: String,
    /// What was there; `None`: nothing.
    pub before: Option<Thing>,
    /// What shall be there.
    pub after: Option<Thing>,
}

impl Step {
    /// The step that takes this one back.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { path: self.path, before: self.after, after: self.before }
    }
}

/// A copy that cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub enum NoCopy {
    /// It cannot be made.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// It is there, and cannot be relied upon.
    #[error(transparent)]
    Base(#[from] BadBase),
}

/// Makes the copy of a folder that a run works on apart, if it is not there. Git, which is
/// asked for the files, is not one that programs in the sandbox can have put there.
pub async fn prepare(folder: &Path, copy: &Path, base: &Path, sandbox: &Sandbox) -> Result<(), NoCopy> {
    copy_apart(folder, copy, base, sandbox).await?;
    let (copy, base) = (copy.to_owned(), base.to_owned());
    let work = move |_: &StopFlag| {
        Base::read(&base)?;
        base::sync_later(&base, &copy);
        Ok(())
    };
    let late = |_| Err(NoCopy::Base(BadBase::Unreadable(std::io::ErrorKind::TimedOut.into())));
    background::run(FILE_WORK_MAX, work).await.unwrap_or_else(late)
}

/// What differs between a copy and its base. The error says why that cannot be told.
pub async fn differences(copy: &Workspace, base: &Path, folder: &Path) -> Result<Vec<Difference>, String> {
    let (copy, base, folder) = (copy.clone(), base.to_owned(), folder.to_owned());
    let work = move |stop: &StopFlag| {
        let base = Base::read(&base).map_err(|bad| format!("{bad}; {}", bad.remedy()))?;
        let folder = opened(&folder)?;
        changes::differences(&copy, &base, &folder, stop).map_err(|error| error.to_string())
    };
    background::run(FILE_WORK_MAX, work).await.unwrap_or_else(|late| Err(late.message(FILE_WORK_MAX)))
}

/// What is to be brought from a copy to its folder, with every byte; or why nothing is.
pub async fn find(copy: &Workspace, base: &Path, folder: &Path) -> Result<Vec<Step>, LandOutcome> {
    let found = differences(copy, base, folder).await.map_err(LandOutcome::Not)?;
    changes::steps(found)
}

/// Changes the folder, or takes a change back: `steps` are as they were found, `note` is a
/// file of our own about what was begun.
pub async fn land(folder: &Path, steps: Vec<Step>, note: &Path, back: bool) -> LandOutcome {
    let (folder, note) = (folder.to_owned(), note.to_owned());
    let work = move |stop: &StopFlag| {
        let folder = match opened(&folder) {
            Ok(folder) => folder,
            Err(why) => return LandOutcome::Not(why),
        };
        let is_over = || stop.is_set();
        Attempt { folder: &folder, steps: &directed(steps, back), note: &note, back, is_over: &is_over }
            .make()
    };
    let late = |late: background::NotDone| LandOutcome::Torn(late.message(FILE_WORK_MAX));
    background::run(FILE_WORK_MAX, work).await.unwrap_or_else(late)
}

/// What in the folder is neither as before nor as wanted. Changes nothing.
pub async fn moved_on(folder: &Path, steps: Vec<Step>, back: bool) -> Result<Vec<MovedOn>, String> {
    let folder = folder.to_owned();
    let work = move |_: &StopFlag| {
        let folder = opened(&folder)?;
        let note = PathBuf::new();
        let steps = directed(steps, back);
        let attempt = Attempt { folder: &folder, steps: &steps, note: &note, back, is_over: &|| false };
        attempt.moved_on().map_err(|error: PathError| error.to_string())
    };
    background::run(FILE_WORK_MAX, work).await.unwrap_or_else(|late| Err(late.message(FILE_WORK_MAX)))
}

fn directed(steps: Vec<Step>, back: bool) -> Vec<Step> {
    if back { steps.into_iter().map(Step::reversed).collect() } else { steps }
}

/// The folder, where no link is followed.
fn opened(folder: &Path) -> Result<Workspace, String> {
    let opened = Workspace::open(folder).and_then(Workspace::without_links);
    opened.map_err(|bad| format!("{bad}; {}", bad.remedy()))
}

#[cfg(test)]
mod tests;
