//! `cargo xtask mcp FOLDER`: real servers in the cage, and the official
//! conformance suite, against the MCP client. Installs what it needs into the
//! folder, with npm and pip, and prints one line for each server and scenario.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::cargo;

/// The servers and the suite; the suite wants a newer Node than many machines have.
const NPM: [&str; 4] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "node@22",
];
const PIP: [&str; 2] = ["mcp-server-git==2026.10.19", "mcp-server-fetch==2026.10.24"];

/// What the client must pass: everything for clients but authorization.
const SCENARIOS: [&str; 10] = [
    "initialize",
    "tools_call",
    "sse-retry",
    "request-metadata",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    "sep-2322-client-request-state",
];

/// Installs, builds and runs.
pub fn run(root: &Path, folder: &str) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {folder}"))?;
    let folder = Path::new(folder).canonicalize().with_context(|| format!("{folder} is gone"))?;
    install(&folder)?;
    let mut build = Command::new(cargo());
    done(build.current_dir(root).args(["build", "--locked", "-p", "bowline-mcp", "--examples"]))?;
    let examples = examples()?;
    let servers = done(Command::new(examples.join("real")).arg(&folder));
    let mut failed = usize::from(servers.is_err());
    for scenario in SCENARIOS {
        let passed = conforms(&folder, &examples, scenario)?;
        failed += usize::from(!passed);
        say(&format!("{}  conformance {scenario}", if passed { "pass" } else { "FAIL" }));
    }
    if failed > 0 {
        bail!("{failed} of the checks above failed");
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "one line for each check is what this command is for")]
fn say(line: &str) {
    println!("{line}");
}

fn install(folder: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel", "error", "--prefix"]).arg(folder).args(NPM);
    done(npm.stdout(Stdio::null()))?;
    let venv = folder.join("venv");
    if !venv.join("bin/pip").exists() {
        done(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    done(Command::new(venv.join("bin/pip")).args(["install", "--quiet"]).args(PIP))
}

fn conforms(folder: &Path, examples: &Path, scenario: &str) -> Result<bool> {
    let suite = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    let mut command = Command::new(folder.join("node_modules/.bin/node"));
    command.current_dir(folder).arg(suite).args(["client", "--timeout", "60000", "--scenario", scenario]);
    command.arg("--command").arg(examples.join("conformance"));
    let ran = command.stdin(Stdio::null()).output().context("cannot start the conformance suite")?;
    Ok(ran.status.success())
}

/// Where cargo puts the examples of the profile we were built in.
fn examples() -> Result<PathBuf> {
    let us = std::env::current_exe().context("xtask cannot find itself")?;
    Ok(us.parent().context("xtask lies nowhere")?.join("examples"))
}

fn done(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} ended with {status}", command.get_program());
    }
    Ok(())
}
