//! What the cases are made of: small requests, events and fences.

use bowline_core::budget::{Limits, Price};
use bowline_core::event::Event;
use bowline_core::id::{Millis, RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::provenance::Digest;
use bowline_core::task::{OnFailure, Review, Submission, Task, Workspace, WorkspaceMode};

use super::{Broken, Store};
use crate::{Append, EndingKind, Fence, Letter, Removal, Summary};

/// When the cases take place.
pub(super) const NOW: Millis = Millis(1_700_000_000_000);

/// A lease that outlasts every case that does not play with time.
pub(super) const LEASE_MS: u64 = 60_000;

pub(super) fn run_id(name: &str) -> Result<RunId, Broken> {
    Ok(RunId::parse(name)?)
}

pub(super) fn worker(name: &str) -> Result<WorkerId, Broken> {
    Ok(WorkerId::parse(name)?)
}

/// A request; its fingerprint follows from the goal.
pub(super) fn submission(goal: &str, key: Option<&str>) -> Submission {
    let task = Task {
        goal: goal.to_owned(),
        model: "scripted:none".to_owned(),
        instructions: None,
        evidence: Vec::new(),
        plan: None,
        planning: Default::default(),
        checks: Vec::new(),
        repair: Default::default(),
        review: Review::Never,
        critic: None,
        routes: Default::default(),
        standards: Default::default(),
        on_failure: OnFailure::Keep,
        on_alert: None,
        memory: None,
        limits: Limits::default(),
        guard: Default::default(),
        control: Default::default(),
        class: None,
        tools: Vec::new(),
        workspace: Workspace { path: "workspace".to_owned(), mode: WorkspaceMode::InPlace },
        sandbox: Default::default(),
        network: Default::default(),
        privacy: Default::default(),
        models: Default::default(),
        agent: None,
    };
    Submission {
        fingerprint: Digest::of(goal.as_bytes()),
        learned: None,
        calibration: None,
        novel: false,
        rates: Default::default(),
        critic_price: None,
        prices: Default::default(),
        contexts: Default::default(),
        parent: None,
        task,
        tools: Vec::new(),
        key: key.map(str::to_owned),
        seed: "0000000000000000".to_owned(),
        price: Price::default(),
    }
}

/// An event that says who is speaking and nothing else.
pub(super) fn event(by: &str) -> Event {
    Event::Paused { by: by.to_owned() }
}

/// A batch of these events and nothing else.
pub(super) fn batch(events: &[&str]) -> Append {
    Append {
        at: NOW,
        events: events.iter().map(|by| event(by)).collect(),
        blobs: Vec::new(),
        checkpoint: None,
        summary: Summary { goal: "a goal".to_owned(), phase: "acting".to_owned(), ..Summary::default() },
        consumed: Vec::new(),
    }
}

/// A batch that ends the run.
pub(super) fn last_batch() -> Append {
    let mut last = batch(&["the end"]);
    last.summary.ending = Some(EndingKind::Committed);
    last
}

/// A batch after which the run waits for a person.
pub(super) fn waiting_batch() -> Append {
    let mut waiting = batch(&["a question"]);
    waiting.summary.waiting = Some("an answer".to_owned());
    waiting
}

pub(super) fn letter(key: &str) -> Letter {
    Letter { by: "somebody".to_owned(), signal: Signal::Cancel, key: key.to_owned(), at: NOW }
}

/// On whose word runs of the cases are removed.
pub(super) fn removal() -> Removal {
    Removal { by: "whoever tidies up".to_owned(), at: Millis(NOW.0 + 7) }
}

/// A new run without a key.
pub(super) async fn submitted(store: &Store, name: &str) -> Result<RunId, Broken> {
    let run = run_id(name)?;
    store.submit(&run, submission(name, None), NOW).await?;
    Ok(run)
}

/// A new run that belongs to worker `w`.
pub(super) async fn owned(store: &Store, name: &str) -> Result<Fence, Broken> {
    let run = submitted(store, name).await?;
    Ok(store.claim(&run, &worker("w")?, LEASE_MS, NOW).await?.fence)
}
