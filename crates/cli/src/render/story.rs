//! A run told from the beginning: asked, planned, done, checked, spent, ended.

use bowline_core::event::{Ending, Event, HaltReport, Outcome, Verdict};
use bowline_core::id::Millis;
use bowline_core::run::Run;
use bowline_core::task::WorkspaceMode;
use bowline_core::view::{CallRef, assured, ending_line, line, quality_curve};

use super::screen::Look;
use super::{Screen, escape, live, result, words};
use crate::home::Home;
use crate::output::runs::{Entry, Shown};
use crate::report::Report;

/// Most characters of one thing a critic said.
const SAID_MAX: usize = 240;
/// Most defects shown of one diagnosis.
const DEFECTS_MAX: usize = 8;
/// Most moves between models, and most times that something was left out, that are told
/// one by one.
const MOVES_MAX: usize = 12;

/// Tells it to a person.
pub(crate) fn tell(screen: &Screen, home: &Home, report: &Report, now: Millis) {
    let run = &report.run;
    screen.line(&format!(
        "{}  {}",
        screen.paint(Look::Strong, &format!("run {}", run.id)),
        state(home, report, now)
    ));
    section(screen, "asked", escape::multiline(&run.task.goal).lines().map(str::to_owned).collect());
    section(screen, "with", with(report));
    section(screen, "plan", plan(report));
    section(screen, "ways", ways(report));
    section(
        screen,
        "evidence",
        report
            .facts
            .evidence
            .iter()
            .map(|item| format!("{}  {}", escape::line(&item.path), item.sha256.short()))
            .collect(),
    );
    section(screen, "moved", moved(report));
    section(screen, "left out", left_out(report));
    section(screen, "done", report.facts.calls.iter().map(call).collect());
    section(screen, "answers", answers(report));
    section(screen, "checked", vec![result::checked(report)]);
    let found = run.assurance.as_deref().map(assured).unwrap_or_default();
    section(screen, "gates", found);
    section(screen, "repaired", repairs(report));
    section(screen, "escalated", escalations(report));
    section(screen, "quality", quality_curve(report.events.iter().map(|(_, _, event)| event)));
    section(screen, "spent", spent(report));
    section(screen, "nearly out", live::near(run));
    if run.ending().is_none() {
        section(screen, "left alone", live::left_alone(run, now));
    }
    section(screen, "output", output(report));
    section(screen, "memory", result::memory(run).into_iter().collect());
    if run.ending().is_none() {
        section(screen, "cannot go", run.unable.iter().map(|why| escape::line(why)).collect());
        section(screen, "waits for", live::awaited(run, now).iter().map(|wait| escape::line(wait)).collect());
    }
    section(screen, "head", vec![report.row.head.to_string()]);
    result::steps(screen, home, run);
}

/// The timeline.
pub(crate) fn timeline(screen: &Screen, report: &[(u64, Millis, Event)]) {
    let start = report.first().map_or(Millis(0), |(_, at, _)| *at);
    for (seq, at, event) in report {
        let since = at.since(start);
        screen.line(&format!(
            "{seq:>6}  {:>6}.{:03}  {}",
            since / 1000,
            since % 1000,
            escape::line(&line(event))
        ));
    }
}

fn section(screen: &Screen, name: &str, lines: Vec<String>) {
    for (at, text) in lines.iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        screen.line(&format!("  {}  {text}", screen.paint(Look::Dim, &format!("{name:<10}"))));
    }
}

fn state(home: &Home, report: &Report, now: Millis) -> String {
    match report.run.ending() {
        Some(ending) => escape::line(&ending_line(ending)),
        None if report.row.worker.is_some() && report.row.lease_until > now && home.worker_is_alive() => {
            format!("{}, at work", report.run.phase.word())
        }
        None => format!("{}, nobody works on it", report.run.phase.word()),
    }
}

fn with(report: &Report) -> Vec<String> {
    let task = &report.run.task;
    let mode = match task.workspace.mode {
        WorkspaceMode::Copy => "a copy of",
        WorkspaceMode::Isolated => "apart from",
        WorkspaceMode::InPlace => "in",
    };
    let mut lines = vec![escape::line(&task.model)];
    let others = [
        ("judged by", task.critic.as_slice()),
        ("or else", task.routes.fallbacks.as_slice()),
        ("up to", task.routes.ladder.as_slice()),
    ];
    for (word, models) in others.iter().filter(|(_, models)| !models.is_empty()) {
        lines.push(format!("{word} {}", escape::line(&models.join(", "))));
    }
    lines.push(format!("{mode} {}", escape::line(&task.workspace.path)));
    if !report.run.tools.is_empty() {
        let names: Vec<&str> = report.run.tools.iter().map(|tool| tool.name.as_str()).collect();
        lines.push(format!("tools {}", names.join(", ")));
    }
    lines.push(format!("submitted {}", words::utc(report.run.submitted_at)));
    if let Some(key) = &report.row.key {
        lines.push(format!("key {}", escape::line(key)));
    }
    lines
}

fn plan(report: &Report) -> Vec<String> {
    let Some(plan) = &report.run.plan else { return Vec::new() };
    let subtasks = plan.subtasks();
    if subtasks.len() < 2 {
        return Vec::new();
    }
    let one = |subtask: &bowline_core::plan::Subtask| {
        let after: Vec<&str> = subtask.after.iter().map(bowline_core::id::SubtaskId::as_str).collect();
        let after = if after.is_empty() { String::new() } else { format!(" (after {})", after.join(", ")) };
        format!("{}{after}: {}", subtask.id, escape::cut(&escape::line(&subtask.goal), 80))
    };
    subtasks.into_iter().map(one).collect()
}

/// Where the plan was left, chosen in or changed.
fn ways(report: &Report) -> Vec<String> {
    let turns = report.events.iter().map(|(_, _, event)| event).filter(|event| {
        matches!(event, Event::BranchChosen { .. } | Event::SubtaskFailed { .. } | Event::Replanned { .. })
            || matches!(event, Event::Resumed { without, .. } if !without.is_empty())
    });
    turns.map(|event| escape::line(&line(event))).collect()
}

/// What was tried beyond repair.
fn escalations(report: &Report) -> Vec<String> {
    let events = report.events.iter().map(|(_, _, event)| event);
    let tried = events.filter(|event| matches!(event, Event::Escalated(_)));
    tried.map(|event| escape::line(&line(event))).collect()
}

/// Steps that went to another model, and models that were left alone.
fn moved(report: &Report) -> Vec<String> {
    told(report, |event| matches!(event, Event::StepStarted { sent: Some(_), .. } | Event::Routed(_)))
}

/// What conversations had no room for.
fn left_out(report: &Report) -> Vec<String> {
    told(report, |event| matches!(event, Event::Elided(_)))
}

/// The first events of a kind, a line each.
fn told(report: &Report, is_told: fn(&Event) -> bool) -> Vec<String> {
    let events = report.events.iter().map(|(_, _, event)| event);
    let moves = events.filter(|event| is_told(event));
    let mut lines: Vec<String> = moves.take(MOVES_MAX + 1).map(|event| escape::line(&line(event))).collect();
    if lines.len() > MOVES_MAX {
        lines.truncate(MOVES_MAX);
        lines.push("and more: the timeline has them all".into());
    }
    lines
}

fn call(call: &CallRef) -> String {
    let how = match call.outcome {
        Some(Outcome::Ok) => "done",
        Some(Outcome::Error) => "error",
        Some(Outcome::TimedOut) => "timed out",
        Some(Outcome::Cancelled) => "cancelled",
        Some(Outcome::Unavailable) => "not available",
        None => "no outcome",
    };
    let file = call.file.as_ref().map_or(String::new(), |file| format!(" {}", escape::line(file)));
    let again = if call.attempts > 1 { format!(", {} attempts", call.attempts) } else { String::new() };
    format!("{}  {}{file}: {how}{again}", call.action, call.tool)
}

fn answers(report: &Report) -> Vec<String> {
    let one = |answer: &bowline_core::view::ApprovalRef| match &answer.verdict {
        Verdict::Approved { by } => format!("{}: approved by {}", answer.subject, escape::line(by)),
        Verdict::Denied { by, reason } => {
            format!("{}: denied by {}: {}", answer.subject, escape::line(by), escape::line(reason))
        }
        Verdict::SentBack { by, feedback } => {
            format!("{}: {} asks for changes: {}", answer.subject, escape::line(by), escape::line(feedback))
        }
        Verdict::Expired => format!("{}: nobody answered in time", answer.subject),
    };
    report.facts.approvals.iter().map(one).collect()
}

/// What a critic said, as far as it fits a screen: some never stop.
pub(super) fn said(text: &str) -> String {
    escape::cut(&escape::line(text), SAID_MAX)
}

fn repairs(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for (diagnosis, round) in report.facts.repairs.iter().zip(1..) {
        lines.push(format!("round {round}: {}", said(&diagnosis.summary)));
        for defect in diagnosis.defects.iter().take(DEFECTS_MAX) {
            let place =
                defect.place.as_ref().map_or(String::new(), |place| format!(" ({})", escape::line(place)));
            lines.push(format!("  - {}{place}", said(&defect.what)));
        }
        let more = diagnosis.defects.len().saturating_sub(DEFECTS_MAX);
        if more > 0 {
            lines.push(format!("  - and {more} more (`show --events` has all)"));
        }
    }
    lines
}

fn spent(report: &Report) -> Vec<String> {
    let by_phase = report.facts.tokens_by_phase.iter();
    let by_phase: Vec<String> =
        by_phase.map(|(phase, tokens)| format!("{phase} {}", words::count(*tokens))).collect();
    let mut lines = vec![result::spent(&report.run)];
    if !by_phase.is_empty() {
        lines.push(format!("tokens by phase: {}", by_phase.join(", ")));
    }
    lines
}

fn output(report: &Report) -> Vec<String> {
    let text = report.output.as_deref().unwrap_or_default();
    escape::multiline(text).trim_end().lines().map(|line| format!("│ {line}")).collect()
}

/// What a run that reached a limit left behind.
fn halted(run: &Run) -> Option<&HaltReport> {
    match run.ending()? {
        Ending::Halted { report, .. } => report.as_deref(),
        Ending::Committed { .. } | Ending::Failed { .. } => None,
    }
}

/// The same for machines: one object.
pub(crate) fn object<'a>(report: &'a Report, events: bool) -> Shown<'a> {
    let (run, facts) = (&report.run, &report.facts);
    let entry = |(seq, at, event): &'a (u64, Millis, Event)| Entry { seq: *seq, at: *at, event };
    Shown {
        run: &run.id,
        key: &report.row.key,
        goal: &run.task.goal,
        model: &run.task.model,
        critic: &run.task.critic,
        routes: &run.task.routes,
        steps: &facts.steps,
        elisions: &facts.elisions,
        workspace: &run.task.workspace,
        submitted_at: run.submitted_at,
        updated_at: report.row.updated_at,
        phase: run.phase.word(),
        ending: run.ending().map(Into::into),
        ending_line: run.ending().map(ending_line),
        plan: run.plan.as_deref(),
        evidence: &facts.evidence,
        calls: &facts.calls,
        checks: &facts.checks,
        repairs: &facts.repairs,
        escalations: &facts.escalations,
        missing: run.missing(),
        approvals: &facts.approvals,
        waits: run.waits(),
        limits: &run.limits,
        gauges: run.gauges(),
        report: halted(run),
        spend: &run.spend,
        tokens_by_phase: &facts.tokens_by_phase,
        output: &report.output,
        promotion: &run.promotion,
        events: report.row.next_seq.saturating_sub(1),
        head: report.row.head,
        journal: events.then(|| report.events.iter().map(entry).collect()),
    }
}
