//! The planted defects through the whole loop: each is delivered to the real engine by a
//! model that mends it or does not, under judges that are honest or are not.
//!
//! What is counted is what must not happen: a defect that schema or tests can tell and
//! that was not found, a commit behind a shut gate, a repair beyond its budget. Which
//! class a defect is of is measured elsewhere (`bowline-core --example defects`).

mod audit;
mod case;
mod cast;

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use bowline::core::task;
use bowline::store::MemoryStore;
use bowline::{Engine, Patience, history};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::Bench;
use crate::report::{Judged, Section, Target};
use audit::{Seen, Tally};
use case::Case;
use cast::{Cast, Judge, Worker};

/// Who meets: every worker under an honest judge, and those judges cannot be told from
/// under every other.
const CASTS: [(Worker, Judge); 10] = [
    (Worker::Mends, Judge::Honest),
    (Worker::MendsLate, Judge::Honest),
    (Worker::NeverMends, Judge::Honest),
    (Worker::Worsens, Judge::Honest),
    (Worker::OnlyTalks, Judge::Honest),
    (Worker::SaysNothing, Judge::Honest),
    (Worker::NeverMends, Judge::Credulous),
    (Worker::OnlyTalks, Judge::Credulous),
    (Worker::NeverMends, Judge::Rambles),
    (Worker::NeverMends, Judge::Fickle),
];

/// Runs side by side.
const AT_ONCE: usize = 8;

/// A budget that rounds of repair can use up, in tokens; and the share of it they may.
const TOKENS: u64 = 60_000;
const REPAIR_PERCENT: u64 = 30;

/// Runs all of them and tells what came of it.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let tally = run_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("defects"), bench.scratch(), &CASTS)?;
    let note = "Each planted defect that has an output, with ten casts of worker and judge, on the real engine. The \
                tests are replayed: what the real tools printed about the mutant, until the program is as it was.";
    let mut section = Section::new("Planted defects in the loop", note);
    section.tell("cases; runs", format!("{}; {}", tally.cases, tally.runs));
    section.tell("committed by itself, waiting for a person, failed or halted", tally.endings());
    section.judge(
        "defects that schema or tests can tell, found at once",
        format!("{} of {}", tally.found, tally.tellable),
        Judged { value: share(tally.found, tally.tellable), target: Target::AtLeast(100.0), unit: "%" },
    );
    let none = |section: &mut Section, what: &str, count: usize| {
        section.judge(
            what,
            count.to_string(),
            Judged { value: count as f64, target: Target::AtMost(0.0), unit: "" },
        );
    };
    none(&mut section, "commits behind a shut gate", tally.past_a_gate);
    none(&mut section, "commits of the defect where schema or tests can tell", tally.defect_committed);
    none(&mut section, "commits by themselves of what only a lying judge vouched for", tally.on_a_lie);
    none(&mut section, "runs beyond their rounds or their share of tokens", tally.over_budget);
    none(
        &mut section,
        "runs of a worker that mends it, where it can be, that did not get through",
        tally.lost,
    );
    section.judge(
        "ways of repair that were used, and how often",
        tally.strategies(),
        Judged { value: tally.ways.len() as f64, target: Target::AtLeast(4.0), unit: "ways" },
    );
    Ok(section)
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { f64::NAN } else { 100.0 * part as f64 / whole as f64 }
}

/// Every case with every cast.
fn run_all(defects: &Path, scratch: &Path, casts: &[(Worker, Judge)]) -> Result<Tally> {
    let cases: Vec<Arc<Case>> = case::all(defects)?.into_iter().map(Arc::new).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut tally = Tally { cases: cases.len(), ..Tally::default() };
    let whole = casts.iter().flat_map(|&(worker, judge)| {
        cases.iter().map(move |case| Cast { case: case.clone(), worker, judge })
    });
    let whole: Vec<Cast> = whole.collect();
    for some in whole.chunks(AT_ONCE) {
        for (cast, seen) in runtime.block_on(together(some, scratch))? {
            tally.add(&cast, &seen);
        }
    }
    Ok(tally)
}

/// Some runs side by side.
async fn together(casts: &[Cast], scratch: &Path) -> Result<Vec<(Cast, Seen)>> {
    let mut running = JoinSet::new();
    for cast in casts {
        let (cast, scratch) = (cast.clone(), scratch.to_owned());
        running.spawn(async move {
            let seen = one(&cast, &scratch).await?;
            Ok::<_, anyhow::Error>((cast, seen))
        });
    }
    running.join_all().await.into_iter().collect()
}

/// One run, and what its journal tells.
async fn one(cast: &Cast, scratch: &Path) -> Result<Seen> {
    let folder = tempfile::tempdir_in(scratch)?;
    let project = folder.path().join("project");
    let mut raw = cast.case.stage(&project)?;
    let circumstances = [
        ("goal", json!("Deliver what is asked for")),
        ("model", json!("planted:model")),
        ("sandbox", json!("none")),
        ("workspace", json!({ "path": project.display().to_string() })),
        ("limits", json!({ "tokens": TOKENS, "output_tokens": 200, "repair_percent": REPAIR_PERCENT })),
    ];
    raw.extend(circumstances.map(|(key, value)| (key.to_owned(), value)));
    let store = Arc::new(MemoryStore::default());
    let engine = Engine::builder(store.clone())
        .home(folder.path())
        .models(Arc::new(cast.clone()))
        .patience(Patience::LeaveWhenWaiting)
        .build();
    let task = task::parse(&Value::Object(raw)).with_context(|| format!("the task of {}", cast.case.id))?;
    let (run, stopped) = engine.run_task(task).await.with_context(|| cast.case.id.clone())?;
    let state = engine.inspect(&run).await?.run;
    let events = history(store.as_ref(), &run, 1, u64::MAX).await?;
    let events = events.into_iter().map(|(_, _, event)| event).collect();
    Ok(Seen::new(stopped, &state, events))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_planted_defect_gets_through_the_loop_whoever_works_and_whoever_judges() {
        let scratch = tempfile::tempdir().unwrap();
        let defects = Path::new(env!("CARGO_MANIFEST_DIR")).join("defects");
        let casts = [
            (Worker::MendsLate, Judge::Honest),
            (Worker::NeverMends, Judge::Rambles),
            (Worker::NeverMends, Judge::Credulous),
        ];
        let tally = run_all(&defects, scratch.path(), &casts).unwrap();
        assert!(tally.cases >= 60 && tally.tellable >= 60, "{tally:?}");
        assert_eq!(tally.missed, Vec::<String>::new(), "{tally:?}");
        assert_eq!((tally.past_a_gate, tally.defect_committed, tally.on_a_lie), (0, 0, 0), "{tally:?}");
        assert_eq!((tally.over_budget, tally.lost), (0, 0), "{tally:?}");
        assert_eq!(tally.ways.len(), 4, "every way of repair is used: {tally:?}");
    }
}
