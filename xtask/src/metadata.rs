//! What `cargo metadata` says about the workspace, as far as the rules ask.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

/// The packages cargo knows of.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// Members and, unless left out, all they depend on.
    pub packages: Vec<Package>,
}

/// One package.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence expression.
    pub license: Option<String>,
    /// Where it came from; `None` for what lies in this clone.
    pub source: Option<String>,
    /// Its manifest, absolute.
    pub manifest_path: String,
    /// What it declares to depend on.
    pub dependencies: Vec<Dependency>,
    /// The registries it may go to; `None`: any, empty: none.
    #[serde(default)]
    pub publish: Option<Vec<String>>,
    /// What is built from it.
    #[serde(default)]
    pub targets: Vec<Target>,
}

impl Package {
    /// It is meant for others.
    #[must_use]
    pub fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}

/// A library, program or test of a package.
#[derive(Clone, Debug, Deserialize)]
pub struct Target {
    /// `lib`, `bin`, `test`, …
    pub kind: Vec<String>,
    /// Its first file, absolute.
    pub src_path: String,
}

impl Target {
    /// True for what is shipped, false for tests, examples and the like.
    #[must_use]
    pub fn is_shipped(&self) -> bool {
        self.kind.iter().any(|kind| kind == "lib" || kind == "bin")
    }
}

/// One declared dependency.
#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    /// The package, whatever it is called in the code.
    pub name: String,
    /// `None` for normal ones, else `dev` or `build`.
    pub kind: Option<String>,
    /// The versions it takes.
    #[serde(default)]
    pub req: String,
    /// Where it lies, if it is in this clone.
    #[serde(default)]
    pub path: Option<String>,
}

/// Whether to look beyond the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Members only; needs neither network nor lock file.
    Members,
    /// Members and everything they depend on, on every platform.
    Everything,
}

/// Asks cargo.
pub fn ask(root: &Path, reach: Reach) -> Result<Metadata> {
    let mut command = Command::new(cargo());
    command.current_dir(root).args(["metadata", "--format-version", "1"]);
    match reach {
        Reach::Members => command.arg("--no-deps"),
        Reach::Everything => command.arg("--locked"),
    };
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("cannot read what cargo metadata says")
}

/// The cargo that runs us, so that both use one toolchain.
pub(crate) fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
