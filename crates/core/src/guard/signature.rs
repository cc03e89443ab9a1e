//! The name of an error, without what varies from call to call.
//!
//! The one telling line of a failure is chosen (the last line of a Python
//! traceback, the first line that says "error", else the first line), quoted
//! texts, numbers and paths are taken out, and the rest is hashed.

use sha2::{Digest as _, Sha256};

use crate::provenance::Digest;

/// The telling line is looked for in the last bytes of an output only, and in
/// the first ones, so that a long output costs no more than a short one.
const WINDOW: usize = 4096;
/// Of the telling line, this much counts.
const LINE_MAX: usize = 240;

/// Names the error in an output, or `None` if there is none. `failed` is what
/// the tool said; an output that shows an uncaught exception has an error even
/// when a pipe hid its exit status.
#[must_use]
pub fn error_signature(text: &str, failed: bool) -> Option<Digest> {
    if let Some(line) = exception_line(tail(text)) {
        return Some(named(line));
    }
    if !failed {
        return None;
    }
    let head = head(text);
    let without_label = head.trim_start().trim_start_matches("ERROR:").trim_start();
    let line =
        error_line(without_label).or_else(|| without_label.lines().find(|line| !line.trim().is_empty()))?;
    // A quoted text may go on over lines; cut from where the line starts.
    let from = without_label.find(line)?;
    Some(named(without_label.get(from..)?))
}

/// Whether an output looks like a failure, for tools that do not say.
pub(super) fn looks_failed(text: &str) -> bool {
    const OPENINGS: [&str; 6] = ["error", "traceback", "exception", "fatal", "failed", "invalid"];
    let first = text.trim_start().get(..12).unwrap_or_else(|| text.trim_start());
    let first = first.to_ascii_lowercase();
    OPENINGS.iter().any(|opening| first.starts_with(opening)) || exception_line(tail(text)).is_some()
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(WINDOW)).unwrap_or(text)
}

fn tail(text: &str) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(WINDOW))..).unwrap_or(text)
}

/// The last line such as `ValueError: …` or `pkg.errors.Oops: …` that starts its line.
fn exception_line(text: &str) -> Option<&str> {
    text.lines().rev().find(|line| {
        let name = line.split([':', ' ']).next().unwrap_or("");
        let last = name.rsplit('.').next().unwrap_or("");
        (last.ends_with("Error") || last.ends_with("Exception"))
            && last.starts_with(|first: char| first.is_ascii_uppercase())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_')
    })
}

fn error_line(text: &str) -> Option<&str> {
    text.lines().find(|line| {
        let lower = line.to_ascii_lowercase();
        ["error", "fatal", "failed", "not found", "no such", "cannot", "invalid"]
            .iter()
            .any(|sign| lower.contains(sign))
    })
}

/// Hashes a text up to the end of its line, without quoted texts, numbers and paths.
fn named(text: &str) -> Digest {
    let mut hasher = Sha256::new();
    let mut kept = 0;
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if next == '\n' || kept >= LINE_MAX {
            break;
        }
        let length = varying(rest, next);
        if length > 0 {
            hasher.update(b"_");
            kept += 1;
        } else {
            let mut bytes = [0; 4];
            hasher.update(next.to_lowercase().next().unwrap_or(next).encode_utf8(&mut bytes).as_bytes());
            kept += next.len_utf8();
        }
        rest = rest.get(length.max(next.len_utf8())..).unwrap_or("");
    }
    Digest(hasher.finalize().into())
}

/// Length of the varying thing a text starts with; 0 when there is none.
fn varying(rest: &str, first: char) -> usize {
    match first {
        // A closing quote far away or missing is an apostrophe.
        '\'' | '"' | '`' => rest.get(1..).and_then(|inner| inner.find(first)).map_or(0, |at| at + 2),
        '/' => rest.find([' ', '\n', ',', ':', ')', '\'', '"', '`']).unwrap_or(rest.len()),
        '0'..='9' => rest.find(|next: char| !next.is_ascii_hexdigit() && next != 'x').unwrap_or(rest.len()),
        _ => 0,
    }
}
