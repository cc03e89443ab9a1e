//! Notes of `changes/`, and the changelog they are folded into. Texts in, texts out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// Kinds of notes with their headings, in the order of a section.
const KINDS: [(&str, &str); 5] = [
    ("breaking", "Breaking"),
    ("added", "Added"),
    ("changed", "Changed"),
    ("fixed", "Fixed"),
    ("removed", "Removed"),
];
/// What stands at the top.
const OPEN: &str = "## [Unreleased]";
/// Said of the first release while it was not out.
const TO_BECOME: &str = "To become ";

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its heading.
    pub heading: &'static str,
    /// Its text, paragraph by paragraph.
    pub text: String,
}

impl Note {
    /// Reads a file of `changes/`.
    pub fn read(text: &str) -> Result<Self> {
        let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
        let kinds = || KINDS.map(|(kind, _)| kind).join(", ");
        let Some(kind) = first.strip_prefix("kind: ") else {
            bail!("the first line must be `kind: ` and one of {}", kinds());
        };
        let Some((_, heading)) = KINDS.iter().find(|(known, _)| *known == kind.trim_end()) else {
            bail!("{kind:?} is none of {}", kinds());
        };
        let text = rest.trim();
        if !rest.starts_with('\n') || text.is_empty() {
            bail!("after the kind come an empty line and what is different");
        }
        Ok(Self { heading, text: text.to_owned() })
    }

    /// As an item of a list.
    fn item(&self) -> String {
        let lines = self.text.lines().enumerate().map(|(place, line)| match (place, line) {
            (0, line) => format!("- {line}"),
            (_, "") => String::new(),
            (_, line) => format!("  {line}"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// Every note, by path; the page about them is none.
pub fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let folder = root.join("changes");
    let mut found = Vec::new();
    for entry in fs::read_dir(&folder).context("cannot read changes/")? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.ends_with(".md") || name == "README.md" {
            continue;
        }
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        found.push((path, text));
    }
    found.sort();
    Ok(found)
}

/// The changelog with what is unreleased, and the notes, under the release.
pub fn fold(changelog: &str, notes: &[Note], version: &str, date: &str) -> Result<String> {
    let Some((before, rest)) = changelog.split_once(OPEN) else {
        bail!("CHANGELOG.md has no `{OPEN}`; put it back above the last release");
    };
    let (open, older) = match rest.find("\n## [") {
        Some(place) => rest.split_at_checked(place + 1).context("CHANGELOG.md is cut within a letter")?,
        None => (rest, ""),
    };
    let (intro, mut parts) = parts(open);
    for note in notes {
        parts.entry(note.heading.to_owned()).or_default().push(note.item());
    }
    if parts.is_empty() {
        bail!("there is nothing to release: no note in changes/, nothing under {OPEN}");
    }
    let mut text = format!("{before}{OPEN}\n\n## [{version}] - {date}\n");
    if !intro.is_empty() {
        text.push_str(&format!("\n{intro}\n"));
    }
    let ordered = KINDS.iter().filter_map(|(_, heading)| parts.remove_entry(*heading)).collect::<Vec<_>>();
    // Headings of others' making come after ours.
    for (heading, items) in ordered.into_iter().chain(parts) {
        text.push_str(&format!("\n### {heading}\n\n{}\n", items.join("\n")));
    }
    if !older.is_empty() {
        text.push('\n');
        text.push_str(older);
    }
    Ok(text)
}

/// What is said first, and each heading with what is under it.
fn parts(open: &str) -> (String, BTreeMap<String, Vec<String>>) {
    let mut pieces = open.split("\n### ");
    let intro = pieces.next().unwrap_or_default();
    let intro: Vec<&str> = intro.lines().filter(|line| !line.starts_with(TO_BECOME)).collect();
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for piece in pieces {
        let (heading, text) = piece.split_once('\n').unwrap_or((piece, ""));
        let text = text.trim_matches('\n');
        if !text.is_empty() {
            found.entry(heading.trim().to_owned()).or_default().push(text.to_owned());
        }
    }
    (intro.join("\n").trim().to_owned(), found)
}

/// The section of one release.
#[must_use]
pub fn section<'a>(changelog: &'a str, version: &str) -> &'a str {
    let start = changelog.find(&format!("## [{version}]")).and_then(|place| changelog.get(place..));
    let text = start.unwrap_or_default();
    text.find("\n## [").and_then(|end| text.get(..end)).unwrap_or(text)
}
