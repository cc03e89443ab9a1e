//! Unified diffs: read strictly, applied exactly.
//!
//! A hunk says how many lines it has; what does not add up is refused with the
//! number of the hunk, so that whoever wrote it can mend it. Nothing is guessed:
//! lines are compared byte by byte, and a hunk that is not where it says it is
//! must fit in exactly one place behind the hunk before it.

use std::fmt;
use std::iter::Peekable;
use std::str::Split;

/// Most hunks of one patch.
const HUNKS_MAX: usize = 1000;

/// Longest quotation of a line.
const QUOTE_MAX: usize = 120;

/// How the mark begins which says that the line before it has no line end.
const NO_END: char = '\\';

/// One piece of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// Where it says its old lines begin, from 1; 0 in front of the first line.
    start: usize,
    /// The lines that must be there, with their line ends.
    old: Vec<String>,
    /// The lines that take their place.
    new: Vec<String>,
}

impl Hunk {
    /// Whether it asks for nothing to be there.
    pub(super) fn only_adds(&self) -> bool {
        self.old.is_empty()
    }

    /// The index of its first line, as it says. An empty piece stands behind its line.
    fn said(&self) -> usize {
        if self.old.is_empty() { self.start } else { self.start.saturating_sub(1) }
    }
}

/// Why a hunk does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Misfit {
    /// Its lines are nowhere.
    Nowhere { hunk: usize, line: usize, wanted: String, found: Option<String>, ends: bool },
    /// Its lines are in several places, and not where it says.
    Several { hunk: usize, lines: Vec<usize> },
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nowhere { hunk, line, wanted, found, ends } => {
                write!(f, "hunk {hunk} does not fit: at line {line} it wants {wanted:?} and ")?;
                match found {
                    Some(found) => write!(f, "the file has {found:?}")?,
                    None => f.write_str("the file has ended")?,
                }
                if *ends {
                    f.write_str(" (the lines of the file end in \\r\\n)")?;
                }
                f.write_str("; nothing was changed, read the file again")
            }
            Self::Several { hunk, lines } => {
                let lines: Vec<_> = lines.iter().take(5).map(ToString::to_string).collect();
                write!(
                    f,
                    "hunk {hunk} is not at its line and fits in several places (lines {}); add lines around it",
                    lines.join(", ")
                )
            }
        }
    }
}

/// Reads the hunks of a diff of one file.
pub(super) fn parse(patch: &str) -> Result<Vec<Hunk>, String> {
    // What stands behind the last line end is no line.
    let mut lines = patch.strip_suffix('\n').unwrap_or(patch).split('\n').peekable();
    let mut hunks = Vec::new();
    let mut files = 0;
    while let Some(line) = lines.next() {
        if let Some(ranges) = line.strip_prefix("@@ ") {
            let number = hunks.len() + 1;
            if number > HUNKS_MAX {
                return Err(format!("the patch has more than {HUNKS_MAX} hunks"));
            }
            hunks.push(hunk(number, ranges, &mut lines)?);
        } else if line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ ")) {
            files += 1;
            if files > 1 {
                return Err("the patch changes more than one file; send one patch for each".to_owned());
            }
            if lines.next().is_some_and(|to| to.trim_end() == "+++ /dev/null") {
                return Err("the patch deletes the file; use delete_file".to_owned());
            }
        } else if !hunks.is_empty() && !line.trim().is_empty() && !is_preamble(line) {
            let number = hunks.len();
            return Err(format!("hunk {number} has more lines than its @@ line says: {:?}", short(line)));
        }
    }
    if hunks.is_empty() {
        return Err("there is no hunk in the patch: a line like @@ -1,3 +1,4 @@ begins one".to_owned());
    }
    Ok(hunks)
}

/// What tools write around the hunks of a diff.
fn is_preamble(line: &str) -> bool {
    ["diff ", "index ", "Index: ", "====", "new file mode", "old mode", "new mode", "-- ", "```"]
        .iter()
        .any(|start| line.starts_with(start))
}

/// The lines of a patch; a carriage return belongs to its line.
type Lines<'a> = Peekable<Split<'a, char>>;

fn hunk(number: usize, ranges: &str, lines: &mut Lines<'_>) -> Result<Hunk, String> {
    let bad = || format!("hunk {number} has a bad @@ line; write @@ -1,3 +1,4 @@");
    let (ranges, _) = ranges.split_once("@@").ok_or_else(bad)?;
    let (old, new) = ranges.trim().split_once(' ').ok_or_else(bad)?;
    let (start, olds) = range(old, '-').ok_or_else(bad)?;
    let (_, news) = range(new, '+').ok_or_else(bad)?;
    let mut hunk = Hunk { start, ..Hunk::default() };
    // As many as it says: a removed line may look like the head of another file.
    while hunk.old.len() < olds || hunk.new.len() < news {
        let (had_old, had_new) = (hunk.old.len(), hunk.new.len());
        let miscounted = || {
            format!(
                "hunk {number} says {olds} old and {news} new lines and has {had_old} and {had_new}; count them again"
            )
        };
        let (side, rest) = lines.next().and_then(Side::of).ok_or_else(miscounted)?;
        // A mark about the end of the file belongs to the line before it.
        let end = if lines.next_if(|next| next.starts_with(NO_END)).is_some() { "" } else { "\n" };
        let text = format!("{rest}{end}");
        match side {
            Side::Both => {
                hunk.old.push(text.clone());
                hunk.new.push(text);
            }
            Side::Old => hunk.old.push(text),
            Side::New => hunk.new.push(text),
        }
        if hunk.old.len() > olds || hunk.new.len() > news {
            return Err(miscounted());
        }
    }
    Ok(hunk)
}

/// On which sides of a diff a line stands.
#[derive(Clone, Copy)]
enum Side {
    Both,
    Old,
    New,
}

impl Side {
    fn of(line: &str) -> Option<(Self, &str)> {
        // Editors cut the space off an empty line of context.
        let Some(first) = line.chars().next() else { return Some((Self::Both, "")) };
        let side = match first {
            ' ' => Self::Both,
            '-' => Self::Old,
            '+' => Self::New,
            _ => return None,
        };
        line.get(1..).map(|rest| (side, rest))
    }
}

/// `-3,4` is from line 3, four lines; `-3` is one line.
fn range(raw: &str, sign: char) -> Option<(usize, usize)> {
    let raw = raw.strip_prefix(sign)?;
    match raw.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((raw.parse().ok()?, 1)),
    }
}

/// The text with every hunk applied.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, Misfit> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut after = String::with_capacity(text.len());
    let mut done = 0;
    // How far the hunks so far were from where they said.
    let mut shift = 0_isize;
    for (index, hunk) in hunks.iter().enumerate() {
        let said = hunk.said().saturating_add_signed(shift);
        let at = place(&lines, hunk, done, said).map_err(|wrong| wrong.of(index + 1, hunk, &lines, said))?;
        shift = shift.saturating_add_unsigned(at).saturating_sub_unsigned(said);
        lines.get(done..at).unwrap_or_default().iter().for_each(|line| after.push_str(line));
        hunk.new.iter().for_each(|line| after.push_str(line));
        done = at + hunk.old.len();
    }
    lines.get(done..).unwrap_or_default().iter().for_each(|line| after.push_str(line));
    Ok(after)
}

/// Not in one place.
enum Wrong {
    Nowhere,
    Several(Vec<usize>),
}

impl Wrong {
    fn of(self, hunk: usize, wanted: &Hunk, lines: &[&str], said: usize) -> Misfit {
        match self {
            Self::Several(at) => Misfit::Several { hunk, lines: at.into_iter().map(|at| at + 1).collect() },
            Self::Nowhere => {
                let found = |index: usize| lines.get(said + index).copied();
                let differs = wanted.old.iter().enumerate().find(|(index, line)| found(*index) != Some(line));
                let (index, line) = differs.map_or((0, ""), |(index, line)| (index, line.as_str()));
                Misfit::Nowhere {
                    hunk,
                    line: said + index + 1,
                    wanted: short(line),
                    found: found(index).map(short),
                    ends: found(index)
                        .is_some_and(|found| found.trim_end() == line.trim_end() && found.ends_with("\r\n")),
                }
            }
        }
    }
}

/// Where a hunk stands: at its line, or else in the one place where it fits.
fn place(lines: &[&str], hunk: &Hunk, from: usize, said: usize) -> Result<usize, Wrong> {
    let fits = |at: usize| {
        let there = lines.get(at..).and_then(|rest| rest.get(..hunk.old.len()));
        there.is_some_and(|there| there.iter().zip(&hunk.old).all(|(line, wanted)| line == wanted))
    };
    if said >= from && fits(said) {
        return Ok(said);
    }
    // Nothing to look for: only its line could say where it belongs.
    if hunk.old.is_empty() {
        return Err(Wrong::Nowhere);
    }
    let mut places = (from..lines.len()).filter(|at| fits(*at));
    match (places.next(), places.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Wrong::Nowhere),
        (Some(first), Some(second)) => {
            Err(Wrong::Several([first, second].into_iter().chain(places.take(3)).collect()))
        }
    }
}

fn short(line: &str) -> String {
    line.trim_end_matches('\n').chars().take(QUOTE_MAX).collect()
}

#[cfg(test)]
mod tests;
