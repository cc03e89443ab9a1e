//! A series of quality signals, and whether it says that going on is useless.
//!
//! A signal is a number from 0 (useless) to 1 (right), from a critic, a test
//! suite or a person. Only the last few are kept. Feeding and asking are apart:
//! asking twice gives the same answer, and what follows from a decline is
//! decided elsewhere.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The longest window that may be asked for.
pub const WINDOW_MAX: usize = 32;
/// How many signals the cost rule looks at.
const COST_WINDOW: usize = 3;

/// When a series counts as declining.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// A fall is measured from the first to the last of so many signals.
    pub fall_window: usize,
    /// This much of a fall is a decline,
    pub fall_min: f64,
    /// if the window's mean is also below this.
    pub fall_mean_below: f64,
    /// So many signals in a row
    pub flat_window: usize,
    /// with a mean below this are bad enough without any fall.
    pub flat_mean_below: f64,
    /// A rise of this much at the end of a window is a recovery.
    pub recovery_min: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            fall_window: 3,
            fall_min: 0.15,
            fall_mean_below: 0.5,
            flat_window: 5,
            flat_mean_below: 0.3,
            recovery_min: 0.05,
        }
    }
}

/// Why settings were refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BadSettings {
    /// A window is too short to hold a change, or longer than what is kept.
    #[error("{name} is {value} and must be 2 to {WINDOW_MAX}")]
    Window {
        /// Which setting.
        name: &'static str,
        /// What was given.
        value: usize,
    },
    /// A level is no share.
    #[error("{name} is {value} and must be between 0 and 1")]
    Level {
        /// Which setting.
        name: &'static str,
        /// What was given.
        value: f64,
    },
}

impl BadSettings {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Window { name, .. } => format!("set {name} to a whole number from 2 to {WINDOW_MAX}"),
            Self::Level { name, .. } => format!("set {name} to a number from 0 to 1"),
        }
    }
}

/// Why a signal was refused.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadSignal {
    /// Not a number.
    #[error("quality signal is not a number")]
    NotANumber,
    /// Not a share.
    #[error("quality signal {value} is not between 0 and 1")]
    OutOfRange {
        /// What was given.
        value: f64,
    },
}

impl BadSignal {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NotANumber => "report the signal as missing instead of sending a placeholder",
            Self::OutOfRange { .. } => "scale the signal so that 0 is useless and 1 is right",
        }
    }
}

/// Why going on is useless.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Decline {
    /// It falls and is already low.
    Falling {
        /// From the first to the last signal of the window.
        fall: f64,
        /// Of the window.
        mean: f64,
    },
    /// It is bad and stays bad.
    FlatBad {
        /// Of the window.
        mean: f64,
    },
}

/// The last signals of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    settings: Settings,
    recent: VecDeque<f64>,
}

impl Series {
    /// An empty series.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        for (name, value) in [("fall_window", settings.fall_window), ("flat_window", settings.flat_window)] {
            if !(2..=WINDOW_MAX).contains(&value) {
                return Err(BadSettings::Window { name, value });
            }
        }
        let levels = [
            ("fall_min", settings.fall_min),
            ("fall_mean_below", settings.fall_mean_below),
            ("flat_mean_below", settings.flat_mean_below),
            ("recovery_min", settings.recovery_min),
        ];
        match levels.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some((name, value)) => Err(BadSettings::Level { name, value }),
            None => Ok(Self { settings, recent: VecDeque::new() }),
        }
    }

    /// Takes in one signal; one that is no share is refused and changes nothing.
    pub fn record(&mut self, signal: f64) -> Result<(), BadSignal> {
        if signal.is_nan() {
            return Err(BadSignal::NotANumber);
        }
        if !(0.0..=1.0).contains(&signal) {
            return Err(BadSignal::OutOfRange { value: signal });
        }
        self.recent.push_back(signal);
        let kept = self.settings.fall_window.max(self.settings.flat_window).max(COST_WINDOW);
        while self.recent.len() > kept {
            self.recent.pop_front();
        }
        Ok(())
    }

    /// The decline the series shows, if any; a fall is named before flatness.
    #[must_use]
    pub fn decline(&self) -> Option<Decline> {
        self.falling().or_else(|| self.flat_bad())
    }

    /// Mean of the last three signals, once there are three: what lets the cost
    /// rule stop early.
    #[must_use]
    pub fn mean_of_last_three(&self) -> Option<f64> {
        self.last(COST_WINDOW).map(|window| mean(&window))
    }

    fn falling(&self) -> Option<Decline> {
        let window = self.last(self.settings.fall_window)?;
        let (&first, &last) = window.first().zip(window.last())?;
        let before_last = window.iter().rev().nth(1)?;
        let (fall, mean) = (first - last, mean(&window));
        let recovers = at_least(last - before_last, self.settings.recovery_min);
        let falls = at_least(fall, self.settings.fall_min) && mean < self.settings.fall_mean_below;
        (falls && !recovers).then_some(Decline::Falling { fall, mean })
    }

    fn flat_bad(&self) -> Option<Decline> {
        let window = self.last(self.settings.flat_window)?;
        let ends = window.len().div_ceil(2).min(2);
        let late = mean(window.get(window.len() - ends..)?);
        let early = mean(window.get(..ends)?);
        let recovers = at_least(late - early, self.settings.recovery_min);
        let mean = mean(&window);
        (mean < self.settings.flat_mean_below && !recovers).then_some(Decline::FlatBad { mean })
    }

    fn last(&self, count: usize) -> Option<Vec<f64>> {
        let start = self.recent.len().checked_sub(count)?;
        Some(self.recent.iter().skip(start).copied().collect())
    }
}

/// `0.6 - 0.45` is a little less than 0.15 in binary; nobody means that.
fn at_least(value: f64, level: f64) -> bool {
    value >= level - 1e-9
}

fn mean(signals: &[f64]) -> f64 {
    let count = f64::from(u32::try_from(signals.len()).unwrap_or(u32::MAX));
    if signals.is_empty() { 0.0 } else { signals.iter().sum::<f64>() / count }
}

#[cfg(test)]
mod tests;
