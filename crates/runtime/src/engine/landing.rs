//! What a run changed, shown and applied for a person.
//!
//! A run that worked apart is held against the base of its copy, or, once its changes are
//! in the journal, shown from there. A run that worked in place is shown from its images.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bowline_core::event::{Ending, LandOutcome, MovedOn, Seen};
use bowline_core::id::RunId;
use bowline_core::input::Signal;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_core::task::WorkspaceMode;
use bowline_core::tool::Departure;
use bowline_tools::isolation::{self, Difference, Step, Thing};

use super::{Engine, Stopped};
use crate::error::EngineError;
use crate::landing;
use crate::texts::Texts;

/// A path that a run changed.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Below the workspace.
    pub path: String,
    /// What was there.
    pub before: Side,
    /// What the run made of it.
    pub after: Side,
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// Nothing is there.
    Nothing,
    /// This.
    Known(Thing),
    /// Something whose bytes nobody has any more, or that is too large to look at.
    Lost(Seen),
}

/// What applying the changes of a run would do.
#[derive(Clone, Debug)]
pub struct ApplyPlan {
    /// The files.
    pub files: Vec<Changed>,
    /// Those that are neither as the run found them nor as it wants them.
    pub moved: Vec<MovedOn>,
    /// It was begun and is not over: it goes on.
    pub is_begun: bool,
}

impl Engine {
    /// What a run changed in its files, against how it found them.
    pub async fn changes(&self, id: &RunId) -> Result<Vec<Changed>, EngineError> {
        let run = self.inspect(id).await?.run;
        self.changes_of(&run).await
    }

    async fn changes_of(&self, run: &Run) -> Result<Vec<Changed>, EngineError> {
        let texts = Texts::new(self.store().clone());
        if let Some(changes) = &run.landing.changes {
            let steps = landing::steps(&texts, changes).await?.map_err(|what| unseen(&run.id, what))?;
            return Ok(steps.into_iter().map(Changed::from).collect());
        }
        let workspace = self.inner.workspace(run).await?;
        match run.task.workspace.mode {
            WorkspaceMode::InPlace => self.changes_in_place(run, workspace.root(), &texts).await,
            WorkspaceMode::Copy | WorkspaceMode::Isolated => {
                let base = self.inner.base(&run.id).unwrap_or_default();
                let folder = Path::new(&run.task.workspace.path);
                let found = isolation::differences(&workspace, &base, folder).await;
                let found = found.map_err(|what| unseen(&run.id, what))?;
                let mut changed = Vec::with_capacity(found.len());
                for difference in found {
                    changed.push(self.changed(difference).await);
                }
                Ok(changed)
            }
        }
    }

    /// Bytes that the folder has no more may still be in the store.
    async fn changed(&self, found: Difference) -> Changed {
        let before = match (found.before, &found.was) {
            (Some(thing), _) => Side::Known(thing),
            (None, Seen::Nothing) => Side::Nothing,
            (None, Seen::Link { to }) => Side::Known(Thing::Link { to: to.clone() }),
            (None, Seen::File { sha256, executable }) => self.stored(*sha256, *executable).await,
            (None, Seen::SomethingElse) => Side::Lost(Seen::SomethingElse),
        };
        let after = match found.after {
            Some(thing) => Side::Known(thing),
            None if found.is_large => Side::Lost(Seen::SomethingElse),
            None => Side::Nothing,
        };
        Changed { path: found.path, before, after }
    }

    async fn stored(&self, sha256: Digest, executable: bool) -> Side {
        match self.store().blob(sha256).await {
            Ok(bytes) => Side::Known(Thing::File { bytes, executable }),
            Err(_) => Side::Lost(Seen::File { sha256, executable }),
        }
    }

    /// The files that file tools wrote: the first image of each says how it was, the last how it is.
    async fn changes_in_place(
        &self,
        run: &Run,
        root: &Path,
        texts: &Texts,
    ) -> Result<Vec<Changed>, EngineError> {
        let mut files: BTreeMap<&str, (Option<&Payload>, Option<Digest>)> = BTreeMap::new();
        for (action, image) in run.images.iter() {
            if run.deeds.undone.contains(action) {
                continue;
            }
            let before = image.before.as_ref();
            match &image.departure {
                None => files.entry(&image.path).or_insert((before, None)).1 = Some(image.after),
                Some(Departure::Deleted { .. }) => {
                    files.entry(&image.path).or_insert((before, None)).1 = None
                }
                Some(Departure::Moved { to }) => {
                    files.entry(&image.path).or_insert((before, None)).1 = None;
                    files.entry(to).or_insert((None, None)).1 = Some(image.after);
                }
            }
        }
        let mut changed = Vec::new();
        for (path, (before, after)) in files {
            let plain = |bytes: Vec<u8>| Side::Known(Thing::File { bytes, executable: false });
            let before = match before {
                Some(payload) => plain(texts.bytes(payload).await?.to_vec()),
                None => Side::Nothing,
            };
            let after = match after {
                None => Side::Nothing,
                Some(sha256) => match std::fs::read(root.join(path)) {
                    Ok(bytes) if Digest::of(&bytes) == sha256 => plain(bytes),
                    Ok(_) | Err(_) => self.stored(sha256, false).await,
                },
            };
            if before != after {
                changed.push(Changed { path: path.to_owned(), before, after });
            }
        }
        Ok(changed)
    }

    /// What applying the changes of a committed run would do. Changes nothing.
    pub async fn plan_apply(&self, id: &RunId) -> Result<ApplyPlan, EngineError> {
        let run = self.inspect(id).await?.run;
        refuse_apply(&run)?;
        let folder = Path::new(&run.task.workspace.path);
        let texts = Texts::new(self.store().clone());
        let moved = match &run.landing.changes {
            Some(changes) => {
                let steps = landing::steps(&texts, changes).await?.map_err(|what| unseen(id, what))?;
                isolation::moved_on(folder, steps, false).await.map_err(|what| unseen(id, what))?
            }
            None => {
                let workspace = self.inner.workspace(&run).await?;
                let base = self.inner.base(id).unwrap_or_default();
                match isolation::find(&workspace, &base, folder).await {
                    Ok(_) => Vec::new(),
                    Err(LandOutcome::MovedOn(moved)) => moved,
                    Err(LandOutcome::Not(why) | LandOutcome::Torn(why)) => return Err(unseen(id, why)),
                    Err(LandOutcome::Landed) => Vec::new(),
                }
            }
        };
        Ok(ApplyPlan { files: self.changes_of(&run).await?, moved, is_begun: run.landing.wanted })
    }

    /// Applies the changes of a committed run to the folder it is about: all of them or
    /// none. The ending stays what it is. One that was interrupted is gone on with; then
    /// the outcome is `None` if it was interrupted again.
    pub async fn apply(&self, id: &RunId, by: &str) -> Result<Option<LandOutcome>, EngineError> {
        let run = self.inspect(id).await?.run;
        refuse_apply(&run)?;
        if !run.landing.wanted {
            self.signal(id, by, Signal::Land).await?;
        }
        let stopped = self.claim_and_work(id).await?;
        let run = self.inspect(id).await?.run;
        Ok(run.landing.outcome.filter(|_| matches!(stopped, Stopped::Ended(_))))
    }

    /// What is in the folder that stands against taking the changes of a run back.
    pub(super) async fn landing_moved(&self, run: &Run) -> Result<Vec<MovedOn>, EngineError> {
        let Some(changes) = &run.landing.changes else { return Ok(Vec::new()) };
        let texts = Texts::new(self.store().clone());
        let steps = landing::steps(&texts, changes).await?.map_err(|what| unseen(&run.id, what))?;
        let folder = Path::new(&run.task.workspace.path);
        isolation::moved_on(folder, steps, true).await.map_err(|what| unseen(&run.id, what))
    }
}

impl super::Inner {
    /// Where the base of a run's copy is.
    pub(super) fn base(&self, id: &RunId) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join("bases").join(format!("{id}.json")))
    }
}

impl From<Step> for Changed {
    fn from(step: Step) -> Self {
        let side = |thing: Option<Thing>| thing.map_or(Side::Nothing, Side::Known);
        Self { path: step.path, before: side(step.before), after: side(step.after) }
    }
}

fn refuse_apply(run: &Run) -> Result<(), EngineError> {
    let refused = |what: &str, remedy: &str| {
        Err(EngineError::Task { what: format!("run {} {what}", run.id), remedy: remedy.into() })
    };
    match run.ending() {
        Some(Ending::Committed { .. }) => {}
        Some(Ending::Failed { .. } | Ending::Halted { .. }) | None => {
            return refused("is not committed", "see what it changed with `diff`; only a commit is applied");
        }
    }
    if run.task.workspace.mode == WorkspaceMode::InPlace {
        return refused("worked in place", "its changes are there; `diff` shows them");
    }
    if run.is_being_undone() {
        return refused("is being undone", "let the undo end first: `undo` goes on with it");
    }
    if run.has_landed() {
        return refused("is applied already", "`diff` shows what that changed, `undo` takes it back");
    }
    Ok(())
}

fn unseen(id: &RunId, what: String) -> EngineError {
    EngineError::Task {
        what: format!("what run {id} changed cannot be told: {what}"),
        remedy: "mend that first; nothing was touched".into(),
    }
}
