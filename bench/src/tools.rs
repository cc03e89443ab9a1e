//! What stands between a call and the world: the cage around a program, the gate
//! before a connection, the path guard before a file, the fence around a text; and what
//! verifying an output costs where no model is asked.
//! Each beside what it stands in front of, in the same run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bowline::core::control::Ppm;
use bowline::core::untrusted::{Mark, render};
use bowline::core::verify::{Assertion, Of, Proof, Target as About};
use bowline::tools::{Launcher, Workspace, check, evidence, file_work_in_place};
use bowline_cage::{Bounds, Cage, Ended, Grant, Outside};
use bowline_net::{Policy, Tier};
use serde_json::{Value, json};

use crate::report::{Judged, Section, Target};
use crate::stopwatch::{median, now, range};
use crate::{Bench, CAGE};

/// Bubblewrap with the namespaces a cage has, and nothing else.
const PLAIN: [&str; 7] =
    ["--ro-bind", "/", "/", "--unshare-user", "--unshare-all", "--die-with-parent", "true"];

/// Hosts on the list of the policy that is measured.
const HOSTS: usize = 1024;

/// Measures all five.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let note = "Medians; what is taken off is the bare thing, measured in turn with it.";
    let mut section = Section::new("Tools", note);
    cage(bench, &mut section)?;
    gate(bench, &mut section)?;
    file(bench, &mut section)?;
    fence(bench, &mut section);
    checks(bench, &mut section)?;
    Ok(section)
}

/// Milliseconds of one piece of work.
fn millis<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = now();
    let done = work();
    (done, start.elapsed().as_secs_f64() * 1e3)
}

fn cage(bench: &Bench, section: &mut Section) -> Result<()> {
    let cage = match Cage::find(Launcher::this_program([CAGE])?, &Outside::here()) {
        Ok(cage) => cage,
        Err(missing) => {
            section.tell("start of a program in the cage", format!("no cage here: {missing}"));
            return Ok(());
        }
    };
    let bounds = Bounds { deadline: Duration::from_secs(30), output_bytes: 4096 };
    let (mut bare, mut caged) = (Vec::new(), Vec::new());
    for _ in 0..bench.fewer(40) {
        let alone = || Command::new(cage.bubblewrap()).args(PLAIN).stdin(Stdio::null()).status();
        let (status, took) = millis(alone);
        if !status?.success() {
            bail!("`true` failed in bubblewrap alone");
        }
        bare.push(took);
        let started =
            || cage.command(&Grant::default(), &["true"], Path::new("/tmp")).map(|caged| caged.run(bounds));
        let (ran, took) = millis(started);
        if ran??.ended != Ended::Exited(0) {
            bail!("`true` failed in the cage");
        }
        caged.push(took);
    }
    let more = median(caged.clone()) - median(bare.clone());
    section.tell("`true` in bubblewrap alone", format!("{:.1} ms {}", median(bare.clone()), range(&bare)));
    section.tell("`true` in the cage", format!("{:.1} ms {}", median(caged.clone()), range(&caged)));
    let result = format!("{more:.1} ms ({:.2} ×)", median(caged) / median(bare));
    section.judge("start of a program, more than bubblewrap alone", result, at_most(more, 40.0, "ms"));
    Ok(())
}

fn gate(bench: &Bench, section: &mut Section) -> Result<()> {
    let names: Vec<String> = (0..HOSTS).map(|at| format!("host-{at}.example.com")).collect();
    let policy = Policy::new(Tier::Standard, &names).context("a policy of good hosts")?;
    let url = "https://host-1000.example.com/a/path/of/some/length?with=a&query=in%20it";
    let answers = ["93.184.215.14".parse()?];
    let rounds = bench.fewer(20_000);
    let judged = micros(bench, rounds, || {
        let target = policy.judge(url).ok()?;
        policy.check(target, &answers).ok()
    })?;
    let parsed = micros(bench, rounds, || url.parse::<url::Url>().ok())?;
    let result = format!("{judged:.2} µs ({:.1} × of parsing alone, {parsed:.2} µs)", judged / parsed);
    section.judge(
        format!("gate, {HOSTS} hosts listed, without the look-up"),
        result,
        at_most(judged, 20.0, "µs"),
    );
    Ok(())
}

fn file(bench: &Bench, section: &mut Section) -> Result<()> {
    let folder = bench.folder("files");
    std::fs::create_dir_all(folder.join("a/b/c"))?;
    std::fs::write(folder.join("a/b/c/text"), "a line\n")?;
    let workspace = Workspace::open(&folder)?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let rounds = bench.fewer(20_000);
    let guarded = micros(bench, rounds, || {
        file_work_in_place(|| runtime.block_on(evidence::read(&workspace, "a/b/c/text"))).ok()
    })?;
    let path = folder.join("a/b/c/text");
    let bare = micros(bench, rounds, || std::fs::read(&path).ok())?;
    let more = guarded - bare;
    let result = format!("{more:.1} µs ({guarded:.1} µs, bare {bare:.1} µs)");
    section.judge(
        "opening and reading a file, more than the system alone",
        result,
        at_most(more, 10.0, "µs"),
    );
    Ok(())
}

fn fence(bench: &Bench, section: &mut Section) {
    let line = "The parcel arrives on Friday; fn add(a: u32) -> u32 { a + 1 } // see notes, page 12.\n";
    let text = line.repeat((1 << 20) / line.len());
    let mark = Mark::of("0", "bench");
    let megabytes = text.len() as f64 / 1e6;
    let (mut rendered, mut copied) = (Vec::new(), Vec::new());
    for _ in 0..bench.fewer(20) {
        rendered.push(megabytes / (millis(|| std::hint::black_box(render(&text, &mark))).1 / 1e3));
        copied.push(megabytes / (millis(|| std::hint::black_box(text.to_lowercase())).1 / 1e3));
    }
    let rate = median(rendered.clone());
    let result = format!(
        "{rate:.0} MB/s {}, {:.2} × of making it lower case",
        range(&rendered),
        rate / median(copied)
    );
    let judged = Judged { value: rate, target: Target::AtLeast(50.0), unit: "MB/s" };
    section.judge("fencing and sanitising 1 MiB of prose and code", result, judged);
}

/// A schema and three statements on 100 KB of JSON, and the gates.
fn checks(bench: &Bench, section: &mut Section) -> Result<()> {
    let row = |at: usize| json!({ "id": at, "name": format!("customer {at}"), "total": at * 7 });
    let rows: Vec<Value> = (0..2_000).map(row).collect();
    let output = json!({ "rows": rows, "count": 2_000 }).to_string();
    let schema = json!({ "type": "object", "required": ["rows", "count"], "properties": {
        "count": { "type": "integer" },
        "rows": { "type": "array", "items": {
            "type": "object", "required": ["id", "name", "total"], "additionalProperties": false,
            "properties": { "id": { "type": "integer" }, "name": { "type": "string", "maxLength": 40 },
                "total": { "type": "number", "minimum": 0 } } } } } });
    let value = |at: &str, is: Value| Proof::Value(Of { at: at.into(), is, within: Ppm::ZERO });
    let lacks = |pattern: &str| Proof::Matches { pattern: pattern.into(), wanted: false };
    let proofs =
        [value("/count", json!(2_000)), value("/rows/1999/total", json!(13_993)), lacks("(?i)lorem ipsum")];
    let stated = proofs.map(|proof| Assertion { target: About::Output, proof });
    let workspace = Workspace::open(&bench.folder("files"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let all_hold = || {
        let holds =
            |one: &Assertion| runtime.block_on(check::assertion_check(&workspace, one, &output)).is_pass();
        (check::schema_check(&schema, &output).is_pass() && stated.iter().all(holds)).then_some(())
    };
    let verified = micros(bench, bench.fewer(200), all_hold)? / 1e3;
    let parsed = micros(bench, bench.fewer(200), || serde_json::from_str::<Value>(&output).ok())? / 1e3;
    let size = output.len() / 1000;
    let result = format!("{verified:.2} ms ({:.1} × of parsing it once, {parsed:.2} ms)", verified / parsed);
    section.judge(
        format!("schema and three statements on {size} KB of JSON"),
        result,
        at_most(verified, 5.0, "ms"),
    );
    Ok(())
}

/// Microseconds of one piece of work, the median of several rounds of many.
fn micros<T>(bench: &Bench, times: usize, mut work: impl FnMut() -> Option<T>) -> Result<f64> {
    let mut rounds = Vec::new();
    for _ in 0..bench.repeats() {
        let (done, took) = millis(|| (0..times).all(|_| std::hint::black_box(work()).is_some()));
        if !done {
            bail!("what is measured failed");
        }
        rounds.push(took * 1e3 / times as f64);
    }
    Ok(median(rounds))
}

fn at_most(value: f64, bound: f64, unit: &'static str) -> Judged {
    Judged { value, target: Target::AtMost(bound), unit }
}
