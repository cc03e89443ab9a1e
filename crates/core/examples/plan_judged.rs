//! How long it takes to judge plans of a thousand and of ten thousand nodes: links,
//! order, the seven checks, and the figures. Run with `--release`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and says so")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bowline_core::id::{BadName, SubtaskId};
use bowline_core::plan::feasible::{Circumstances, Outfit, check};
use bowline_core::plan::measure::{Estimates, measure};
use bowline_core::plan::prune::Left;
use bowline_core::plan::{Branch, Choice, Fact, Node, Plan, Rule, Subtask};

const REPEATS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for count in [1000, 10_000] {
        for (name, nodes) in
            [("chains", chains(count)?), ("facts only", facts_only(count)?), ("choices", choices(count)?)]
        {
            report(name, count, &nodes)?;
        }
    }
    Ok(())
}

fn report(name: &str, count: usize, nodes: &[Node]) -> Result<(), Box<dyn std::error::Error>> {
    let (plan, made) = timed(|| Plan::new(nodes.to_vec()));
    let plan = plan?;
    let none = BTreeSet::new();
    let tools = Outfit { specs: &[], agent: None };
    let left = Left { tokens: Some(u64::MAX), seconds: Some(u64::MAX) };
    let estimates = Estimates::default();
    let circumstances = Circumstances { facts: &none, tools: &tools, left, slots: 8, estimates };
    let (found, judged) = timed(|| check(plan.clone(), &circumstances));
    let (measured, figures) = timed(|| measure(&found.plan, &estimates));
    println!(
        "{name:<10} {count:>6} nodes: made in {made:?}, judged in {judged:?} ({} orderings added, {}), \
         measured in {figures:?} (10^{:.0} orders, ± {:.2})",
        found.links.orderings.len(),
        if found.is_valid() { "valid" } else { "not valid" },
        measured.flexibility.log10,
        measured.flexibility.error,
    );
    Ok(())
}

/// The least of a few times: what else the machine does only adds to it.
fn timed<T>(work: impl Fn() -> T) -> (T, Duration) {
    let once = || {
        let start = Instant::now();
        let done = work();
        (done, start.elapsed())
    };
    let mut best = once();
    for _ in 1..REPEATS {
        let next = once();
        if next.1 < best.1 {
            best = next;
        }
    }
    best
}

fn id(place: usize) -> Result<SubtaskId, BadName> {
    SubtaskId::parse(&format!("n{place}"))
}

fn fact(place: usize) -> Result<Fact, BadName> {
    Fact::parse(&format!("n{place} is done"))
}

/// Written order and facts both; every fortieth breaks what another made and needed.
fn chains(count: usize) -> Result<Vec<Node>, BadName> {
    let mut nodes = Vec::new();
    for place in 0..count {
        let mut made = Subtask::new(id(place)?, "do it");
        made.makes.push(fact(place)?);
        for back in [1, 7, 60] {
            if place >= back && (place + back) % 3 == 0 {
                made.after.push(id(place - back)?);
                made.needs.push(fact(place - back)?);
            }
        }
        if place % 40 == 39 {
            made.breaks.push(fact(place - 35)?);
        }
        nodes.push(made.into());
    }
    Ok(nodes)
}

/// No order is written: all of it follows from facts.
fn facts_only(count: usize) -> Result<Vec<Node>, BadName> {
    let mut nodes = chains(count)?;
    for node in &mut nodes {
        if let Node::Subtask(subtask) = node {
            subtask.after.clear();
        }
    }
    Ok(nodes)
}

/// Choices of two branches, one after the other in a hundred lanes.
fn choices(count: usize) -> Result<Vec<Node>, BadName> {
    let mut nodes = Vec::new();
    for place in 0..count / 5 {
        let first = place * 5;
        let shared = Fact::parse(&format!("lane {} at {}", place % 100, place / 100))?;
        let needs = match place.checked_sub(100) {
            Some(before) => vec![Fact::parse(&format!("lane {} at {}", before % 100, before / 100))?],
            None => Vec::new(),
        };
        let after = if place >= 100 { vec![id((place - 100) * 5)?] } else { Vec::new() };
        let mut branches = Vec::new();
        for branch in 0..2 {
            let one = Subtask { needs: needs.clone(), ..Subtask::new(id(first + 1 + branch * 2)?, "do it") };
            let two = Subtask {
                after: vec![one.id.clone()],
                makes: vec![shared.clone()],
                ..Subtask::new(id(first + 2 + branch * 2)?, "do it")
            };
            branches.push(Branch { name: String::new(), nodes: vec![one.into(), two.into()] });
        }
        let rule = Rule::FirstThatWorks;
        nodes.push(Choice { id: id(first)?, after, priority: 0, rule, branches }.into());
    }
    Ok(nodes)
}
