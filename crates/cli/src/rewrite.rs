//! Writing new names into a task file or a manifest (`bowline check --fix`).
//!
//! Only the words themselves are replaced, where they stand: comments, order and layout stay
//! byte for byte. The new text must read as the old one does, or nothing is written. Files in
//! other forms than TOML are never written.

use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use bowline_core::task::{FileKind, Renamed, RenamedPart, in_todays_words};
use serde_json::Value;
use toml_edit::{Document, Item, TableLike};

use crate::error::CliError;
use crate::taskfile::{is_toml, parse_file, parse_toml};

/// Writes the file in today's words; what was replaced, which may be nothing.
pub(crate) fn in_place(path: &Path, kind: FileKind) -> Result<Vec<Renamed>, CliError> {
    let (now, renamed) = in_todays_words(parse_file(path)?, kind);
    if renamed.is_empty() {
        return Ok(renamed);
    }
    // A link stays a link: the file behind it is what is written.
    let path = path.canonicalize().map_err(CliError::io("find", path))?;
    if !is_toml(&path) {
        return Err(by_hand(&path, &renamed, "only TOML is rewritten"));
    }
    let text = fs::read_to_string(&path).map_err(CliError::io("read", &path))?;
    let new = replaced(&text, &renamed).filter(|new| reads_as(new, &now));
    match new {
        Some(new) => write(&path, &new).map(|()| renamed),
        None => Err(by_hand(&path, &renamed, "its layout is too unusual to change by itself")),
    }
}

fn by_hand(path: &Path, renamed: &[Renamed], why: &str) -> CliError {
    let lines: Vec<String> =
        renamed.iter().map(|renamed| format!("{} (for {})", renamed.line, renamed.place())).collect();
    CliError::refused(
        format!("{} was not changed: {why}", path.display()),
        format!("write these by hand: {}", lines.join("; ")),
    )
}

fn reads_as(text: &str, expected: &Value) -> bool {
    parse_toml(text).is_ok_and(|found| found == *expected)
}

/// The text with every old word replaced; `None` if one is not found.
fn replaced(text: &str, renamed: &[Renamed]) -> Option<String> {
    let document = Document::parse(text).ok()?;
    let edits = renamed.iter().map(|renamed| edit(document.as_item(), renamed)).collect::<Option<Vec<_>>>();
    let mut edits = edits?;
    edits.sort_by_key(|(span, _)| span.start);
    let mut new = text.to_owned();
    for (span, word) in edits.into_iter().rev() {
        // The spans of one document do not overlap; `reads_as` would notice.
        new.get(span.clone())?;
        new.replace_range(span, &word);
    }
    Some(new)
}

fn edit(top: &Item, renamed: &Renamed) -> Option<(Range<usize>, String)> {
    let table = table(top, renamed)?;
    let (key, item) = table.get_key_value(renamed.key)?;
    match renamed.part {
        RenamedPart::Key(new) => Some((key.span()?, new.to_owned())),
        RenamedPart::Value(new) => Some((item.span()?, format!("{new:?}"))),
    }
}

fn table<'a>(top: &'a Item, renamed: &Renamed) -> Option<&'a dyn TableLike> {
    let named = if renamed.table.is_empty() { top } else { top.get(renamed.table)? };
    let Some(index) = renamed.index else { return named.as_table_like() };
    match named {
        Item::ArrayOfTables(tables) => tables.get(index).map(|table| table as &dyn TableLike),
        Item::Value(list) => {
            let entry = list.as_array()?.get(index)?.as_inline_table()?;
            Some(entry as &dyn TableLike)
        }
        Item::Table(_) | Item::None => None,
    }
}

/// Whole or not at all: a new file beside the old one takes its name and its permissions.
fn write(path: &Path, text: &str) -> Result<(), CliError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let permissions = fs::metadata(path).map_err(CliError::io("read", path))?.permissions();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let scratch = folder.join(format!(".{name}.{}.new", std::process::id()));
    let made = fs::File::create_new(&scratch)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.set_permissions(permissions)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&scratch, path));
    made.map_err(|error| {
        // The reason it failed is worth more than a file that is left.
        let _ = fs::remove_file(&scratch);
        CliError::io("write", path)(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# who pays\nrepair = 'afresh'   # small model\ngoal = \"Pay\"\n\n[[tool]] # the till\nname = \"pay\"\n  \"at_once\" = 2 # two tills\n";
    const NEW: &str = "# who pays\nrepair = \"from-scratch\"   # small model\ngoal = \"Pay\"\n\n[[tool]] # the till\nname = \"pay\"\n  concurrency = 2 # two tills\n";

    fn folder_with(name: &str, text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn only_the_words_change_and_comments_and_layout_stay() {
        let (folder, path) = folder_with("task.toml", OLD);
        assert_eq!(in_place(&path, FileKind::Task).unwrap().len(), 2);
        assert_eq!(fs::read_to_string(&path).unwrap(), NEW);
        assert_eq!(in_place(&path, FileKind::Task).unwrap(), []);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn tables_in_a_line_and_windows_line_ends_stay_as_they_are() {
        let text = "tool = [{ name = \"a\" }, { name = \"b\", at_once = 3 }]\r\ngoal = \"x\"\r\n";
        let (_folder, path) = folder_with("task.toml", text);
        in_place(&path, FileKind::Task).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text.replace("at_once", "concurrency"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, path) = folder_with("real.toml", OLD);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("task.toml");
        std::os::unix::fs::symlink("real.toml", &link).unwrap();
        in_place(&link, FileKind::Task).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), NEW);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn other_forms_are_left_alone_and_the_lines_are_told() {
        let text = "goal: Pay\nrepair: mend\n";
        let (_folder, path) = folder_with("task.yaml", text);
        let error = in_place(&path, FileKind::Task).unwrap_err();
        assert!(error.to_string().contains("only TOML is rewritten"), "{error}");
        assert!(error.remedy().contains("repair = \"fix\" (for repair)"), "{}", error.remedy());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}
