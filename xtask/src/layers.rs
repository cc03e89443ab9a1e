//! Which workspace crate may depend on which: the table in the root manifest
//! against what the crates declare. A crate exists to stop a dependency, so an
//! edge nobody decided on is an offence.
//!
//! Development dependencies are free. Members outside `crates/` may use every
//! crate and be used by none, but for `xtask`, which uses none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::metadata::{self, Metadata, Package, Reach};
use crate::offence::Offence;

const TABLE: &str = "[workspace.metadata.layers]";

/// Crate → the crates it may depend on.
pub type Layers = BTreeMap<String, BTreeSet<String>>;

/// A workspace member, as far as layers go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// True for what lies below `crates/`.
    pub is_crate: bool,
    /// Packages it needs to build, members or not.
    pub needs: BTreeSet<String>,
}

/// Reads the table and asks cargo.
pub fn run(root: &Path) -> Result<Vec<Offence>> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let members = members(root, metadata::ask(root, Reach::Members)?);
    Ok(compare(&parse(&manifest)?, &members))
}

/// The table in the root manifest.
pub fn parse(manifest: &str) -> Result<Layers> {
    #[derive(Deserialize)]
    struct Manifest {
        workspace: Workspace,
    }
    #[derive(Deserialize)]
    struct Workspace {
        metadata: Tables,
    }
    #[derive(Deserialize)]
    struct Tables {
        layers: Layers,
    }
    let manifest: Manifest =
        toml::from_str(manifest).with_context(|| format!("Cargo.toml has no {TABLE}"))?;
    Ok(manifest.workspace.metadata.layers)
}

fn members(root: &Path, metadata: Metadata) -> Vec<Member> {
    let crates = root.join("crates");
    let member = |package: Package| {
        let needed = package.dependencies.into_iter().filter(|needs| needs.kind.as_deref() != Some("dev"));
        Member {
            is_crate: Path::new(&package.manifest_path).starts_with(&crates),
            needs: needed.map(|needs| needs.name).collect(),
            name: package.name,
        }
    };
    metadata.packages.into_iter().map(member).collect()
}

/// Compares the table with the members.
#[must_use]
pub fn compare(layers: &Layers, members: &[Member]) -> Vec<Offence> {
    let names: BTreeSet<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let mut offences = dangling(layers, &names);
    for member in members {
        let allowed = match layers.get(&member.name) {
            Some(allowed) => allowed.clone(),
            None if member.is_crate => {
                let message = format!("is not in {TABLE}: list it with the crates it may depend on");
                offences.push(Offence::new("layers", &member.name, message));
                continue;
            }
            None if member.name == "xtask" => BTreeSet::new(),
            None => continue,
        };
        let ours = member.needs.iter().filter(|needs| names.contains(needs.as_str()));
        for needs in ours.filter(|needs| !allowed.contains(*needs)) {
            let edge = format!("{} -> {needs}", member.name);
            let message = format!("this edge is not in {TABLE}: drop it, or decide on it in an ADR");
            offences.push(Offence::new("layers", edge, message));
        }
    }
    offences.sort();
    offences
}

/// Names in the table that no member has.
fn dangling(layers: &Layers, names: &BTreeSet<&str>) -> Vec<Offence> {
    let listed: BTreeSet<&String> =
        layers.iter().flat_map(|(name, allowed)| allowed.iter().chain([name])).collect();
    let gone = listed.into_iter().filter(|name| !names.contains(name.as_str()));
    gone.map(|name| Offence::new("layers", name, format!("is in {TABLE} and not in the workspace"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers() -> Layers {
        parse("[workspace.metadata.layers]\ncore = []\nstore = [\"core\"]\ncli = [\"core\", \"store\"]\n")
            .unwrap()
    }

    fn member(name: &str, is_crate: bool, needs: &[&str]) -> Member {
        Member { name: name.into(), is_crate, needs: needs.iter().map(|name| (*name).into()).collect() }
    }

    fn said(changed: Member) -> Vec<String> {
        let mut members = vec![
            member("core", true, &["serde"]),
            member("store", true, &["core", "serde"]),
            member("cli", true, &["core", "store"]),
            member("sim", false, &["core", "store", "cli"]),
        ];
        members.retain(|member| member.name != changed.name);
        members.push(changed);
        compare(&layers(), &members).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn edges_in_the_table_are_fine_whether_used_or_not() {
        assert_eq!(said(member("cli", true, &["store"])), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_named() {
        let offences = said(member("core", true, &["store", "serde"]));
        assert_eq!(
            offences,
            ["core -> store: layers: this edge is not in [workspace.metadata.layers]: \
              drop it, or decide on it in an ADR"]
        );
        assert!(said(member("cli", true, &["sim"]))[0].starts_with("cli -> sim: "));
    }

    #[test]
    fn a_crate_must_be_in_the_table() {
        let offences = said(member("net", true, &[]));
        assert!(offences[0].starts_with("net: layers: is not in"), "{offences:?}");
    }

    #[test]
    fn xtask_depends_on_no_crate_it_judges() {
        assert_eq!(said(member("xtask", false, &["serde"])), Vec::<String>::new());
        assert!(said(member("xtask", false, &["core"]))[0].starts_with("xtask -> core: "));
    }

    #[test]
    fn the_table_names_only_members() {
        let mut wrong = layers();
        wrong.entry("core".into()).or_default().insert("gone".into());
        let members = [member("core", true, &[]), member("store", true, &[]), member("cli", true, &[])];
        assert_eq!(compare(&layers(), &members), []);
        assert_eq!(compare(&wrong, &members)[0].place, "gone");
    }

    #[test]
    fn development_dependencies_are_free() {
        let json = r#"{"packages": [{"name": "core", "version": "0.1.0", "license": null, "source": null,
            "manifest_path": "/clone/crates/core/Cargo.toml", "dependencies": [
            {"name": "store", "kind": "dev"}, {"name": "serde", "kind": null}, {"name": "cc", "kind": "build"}]}]}"#;
        let found = members(Path::new("/clone"), serde_json::from_str(json).unwrap());
        assert_eq!(found, [member("core", true, &["cc", "serde"])]);
    }

    #[test]
    fn a_manifest_without_the_table_is_refused() {
        assert!(parse("[workspace]\n").is_err());
    }
}
