//! Judges a set of hostile cases: one JSON object a line.
//!
//! Prints `injection PASSED/TOTAL`, then one line for each case that failed, and
//! names the cases that other crates have to hold.

use std::path::Path;
use std::time::{Duration, Instant};

use bowline_core::id::ToolName;
use bowline_core::untrusted::description::{Described, Standing, standing};
use bowline_core::untrusted::outgoing::{Secret, chosen_keys, leaks};
use bowline_core::untrusted::suspicion::suspicion;
use bowline_core::untrusted::{Mark, SANITIZED, escape_page, render};
use serde::Deserialize;
use serde_json::Value;

use crate::Trouble;

#[derive(Deserialize)]
struct Case {
    id: String,
    input: String,
    expect: String,
    #[serde(default)]
    must_not_contain: Vec<String>,
    #[serde(default)]
    must_contain: Vec<String>,
    #[serde(default)]
    must_keep: Vec<String>,
    #[serde(default)]
    repeat: Option<Repeat>,
    #[serde(default)]
    max_ms: Option<u64>,
}

#[derive(Deserialize)]
struct Repeat {
    text: String,
    times: usize,
}

/// How a case came out.
enum Outcome {
    Held,
    Failed(String),
    /// Held by another crate: which.
    Elsewhere(&'static str),
}

pub(crate) fn run(file: &Path) -> Result<bool, Trouble> {
    let (mut held, mut total) = (0, 0);
    let (mut failed, mut elsewhere) = (Vec::new(), Vec::new());
    for (number, line) in
        std::fs::read_to_string(file)?.lines().enumerate().filter(|(_, line)| !line.is_empty())
    {
        let case: Case =
            serde_json::from_str(line).map_err(|e| format!("{}:{}: {e}", file.display(), number + 1))?;
        total += 1;
        match judge(&case) {
            Outcome::Held => held += 1,
            Outcome::Failed(why) => failed.push(format!("  {}: {why}", case.id)),
            Outcome::Elsewhere(whose) => elsewhere.push(format!("  {} is for {whose}", case.id)),
        }
    }
    println!("injection {held}/{total}");
    for line in failed.iter().chain(&elsewhere) {
        println!("{line}");
    }
    Ok(failed.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "some cases bound the time")]
fn judge(case: &Case) -> Outcome {
    let input =
        case.repeat.as_ref().map_or_else(|| case.input.clone(), |repeat| repeat.text.repeat(repeat.times));
    let start = Instant::now();
    let outcome = match case.expect.as_str() {
        "neutralise" => neutralised(case, &input),
        "pass" => passes(&input),
        "flag" => flagged(&input),
        "quarantine" => {
            held(matches!(standing(&tool(&input), None, &[]), Standing::Quarantine { .. }), "not held back")
        }
        "reapprove" => reapproved(&input),
        "block_action" => blocked(&input),
        other => Outcome::Failed(format!("nobody knows what {other:?} asks for")),
    };
    match case.max_ms {
        Some(most) if start.elapsed() > Duration::from_millis(most) => {
            Outcome::Failed(format!("over {most} ms"))
        }
        Some(_) | None => outcome,
    }
}

fn held(is_held: bool, else_why: &str) -> Outcome {
    if is_held { Outcome::Held } else { Outcome::Failed(else_why.to_owned()) }
}

fn rendered(input: &str) -> Option<String> {
    let mark = Mark::parse("f3a9c1d27b604e58").ok()?;
    Some(render(input, &mark).body().to_owned())
}

fn neutralised(case: &Case, input: &str) -> Outcome {
    let Some(body) = rendered(input) else { return Outcome::Failed("no mark".into()) };
    let lost = case.must_keep.iter().chain(&case.must_contain).find(|text| !body.contains(*text));
    let left = case.must_not_contain.iter().find(|text| body.contains(*text));
    match (lost, left) {
        (Some(lost), _) => Outcome::Failed(format!("lost {lost:?} in {body:?}")),
        (None, Some(left)) => Outcome::Failed(format!("left {left:?} in {body:?}")),
        (None, None) => held(body.contains(SANITIZED), "nothing was taken out"),
    }
}

fn passes(input: &str) -> Outcome {
    let is_same = rendered(input).is_some_and(|body| body == input);
    held(is_same && !suspicion(input).flagged, "changed, or flagged")
}

/// Flagged, and no control character reaches a terminal.
fn flagged(input: &str) -> Outcome {
    let is_shown = !escape_page(input).chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    held(suspicion(input).flagged && is_shown, "not flagged")
}

fn tool(description: &str) -> Described<'_> {
    Described { name: "add", description, schema: "{}", annotations: "{}" }
}

fn reapproved(input: &str) -> Outcome {
    let Ok(pair) = serde_json::from_str::<Value>(input) else { return Outcome::Failed("no pair".into()) };
    let of = |name: &str| pair.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (approved, now) = (of("approved"), of("now"));
    // The case does not say which part changed: every part must notice.
    let parts = [
        (tool(&approved), tool(&now)),
        (Described { schema: &approved, ..tool("x") }, Described { schema: &now, ..tool("x") }),
        (Described { annotations: &approved, ..tool("x") }, Described { annotations: &now, ..tool("x") }),
    ];
    let asks = |(before, after): &(Described<'_>, Described<'_>)| {
        let standing = standing(after, Some(before.digest()), &[]);
        matches!(standing, Standing::Reapprove { .. }) && !standing.may_run()
    };
    held(parts.iter().all(asks), "a change went unnoticed")
}

/// The tools a run would know in these cases.
const TOOLS: [&str; 5] = ["http", "shell", "spawn_agent", "pay", "read_file"];
const SECRET: Secret<'_> = Secret { name: "SECRET", value: "c0ffee-1234-secret" };

fn blocked(input: &str) -> Outcome {
    let Ok(call) = serde_json::from_str::<Value>(input) else { return Outcome::Failed("no call".into()) };
    let name = call.get("tool").and_then(Value::as_str).unwrap_or_default();
    let args = call.get("args").map(Value::to_string).unwrap_or_default();
    let is_known = ToolName::parse(name).is_ok() && TOOLS.contains(&name);
    let filled = args.replace("${SECRET}", SECRET.value);
    if !is_known
        || !chosen_keys(&args).is_empty()
        || !leaks(&args, &[SECRET]).is_empty() && !leaks(&filled, &[SECRET]).is_empty()
    {
        return Outcome::Held;
    }
    match name {
        "shell" => Outcome::Elsewhere("the shell's command rules"),
        "spawn_agent" => Outcome::Elsewhere("the rules of child agents"),
        "read_file" => Outcome::Elsewhere("the path guard"),
        "pay" => Outcome::Elsewhere("the tool's schema"),
        _ => Outcome::Failed("would run".into()),
    }
}
