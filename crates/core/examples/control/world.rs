//! What repairs do to quality: the plant the controller is built for, and others.

use crate::dice::Dice;

/// What a repair does.
#[derive(Clone, Debug)]
pub(crate) enum Repair {
    /// `y + G·u + w`: the model the controller believes in.
    Linear { gain: f64, sigma: f64 },
    /// The same, but trying twice as hard brings less than twice as much.
    Saturating { gain: f64, sigma: f64 },
    /// Every repair is a first attempt again, whatever it was asked for.
    Redraw,
    /// A repair of intensity `u` replaces that share of the quality by a first attempt's.
    RedrawShare,
    /// `y + u·Δ` with `Δ` one of these at random.
    Replayed { moves: Vec<f64> },
}

/// Repairs, and first attempts.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) repair: Repair,
    /// Mean quality of a first attempt.
    pub(crate) start: f64,
    /// Its deviation.
    pub(crate) spread: f64,
}

impl World {
    /// The quality of a first attempt, and of one from scratch.
    pub(crate) fn attempt(&self, dice: &mut Dice) -> f64 {
        within(self.start + self.spread * dice.normal())
    }

    /// The quality after a repair.
    pub(crate) fn repaired(&self, quality: f64, intensity: f64, dice: &mut Dice) -> f64 {
        within(match &self.repair {
            Repair::Linear { gain, sigma } => quality + gain * intensity + sigma * dice.normal(),
            Repair::Saturating { gain, sigma } => {
                let reach = 1.5 * intensity / (intensity + 0.5);
                quality + gain * reach + sigma * dice.normal()
            }
            Repair::Redraw => self.attempt(dice),
            Repair::RedrawShare => quality + intensity * (self.attempt(dice) - quality),
            Repair::Replayed { moves } => {
                let pick = dice.pick(moves.len());
                quality + intensity * moves.get(pick).copied().unwrap_or(0.0)
            }
        })
    }
}

fn within(quality: f64) -> f64 {
    quality.clamp(0.0, 1.0)
}
