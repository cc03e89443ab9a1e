//! Whether gains make the loop settle: the Jury test, exactly.
//!
//! With `a = G·Kp`, `b = G·Ki`, `d = G·Kd` and `u(k) = Kp·e(k) + Ki·Σe + Kd·(e(k) − e(k−1))`,
//! the error of the closed loop follows
//! `e(k+1) = (2−a−b−d)·e(k) − (1−a−2d)·e(k−1) − d·e(k−2)`, and without a sum
//! (`Ki = 0`) `e(k+1) = (1−a−d)·e(k) + d·e(k−1)`. Their characteristic polynomials:
//!
//! | law | polynomial |
//! |---|---|
//! | P | `z − (1−a)` |
//! | PD | `z² − (1−a−d)·z − d` |
//! | PI | `z² − (2−a−b)·z + (1−a)` |
//! | PID | `z³ − (2−a−b−d)·z² + (1−a−2d)·z + d` |
//!
//! The loop settles if and only if every root lies inside the unit circle. All of it
//! is computed in whole numbers of 10⁻¹², so the answer is exact.

use serde::{Deserialize, Serialize};

use super::{Gains, Ppm};

/// 1 in the units of a product of two parts per million.
pub(super) const ONE: i128 = 1_000_000_000_000;

/// Why a loop does not settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Instability {
    /// Nothing, or something in the wrong direction, drives the error to zero.
    NotDriven,
    /// Each round overshoots by at least as much as it had to mend.
    Overshoots,
    /// It swings, and the swings do not die down.
    Swings,
}

impl Instability {
    /// In words, after "these gains".
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::NotDriven => "never drive the error to zero",
            Self::Overshoots => "overshoot by as much as there was to mend, or more",
            Self::Swings => "make the loop swing without end",
        }
    }
}

/// The products of plant and gains, in 10⁻¹².
pub(super) struct Products {
    pub(super) a: i128,
    pub(super) b: i128,
    pub(super) d: i128,
}

impl Products {
    pub(super) fn of(gains: &Gains, plant: Ppm) -> Self {
        let product = |gain: Ppm| i128::from(gain.0) * i128::from(plant.0);
        Self { a: product(gains.proportional), b: product(gains.integral), d: product(gains.derivative) }
    }
}

impl Gains {
    /// Why the loop with a plant of this gain does not settle; `None`: it does.
    #[must_use]
    pub fn instability(&self, plant: Ppm) -> Option<Instability> {
        let Products { a, b, d } = Products::of(self, plant);
        match (b, d) {
            (0, 0) => first([(a > 0, Instability::NotDriven), (a < 2 * ONE, Instability::Overshoots)]),
            (0, _) => quadratic(-(ONE - a - d), -d),
            (_, 0) => quadratic(-(2 * ONE - a - b), ONE - a),
            (_, _) => cubic(-(2 * ONE - a - b - d), ONE - a - 2 * d, d),
        }
    }
}

/// Jury's conditions for `z² + p·z + q`.
fn quadratic(p: i128, q: i128) -> Option<Instability> {
    first([
        (ONE + p + q > 0, Instability::NotDriven),
        (ONE - p + q > 0, Instability::Overshoots),
        (q.abs() < ONE, Instability::Swings),
    ])
}

/// Jury's conditions for `z³ + p·z² + q·z + r`.
fn cubic(p: i128, q: i128, r: i128) -> Option<Instability> {
    first([
        (ONE + p + q + r > 0, Instability::NotDriven),
        (ONE - p + q - r > 0, Instability::Overshoots),
        (r.abs() < ONE, Instability::Swings),
        (ONE * ONE - r * r > (r * p - ONE * q).abs(), Instability::Swings),
    ])
}

fn first<const N: usize>(conditions: [(bool, Instability); N]) -> Option<Instability> {
    conditions.into_iter().find(|(holds, _)| !holds).map(|(_, why)| why)
}
