//! The `[control]` of a task file: how repairs are controlled. What a key means
//! stands at the setting it becomes. Gains that make the loop swing are refused.

use super::field::Table;
use super::limits::Bound;
use crate::control::{Band, Gains, Obedience, Plant, Ppm, Quality, Settings};

/// The keys of `[control]`.
pub(crate) const KEYS: [&str; 13] = [
    "setpoint",
    "gate",
    "gain",
    "sigma",
    "damping",
    "proportional",
    "integral",
    "derivative",
    "least",
    "most",
    "stall",
    "cost_slope",
    "act",
];

/// The largest gain that may be written.
const GAIN_MOST: u64 = 100;

pub(super) fn read(table: &Table<'_>) -> Settings {
    let default = Settings::default();
    let share = |key| fraction(table, key, 1);
    let plant = Plant {
        gain: share("gain").unwrap_or(default.plant.gain),
        sigma: share("sigma").unwrap_or(default.plant.sigma),
        rounds: 0,
    };
    refuse_zero(table, "gain", plant.gain);
    let band = Band {
        least: share("least").unwrap_or(default.band.least),
        most: share("most").unwrap_or(default.band.most),
    };
    if let (Some(field), true) = (table.get("most").or_else(|| table.get("least")), band.least > band.most) {
        field.wrong(format!("`least` {} is above `most` {}", band.least, band.most), "swap them");
    }
    refuse_zero(table, "most", band.most);
    let stall = table.get("stall").and_then(|field| field.amount(&Bound::count("stall", 1, 1000)));
    let acts = [("advise", Obedience::Advise), ("obey", Obedience::Obey)];
    Settings {
        setpoints: share("setpoint").map_or(default.setpoints, Quality::all),
        gate: share("gate").unwrap_or(default.gate),
        plant,
        gains: gains(table, plant),
        band,
        stall: stall.and_then(|count| u32::try_from(count).ok()).unwrap_or(default.stall),
        slope: fraction(table, "cost_slope", 100).unwrap_or(default.slope),
        obedience: table.get("act").and_then(|field| field.one_of(&acts)).unwrap_or_default(),
    }
}

fn fraction(table: &Table<'_>, key: &'static str, most: u64) -> Option<Ppm> {
    let amount = table.get(key)?.amount(&Bound::fraction(key, most))?;
    i64::try_from(amount).ok().map(Ppm)
}

fn refuse_zero(table: &Table<'_>, key: &str, value: Ppm) {
    if let (Some(field), true) = (table.get(key), value == Ppm::ZERO) {
        field.wrong("no repair would ever mend anything", "write a number above 0, to 1");
    }
}

/// Given, or derived from the damping.
fn gains(table: &Table<'_>, plant: Plant) -> Gains {
    let given = |key| fraction(table, key, GAIN_MOST);
    let written = ["proportional", "integral", "derivative"].into_iter().find_map(|key| table.get(key));
    let Some(field) = written else { return Gains::damped(plant.gain, damping(table)) };
    if let Some(damping) = table.get("damping") {
        damping.wrong("gains are written too, so nothing is derived from it", "leave out one or the other");
    }
    let gains = Gains {
        proportional: given("proportional").unwrap_or_default(),
        integral: given("integral").unwrap_or_default(),
        derivative: given("derivative").unwrap_or_default(),
    };
    if let Some(why) = gains.instability(plant.gain) {
        let derived = Gains::damped(plant.gain, Settings::DAMPING);
        field.wrong(
            format!("with a gain of {} these gains {}", plant.gain, why.words()),
            format!("leave them out, or begin with proportional = {}", derived.proportional),
        );
    }
    gains
}

fn damping(table: &Table<'_>) -> Ppm {
    let (least, most) = (Gains::DAMPING_LEAST, Gains::DAMPING_MOST);
    let Some(written) = fraction(table, "damping", 1) else { return Settings::DAMPING };
    if let (Some(field), true) = (table.get("damping"), written < least || written > most) {
        field.wrong(format!("{written} is not from {least} to {most}"), "write a number from 0.2 to 0.5");
    }
    written
}
