//! What is measured: forecasts and floors against simulation, and what ways of
//! repair cost on the plant the controller believes in and on others.

use bowline_core::control::{Gains, Memory, Model, Ppm, Settings, floor, rounds_to_gate};

use crate::dice::Dice;
use crate::policy::{Lot, Policy, Tally, ppm, real, settings};
use crate::world::{Repair, World};

pub(crate) const GAINS: [f64; 4] = [0.2, 0.4, 0.6, 0.9];
pub(crate) const SIGMAS: [f64; 4] = [0.0, 0.02, 0.05, 0.1];
pub(crate) const GATES: [f64; 2] = [0.05, 0.1];
const STARTS: [(f64, f64); 3] = [(0.4, 0.2), (0.6, 0.2), (0.8, 0.15)];
/// Where trying again does well too: a harder test.
const GOOD_STARTS: [(f64, f64); 2] = [(0.7, 0.2), (0.8, 0.15)];
const SLOPES: [f64; 2] = [1.0, 3.0];
/// Rounds after which a loop is taken for settled.
const SETTLED: u32 = 80;

/// How many, from which seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Of each floor.
    pub(crate) runs: u32,
    pub(crate) seed: u64,
}

impl Size {
    /// Runs of each cell of a grid: a tenth, for there are many.
    fn each(self) -> u32 {
        (self.runs / 10).max(20)
    }
}

/// The laws that are forecast.
pub(crate) fn laws(gain: f64) -> [(&'static str, Gains); 3] {
    let (plant, damping) = (ppm(gain), Settings::DAMPING);
    let full = Gains::damped(plant, damping);
    [
        ("P", Gains::proportional(plant, damping)),
        ("PI", Gains { derivative: Ppm::ZERO, ..full }),
        ("PID", full),
    ]
}

/// A forecast of rounds against simulation.
pub(crate) struct Forecast {
    pub(crate) law: &'static str,
    pub(crate) sigma: f64,
    /// Cells, and how many are off by 0, 1, 2 or more rounds.
    pub(crate) off: [u32; 3],
}

/// Rounds foreseen and simulated, cell by cell.
pub(crate) fn forecasts(size: Size) -> Vec<Forecast> {
    let mut rows = Vec::new();
    for (index, law) in ["P", "PI", "PID"].into_iter().enumerate() {
        for sigma in SIGMAS {
            let mut row = Forecast { law, sigma, off: [0; 3] };
            for (cell, (gain, gate, start)) in cells().into_iter().enumerate() {
                let Some((_, gains)) = laws(gain).get(index).copied() else { continue };
                let plain = Settings { gains, stall: u32::MAX, ..settings(gain, 0.0, gate, 1.0) };
                let model = Model { plant: plain.plant.gain, gains, band: plain.band, gate: plain.gate };
                let foreseen = rounds_to_gate(&model, &Memory::default(), ppm(1.0 - start));
                let world = World { repair: Repair::Linear { gain, sigma }, start, spread: 0.0 };
                let lot = Lot { seed: size.seed, cell: number(cell), runs: size.each() };
                let seen = Tally::of(&world, &Policy::Controlled(plain), (gate, 1.0), lot).median_rounds();
                let off = foreseen.map_or(2, |(rounds, _)| rounds.abs_diff(seen)).min(2);
                if let Some(count) = row.off.get_mut(usize::try_from(off).unwrap_or(2)) {
                    *count += 1;
                }
            }
            rows.push(row);
        }
    }
    rows
}

fn cells() -> Vec<(f64, f64, f64)> {
    let pairs = GAINS.into_iter().flat_map(|gain| GATES.map(|gate| (gain, gate)));
    pairs.flat_map(|(gain, gate)| [0.1, 0.3, 0.5, 0.7, 0.85].map(|start| (gain, gate, start))).collect()
}

/// A floor computed and simulated.
pub(crate) struct Floor {
    pub(crate) law: &'static str,
    pub(crate) gain: f64,
    pub(crate) computed: f64,
    pub(crate) simulated: f64,
}

impl Floor {
    /// By how much they differ, as a share.
    pub(crate) fn off(&self) -> f64 {
        (self.simulated / self.computed - 1.0).abs()
    }
}

/// Floors of noise 0.05 in the linear loop.
pub(crate) fn floors(size: Size) -> Vec<Floor> {
    let sigma = 0.05;
    let mut rows = Vec::new();
    for (cell, gain) in GAINS.into_iter().enumerate() {
        for (law, gains) in laws(gain) {
            let computed = floor(&gains, ppm(gain), ppm(sigma)).map_or(f64::NAN, real);
            let squares: f64 = (0..size.runs)
                .map(|run| {
                    let mut dice = Dice::new(size.seed, number(cell), u64::from(run));
                    let error = settled(&gains, gain, sigma, &mut dice);
                    error * error
                })
                .sum();
            let simulated = (squares / f64::from(size.runs.max(1))).sqrt();
            rows.push(Floor { law, gain, computed, simulated });
        }
    }
    rows
}

/// The error of a linear loop, without a band, after many rounds.
fn settled(gains: &Gains, plant: f64, sigma: f64, dice: &mut Dice) -> f64 {
    let [p, i, d] = [gains.proportional, gains.integral, gains.derivative].map(real);
    let (mut error, mut sum, mut last) = (0.0, 0.0, 0.0);
    for _ in 0..SETTLED {
        sum += error;
        let intensity = p * error + i * sum + d * (error - last);
        last = error;
        error += sigma * dice.normal() - plant * intensity;
    }
    error
}

/// Ways of repair side by side on one world.
pub(crate) struct Comparison {
    pub(crate) name: String,
    pub(crate) tallies: Vec<(&'static str, Tally)>,
}

impl Comparison {
    fn cost(&self, name: &str) -> f64 {
        let found = self.tallies.iter().find(|(known, _)| *known == name);
        found.map_or(f64::INFINITY, |(_, tally)| tally.cost_of_success())
    }

    /// Trying again passes as often as the controller, to a hundredth.
    pub(crate) fn is_equal(&self) -> bool {
        let success = |name: &str| {
            let found = self.tallies.iter().find(|(known, _)| *known == name);
            found.map_or(0.0, |(_, tally)| tally.success())
        };
        success(RETRY) >= success(PID) - 0.01
    }

    /// What the controller saves against always trying its hardest.
    pub(crate) fn saving_on_fixed(&self) -> f64 {
        1.0 - self.cost(PID) / self.cost(FIXED)
    }

    /// What the controller saves against trying again from scratch, as a share; less
    /// than nothing where it costs more.
    pub(crate) fn saving(&self) -> f64 {
        let (ours, theirs) = (self.cost(PID), self.cost(RETRY));
        if theirs.is_infinite() { 1.0 } else { 1.0 - ours / theirs }
    }
}

pub(crate) const RETRY: &str = "retry";
pub(crate) const PID: &str = "PID";
pub(crate) const FIXED: &str = "fixed 1";

fn policies(believed: (f64, f64), gate: f64, slope: f64) -> [(&'static str, Policy); 5] {
    let pid = settings(believed.0, believed.1, gate, slope);
    let p = Settings { gains: Gains::proportional(pid.plant.gain, Settings::DAMPING), ..pid };
    [
        (RETRY, Policy::Retry),
        ("fixed 0.5", Policy::Fixed(0.5)),
        (FIXED, Policy::Fixed(1.0)),
        ("P", Policy::Controlled(p)),
        (PID, Policy::Controlled(pid)),
    ]
}

fn compared(
    name: String,
    world: &World,
    believed: (f64, f64),
    (terms, lot): ((f64, f64), Lot),
) -> Comparison {
    let all = policies(believed, terms.0, terms.1);
    let tallies = all.map(|(name, policy)| (name, Tally::of(world, &policy, terms, lot)));
    Comparison { name, tallies: tallies.into() }
}

/// Every cell of the grid, the controller knowing its plant.
pub(crate) fn grid(size: Size) -> Vec<Comparison> {
    let mut rows = Vec::new();
    for (gain, sigma) in GAINS.into_iter().flat_map(|gain| SIGMAS.map(|sigma| (gain, sigma))) {
        for (gate, (start, spread)) in GATES.into_iter().flat_map(|gate| STARTS.map(|start| (gate, start))) {
            for slope in SLOPES {
                let world = World { repair: Repair::Linear { gain, sigma }, start, spread };
                let lot = Lot { seed: size.seed, cell: number(rows.len()), runs: size.each() };
                let name = format!("G {gain}, σ {sigma}, gate {gate}, start {start}, β {slope}");
                rows.push(compared(name, &world, (gain, sigma), ((gate, slope), lot)));
            }
        }
    }
    rows
}

/// The same ways of repair where the controller is wrong about the plant.
pub(crate) fn foreign(size: Size, moves: &[f64]) -> Vec<Comparison> {
    let (gain, sigma) = (0.4, 0.03);
    let linear = |gain: f64| Repair::Linear { gain, sigma };
    let worlds = [
        ("G is half of what is believed", linear(gain / 2.0)),
        ("G is twice what is believed", linear(gain * 2.0)),
        ("trying harder brings less and less", Repair::Saturating { gain, sigma }),
        ("every repair starts from scratch", Repair::Redraw),
        ("a repair redraws the share it is asked for", Repair::RedrawShare),
        ("moves of a made-up series", Repair::Replayed { moves: moves.to_vec() }),
    ];
    let mut rows: Vec<Comparison> = Vec::new();
    for (cell, (name, repair)) in worlds.into_iter().enumerate() {
        let mut whole: Option<Comparison> = None;
        for (index, (start, spread)) in GOOD_STARTS.into_iter().enumerate() {
            for (other, gate) in GATES.into_iter().enumerate() {
                let world = World { repair: repair.clone(), start, spread };
                let cell = 10_000 + number(cell * 100 + index * 10 + other);
                let lot = Lot { seed: size.seed, cell, runs: size.each() };
                let row = compared(name.into(), &world, (gain, sigma), ((gate, 1.0), lot));
                match &mut whole {
                    None => whole = Some(row),
                    Some(whole) => joined(&mut whole.tallies, &row.tallies),
                }
            }
        }
        rows.extend(whole);
    }
    rows
}

/// All rows as one.
pub(crate) fn together<'a>(name: &str, rows: impl IntoIterator<Item = &'a Comparison>) -> Comparison {
    let mut whole = Comparison { name: name.into(), tallies: Vec::new() };
    for row in rows {
        if whole.tallies.is_empty() {
            whole.tallies.clone_from(&row.tallies);
        } else {
            joined(&mut whole.tallies, &row.tallies);
        }
    }
    whole
}

fn joined(sum: &mut [(&'static str, Tally)], row: &[(&'static str, Tally)]) {
    for ((_, sum), (_, tally)) in sum.iter_mut().zip(row) {
        sum.join(tally);
    }
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}
