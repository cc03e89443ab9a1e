//! The controller of repair: from the quality of an output to how hard the next
//! repair tries, and whether there should be one.
//!
//! The model of a repair is `y(k+1) = y(k) + G·u(k) + w(k)`: quality `y` rises by
//! the gain `G` times the intensity `u`, give or take noise `w` of deviation σ.
//! The flow is [`Quality::error`] → [`Memory::next`] (PID) → [`judge`], which
//! weighs forecast, stall and noise floor, and returns everything that led to its
//! [`Decision`].
//!
//! Invariants
//! - Every amount is a whole number of parts per million ([`Ppm`]): a replay on
//!   another machine computes the same bits. There are no floats here.
//! - Gains are checked for stability ([`Gains::instability`]) before they are used.
//! - Nothing here reads a run: it gets readings, and returns values.

mod cost;
mod decision;
mod estimate;
mod forecast;
mod gains;
mod noise;
mod pid;
mod ppm;
mod quality;
mod rates;
mod settings;
mod stability;
#[cfg(test)]
mod tests;

pub use cost::{RoundCost, price_of, unit_price};
pub use decision::{Decision, Judgement, Reading, StopWhy, Why, judge};
pub use estimate::{Move, PRIOR_ROUNDS, Plant, SERIES_MAX, estimate, moves};
pub use forecast::{Model, ROUNDS_MAX, rounds_to_gate};
pub use gains::Gains;
pub use noise::floor;
pub use pid::{Band, Memory};
pub use ppm::Ppm;
pub use quality::{Quality, measured};
pub use rates::{PROMISING, Rate, Rates};
pub use settings::{Obedience, Settings, Strategy};
pub use stability::Instability;
