//! What a seed stands for: tasks, lives of the worker, faults. Drawn at once,
//! before anything runs, so that a seed can be described without running it.

use bowline_core::task::{self, Task};
use serde_json::{Value, json};

use crate::chance::Draw;

/// A place where a life can end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// A submission is not durable yet.
    SubmitBefore,
    /// A submission is durable and not acknowledged.
    SubmitAfter,
    /// A claim is not durable yet.
    ClaimBefore,
    /// A claim is durable and not acknowledged.
    ClaimAfter,
    /// An append is not durable yet.
    AppendBefore,
    /// An append is durable and not acknowledged.
    AppendAfter,
    /// A letter is not durable yet.
    SignalBefore,
    /// A letter is durable and not acknowledged.
    SignalAfter,
    /// A tool is about to change the world.
    EffectBefore,
    /// A tool has changed the world and not said so.
    EffectAfter,
    /// A model is about to answer.
    Model,
    /// A probe is about to answer.
    Probe,
}

/// How a life of the worker ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// When there is nothing left to do.
    Never,
    /// When this point is reached for the n-th time.
    At(Point, u64),
    /// After this long.
    After(u64),
}

/// One life of the worker's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// How it ends.
    pub crash: Crash,
    /// How far the clock was set since the life before, in milliseconds.
    pub clock_jump_ms: i64,
    /// When a second worker, whose clock is ahead, takes runs of the first.
    pub rival_after_ms: Option<u64>,
    /// Whether messages get lost, tools hang and models fail.
    pub faulty: bool,
}

/// How the worker finds its runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Each run is asked for by name.
    ByName,
    /// The queue is worked off.
    Queue,
    /// Each run is asked for by name and kept while people think.
    Patient,
}

/// A seed, spelled out.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed.
    pub seed: u64,
    /// Tasks, with the key they are submitted under.
    pub tasks: Vec<(String, Task)>,
    /// Lives of the worker; the last one has no faults.
    pub lives: Vec<Life>,
    /// How runs are found.
    pub calling: Calling,
    /// Whether payments need consent.
    pub pay_asks: bool,
    /// Whether runs write files of the workspace.
    pub writes_files: bool,
    /// In how many of a thousand cases somebody wants a run undone that is over.
    pub regrets: u64,
}

/// What a plan may contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flavour {
    /// Always writes files and often fails, for rollbacks.
    pub rollback: bool,
    /// Always has a rival worker.
    pub rival: bool,
    /// Writes no files, often fails, and people often want undone what was done.
    pub undo: bool,
}

impl Plan {
    /// What this seed stands for.
    #[must_use]
    pub fn draw(seed: u64, flavour: Flavour, workspace: &str) -> Self {
        let mut draw = Draw::new(seed ^ 0x0B0E_1155_EED5_0001);
        let writes_files = flavour.rollback || (draw.happens(80) && !flavour.undo);
        // File work happens on real threads: alone, it cannot come between other runs.
        let count = if writes_files { 1 } else { draw.between(1, 3) };
        let calling = match (writes_files, draw.below(4)) {
            (true, _) | (_, 0 | 1) => Calling::ByName,
            (_, 2) => Calling::Queue,
            (_, _) => Calling::Patient,
        };
        let folder = if writes_files { workspace } else { "." };
        let fails = match (writes_files, flavour.undo) {
            (true, _) | (_, true) => 500,
            (false, false) => 120,
        };
        let tasks = (0..count)
            .map(|index| (format!("key-{index}"), draw_task(&mut draw, index, fails, (writes_files, folder))))
            .collect();
        let lives = draw_lives(&mut draw, flavour, writes_files);
        let regrets = if flavour.undo { 800 } else { 250 };
        Self { seed, tasks, lives, calling, pay_asks: draw.happens(300), writes_files, regrets }
    }
}

fn draw_lives(draw: &mut Draw, flavour: Flavour, writes_files: bool) -> Vec<Life> {
    let crashes = draw.below(6).max(u64::from(flavour.rollback));
    let mut lives: Vec<Life> = (0..crashes)
        .map(|_| Life {
            crash: draw_crash(draw),
            clock_jump_ms: jump(draw),
            rival_after_ms: draw_rival(draw, flavour, writes_files),
            faulty: true,
        })
        .collect();
    lives.push(Life {
        crash: Crash::Never,
        clock_jump_ms: jump(draw),
        rival_after_ms: None,
        faulty: crashes == 0,
    });
    if crashes == 0 {
        // Nothing crashes, and faults still must stop some time.
        if let Some(life) = lives.first_mut() {
            life.crash = Crash::After(draw.between(5_000, 60_000));
            life.rival_after_ms = draw_rival(draw, flavour, writes_files);
        }
        lives.push(Life { crash: Crash::Never, clock_jump_ms: 0, rival_after_ms: None, faulty: false });
    }
    lives
}

fn draw_rival(draw: &mut Draw, flavour: Flavour, writes_files: bool) -> Option<u64> {
    let after = draw.between(100, 15_000);
    let comes = draw.happens(if flavour.rival { 1000 } else { 150 });
    // A worker that lost its run may still be writing a file: no clock is simulated there.
    (comes && !writes_files).then_some(after)
}

fn draw_crash(draw: &mut Draw) -> Crash {
    const POINTS: [Point; 18] = [
        Point::SubmitBefore,
        Point::SubmitAfter,
        Point::ClaimBefore,
        Point::ClaimAfter,
        Point::AppendBefore,
        Point::AppendAfter,
        Point::AppendBefore,
        Point::AppendAfter,
        Point::AppendBefore,
        Point::AppendAfter,
        Point::SignalBefore,
        Point::SignalAfter,
        Point::EffectBefore,
        Point::EffectAfter,
        Point::EffectBefore,
        Point::EffectAfter,
        Point::Model,
        Point::Probe,
    ];
    if draw.happens(150) {
        return Crash::After(draw.between(1, 30_000));
    }
    let point = draw.pick(&POINTS).copied().unwrap_or(Point::AppendBefore);
    // A small count is a crash during recovery.
    let most = if draw.happens(350) { 3 } else { 20 };
    Crash::At(point, draw.between(1, most))
}

fn jump(draw: &mut Draw) -> i64 {
    let size = i64::try_from(draw.between(1, 300_000)).unwrap_or(0);
    match draw.below(4) {
        0 => size,
        1 => -size,
        _ => 0,
    }
}

fn draw_task(draw: &mut Draw, index: u64, fails: u64, (writes_files, folder): (bool, &str)) -> Task {
    let review = match draw.below(20) {
        0..=11 => "never",
        12..=14 => "when-unchecked",
        15..=16 => "when-unsure",
        _ => "always",
    };
    let mut tools = vec!["pay", "slow_pay", "put", "reserve", "look", "ask_model"];
    if writes_files {
        tools.push("write_file");
    }
    let mut raw = json!({
        "goal": format!("Settle the accounts, part {index} of {}", draw.draw()),
        "model": "simulated:any",
        "review": review,
        "tools": tools,
        "workspace": { "path": folder },
        "sandbox": "none",
        "limits": draw_limits(draw),
    });
    let mut add = |name: &str, value: Value| {
        if let Some(fields) = raw.as_object_mut() {
            fields.insert(name.into(), value);
        }
    };
    if draw.happens(700) {
        add("output", json!({ "schema": { "type": "object", "required": ["n"] } }));
    }
    if draw.happens(300) {
        // It cannot be started either: people are told nothing, and that is on the record.
        add("on_alert", json!(["bowline-no-such-program"]));
    }
    if draw.happens(fails) {
        // It cannot be started, so it never passes: the critic's way.
        add("check", json!([{ "name": "never", "command": ["bowline-no-such-program"] }]));
    }
    if draw.happens(350) {
        add(
            "plan",
            json!([
                { "id": "left", "goal": "left" },
                { "id": "right", "goal": "right" },
                { "id": "join", "goal": "join", "after": ["left", "right"] },
            ]),
        );
    }
    if draw.happens(200) {
        add("rubric", json!({ "asks": 1 + draw.below(3) }));
    }
    task::parse(&raw).unwrap_or_else(|bad| panic!("a task of the simulator is refused: {bad}"))
}

fn draw_limits(draw: &mut Draw) -> Value {
    let scarce = draw.happens(200);
    let most = |draw: &mut Draw, low: u64, high: u64, plenty: u64| {
        if scarce { draw.between(low, high) } else { plenty }
    };
    json!({
        "steps": most(draw, 3, 20, 60),
        "tool_calls": most(draw, 1, 10, 100),
        "tokens": most(draw, 2_000, 40_000, 1_000_000),
        "active_seconds": most(draw, 20, 200, 3600),
        "repairs": draw.between(0, 2),
        "parallel": draw.between(1, 3),
        "truncations": draw.between(2, 3),
        "attempts": draw.between(2, 4),
        "output_tokens": 200,
        "model_seconds": 20,
        "approval_seconds": draw.between(30, 300),
    })
}
