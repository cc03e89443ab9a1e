//! Hands that bring changes home: what a run changed apart is found, kept with all its
//! bytes, and brought to the folder, or taken back from it.

use std::path::{Path, PathBuf};

use bowline_core::event::{Change, Changes, Entry, LandOutcome};
use bowline_core::input::What;
use bowline_core::message::{Blob, Payload};
use bowline_store::StoreError;
use bowline_tools::isolation::{self, Step, Thing};

use crate::hands::{Arrival, Hands};
use crate::texts::Texts;

impl Hands {
    /// Looks for what the run changed in its copy.
    pub(crate) async fn find_changes(&self) -> Result<Arrival, StoreError> {
        let folder = Path::new(&self.task.workspace.path);
        let found = match &self.base {
            Some(base) => isolation::find(&self.workspace, base, folder).await,
            None => Err(LandOutcome::Not("this engine has no home".into())),
        };
        let mut blobs = Vec::new();
        let found = found.map_err(|outcome| self.masked_landing(outcome));
        let what = What::ChangesFound(found.map(|steps| kept(steps, &mut blobs)));
        Ok(Arrival { what, blobs })
    }

    /// Brings the changes to the folder, or takes them back.
    pub(crate) async fn land(&self, changes: &Changes, back: bool) -> Result<Arrival, StoreError> {
        let folder = Path::new(&self.task.workspace.path);
        let outcome = match (steps(&self.texts, changes).await?, &self.base) {
            (Ok(steps), Some(base)) => isolation::land(folder, steps, &note(base), back).await,
            (Err(why), _) => LandOutcome::Not(why),
            (Ok(_), None) => LandOutcome::Not("this engine has no home".into()),
        };
        Ok(What::Landed { back, outcome: self.masked_landing(outcome) }.into())
    }

    fn masked_landing(&self, outcome: LandOutcome) -> LandOutcome {
        match outcome {
            LandOutcome::Landed | LandOutcome::MovedOn(_) => outcome,
            LandOutcome::Not(why) => LandOutcome::Not(self.masked(why)),
            LandOutcome::Torn(why) => LandOutcome::Torn(self.masked(why)),
        }
    }
}

/// The file about a landing that was begun.
fn note(base: &Path) -> PathBuf {
    base.with_extension("landing")
}

/// The changes as the journal has them.
fn kept(steps: Vec<Step>, blobs: &mut Vec<Blob>) -> Changes {
    let mut entry = |thing: Thing| match thing {
        Thing::File { bytes, executable } => {
            Entry::File { content: Payload::keep_bytes(bytes, blobs), executable }
        }
        Thing::Link { to } => Entry::Link { to },
    };
    let list: Vec<Change> = (steps.into_iter())
        .map(|step| {
            let (before, after) = (step.before.map(&mut entry), step.after.map(&mut entry));
            Change { path: step.path, before, after }
        })
        .collect();
    let files = u32::try_from(list.len()).unwrap_or(u32::MAX);
    let list = Payload::keep(serde_json::to_string(&list).unwrap_or_default(), blobs);
    Changes { list, files }
}

/// The changes with their bytes, from the store; or why they cannot be read.
pub(crate) async fn steps(texts: &Texts, changes: &Changes) -> Result<Result<Vec<Step>, String>, StoreError> {
    let list: Vec<Change> = match serde_json::from_str(&texts.text(&changes.list).await?) {
        Ok(list) => list,
        Err(error) => return Ok(Err(format!("the list of changes cannot be read: {error}"))),
    };
    let mut steps = Vec::with_capacity(list.len());
    for change in list {
        let before = thing(texts, change.before).await?;
        let after = thing(texts, change.after).await?;
        steps.push(Step { path: change.path, before, after });
    }
    Ok(Ok(steps))
}

async fn thing(texts: &Texts, entry: Option<Entry>) -> Result<Option<Thing>, StoreError> {
    Ok(match entry {
        None => None,
        Some(Entry::Link { to }) => Some(Thing::Link { to }),
        Some(Entry::File { content, executable }) => {
            Some(Thing::File { bytes: texts.bytes(&content).await?.to_vec(), executable })
        }
    })
}
