//! The simulator: the real engine in a world made of one seed.
//!
//! Clock, chance, model, tools, people and the lines to the store are simulated;
//! the engine, the run machine and the store's rules are the real ones. A seed is
//! run twice and must leave the same trace; then the oracle's rules are applied
//! to what is durable and to what happened outside.
//!
//! ```text
//! plan ─► lives (drive) ─► engine ─► store, model, tools, people ─► state ─► check
//! ```
//!
//! Invariants
//! - Nothing reads the machine's clock or chance: all of it comes from the seed.
//! - What a crash ends, it ends everywhere at once; what was acknowledged stays.
//! - No seeded bug is in the engine: each one is a seam that breaks its contract.

mod bugs;
mod check;
mod disk;
mod drive;
mod evidence;
mod model;
mod outside;
mod people;
mod plan;
pub mod report;
mod state;
mod store;
mod tools;
mod trace;
mod violation;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bowline_core::event::{Event, Refusal};
use bowline_core::id::RunId;
use bowline_core::journal::Record;
use bowline_core::provenance::Digest;
use bowline_store::{ListFilter, MemoryStore, RunStore};

pub use bugs::{ALL as BUGS, Bug, Expected};
pub use plan::{Flavour, Plan};
pub use violation::{Check, Violation};

use check::{Evidence, Numbered};
use state::{State, World};

/// What came of a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The seed.
    pub seed: u64,
    /// Names everything that happened.
    pub trace: Digest,
    /// The trace itself, if it was asked for.
    pub lines: Vec<String>,
    /// Broken promises.
    pub violations: Vec<Violation>,
    /// What happened how often: faults, crashes, effects, endings.
    pub tally: BTreeMap<&'static str, u64>,
    /// Virtual time that passed, in milliseconds.
    pub virtual_ms: u64,
}

/// How a seed is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// A bug to switch on.
    pub bug: Option<Bug>,
    /// Keep the lines of the trace.
    pub keep_lines: bool,
    /// Ask the checker in the other language too.
    pub second_opinion: bool,
}

/// Runs a seed once. `workspace` is an empty folder of this thread's own.
pub fn run_once(seed: u64, look: Look, workspace: &Path) -> io::Result<Outcome> {
    clear(workspace)?;
    let flavour = look.bug.map_or(Flavour::default(), Bug::flavour);
    let plan = Plan::draw(seed, flavour, &workspace.display().to_string());
    let world = Arc::new(World::new(plan, look.bug, look.keep_lines));
    drive::live_through(&world)?;
    let world = Arc::into_inner(world).ok_or_else(|| io::Error::other("a life goes on after its end"))?;
    judge(seed, look, world.into_state())
}

/// Runs a seed twice; the traces must be the same.
pub fn run_twice(seed: u64, look: Look, workspace: &Path) -> io::Result<Outcome> {
    let mut first = run_once(seed, look, workspace)?;
    let second = run_once(seed, Look { second_opinion: false, ..look }, workspace)?;
    if first.trace != second.trace {
        let (one, other) = (first.trace.short(), second.trace.short());
        let parted = parted(&first.lines, &second.lines);
        let text = format!("trace {one} the first time, {other} the second{parted}");
        first.violations.push(Violation { check: Check::Repeatable, text });
    }
    Ok(first)
}

/// Where two traces part, if their lines were kept.
fn parted(first: &[String], second: &[String]) -> String {
    let same = first.iter().zip(second).take_while(|(one, other)| one == other).count();
    match (first.get(same), second.get(same)) {
        (None, None) => String::new(),
        (one, other) => {
            let line = |line: Option<&String>| line.map_or("nothing", String::as_str).to_owned();
            format!("; line {} was\n    {}\n  and then\n    {}", same + 1, line(one), line(other))
        }
    }
}

fn judge(seed: u64, look: Look, mut state: State) -> io::Result<Outcome> {
    let records = read_all(&state.disk.store)?;
    let mut journals: BTreeMap<RunId, Vec<Numbered>> = BTreeMap::new();
    for (run, records) in &records {
        let numbered =
            records.iter().flat_map(|record| (record.seq..).zip(record.events().unwrap_or_default()));
        journals.insert(run.clone(), numbered.collect());
    }
    let evidence = Evidence {
        journals: &journals,
        entries: &state.outside.entries,
        durable: &state.outside.durable,
        client: &state.client,
        letters: &state.letters,
    };
    let found = check::examine(&evidence);
    state.violations.extend(found);
    if look.second_opinion {
        let second = evidence::second_opinion(&state, &records).map_err(io::Error::other)?;
        state.violations.extend(second);
    }
    for journal in journals.values() {
        state.count(ending_word(journal), "");
        journal.iter().filter_map(|(_, event)| event_word(event)).for_each(|word| state.count(word, ""));
    }
    Ok(Outcome {
        seed,
        trace: state.trace.hash(),
        lines: state.trace.lines().to_vec(),
        virtual_ms: state.virtual_ms(),
        violations: state.violations,
        tally: state.tally,
    })
}

/// Events that show how much of the invocation policy a seed has tried.
fn event_word(event: &Event) -> Option<&'static str> {
    if let Event::CallRefused { why: Refusal::Unavailable, .. } = event {
        return Some("call refused by a breaker");
    }
    match event {
        Event::CallTroubled { .. } => Some("call tried again"),
        Event::BreakerOpened { .. } => Some("breaker opened"),
        Event::BreakerClosed { .. } => Some("breaker closed"),
        Event::Compensated { .. } => Some("call undone, or not"),
        Event::AlertRaised { .. } => Some("alert raised"),
        Event::UndoFinished { .. } => Some("undone by a person"),
        _ => None,
    }
}

fn ending_word(journal: &[Numbered]) -> &'static str {
    use bowline_core::event::Ending;
    let behind = |event: &&Event| !matches!(event, Event::Ended { .. } | Event::Resumed { .. });
    match journal.iter().rev().map(|(_, event)| event).find(|event| !behind(event)) {
        Some(Event::Ended { ending: Ending::Committed { .. }, .. }) => "run committed",
        Some(Event::Ended { ending: Ending::Failed { .. }, .. }) => "run failed",
        Some(Event::Ended { ending: Ending::Halted { .. }, .. }) => "run halted",
        Some(_) | None => "run open",
    }
}

/// Every record there is.
fn read_all(store: &MemoryStore) -> io::Result<BTreeMap<RunId, Vec<Record>>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let mut all = BTreeMap::new();
        let filter = ListFilter { max: usize::MAX, ..ListFilter::default() };
        for row in store.list(filter).await.map_err(io::Error::other)? {
            let records = store.records(&row.run, 1, usize::MAX).await.map_err(io::Error::other)?;
            all.insert(row.run, records);
        }
        Ok(all)
    })
}

fn clear(workspace: &Path) -> io::Result<()> {
    for found in std::fs::read_dir(workspace)? {
        std::fs::remove_file(found?.path())?;
    }
    Ok(())
}
