//! Builds the copy, and finds out from the compiler's words which changes do not
//! compile.

use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::metadata::cargo;
use crate::mutants::scratch::Scratch;

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) package: String,
    pub(super) target: String,
    pub(super) path: PathBuf,
    /// The folder of its package, in which cargo starts it.
    pub(super) folder: PathBuf,
}

/// What came of a build.
#[derive(Debug)]
pub(super) enum Built {
    Programs(Vec<Program>),
    Errors(Vec<CompileError>),
}

/// What the compiler refused.
#[derive(Debug)]
pub(super) struct CompileError {
    /// As the compiler says it.
    pub(super) message: String,
    /// Files below the root and bytes in them, the ones it is about first.
    pub(super) places: Vec<(String, Range<usize>)>,
}

/// Builds the tests of these packages, without running them.
pub(super) fn build(scratch: &Scratch, packages: &[&str]) -> Result<Built> {
    let mut command = Command::new(cargo());
    command.current_dir(&scratch.root).args(["test", "--no-run", "--quiet", "--message-format", "json"]);
    if scratch.root.join("Cargo.lock").exists() {
        command.arg("--locked");
    }
    for package in packages {
        command.args(["--package", package]);
    }
    command.env("CARGO_TARGET_DIR", &scratch.target);
    // A lint that a change breaks is no test that notices it.
    command.env("RUSTFLAGS", "--cap-lints=allow");
    // Nobody debugs these programs. What the tests stand on is built once and runs thousands of
    // times; what is broken is built again and again.
    command.args(["--config", "profile.dev.debug=0", "--config", "profile.dev.package.\"*\".opt-level=1"]);
    let done = command.output().context("cannot start cargo")?;
    let messages: Vec<Message> = String::from_utf8_lossy(&done.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if done.status.success() {
        return Ok(Built::Programs(messages.iter().filter_map(Message::program).collect()));
    }
    let errors: Vec<CompileError> = messages.iter().filter_map(Message::error).collect();
    if errors.is_empty() {
        bail!("the copy does not build: {}", String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(Built::Errors(errors))
}

/// A line of `--message-format json`, as far as it is asked about.
#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    manifest_path: Option<PathBuf>,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    profile: Option<Profile>,
    #[serde(default)]
    executable: Option<PathBuf>,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    message: Option<Diagnostic>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Debug, Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    #[serde(default)]
    rendered: Option<String>,
    spans: Vec<DiagnosticSpan>,
}

#[derive(Debug, Deserialize)]
struct DiagnosticSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    expansion: Option<Box<Expansion>>,
}

#[derive(Debug, Deserialize)]
struct Expansion {
    span: DiagnosticSpan,
}

impl DiagnosticSpan {
    /// Where it lies, and where the macros that made it were called.
    fn places(&self) -> Vec<(String, Range<usize>)> {
        let mut places = vec![(self.file_name.clone(), self.byte_start..self.byte_end)];
        let mut span = self;
        while let Some(expansion) = &span.expansion {
            span = &expansion.span;
            places.push((span.file_name.clone(), span.byte_start..span.byte_end));
        }
        places
    }
}

impl Message {
    fn program(&self) -> Option<Program> {
        let is_test =
            self.reason == "compiler-artifact" && self.profile.as_ref().is_some_and(|profile| profile.test);
        let folder = self.manifest_path.as_ref()?.parent()?.to_path_buf();
        let path = self.executable.clone().filter(|_| is_test)?;
        Some(Program {
            package: package_name(&self.package_id),
            target: self.target.as_ref()?.name.clone(),
            path,
            folder,
        })
    }

    fn error(&self) -> Option<CompileError> {
        let said = self.message.as_ref().filter(|said| said.level == "error")?;
        // "aborting due to 3 previous errors" is about no place.
        if said.spans.is_empty() && said.message.starts_with("aborting due to") {
            return None;
        }
        let (first, second): (Vec<_>, Vec<_>) = said.spans.iter().partition(|span| span.is_primary);
        let places = first.into_iter().chain(second).flat_map(DiagnosticSpan::places).collect();
        Some(CompileError { message: said.rendered.clone().unwrap_or_else(|| said.message.clone()), places })
    }
}

/// `path+file:///clone/crates/core#bowline-core@0.1.0`, or `#0.1.0` where the folder is called like it.
fn package_name(id: &str) -> String {
    let (place, name) = id.rsplit_once('#').unwrap_or((id, id));
    match name.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => place.rsplit('/').next().unwrap_or_default().to_owned(),
    }
}
