//! House rules over the texts of the clone. Every rule reports every offence.
//!
//! A rule that cannot be broken by accident is not here; one that clippy can
//! hold is there, and only repeated where clippy cannot see (other files, other
//! crates, code behind a `cfg`).

mod ban;
mod clippy;
mod names;
mod pages;
mod places;
mod purity;
mod size;

use std::path::Path;

use anyhow::Result;

use crate::offence::Offence;
use crate::source::{self, Source, TestCode};
use crate::tree::{self, File};

/// Reads the clone and applies every rule.
pub fn run(root: &Path) -> Result<Vec<Offence>> {
    check(&tree::read(root)?)
}

/// Applies every rule to these texts.
pub fn check(files: &[File]) -> Result<Vec<Offence>> {
    let rust: Vec<RustFile> = files.iter().filter_map(RustFile::read).collect();
    let mut offences = Vec::new();
    offences.extend(pages::module_pages(&rust));
    offences.extend(pages::error_pages(files));
    offences.extend(size::check(&rust, &size::Ratchet::find(files)?));
    offences.extend(clippy::check(files)?);
    offences.extend(purity::check(&rust));
    offences.extend(names::check(&rust));
    offences.extend(places::check(files));
    offences.extend(ban::check(&rust));
    offences.sort();
    Ok(offences)
}

/// A Rust source of ours, taken apart once for all rules.
struct RustFile<'a> {
    file: &'a File,
    source: Source,
    tests: TestCode,
}

impl<'a> RustFile<'a> {
    fn read(file: &'a File) -> Option<Self> {
        let ours = file
            .parts()
            .next()
            .is_some_and(|top| ["crates", "sim", "proof", "bench", "xtask"].contains(&top));
        if !ours || !file.is_rust() || file.is_fixture() {
            return None;
        }
        let source = source::lex(&file.text);
        let tests = source::test_code(&source);
        Some(Self { file, source, tests })
    }
}

#[cfg(test)]
mod tests;
