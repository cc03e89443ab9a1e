//! False alarms: how many texts that nobody meant as an attack are flagged.
//!
//! Files below the paths are read in the order of their names and cut into texts of the
//! length of a tool's result. Plain text, catalogues of translated messages (`.mo`) and
//! files packed with gzip are read; what is no text is left out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bowline_core::untrusted::suspicion::{Family, Finding, Report, Weight, suspicion};

use crate::Trouble;

/// Bytes of a text.
const TEXT: usize = 4096;
/// Most bytes of a file that are read.
const FILE_MAX: u64 = 4 << 20;
/// Alarms that are shown.
const SHOWN: usize = 200;
/// One false alarm in so many texts is accepted.
const ONE_IN: u64 = 10_000;

#[derive(Default)]
struct Count {
    texts: u64,
    /// Marks of models and hidden characters are really there: no false alarms.
    holding: u64,
    flagged: u64,
}

/// Counts and prints; true when the rate holds.
pub(crate) fn run(paths: &[&str]) -> Result<bool, Trouble> {
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    let mut shown = Vec::new();
    for path in paths {
        let mut files = Vec::new();
        below(Path::new(path), &mut files);
        files.sort();
        let count = counts.entry((*path).to_owned()).or_default();
        for file in files {
            for text in texts(&file) {
                count.texts += 1;
                let report = suspicion(&text);
                let holds = |f: &Finding| matches!(f.family, Family::Template | Family::Hidden);
                if report.findings.iter().any(holds) {
                    count.holding += 1;
                } else if report.flagged {
                    count.flagged += 1;
                    shown.push(alarm(&file, &text, &report));
                }
            }
        }
    }
    println!("| below | texts | hold marks | flagged without |\n|---|---|---|---|");
    let mut all = Count::default();
    for (path, count) in &counts {
        println!("| {path} | {} | {} | {} |", count.texts, count.holding, count.flagged);
        all.texts += count.texts;
        all.holding += count.holding;
        all.flagged += count.flagged;
    }
    println!("| **all** | {} | {} | {} |\n", all.texts, all.holding, all.flagged);
    shown.iter().take(SHOWN).for_each(|alarm| println!("{alarm}"));
    Ok(all.flagged.saturating_mul(ONE_IN) <= all.texts)
}

/// What was flagged, and by which signs.
fn alarm(file: &Path, text: &str, report: &Report) -> String {
    let signs: Vec<String> = report
        .findings
        .iter()
        .take(4)
        .map(|finding| {
            let strong = if finding.weight == Weight::Strong { "!" } else { "" };
            let said: String = text.get(finding.span.clone()).unwrap_or_default().chars().take(60).collect();
            format!("{}{strong} {said:?}", finding.rule)
        })
        .collect();
    format!("{}: {}", file.display(), signs.join(", "))
}

fn below(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(about) = path.symlink_metadata() else { return };
    if about.is_file() {
        files.push(path.to_owned());
    } else if about.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| below(&entry.path(), files));
    }
}

/// The texts of a file; none where it holds none.
fn texts(file: &Path) -> Vec<String> {
    let Ok(opened) = fs::File::open(file) else { return Vec::new() };
    let mut bytes = Vec::new();
    let is_packed = file.extension().is_some_and(|end| end == "gz");
    let read = if is_packed {
        flate2::read::MultiGzDecoder::new(opened).take(FILE_MAX).read_to_end(&mut bytes)
    } else {
        opened.take(FILE_MAX).read_to_end(&mut bytes)
    };
    if read.is_err() {
        return Vec::new();
    }
    if file.extension().is_some_and(|end| end == "mo") {
        // Messages and translations end with a zero each, behind tables of numbers.
        let messages = bytes.split(|byte| *byte == 0).filter_map(|part| std::str::from_utf8(part).ok());
        let long: Vec<&str> = messages.filter(|message| message.len() > 8).collect();
        return cut(&long.join("\n"));
    }
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).map_or_else(Vec::new, |text| cut(&text))
}

/// Whole lines, as many as fit.
fn cut(text: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut held = String::new();
    for line in text.split_inclusive('\n') {
        if !held.is_empty() && held.len() + line.len() > TEXT {
            texts.push(std::mem::take(&mut held));
        }
        held.push_str(line);
    }
    if held.len() > 40 {
        texts.push(held);
    }
    texts
}
