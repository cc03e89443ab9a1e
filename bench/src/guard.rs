//! What guarding a call costs: a check and a record, large outputs, old runs,
//! memory, and the same events through the published crate `noos` 0.4.1.
//!
//! Ours is measured with all it does: traces of arguments and outputs are made in
//! the time that is told. Theirs sees names and counts alone, so a ratio says what
//! looking closer costs, not who is better written.

mod stream;

use std::hint::black_box;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bowline::core::guard::loops::{Detector, Settings, Verdict};
use bowline::core::guard::{CallTrace, OutputTrace};
use serde_json::{Value, json};

use crate::report::{Judged, Section, Target};
use crate::{Bench, memory, stopwatch};
use stream::{Ours, Stream, Theirs, Watcher};

/// How the parent names this child.
pub(crate) const CHILD: &str = "guard-child";

/// Most microseconds for a check and a record.
const CALL_US: f64 = 10.0;
/// Least megabytes of output traced in a second.
const OUTPUT_MB: f64 = 300.0;
/// How much more an old run's call may take than a young one's.
const OLD: f64 = 1.2;
/// Calls that are timed together.
const WINDOW: usize = 10_000;
/// Calls whose memory is weighed.
const WEIGHED: usize = 200_000;
/// Calls in a row of one tool: a young streak and an old one.
const STREAKS: [usize; 2] = [1_000, 20_000];

/// Measures everything.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "200 bytes of arguments and 1 KB of output a call, four tools in turn, no call like one of \
        the last thousand. A check and a record of ours include the traces of arguments and output; the \
        regulators are asked after each call and told each result. Medians, and in brackets the least and \
        the largest. Theirs is `noos` 0.4.1 in the same seconds: it looks at names and counts, never at \
        arguments or outputs. MB are millions of bytes.";
    let mut section = Section::new("Guarding a call", note);
    let stream = Stream::new();
    check_and_record(bench, &stream, &mut section)?;
    large_outputs(bench, &mut section);
    old_runs(bench, &stream, &mut section)?;
    beside(bench, &stream, &mut section)?;
    streaks(bench, &stream, &mut section)?;
    weigh(bench, &mut section)?;
    Ok(section)
}

/// Makes these calls; nothing in them is a loop, so a block is a mistake of the measurement.
fn guarded(detector: &mut Detector, stream: &Stream, from: usize, calls: usize) -> Result<Duration> {
    let start = stopwatch::now();
    for at in from..from + calls {
        let step = stream.step(at);
        let call = CallTrace::of(step.tool, step.args, None);
        let verdict = black_box(detector.check(&call));
        detector.record_call(&call, &OutputTrace::of(step.output, Some(true)), None);
        ensure!(verdict == Verdict::Allow, "call {at} of {} was not allowed", step.tool);
    }
    Ok(start.elapsed())
}

fn micros(time: Duration, calls: usize) -> f64 {
    time.as_secs_f64() * 1e6 / calls as f64
}

fn check_and_record(bench: &Bench, stream: &Stream, section: &mut Section) -> Result<()> {
    let mut taken = Vec::new();
    for _ in 0..bench.repeats() {
        let mut detector = Detector::new(Settings::default());
        taken.push(micros(guarded(&mut detector, stream, 0, WINDOW)?, WINDOW));
    }
    let range = stopwatch::range(&taken);
    let value = stopwatch::median(taken);
    section.judge(
        "check and record",
        format!("{value:.1} µs {range}"),
        Judged { value, target: Target::AtMost(CALL_US), unit: "µs" },
    );
    Ok(())
}

fn large_outputs(bench: &Bench, section: &mut Section) {
    for (what, text) in stream::large_outputs() {
        let rates: Vec<f64> = (0..bench.repeats())
            .map(|_| {
                let start = stopwatch::now();
                let times = 20;
                for _ in 0..times {
                    black_box(OutputTrace::of(black_box(&text), Some(true)));
                }
                stopwatch::rate((text.len() * times) as u64, start.elapsed()) / 1e6
            })
            .collect();
        let range = stopwatch::range(&rates);
        let value = stopwatch::median(rates);
        section.judge(
            format!("output of 1 MB, {what}"),
            format!("{value:.0} MB/s {range}"),
            Judged { value, target: Target::AtLeast(OUTPUT_MB), unit: "MB/s" },
        );
    }
}

/// A detector that has seen a million calls beside one that has seen a thousand, in turns.
fn old_runs(bench: &Bench, stream: &Stream, section: &mut Section) -> Result<()> {
    let (young_at, old_at) = (1_000, bench.fewer(1_000_000));
    let mut young = Detector::new(Settings::default());
    guarded(&mut young, stream, 0, young_at)?;
    let mut old = Detector::new(Settings::default());
    let mut bytes = 0;
    for from in (0..old_at).step_by(1_000) {
        guarded(&mut old, stream, from, 1_000)?;
        bytes = bytes.max(old.bytes());
    }
    let mut ratios = Vec::new();
    for _ in 0..bench.repeats() * 2 {
        let young = guarded(&mut young.clone(), stream, young_at, WINDOW)?;
        let old = guarded(&mut old.clone(), stream, old_at, WINDOW)?;
        ratios.push(old.as_secs_f64() / young.as_secs_f64());
    }
    let range = stopwatch::range(&ratios);
    let value = stopwatch::median(ratios);
    section.judge(
        format!("call {old_at} against call {young_at}"),
        format!("{value:.2} × {range}"),
        Judged { value, target: Target::AtMost(OLD), unit: "×" },
    );
    section.judge(
        format!("detector, at most in {old_at} calls"),
        format!("{:.1} KiB", bytes as f64 / 1024.0),
        Judged {
            value: bytes as f64 / 1024.0,
            target: Target::AtMost(Detector::BYTES_MAX as f64 / 1024.0),
            unit: "KiB",
        },
    );
    Ok(())
}

/// One regulator's time for each of these calls.
fn watched(watcher: &mut impl Watcher, stream: &Stream, from: usize, calls: usize) -> Result<f64> {
    let start = stopwatch::now();
    for at in from..from + calls {
        watcher.call(&stream.step(at))?;
    }
    Ok(micros(start.elapsed(), calls))
}

/// The whole regulators: the same events, the same questions.
fn beside(bench: &Bench, stream: &Stream, section: &mut Section) -> Result<()> {
    let mut calls = Pairs::default();
    let mut turns = Pairs::default();
    for _ in 0..bench.repeats() {
        let (mut ours, mut theirs) = (Ours::new()?, Theirs::new());
        calls.ours.push(watched(&mut ours, stream, 0, WINDOW)?);
        calls.theirs.push(watched(&mut theirs, stream, 0, WINDOW)?);
        let (mut ours, mut theirs) = (Ours::new()?, Theirs::new());
        turns.ours.push(whole_turns(&mut ours, stream)?);
        turns.theirs.push(whole_turns(&mut theirs, stream)?);
    }
    section.tell("regulator: call, decision, result", calls.told("a call"));
    section.tell("regulator: turn of a message, 10 calls, a reply, tokens and a score", turns.told("a turn"));
    Ok(())
}

fn whole_turns(watcher: &mut impl Watcher, stream: &Stream) -> Result<f64> {
    const TURNS: usize = 200;
    let start = stopwatch::now();
    for turn in 0..TURNS {
        watcher.turn(&stream.message(turn))?;
        for at in turn * 10..turn * 10 + 10 {
            watcher.call(&stream.step(at))?;
        }
        watcher.reply(&stream.answer(turn))?;
    }
    Ok(micros(start.elapsed(), TURNS))
}

/// One tool all the time, with ever other arguments: what does a long streak cost?
fn streaks(bench: &Bench, stream: &Stream, section: &mut Section) -> Result<()> {
    const TIMED: usize = 200;
    let grown = |watcher: &mut dyn FnMut(usize) -> Result<()>| -> Result<f64> {
        let mut at = 0;
        let mut times = Vec::new();
        for depth in STREAKS {
            while at < depth {
                watcher(at)?;
                at += 1;
            }
            let start = stopwatch::now();
            for _ in 0..TIMED {
                watcher(at)?;
                at += 1;
            }
            times.push(micros(start.elapsed(), TIMED));
        }
        match times.as_slice() {
            [young, old] => Ok(old / young),
            _ => bail!("two depths are timed"),
        }
    };
    let mut growth = Pairs::default();
    for _ in 0..bench.repeats() {
        let (mut ours, mut theirs) = (Ours::new()?, Theirs::new());
        growth.ours.push(grown(&mut |at| ours.call(&stream.one_tool(at)))?);
        growth.theirs.push(grown(&mut |at| theirs.call(&stream.one_tool(at)))?);
    }
    let [young, old] = STREAKS;
    let (ours, theirs) = (stopwatch::range(&growth.ours), stopwatch::range(&growth.theirs));
    section.tell(
        format!("one tool in a row, call {old} against call {young}"),
        format!(
            "{:.2} × {ours}, theirs {:.1} × {theirs}",
            stopwatch::median(growth.ours),
            stopwatch::median(growth.theirs)
        ),
    );
    Ok(())
}

/// The same measurement of both, again and again.
#[derive(Default)]
struct Pairs {
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

impl Pairs {
    fn told(self, unit: &str) -> String {
        let ratios: Vec<f64> =
            self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect();
        let range = stopwatch::range(&ratios);
        format!(
            "{:.1} µs {unit}, theirs {:.1} µs: {:.1} × {range}",
            stopwatch::median(self.ours),
            stopwatch::median(self.theirs),
            stopwatch::median(ratios),
        )
    }
}

/// Memory of one turn of many calls, each in a fresh process.
fn weigh(bench: &Bench, section: &mut Section) -> Result<()> {
    let calls = bench.fewer(WEIGHED);
    let grown = |whose: &str| -> Result<f64> {
        let told = bench.child(&[CHILD.to_owned(), whose.to_owned(), calls.to_string()])?;
        told.get("grown_kb").and_then(Value::as_f64).context("the child did not tell what it grew by")
    };
    let (ours, theirs) = (grown("ours")?, grown("theirs")?);
    section.tell(
        format!("regulator, resident memory after {calls} calls in one turn"),
        format!("{ours:.0} KB more than before, theirs {theirs:.0} KB"),
    );
    Ok(())
}

/// The child: what a regulator takes after so many calls.
pub(crate) fn child(whose: &str, calls: usize) -> Result<Value> {
    let stream = Stream::new();
    let grown = match whose {
        "ours" => grown_by(&mut Ours::new()?, &stream, calls)?,
        "theirs" => grown_by(&mut Theirs::new(), &stream, calls)?,
        other => bail!("there is no regulator {other:?}"),
    };
    Ok(json!({ "grown_kb": grown }))
}

fn grown_by(watcher: &mut impl Watcher, stream: &Stream, calls: usize) -> Result<u64> {
    let before = memory::status("VmRSS:")?;
    watched(watcher, stream, 0, calls)?;
    let after = memory::status("VmRSS:")?;
    // Still in use, so that nothing was given back before it was weighed.
    black_box(watcher);
    Ok(after.saturating_sub(before))
}
