//! Every number of the loop detector, in one place.
//!
//! All defaults are finite. Evidence is counted in hundredths, so that sums are
//! exact and the same on every machine.

use serde::{Deserialize, Serialize};

/// What the detector may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Block calls; never end the run.
    Block,
    /// End the run; never block a call.
    Stop,
    /// Block first, end the run when that does not help.
    Both,
}

/// When the detector acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What it may do.
    pub action: Action,
    /// Evidence, in hundredths, at which the strategy is switched; twice as much
    /// ends the run. Lower is stricter.
    pub threshold: u32,
    /// A look, or a failed edit, is blocked after this many equal results.
    pub read_repeats: u32,
    /// Code, or a change that was made already, is blocked after this many.
    pub exec_repeats: u32,
    /// The same call, whatever it returned, is blocked this time.
    pub stubborn_at: u32,
    /// The same poll is blocked this time.
    pub poll_at: u32,
    /// A cycle is blocked when it would come round this time.
    pub cycle_periods: u32,
    /// A read tool that found nothing is blocked this time in a row.
    pub empty_at: u32,
    /// A tool that does not exist is blocked this time.
    pub unknown_at: u32,
    /// A call that was refused is blocked this time.
    pub denied_at: u32,
    /// This many truncated replies in a row end the run.
    pub truncated_at: u32,
    /// Blocks without anything new between them that switch the strategy; as many
    /// more end the run.
    pub blocks: u32,
    /// How similar, in percent, two repair rounds are that count as one.
    pub similar_percent: u32,
    /// How much each observation weighs.
    pub weights: Weights,
}

/// How much each observation weighs, in hundredths. Progress weighs negative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// The second, third, fourth, and fifth or later equal result in a row.
    pub same_in_a_row: [i32; 4],
    /// An equal result in the same world, other calls between.
    pub same_in_one_world: i32,
    /// A change made before, made again after others.
    pub same_change: i32,
    /// The world came back to a state it had left before.
    pub oscillation: i32,
    /// An output seen before, under other arguments.
    pub seen_output: i32,
    /// An error seen before, under other arguments.
    pub seen_error: i32,
    /// The same kind of error again, for each time before.
    pub same_error: i32,
    /// At most this for one more error of the same kind.
    pub same_error_max: i32,
    /// The third and each later failure in a row.
    pub failures_in_a_row: i32,
    /// The fifth and each later call in a row of one tool without anything new.
    pub name_streak: i32,
    /// Each call that goes on with a cycle gone through twice.
    pub cycle: i32,
    /// The sixth and each later call in a row without anything new.
    pub stagnation: i32,
    /// The fifth and each later empty result in a row from one read tool.
    pub empty_in_a_row: i32,
    /// A reply in the words of an earlier one, after a call that brought nothing
    /// new; less for less similar words.
    pub similar_text: i32,
    /// A reply that opens like an earlier one, after a call that brought nothing new.
    pub same_opening: i32,
    /// The second and each later reply in a row without a call.
    pub replies_without_call: i32,
    /// A tool that does not exist.
    pub unknown_tool: i32,
    /// A refused call.
    pub denied: i32,
    /// A blocked call.
    pub blocked: i32,
    /// A new change of the world.
    pub new_change: i32,
    /// An output not seen before.
    pub new_output: i32,
    /// A kind of error not seen before.
    pub new_error: i32,
    /// The same call gave another result.
    pub changed_result: i32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            action: Action::Both,
            threshold: 125,
            read_repeats: 1,
            exec_repeats: 2,
            stubborn_at: 6,
            poll_at: 60,
            cycle_periods: 3,
            empty_at: 5,
            unknown_at: 3,
            denied_at: 3,
            truncated_at: 3,
            blocks: 3,
            similar_percent: 90,
            weights: Weights::default(),
        }
    }
}

/// Found on recorded runs of real agents; the curve is flat around these, so
/// they are round.
impl Default for Weights {
    fn default() -> Self {
        Self {
            same_in_a_row: [60, 60, 150, 300],
            same_in_one_world: 110,
            same_change: 20,
            oscillation: 120,
            seen_output: 20,
            seen_error: 30,
            same_error: 10,
            same_error_max: 30,
            failures_in_a_row: 10,
            name_streak: 5,
            cycle: 100,
            stagnation: 20,
            empty_in_a_row: 50,
            similar_text: 150,
            same_opening: 90,
            replies_without_call: 40,
            unknown_tool: 80,
            denied: 60,
            blocked: 60,
            new_change: -90,
            new_output: -60,
            new_error: -160,
            changed_result: -20,
        }
    }
}
