//! `bowline guard eval`: guards side by side on recorded runs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::thread::available_parallelism;

use bowline_core::guard::loops::Action;
use bowline_guard::evaluate::{APART, Part, Plan, Report, RunDecision, Scores, evaluate};
use bowline_guard::judge::Guard;
use bowline_guard::score::Verdict;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::guard_args::{Contender, EvalArgs};
use crate::output::tools::{self as output, Blocks, Evaluated, EvaluatedGuard, Stops};
use crate::render::bar::Bar;
use crate::render::{Screen, table, words};

/// Scores guards and shows the tables.
pub(crate) fn eval(screen: &Screen, args: &EvalArgs) -> Result<Exit, CliError> {
    let contenders = args.preset.clone().map_or_else(Contender::all, |only| vec![only]);
    let guards: Vec<&dyn Guard> = contenders.iter().map(Contender::guard).collect();
    let bar = Bar::new();
    let plan = Plan {
        guards: &guards,
        action: args.act,
        part: args.part(),
        decisions_of: args.decisions.as_ref().map(|_| 0),
        threads: available_parallelism().map_or(1, usize::from),
        progress: &|now| bar.at(now.read, now.bytes, &words::several(now.runs, "run")),
    };
    let report = evaluate(&args.paths, &plan);
    bar.clear();
    let report = report.map_err(|error| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        CliError::refused(format!("{error}{cause}"), error.remedy())
    })?;
    if let Some(path) = &args.decisions {
        write_decisions(path, &report.decisions).map_err(CliError::io("write", path))?;
    }
    if args.json {
        screen.json(&as_json(&report, &guards, args));
    } else {
        show(screen, &report, &guards, args);
    }
    Ok(Exit::Committed)
}

fn write_decisions(path: &Path, decisions: &[RunDecision]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for RunDecision { id, decision } in decisions {
        let verdict = match decision.verdict {
            Verdict::Block => "block",
            Verdict::Stop => "stop",
        };
        let (reason, evidence) = (&decision.grounds.reason, &decision.grounds.evidence);
        let line = json!({ "id": id, "call": decision.call, "verdict": verdict, "reason": reason, "evidence": evidence });
        writeln!(file, "{line}")?;
    }
    file.into_inner()?.sync_all()
}

fn show(screen: &Screen, report: &Report, guards: &[&dyn Guard], args: &EvalArgs) {
    let blocks = |scores: &Scores| (scores.block.losing_share(), scores.block.redundant_share());
    let stops = |scores: &Scores| (scores.stop.false_share(), scores.stop.saved_share());
    if matches!(args.act, Action::Block | Action::Both) {
        screen.line("BLOCK  % of successes that lost information (lower is better) / of redundant calls in failures blocked (higher)");
        show_table(screen, report, guards, &blocks);
    }
    if matches!(args.act, Action::Stop | Action::Both) {
        screen.line("STOP  % of successes stopped (lower is better) / of calls in failures saved (higher)");
        show_table(screen, report, guards, &stops);
    }
    let pool = report.pooled(0);
    let successes = pool.block.successes.max(pool.stop.successes);
    let failures = pool.block.failures.max(pool.stop.failures);
    screen.line(&format!(
        "pool ({}): {} succeeded, {} failed; {} of unknown success or without a call left out",
        part_word(args.part()),
        words::count(successes),
        words::count(failures),
        words::several(report.left_out, "run")
    ));
}

type Shares = (Option<f64>, Option<f64>);

fn show_table(screen: &Screen, report: &Report, guards: &[&dyn Guard], of: &dyn Fn(&Scores) -> Shares) {
    let sources = sources(report);
    let mut headings = vec!["GUARD", "POOL"];
    headings.extend(sources.iter().copied());
    let rows: Vec<Vec<String>> = guards
        .iter()
        .zip(&report.scores)
        .enumerate()
        .map(|(at, (guard, by_source))| {
            let mut row = vec![guard.name().to_owned(), cell(of(&report.pooled(at)))];
            row.extend(sources.iter().map(|source| cell(by_source.get(*source).map_or((None, None), of))));
            row
        })
        .collect();
    for line in table::lines(&headings, &rows, screen.width()) {
        screen.line(&line);
    }
    screen.line("");
}

/// The sources of the pool, then the one that stands apart.
fn sources(report: &Report) -> Vec<&str> {
    let all: BTreeSet<&str> = report.runs.keys().map(String::as_str).collect();
    let (apart, pool): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|source| *source == APART);
    pool.into_iter().chain(apart).collect()
}

fn cell((cost, gain): Shares) -> String {
    let percent = |share: Option<f64>| share.map_or("–".into(), |share| format!("{:.1}", share * 100.0));
    format!("{} / {}", percent(cost), percent(gain))
}

fn part_word(part: Part) -> &'static str {
    match part {
        Part::Whole => "all runs",
        Part::Tuning => "tuning part",
        Part::HeldOut => "held-out part",
    }
}

fn as_json<'a>(report: &'a Report, guards: &'a [&dyn Guard], args: &EvalArgs) -> Evaluated<'a> {
    let guards = guards.iter().zip(&report.scores).enumerate().map(|(at, (guard, by_source))| {
        let told = |(source, scores): (&String, &Scores)| (source.clone(), scores_json(scores, args.act));
        let pool = scores_json(&report.pooled(at), args.act);
        EvaluatedGuard { guard: guard.name(), pool, sources: by_source.iter().map(told).collect() }
    });
    let part = match args.part() {
        Part::Whole => output::Part::Whole,
        Part::Tuning => output::Part::Tuning,
        Part::HeldOut => output::Part::HeldOut,
    };
    Evaluated { part, runs: &report.runs, left_out: report.left_out, guards: guards.collect() }
}

fn scores_json(scores: &Scores, action: Action) -> output::Scores {
    let block = matches!(action, Action::Block | Action::Both).then(|| Blocks {
        information_losing: scores.block.losing_share(),
        redundant_blocked: scores.block.redundant_share(),
        counts: scores.block,
    });
    let stop = matches!(action, Action::Stop | Action::Both).then(|| Stops {
        false_stops: scores.stop.false_share(),
        calls_saved: scores.stop.saved_share(),
        counts: scores.stop,
    });
    output::Scores { block, stop }
}
