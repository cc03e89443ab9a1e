//! The exponential of a negative number, the same on every machine.
//!
//! The library's `exp` may differ in the last bit from platform to platform,
//! and what is folded into a checkpoint must not. This one uses only the four
//! operations, in a fixed order; its relative error is below 1e-12.

const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// e to the power of anything below is 0 for our purpose.
const LOWEST: f64 = -700.0;

/// `e` to the power of `x`; above zero it is 1, and far below it is 0.
pub(super) fn exp_of_negative(x: f64) -> f64 {
    if x >= 0.0 {
        return 1.0;
    }
    if x < LOWEST || x.is_nan() {
        return 0.0;
    }
    let (mut rest, mut scale) = (x, 1.0);
    let mut power = 512_u32;
    // Take out the powers of two, largest first; then |rest| < ln 2.
    while power > 0 {
        let high = f64::from(power) * LN_2_HIGH;
        let low = f64::from(power) * LN_2_LOW;
        // `power as f64 * ln 2` may be taken out as often as it fits.
        while rest <= -high {
            rest = (rest + high) + low;
            scale *= halved(power);
        }
        power /= 2;
    }
    scale * series(rest)
}

/// Two to the power of minus `power`, exactly.
fn halved(power: u32) -> f64 {
    (0..power).fold(1.0, |value, _| value / 2.0)
}

/// The exponential series; 20 terms are exact enough below ln 2.
fn series(x: f64) -> f64 {
    (1..=20_u32).rev().fold(1.0, |sum, term| 1.0 + x / f64::from(term) * sum)
}

#[cfg(test)]
mod tests {
    use super::exp_of_negative;

    #[test]
    fn it_agrees_with_the_library_to_the_last_digits() {
        for step in 0..70_000_u32 {
            let x = -f64::from(step) / 100.0;
            let (ours, theirs) = (exp_of_negative(x), x.exp());
            assert!((ours - theirs).abs() <= theirs * 1e-12, "{x}: {ours} {theirs}");
        }
        assert!((exp_of_negative(0.0) - 1.0).abs() < f64::EPSILON);
        assert!(exp_of_negative(f64::NEG_INFINITY).abs() < f64::EPSILON);
        assert!(exp_of_negative(-9999.0).abs() < f64::EPSILON);
    }
}
