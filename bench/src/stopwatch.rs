//! The one place of the benchmark that reads a clock.

use std::time::{Duration, Instant, SystemTime};

/// Now, for durations within this process.
#[expect(clippy::disallowed_methods, reason = "measuring time is what a benchmark is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Nanoseconds since 1970: the one clock a child shares with its parent.
#[expect(clippy::disallowed_methods, reason = "a child measures from the moment its parent started it")]
pub(crate) fn wall_nanos() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// So many per second.
pub(crate) fn rate(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64().max(1e-9)
}

/// The middle of some measurements: what noise moves least.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(f64::NAN);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) {
        f64::midpoint(at(middle.saturating_sub(1)), at(middle))
    } else {
        at(middle)
    }
}

/// The least and the largest, so that a reader sees how noisy the median is.
pub(crate) fn range(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let digits = if largest < 10.0 { 2 } else { 0 };
    format!("[{least:.digits$}–{largest:.digits$}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_between_the_two_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), 3.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn the_range_shows_the_ends() {
        assert_eq!(range(&[2.0, 0.5, 1.0]), "[0.50–2.00]");
        assert_eq!(range(&[200.0, 50.0]), "[50–200]");
    }
}
