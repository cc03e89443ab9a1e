//! What each event changes. An event that is refused changes nothing.
//!
//! Nothing is decided here, but for a call that is asked for: whether it may be
//! made is found at once, so that nobody has to report what was blocked.

use super::Regulator;
use super::budget::BadAmount;
use super::decision::{Rule, Verdict};
use super::event::{Call, Event, Logprob, Outcome, Reply, Status};
use super::settings::BadSettings;
use super::subject::OffTopic;
use crate::guard::confidence::{BadConfidence, Confidence};
use crate::guard::quality::BadSignal;
use crate::guard::statistics::Outcome as Counted;
use crate::guard::{Origin, Outcome as Ended, OutputTrace, ReplyTrace};

/// An event that cannot be taken in. It has changed nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// An amount that is none.
    #[error(transparent)]
    Amount(#[from] BadAmount),
    /// A score that is none.
    #[error(transparent)]
    Quality(#[from] BadSignal),
    /// A probability that is none.
    #[error(transparent)]
    Confidence(#[from] BadConfidence),
    /// A run cannot begin with settings that make no sense.
    #[error(transparent)]
    Settings(#[from] BadSettings),
    /// A result without its call.
    #[error("a result of {tool:?} that no open call waits for")]
    NoCall {
        /// The tool it is from.
        tool: String,
    },
}

impl Refused {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::Amount(bad) => bad.remedy().into(),
            Self::Quality(bad) => bad.remedy().into(),
            Self::Confidence(bad) => bad.remedy().into(),
            Self::Settings(bad) => bad.remedy(),
            Self::NoCall { .. } => "report each allowed call once, by the id or the tool it was asked for \
                 with; a blocked call has no result"
                .into(),
        }
    }
}

impl Regulator {
    pub(super) fn take_in(&mut self, event: &Event<'_>) -> Result<(), Refused> {
        match event {
            Event::Run { task } => self.begin(*task)?,
            Event::User { origin, text } => self.user(*origin, *text)?,
            Event::Step => self.step()?,
            Event::Logprobs(tokens) => self.streamed(tokens)?,
            Event::Reply(reply) => self.reply(reply)?,
            Event::Call(call) => self.asked(call),
            Event::Result(outcome) => self.came(outcome)?,
            Event::Tokens(tokens) => self.spent.add_tokens(tokens)?,
            Event::Cost { micros } => self.spent.add_micros(*micros)?,
            Event::Quality { score } => self.quality.record(*score)?,
            Event::Drift { share } => self.drift = Some(OffTopic::told(*share)?),
            Event::Correction { kind } => self.corrections.record_correction(kind),
            Event::Cancel => self.is_cancelled = true,
        }
        Ok(())
    }

    fn begin(&mut self, task: Option<&str>) -> Result<(), Refused> {
        let fresh = Self::new(self.settings.clone())?;
        let ended = std::mem::replace(self, fresh);
        self.corrections = ended.corrections;
        self.last_ms = ended.last_ms;
        if let Some(task) = task {
            self.wrote(task);
        }
        Ok(())
    }

    fn user(&mut self, origin: Origin, text: Option<&str>) -> Result<(), Refused> {
        self.unsaid()?;
        self.watch.user(origin);
        self.wants_more = false;
        match origin {
            Origin::Person => {
                self.statistics.start_turn();
                // Some loops report the task twice: as the run's, and as a message.
                let is_task = |text: &&str| self.spent.steps == 0 && self.subject.is_task(text);
                if let Some(text) = text.filter(|text| !is_task(text)) {
                    self.wrote(text);
                }
            }
            Origin::Harness => {}
        }
        Ok(())
    }

    /// A person wrote: it may correct, and answers may be about it.
    fn wrote(&mut self, text: &str) {
        self.corrections.record_message(text);
        self.subject.add(text);
    }

    fn step(&mut self) -> Result<(), Refused> {
        self.unsaid()?;
        self.count_step();
        self.is_stepping = true;
        self.wants_more = false;
        Ok(())
    }

    fn count_step(&mut self) {
        self.spent.steps = self.spent.steps.saturating_add(1);
        self.watch.stepping();
        let told = self.failures.patterns().iter().map(|pattern| pattern.last).max();
        self.failures_told = self.failures_told.max(told.unwrap_or_default());
    }

    /// Nothing of the next reply is known.
    fn unsaid(&mut self) -> Result<(), BadConfidence> {
        self.confidence = Confidence::new(self.settings.confidence)?;
        self.is_said = false;
        Ok(())
    }

    /// A piece of the reply that is being written, taken in whole or not at all.
    fn streamed(&mut self, tokens: &[Logprob<'_>]) -> Result<(), Refused> {
        let mut confidence =
            if self.is_said { Confidence::new(self.settings.confidence)? } else { self.confidence.clone() };
        for token in tokens {
            confidence.record(token.token, token.logprob)?;
        }
        self.confidence = confidence;
        self.is_said = false;
        Ok(())
    }

    /// A reply that no step announced is a step of its own.
    fn reply(&mut self, reply: &Reply<'_>) -> Result<(), Refused> {
        self.spent.add_tokens(&reply.tokens)?;
        if self.is_said {
            self.unsaid()?;
        }
        self.is_said = true;
        if !self.is_stepping {
            self.count_step();
            self.wants_more = reply.calls > 0 || reply.truncated;
        }
        self.is_stepping = false;
        // Only an answer has to be about the task; what goes with calls is on its way there.
        let is_answer = reply.calls == 0 && !reply.truncated;
        self.drift = is_answer.then(|| self.subject.judge(reply.text)).flatten();
        self.truncated_in_a_row = if reply.truncated { self.truncated_in_a_row.saturating_add(1) } else { 0 };
        self.watch.reply(&ReplyTrace::of(reply.text, reply.calls, reply.truncated));
        Ok(())
    }

    /// Looks at a call before it is made. What is blocked is counted as such at
    /// once, so that nobody has to report it.
    fn asked(&mut self, call: &Call<'_>) {
        let found = self.cut_off().or_else(|| self.over_calls(call)).or_else(|| self.watch.check(call));
        match found.as_ref().map(|found| (found.verdict, found.rule)) {
            None | Some((Verdict::Continue | Verdict::Warn, _)) => {
                self.spent.add_call(call.tool, &self.settings.limits);
                self.statistics.record_call(call.tool);
                self.watch.allowed(call, self.last_ms);
            }
            Some((Verdict::Block, _)) => self.watch.blocked(call),
            Some((Verdict::Stop, Rule::ToolLoop)) => {
                if let Some(fired) = found.clone() {
                    self.watch.stopped(fired);
                }
            }
            Some((Verdict::Stop, _)) => {}
        }
        self.call = found;
    }

    fn came(&mut self, outcome: &Outcome<'_>) -> Result<(), Refused> {
        let Some(duration_ms) = self.watch.result(outcome, self.last_ms) else {
            return Err(Refused::NoCall { tool: outcome.tool.chars().take(64).collect() });
        };
        match outcome.status {
            Status::Done { output, ok, .. } => match OutputTrace::of(output, ok).outcome {
                Ended::Succeeded => {
                    self.statistics.record_result(outcome.tool, Counted::Succeeded, duration_ms);
                    self.failures.record_success(outcome.tool);
                }
                Ended::Failed => {
                    self.statistics.record_result(outcome.tool, Counted::Failed, duration_ms);
                    self.failures.record_failure(outcome.tool, output);
                }
            },
            Status::UnknownTool => {
                self.statistics.record_result(outcome.tool, Counted::Failed, duration_ms);
                self.failures.record_classed(outcome.tool, "no such tool", "there is no such tool");
            }
            // It was never made, which is nothing a tool did.
            Status::Denied => self.failures.record_classed(outcome.tool, "denied", "the call was denied"),
            Status::Retry => {}
        }
        Ok(())
    }
}
