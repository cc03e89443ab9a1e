//! Every source opens with a page about itself, and every error page that is
//! referred to exists.

use std::collections::BTreeSet;

use super::RustFile;
use crate::offence::Offence;
use crate::tree::File;

/// The first line of every source is `//!` with words behind it.
pub(super) fn module_pages(files: &[RustFile<'_>]) -> Vec<Offence> {
    let opens = |text: &str| {
        let page = text.lines().next().and_then(|line| line.strip_prefix("//!"));
        page.is_some_and(|words| !words.trim().is_empty())
    };
    let silent = files.iter().filter(|rust| !opens(&rust.file.text));
    let offence = |rust: &RustFile<'_>| {
        Offence::new("page", &rust.file.path, "the first line is no `//!`: say what this file owns").at(1)
    };
    silent.map(offence).collect()
}

/// A page named anywhere (code, comment or document) is there.
pub(super) fn error_pages(files: &[File]) -> Vec<Offence> {
    let there: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| !file.is_fixture()) {
        for (number, line) in file.text.lines().enumerate() {
            for page in pages_in(line).filter(|page| !there.contains(page.as_str())) {
                let message = format!("`{page}` does not exist: write it, or name one that does");
                offences.push(Offence::new("error-page", &file.path, message).at(number + 1));
            }
        }
    }
    offences
}

fn pages_in(line: &str) -> impl Iterator<Item = String> {
    const FOLDER: &str = "docs/errors/";
    line.split(FOLDER).skip(1).filter_map(|rest| {
        let (name, _) = rest.split_once(".md")?;
        let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
        plain.then(|| format!("{FOLDER}{name}.md"))
    })
}
