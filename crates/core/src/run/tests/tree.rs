//! Several runs on one budget: real machines that share a ledger.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::build::{Setup, task};
use super::drive::Driver;
use super::script;
use super::show;
use super::world::wake;
use crate::budget::Limits;
use crate::effect::Effect;
use crate::event::{Ending, Event};
use crate::guard::ledger::Ledger;
use crate::id::RunId;
use crate::input::{Reply, What};

/// A parent and its children, each a run of its own.
struct Tree {
    ledger: Ledger,
    runs: BTreeMap<&'static str, Driver>,
}

fn id(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

impl Tree {
    /// The root `p` under these limits and children that have the defaults.
    fn plant(limits: impl FnOnce(&mut Limits), children: &[&'static str]) -> Self {
        let root = task().limits(limits);
        let ledger = Ledger::open(&id("p"), &root.0.task.limits);
        let mut tree = Self { ledger, runs: BTreeMap::from([("p", Driver::named("p", &root.0))]) };
        for child in children {
            let Setup(mut submission) = task();
            submission.parent = Some(id("p"));
            tree.ledger.enter(&id(child), &id("p"), &submission.task.limits).unwrap();
            tree.runs.insert(child, Driver::named(child, &submission));
        }
        for run in std::iter::once("p").chain(children.iter().copied()) {
            tree.tell(run, "claim");
        }
        tree
    }

    fn input(&mut self, run: &str, what: What) -> Vec<String> {
        let known = self.ledger.allowance(&id(run));
        let driver = self.runs.get_mut(run).unwrap();
        let events = driver.share(&mut self.ledger, known, what);
        events.map_or_else(
            |refused| vec![refused.to_string()],
            |events| events.iter().map(show::event).collect(),
        )
    }

    fn tell(&mut self, run: &str, line: &str) -> Vec<String> {
        let what = script::what(&self.runs[run], line);
        self.input(run, what)
    }

    /// A reply that used so many tokens.
    fn reply(&self, run: &str, line: &str, tokens: u64) -> What {
        let driver = &self.runs[run];
        let step = line.split([' ', ':']).next().unwrap().parse().unwrap();
        let mut reply: Reply = script::reply(&driver.run, line);
        (reply.usage.input, reply.usage.output, reply.micros) = (0, tokens, 0);
        What::ModelReplied { step, reply }
    }

    /// The ledger as another process folds it, run after run.
    fn folded(&self) -> Ledger {
        let mut folded = Ledger::default();
        let order = std::iter::once("p").chain(self.runs.keys().copied().filter(|name| *name != "p"));
        for name in order {
            self.runs[name].journal().for_each(|event| folded.apply(&id(name), event));
        }
        folded
    }

    fn check(&self) -> Result<(), String> {
        let account = self.ledger.account(&id("p")).unwrap();
        let held = account.settled.plus(account.held);
        if held.tokens > account.limits.tokens || held.micros > account.limits.micros {
            return Err(format!("the tree holds {held:?} of {:?}", account.limits));
        }
        if account.tree_steps > u64::from(account.limits.tree.steps) {
            return Err(format!("the tree made {} steps", account.tree_steps));
        }
        let spent: u64 = self.runs.values().map(|driver| driver.run.spend.settled.tokens).sum();
        if spent != account.settled.tokens {
            return Err(format!("{spent} tokens were spent, {} are booked", account.settled.tokens));
        }
        Ok(())
    }

    fn check_fold(&self) -> Result<(), String> {
        let (live, folded) = (&self.ledger, self.folded());
        (*live == folded).then_some(()).ok_or_else(|| format!("folded {folded:#?}, live {live:#?}"))
    }
}

#[test]
fn children_that_exhaust_their_parents_budget_end_in_order_and_the_parent_after_them() {
    let mut tree = Tree::plant(|limits| limits.tokens = 20_000, &["c1", "c2"]);
    // The parent waits for a tool, which is where its children would be made.
    let first = tree.reply("p", "1 build(x)", 100);
    assert_eq!(tree.input("p", first), ["heard 1: tool use", "start a1.0 build"]);
    for (child, tokens) in [("c1", 4000), ("c2", 4100)] {
        let reply = tree.reply(child, "1 read(a)", tokens);
        assert_eq!(tree.input(child, reply), ["heard 1: tool use", "start a1.0 read"]);
    }
    assert_eq!(tree.tell("c1", "ok a1.0"), ["finish a1.0: ok", "ask 2 for main"]);
    // What the first one holds makes the second one wait; it is no reason to halt.
    assert_eq!(tree.tell("c2", "ok a1.0"), ["finish a1.0: ok", "ask 2 for main"]);
    let reply = tree.reply("c1", "2 read(c)", 4200);
    tree.input("c1", reply);
    let waits = tree.tell("c1", "ok a2.0");
    assert_eq!(waits, ["finish a2.0: ok"], "c2 holds what c1 would need");
    let reply = tree.reply("c2", "2 read(b)", 4100);
    tree.input("c2", reply);
    assert_eq!(tree.tell("c1", "tick"), ["near tokens of 20000 of p", "ask 3 for main, the last"]);
    let told = show::talk(&tree.runs["c1"].run, "main").pop().unwrap();
    assert!(told.contains("of run p and those below it left"), "{told}");
    let reply = tree.reply("c1", "3: half", 1000);
    assert_eq!(
        tree.input("c1", reply),
        ["heard 3: end", "stopping: tokens of 20000 of p", "halted: tokens of 20000 of p; so far: half"]
    );
    assert_eq!(
        tree.tell("c2", "ok a2.0"),
        ["finish a2.0: ok", "near tokens of 20000 of p", "ask 3 for main, the last"]
    );
    let reply = tree.reply("c2", "3: the other half", 1000);
    assert_eq!(
        tree.input("c2", reply).last().unwrap(),
        "halted: tokens of 20000 of p; so far: the other half"
    );
    assert_eq!(
        tree.tell("p", "ok a1.0"),
        ["finish a1.0: ok", "near tokens of 20000", "ask 2 for main, the last"]
    );
    let reply = tree.reply("p", "2: both ran out", 1000);
    assert_eq!(tree.input("p", reply).last().unwrap(), "halted: tokens of 20000; so far: both ran out");
    tree.check().unwrap();
    let account = tree.ledger.account(&id("p")).unwrap();
    assert_eq!((account.agents, account.agents_alive, account.alive), (2, 0, false));
    assert_eq!((account.steps, account.tree_steps), (2, 8));
    assert_eq!(account.held, crate::budget::Cost::default());
    tree.check_fold().unwrap();
    // More for the parent is more for its children.
    tree.tell("p", "resume tokens=60000");
    assert_eq!(tree.tell("c1", "resume"), ["resumed by ann"]);
    assert_eq!(tree.tell("c1", "claim"), ["claimed 2", "ask 4 for main"]);
    tree.check().unwrap();
}

#[test]
fn what_a_reply_gives_back_is_there_for_the_question_that_follows_at_once() {
    let mut tree = Tree::plant(|limits| limits.tokens = 10_500, &["c1"]);
    let reply = tree.reply("c1", "1 nosuch(x)", 100);
    let told = tree.input("c1", reply);
    assert_eq!(told, ["heard 1: tool use", "refuse a1.0: unknown tool", "ask 2 for main"]);
    tree.check().unwrap();
}

#[test]
fn of_two_children_that_saw_the_same_rest_only_one_gets_it() {
    let mut tree = Tree::plant(|limits| limits.tree.steps = 4, &["c1", "c2"]);
    for child in ["c1", "c2"] {
        let reply = tree.reply(child, "1: done", 10);
        let What::ModelReplied { step, mut reply } = reply else { panic!("a reply") };
        reply.calls = script::reply(&tree.runs[child].run, "1 read(a)").calls;
        reply.stop = crate::message::Stop::ToolUse;
        tree.input(child, What::ModelReplied { step, reply });
    }
    let (known, what) = (tree.ledger.allowance(&id("c1")), script::what(&tree.runs["c1"], "ok a1.0"));
    let other = script::what(&tree.runs["c2"], "ok a1.0");
    let mut tell = |run: &str, what: What| {
        let events = tree.runs.get_mut(run).unwrap().share(&mut tree.ledger, known.clone(), what).unwrap();
        events.iter().map(show::event).collect::<Vec<_>>()
    };
    assert_eq!(tell("c1", what), ["finish a1.0: ok", "ask 2 for main, the last"]);
    assert_eq!(
        tell("c2", other),
        ["finish a1.0: ok", "stopping: tree_steps 5 of 4 of p", "halted: tree_steps 5 of 4 of p"]
    );
    tree.check().unwrap();
}

/// Chance, drawn from one number.
#[derive(Clone, Copy)]
struct Dice(u32);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        let drawn = u64::from(self.0) % sides.max(1);
        self.0 = self.0.rotate_right(7).wrapping_mul(0x9E37_79B1).wrapping_add(0x85EB_CA6B);
        drawn
    }
}

/// A random answer to what is due, which uses at most what was set aside.
fn answer(driver: &Driver, effect: &Effect, dice: &mut Dice) -> What {
    match effect {
        Effect::CallModel { step, .. } if dice.below(8) == 0 => {
            script::what(driver, &format!("fail {step} timed_out"))
        }
        Effect::CallModel { step, output_tokens, .. } => {
            let lines = ["T read(a)", "T build(x) read(b)", "T: done", "T read(a) read(b)"];
            let mut reply = script::reply(&driver.run, lines[dice.below(4) as usize]);
            (reply.usage.input, reply.usage.output) = (0, dice.below(output_tokens + 1));
            reply.micros = dice.below(driver.run.price.at_most(0, reply.usage.output) + 1);
            What::ModelReplied { step: *step, reply }
        }
        Effect::RunTool { action, attempt, .. } => script::what(driver, &format!("ok {action} #{attempt}")),
        Effect::StoreResult { .. } => script::what(driver, "stored"),
        Effect::PrepareCall { .. }
        | Effect::Probe { .. }
        | Effect::ReadEvidence { .. }
        | Effect::RunCheck { .. }
        | Effect::Weigh { .. }
        | Effect::Splice { .. }
        | Effect::Restore { .. }
        | Effect::Compensate { .. }
        | Effect::Alert { .. }
        | Effect::FindChanges
        | Effect::Land { .. }
        | Effect::Promote { .. }
        | Effect::WakeAt { .. } => What::Tick,
    }
}

/// The next thing that happens to a run, if anything does.
fn next(driver: &mut Driver, dice: &mut Dice) -> Option<What> {
    if driver.run.ending().is_some() {
        return None;
    }
    if dice.below(12) == 0 {
        return Some(script::what(driver, "claim"));
    }
    let due = driver.run.due();
    let asked: Vec<_> = due.iter().filter(|effect| wake(effect).is_none()).collect();
    if asked.is_empty() {
        driver.now = due.iter().filter_map(wake).min()?;
        return Some(What::Tick);
    }
    Some(answer(driver, asked[dice.below(asked.len() as u64) as usize], dice))
}

fn for_all(property: impl Fn(Dice, &[Dice]) -> Result<(), String>) {
    let config = Config { cases: 64, failure_persistence: None, max_shrink_iters: 500, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let cases = (any::<u32>(), vec(any::<u32>(), 1..80));
    let outcome = TestRunner::new_with_rng(config, chance).run(&cases, |(first, rest)| {
        let dice: Vec<Dice> = rest.into_iter().map(Dice).collect();
        property(Dice(first), &dice).map_err(TestCaseError::fail)
    });
    outcome.unwrap();
}

#[test]
fn whatever_the_interleaving_a_tree_never_takes_more_than_its_root_may() {
    for_all(|mut dice, moves| {
        let scarce = |limits: &mut Limits| {
            limits.tokens = 5000 + dice.below(60_000);
            limits.micros = 10_000 + dice.below(100_000);
            limits.tool_calls = dice.below(20) as u32;
            limits.tree.steps = 4 + dice.below(20) as u32;
        };
        let mut tree = Tree::plant(scarce, &["c1", "c2", "c3"]);
        let names: Vec<&'static str> = tree.runs.keys().copied().collect();
        // An allowance that others have used since, to be refused and decided again.
        let mut stale: BTreeMap<&str, crate::budget::Allowance> = BTreeMap::new();
        for dice in moves.iter().cycle().take(160) {
            let mut dice = *dice;
            let name = names[dice.below(names.len() as u64) as usize];
            let Some(what) = next(tree.runs.get_mut(name).unwrap(), &mut dice) else { continue };
            let fresh = tree.ledger.allowance(&id(name));
            let known = stale.insert(name, fresh.clone()).filter(|_| dice.below(3) == 0).unwrap_or(fresh);
            let driver = tree.runs.get_mut(name).unwrap();
            let _ = driver.share(&mut tree.ledger, known, what);
            tree.check()?;
            if dice.below(16) == 0 {
                tree.check_fold()?;
            }
        }
        tree.check_fold()
    });
}

#[test]
fn parallel_subtasks_never_jointly_take_more_than_their_run_may() {
    for_all(|mut dice, moves| {
        let limits = |limits: &mut Limits| {
            limits.tokens = 5000 + dice.below(30_000);
            limits.micros = 10_000 + dice.below(60_000);
            limits.steps = 2 + dice.below(20) as u32;
        };
        let mut driver = Driver::new(&task().plan("a; b; c; d").limits(limits).0);
        driver.feed(script::claim(1)).unwrap();
        for dice in moves.iter().cycle().take(120) {
            let Some(what) = next(&mut driver, &mut { *dice }) else { break };
            let _ = driver.feed(what);
            let (held, limits) = (driver.run.spend.settled.plus(driver.run.reserved), &driver.run.limits);
            if held.tokens > limits.tokens || held.micros > limits.micros {
                return Err(format!("{held:?} of {limits:?}"));
            }
        }
        let asked = driver.events().filter(|event| matches!(event, Event::StepStarted { .. })).count();
        let within = asked <= driver.run.limits.steps as usize;
        let over = driver.run.ending().is_some_and(|ending| !matches!(ending, Ending::Failed { .. }));
        if within && over { Ok(()) } else { Err(format!("{asked} steps, {:?}", driver.run.phase)) }
    });
}
