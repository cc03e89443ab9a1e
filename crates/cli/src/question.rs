//! What a run asks a person, shown exactly, and the answer that goes back.
//!
//! The answer carries the hash of what was shown, so a question that changed
//! meanwhile is not answered by it.

use std::collections::BTreeSet;
use std::io::BufRead as _;

use bowline::Engine;
use bowline_core::event::{Doubt, Settlement, Subject};
use bowline_core::gate::Disposition;
use bowline_core::id::{ActionId, RunId};
use bowline_core::input::Signal;
use bowline_core::message::Payload;
use bowline_core::provenance::Digest;
use bowline_core::run::{BatchCall, Run, Thread, Wait};
use bowline_core::untrusted::{escape_exact, exhibit};
use bowline_core::view::assured;
use bowline_store::RunStore;

use crate::error::CliError;
use crate::home::person;
use crate::interrupt::Interrupts;
use crate::render::{Screen, escape, words};
use crate::report;

/// Most files that are listed.
const FILES_SHOWN: usize = 20;

/// The lines that show what is asked.
pub(crate) async fn shown(
    store: &dyn RunStore,
    run: &Run,
    (wait, whole): (&Wait, bool),
) -> Result<Vec<String>, CliError> {
    Ok(match wait {
        Wait::Restored { made_at } => vec![format!(
            "run {} was brought back from a backup of {}; it may have gone on elsewhere since",
            run.id,
            words::utc(*made_at)
        )],
        Wait::Paused => vec![format!("run {} is paused", run.id)],
        Wait::Approval { subject: Subject::Action(action), binds, expires_at } => {
            let mut lines = vec![format!("run {} asks: may {action} be made?", run.id)];
            lines.extend(call_lines(store, run, (*action, whole)).await?);
            let why = run.approvals.get(&Subject::Action(*action)).map(|approval| &approval.why);
            let why = why.into_iter().flatten();
            lines.extend(why.map(|concern| format!("  because    {}", escape::line(&concern.words()))));
            if let Some(agent) = &run.task.agent {
                let (name, policy) = (escape::line(&agent.name), agent.policy());
                lines.push(format!("  agent      {name}, policy sha256 {policy}"));
            }
            lines.push(format!("  content    sha256 {binds}"));
            lines.push(format!("  until      {}", words::utc(*expires_at)));
            lines
        }
        Wait::Approval { subject: Subject::Output, binds, expires_at } => {
            let output = report::text(store, run.output.as_deref().unwrap_or_default()).await?;
            let mut lines = vec![format!("run {} asks: may this output be committed?", run.id)];
            lines.extend(escape::multiline(&output).lines().map(|line| format!("  │ {line}")));
            let checked = if run.checked { "its checks passed" } else { "nothing has been checked" };
            lines.push(format!("  checks     {checked}"));
            let found = run.assurance.as_deref().map(assured).unwrap_or_default();
            lines.extend(found.into_iter().map(|line| format!("  {:<9}  {line}", "")));
            lines.extend(changed(run));
            lines.push(format!("  advice     {}", advice(run)));
            lines.push(format!("  content    sha256 {binds}"));
            lines.push(format!("  until      {}", words::utc(*expires_at)));
            lines
        }
        Wait::InDoubt { action, why, .. } => {
            let why = match why {
                Doubt::Crash => "the process died while it was at work",
                Doubt::Cancelled => "the run was cancelled while it was at work",
                Doubt::LostReply => "no reply came",
                Doubt::Restored => {
                    "the run was brought back from a backup, and it may have been made elsewhere since"
                }
            };
            let mut lines = vec![format!("run {}: nobody knows whether {action} happened: {why}", run.id)];
            lines.extend(call_lines(store, run, (*action, whole)).await?);
            lines
        }
    })
}

/// The files a run has written, each once.
fn changed(run: &Run) -> Vec<String> {
    let paths: BTreeSet<&str> = run.images.iter().map(|(_, image)| image.result().0).collect();
    let more = paths.len().saturating_sub(FILES_SHOWN);
    let mut lines: Vec<String> = paths
        .into_iter()
        .take(FILES_SHOWN)
        .map(|path| format!("  wrote      {}", escape::line(path)))
        .collect();
    if more > 0 {
        lines.push(format!("  wrote      … and {more} more"));
    }
    lines
}

/// What is best done about an output, by what is known of it.
fn advice(run: &Run) -> &'static str {
    match run.assurance.as_deref() {
        None => "read it: nothing is known about it",
        Some(found) => match (found.disposition, found.confidence) {
            (Disposition::Commit, _) => "approve: everything that was executed holds",
            (Disposition::Person, Some(_)) => {
                "read it, then approve or ask for changes: only a judge was asked"
            }
            (Disposition::Person, None) => "read it with care: nothing was checked",
            (Disposition::Reject, _) => "ask for changes, or deny it: it is not likely to be right",
        },
    }
}

async fn call_lines(
    store: &dyn RunStore,
    run: &Run,
    (action, whole): (ActionId, bool),
) -> Result<Vec<String>, CliError> {
    let Some(found) = call(run, action) else { return Ok(Vec::new()) };
    let args = report::text(store, std::slice::from_ref(&found.call.args)).await?;
    let shown = exhibit(&args, whole);
    let mut lines = vec![format!("  tool       {}", escape_exact(&found.call.tool))];
    lines.push(format!("  arguments  {} bytes, sha256 {}", args.len(), Digest::of(args.as_bytes()).short()));
    lines.extend(shown.rows.iter().map(|row| format!("  {row}")));
    if shown.is_cut {
        lines.push(format!("  all of it  `bowline approve {} {action} --all` shows it", run.id));
    }
    lines.extend(shown.remarks.iter().map(|remark| format!("  careful    {remark}")));
    Ok(lines)
}

/// The call of that name, while it is open.
pub(crate) fn call(run: &Run, action: ActionId) -> Option<&BatchCall> {
    run.threads.values().flat_map(Thread::calls).find(|(id, _)| *id == action).map(|(_, call)| call)
}

/// Puts every question of a run to the person at the terminal. False when one
/// of them was not answered, and the run cannot go on.
pub(crate) async fn put(
    engine: &Engine,
    screen: &Screen,
    (run, waits): (&RunId, &[Wait]),
    interrupts: &Interrupts,
) -> Result<bool, CliError> {
    let state = engine.inspect(run).await?.run;
    for wait in waits {
        for line in shown(engine.store().as_ref(), &state, (wait, false)).await? {
            screen.line(&line);
        }
        let answered = match wait {
            Wait::Restored { .. } | Wait::Paused => false,
            Wait::Approval { .. } => ask_consent(engine, screen, (run, wait), interrupts).await?,
            Wait::InDoubt { action, attempt, .. } => {
                ask_doubt(engine, screen, (run, *action, *attempt), interrupts).await?
            }
        };
        if !answered {
            return Ok(false);
        }
    }
    Ok(!waits.is_empty())
}

async fn ask_consent(
    engine: &Engine,
    screen: &Screen,
    (run, wait): (&RunId, &Wait),
    interrupts: &Interrupts,
) -> Result<bool, CliError> {
    let is_output = matches!(wait, Wait::Approval { subject: Subject::Output, .. });
    screen.ask(if is_output { "approve? [y/n/c: ask for changes] " } else { "approve? [y/n] " });
    match answer(interrupts).await.as_deref() {
        Some("c") if is_output => {
            screen.ask("what shall be changed? (the model reads it) ");
            let Some(feedback) = answer(interrupts).await else { return Ok(false) };
            engine.send_back(run, &person(), wait, &feedback).await?;
        }
        Some("y" | "yes") => engine.approve(run, &person(), wait).await?,
        Some("n" | "no") => {
            screen.ask("why not? (the model reads it) ");
            let Some(reason) = answer(interrupts).await else { return Ok(false) };
            engine.deny(run, &person(), wait, &reason).await?;
        }
        Some(_) | None => return Ok(false),
    }
    Ok(true)
}

async fn ask_doubt(
    engine: &Engine,
    screen: &Screen,
    (run, action, attempt): (&RunId, ActionId, u32),
    interrupts: &Interrupts,
) -> Result<bool, CliError> {
    screen.ask("did it happen? [y] yes  [r] no, make it now  [g] give it up ");
    let settlement = match answer(interrupts).await.as_deref() {
        Some("y" | "yes") => {
            screen.ask("what came of it? (the model reads it) ");
            let Some(result) = answer(interrupts).await else { return Ok(false) };
            happened(&result)
        }
        Some("r") => Settlement::DidNotHappen,
        Some("g") => given_up(),
        Some(_) | None => return Ok(false),
    };
    engine.signal(run, &person(), Signal::Settle { action, attempt, settlement }).await?;
    Ok(true)
}

/// It happened, with this result.
pub(crate) fn happened(result: &str) -> Settlement {
    let told = if result.is_empty() { "It happened; the result was not recorded." } else { result };
    Settlement::Happened { output: Payload::inline(told) }
}

/// Nobody will find out.
pub(crate) fn given_up() -> Settlement {
    Settlement::GivenUp {
        message: "Nobody could find out whether this happened. It will not be made again; go on without it."
            .into(),
    }
}

/// A line from the terminal; `None` at its end, or when somebody asks to stop.
pub(crate) async fn answer(interrupts: &Interrupts) -> Option<String> {
    let line = tokio::task::spawn_blocking(read_line);
    tokio::select! {
        line = line => line.ok().flatten(),
        () = interrupts.asked() => None,
    }
}

/// Blocks until a line is there.
pub(crate) fn read_line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_owned())
}
