//! Explores a scenario and says what was found.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model as _};

use crate::moves::Move;
use crate::plant::Plant;
use crate::promise::{Landmark, Promise};
use crate::scenario::Scenario;
use crate::world::Model;

/// The longest way to a planted bug that is looked for.
const WAY_MAX: usize = 16;

/// What exploring came to.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Broken promises, each with a way to break it.
    pub broken: Vec<(&'static str, Vec<Move>)>,
    /// Places of the scenario that were not reached.
    pub missed: Vec<Landmark>,
    /// How much was explored.
    pub figures: Figures,
}

/// How much was explored.
#[derive(Clone, Copy, Debug)]
pub struct Figures {
    /// Different states.
    pub states: usize,
    /// Moves made, those to known states included.
    pub moves: usize,
    /// The deepest way taken; joining ways may make a longer one.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
}

impl Verdict {
    /// Every promise holds, and every place was reached.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.broken.is_empty() && self.missed.is_empty()
    }
}

/// Explores all of a scenario, depth first: what is known is kept as hashes, and
/// only the way to where the checker stands as states.
#[must_use]
pub fn check(scenario: Scenario, threads: usize) -> Verdict {
    let model = Model { scenario, plant: None };
    let (checker, took) = timed(|| model.checker().threads(threads).spawn_dfs().join());
    let mut broken = Vec::new();
    let mut reached = BTreeSet::new();
    for (name, path) in checker.discoveries() {
        if Promise::ALL.iter().any(|promise| promise.name() == name) {
            broken.push((name, path.into_actions()));
        } else {
            reached.insert(name);
        }
    }
    let missed = scenario.landmarks.iter().filter(|landmark| !reached.contains(landmark.name()));
    let figures = Figures {
        states: checker.unique_state_count(),
        moves: checker.state_count(),
        depth: checker.max_depth(),
        took,
    };
    Verdict { broken, missed: missed.copied().collect(), figures }
}

/// Looks for the shortest way to break a promise of a scenario with a planted bug.
/// `None`: there is none within `WAY_MAX` moves.
#[must_use]
pub fn find(scenario: Scenario, plant: Plant, promise: Promise) -> Option<Vec<Move>> {
    // The checker goes on for a while after its first discovery and keeps the last.
    (2..=WAY_MAX).find_map(|depth| {
        let wanted = HasDiscoveries::AnyOf([promise.name()].into());
        let model = Model { scenario, plant: Some(plant) };
        let checker = model.checker().finish_when(wanted).target_max_depth(depth + 1).spawn_bfs().join();
        checker.discovery(promise.name()).map(stateright::Path::into_actions)
    })
}

#[expect(clippy::disallowed_methods, reason = "how long a proof took is no decision of a run")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}
