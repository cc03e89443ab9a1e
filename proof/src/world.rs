//! One state: the durable run, the worker, the outside, and what is left of every
//! chance the scenario gives.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use bowline_core::id::{Millis, RunId};
use bowline_core::provenance::Digest;
use bowline_core::run::Run;
use stateright::Property;

use crate::journal::Journal;
use crate::moves::{self, Move};
use crate::outside::Outside;
use crate::plant::Plant;
use crate::promise::{Landmark, Promise};
use crate::scenario::Scenario;
use crate::{canon, setup, turn};

/// Who is at the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Worker {
    /// Nobody.
    Gone,
    /// A worker that claimed it.
    Working,
    /// One that was asked to stop: it takes in what comes home and starts nothing.
    Leaving,
}

/// What happened of what the scenario bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Used {
    pub(crate) crashes: u8,
    pub(crate) meddles: u8,
    pub(crate) did_nots: u8,
    pub(crate) reopenings: u8,
    pub(crate) undos: u8,
}

/// See the module's page.
#[derive(Clone)]
pub struct World {
    /// The durable state.
    pub(crate) run: Arc<Run>,
    pub(crate) worker: Worker,
    pub(crate) outside: Outside,
    pub(crate) used: Used,
    /// Promises that were broken on the way here.
    pub(crate) broken: BTreeSet<Promise>,
    /// One of the ways here; equal states may have others.
    pub(crate) journal: Arc<Journal>,
    canon: Digest,
}

impl World {
    /// The run as it now is.
    pub(crate) fn set_run(&mut self, run: Run) {
        self.canon = canon::digest(&run);
        self.run = Arc::new(run);
    }

    pub(crate) fn now(&self) -> Millis {
        self.run.now
    }

    /// Grows with everything that happens, and is read from what tells states
    /// apart: so no state is ever reached again from itself.
    pub(crate) fn rank(&self) -> u64 {
        let leaving = u64::from(self.worker == Worker::Leaving);
        let outside = u64::from(self.outside.requests()) + u64::from(self.outside.landed);
        self.run.seq + outside + 2 * u64::from(self.used.crashes) - leaving
    }

    fn identity(&self) -> (&Digest, Worker, &Outside, Used, &BTreeSet<Promise>) {
        (&self.canon, self.worker, &self.outside, self.used, &self.broken)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl PartialEq for World {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { run, worker, used, broken, .. } = self;
        let (phase, seq) = (run.phase.word(), run.seq);
        write!(f, "{phase} at {seq}, worker {worker:?}, {used:?}, broken {broken:?}")
    }
}

/// A scenario, perhaps with a bug in it, as the checker explores it.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// What the world is made of.
    pub scenario: Scenario,
    /// The seam that is broken.
    pub plant: Option<Plant>,
}

impl stateright::Model for Model {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        begin(&self.scenario).into_iter().collect()
    }

    fn actions(&self, world: &World, actions: &mut Vec<Move>) {
        moves::list(self, world, actions);
    }

    fn next_state(&self, world: &World, action: Move) -> Option<World> {
        turn::take(self, world, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let promises = Promise::ALL.iter().map(|promise| promise.property());
        let landmarks = self.scenario.landmarks.iter().map(|landmark: &Landmark| landmark.property());
        promises.chain(landmarks).collect()
    }
}

/// A submitted run that nobody has claimed.
fn begin(scenario: &Scenario) -> Option<World> {
    let id = RunId::parse("r1").ok()?;
    let first = setup::submitted(scenario)?;
    let run = Run::begin(&id, &first, Millis(0))?;
    Some(World {
        canon: canon::digest(&run),
        run: Arc::new(run),
        worker: Worker::Gone,
        outside: Outside::default(),
        used: Used::default(),
        broken: BTreeSet::new(),
        journal: Journal::begin(&id, &first),
    })
}
