//! Landing: changes are brought to a folder, all of them or none.
//!
//! Every file is looked at first. One that is neither as before nor as wanted and nothing
//! is changed. What shall stand there is written and synced beside its place, so that a
//! full disk is met before anything can be seen; then come renames. A note in the
//! engine's home says what was begun: an attempt that was killed is made again, and goes
//! on, or takes back what the note says was its own doing.
//!
//! Never: a file written in place, a link followed, a file touched that moved on.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use bowline_core::event::{LandOutcome, MovedOn, NAMED_MAX, Seen};
use serde::{Deserialize, Serialize};

use super::Step;
use super::base::write_whole;
use crate::workspace::{InsidePath, MissingParents, PathError, TempName, Thing, Workspace};

fn seen_of(thing: Option<&Thing>) -> Seen {
    thing.map_or(Seen::Nothing, Thing::seen)
}

/// What an attempt that got to the folder was about to change.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Note {
    /// Whether it was to take the changes back.
    back: bool,
    /// The paths that were as before.
    paths: BTreeSet<String>,
    /// Folders that were made for them.
    folders: BTreeSet<String>,
}

/// Where a path stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Before,
    After,
    Moved,
}

/// Why an attempt came to nothing.
enum Broken {
    /// Something moved on while we were at it.
    Moved,
    /// The operating system says no.
    Path(PathError),
    /// Our own note cannot be kept.
    Note(io::Error),
    /// Nobody waits any more, as if we had been killed.
    Off,
}

impl From<PathError> for Broken {
    fn from(error: PathError) -> Self {
        Self::Path(error)
    }
}

/// One attempt.
pub(crate) struct Attempt<'a> {
    pub(crate) folder: &'a Workspace,
    pub(crate) steps: &'a [Step],
    /// Where the note is kept.
    pub(crate) note: &'a Path,
    /// Whether the changes are taken back.
    pub(crate) back: bool,
    /// Asked before everything that can be seen: whether to break off, as if killed.
    pub(crate) is_over: &'a dyn Fn() -> bool,
}

impl Attempt<'_> {
    /// Makes it.
    pub(crate) fn make(&self) -> LandOutcome {
        let begun = self.begun();
        match self.try_it(&begun) {
            Ok(()) => LandOutcome::Landed,
            Err(Broken::Off) => LandOutcome::Torn("it was broken off".into()),
            Err(broken) => self.taken_back(&broken),
        }
    }

    fn try_it(&self, begun: &Note) -> Result<(), Broken> {
        self.refuse_knots()?;
        let standings = self.standings()?;
        if standings.contains(&Standing::Moved) {
            return Err(Broken::Moved);
        }
        let todo: Vec<&Step> = (self.steps.iter().zip(&standings))
            .filter(|(_, standing)| **standing == Standing::Before)
            .map(|(step, _)| step)
            .collect();
        if !todo.is_empty() {
            self.keep_note(begun, &todo)?;
            for step in &todo {
                self.pause()?;
                self.stage(step)?;
            }
            for step in &todo {
                self.pause()?;
                self.take(step)?;
            }
        }
        self.tidy_folders()?;
        self.sync_folders()?;
        self.forget_note()
    }

    fn pause(&self) -> Result<(), Broken> {
        if (self.is_over)() { Err(Broken::Off) } else { Ok(()) }
    }

    /// A file that becomes a folder cannot be prepared beside its place.
    fn refuse_knots(&self) -> Result<(), Broken> {
        let (made, gone): (Vec<&Step>, Vec<&Step>) = self.steps.iter().partition(|step| step.after.is_some());
        let paths = |steps: Vec<&'_ Step>| steps.into_iter().map(|step| step.path.clone()).collect();
        let (made, gone): (BTreeSet<String>, BTreeSet<String>) = (paths(made), paths(gone));
        for step in self.steps {
            let mut above = step.path.as_str();
            while let Some((folder, _)) = above.rsplit_once('/') {
                if made.contains(folder) || step.after.is_some() && gone.contains(folder) {
                    let why = "a file that becomes a folder, or a folder a file, is not applied in one step";
                    let source = io::Error::other(why);
                    return Err(Broken::Path(PathError::Io { path: folder.to_owned(), source }));
                }
                above = folder;
            }
        }
        Ok(())
    }

    fn standings(&self) -> Result<Vec<Standing>, PathError> {
        self.steps.iter().map(|step| self.standing(step)).collect()
    }

    fn standing(&self, step: &Step) -> Result<Standing, PathError> {
        let now = self.folder.seen(&self.path(step)?)?;
        Ok(if now == seen_of(step.after.as_ref()) {
            Standing::After
        } else if now == seen_of(step.before.as_ref()) {
            Standing::Before
        } else {
            Standing::Moved
        })
    }

    fn path(&self, step: &Step) -> Result<InsidePath, PathError> {
        self.folder.resolve(&step.path)
    }

    fn temp(&self, step: &Step) -> TempName {
        TempName::for_landing(&step.path)
    }

    fn stage(&self, step: &Step) -> Result<(), PathError> {
        let Some(thing) = &step.after else { return Ok(()) };
        if let Some(place) = self.folder.place(&self.path(step)?, MissingParents::Create)? {
            place.stage(thing, &self.temp(step))?;
        }
        Ok(())
    }

    fn take(&self, step: &Step) -> Result<(), Broken> {
        if self.standing(step)? != Standing::Before {
            return Err(Broken::Moved);
        }
        let Some(place) = self.folder.place(&self.path(step)?, MissingParents::Leave)? else {
            return Err(Broken::Moved);
        };
        match &step.after {
            Some(_) => place.take_staged(&self.temp(step))?,
            None => place.clear()?,
        }
        Ok(())
    }

    /// Takes back what this attempt, or the one before it that was killed, had done.
    fn taken_back(&self, broken: &Broken) -> LandOutcome {
        let note = self.begun();
        let undone = self.undo(&note);
        match (undone, broken) {
            (Err(why), _) => {
                LandOutcome::Torn(format!("what was begun cannot be taken back: {}", words(&why)))
            }
            (Ok(()), Broken::Moved) => match self.moved_on() {
                Ok(moved) if moved.is_empty() => LandOutcome::Not("files changed while it was at it".into()),
                Ok(moved) => LandOutcome::MovedOn(moved),
                Err(why) => LandOutcome::Not(why.to_string()),
            },
            (Ok(()), why) => LandOutcome::Not(words(why)),
        }
    }

    fn undo(&self, note: &Note) -> Result<(), Broken> {
        for step in self.steps.iter().rev().filter(|step| note.paths.contains(&step.path)) {
            self.pause()?;
            if self.standing(step)? != Standing::After {
                // What moved on may have no place any more.
                if let Ok(Some(place)) = self.folder.place(&self.path(step)?, MissingParents::Leave) {
                    place.discard(&self.temp(step))?;
                }
                continue;
            }
            let Some(place) = self.folder.place(&self.path(step)?, MissingParents::Create)? else { continue };
            match &step.before {
                Some(thing) => {
                    place.stage(thing, &self.temp(step))?;
                    place.take_staged(&self.temp(step))?;
                }
                None => {
                    place.discard(&self.temp(step))?;
                    place.clear()?;
                }
            }
        }
        for folder in note.folders.iter().rev() {
            self.remove_if_empty(&self.folder.resolve(folder)?)?;
        }
        self.sync_folders()?;
        self.forget_note()
    }

    /// What is neither as before nor as wanted.
    pub(crate) fn moved_on(&self) -> Result<Vec<MovedOn>, PathError> {
        let mut moved = Vec::new();
        for step in self.steps {
            if moved.len() < NAMED_MAX && self.standing(step)? == Standing::Moved {
                moved.push(MovedOn {
                    path: step.path.clone(),
                    was: seen_of(step.before.as_ref()),
                    wrote: seen_of(step.after.as_ref()),
                    now: self.folder.seen(&self.path(step)?)?,
                });
            }
        }
        Ok(moved)
    }

    /// Folders that the changes leave empty go with them.
    fn tidy_folders(&self) -> Result<(), Broken> {
        for step in self.steps.iter().filter(|step| step.after.is_none()) {
            for folder in self.path(step)?.folders() {
                if !self.remove_if_empty(&folder)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn remove_if_empty(&self, folder: &InsidePath) -> Result<bool, PathError> {
        let place = self.folder.place(folder, MissingParents::Leave)?;
        place.map_or(Ok(true), |place| place.remove_empty_folder())
    }

    fn sync_folders(&self) -> Result<(), PathError> {
        let mut folders = BTreeSet::new();
        for step in self.steps {
            let folder = self.path(step)?.folder();
            folders.extend(folder.map(|folder| folder.as_str().to_owned()));
        }
        for folder in folders {
            match self.folder.directory(&self.folder.resolve(&folder)?) {
                Ok(opened) => {
                    rustix::fs::fsync(&opened).map_err(|errno| PathError::from_errno(errno, &folder))?;
                }
                // It went with its last file, or is somebody else's now.
                Err(PathError::Missing { .. } | PathError::NotAFolder { .. } | PathError::Outside { .. }) => {
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The note of an attempt that was killed, if it had the same aim.
    fn begun(&self) -> Note {
        let bytes = fs::read(self.note).unwrap_or_default();
        let note: Note = serde_json::from_slice(&bytes).unwrap_or_default();
        if note.back == self.back { note } else { Note::default() }
    }

    fn keep_note(&self, begun: &Note, todo: &[&Step]) -> Result<(), Broken> {
        let mut paths = begun.paths.clone();
        paths.extend(todo.iter().map(|step| step.path.clone()));
        let mut folders = begun.folders.clone();
        for step in todo.iter().filter(|step| step.after.is_some()) {
            let path = self.path(step)?;
            if let Some(topmost) = self.folder.first_missing_folder(&path)? {
                let made = path.folders().map(|folder| folder.as_str().to_owned());
                folders.extend(made.filter(|folder| folder.len() >= topmost.len()));
            }
        }
        let note = Note { back: self.back, paths, folders };
        let kept = serde_json::to_vec(&note).map_err(io::Error::from);
        let made = self.note.parent().map_or(Ok(()), super::base::private_folder);
        made.and(kept).and_then(|bytes| write_whole(self.note, &bytes, true)).map_err(Broken::Note)
    }

    fn forget_note(&self) -> Result<(), Broken> {
        match fs::remove_file(self.note) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Broken::Note(error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

fn words(broken: &Broken) -> String {
    match broken {
        Broken::Moved => "files changed meanwhile".into(),
        Broken::Path(error) => error.to_string(),
        Broken::Note(error) => format!("the note about it cannot be kept: {error}"),
        Broken::Off => "it was broken off".into(),
    }
}
