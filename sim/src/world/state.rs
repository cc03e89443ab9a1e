//! The world of one seed: everything that outlives a crash, and the life of the
//! process that does not.
//!
//! A crash is the end of a tokio runtime: every future of that life is dropped
//! where it stands. From the moment a life is dead, nothing of it reaches the
//! store or the outside any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline::Clock;
use bowline_core::event::Subject;
use bowline_core::id::{ActionId, Millis, RunId, ToolName};
use bowline_core::input::Signal;
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use bowline_store::MemoryStore;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::bugs::Bug;
use super::disk::Disk;
use super::outside::{Moment, Outside};
use super::plan::{Crash, Life, Plan, Point};
use super::trace::Trace;
use super::violation::{Check, Violation};
use crate::chance::Draw;
use crate::oracle::ClientLine;

/// Some day; the virtual clock counts from here.
const EPOCH_MS: u64 = 1_800_000_000_000;

/// One seed's world.
pub(super) struct World {
    pub(super) plan: Plan,
    pub(super) bug: Option<Bug>,
    state: Mutex<State>,
}

/// What changes in it.
pub(super) struct State {
    pub(super) faults: Draw,
    pub(super) trace: Trace,
    pub(super) outside: Outside,
    pub(super) disk: Disk,
    pub(super) client: Vec<ClientLine>,
    pub(super) letters: Vec<SentLetter>,
    pub(super) people: PeopleMemory,
    /// States by replay of what is durable, one for each run.
    pub(super) replays: BTreeMap<RunId, Run>,
    pub(super) violations: Vec<Violation>,
    pub(super) tally: BTreeMap<&'static str, u64>,
    /// The last event a watcher has seen of each run.
    pub(super) cursors: BTreeMap<RunId, u64>,
    /// The latest time any worker's clock showed.
    pub(super) latest_ms: u64,
    /// Virtual time of the lives before this one.
    lived_ms: u64,
    /// Tools that are away, and until when by the first worker's clock.
    outages: BTreeMap<ToolName, u64>,
}

/// What a person wrote to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentLetter {
    pub(super) run: RunId,
    pub(super) by: String,
    pub(super) signal: Signal,
}

/// What people remember.
#[derive(Debug, Default)]
pub(super) struct PeopleMemory {
    /// Questions answered in this life: asked again, they are not answered twice.
    pub(super) answered: BTreeSet<(RunId, Subject, Digest)>,
    /// Doubts settled in this life.
    pub(super) settled: BTreeSet<(RunId, ActionId, u64)>,
    /// How often a run was cancelled, paused, resumed.
    pub(super) meddled: BTreeMap<RunId, u32>,
    pub(super) reopened: BTreeMap<RunId, u32>,
    /// Halted runs that stay so.
    pub(super) left: BTreeSet<RunId>,
    /// How often somebody has thought about undoing a run that is over.
    pub(super) regretted: BTreeMap<RunId, u32>,
}

impl World {
    pub(super) fn new(plan: Plan, bug: Option<Bug>, keep_lines: bool) -> Self {
        let faults = Draw::new(plan.seed ^ 0xFA17_0000_0000_0001);
        let mut outside = Outside::default();
        outside.ignores_epochs = bug == Some(Bug::RecoveryOfALiveRun);
        Self {
            state: Mutex::new(State {
                faults,
                trace: Trace::new(keep_lines),
                outside,
                disk: Disk::new(bug),
                client: Vec::new(),
                letters: Vec::new(),
                people: PeopleMemory::default(),
                replays: BTreeMap::new(),
                violations: Vec::new(),
                tally: BTreeMap::new(),
                cursors: BTreeMap::new(),
                latest_ms: EPOCH_MS,
                lived_ms: 0,
                outages: BTreeMap::new(),
            }),
            plan,
            bug,
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is whole when its guard goes, so a panic elsewhere broke nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// What is durable now.
    pub(super) fn store(&self) -> MemoryStore {
        self.lock().disk.store.clone()
    }

    pub(super) fn seed(&self) -> u64 {
        self.plan.seed
    }

    /// Everything, once nothing goes on any more.
    pub(super) fn into_state(self) -> State {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Counts something for the report, and notes it in the trace.
    pub(super) fn count(&mut self, what: &'static str, about: &str) {
        *self.tally.entry(what).or_default() += 1;
        self.trace.note(what, about);
    }

    pub(super) fn violation(&mut self, check: Check, text: String) {
        self.trace.note("violation", &text);
        self.violations.push(Violation { check, text });
    }

    pub(super) fn virtual_ms(&self) -> u64 {
        self.lived_ms
    }

    /// A life is over: its time has passed, and what people meant to do is forgotten.
    pub(super) fn life_ends(&mut self, passed: Duration) {
        self.lived_ms += u64::try_from(passed.as_millis()).unwrap_or(0);
        self.replays.clear();
        self.people.answered.clear();
        self.people.settled.clear();
    }
}

/// One life of the worker's process.
pub(super) struct Alive {
    pub(super) world: Arc<World>,
    pub(super) life: Life,
    pub(super) number: usize,
    started: Instant,
    base_ms: u64,
    dead: AtomicBool,
    death: Notify,
    reached: Mutex<BTreeMap<Point, u64>>,
}

impl Alive {
    /// Begins inside a paused runtime.
    pub(super) fn begin(world: Arc<World>, life: Life, number: usize) -> Self {
        let jumps: i64 = world.plan.lives.iter().take(number + 1).map(|life| life.clock_jump_ms).sum();
        let base_ms = (EPOCH_MS + world.lock().lived_ms).saturating_add_signed(jumps);
        Self {
            world,
            life,
            number,
            started: Instant::now(),
            base_ms,
            dead: AtomicBool::new(false),
            death: Notify::new(),
            reached: Mutex::default(),
        }
    }

    /// How long this life has lasted.
    pub(super) fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// What the first worker's clock shows.
    pub(super) fn wall_ms(&self) -> u64 {
        self.base_ms + u64::try_from(self.age().as_millis()).unwrap_or(0)
    }

    /// Returns when the process dies.
    pub(super) async fn death(&self) {
        match self.life.crash {
            Crash::After(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Crash::Never | Crash::At(..) => self.death.notified().await,
        }
        self.dead.store(true, Ordering::Relaxed);
    }

    /// Never returns once the process is dead.
    pub(super) async fn breathe(&self) {
        if self.dead.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Passes a point, or dies there.
    pub(super) async fn pass(&self, point: Point) {
        self.breathe().await;
        let count = {
            let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
            let count = reached.entry(point).or_default();
            *count += 1;
            *count
        };
        if self.life.crash == Crash::At(point, count) {
            self.dead.store(true, Ordering::Relaxed);
            self.death.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Whether a fault strikes now, in so many of a thousand cases.
    pub(super) fn strikes(&self, per_mille: u64, what: &'static str, about: &str) -> bool {
        let mut state = self.world.lock();
        let strikes = self.life.faulty && state.faults.happens(per_mille);
        if strikes {
            state.count(what, about);
        }
        strikes
    }

    /// Whether a tool is away now. Being away lasts, as it does in the world outside.
    pub(super) fn is_away(&self, tool: &ToolName, about: &str) -> bool {
        let now = self.wall_ms();
        if !self.life.faulty {
            return false;
        }
        let mut state = self.world.lock();
        if state.outages.get(tool).is_none_or(|until| *until <= now) {
            state.outages.remove(tool);
            if !state.faults.happens(50) {
                return false;
            }
            let until = now + state.faults.between(5_000, 150_000);
            state.outages.insert(tool.clone(), until);
            state.count("tool goes away", tool.as_str());
        }
        state.count("tool is away", about);
        true
    }

    /// A time from `low` to `high` milliseconds passes.
    pub(super) async fn takes(&self, low: u64, high: u64) {
        let ms = self.world.lock().faults.between(low, high);
        tokio::time::sleep(Duration::from_millis(ms)).await;
        self.breathe().await;
    }

    /// When something reaches the outside, with how far `run` is durable.
    pub(super) async fn moment(&self, run: &RunId) -> Moment {
        let store = self.world.store();
        let row = bowline_store::RunStore::row(&store, run).await;
        let durable = row.map_or(0, |row| row.next_seq);
        Moment { at: self.world.lock().latest_ms, durable }
    }
}

/// A worker's clock: tokio's paused time, plus what people set it to.
pub(super) struct SimClock {
    pub(super) alive: Arc<Alive>,
    pub(super) ahead_ms: u64,
}

impl Clock for SimClock {
    fn now(&self) -> Millis {
        let now = self.alive.wall_ms() + self.ahead_ms;
        let mut state = self.alive.world.lock();
        state.latest_ms = state.latest_ms.max(now);
        Millis(now)
    }
}
