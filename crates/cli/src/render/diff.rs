//! Changes of files, as people and programs read them: unified, counted, or as objects.
//!
//! Texts of a run are escaped before they are shown; bytes that are no text are named and
//! never shown.

use std::time::Duration;

use bowline::{Changed, Side};
use bowline_core::event::Seen;
use bowline_core::id::RunId;
use bowline_core::provenance::Digest;
use bowline_tools::isolation::Thing;
use similar::{ChangeTag, TextDiff};

use super::{Look, Screen, escape, words};
use crate::output::changes::{self as output, ChangeWord};

/// Files with more bytes are named only.
const SHOWN_BYTES_MAX: usize = 1024 * 1024;

/// Longest time for comparing two texts; then the rest counts as changed.
const COMPARE_MAX: Duration = Duration::from_secs(2);

/// Lines around a change.
const CONTEXT: usize = 3;

/// One file, as `diff -u` has it.
pub(crate) fn unified(screen: &Screen, file: &Changed) {
    let path = escape::line(&file.path);
    let head = format!("{} {path}{}", word(file).as_str(), mode_change(file));
    screen.line(&screen.paint(Look::Strong, &head));
    match (text(&file.before), text(&file.after)) {
        (Ok(before), Ok(after)) => {
            for line in unified_text(&path, file, (&before, &after)).lines() {
                let look = match line.chars().next() {
                    Some('+') => Look::Good,
                    Some('-') => Look::Bad,
                    Some('@') => Look::Dim,
                    _ => {
                        screen.line(line);
                        continue;
                    }
                };
                screen.line(&screen.paint(look, line));
            }
        }
        (Err(why), _) | (_, Err(why)) => {
            screen.line(&format!("  {why}: {} → {}", words_of(&file.before), words_of(&file.after)))
        }
    }
}

/// How many lines of which files.
pub(crate) fn stat(screen: &Screen, files: &[Changed]) {
    for file in files {
        let count = match counts(file) {
            Some((added, removed)) => format!("+{added} -{removed}"),
            None => "not shown as text".into(),
        };
        screen.line(&format!(
            "  {:<7} {}  {count}{}",
            word(file).as_str(),
            escape::line(&file.path),
            mode_change(file)
        ));
    }
    screen.line(&format!("  {} changed", words::several(files.len() as u64, "file")));
}

/// One file, for programs.
pub(crate) fn object<'a>(run: &'a RunId, file: &'a Changed) -> output::Changed<'a> {
    let texts = (text(&file.before), text(&file.after));
    let shown = match &texts {
        (Ok(before), Ok(after)) => Some(unified_text(&escape::line(&file.path), file, (before, after))),
        (Err(_), _) | (_, Err(_)) => None,
    };
    output::Changed {
        run,
        path: &file.path,
        change: word(file),
        before: side(&file.before),
        after: side(&file.after),
        diff: shown,
    }
}

fn side(side: &Side) -> Option<Seen> {
    match side {
        Side::Nothing => None,
        Side::Known(thing) => Some(thing.seen()),
        Side::Lost(seen) => Some(seen.clone()),
    }
}

fn word(file: &Changed) -> ChangeWord {
    match (&file.before, &file.after) {
        (Side::Nothing, _) => ChangeWord::Added,
        (_, Side::Nothing) => ChangeWord::Deleted,
        (_, _) => ChangeWord::Edited,
    }
}

fn mode_change(file: &Changed) -> &'static str {
    match (is_executable(&file.before), is_executable(&file.after)) {
        (Some(false), Some(true)) | (None, Some(true)) => "  (executable)",
        (Some(true), Some(false)) => "  (no longer executable)",
        _ => "",
    }
}

fn is_executable(side: &Side) -> Option<bool> {
    match side {
        Side::Known(Thing::File { executable, .. }) | Side::Lost(Seen::File { executable, .. }) => {
            Some(*executable)
        }
        Side::Known(Thing::Link { .. }) | Side::Nothing | Side::Lost(_) => None,
    }
}

fn words_of(side: &Side) -> String {
    match side {
        Side::Nothing => "not there".into(),
        Side::Known(Thing::File { bytes, .. }) => {
            format!("{}, {}", words::several(bytes.len() as u64, "byte"), Digest::of(bytes).short())
        }
        Side::Known(Thing::Link { to }) => escape::line(&format!("a link to {to}")),
        Side::Lost(seen) => escape::line(&seen.words()),
    }
}

/// One side as text; why it is not shown, if it is not.
fn text(side: &Side) -> Result<String, &'static str> {
    match side {
        Side::Nothing => Ok(String::new()),
        Side::Known(Thing::Link { to }) => Ok(format!("link to {to}\n")),
        Side::Known(Thing::File { bytes, .. }) if bytes.len() > SHOWN_BYTES_MAX => {
            Err("too large to be shown")
        }
        Side::Known(Thing::File { bytes, .. }) if bytes.contains(&0) => Err("binary"),
        Side::Known(Thing::File { bytes, .. }) => String::from_utf8(bytes.clone()).map_err(|_| "binary"),
        Side::Lost(_) => Err("its bytes are not at hand"),
    }
}

fn unified_text(path: &str, file: &Changed, (before, after): (&str, &str)) -> String {
    let name = |letter: char, side: &Side| match side {
        Side::Nothing => "/dev/null".to_owned(),
        Side::Known(_) | Side::Lost(_) => format!("{letter}/{path}"),
    };
    let compared = TextDiff::configure().timeout(COMPARE_MAX).diff_lines(before, after);
    let mut unified = compared.unified_diff();
    unified.context_radius(CONTEXT).header(&name('a', &file.before), &name('b', &file.after));
    escape::multiline(&unified.to_string())
}

fn counts(file: &Changed) -> Option<(usize, usize)> {
    let (before, after) = (text(&file.before).ok()?, text(&file.after).ok()?);
    let compared = TextDiff::configure().timeout(COMPARE_MAX).diff_lines(before.as_str(), after.as_str());
    let count = |tag: ChangeTag| compared.iter_all_changes().filter(|change| change.tag() == tag).count();
    Some((count(ChangeTag::Insert), count(ChangeTag::Delete)))
}
