//! The engine: takes tasks, runs them, and goes on with them after a crash.

mod answers;
mod backup;
pub(crate) mod equip;
mod landing;
mod learning;
mod promoting;
mod undo;

#[cfg(test)]
mod tests;

pub use landing::{ApplyPlan, Changed, Side};
pub use undo::{UndoPlan, UndoStep, UndoWay, Undone};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bowline_core::event::{Confinement, Ending, Raise};
use bowline_core::gate::Recorded;
use bowline_core::id::{RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::run::Wait;
use bowline_core::task::{Submission, Task};
use bowline_models::{Model, OpenModelError};
use bowline_remote::Remotes;
use bowline_store::{Claimed, EndingKind, Fence, Letter, RunStore, StoreError, Submitted};
use bowline_tools::{Cages, Launcher, Reach, Sandbox, Tool, runs_programs};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinSet;

use crate::cast::Terms;
use crate::clerk::Clerk;
use crate::clock::{Chance, Clock, SystemChance, SystemClock};
use crate::desk::{Desk, LEASE_MS};
use crate::error::EngineError;
use crate::fold::{self, Folded};
use crate::hub::{Hub, Observation};
use crate::promoting::Promote;

/// How often mailboxes are looked at.
const MAIL_EVERY: Duration = Duration::from_millis(100);
/// How often a worker with room looks for runs that came due meanwhile.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Why the engine stopped working on a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// It is over.
    Ended(Ending),
    /// Only a person can move it. It was released; resume it any time.
    Waiting(Vec<Wait>),
    /// The engine was asked to stop. Resume it any time.
    Asked,
}

/// A run that was worked on, and what came of it.
pub type Worked = (RunId, Result<Stopped, EngineError>);

/// What to do when only a person can move a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Release it and return.
    LeaveWhenWaiting,
    /// Keep it and wait for the answer.
    WaitForPeople,
}

/// Opens the model a task names.
pub trait ModelSource: Send + Sync {
    /// The model of this name (`kind:argument`), for this task.
    fn open(&self, task: &Task, model: &str) -> Result<Arc<dyn Model>, OpenModelError>;
}

/// Models by reference (`kind:argument`), relative to a folder, and those on servers.
struct ByReference {
    folder: PathBuf,
    remotes: Remotes,
}

impl ModelSource for ByReference {
    fn open(&self, task: &Task, model: &str) -> Result<Arc<dyn Model>, OpenModelError> {
        let remote = self.remotes.open(task, model);
        remote.unwrap_or_else(|| {
            bowline_models::open(model, &self.folder).map_err(|error| error.knowing(&bowline_remote::KINDS))
        })
    }
}

/// Makes an [`Engine`].
pub struct EngineBuilder {
    store: Arc<dyn RunStore>,
    home: Option<PathBuf>,
    worker: WorkerId,
    models: Arc<dyn ModelSource>,
    tools: Vec<Arc<dyn Tool>>,
    clock: Arc<dyn Clock>,
    chance: Arc<dyn Chance>,
    patience: Patience,
    cages: Cages,
    promote: Option<Arc<dyn Promote>>,
}

impl EngineBuilder {
    /// Where copies of workspaces and exported results go. Without it, tasks
    /// that want a copy are refused and results stay in the store only.
    #[must_use]
    pub fn home(mut self, home: &Path) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The name this engine claims runs under.
    #[must_use]
    pub fn worker(mut self, worker: WorkerId) -> Self {
        self.worker = worker;
        self
    }

    /// Models of your own.
    #[must_use]
    pub fn models(mut self, models: Arc<dyn ModelSource>) -> Self {
        self.models = models;
        self
    }

    /// A tool of your own, for tasks that name it.
    #[must_use]
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Another source of chance.
    #[must_use]
    pub fn chance(mut self, chance: Arc<dyn Chance>) -> Self {
        self.chance = chance;
        self
    }

    /// What to do when only a person can move a run.
    #[must_use]
    pub fn patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The program that is first in the cage of a command. Without one, tasks that
    /// run programs are refused unless they say `sandbox = "none"`.
    #[must_use]
    pub fn launcher(mut self, launcher: Launcher) -> Self {
        self.cages = Cages::with(launcher);
        self
    }

    /// Who takes what runs commit, where their task names no program of its own.
    #[must_use]
    pub fn promote(mut self, promote: Arc<dyn Promote>) -> Self {
        self.promote = Some(promote);
        self
    }

    /// The engine.
    #[must_use]
    pub fn build(self) -> Engine {
        let (stop, _) = watch::channel(false);
        // No program of any task may open the store, wherever it lies.
        let cages = self.home.iter().fold(self.cages, |cages, home| cages.keeping(home));
        Engine {
            inner: Arc::new(Inner {
                store: self.store,
                home: self.home,
                worker: self.worker,
                models: self.models,
                tools: self.tools,
                clock: self.clock,
                chance: self.chance,
                patience: self.patience,
                cages,
                promote: self.promote,
                hub: Arc::new(Hub::new()),
                stop,
                postman: Mutex::default(),
            }),
        }
    }
}

/// Runs tasks. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn RunStore>,
    home: Option<PathBuf>,
    worker: WorkerId,
    models: Arc<dyn ModelSource>,
    tools: Vec<Arc<dyn Tool>>,
    clock: Arc<dyn Clock>,
    chance: Arc<dyn Chance>,
    patience: Patience,
    cages: Cages,
    promote: Option<Arc<dyn Promote>>,
    hub: Arc<Hub>,
    stop: watch::Sender<bool>,
    postman: Mutex<Weak<Postman>>,
}

impl Engine {
    /// An engine on this store, with the machine's clock, scripted models and those on
    /// servers by reference, and the built-in tools.
    #[must_use]
    pub fn builder(store: Arc<dyn RunStore>) -> EngineBuilder {
        EngineBuilder {
            store,
            home: None,
            worker: WorkerId::from_chance(&draw::<12>(&SystemChance)),
            models: Arc::new(ByReference { folder: PathBuf::from("."), remotes: Remotes::default() }),
            tools: Vec::new(),
            clock: Arc::new(SystemClock::default()),
            chance: Arc::new(SystemChance),
            patience: Patience::LeaveWhenWaiting,
            cages: Cages::default(),
            promote: None,
        }
    }

    /// Accepts a task: checks that everything it names exists, and makes the run
    /// durable. The same key and task again give the same run.
    pub async fn submit(&self, task: Task, key: Option<String>) -> Result<Submitted, EngineError> {
        let inner = &self.inner;
        inner.refuse_what_cannot_work(&task).await?;
        equip::secrets(&task).await?;
        let Terms { own: price, critic: critic_price, others: prices, contexts } =
            Terms::of(inner.models.as_ref(), &task)?;
        let tools = inner.tools_of(&task).await?;
        let fingerprint = Submission::fingerprint_of(&task, &tools);
        let seed = inner.name();
        let learning::Learned { plant: learned, calibration, rates, novel } =
            learning::of(inner.store.as_ref(), &task).await;
        let submission = Submission {
            task,
            tools,
            key,
            seed,
            price,
            fingerprint,
            learned,
            calibration,
            novel,
            rates,
            critic_price,
            prices,
            contexts,
            parent: None,
        };
        loop {
            let id = RunId::from_chance(&draw::<12>(inner.chance.as_ref()));
            match inner.store.submit(&id, submission.clone(), inner.clock.now()).await {
                Err(StoreError::IdTaken { .. }) => {}
                outcome => return Ok(outcome?),
            }
        }
    }

    /// What people said about outputs, of runs of this class or of all, held against how
    /// sure the runs were.
    pub async fn outcomes(&self, class: Option<&str>) -> Result<Vec<Recorded>, EngineError> {
        learning::outcomes(self.inner.store.as_ref(), class).await
    }

    /// Whether programs of this task would run here with the rights of whoever runs
    /// the engine. People should be told.
    pub async fn runs_uncaged(&self, task: &Task) -> bool {
        let sandbox = Sandbox::of(task, &self.inner.cages, &Reach::nothing());
        // Where that cannot be said now, they do not run.
        runs_programs(task) && matches!(sandbox.confinement().await, Ok(Confinement::Uncaged))
    }

    /// Works on a run until it has ended, waits for a person, or the engine is
    /// asked to stop. A run that was interrupted goes on where it was.
    pub async fn run(&self, id: &RunId) -> Result<Stopped, EngineError> {
        match self.inner.store.row(id).await?.summary.ending {
            Some(EndingKind::Committed | EndingKind::Failed) => {
                let run = self.inspect(id).await?.run;
                if run.has_afterwork() {
                    return self.claim_and_work(id).await;
                }
                Ok(run.ending().cloned().map_or(Stopped::Asked, Stopped::Ended))
            }
            Some(EndingKind::Halted) | None => self.claim_and_work(id).await,
        }
    }

    /// Submits and runs.
    pub async fn run_task(&self, task: Task) -> Result<(RunId, Stopped), EngineError> {
        let id = self.submit(task, None).await?.run().clone();
        let stopped = self.run(&id).await?;
        Ok((id, stopped))
    }

    /// Goes on with a run that was interrupted, paused or halted, with limits
    /// set higher if asked; and tries again to hand on what nobody took.
    pub async fn resume(&self, id: &RunId, by: &str, raise: Vec<Raise>) -> Result<Stopped, EngineError> {
        let run = self.inspect(id).await?.run;
        if promoting::was_given_up(&run) {
            return self.promote(id, by).await;
        }
        let halted = matches!(run.ending(), Some(Ending::Halted { .. }));
        if halted || run.paused || !raise.is_empty() {
            self.signal(id, by, Signal::Resume { raise, without: Vec::new() }).await?;
        }
        self.run(id).await
    }

    /// Leaves a message for a run, durably. A running one gets it at once.
    pub async fn signal(&self, id: &RunId, by: &str, signal: Signal) -> Result<(), EngineError> {
        let inner = &self.inner;
        let key = inner.name();
        let letter = Letter { by: by.into(), signal, key, at: inner.clock.now() };
        inner.store.signal(id, letter).await?;
        inner.hub.ring(id);
        Ok(())
    }

    /// Stops the clock of a run.
    pub async fn pause(&self, id: &RunId, by: &str) -> Result<(), EngineError> {
        self.signal(id, by, Signal::Pause).await
    }

    /// Ends a run, resumable.
    pub async fn cancel(&self, id: &RunId, by: &str) -> Result<(), EngineError> {
        self.signal(id, by, Signal::Cancel).await
    }

    /// The state of a run, from its journal alone.
    pub async fn inspect(&self, id: &RunId) -> Result<Folded, EngineError> {
        fold::fold(self.inner.store.as_ref(), id, u64::MAX).await
    }

    /// Claims every run that can go on and works on up to `at_once` of them at a
    /// time until none is left. Returns how each one stopped, or why it could not
    /// be worked on; one that cannot does not keep the others from going on. When the
    /// queue cannot be read any more, those at work come home first
    /// ([`EngineError::Queue`]).
    ///
    /// A run that waits for a person can go on once it has mail, and once the time
    /// has come until which it waits, which then settles what nobody answered.
    /// Runs that come due while others are at work are taken up meanwhile.
    pub async fn work_off(&self, at_once: usize) -> Result<Vec<Worked>, EngineError> {
        let at_once = at_once.max(1);
        let mut at_work = JoinSet::new();
        let mut fences = BTreeMap::new();
        let mut worked = Vec::new();
        // Kept until the end, or they would be claimed again and again.
        let mut unable = Vec::new();
        let unread = loop {
            let free = at_once.saturating_sub(at_work.len());
            // A queue that cannot be read now is looked at again while others are at work.
            let (claimed, unread) = match self.claim_unless_stopped(free).await {
                Ok(claimed) => (claimed, None),
                Err(error) => (Vec::new(), Some(error)),
            };
            for claimed in claimed {
                let (engine, fence) = (self.clone(), claimed.fence.clone());
                let task = at_work.spawn(async move { engine.work(claimed).await });
                fences.insert(task.id(), fence);
            }
            let has_room = at_work.len() < at_once;
            tokio::select! {
                biased;
                done = at_work.join_next_with_id() => {
                    let Some(done) = done else { break unread };
                    let id = done.as_ref().map_or_else(tokio::task::JoinError::id, |(id, _)| *id);
                    let Some(fence) = fences.remove(&id) else { continue };
                    let outcome = match done {
                        Ok((_, outcome)) => outcome,
                        Err(broken) => Err(broken_down(&fence.run, &broken)),
                    };
                    if outcome.is_err() {
                        unable.push(fence.clone());
                    }
                    worked.push((fence.run, outcome));
                },
                () = tokio::time::sleep(LOOK_EVERY), if has_room => {}
            }
        };
        for fence in unable {
            self.give_up(&fence).await;
        }
        match unread {
            None => Ok(worked),
            Some(error) => Err(EngineError::Queue { worked, source: Box::new(error) }),
        }
    }

    /// Observations from now on. A watcher that is slow loses the oldest.
    #[must_use]
    pub fn watch(&self) -> broadcast::Receiver<Observation> {
        self.inner.hub.watch()
    }

    /// Asks every run at work here to stop: what is in flight comes home first,
    /// nothing new is started.
    pub fn stop(&self) {
        self.inner.stop.send_replace(true);
    }

    /// The store underneath.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn RunStore> {
        &self.inner.store
    }

    async fn claim_unless_stopped(&self, max: usize) -> Result<Vec<Claimed>, EngineError> {
        if *self.inner.stop.borrow() {
            return Ok(Vec::new());
        }
        let now = self.inner.clock.now();
        Ok(self.inner.store.claim_ready(&self.inner.worker, max, LEASE_MS, now).await?)
    }

    async fn claim_and_work(&self, id: &RunId) -> Result<Stopped, EngineError> {
        let claimed =
            self.inner.store.claim(id, &self.inner.worker, LEASE_MS, self.inner.clock.now()).await?;
        let fence = claimed.fence.clone();
        let outcome = self.work(claimed).await;
        if outcome.is_err() {
            self.give_up(&fence).await;
        }
        outcome
    }

    /// Releases a run that cannot be worked on here, unless somebody has it already.
    async fn give_up(&self, fence: &Fence) {
        // The reason it cannot be worked on is worth more than one this could give;
        // what is not released is free when its lease is over.
        let _unreleased = self.inner.store.release(fence).await;
    }

    /// Waits for something that may take longer than a claim lasts.
    async fn leased<T>(&self, fence: &Fence, what: impl Future<Output = T>) -> Result<T, EngineError> {
        let mut what = std::pin::pin!(what);
        loop {
            tokio::select! {
                biased;
                done = &mut what => return Ok(done),
                () = tokio::time::sleep(Duration::from_millis(LEASE_MS / 3)) => {
                    self.inner.store.renew(fence, LEASE_MS, self.inner.clock.now()).await?;
                }
            }
        }
    }

    /// What a run came to that has ended; it is released then.
    async fn over(&self, clerk: &Clerk) -> Option<Stopped> {
        let ending = clerk.run.ending().filter(|_| !clerk.run.has_afterwork())?.clone();
        self.give_up(&clerk.fence).await;
        Some(Stopped::Ended(ending))
    }

    /// A run that lacks something: what it was told meanwhile still counts, and why it
    /// is not worked on is written down.
    async fn not_taken_up(&self, mut clerk: Clerk, error: EngineError) -> Result<Stopped, EngineError> {
        clerk.read_mail().await?;
        if let Some(stopped) = self.over(&clerk).await {
            return Ok(stopped);
        }
        let why = format!("{error}; {}", error.remedy());
        clerk.not_taken_up(&self.inner.worker, why).await?;
        Err(error)
    }

    async fn work(&self, claimed: Claimed) -> Result<Stopped, EngineError> {
        let mut clerk = self.inner.clerk(claimed).await?;
        // Whoever ends or answers a run is heard even where it cannot be worked on.
        clerk.read_mail().await?;
        if let Some(stopped) = self.over(&clerk).await {
            return Ok(stopped);
        }
        if clerk.run.is_brought_back() {
            self.give_up(&clerk.fence).await;
            return Ok(Stopped::Waiting(clerk.run.waits()));
        }
        let equipping = self.inner.hands(&clerk.run, clerk.fence.epoch);
        let (hands, connections) = match self.leased(&clerk.fence, equipping).await? {
            Ok(equipped) => equipped,
            Err(error) => return self.not_taken_up(clerk, error).await,
        };
        let (run, fence) = (clerk.run, clerk.fence);
        let id = run.id.clone();
        let sandbox = hands.sandbox.clone();
        let desk = Desk::new(run, fence, hands, self.inner.patience, self.inner.stop.subscribe());
        let _postman = self.inner.postman();
        let worker = self.inner.worker.clone();
        let outcome = at_home(&id, async move { desk.work(&worker).await }).await;
        if let Err(EngineError::BrokeDown { .. } | EngineError::ShutDown { .. }) = outcome {
            // The desk could not do it itself.
            self.inner.hub.close_mailbox(&id);
        }
        connections.close().await;
        sandbox.close().await;
        outcome
    }
}

/// Works among the runtime's own tasks, wherever the caller waits: what a desk
/// starts is then at hand on the same thread, and none has to be woken for it.
/// Ends with its caller.
async fn at_home<T: Send + 'static>(
    run: &RunId,
    work: impl Future<Output = Result<T, EngineError>> + Send + 'static,
) -> Result<T, EngineError> {
    let mut home = JoinSet::new();
    home.spawn(work);
    match home.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(broken)) => Err(broken_down(run, &broken)),
        None => Err(EngineError::ShutDown { run: run.clone() }),
    }
}

/// A bug of ours ends the run's work, not the process; the panic itself was printed.
/// A caller may outlive the runtime it works in, and must not wait for ever then.
fn broken_down(run: &RunId, broken: &tokio::task::JoinError) -> EngineError {
    let run = run.clone();
    if broken.is_panic() { EngineError::BrokeDown { run } } else { EngineError::ShutDown { run } }
}

/// Delivers mail for all desks of an engine, as long as one of them is there.
struct Postman(tokio::task::AbortHandle);

impl Drop for Postman {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Rings the bell of runs that have mail, also mail from other processes.
async fn deliver(store: Arc<dyn RunStore>, hub: Arc<Hub>) {
    loop {
        tokio::time::sleep(MAIL_EVERY).await;
        // A store that cannot be read now is reported by whoever works on it.
        for run in store.mailed().await.unwrap_or_default() {
            hub.ring(&run);
        }
    }
}

impl Inner {
    /// Whoever reads the mail of a claimed run.
    async fn clerk(&self, claimed: Claimed) -> Result<Clerk, EngineError> {
        let run = fold::from_claim(self.store.as_ref(), &claimed).await?.run;
        let (store, clock, hub) = (self.store.clone(), self.clock.clone(), self.hub.clone());
        Ok(Clerk { run, fence: claimed.fence, store, clock, hub })
    }

    /// A name nobody drew before.
    fn name(&self) -> String {
        RunId::from_chance(&draw::<16>(self.chance.as_ref())).to_string()
    }

    fn postman(&self) -> Arc<Postman> {
        let mut slot = self.postman.lock().unwrap_or_else(PoisonError::into_inner);
        slot.upgrade().unwrap_or_else(|| {
            let delivery = tokio::spawn(deliver(self.store.clone(), self.hub.clone()));
            let postman = Arc::new(Postman(delivery.abort_handle()));
            *slot = Arc::downgrade(&postman);
            postman
        })
    }
}

/// So many random bytes.
fn draw<const N: usize>(chance: &dyn Chance) -> [u8; N] {
    let mut bytes = [0; N];
    for chunk in bytes.chunks_mut(8) {
        chunk.iter_mut().zip(chance.draw()).for_each(|(byte, drawn)| *byte = drawn);
    }
    bytes
}
