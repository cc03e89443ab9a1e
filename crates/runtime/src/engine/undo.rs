//! Undoing, for a person, what a run did that has ended.
//!
//! First everything is looked at, and nothing is touched where the world has moved on;
//! then the run's journal says what is undone, call by call, like any other work.

use async_trait::async_trait;
use bowline_core::budget::Price;
use bowline_core::event::{Ending, Event, MovedOn, StepTrouble};
use bowline_core::id::{ActionId, RunId, ToolName};
use bowline_core::input::Signal;
use bowline_core::run::{Deed, LANDING, Reversal, Run};
use bowline_core::tool::{FileImage, Need};
use bowline_core::undo::Undo;
use bowline_core::view;
use bowline_models::{Answer, Model, ModelError, Request, Watcher};
use bowline_tools::restore::{self, Looked, Standing};

use super::{Engine, Stopped};
use crate::error::EngineError;
use crate::fold::history;

/// Files named in an error.
const NAMED_MAX: usize = 10;

/// What an undo would do.
#[derive(Clone, Debug)]
pub struct UndoPlan {
    /// The calls, in the order they would be undone.
    pub steps: Vec<UndoStep>,
    /// Calls that nothing undoes.
    pub remains: Vec<(ActionId, ToolName)>,
    /// An undo was begun and is not over: it goes on.
    pub is_begun: bool,
}

/// A call that would be undone.
#[derive(Clone, Debug)]
pub struct UndoStep {
    /// Which.
    pub action: ActionId,
    /// Its tool.
    pub tool: ToolName,
    /// How.
    pub way: UndoWay,
}

/// How a call would be undone.
#[derive(Clone, Debug)]
pub enum UndoWay {
    /// Its file is put back.
    File {
        /// The file before and after the call.
        image: FileImage,
        /// How it stands now.
        looked: Looked,
    },
    /// The changes that were applied are taken back, all of them or none.
    Landing {
        /// How many files.
        files: u32,
        /// Those that somebody changed since.
        moved: Vec<MovedOn>,
    },
    /// What its tool declared is done.
    Call {
        /// What.
        undo: Undo,
        /// Whether the call is known to have happened.
        is_known: bool,
    },
}

impl UndoPlan {
    /// Files that somebody changed since.
    pub fn changed(&self) -> impl Iterator<Item = &UndoStep> {
        self.steps.iter().filter(|step| match &step.way {
            UndoWay::File { looked, .. } => looked.standing == Standing::Changed,
            UndoWay::Landing { moved, .. } => !moved.is_empty(),
            UndoWay::Call { .. } => false,
        })
    }
}

/// What came of an undo.
#[derive(Clone, Debug)]
pub struct Undone {
    /// Every call that was to be undone, the first first, and what became of it.
    pub calls: Vec<(ActionId, view::Undone)>,
    /// It is over; otherwise it was interrupted, and asking for it again goes on with it.
    pub is_finished: bool,
    /// Something could not be undone that should have been.
    pub is_alerted: bool,
}

impl Engine {
    /// What undoing a run that has ended would do: everything it did, or what it did in
    /// calls that began after event `to`. Changes nothing.
    pub async fn plan_undo(&self, id: &RunId, to: u64) -> Result<UndoPlan, EngineError> {
        let run = self.inspect(id).await?.run;
        self.undo_of(&run, to).await
    }

    /// Undoes what a run that has ended did in calls that began after event `to`, the last
    /// that came to an end first. The ending stays what it is: the undo is written behind
    /// it. Refuses where somebody changed a file since, unless `leave_changed`, and then
    /// leaves those files as they are. One that was interrupted is gone on with.
    pub async fn undo(
        &self,
        id: &RunId,
        by: &str,
        to: u64,
        leave_changed: bool,
    ) -> Result<Undone, EngineError> {
        let run = self.inspect(id).await?.run;
        let plan = self.undo_of(&run, to).await?;
        if !plan.is_begun {
            let changed = plan.changed().flat_map(|step| match &step.way {
                UndoWay::File { image, .. } => vec![image.path.clone()],
                UndoWay::Landing { moved, .. } => moved.iter().map(|file| file.path.clone()).collect(),
                UndoWay::Call { .. } => Vec::new(),
            });
            let files: Vec<String> = changed.take(NAMED_MAX).collect();
            if !files.is_empty() && !leave_changed {
                return Err(EngineError::ChangedSince { run: id.clone(), files });
            }
            if plan.steps.is_empty() {
                return Err(EngineError::Task {
                    what: format!("there is nothing to undo in run {id}"),
                    remedy: "what nothing undoes is named by `show`; make up for it by hand".into(),
                });
            }
            self.signal(id, by, Signal::Undo { to }).await?;
        }
        let stopped = self.claim_and_work(id).await?;
        self.undone(id, stopped).await
    }

    /// What became of the undo that was worked on, whole: also of what it did before it was
    /// interrupted, and of what nothing undoes.
    async fn undone(&self, id: &RunId, stopped: Stopped) -> Result<Undone, EngineError> {
        let events = history(self.store().as_ref(), id, 1, u64::MAX).await?;
        let events: Vec<Event> = events.into_iter().map(|(_, _, event)| event).collect();
        let begun = events.iter().rposition(|event| matches!(event, Event::UndoStarted { .. })).unwrap_or(0);
        let mut found = view::undone(events.iter().skip(begun));
        let run = self.inspect(id).await?.run;
        let undo = run.deeds.undo.as_ref();
        let todo = undo.map(|undo| undo.undoing.todo.clone()).unwrap_or_default();
        let mut calls: Vec<_> =
            todo.iter().filter_map(|action| Some((*action, found.remove(action)?))).collect();
        calls.extend(found);
        let is_alerted = undo.is_some_and(|undo| !undo.undoing.failed.is_empty());
        let is_finished = matches!(stopped, Stopped::Ended(_)) && !run.is_being_undone();
        Ok(Undone { calls, is_finished, is_alerted })
    }

    async fn undo_of(&self, run: &Run, to: u64) -> Result<UndoPlan, EngineError> {
        match run.ending() {
            Some(Ending::Committed { .. } | Ending::Failed { .. } | Ending::Halted { .. }) => {}
            None => {
                return Err(EngineError::Task {
                    what: format!("run {} has not ended", run.id),
                    remedy: "cancel it first".into(),
                });
            }
        }
        let is_begun = run.is_being_undone();
        let (todo, remains) = match run.undoing().filter(|_| is_begun) {
            Some(undoing) => (undoing.todo.iter().skip(undoing.settled).copied().collect(), Vec::new()),
            None => run.deeds.since(to),
        };
        let deeds: Vec<&Deed> = todo.iter().filter_map(|action| deed(run, *action)).collect();
        let images: Vec<FileImage> = deeds.iter().filter_map(|deed| image(run, deed)).cloned().collect();
        let mut looked = if images.is_empty() {
            Vec::new()
        } else {
            let workspace = self.inner.workspace(run).await?;
            let unseen = |what| EngineError::Task {
                what: format!("the files of run {} cannot be looked at: {what}", run.id),
                remedy: "mend that first; nothing was touched".into(),
            };
            restore::examine(&workspace, images).await.map_err(unseen)?
        }
        .into_iter();
        let moved = if todo.contains(&LANDING) { self.landing_moved(run).await? } else { Vec::new() };
        let files = run.landing.changes.as_ref().map_or(0, |changes| changes.files);
        let steps = deeds.into_iter().filter_map(|deed| {
            let way = match &deed.reversal {
                Reversal::Image => UndoWay::File { image: image(run, deed)?.clone(), looked: looked.next()? },
                Reversal::Call { by, result, .. } => {
                    UndoWay::Call { undo: by.undo.clone(), is_known: result.is_some() }
                }
                Reversal::Landing => UndoWay::Landing { files, moved: moved.clone() },
                Reversal::Nothing => return None,
            };
            Some(UndoStep { action: deed.action, tool: deed.tool.clone(), way })
        });
        let steps = steps.collect();
        let named = |action: &ActionId| Some((*action, deed(run, *action)?.tool.clone()));
        Ok(UndoPlan { steps, remains: remains.iter().filter_map(named).collect(), is_begun })
    }
}

fn deed(run: &Run, action: ActionId) -> Option<&Deed> {
    run.deeds.find(action).or_else(|| run.deeds.open.get(&action))
}

fn image<'a>(run: &'a Run, deed: &Deed) -> Option<&'a FileImage> {
    let found = run.images.iter().find(|(action, _)| *action == deed.action).map(|(_, image)| image);
    found.filter(|_| deed.reversal == Reversal::Image)
}

/// Whether what is still to be undone was done by a tool of a server.
pub(super) fn needs_servers(run: &Run) -> bool {
    let todo = run.undoing().map(|undoing| undoing.todo.iter().skip(undoing.settled));
    let tools = todo.into_iter().flatten().filter_map(|action| deed(run, *action));
    let mut specs = tools.filter_map(|deed| run.tool(deed.tool.as_str()));
    specs.any(|spec| matches!(spec.needs, Some(Need::Mcp { .. })))
}

/// Nobody is asked while a run is undone.
pub(super) struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn call(&self, _: Request, _: &dyn Watcher) -> Result<Answer, ModelError> {
        let message = "no model is asked while a run is undone".into();
        Err(ModelError { kind: StepTrouble::Permanent, message, retry_after_ms: None })
    }

    fn price(&self) -> Option<Price> {
        Some(Price::FREE)
    }

    fn is_remote(&self) -> bool {
        false
    }
}
