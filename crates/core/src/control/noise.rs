//! How near to its setpoint a noisy loop stays: the floor below which no number of
//! rounds gets the error.
//!
//! With the state `x = (e(k), Σe before k, e(k−1))` the linear loop is
//! `x(k+1) = A·x(k) + (w, 0, 0)`, and the stationary covariance solves
//! `P = A·P·Aᵀ + σ²·E`. For P alone that is `σ²/(1 − (1−G·Kp)²)`. It is solved by
//! doubling: `Pₙ₊₁ = Pₙ + Aₙ·Pₙ·Aₙᵀ`, `Aₙ₊₁ = Aₙ²`.

use super::stability::{ONE, Products};
use super::{Gains, Ppm};

type Matrix = [[i128; 3]; 3];

/// Doublings: the last one looks a million rounds ahead.
const DOUBLINGS: usize = 20;
/// A variance a billion times that of the noise is no floor but a loop that barely settles.
const VARIANCE_MAX: i128 = ONE * 1_000_000_000;

/// The root of the mean squared error that noise of this deviation keeps up.
/// `None`: the loop does not settle, or so slowly that there is no telling.
#[must_use]
pub fn floor(gains: &Gains, plant: Ppm, sigma: Ppm) -> Option<Ppm> {
    if gains.instability(plant).is_some() {
        return None;
    }
    let variance = stationary(transition(gains, plant))?;
    let root = u128::try_from(variance.checked_mul(ONE)?).ok()?.isqrt();
    let scaled = i128::try_from(root).ok()?.checked_mul(i128::from(sigma.0))?;
    Some(Ppm::narrow(scaled / ONE))
}

fn transition(gains: &Gains, plant: Ppm) -> Matrix {
    let Products { a, b, d } = Products::of(gains, plant);
    // Without a gain on it the sum wanders off unseen: it is left out.
    let sum = if b == 0 { [0, 0, 0] } else { [ONE, ONE, 0] };
    [[ONE - a - b - d, -b, d], sum, [ONE, 0, 0]]
}

/// The stationary variance of the error for noise of variance 1.
fn stationary(mut step: Matrix) -> Option<i128> {
    let mut covariance = [[ONE, 0, 0], [0; 3], [0; 3]];
    for _ in 0..DOUBLINGS {
        let later = by_transposed(by_transposed(step, covariance), step);
        covariance = sum(covariance, later);
        step = by_transposed(step, transposed(step));
        if covariance.iter().flatten().any(|entry| entry.abs() > VARIANCE_MAX) {
            return None;
        }
    }
    let [[variance, ..], ..] = covariance;
    Some(variance)
}

/// `left · rightᵀ`. A covariance is its own transpose.
fn by_transposed(left: Matrix, right: Matrix) -> Matrix {
    left.map(|row| right.map(|column| dot(row, column)))
}

fn dot(left: [i128; 3], right: [i128; 3]) -> i128 {
    let products = left.into_iter().zip(right).map(|(one, other)| one.saturating_mul(other));
    products.fold(0_i128, i128::saturating_add) / ONE
}

fn transposed([[a, b, c], [d, e, f], [g, h, i]]: Matrix) -> Matrix {
    [[a, d, g], [b, e, h], [c, f, i]]
}

fn sum(left: Matrix, right: Matrix) -> Matrix {
    let [l0, l1, l2] = left;
    let [r0, r1, r2] = right;
    [(l0, r0), (l1, r1), (l2, r2)].map(|([a, b, c], [d, e, f])| [a + d, b + e, c + f])
}
