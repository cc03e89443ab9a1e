//! Properties: whatever a world does, and whatever anybody says to a run at any
//! time, it moves on to an ending or to a question only a person can answer.

use proptest::collection::vec;
use proptest::prelude::any;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::build::{Setup, task};
use super::drive::Driver;
use super::script;
use super::world::wake;
use crate::budget::Limits;
use crate::effect::Effect;
use crate::event::{Ending, FailReason};
use crate::run::{Refused, Run};
use crate::task::Review;

const CASES: u32 = 96;
const REPLIES: [&str; 26] = [
    ": done",
    "read(a) read(b)",
    "write(f) read(a) write(g)",
    "write(f?) build(x)",
    "write(f!) put(x)",
    "pay(10)",
    "send(mail) send(more)",
    "wipe(disk) read(a)",
    "peek(a) write(f)",
    "stamp(f)",
    "nosuch(x) !read(a)",
    "cut read(a): half",
    "cut: half",
    "refused wipe(disk): no",
    "filtered: half",
    ": {\"summary\":\"off\",\"defects\":[]}",
    "build(x) pay(10) peek(a)",
    ": CANNOT: it is locked",
    ": CANNOT: nor this",
    ": {\"plan\":[{\"id\":\"x\",\"goal\":\"one\"},{\"id\":\"y\",\"goal\":\"two\",\"after\":[\"x\"]}]}",
    ": {\"plan\":[{\"id\":\"z\",\"goal\":\"another\"}]}",
    "ask(q) read(a)",
    "book(x) write(f)",
    "write(f) book(y)",
    "ask(q) ask(r) put(x)",
    ": done",
];
const TROUBLE: [&str; 6] =
    ["transient", "rate_limited", "rate_limited 130000", "timed_out", "permanent", "lost"];
const RETURNS: [&str; 8] = ["ok", "ok", "ok", "error", "unknown", "trouble", "late", "trouble 3000"];
const SIGNALS: [&str; 13] = [
    "pause",
    "resume",
    "resume steps=12 tool_calls=9",
    "cancel",
    "approve A",
    "approve output",
    "deny A",
    "deny output",
    "approve A other",
    "settle A happened",
    "settle A did-not",
    "settle A given-up",
    "undo",
];
const INTRUDERS: [&str; 20] = [
    "undone A",
    "undo-trouble A",
    "told",
    "reply S: out of the blue",
    "reply S pay(10) wipe(disk)",
    "fail S transient",
    "prepared A",
    "unprepared A",
    "ok A #N",
    "unknown A #N",
    "trouble A #N",
    "late A #N",
    "probe A happened",
    "probe A unknown",
    "check R.I pass",
    "check R.I fail",
    "restored A",
    "stored",
    "weighed S yes",
    "evidence a=1",
];

/// Chance, drawn from one number.
#[derive(Clone, Copy)]
struct Dice(u32);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        let drawn = self.0 as usize % sides;
        self.0 = self.0.rotate_right(7).wrapping_mul(0x9E37_79B1).wrapping_add(0x85EB_CA6B);
        drawn
    }

    fn pick<'a>(&mut self, rows: &[&'a str]) -> &'a str {
        rows[self.below(rows.len())]
    }
}

fn setup(mut dice: Dice) -> Setup {
    let mut setup = task().limits(|limits| {
        *limits = Limits {
            steps: 1 + dice.below(10) as u32,
            tool_calls: dice.below(9) as u32,
            repairs: dice.below(3) as u32,
            parallel: dice.below(4) as u32,
            tokens: [20_000, 1_000_000][dice.below(2)],
            active_ms: [50_000, 3_600_000][dice.below(2)],
            approval_ms: [2000, 600_000][dice.below(2)],
            ..Limits::default()
        }
    });
    for check in ["schema", "tests", "lint"] {
        setup = if dice.below(2) == 0 { setup.check(check) } else { setup };
    }
    setup = match dice.below(7) {
        0 => setup.plan("a; b; c < a b"),
        1 => setup.plan("a; repair-1; b < a"),
        2 | 3 => setup.nodes(choices()),
        4 => setup.planned_by_the_model(dice.below(3) as u32),
        _ => setup,
    };
    setup = setup.review([Review::Always, Review::Never, Review::WhenUnchecked][dice.below(3)]);
    setup = if dice.below(3) == 0 { setup.evidence(&["a"]) } else { setup };
    if dice.below(4) == 0 { setup.keep() } else { setup }
}

/// Two ways to get it, the first in two parts; then something, if it is done.
fn choices() -> serde_json::Value {
    serde_json::json!([
        { "id": "get", "branches": [
            { "nodes": [{ "id": "a", "goal": "one half" }, { "id": "b", "goal": "other half" }] },
            { "nodes": [{ "id": "c", "goal": "otherwise" }] },
        ] },
        { "id": "go", "rule": { "when": { "of": "get", "test": { "contains": "done" } } },
          "branches": [{ "nodes": [{ "id": "d", "goal": "go on" }] }] },
    ])
}

/// A random answer to what is due.
fn answer(effect: &Effect, dice: &mut Dice) -> String {
    match effect {
        Effect::CallModel { step, .. } if dice.below(6) == 0 => {
            format!("fail {step} {}", dice.pick(&TROUBLE))
        }
        Effect::CallModel { step, .. } => format!("reply {step} {}", dice.pick(&REPLIES)),
        Effect::PrepareCall { action, .. } => {
            format!("{} {action}", dice.pick(&["prepared", "prepared", "unprepared"]))
        }
        Effect::RunTool { action, attempt, .. } => {
            let how = dice.pick(&RETURNS);
            let (verb, wait) = how.split_once(' ').unwrap_or((how, ""));
            format!("{verb} {action} #{attempt} {wait}")
        }
        Effect::Probe { action, .. } => {
            format!("probe {action} {}", dice.pick(&["happened", "did-not", "unknown"]))
        }
        Effect::ReadEvidence { .. } => dice.pick(&["evidence a=1", "evidence a=1", "no evidence a"]).into(),
        Effect::RunCheck { round, index, .. } => {
            format!("check {round}.{index} {}", dice.pick(&["pass", "fail", "pass", "broken"]))
        }
        Effect::Splice { round, .. } => format!("spliced {round}"),
        Effect::Weigh { serial, .. } => format!("weighed {serial} {}", dice.pick(&["yes", "no"])),
        Effect::Restore { action, .. } => {
            format!("{} {action}", dice.pick(&["restored", "restored", "left", "unrestored"]))
        }
        Effect::Compensate { action, .. } => {
            let ways = ["undone", "as-before", "impossible", "undo-failed", "undo-trouble", "undone"];
            format!("{} {action}", dice.pick(&ways))
        }
        Effect::Alert { .. } => "told".into(),
        Effect::FindChanges => "changes 2".into(),
        Effect::Land { back, .. } => if *back { "taken-back" } else { "landed" }.into(),
        Effect::StoreResult { .. } => dice.pick(&["stored", "stored-to-promote"]).into(),
        Effect::Promote { attempt, .. } => format!("{} {attempt}", dice.pick(&["taken", "not-taken"])),
        Effect::WakeAt { .. } => "tick".into(),
    }
}

/// A line with its blanks filled in: an action, a step, an attempt, a round, an index.
fn filled(line: &str, dice: &mut Dice) -> String {
    let mut word = |letter: &str| match letter {
        "A" => format!("a{}.{}", 1 + dice.below(6), dice.below(3)),
        "#N" => format!("#{}", 1 + dice.below(3)),
        "S" | "S:" => (1 + dice.below(6)).to_string() + &letter[1..],
        "R.I" => format!("{}.{}", 1 + dice.below(3), dice.below(3)),
        other => other.into(),
    };
    line.split(' ').map(&mut word).collect::<Vec<_>>().join(" ")
}

/// One move of a chaotic world, as a line of a transcript.
fn next_move(driver: &mut Driver, dice: &mut Dice) -> String {
    let class = dice.below(100);
    let due = driver.run.due();
    driver.now = driver.now.plus(dice.below(400) as u64);
    match class {
        0..65 if !due.is_empty() => answer(&due[dice.below(due.len())], dice),
        0..75 => filled(dice.pick(&SIGNALS), dice),
        75..82 => "claim".into(),
        82..90 => {
            driver.now = driver.now.plus([10, 1000, 40_000][dice.below(3)]);
            "tick".into()
        }
        _ => filled(dice.pick(&INTRUDERS), dice),
    }
}

/// More inputs than a run can need from here on: each model call with its wait,
/// each tool call with its look, tries and probes, each check of each round,
/// each undo, and a few for the rest.
fn bound(run: &Run) -> usize {
    let limits = &run.limits;
    let rows = [
        2 * limits.steps,
        limits.tool_calls * (1 + 2 * limits.attempts),
        (run.limits.repairs + 1) * run.task.checks.len() as u32,
        limits.tool_calls,
        8,
    ];
    rows.iter().sum::<u32>() as usize
}

/// Answers what is due, by chance, until nothing is; people say nothing.
fn settle_down(driver: &mut Driver, dice: &mut Dice) -> Result<(), String> {
    for _ in 0..=bound(&driver.run) {
        if driver.run.ending().is_some() {
            return Ok(());
        }
        if !driver.run.owned {
            feed(driver, "claim").map_err(|refused| refused.to_string())?;
            continue;
        }
        let due = driver.run.due();
        let asked: Vec<_> = due.iter().filter(|effect| wake(effect).is_none()).collect();
        if !asked.is_empty() {
            let line = answer(asked[dice.below(asked.len())], dice);
            feed(driver, &line).map_err(|refused| format!("{line} was due and is refused: {refused}"))?;
        } else if driver.run.needs_person() {
            let known = !driver.run.waits().is_empty();
            return known.then_some(()).ok_or_else(|| "it waits for a person who is not told".into());
        } else {
            driver.now = due.iter().filter_map(wake).min().ok_or("nothing is due and nobody is asked")?;
            feed(driver, "tick").map_err(|refused| refused.to_string())?;
        }
    }
    Err("it goes on and on".into())
}

fn feed(driver: &mut Driver, line: &str) -> Result<(), Refused> {
    let input = script::what(driver, line);
    driver.feed(input).map(|_| ())
}

/// The process takes note of a last input and leaves; another one claims the run.
fn stop_with(driver: &mut Driver, line: &str) -> Result<(), Refused> {
    let input = script::what(driver, line);
    let noted = driver.hold(input).map(|_| ());
    noted.and(feed(driver, "claim"))
}

/// Runs a property over the same cases every time.
fn for_all(moves: usize, property: impl Fn(Setup, &[Dice]) -> Result<(), String>) {
    let config =
        Config { cases: CASES, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let chance = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let cases = (any::<u32>(), vec(any::<u32>(), 0..moves));
    let outcome = TestRunner::new_with_rng(config, chance).run(&cases, |(first, rest)| {
        let dice: Vec<Dice> = rest.into_iter().map(Dice).collect();
        property(setup(Dice(first)), &dice).map_err(proptest::test_runner::TestCaseError::fail)
    });
    outcome.unwrap();
}

#[test]
fn a_run_in_chaos_reaches_an_ending_or_a_person_within_its_bounds() {
    for_all(50, |setup, moves| {
        let mut driver = Driver::new(&setup.0);
        let mut lines = vec!["claim".to_owned()];
        feed(&mut driver, "claim").map_err(|refused| refused.to_string())?;
        for dice in moves {
            let mut dice = *dice;
            let line = next_move(&mut driver, &mut dice);
            // Whatever is said at whatever time is either taken or refused.
            let _ =
                if dice.below(12) == 0 { stop_with(&mut driver, &line) } else { feed(&mut driver, &line) };
            lines.push(line);
        }
        let mut dice = moves.last().copied().unwrap_or(Dice(7));
        let settled = settle_down(&mut driver, &mut dice);
        driver.check_replay();
        settled.map_err(|why| format!("{why}, after {lines:?} in {:?}", driver.run.phase))
    });
}

#[test]
fn a_model_that_never_gives_up_is_stopped_by_its_limits() {
    for_all(2, |setup, moves| {
        let mut driver = Driver::new(&setup.0);
        let mut dice = moves.last().copied().unwrap_or(Dice(1));
        feed(&mut driver, "claim").map_err(|refused| refused.to_string())?;
        let most = bound(&driver.run);
        for inputs in 0.. {
            let due = driver.run.due();
            let Some(effect) = due.iter().find(|effect| wake(effect).is_none()) else { break };
            let line = match effect {
                Effect::CallModel { step, .. } => format!("reply {step} read(a) build(x)"),
                Effect::RunTool { action, attempt, .. } => format!("ok {action} #{attempt}"),
                Effect::ReadEvidence { .. } => "evidence a=1".into(),
                Effect::PrepareCall { .. }
                | Effect::Probe { .. }
                | Effect::RunCheck { .. }
                | Effect::Weigh { .. }
                | Effect::Splice { .. }
                | Effect::Restore { .. }
                | Effect::Compensate { .. }
                | Effect::Alert { .. }
                | Effect::FindChanges
                | Effect::Land { .. }
                | Effect::StoreResult { .. }
                | Effect::Promote { .. }
                | Effect::WakeAt { .. } => answer(effect, &mut dice),
            };
            feed(&mut driver, &line).map_err(|refused| format!("{line}: {refused}"))?;
            if inputs > most {
                return Err("it goes on and on".into());
            }
        }
        // One that was to plan, and never does, is given up sooner.
        let no_plan =
            matches!(driver.run.ending(), Some(Ending::Failed { why: FailReason::NoPlan { .. }, .. }));
        let halted = driver.run.phase.word() == "halted";
        (halted || no_plan).then_some(()).ok_or_else(|| format!("it is {:?}", driver.run.phase))
    });
}
