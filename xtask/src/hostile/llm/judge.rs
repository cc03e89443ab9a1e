//! Whether what came of a line is what it expects, and every fact of its oracle.

use anyhow::{Context, Result, bail, ensure};
use bowline_core::event::{Ending, Event, FailReason, HaltReason, StepTrouble};

use super::exact;
use super::form::{Count, Expect, Line, Oracle};
use super::requests;
use super::stage::{KEY, Outcome};

/// Whether it went as one of the accepted verdicts says.
pub(crate) fn judge(line: &Line, outcome: &Outcome) -> Result<()> {
    always(outcome)?;
    let judged = verdict(line.expect, line, outcome).and_then(|()| facts(&line.oracle, outcome, true));
    let Err(first) = judged else { return Ok(()) };
    for other in &line.also_ok {
        if verdict(*other, line, outcome).and_then(|()| facts(&line.oracle, outcome, false)).is_ok() {
            return Ok(());
        }
    }
    Err(first)
}

/// What the soft facts say, where one does not hold.
pub(crate) fn soft(line: &Line, outcome: &Outcome) -> Option<String> {
    let soft = line.oracle.soft.as_ref()?;
    facts(soft, outcome, true).err().map(|error| format!("soft: {error:#}"))
}

fn always(outcome: &Outcome) -> Result<()> {
    ensure!(!outcome.kept.contains(KEY) && !outcome.shown.contains(KEY), "the key was kept or shown");
    ensure!(outcome.other_hosts == 0, "another host was asked");
    Ok(())
}

fn verdict(expect: Expect, line: &Line, outcome: &Outcome) -> Result<()> {
    let ending = ending(outcome);
    match expect {
        Expect::RetryThenFail | Expect::FailAtOnce => {
            ensure!(ending == "model_unavailable", "it did not end for want of a model");
            ensure!(outcome.ran.is_empty(), "a tool ran");
            let once = expect != Expect::FailAtOnce || outcome.asked.len() <= 1;
            ensure!(once, "{} requests", outcome.asked.len());
        }
        Expect::Handled => ensure!(ending == "committed", "it was not committed"),
        Expect::ToolErrorToModel => {
            ensure!(outcome.ran.is_empty() || line.oracle.tool_runs.is_some(), "a tool ran");
            let refusals = refusals(outcome);
            ensure!(!refusals.is_empty(), "the call was not refused");
            let told = refusals.iter().any(|message| requests::is_told(&outcome.asked, message));
            ensure!(told, "the model was not told: {:?}", refusals.first());
            ensure!(ending == "committed", "the run did not go on");
        }
        Expect::CircuitBreak => ensure!(is_stopped(outcome), "nothing stopped it"),
    }
    Ok(())
}

fn refusals(outcome: &Outcome) -> Vec<&str> {
    let told = outcome.events.iter().filter_map(|event| match event {
        Event::CallRefused { message, .. } => Some(message.as_str()),
        _ => None,
    });
    told.collect()
}

/// The form's word for how it ended.
pub(crate) fn ending(outcome: &Outcome) -> &'static str {
    match (&outcome.refused, &outcome.ending) {
        (Some(_), _) => "not_accepted",
        (None, Some(Ending::Committed { .. })) => "committed",
        (None, Some(Ending::Halted { why, .. })) => match why {
            HaltReason::ModelUnavailable { .. } => "model_unavailable",
            HaltReason::LimitReached(_) => "limit",
            HaltReason::Looping(_) => "looping",
            HaltReason::ContextFull(_) => "context_full",
            HaltReason::Cancelled { .. } | HaltReason::RepairStuck { .. } => "halted",
        },
        (None, Some(Ending::Failed { why: FailReason::Truncated { .. }, .. })) => "truncated",
        (None, Some(Ending::Failed { .. })) => "failed",
        (None, None) => "not ended",
    }
}

/// By a limit or a guard, not by an accident.
fn is_stopped(outcome: &Outcome) -> bool {
    matches!(ending(outcome), "not_accepted" | "limit" | "looping" | "context_full" | "halted" | "truncated")
}

/// Every fact; of another verdict than the expected one, those that any may have.
fn facts(oracle: &Oracle, outcome: &Outcome, expected: bool) -> Result<()> {
    if expected {
        counted("requests", oracle.requests, outcome.asked.len())?;
        if let Some(endings) = &oracle.ending {
            let word = ending(outcome);
            ensure!(endings.iter().any(|ending| ending == word), "it ended as {word}");
        }
        if let Some(want) = &oracle.tool_args {
            exact::same(want, &outcome.ran, true).context("tool_args")?;
        }
        is("output", oracle.output_is.as_deref(), &outcome.output)?;
        has("output", &oracle.output_has, &outcome.output)?;
        is("shown", oracle.shown_is.as_deref(), &outcome.shown)?;
    }
    counts(oracle, outcome)?;
    if let Some(want) = &oracle.tool_args_prefix_of {
        exact::same(want, &outcome.ran, false).context("tool_args_prefix_of")?;
    }
    texts(oracle, outcome)?;
    requests::check(oracle, &outcome.asked)?;
    sizes(oracle, outcome)
}

fn counted(what: &str, want: Option<Count>, count: usize) -> Result<()> {
    want.map_or(Ok(()), |want| want.check(what, count as u64))
}

fn counts(oracle: &Oracle, outcome: &Outcome) -> Result<()> {
    counted("tool_runs", oracle.tool_runs, outcome.ran.len())?;
    counted("refusals", oracle.refusals, refusals(outcome).len())?;
    let failed = outcome.events.iter().filter(|event| matches!(event, Event::StepFailed { .. })).count();
    counted("failed_attempts", oracle.failed_attempts, failed)?;
    if let Some(want) = oracle.spent_micros {
        want.check("spent_micros", outcome.spent_micros)?;
    }
    if let Some(want) = oracle.other_hosts {
        want.check("other_hosts", outcome.other_hosts)?;
    }
    if let Some(over) = oracle.spent_over_reserved {
        let reserved = lost(outcome)?;
        ensure!(
            outcome.spent_micros == reserved + over,
            "{} spent, {reserved} were set aside and {over} come on top",
            outcome.spent_micros
        );
    }
    Ok(())
}

/// What was set aside for requests that were lost.
fn lost(outcome: &Outcome) -> Result<u64> {
    let steps = outcome.events.iter().filter_map(|event| match event {
        Event::StepFailed { step, why, .. } if why.kind == StepTrouble::Lost => Some(*step),
        _ => None,
    });
    let steps: Vec<u32> = steps.collect();
    ensure!(!steps.is_empty(), "no request was lost");
    let reserved = outcome.events.iter().filter_map(|event| match event {
        Event::StepStarted { step, reserved, .. } if steps.contains(step) => Some(reserved.micros),
        _ => None,
    });
    Ok(reserved.sum())
}

fn is(what: &str, want: Option<&str>, text: &str) -> Result<()> {
    let short: String = text.chars().take(200).collect();
    ensure!(want.is_none_or(|want| want == text), "{what} is {short:?}");
    Ok(())
}

fn has(what: &str, want: &[String], text: &str) -> Result<()> {
    for want in want {
        ensure!(text.contains(want.as_str()), "{what} lacks {want:?}");
    }
    Ok(())
}

fn lacks(what: &str, want: &[String], text: &str) -> Result<()> {
    for want in want {
        ensure!(!text.contains(want.as_str()), "{what} has {want:?}");
    }
    Ok(())
}

fn texts(oracle: &Oracle, outcome: &Outcome) -> Result<()> {
    let refusals = refusals(outcome).join("\n");
    has("a refusal", &oracle.refusal_has, &refusals)?;
    has("what was shown", &oracle.shown_has, &outcome.shown)?;
    lacks("what was shown", &oracle.shown_lacks, &outcome.shown)?;
    lacks("the output", &oracle.output_lacks, &outcome.output)?;
    has("what was kept", &oracle.kept_has, &outcome.kept)?;
    lacks("what was kept", &oracle.kept_lacks, &outcome.kept)?;
    // As the command line prints them; there are no views in HTML for `html_lacks`.
    let lines = outcome.events.iter().map(bowline_core::view::line);
    let terminal: Vec<String> = lines.map(|line| bowline_core::untrusted::escape_line(&line)).collect();
    let _ = &oracle.html_lacks;
    lacks("the terminal", &oracle.terminal_lacks, &terminal.join("\n"))
}

fn sizes(oracle: &Oracle, outcome: &Outcome) -> Result<()> {
    let at_most = |what: &str, max: Option<u64>, size: u64| {
        ensure!(max.is_none_or(|max| size <= max), "{what}: {size}, more than {max:?}");
        Ok(())
    };
    at_most("text_bytes_max", oracle.text_bytes_max, outcome.longest)?;
    at_most("time_s_max", oracle.time_s_max, outcome.seconds)?;
    at_most("memory_mb_max", oracle.memory_mb_max, outcome.memory_mb)?;
    if let Some(least) = oracle.usage_each_min {
        for event in &outcome.events {
            if let Event::StepFinished { step, usage, .. } = event {
                let enough = usage.input >= least.input && usage.output >= least.output;
                ensure!(enough, "step {step} used {usage:?}");
            }
        }
    }
    if oracle.journal_reads_back && outcome.read_back != outcome.ending {
        bail!("read again the journal ends as {:?}", outcome.read_back);
    }
    Ok(())
}
