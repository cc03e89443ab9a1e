//! Hostile URLs against the network gate.
//!
//! The real client with the real policy runs against a resolver and a network
//! that only exist in memory, TLS included, on a clock that is wound forward; a
//! case passes when the verdict is right *and* what it forbids (look-ups,
//! sockets, addresses, headers) did not happen.

mod case;
mod world;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use crate::{Options, Score, cases};
use case::{Case, Verdict};
use world::World;

/// Runs every case of the file.
pub(crate) fn run(file: &Path, _options: Options) -> Result<Score> {
    let mut score = Score::default();
    for (id, value) in cases(file)? {
        let outcome = serde_json::from_value(value.clone())
            .context("the case cannot be read")
            .and_then(|case: Case| check(&case, &value));
        score.add(&id, outcome);
    }
    Ok(score)
}

/// A case that names an environment runs in a process that has it.
fn check(case: &Case, value: &serde_json::Value) -> Result<()> {
    let here = case.env.iter().all(|(name, wanted)| std::env::var(name).is_ok_and(|found| found == *wanted));
    if here {
        return check_here(case);
    }
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("ssrf.jsonl"), format!("{value}\n"))?;
    let program = std::env::current_exe()?;
    let output = Command::new(program).arg(folder.path()).envs(&case.env).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "with that environment: {}", said.trim());
    Ok(())
}

fn check_here(case: &Case) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let world = World::of(case)?;
    runtime.block_on(async {
        let client = world.client(case);
        expected("", case.expect, &world.ask(case, client.as_ref()).await)?;
        match case.then.as_deref() {
            None => {}
            // No connection is kept, so asking again is a new connection.
            Some("close and request again") => {
                let wanted = case.then_expect.context("`then` without `then_expect`")?;
                expected("the second time: ", wanted, &world.ask(case, client.as_ref()).await)?;
            }
            Some(other) => bail!("no way to {other:?}"),
        }
        world.forbidden(case)
    })
}

/// What was refused carries its reason.
type Asked = std::result::Result<(), (&'static str, String)>;

fn expected(when: &str, wanted: Verdict, found: &Asked) -> Result<()> {
    match (wanted, found) {
        (Verdict::Allow, Ok(())) | (Verdict::Deny, Err(_)) => Ok(()),
        (Verdict::Allow, Err((reason, message))) => bail!("{when}refused ({reason}): {message}"),
        (Verdict::Deny, Ok(())) => bail!("{when}let through"),
    }
}

#[cfg(test)]
mod tests;
