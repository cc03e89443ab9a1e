//! Events in, one decision out: every guard of a run behind one door.
//!
//! [`Regulator::feed`] takes what happened; [`Regulator::decide`] says what to
//! do. Deciding looks only: asked twice it answers the same, and nothing has to
//! be fetched for the next event to count. Whatever order rules are looked at,
//! the answer is the most severe, and all that fired are in it.
//!
//! A regulator is a value: written down and read back it goes on as if nothing
//! had happened.
//!
//! Invariants
//! - Every limit is finite unless `unlimited` was written, and holds whatever
//!   any other rule thinks.
//! - Counters never fall. An event that is refused changes nothing.
//! - Every table has a cap. Of texts only what rules need later is kept, cut to
//!   a bound: the task and what users wrote, examples of corrections and errors.

mod budget;
mod decision;
mod event;
mod exchange;
mod feed;
mod rules;
mod settings;
mod subject;
#[cfg(test)]
mod tests;
mod watch;

use serde::{Deserialize, Serialize};

pub use budget::{BadAmount, Cap, Limits, Spent, TOOLS_MAX, Tokens, WARN_AT, micros};
pub use decision::{Decision, Fired, Rule, Verdict};
pub use event::{Call, Event, Logprob, Outcome, Reply, Status};
pub use exchange::{BadExchange, EXCHANGE, Exchange, IMPORT_BYTES_MAX};
pub use feed::Refused;
pub use settings::{BadSettings, Settings};
pub use subject::{MESSAGES_BYTES_MAX, MESSAGES_MAX};
pub use watch::{OPEN_MAX, trace};

use subject::{OffTopic, Subject};
use watch::Watch;

use super::Origin;
use super::confidence::Confidence;
use super::corrections::Corrections;
use super::failures::Failures;
use super::quality::Series;
use super::statistics::Statistics;

/// The shape of a regulator that is written down.
pub const VERSION: u32 = 2;

/// The guards of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regulator {
    version: u32,
    settings: Settings,
    spent: Spent,
    /// The last moment anything happened; `None` before the first.
    last_ms: Option<u64>,
    is_cancelled: bool,
    /// A step was announced and its reply has not come.
    is_stepping: bool,
    /// The last reply asked for calls, so another step is to follow.
    wants_more: bool,
    truncated_in_a_row: u32,
    quality: Series,
    subject: Subject,
    /// How far the last reply is from the task, where somebody or something said.
    drift: Option<OffTopic>,
    corrections: Corrections,
    confidence: Confidence,
    /// The reply that [`Self::confidence`] is about has come.
    is_said: bool,
    statistics: Statistics,
    failures: Failures,
    /// The last failure the model was told about, as [`Failures`] counts them.
    failures_told: u64,
    watch: Watch,
    /// What was found about the call that was asked for last.
    call: Option<Fired>,
}

impl Regulator {
    /// A regulator that has seen nothing.
    pub fn new(settings: Settings) -> Result<Self, BadSettings> {
        settings.check()?;
        Ok(Self {
            version: VERSION,
            spent: Spent::default(),
            last_ms: None,
            is_cancelled: false,
            is_stepping: false,
            wants_more: false,
            truncated_in_a_row: 0,
            quality: Series::new(settings.quality)?,
            subject: Subject::default(),
            drift: None,
            corrections: Corrections::new(settings.corrections),
            confidence: Confidence::new(settings.confidence)?,
            is_said: false,
            statistics: Statistics::default(),
            failures: Failures::default(),
            failures_told: 0,
            watch: Watch::new(&settings.loops, settings.preset),
            call: None,
            settings,
        })
    }

    /// The version it was written down with; see [`VERSION`].
    #[must_use]
    pub fn version(&self) -> u32 {
        self.version
    }

    /// What it was told beforehand.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Other limits hold from now on; what was used stays used.
    pub fn set_limits(&mut self, limits: Limits) -> Result<(), BadSettings> {
        let settings = Settings { limits, ..self.settings.clone() };
        settings.check()?;
        self.settings = settings;
        Ok(())
    }

    /// What the run has used.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// What tools did, in the run and in its current turn.
    #[must_use]
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Where the last reply, or the one that streams, is unsure of itself.
    #[must_use]
    pub fn confidence(&self) -> &Confidence {
        &self.confidence
    }

    /// What users corrected.
    #[must_use]
    pub fn corrections(&self) -> &Corrections {
        &self.corrections
    }

    /// What to put before later prompts: what users corrected again and again.
    #[must_use]
    pub fn prelude(&self) -> Option<String> {
        self.corrections.prelude()
    }

    /// Time passes; waiting for a person does not count, and a clock that goes
    /// back stands still.
    pub fn at(&mut self, now_ms: u64, waited_for: Option<Origin>) {
        let passed = self.last_ms.map_or(0, |last| now_ms.saturating_sub(last));
        if waited_for != Some(Origin::Person) {
            self.spent.active_ms = self.spent.active_ms.saturating_add(passed);
        }
        self.last_ms = Some(self.last_ms.map_or(now_ms, |last| last.max(now_ms)));
    }

    /// The program was down until now: that time does not count.
    pub fn resumed(&mut self) {
        self.last_ms = None;
        self.watch.forget_times();
    }

    /// Takes in what happened.
    pub fn feed(&mut self, event: &Event<'_>) -> Result<(), Refused> {
        let call = std::mem::take(&mut self.call);
        let fed = self.take_in(event);
        if fed.is_err() {
            self.call = call;
        }
        fed
    }

    /// What to do now. Changes nothing.
    #[must_use]
    pub fn decide(&self) -> Decision {
        let standing = [
            self.cancel(),
            self.money(),
            self.tokens(),
            self.deadline(),
            self.quality(),
            self.loops(),
            self.watch.check_strategy(),
            self.truncation(),
            self.steps(),
            self.tool_calls(),
            self.scope_drift(),
            self.corrected_before(),
            self.failing_again(),
            self.call.clone(),
        ];
        let decision = Decision::of(standing.into_iter().flatten().collect());
        Decision { low_confidence: self.confidence.spans(), ..decision }
    }
}
