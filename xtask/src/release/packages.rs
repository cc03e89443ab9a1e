//! What `cargo package` would put into each package, and which could be published.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Outcome, Step};
use crate::metadata::{Metadata, Package, cargo};

/// Lists every package that is meant for others, those it needs first.
pub(super) fn list(root: &Path, known: &Metadata) -> Outcome {
    let mut files = 0;
    let order = order(known)?;
    for package in &order {
        let mut command = Command::new(cargo());
        command.current_dir(root).args(["package", "--list", "--allow-dirty", "-p", &package.name]);
        let output = command.output().context("cannot start cargo")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{} cannot be packaged: {}", package.name, said.trim());
        }
        files += String::from_utf8_lossy(&output.stdout).lines().count();
        if package.license.is_none() {
            bail!("{} names no licence; write `license.workspace = true`", package.name);
        }
    }
    let names: Vec<&str> = order.iter().map(|package| package.name.as_str()).collect();
    let told = format!("{} packages with {files} files: {}", order.len(), names.join(", "));
    match unversioned(&order) {
        0 => Ok(Step::Done(told)),
        count => Ok(Step::Noted(format!(
            "{told}. A registry takes none but the first: {count} dependencies among them are paths without \
             a version. The release is the archive"
        ))),
    }
}

/// Packages that are meant for others, those they need first.
pub(super) fn order(known: &Metadata) -> Result<Vec<&Package>> {
    let mut left: Vec<&Package> = known.packages.iter().filter(|package| package.is_published()).collect();
    let mut order: Vec<&Package> = Vec::new();
    while !left.is_empty() {
        let needs = |package: &Package| {
            let normal = package.dependencies.iter().filter(|needed| needed.kind.as_deref() != Some("dev"));
            normal.filter(|needed| left.iter().any(|other| other.name == needed.name)).count()
        };
        let Some(place) = left.iter().position(|package| needs(package) == 0) else {
            bail!("packages need each other in a circle; `cargo xtask layers` says which may need which");
        };
        order.push(left.remove(place));
    }
    Ok(order)
}

/// Dependencies among the packages that say where, and not which version.
fn unversioned(packages: &[&Package]) -> usize {
    let needed = packages.iter().flat_map(|package| &package.dependencies);
    needed
        .filter(|needed| needed.path.is_some() && needed.req == "*" && needed.kind.as_deref() != Some("dev"))
        .count()
}
