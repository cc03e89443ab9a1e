//! One task for each of many files: `each = "invoices/*.txt"`, or as a table with `files`
//! and how many of them must be committed, `enough`.
//!
//! A raw task with `each` stands for as many tasks as there are files that fit. Which there
//! are is looked up by whoever reads the task; here is what fits, and what becomes of the
//! raw task for one file. Nothing here reads a folder.

use serde_json::Value;

use super::field::Field;
use super::problem::{BadTask, Problems};
use super::section::Section;

/// The key.
pub const KEY: &str = "each";
/// The keys of its table.
pub(super) const KEYS: [&str; 2] = ["files", "enough"];
/// Most files one task is run for.
pub const FILES_MAX: usize = 10_000;
/// Longest pattern, in bytes.
const PATTERN_MAX: usize = 1024;
/// What stands for the file in every text of the task.
const PLACE: &str = "{file}";

/// Which files a task is run for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Each {
    folder: String,
    name: String,
    enough: Option<usize>,
}

impl Each {
    /// What a raw task says about it; `None` if it is one task.
    pub fn of(raw: &Value) -> Result<Option<Self>, BadTask> {
        let Some(value) = raw.get(KEY) else { return Ok(None) };
        let problems = Problems::default();
        let field = Field::at(value, KEY, &problems);
        let read = if field.is_table() { Self::table(&field) } else { Self::files(&field) };
        problems.settle(read).map(Some)
    }

    fn table(field: &Field<'_>) -> Option<Self> {
        let table = field.table(Section::Each)?;
        let files = table.require("files", "say which, as in files = \"invoices/*.txt\"");
        let most = i32::try_from(FILES_MAX).unwrap_or(i32::MAX);
        let enough = table.get("enough").and_then(|enough| enough.whole_number(1, most));
        let each = files.and_then(|files| Self::files(&files))?;
        Some(Self { enough: enough.and_then(|enough| usize::try_from(enough).ok()), ..each })
    }

    fn files(field: &Field<'_>) -> Option<Self> {
        field.text(PATTERN_MAX).and_then(|text| Self::parse(text, field))
    }

    fn parse(text: &str, field: &Field<'_>) -> Option<Self> {
        let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
        let leads_out = text.starts_with('/') || text.split('/').any(|part| part == "..");
        if leads_out || name.is_empty() || folder.contains('*') {
            field.wrong(
                "this is no pattern of files in the workspace",
                "write a folder and a name with *, as in each = \"invoices/*.txt\"",
            );
            return None;
        }
        Some(Self { folder: folder.to_owned(), name: name.to_owned(), enough: None })
    }

    /// How many of so many must be committed before it may be said that it went well; all,
    /// unless the task says otherwise.
    #[must_use]
    pub fn enough(&self, of: usize) -> usize {
        self.enough.map_or(of, |enough| enough.min(of))
    }

    /// The folder of the workspace the files are in; empty for the workspace itself.
    #[must_use]
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// The path of a file of that folder in the workspace, if it is one of them. Hidden files
    /// are only those that are called so in the pattern.
    #[must_use]
    pub fn path_of(&self, name: &str) -> Option<String> {
        let is_meant = name.starts_with('.') == self.name.starts_with('.') && fits(&self.name, name);
        let path =
            || if self.folder.is_empty() { name.to_owned() } else { format!("{}/{name}", self.folder) };
        is_meant.then(path)
    }
}

/// The raw task for one file: it is evidence, and `{file}` in any text is its path.
#[must_use]
pub fn of_file(raw: &Value, file: &str) -> Value {
    let mut raw = raw.clone();
    name(&mut raw, file);
    let Value::Object(top) = &mut raw else { return raw };
    top.remove(KEY);
    match top.get_mut("evidence") {
        Some(Value::Array(evidence)) if !evidence.iter().any(|known| known == file) => {
            evidence.push(file.into());
        }
        // What is no list is refused by the reader, with its place.
        Some(_) => {}
        None => {
            top.insert("evidence".into(), Value::Array(vec![file.into()]));
        }
    }
    raw
}

/// Writes the path of the file wherever it is meant.
fn name(value: &mut Value, file: &str) {
    match value {
        Value::String(text) if text.contains(PLACE) => *text = text.replace(PLACE, file),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::Array(values) => values.iter_mut().for_each(|value| name(value, file)),
        Value::Object(map) => map.values_mut().for_each(|value| name(value, file)),
    }
}

/// Whether a name has the form of a pattern, in which `*` is anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else { return false };
        left = after;
    }
    left.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::parse;
    use serde_json::json;

    fn each(pattern: &str) -> Each {
        Each::of(&json!({ "each": pattern })).unwrap().unwrap()
    }

    #[test]
    fn a_star_is_anything_in_the_name_of_a_file() {
        for (pattern, name, is_meant) in [
            ("in/*.txt", "a.txt", true),
            ("in/*.txt", ".txt", false),
            ("in/*.txt", "a.txt.bak", false),
            ("in/a*b*.txt", "a--b.txt", true),
            ("in/a*b*.txt", "ab.txt", true),
            ("in/a*b*.txt", "a.txt", false),
            ("in/a*a", "a", false),
            ("in/a.txt", "a.txt", true),
            ("in/a.txt", "b.txt", false),
            ("in/.*", ".x", true),
            ("in/*", ".x", false),
        ] {
            let path = is_meant.then(|| format!("in/{name}"));
            assert_eq!(each(pattern).path_of(name), path, "{pattern} and {name}");
        }
        assert_eq!((each("*").folder(), each("*").path_of("a")), ("", Some("a".into())));
        assert_eq!(Each::of(&json!({ "goal": "x" })), Ok(None));
    }

    #[test]
    fn a_pattern_that_leads_elsewhere_is_refused_with_a_remedy() {
        for bad in
            [json!("/etc/*"), json!("../*"), json!("a/../*"), json!("a/"), json!("*/a"), json!(""), json!(7)]
        {
            let problems = Each::of(&json!({ "each": bad })).unwrap_err().problems;
            assert_eq!(problems[0].place, "each", "{bad}");
        }
    }

    #[test]
    fn all_must_be_committed_unless_the_task_says_how_many_are_enough() {
        let table = |table: serde_json::Value| Each::of(&json!({ "each": table }));
        let each = table(json!({ "files": "in/*.txt", "enough": 3 })).unwrap().unwrap();
        assert_eq!((each.enough(8), each.enough(2), each.folder()), (3, 2, "in"));
        assert_eq!(super::tests::each("*").enough(8), 8);
        for (bad, place) in [
            (json!({ "files": "*", "enough": 0 }), "each.enough"),
            (json!({ "enough": 3 }), "each.files"),
            (json!({ "files": "*", "enuogh": 3 }), "each.enuogh"),
        ] {
            assert_eq!(table(bad).unwrap_err().problems[0].place, place);
        }
    }

    #[test]
    fn the_file_is_evidence_and_stands_wherever_it_is_meant() {
        let check = json!([{ "name": "a", "command": ["./check", "{file}"] }]);
        let raw = json!({ "goal": "read {file}", "model": "scripted:m", "each": "in/*", "evidence": ["rules.md"],
            "check": check });
        assert_eq!(of_file(&raw, "in/a")["check"][0]["command"][1], "in/a");
        let task = parse(&of_file(&raw, "in/a")).unwrap();
        assert_eq!(
            (task.goal.as_str(), task.evidence),
            ("read in/a", vec!["rules.md".to_owned(), "in/a".into()])
        );
        let bare = json!({ "goal": "read", "model": "scripted:m" });
        assert_eq!(parse(&of_file(&bare, "a")).unwrap().evidence, ["a"]);
        assert_eq!(parse(&raw).unwrap_err().problems[0].place, "each", "it is no task by itself");
    }
}
