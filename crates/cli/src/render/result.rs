//! How a run ended, on half a screen: the result, how it was checked, what it
//! took, where everything is, and the hash that proves it later.

use bowline::Stopped;
use bowline_core::event::{Ending, Subject, Verdict};
use bowline_core::run::{LANDING, Run};
use bowline_core::task::WorkspaceMode;
use bowline_core::view::{ending_line, landed, promoted};

use super::screen::Look;
use super::{Screen, escape, next, story, words};
use crate::exit::Exit;
use crate::home::Home;
use crate::output::runs as output;
use crate::report::Report;

/// Most lines of the output that are shown; all of it is in the file.
const OUTPUT_LINES: usize = 20;

/// Shows how a run stopped.
pub(crate) fn show(screen: &Screen, home: &Home, report: &Report, stopped: &Stopped) {
    if screen.is_json() {
        screen.json(&last_line(report, stopped));
        return;
    }
    headline(screen, report, stopped);
    output(screen, report);
    for (name, text) in facts(home, report) {
        screen.line(&format!("  {name:<10}  {text}"));
    }
    steps(screen, home, &report.run);
}

/// The last line of `--json`.
fn last_line<'a>(report: &'a Report, stopped: &'a Stopped) -> output::Stopped<'a> {
    let (ending, waiting) = match stopped {
        Stopped::Ended(ending) => (Some(ending.into()), None),
        Stopped::Waiting(waits) => (None, Some(waits.as_slice())),
        Stopped::Asked => (None, None),
    };
    output::Stopped {
        run: &report.run.id,
        ending,
        exit: Exit::of_stop(&report.run, stopped).code(),
        head: report.row.head,
        waiting,
    }
}

/// The ending in one word.
pub(crate) fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Committed { .. } => "committed",
        Ending::Failed { .. } => "failed",
        Ending::Halted { .. } => "halted",
    }
}

fn headline(screen: &Screen, report: &Report, stopped: &Stopped) {
    let (look, how) = match stopped {
        Stopped::Ended(ending @ Ending::Committed { .. }) => (Look::Good, ending_line(ending)),
        Stopped::Ended(ending @ (Ending::Failed { .. } | Ending::Halted { .. })) => {
            (Look::Bad, ending_line(ending))
        }
        Stopped::Waiting(_) => (Look::Open, "waits for a person".into()),
        Stopped::Asked => (Look::Open, "interrupted; nothing is lost".into()),
    };
    let run = screen.paint(Look::Strong, &format!("run {}", report.run.id));
    screen.line(&format!("{run}  {}", screen.paint(look, &escape::line(&how))));
}

fn output(screen: &Screen, report: &Report) {
    let Some(output) = &report.output else { return };
    let safe = escape::multiline(output);
    let lines: Vec<&str> = safe.trim_end().lines().collect();
    for line in lines.iter().take(OUTPUT_LINES) {
        screen.line(&format!("  │ {line}"));
    }
    if lines.len() > OUTPUT_LINES {
        screen.line(&format!("  │ … {} more", words::several((lines.len() - OUTPUT_LINES) as u64, "line")));
    }
}

/// Name and text of everything worth knowing about a run.
fn facts(home: &Home, report: &Report) -> Vec<(&'static str, String)> {
    let run = &report.run;
    let mut facts = Vec::new();
    if run.ending().is_some() || !report.facts.checks.is_empty() {
        facts.push(("checked", checked(report)));
    }
    facts.extend(report.facts.repairs.iter().zip(1..).map(|(diagnosis, round)| {
        ("repaired", format!("round {round}: {}", story::said(&diagnosis.summary)))
    }));
    facts.push(("spent", spent(run)));
    if matches!(run.ending(), Some(Ending::Committed { .. })) {
        let results = home.results().join(run.id.as_str());
        facts.push(("output", results.join("output.txt").display().to_string()));
        facts.push(("provenance", results.join("provenance.json").display().to_string()));
    }
    facts.extend(apart(home, run));
    facts.extend(memory(run).map(|line| ("memory", line)));
    facts.extend(report.undone().into_iter().map(|line| ("undone", line)));
    if run.ending().is_some() {
        let head = report.row.head;
        facts.push(("head", head.to_string()));
        facts.push(("verify", format!("{} audit verify {} --expect {head}", home.program(), run.id)));
    }
    facts
}

/// Where a run worked that did not work in place, and what became of its changes.
fn apart(home: &Home, run: &Run) -> Vec<(&'static str, String)> {
    let copy = home.workspaces().join(run.id.as_str());
    let copy = copy.display();
    let became = match &run.landing.outcome {
        _ if run.landing.wanted => Some("begun and not over".to_owned()),
        Some(_) if run.deeds.undone.contains(&LANDING) => Some("taken back".to_owned()),
        Some(outcome) => Some(escape::line(&landed(outcome))),
        None => None,
    };
    let place = match (run.task.workspace.mode, &became) {
        (WorkspaceMode::InPlace, _) => return Vec::new(),
        (WorkspaceMode::Copy, None) => format!("{copy} (a copy; the original is untouched)"),
        (WorkspaceMode::Copy | WorkspaceMode::Isolated, _) => format!("{copy} (a copy)"),
    };
    let mut facts = vec![("workspace", place)];
    facts.extend(became.map(|how| ("changes", how)));
    facts
}

/// Whether whoever keeps outputs has this one.
pub(crate) fn memory(run: &Run) -> Option<String> {
    let handed = run.promotion.as_ref()?;
    Some(match &handed.outcome {
        None => "begun and not over".into(),
        Some(outcome) => escape::line(&promoted(outcome)),
    })
}

/// How an output was checked, honestly.
pub(crate) fn checked(report: &Report) -> String {
    let approved = report.facts.approvals.iter().rev().find(|answer| answer.subject == Subject::Output);
    let by = match approved.map(|answer| &answer.verdict) {
        Some(Verdict::Approved { by }) => format!("; approved by {}", escape::line(by)),
        Some(Verdict::Denied { by, .. }) => format!("; denied by {}", escape::line(by)),
        Some(Verdict::SentBack { by, .. }) => format!("; sent back by {}", escape::line(by)),
        Some(Verdict::Expired) => "; nobody approved it in time".into(),
        None => String::new(),
    };
    let Some(round) = report.facts.checks.iter().map(|check| check.round).max() else {
        return format!("nothing has been checked{by}");
    };
    let last = report.facts.checks.iter().filter(|check| check.round == round);
    let named = last.map(|check| {
        let how = if check.passed { "passed" } else { "failed" };
        format!("{} {how}", escape::line(&check.name))
    });
    let rounds = if round > 1 { format!(" (round {round})") } else { String::new() };
    format!("{}{rounds}{by}", named.collect::<Vec<_>>().join(", "))
}

/// What a run took, in a line.
pub(crate) fn spent(run: &Run) -> String {
    let spend = &run.spend;
    format!(
        "{}, {}, {} tokens, {}, {} at work",
        words::several(u64::from(spend.steps), "step"),
        words::several(u64::from(spend.tool_calls), "tool call"),
        words::count(spend.settled.tokens),
        words::money(spend.settled.micros),
        words::duration(spend.active_ms),
    )
}

/// What to do next, as commands.
pub(crate) fn steps(screen: &Screen, home: &Home, run: &Run) {
    let steps = next::steps(home.program(), run);
    let wide = steps.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, does) in steps {
        screen.line(&format!("  → {command:<wide$}  {}", screen.paint(Look::Dim, &does)));
    }
}
