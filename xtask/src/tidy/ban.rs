//! Shipped code neither panics on a value it could not rule out nor leaves a
//! gap. Clippy denies these too; tidy also sees code that is compiled out.

use std::collections::BTreeSet;

use super::RustFile;
use crate::offence::Offence;

const BANNED: [(&[&str], &str); 5] = [
    (&[".", "unwrap", "(", ")"], ".unwrap()"),
    (&[".", "expect", "("], ".expect("),
    (&["todo", "!"], "todo!"),
    (&["unimplemented", "!"], "unimplemented!"),
    (&["dbg", "!"], "dbg!"),
];

/// Finds them outside tests.
pub(super) fn check(files: &[RustFile<'_>]) -> Vec<Offence> {
    let test_files = test_files(files);
    let shipped = |rust: &&RustFile<'_>| {
        let path = &rust.file.path;
        is_shipped(path) && !test_files.iter().any(|test| within(path, test))
    };
    files.iter().filter(shipped).flat_map(banned_in).collect()
}

fn banned_in(rust: &RustFile<'_>) -> Vec<Offence> {
    let mut offences = Vec::new();
    for at in 0..rust.source.tokens.len() {
        // `self.expect(…)` is a method of the type's own: `self` is no `Option` or `Result` here.
        if at.checked_sub(1).is_some_and(|before| rust.source.matches(before, &["self"])) {
            continue;
        }
        let banned = BANNED.iter().filter(|(pattern, _)| rust.source.matches(at, pattern));
        for (_, what) in banned.filter(|_| !rust.tests.covers(at)) {
            let message = format!("`{what}` in shipped code: return an error or a default");
            offences.push(Offence::new("ban", &rust.file.path, message).at(rust.source.line(at)));
        }
    }
    offences
}

/// Sources of the crates and of xtask; `sim` and `bench` are test equipment.
fn is_shipped(path: &str) -> bool {
    let source =
        path.strip_prefix("xtask/").or_else(|| path.strip_prefix("crates/")?.split_once('/').map(|p| p.1));
    source.is_some_and(|below| below.starts_with("src/"))
}

/// Paths without ending of modules that are compiled for tests only.
fn test_files(files: &[RustFile<'_>]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for rust in files {
        let Some((folder, name)) = rust.file.path.rsplit_once('/') else { continue };
        let below = match name {
            "mod.rs" | "lib.rs" | "main.rs" => folder.to_owned(),
            _ => format!("{folder}/{}", name.trim_end_matches(".rs")),
        };
        found.extend(rust.tests.modules.iter().map(|module| format!("{below}/{module}")));
    }
    found
}

fn within(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}
