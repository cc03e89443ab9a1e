//! Checks, made: each kind by whoever can, within its time. No policy.

use std::time::Duration;

use bowline_core::control::Ppm;
use bowline_core::effect::Effect;
use bowline_core::input::What;
use bowline_core::message::Payload;
use bowline_core::quality::{CheckHow, CheckOutcome, Failure};
use bowline_core::verify::{Agreement, EdgeCase, Measure, Opinion, Sampling, agree, confirm, differ};
use bowline_store::StoreError;
use bowline_tools::{OVERRUN_MAX, check};

use crate::hands::{Arrival, Hands};

/// Longest quotation of another answer, in characters.
const QUOTE_MAX: usize = 500;

/// What a check found, what it measured, what it printed.
type Made = (CheckOutcome, Option<Measure>, String);

impl Hands {
    /// Makes one check.
    pub(crate) async fn run_check(&self, effect: &Effect) -> Result<Arrival, StoreError> {
        let Effect::RunCheck { round, index, how, output, opinions } = effect else {
            return Ok(What::Tick.into());
        };
        let started = self.clock.now();
        let output = self.texts.join(output).await?;
        let (outcome, measure, log) = match how {
            CheckHow::Consistent(sampling) => self.compare(sampling, &output, opinions).await?,
            CheckHow::EdgeCases(rules) => {
                let cases: Vec<EdgeCase> = opinions.iter().flat_map(cases_of).cloned().collect();
                let count = u32::try_from(cases.len()).unwrap_or(u32::MAX);
                let limit = Duration::from_millis(rules.timeout_ms).saturating_mul(count);
                let made = check::run_edge_cases(&self.workspace, &self.sandbox, rules, &cases);
                within(limit, made).await.unwrap_or_else(late)
            }
            how => self.execute(how, &output).await,
        };
        let duration_ms = self.clock.now().since(started);
        let mut blobs = Vec::new();
        let log = Payload::keep(self.masked(log), &mut blobs);
        let outcome = self.masked_outcome(outcome);
        let (round, index) = (*round, *index);
        let what = What::CheckReturned { round, index, outcome, measure, log, duration_ms };
        Ok(Arrival { what, blobs })
    }

    /// Makes a check that needs nothing but the output.
    async fn execute(&self, how: &CheckHow, output: &str) -> Made {
        match how {
            CheckHow::Schema(schema) => (check::run_schema_check(schema, output).await, None, String::new()),
            CheckHow::Command { argv, timeout_ms } => {
                let limit = Duration::from_millis(*timeout_ms);
                let made = check::run_command_check(&self.workspace, &self.sandbox, argv, output, limit);
                within(limit, made).await.map_or_else(late, |(outcome, log)| (outcome, None, log))
            }
            CheckHow::Tests(run) => {
                let limit = Duration::from_millis(run.timeout_ms);
                let made = check::run_tests(&self.workspace, &self.sandbox, run, output);
                within(limit, made).await.unwrap_or_else(late)
            }
            CheckHow::Assert(stated) => {
                (check::assertion_check(&self.workspace, stated, output).await, None, String::new())
            }
            // These are concluded from what a judge said.
            CheckHow::Rubric(_) | CheckHow::Claims(_) | CheckHow::EdgeCases(_) | CheckHow::Consistent(_) => {
                (CheckOutcome::CouldNotRun("nothing here can be executed".into()), None, String::new())
            }
        }
    }

    /// Holds other answers against everything that is executed: the first one that says
    /// something else and holds as well.
    async fn rival<'s>(&self, output: &str, answers: &'s [String]) -> Option<&'s String> {
        let executed: Vec<&CheckHow> =
            self.task.checks.iter().map(|check| &check.how).filter(|how| !how.is_judged()).collect();
        for answer in answers.iter().filter(|answer| differ(output, answer)) {
            let mut holds = true;
            for how in &executed {
                holds = holds && !self.execute(how, answer).await.0.is_bad();
            }
            if holds {
                return Some(answer);
            }
        }
        None
    }

    /// Whether another answer holds as well.
    async fn alone(&self, output: &str, answers: &[String]) -> Made {
        let rival = self.rival(output, answers).await;
        let samples = u32::try_from(answers.len()).unwrap_or(u32::MAX);
        let (score, outcome) = match rival {
            None => (Ppm::ONE, CheckOutcome::Passed),
            Some(rival) => {
                let said: String = rival.chars().take(QUOTE_MAX).collect();
                let message = format!("another answer holds in every check as well: {said}");
                (Ppm::ZERO, CheckOutcome::Failed(vec![Failure::new("consistency", message)]))
            }
        };
        let found = Agreement { score, samples, most_alike: u32::from(rival.is_some()) };
        (outcome, Some(Measure::Agreement(found)), String::new())
    }

    async fn compare(
        &self,
        sampling: &Sampling,
        output: &str,
        opinions: &[Opinion],
    ) -> Result<Made, StoreError> {
        let samples: Vec<Payload> = opinions.iter().filter_map(Opinion::sample).cloned().collect();
        let samples = self.texts.each(&samples).await?;
        if sampling.agree > 0 {
            return Ok(confirmed(sampling.agree, output, &samples));
        }
        if sampling.rivals > 0 {
            return Ok(self.alone(output, &samples).await);
        }
        let (found, other) = agree(sampling.by, output, &samples);
        let outcome = match other {
            None => CheckOutcome::Passed,
            Some(other) => {
                let said: String = other.chars().take(QUOTE_MAX).collect();
                let message = format!("{} of {} other answers say: {said}", found.most_alike, found.samples);
                CheckOutcome::Failed(vec![Failure::new("consistency", message)])
            }
        };
        Ok((outcome, Some(Measure::Agreement(found)), String::new()))
    }
}

/// Whether enough answers that hold are the same as the output.
fn confirmed(wanted: u32, output: &str, earlier: &[String]) -> Made {
    let found = confirm(wanted, output, earlier);
    let outcome = if found.most_alike >= wanted {
        CheckOutcome::Passed
    } else {
        let message = format!("{} of the {wanted} answers that must hold and be the same", found.most_alike);
        CheckOutcome::Failed(vec![Failure::new("consistency", message)])
    };
    (outcome, Some(Measure::Agreement(found)), String::new())
}

fn cases_of(opinion: &Opinion) -> &[EdgeCase] {
    match opinion {
        Opinion::Cases(cases) => cases,
        Opinion::Rubric(_) | Opinion::Claims(_) | Opinion::Sample(_) | Opinion::Unusable(_) => &[],
    }
}

async fn within<T>(limit: Duration, work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(limit + OVERRUN_MAX, work).await.ok()
}

fn late() -> Made {
    (CheckOutcome::CouldNotRun("it did not end in time".into()), None, String::new())
}
