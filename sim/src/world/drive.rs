//! One seed, from the first submission to the last ending: life after life.
//!
//! Each life has a runtime of its own, single-threaded and with paused time, and
//! the real engine on it. A crash drops the runtime.

use std::sync::Arc;
use std::time::Duration;

use bowline::{Engine, EngineError, Patience, Seen, Stopped, Worked, history};
use bowline_core::event::Ending;
use bowline_core::id::{RunId, WorkerId};
use bowline_core::input::Signal;
use bowline_core::run::Wait;
use bowline_core::task::Task;
use bowline_store::{AppendError, EndingKind, RunStore, StoreError};
use bowline_tools::file_work_in_place;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::bugs::Bug;
use super::model::SimModel;
use super::plan::{Calling, Life};
use super::state::{Alive, SimClock, World};
use super::store::FaultyStore;
use super::violation::Check;
use super::{disk, people, tools};
use crate::chance::{SeededChance, keyed};
use crate::oracle::{ClientLine, ToldEnding};

/// Virtual time after which a life without faults must be over.
const LIVENESS: Duration = Duration::from_secs(1800);
/// How far the clock of a rival worker is ahead: more than a lease.
const AHEAD_MS: u64 = 45_000;
/// How often somebody looks whether there is something to do.
const LOOK: Duration = Duration::from_millis(250);
/// How many runs a queue is worked off at once.
const AT_ONCE: usize = 3;

/// Lives all lives of this world.
pub(super) fn live_through(world: &Arc<World>) -> std::io::Result<()> {
    for (number, life) in world.plan.lives.iter().enumerate() {
        // Dropped at the end of each round, with every future of that life.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
        let whole_life = || runtime.block_on(live(world.clone(), *life, number));
        let (is_over, age) = file_work_in_place(whole_life);
        drop(runtime);
        world.lock().life_ends(age);
        if is_over {
            return Ok(());
        }
    }
    Ok(())
}

async fn live(world: Arc<World>, life: Life, number: usize) -> (bool, Duration) {
    let lost = {
        let mut state = world.lock();
        let state = &mut *state;
        if number == 0 { None } else { state.disk.after_crash(&mut state.faults) }
    };
    if let Some(writes) = lost {
        disk::rebuild(&world.store(), writes).await;
    }
    let alive = Arc::new(Alive::begin(world, life, number));
    let is_over = tokio::select! {
        biased;
        () = alive.death() => {
            alive.world.lock().count("crash", &format!("life {number} {:?}", life.crash));
            false
        }
        done = tokio::time::timeout(LIVENESS, days(alive.clone())) => {
            if done.is_err() && !life.faulty {
                not_over(&alive.world).await;
            }
            done.is_ok()
        }
    };
    (is_over, alive.age())
}

async fn not_over(world: &World) {
    let store = world.store();
    for run in known_runs(world) {
        let Ok(row) = store.row(&run).await else { continue };
        let folded = bowline::fold(&store, &run, u64::MAX).await;
        let is_being_undone = folded.is_ok_and(|folded| folded.run.is_being_undone());
        if row.summary.ending.is_none() || is_being_undone {
            let text = format!("run {run} is still {} after {LIVENESS:?} without faults", row.summary.phase);
            world.lock().violation(Check::O14, text);
        }
    }
}

/// The runs the client knows of, in the order it learned of them.
pub(super) fn known_runs(world: &World) -> Vec<RunId> {
    let mut runs = Vec::new();
    for line in &world.lock().client {
        if let ClientLine::Ack { run, .. } = line
            && let Ok(run) = RunId::parse(run)
            && !runs.contains(&run)
        {
            runs.push(run);
        }
    }
    runs
}

fn engine(alive: &Arc<Alive>, name: &str, ahead_ms: u64) -> Engine {
    let worker = WorkerId::parse(&format!("{name}-{}", alive.number));
    let patience = match alive.world.plan.calling {
        Calling::ByName | Calling::Queue => Patience::LeaveWhenWaiting,
        Calling::Patient => Patience::WaitForPeople,
    };
    let number = alive.number.to_be_bytes();
    let chance = SeededChance::new(keyed(alive.world.seed(), &[b"chance", name.as_bytes(), &number]));
    let mut builder = Engine::builder(Arc::new(FaultyStore(alive.clone())))
        .worker(worker.unwrap_or_else(|_| WorkerId::from_chance(&[])))
        .models(Arc::new(SimModel(alive.clone())))
        .clock(Arc::new(SimClock { alive: alive.clone(), ahead_ms }))
        .chance(Arc::new(chance))
        .patience(patience);
    for tool in tools::all(alive) {
        builder = builder.tool(tool);
    }
    builder.build()
}

/// Everything that goes on in one life; returns when there is nothing left to do.
async fn days(alive: Arc<Alive>) {
    let first = engine(&alive, "worker", 0);
    let mut beside = JoinSet::new();
    beside.spawn(people::live(alive.clone(), first.clone()));
    beside.spawn(watch(alive.clone(), first.clone()));
    if let Some(after_ms) = alive.life.rival_after_ms {
        let at_once = alive.world.has(Bug::TwoRecoveriesAtOnce);
        let after = Duration::from_millis(if at_once { 1 } else { after_ms });
        beside.spawn(rival(alive.clone(), engine(&alive, "rival", AHEAD_MS), after));
    }
    let mut clients = JoinSet::new();
    for (key, task) in &alive.world.plan.tasks {
        clients.spawn(client(alive.clone(), first.clone(), key.clone(), task.clone()));
    }
    while let Some(ended) = clients.join_next().await {
        if let Err(broken) = ended
            && broken.is_panic()
        {
            alive.world.lock().violation(Check::O14, "the engine's own code broke down".into());
        }
    }
}

/// Wants one run, and stays with it until it has ended.
async fn client(alive: Arc<Alive>, engine: Engine, key: String, task: Task) {
    alive.takes(0, 2000).await;
    let run = loop {
        if let Some(run) = acknowledged(&alive.world, &key) {
            break run;
        }
        if alive.strikes(100, "doubled submission", &key) {
            tokio::join!(submit(&alive, &engine, &key, &task), submit(&alive, &engine, &key, &task));
        } else {
            submit(&alive, &engine, &key, &task).await;
        }
        alive.takes(1, 500).await;
    };
    match alive.world.plan.calling {
        Calling::Queue => queue(&alive, &engine, &run).await,
        Calling::ByName | Calling::Patient => tend(&alive, &engine, &run).await,
    }
    take_back(&alive, &engine, &run).await;
}

/// Undoes what a run did that is over, as often as somebody wants it.
async fn take_back(alive: &Alive, engine: &Engine, run: &RunId) {
    loop {
        let Ok(folded) = bowline::fold(&alive.world.store(), run, u64::MAX).await else { return };
        let Some(to) = people::regrets(alive, &folded.run) else { return };
        match engine.undo(run, "cleo", to, true).await {
            Ok(undone) => {
                let about = format!("{run} {} calls, over: {}", undone.calls.len(), undone.is_finished);
                alive.world.lock().count("undo wanted by a person", &about);
            }
            Err(error) => trouble(alive, run, &error),
        }
        alive.takes(100, 5000).await;
    }
}

fn acknowledged(world: &World, wanted: &str) -> Option<RunId> {
    world.lock().client.iter().find_map(|line| match line {
        ClientLine::Ack { key, run } if key == wanted => RunId::parse(run).ok(),
        ClientLine::Ack { .. }
        | ClientLine::Submit { .. }
        | ClientLine::Kill { .. }
        | ClientLine::End { .. } => None,
    })
}

async fn submit(alive: &Alive, engine: &Engine, key: &str, task: &Task) {
    alive.world.lock().client.push(ClientLine::Submit { key: key.into(), task: "simulated".into() });
    // Without an answer the same is asked again, under the same key.
    if let Ok(submitted) = engine.submit(task.clone(), Some(key.into())).await {
        let run = submitted.run().to_string();
        alive.world.lock().client.push(ClientLine::Ack { key: key.into(), run });
    }
}

/// Works on one run by name, as often as it takes.
async fn tend(alive: &Alive, engine: &Engine, run: &RunId) {
    loop {
        let waits = match engine.run(run).await {
            Ok(Stopped::Ended(ending)) => {
                if told(alive, run, &ending) {
                    return;
                }
                Vec::new()
            }
            Ok(Stopped::Waiting(waits)) => waits,
            Ok(Stopped::Asked) => continue,
            Err(error) => {
                trouble(alive, run, &error);
                alive.takes(500, 5000).await;
                continue;
            }
        };
        if left(alive, run, &waits).await {
            return;
        }
    }
}

/// Notes what a worker said of an ending; true for those that stay.
fn told(alive: &Alive, run: &RunId, ending: &Ending) -> bool {
    let told = match ending {
        Ending::Committed { .. } => ToldEnding::Committed,
        Ending::Failed { .. } => ToldEnding::Failed,
        Ending::Halted { .. } => ToldEnding::Halted,
    };
    let mut state = alive.world.lock();
    state.trace.note("told", &format!("{run} {told:?}"));
    state.client.push(ClientLine::End { run: run.to_string(), ending: Some(told), exit: None });
    told != ToldEnding::Halted
}

fn trouble(alive: &Alive, run: &RunId, error: &EngineError) {
    let what = match error {
        EngineError::Store(StoreError::Owned { .. }) => "run owned by another worker",
        EngineError::Append(AppendError::Fenced { .. }) => "worker fenced",
        EngineError::Append(AppendError::Conflict { .. }) => "worker in conflict",
        EngineError::Append(AppendError::Unacknowledged) => "worker gave up asking",
        EngineError::Store(_) | EngineError::Append(AppendError::Store(_)) => "store error",
        EngineError::OutOfStep { .. } => {
            return alive.world.lock().violation(Check::O14, format!("run {run} gets nowhere: {error}"));
        }
        EngineError::BrokeDown { .. } => {
            return alive.world.lock().violation(Check::O14, format!("run {run}: {error}"));
        }
        EngineError::Queue { source, .. } => return trouble(alive, run, source),
        EngineError::ShutDown { .. }
        | EngineError::Model(_)
        | EngineError::Tools(_)
        | EngineError::Task { .. }
        | EngineError::ChangedSince { .. }
        | EngineError::Copy(_)
        | EngineError::Scope(_)
        | EngineError::NoBeginning { .. }
        | EngineError::Workspace(_) => "engine error",
    };
    alive.world.lock().count(what, &format!("{run} {error}"));
}

fn troubles(alive: &Alive, worked: &[Worked]) {
    for (run, outcome) in worked {
        outcome.as_ref().err().into_iter().for_each(|error| trouble(alive, run, error));
    }
}

/// Waits until there is a reason to look at a run again; true if there never is.
async fn left(alive: &Alive, run: &RunId, waits: &[Wait]) -> bool {
    let expires = waits.iter().filter_map(|wait| match wait {
        Wait::Approval { expires_at, .. } => Some(expires_at.0),
        Wait::Restored { .. } | Wait::Paused | Wait::InDoubt { .. } => None,
    });
    let expires = expires.min().unwrap_or(u64::MAX);
    let store = alive.world.store();
    loop {
        tokio::time::sleep(LOOK).await;
        let is_halted = store.row(run).await.is_ok_and(|row| row.summary.ending.is_some());
        if has_mail(alive, run, is_halted).await || alive.wall_ms() >= expires {
            return false;
        }
        if is_halted && alive.world.lock().people.left.contains(run) {
            return true;
        }
    }
}

/// Whether there is a letter the run can take: a halted one takes only a resume.
async fn has_mail(alive: &Alive, run: &RunId, is_halted: bool) -> bool {
    let mail = alive.world.store().mail(run).await.unwrap_or_default();
    mail.iter().any(|mail| !is_halted || matches!(mail.signal, Signal::Resume { .. }))
}

/// Works off the queue until this run has ended. Only halted runs are not in the
/// queue: they are asked for by name. Questions nobody answers are in it, once
/// their time is over.
async fn queue(alive: &Alive, engine: &Engine, run: &RunId) {
    loop {
        match engine.work_off(AT_ONCE).await {
            Ok(worked) => troubles(alive, &worked),
            Err(EngineError::Queue { worked, source }) => {
                troubles(alive, &worked);
                trouble(alive, run, &source);
            }
            Err(error) => trouble(alive, run, &error),
        }
        let store = alive.world.store();
        let Ok(row) = store.row(run).await else { return };
        let is_halted = row.summary.ending == Some(EndingKind::Halted);
        let has_mail = has_mail(alive, run, is_halted).await;
        if row.summary.ending.is_some() {
            let is_left = alive.world.lock().people.left.contains(run);
            if !is_halted || has_mail || is_left {
                match engine.run(run).await {
                    Ok(Stopped::Ended(ending)) if told(alive, run, &ending) || is_left => return,
                    Ok(_) => {}
                    Err(error) => trouble(alive, run, &error),
                }
            }
        }
        alive.takes(100, 1000).await;
    }
}

/// Another worker, whose clock is ahead: it finds leases expired that are not.
async fn rival(alive: Arc<Alive>, engine: Engine, after: Duration) {
    tokio::time::sleep(after).await;
    let mut at_work = JoinSet::new();
    for run in known_runs(&alive.world) {
        alive.world.lock().count("rival worker", run.as_str());
        let (alive, engine) = (alive.clone(), engine.clone());
        at_work.spawn(async move {
            match engine.run(&run).await {
                Ok(Stopped::Ended(ending)) => drop(told(&alive, &run, &ending)),
                Ok(Stopped::Waiting(_) | Stopped::Asked) => {}
                Err(error) => trouble(&alive, &run, &error),
            }
        });
    }
    while at_work.join_next().await.is_some() {}
}

/// Somebody who watches, and reads in the journal what was missed.
async fn watch(alive: Arc<Alive>, engine: Engine) {
    let mut seen = engine.watch();
    let mut observed = 0_u64;
    loop {
        let observation = match seen.recv().await {
            Ok(observation) => observation,
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let Seen::Event { seq, .. } = observation.seen else { continue };
        observed += 1;
        let run = observation.run;
        let last = alive.world.lock().cursors.get(&run).copied().unwrap_or(0);
        let missed = history(engine.store().as_ref(), &run, last + 1, seq.saturating_sub(1)).await;
        let missed: Vec<u64> = missed.unwrap_or_default().iter().map(|(seq, _, _)| *seq).collect();
        let mut state = alive.world.lock();
        if missed.into_iter().chain([seq]).ne(last + 1..=seq) {
            let text =
                format!("run {run}: after event {last} the stream goes on to {seq} with a gap or a repeat");
            state.violation(Check::O15, text);
        }
        state.trace.note("seen", &format!("{run} {seq} {observed}"));
        state.cursors.insert(run, seq);
    }
}
