//! The ledger by itself: all or nothing, never more than allowed, the same when
//! folded.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};

use super::*;
use crate::budget::{TreeLimits, UNLIMITED_COUNT};
use crate::event::{
    Ask, CONTRACT, CallTrouble, Doubt, Ending, HaltReason, Outcome, Purpose, Raise, StepFailure, StepTrouble,
};
use crate::id::{ActionId, Millis, SubtaskId};
use crate::message::{Payload, Stop, Usage};
use crate::provenance::Digest;
use crate::task::{Submission, plain};
use crate::tool::{Repeat, Touch};

fn id(name: &str) -> RunId {
    RunId::parse(name).unwrap()
}

fn tool(name: &str) -> ToolName {
    ToolName::parse(name).unwrap()
}

fn step(step: u32, tokens: u64) -> Need {
    Need::Step { step, reserve: Cost { tokens, micros: tokens } }
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[test]
fn an_agent_too_deep_too_many_at_once_or_too_many_in_all_is_refused_by_name() {
    let tree = TreeLimits { depth: 2, agents_alive: 3, agents: 4, ..TreeLimits::default() };
    let root = limits(|limits| limits.tree = tree);
    let mut ledger = Ledger::open(&id("root"), &root);
    let open = limits(|limits| limits.tree = TreeLimits { depth: UNLIMITED_COUNT, ..TreeLimits::default() });
    assert_eq!(ledger.enter(&id("a"), &id("root"), &open), Ok(1));
    assert_eq!(ledger.enter(&id("b"), &id("a"), &open), Ok(2));
    let refused = |ledger: &mut Ledger, child: &str, parent: &str| {
        let before = ledger.clone();
        let error = ledger.enter(&id(child), &id(parent), &open).unwrap_err();
        assert_eq!(*ledger, before, "nothing is let in half-way");
        format!("{error}; {}", error.remedy())
    };
    let depth = refused(&mut ledger, "c", "b");
    assert!(depth.contains("depth limit") && depth.ends_with("or raise depth of run root"), "{depth}");
    assert_eq!(ledger.enter(&id("c"), &id("root"), &open), Ok(1));
    let alive = refused(&mut ledger, "d", "root");
    assert!(
        alive.contains("agents alive") && alive.ends_with("or raise agents_alive of run root"),
        "{alive}"
    );
    ledger.leave(&id("b"));
    assert_eq!(ledger.enter(&id("d"), &id("root"), &open), Ok(1));
    ledger.leave(&id("c"));
    let all = refused(&mut ledger, "e", "a");
    assert!(all.contains("agents a run") && all.ends_with("or raise agents of run root"), "{all}");
    assert!(refused(&mut ledger, "e", "b").contains("has ended; resume the run above first"));
    assert!(refused(&mut ledger, "e", "nobody").contains("not in this tree; enter the run above first"));
    assert!(refused(&mut ledger, "d", "root").contains("already; give the agent a run id of its own"));
}

#[test]
fn a_child_that_may_have_no_agents_has_none() {
    let mut ledger = Ledger::open(&id("root"), &Limits::default());
    ledger.enter(&id("a"), &id("root"), &limits(|limits| limits.tree.depth = 0)).unwrap();
    let error = ledger.enter(&id("b"), &id("a"), &Limits::default()).unwrap_err();
    assert_eq!(error, EnterError::DepthLimit { of: id("a"), allowed: 0 });
}

#[test]
fn what_a_child_takes_is_gone_for_its_parent_and_for_its_siblings() {
    let mut ledger = Ledger::open(&id("root"), &limits(|limits| limits.tokens = 100));
    for child in ["a", "b"] {
        ledger.enter(&id(child), &id("root"), &Limits::default()).unwrap();
    }
    ledger.reserve(&id("a"), &step(1, 60)).unwrap();
    let over = ledger.reserve(&id("b"), &step(1, 41)).unwrap_err();
    let expected = Exhausted { limit: Limit::Tokens, wanted: 101, allowed: 100, of: Some(id("root")) };
    assert_eq!(over, ReserveError::Over(expected));
    assert_eq!(over.to_string(), "tokens would be 101, allowed are 100 below run root");
    ledger.settle(&id("a"), 1, Cost { tokens: 10, micros: 0 });
    ledger.reserve(&id("b"), &step(1, 90)).unwrap();
    let own = ledger.reserve(&id("root"), &step(1, 1)).unwrap_err();
    assert_eq!(
        own,
        ReserveError::Over(Exhausted { limit: Limit::Tokens, wanted: 101, allowed: 100, of: None })
    );
    assert!(ledger.reserve(&id("nobody"), &step(1, 0)).is_err());
}

#[test]
fn steps_are_a_runs_own_and_those_of_a_tree_are_bounded_together() {
    let root = limits(|limits| (limits.steps, limits.tree.steps) = (2, 4));
    let mut ledger = Ledger::open(&id("root"), &root);
    ledger.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
    for number in 1..=3 {
        ledger.reserve(&id("a"), &step(number, 0)).unwrap();
    }
    ledger.reserve(&id("root"), &step(1, 0)).unwrap();
    let ReserveError::Over(over) = ledger.reserve(&id("a"), &step(4, 0)).unwrap_err() else { panic!("over") };
    assert_eq!((over.limit, over.wanted, over.of), (Limit::TreeSteps, 5, Some(id("root"))));
}

#[test]
fn calls_of_one_tool_are_counted_where_they_are_bounded() {
    let root = limits(|limits| limits.tools = [(tool("pay"), 1)].into());
    let mut ledger = Ledger::open(&id("root"), &root);
    ledger.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
    let pay = Need::Call { tool: tool("pay"), calls: 1, micros: 0, aside: None };
    ledger.reserve(&id("a"), &pay).unwrap();
    ledger.reserve(&id("a"), &Need::Call { tool: tool("read"), calls: 1, micros: 0, aside: None }).unwrap();
    let ReserveError::Over(over) = ledger.reserve(&id("root"), &pay).unwrap_err() else { panic!("over") };
    assert_eq!((over.limit, over.wanted), (Limit::Tool(tool("pay")), 2));
    assert!(ledger.account(&id("a")).unwrap().tools.is_empty());
}

#[test]
fn a_run_that_leaves_pays_what_it_had_open_and_frees_its_slot_once() {
    let mut ledger = Ledger::open(&id("root"), &Limits::default());
    ledger.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
    ledger.reserve(&id("a"), &step(1, 50)).unwrap();
    ledger.leave(&id("a"));
    ledger.leave(&id("a"));
    let root = ledger.account(&id("root")).unwrap();
    assert_eq!((root.settled.tokens, root.held.tokens, root.agents_alive), (50, 0, 0));
}

#[test]
fn a_booking_takes_all_of_a_decision_or_nothing() {
    let mut ledger = Ledger::open(&id("root"), &limits(|limits| limits.tokens = 100));
    let before = ledger.clone();
    let decision = [started(1, 60), started(2, 60)];
    assert!(ledger.book(&id("root"), &decision).is_err());
    assert_eq!(ledger, before);
    ledger.book(&id("root"), &decision[..1]).unwrap();
    let allowance = ledger.allowance(&id("root"));
    let tokens = allowance.0.iter().find(|share| share.limit == Limit::Tokens).unwrap();
    assert_eq!((tokens.used, tokens.held, tokens.allowed), (0, 60, 100));
}

#[test]
fn what_costs_nothing_is_not_in_the_way_of_a_run_that_spent_too_much() {
    let mut ledger = Ledger::open(&id("root"), &limits(|limits| limits.micros = 10));
    ledger.reserve(&id("root"), &step(1, 5)).unwrap();
    ledger.settle(&id("root"), 1, Cost { tokens: 5, micros: 50 });
    let call = |micros: u64| Need::Call { tool: tool("read"), calls: 1, micros, aside: None };
    assert_eq!(ledger.reserve(&id("root"), &call(0)), Ok(()));
    let over = Exhausted { limit: Limit::Money, wanted: 51, allowed: 10, of: None };
    assert_eq!(ledger.reserve(&id("root"), &call(1)), Err(ReserveError::Over(over)));
}

#[test]
fn a_run_is_left_what_the_tightest_account_above_it_leaves() {
    let mut ledger = Ledger::open(&id("root"), &limits(|limits| limits.tokens = 100));
    ledger.enter(&id("small"), &id("root"), &limits(|limits| limits.tokens = 50)).unwrap();
    ledger.enter(&id("large"), &id("root"), &limits(|limits| limits.tokens = 200)).unwrap();
    ledger.enter(&id("equal"), &id("root"), &limits(|limits| limits.tokens = 100)).unwrap();
    let tokens = |ledger: &Ledger, run: &str| {
        let allowance = ledger.allowance(&id(run));
        let share = allowance.0.into_iter().find(|share| share.limit == Limit::Tokens).unwrap();
        (share.of, share.allowed - share.used - share.held)
    };
    assert_eq!(tokens(&ledger, "small"), (id("small"), 50));
    assert_eq!(tokens(&ledger, "large"), (id("root"), 100));
    assert_eq!(tokens(&ledger, "equal"), (id("equal"), 100), "of equals the nearest");
    ledger.reserve(&id("large"), &step(1, 60)).unwrap();
    assert_eq!(tokens(&ledger, "small"), (id("root"), 40));
}

#[test]
fn what_is_refused_says_what_to_do() {
    let mut ledger = Ledger::open(&id("root"), &limits(|limits| limits.tokens = 1));
    let over = ledger.reserve(&id("root"), &step(1, 2)).unwrap_err();
    assert_eq!(over.remedy(), "raise tokens, or let the run halt");
    let unknown = ledger.reserve(&id("nobody"), &step(1, 2)).unwrap_err();
    assert_eq!(unknown.to_string(), "run nobody is not in this tree");
    assert_eq!(unknown.remedy(), "enter the run first");
}

fn submitted(parent: Option<RunId>, limits: &Limits) -> Event {
    let mut task = plain("work", "scripted:x").unwrap();
    task.limits = limits.clone();
    Event::Submitted(Box::new(Submission {
        task,
        tools: Vec::new(),
        key: None,
        seed: "0".into(),
        price: crate::budget::Price::FREE,
        fingerprint: Digest::ZERO,
        learned: None,
        calibration: None,
        novel: false,
        rates: Default::default(),
        critic_price: None,
        prices: Default::default(),
        contexts: Default::default(),
        parent,
    }))
}

fn started(step: u32, tokens: u64) -> Event {
    Event::StepStarted {
        step,
        purpose: Purpose::Act(SubtaskId::parse("main").unwrap()),
        request: Digest::ZERO,
        reserved: Cost { tokens, micros: tokens },
        notice: None,
        last: None,
        sent: None,
    }
}

fn finished(step: u32, tokens: u64) -> Event {
    Event::StepFinished {
        step,
        stop: Stop::End,
        usage: Usage { output: tokens, ..Usage::default() },
        micros: tokens,
        text: Payload::inline(""),
        calls: Vec::new(),
        heard: None,
        likelihood: None,
        claim: None,
    }
}

fn failed(step: u32, kind: StepTrouble) -> Event {
    Event::StepFailed {
        step,
        why: StepFailure { kind, message: String::new() },
        retry_at: None,
        given_up: false,
    }
}

fn called(tool: ToolName) -> Event {
    Event::CallStarted {
        action: ActionId { step: 1, index: 0 },
        tool,
        args: Digest::ZERO,
        touch: Touch::Read,
        repeat: Repeat::Freely,
        key: Digest::ZERO,
        attempt: 1,
        image: None,
        micros: 0,
        reserved: None,
        undo: None,
    }
}

#[test]
fn a_call_is_counted_when_it_is_first_tried_and_when_another_try_is_decided() {
    let mut ledger = Ledger::open(&id("root"), &Limits::default());
    let first = called(tool("pay"));
    let Event::CallStarted { attempt: 1, .. } = &first else { panic!("{first:?}") };
    ledger.book(&id("root"), std::slice::from_ref(&first)).unwrap();
    assert_eq!(ledger.account(&id("root")).unwrap().tool_calls, 1);
    let mut again = first;
    if let Event::CallStarted { attempt, .. } = &mut again {
        *attempt = 2;
    }
    ledger.book(&id("root"), &[again]).unwrap();
    assert_eq!(ledger.account(&id("root")).unwrap().tool_calls, 1, "the decision to try again counted it");
}

#[test]
fn a_run_that_is_in_already_is_not_let_in_again_by_its_journal() {
    let mut ledger = Ledger::open(&id("root"), &Limits::default());
    ledger.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
    ledger.reserve(&id("a"), &step(1, 5)).unwrap();
    let before = ledger.clone();
    ledger.apply(&id("a"), &submitted(Some(id("root")), &Limits::default()));
    assert_eq!(ledger, before);
}

fn ended() -> Event {
    let why = HaltReason::Cancelled { by: "ann".into() };
    Event::Ended { contract: CONTRACT, ending: Ending::Halted { why, report: None } }
}

/// Chance, drawn from one number.
struct Dice(u32);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        let drawn = self.0 as usize % sides.max(1);
        self.0 = self.0.rotate_right(7).wrapping_mul(0x9E37_79B1).wrapping_add(0x85EB_CA6B);
        drawn
    }
}

/// A tree at work, with the journals it writes and what providers billed beyond
/// what was set aside.
struct World {
    ledger: Ledger,
    journals: Vec<(RunId, Vec<Event>)>,
    steps: u32,
    excess: Cost,
}

impl World {
    fn new(root: &Limits) -> Self {
        let journals = vec![(id("r0"), vec![submitted(None, root)])];
        Self { ledger: Ledger::open(&id("r0"), root), journals, steps: 0, excess: Cost::default() }
    }

    fn drawn(dice: &mut Dice) -> Limits {
        limits(|limits| {
            limits.tokens = dice.below(3000) as u64;
            limits.micros = dice.below(3000) as u64;
            limits.steps = dice.below(10) as u32;
            limits.tool_calls = dice.below(10) as u32;
            limits.tools = [(tool("pay"), dice.below(4) as u32)].into();
            limits.tree = TreeLimits {
                depth: dice.below(4) as u32,
                agents_alive: dice.below(5) as u32,
                agents: dice.below(8) as u32,
                steps: dice.below(30) as u32,
            };
        })
    }

    /// Books an event; a refused one leaves everything as it was.
    fn book(&mut self, index: usize, event: Event) -> Result<(), String> {
        let before = self.ledger.clone();
        let (run, journal) = &mut self.journals[index];
        match self.ledger.book(run, std::slice::from_ref(&event)) {
            Ok(()) => journal.push(event),
            Err(_) if self.ledger != before => return Err(format!("{event:?} was refused and booked")),
            Err(_) => {}
        }
        Ok(())
    }

    fn play(&mut self, dice: &mut Dice) -> Result<(), String> {
        let index = dice.below(self.journals.len());
        let run = self.journals[index].0.clone();
        let account = self.ledger.account(&run).cloned().ok_or("a run without an account")?;
        let open = account.open.keys().copied().nth(dice.below(account.open.len()));
        match (dice.below(9), open) {
            (0 | 1, _) => self.spawn(&run, dice),
            (2 | 3, _) if account.alive => {
                self.steps += 1;
                self.book(index, started(self.steps, dice.below(800) as u64))
            }
            (4, _) if account.alive => self.book(index, called(tool(["pay", "read"][dice.below(2)]))),
            (5, Some(step)) => {
                let used = dice.below(1000) as u64;
                let set_aside = account.open[&step];
                self.excess = self.excess.plus(Cost { tokens: used, micros: used }.minus(set_aside));
                self.book(index, finished(step, used))
            }
            (6, Some(step)) => {
                let kinds = [StepTrouble::Lost, StepTrouble::Transient, StepTrouble::TimedOut];
                self.book(index, failed(step, kinds[dice.below(3)]))
            }
            (7, None) if account.alive => self.book(index, ended()),
            (8, _) => {
                let raised =
                    vec![Raise { limit: Limit::ALL[dice.below(12)].clone(), to: dice.below(4000) as u64 }];
                self.book(index, Event::Resumed { by: "ann".into(), raised, without: Vec::new() })
            }
            (_, _) => Ok(()),
        }
    }

    fn spawn(&mut self, parent: &RunId, dice: &mut Dice) -> Result<(), String> {
        let child = id(&format!("r{}", self.journals.len()));
        let (limits, before) = (Self::drawn(dice), self.ledger.clone());
        match self.ledger.enter(&child, parent, &limits) {
            Ok(_) => self.journals.push((child, vec![submitted(Some(parent.clone()), &limits)])),
            Err(_) if self.ledger != before => return Err("half an agent was let in".into()),
            Err(_) => {}
        }
        Ok(())
    }

    fn check(&self, before: &Ledger) -> Result<(), String> {
        for (run, account) in &self.ledger.accounts {
            let Limits { tokens, micros, steps, tool_calls, tree, .. } = &account.limits;
            let held = account.settled.plus(account.held).minus(self.excess);
            let within = held.tokens <= *tokens
                && held.micros <= *micros
                && account.steps <= u64::from(*steps)
                && account.tool_calls <= u64::from(*tool_calls)
                && account.tree_steps <= u64::from(tree.steps)
                && account.agents <= u64::from(tree.agents);
            if !within {
                return Err(format!("{run} is beyond its bounds: {account:?}"));
            }
            let Some(old) = before.accounts.get(run) else { continue };
            let grew = old.steps <= account.steps
                && old.tree_steps <= account.tree_steps
                && old.tool_calls <= account.tool_calls
                && old.settled.tokens <= account.settled.tokens
                && old.settled.micros <= account.settled.micros
                && old.agents <= account.agents;
            if !grew {
                return Err(format!("a counter of {run} fell: {old:?} {account:?}"));
            }
        }
        Ok(())
    }

    /// The journals as another process finds them: run after run, or one event
    /// of each in turn.
    fn folds(&self) -> [Ledger; 2] {
        let mut by_run = Ledger::default();
        for (run, journal) in &self.journals {
            journal.iter().for_each(|event| by_run.apply(run, event));
        }
        let mut in_turn = Ledger::default();
        let longest = self.journals.iter().map(|(_, journal)| journal.len()).max().unwrap_or(0);
        for at in 0..longest {
            for (run, journal) in &self.journals {
                journal.get(at).into_iter().for_each(|event| in_turn.apply(run, event));
            }
        }
        [by_run, in_turn]
    }
}

#[test]
fn whatever_the_interleaving_nobody_takes_more_than_all_above_allow_and_a_fold_gives_the_same() {
    let config =
        Config { cases: 128, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let cases = (any::<u32>(), vec(any::<u32>(), 0..120));
    let outcome = TestRunner::new_with_rng(config, chance).run(&cases, |(first, moves)| {
        let mut world = World::new(&World::drawn(&mut Dice(first)));
        for chance in moves {
            let before = world.ledger.clone();
            world.play(&mut Dice(chance)).map_err(TestCaseError::fail)?;
            world.check(&before).map_err(TestCaseError::fail)?;
        }
        for folded in world.folds() {
            if folded != world.ledger {
                return Err(TestCaseError::fail(format!("{folded:#?} is not {:#?}", world.ledger)));
            }
        }
        let json = serde_json::to_string(&world.ledger).unwrap();
        let back: Ledger = serde_json::from_str(&json).unwrap();
        if back == world.ledger { Ok(()) } else { Err(TestCaseError::fail("serde forgot something")) }
    });
    outcome.unwrap();
}

#[test]
fn a_call_that_asks_a_model_is_a_step_of_the_tree_and_is_settled_when_it_is_over() {
    let action = ActionId { step: 1, index: 0 };
    let asking = |attempt: u32| {
        let mut call = called(tool("ask"));
        if let Event::CallStarted { attempt: made, reserved, .. } = &mut call {
            *made = attempt;
            *reserved = Some(Cost { tokens: 100, micros: 10 });
        }
        call
    };
    let trouble = |why| Event::CallTroubled {
        action,
        tool: tool("ask"),
        attempt: 1,
        why,
        message: String::new(),
        duration_ms: 0,
        retry_at: Millis(0),
    };
    let finished = |spent| Event::CallFinished {
        action,
        outcome: Outcome::Ok,
        output: Payload::inline(""),
        full: None,
        duration_ms: 0,
        trace: None,
        suspicions: Vec::new(),
        spent,
    };
    let doubt = Event::CallInDoubt { action, why: Doubt::Crash, ask: Ask::Person };
    let nothing = Cost::default();
    let all = Cost { tokens: 100, micros: 10 };
    let some = Cost { tokens: 7, micros: 1 };
    for (over, paid) in [
        (trouble(CallTrouble::Unavailable), nothing),
        (trouble(CallTrouble::TimedOut), all),
        (trouble(CallTrouble::Lost), all),
        (finished(None), all),
        (finished(Some(some)), some),
        (doubt, all),
    ] {
        let mut ledger = Ledger::open(&id("root"), &Limits::default());
        ledger.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
        ledger.book(&id("a"), &[asking(1)]).unwrap();
        let root = ledger.account(&id("root")).unwrap();
        assert_eq!((root.tree_steps, root.steps, root.held), (1, 0, all));
        ledger.book(&id("a"), std::slice::from_ref(&over)).unwrap();
        let root = ledger.account(&id("root")).unwrap();
        assert_eq!((root.held, root.settled), (nothing, paid), "{over:?}");
        // Folded from the journal it is the same.
        let mut folded = Ledger::open(&id("root"), &Limits::default());
        folded.enter(&id("a"), &id("root"), &Limits::default()).unwrap();
        [asking(1), over].iter().for_each(|event| folded.apply(&id("a"), event));
        assert_eq!(folded, ledger);
    }
    let tight = Limits { tokens: 150, ..Limits::default() };
    let mut ledger = Ledger::open(&id("root"), &tight);
    ledger.book(&id("root"), &[asking(1), trouble(CallTrouble::Lost)]).unwrap();
    assert!(ledger.book(&id("root"), &[asking(2)]).is_err(), "a lost attempt leaves no room for another");
    let mut ended = Ledger::open(&id("root"), &tight);
    ended.book(&id("root"), &[asking(1)]).unwrap();
    ended.leave(&id("root"));
    assert_eq!(ended.account(&id("root")).unwrap().settled, all, "what is open at the end is paid");
}
