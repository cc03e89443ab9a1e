//! What the detector says, and why.

use serde::{Deserialize, Serialize};

/// What to do with a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Make it.
    Allow,
    /// Do not make it: give the model what is known and the finding's notice.
    Block(Finding),
    /// End the run.
    Stop(Finding),
}

/// Why a call is blocked or a run ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The layer that fired.
    pub layer: Layer,
    /// What it saw.
    pub reason: Reason,
    /// How many times.
    pub times: u32,
    /// Evidence so far, in hundredths.
    pub evidence: u32,
    /// The last changes of the evidence, oldest first.
    pub trail: Vec<Evidence>,
    /// The name of the setting that changes this.
    pub setting: String,
    /// With this block a switch of strategy is due.
    pub switch: bool,
    /// What to tell the model, or the person who reads the ending.
    pub notice: String,
}

impl Finding {
    /// The same call stands twice in one reply.
    #[must_use]
    pub fn in_one_batch() -> Self {
        Self {
            layer: Layer::BatchDuplicate,
            reason: Reason::DuplicateInBatch,
            times: 2,
            evidence: 0,
            trail: Vec::new(),
            setting: String::new(),
            switch: false,
            notice: "this call stands twice in the reply; it was made once, and this is its result"
                .to_owned(),
        }
    }
}

/// One change of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Why.
    pub reason: Reason,
    /// By how much, in hundredths; negative for progress.
    pub points: i32,
    /// After how many recorded calls.
    pub call: u64,
}

/// The layers of the detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The same call twice in one batch.
    BatchDuplicate,
    /// The same call with the same result in the same world.
    ExactRepeat,
    /// The same call again and again, whatever it returned.
    StubbornRepeat,
    /// One tool, nothing new.
    NameStreak,
    /// A cycle of calls and results.
    Cycle,
    /// No new result and no new state of the world.
    Stagnation,
    /// A repair round like an earlier one.
    SemanticLoop,
}

/// What was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The same call gave the same result as right before.
    SameInARow,
    /// The same call gave the same result in the same world, other calls between.
    SameInOneWorld,
    /// A change was made again that had been made before.
    SameChange,
    /// The world came back to a state it had left.
    Oscillation,
    /// The same call, too often, whatever it returned.
    Stubborn,
    /// A poll reached its own maximum.
    PolledOut,
    /// Other arguments gave an output seen before.
    SeenOutput,
    /// Other arguments gave an error seen before.
    SeenError,
    /// The same kind of error again.
    SameError,
    /// Failures in a row.
    FailuresInARow,
    /// Calls of one tool in a row without anything new.
    NameStreak,
    /// A cycle of calls and results.
    Cycle,
    /// Calls without anything new.
    Stagnation,
    /// A read tool found nothing, again and again.
    EmptyInARow,
    /// The model replied in the words of an earlier reply.
    SimilarText,
    /// The model began a reply as it began earlier ones.
    SameOpening,
    /// Replies in a row without a call.
    RepliesWithoutCall,
    /// Replies cut off by the output limit, in a row.
    Truncated,
    /// A tool that does not exist.
    UnknownTool,
    /// A call that was refused.
    Denied,
    /// A call that was blocked.
    Blocked,
    /// The same call twice in one batch; said by the caller that found it with
    /// [`Detector::duplicates`](super::Detector::duplicates).
    DuplicateInBatch,
    /// A repair round like an earlier one.
    SimilarRound,
    /// A new change of the world.
    NewChange,
    /// An output not seen before.
    NewOutput,
    /// A kind of error not seen before.
    NewError,
    /// The same call gave another result.
    ChangedResult,
}

impl Reason {
    /// The layer this belongs to.
    #[must_use]
    pub fn layer(self) -> Layer {
        match self {
            Self::SameInARow | Self::SameInOneWorld | Self::SameChange => Layer::ExactRepeat,
            Self::Stubborn | Self::PolledOut => Layer::StubbornRepeat,
            Self::NameStreak => Layer::NameStreak,
            Self::DuplicateInBatch => Layer::BatchDuplicate,
            Self::SimilarRound => Layer::SemanticLoop,
            Self::Cycle | Self::Oscillation => Layer::Cycle,
            Self::SeenOutput
            | Self::SeenError
            | Self::SameError
            | Self::FailuresInARow
            | Self::Stagnation
            | Self::EmptyInARow
            | Self::SimilarText
            | Self::SameOpening
            | Self::RepliesWithoutCall
            | Self::Truncated
            | Self::UnknownTool
            | Self::Denied
            | Self::Blocked
            | Self::NewChange
            | Self::NewOutput
            | Self::NewError
            | Self::ChangedResult => Layer::Stagnation,
        }
    }

    /// What was seen, for people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::SameInARow => "the same call with the same result in a row",
            Self::SameInOneWorld => "the same call with the same result while nothing changed",
            Self::SameChange => "a change made before",
            Self::Oscillation => "back and forth between states",
            Self::Stubborn => "the same call whatever it returned",
            Self::PolledOut => "a poll at its maximum",
            Self::SeenOutput => "an output seen before",
            Self::SeenError => "an error seen before",
            Self::SameError => "the same kind of error",
            Self::FailuresInARow => "failures in a row",
            Self::NameStreak => "one tool without anything new",
            Self::Cycle => "a cycle of calls and results",
            Self::Stagnation => "nothing new",
            Self::EmptyInARow => "nothing found in a row",
            Self::SimilarText => "a text said before",
            Self::SameOpening => "a reply that opens as before",
            Self::RepliesWithoutCall => "replies without a call",
            Self::Truncated => "cut replies in a row",
            Self::UnknownTool => "a tool that does not exist",
            Self::Denied => "a call that was refused",
            Self::Blocked => "a call that was blocked",
            Self::DuplicateInBatch => "the same call twice in one reply",
            Self::SimilarRound => "a repair round like an earlier one",
            Self::NewChange => "a new change",
            Self::NewOutput => "a new output",
            Self::NewError => "a new error",
            Self::ChangedResult => "another result",
        }
    }

    /// The setting that changes when this acts.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::SameInARow | Self::SameInOneWorld => "read_repeats, exec_repeats",
            Self::Stubborn => "stubborn_at",
            Self::PolledOut => "poll_at",
            Self::Cycle => "cycle_periods",
            Self::EmptyInARow => "empty_at",
            Self::Truncated => "truncated_at",
            Self::UnknownTool => "unknown_at",
            Self::Denied => "denied_at",
            Self::Blocked => "blocks",
            Self::SimilarRound => "similar_percent",
            Self::DuplicateInBatch => "the tool's declaration of how it may be repeated",
            Self::SameChange
            | Self::Oscillation
            | Self::SeenOutput
            | Self::SeenError
            | Self::SameError
            | Self::FailuresInARow
            | Self::NameStreak
            | Self::Stagnation
            | Self::SimilarText
            | Self::SameOpening
            | Self::RepliesWithoutCall
            | Self::NewChange
            | Self::NewOutput
            | Self::NewError
            | Self::ChangedResult => "threshold",
        }
    }

    /// What was seen, and what to do instead, for the model.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            Self::SameInARow | Self::SameInOneWorld => {
                "this call was made before, nothing has changed since, and its result is known; use that result, or do something else"
            }
            Self::SameChange => {
                "this change was made before; look at the current state before making it again"
            }
            Self::Oscillation => {
                "the work goes back and forth between the same states; decide for one of them"
            }
            Self::Stubborn => {
                "this call was made too often in the same situation; change the situation or ask another question"
            }
            Self::PolledOut => {
                "this was polled as often as allowed; go on with other work, or report that it is not ready"
            }
            Self::Cycle => {
                "the same calls with the same results come round again; leave the circle with a different approach"
            }
            Self::EmptyInARow => {
                "this tool keeps finding nothing; look elsewhere, or conclude that there is nothing"
            }
            Self::Truncated => "replies keep being cut off by the output limit; answer in smaller pieces",
            Self::UnknownTool => "this tool does not exist; use one of the tools that were offered",
            Self::Denied => "this call was refused before and will be refused again; do without it",
            Self::Blocked => {
                "blocked calls keep being repeated; use what is known, or take a different approach"
            }
            Self::DuplicateInBatch => {
                "this call stands twice in one reply; it was made once and both got its result"
            }
            Self::SimilarRound => {
                "this repair looks like an earlier one; use another strategy, another prompt, new evidence, or another model or a person"
            }
            Self::SameError | Self::SeenError | Self::FailuresInARow => {
                "the same failure keeps coming back; find its cause before trying again"
            }
            Self::SeenOutput | Self::NameStreak | Self::Stagnation => {
                "the last calls brought nothing new; take a different approach"
            }
            Self::SimilarText | Self::SameOpening | Self::RepliesWithoutCall => {
                "the replies repeat themselves; act, or finish"
            }
            Self::NewChange | Self::NewOutput | Self::NewError | Self::ChangedResult => "this was progress",
        }
    }
}
