//! How long a plan of ten thousand nodes takes: to read, to judge, and for each
//! completion on the way through it. Run with `--release`.
#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "it measures and says so")]

use std::time::{Duration, Instant};

use bowline_core::id::{BadName, SubtaskId};
use bowline_core::plan::{Branch, Choice, Node, Plan, Progress, Rule, Subtask};

const NODES: u32 = 10_000;
const WIDTH: u32 = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, nodes) in [("layers", layers()?), ("choices", choices()?), ("star", star()?)] {
        let text = serde_json::to_string(&nodes)?;
        let (plan, judged) = timed(|| Plan::new(nodes));
        let plan = plan?;
        let (read, reading) = timed(|| serde_json::from_str::<Plan>(&text));
        read?;
        let (mut progress, begun) = timed(|| Progress::begin(&plan));
        let (copy, copied) = timed(|| progress.clone());
        drop(copy);
        let mut each = Vec::new();
        while let Some(subtask) = progress.next(&plan) {
            let ((), took) = timed(|| {
                progress.started(&plan, &subtask.id);
                progress.finished(&plan, &subtask.id);
            });
            let (_, chosen) = timed(|| progress.next(&plan).is_some());
            each.push(took + chosen);
        }
        each.sort_unstable();
        let total: Duration = each.iter().sum();
        let mean = total.checked_div(u32::try_from(each.len())?).unwrap_or_default();
        let at = |percent: usize| each.get(each.len() * percent / 100).copied().unwrap_or_default();
        println!(
            "{name}: {} nodes; judged in {judged:?}, read in {reading:?}, begun in {begun:?}, copied in {copied:?}; \
             a completion and the next choice: mean {mean:?}, 99th percentile {:?}, longest {:?}; over: {}",
            plan.size(),
            at(99),
            each.last().copied().unwrap_or_default(),
            progress.is_over(),
        );
    }
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed())
}

fn subtask(number: u32, after: impl IntoIterator<Item = u32>) -> Result<Node, BadName> {
    let id = |number: u32| SubtaskId::parse(&format!("n{number}"));
    let after = after.into_iter().map(id).collect::<Result<_, _>>()?;
    Ok(Subtask { after, ..Subtask::new(id(number)?, "what is to be done here") }.into())
}

/// Layers of a hundred, each node waiting for three of the layer before.
fn layers() -> Result<Vec<Node>, BadName> {
    let above = |number: u32, step: u32| {
        let layer = (number / WIDTH).checked_sub(1)?;
        Some(layer * WIDTH + (number + step) % WIDTH)
    };
    let after = |number: u32| [0, 1, 7].into_iter().filter_map(move |step| above(number, step));
    (0..NODES).map(|number| subtask(number, after(number))).collect()
}

/// A thousand choices, one after the other, of two branches with a few sub-tasks each.
fn choices() -> Result<Vec<Node>, BadName> {
    let choice = |number: u32| {
        let id = |number: u32| SubtaskId::parse(&format!("c{number}"));
        let first = number * 9;
        let branch = |first: u32, count: u32| -> Result<Branch, BadName> {
            let chain =
                |place: u32| subtask(first + place, place.checked_sub(1).map(|before| first + before));
            Ok(Branch { name: String::new(), nodes: (0..count).map(chain).collect::<Result<_, _>>()? })
        };
        let after = number.checked_sub(1).map(id).into_iter().collect::<Result<_, _>>()?;
        let branches = vec![branch(first, 5)?, branch(first + 5, 4)?];
        Ok(Choice { id: id(number)?, after, priority: 0, rule: Rule::FirstThatWorks, branches }.into())
    };
    (0..NODES / 10).map(choice).collect()
}

/// One node that all others wait for: the worst single completion.
fn star() -> Result<Vec<Node>, BadName> {
    (0..NODES).map(|number| subtask(number, (number > 0).then_some(0))).collect()
}
