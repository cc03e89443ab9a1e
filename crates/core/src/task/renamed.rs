//! Words of task files and manifests that have a new name.
//!
//! A renamed key or value is read under its old name until [`Rename::until`]; whoever
//! reads the file is told the new line ([`Renamed`]). After that the old name is an error
//! that says the new one. The table below is the only place that knows old names: every
//! reader of a file sees today's words and nothing else. Nothing here opens a file.

use serde_json::{Map, Value};

/// Which files a word stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Tasks.
    Task,
    /// Agent manifests.
    Manifest,
}

/// A version of Bowline: major and minor.
type Release = (u32, u32);

/// The release this is built as.
const THIS: Release = (number(env!("CARGO_PKG_VERSION_MAJOR")), number(env!("CARGO_PKG_VERSION_MINOR")));

/// One word with a new name.
struct Rename {
    /// The files it stands in.
    files: &'static [FileKind],
    /// The table, or list of tables, it stands in; empty at the top of the file.
    table: &'static str,
    /// What it was, and what it is.
    change: Change,
    /// The first release that does not read the old name.
    until: Release,
}

enum Change {
    /// A key. Where `text_only`, only one whose value is a text.
    Key { old: &'static str, new: &'static str, text_only: bool },
    /// The value of a key that did not change.
    Value { key: &'static str, old: &'static str, new: &'static str },
}

const BOTH: &[FileKind] = &[FileKind::Task, FileKind::Manifest];

const RENAMES: &[Rename] = &[
    Rename {
        files: &[FileKind::Task],
        table: "",
        change: Change::Value { key: "repair", old: "mend", new: "fix" },
        until: (0, 2),
    },
    Rename {
        files: &[FileKind::Task],
        table: "",
        change: Change::Value { key: "repair", old: "afresh", new: "from-scratch" },
        until: (0, 2),
    },
    Rename {
        files: BOTH,
        table: "tool",
        change: Change::Key { old: "at_once", new: "concurrency", text_only: false },
        until: (0, 2),
    },
    // `version` is the version of the file's form now; an agent's own was a text.
    Rename {
        files: &[FileKind::Manifest],
        table: "",
        change: Change::Key { old: "version", new: "release", text_only: true },
        until: (0, 2),
    },
];

/// An old word in a file, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renamed {
    /// The table it stands in; empty at the top of the file.
    pub table: &'static str,
    /// Which one, where `table` is a list of tables.
    pub index: Option<usize>,
    /// The key as it stands there.
    pub key: &'static str,
    /// What replaces it, as a line of the file.
    pub line: String,
    /// What is replaced.
    pub part: RenamedPart,
}

/// The part of a line with a new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenamedPart {
    /// The key becomes this one.
    Key(&'static str),
    /// The value becomes this text.
    Value(&'static str),
}

impl Renamed {
    /// Where it stands, counted from 0 as problems are.
    #[must_use]
    pub fn place(&self) -> String {
        match (self.table, self.index) {
            ("", _) => self.key.to_owned(),
            (table, Some(index)) => format!("{table}[{index}].{}", self.key),
            (table, None) => format!("{table}.{}", self.key),
        }
    }
}

/// The file in today's words, and which old ones stood in it.
#[must_use]
pub fn in_todays_words(raw: Value, kind: FileKind) -> (Value, Vec<Renamed>) {
    read_as_of(raw, kind, THIS)
}

/// What an old name is called now, for a key that a table does not know.
pub(crate) fn new_name(key: &str) -> Option<&'static str> {
    RENAMES.iter().find_map(|rename| match rename.change {
        Change::Key { old, new, text_only: false } if old == key => Some(new),
        Change::Key { .. } | Change::Value { .. } => None,
    })
}

/// What an old value of a key is called now.
pub(crate) fn new_value(key: &str, value: &str) -> Option<&'static str> {
    RENAMES.iter().find_map(|rename| match rename.change {
        Change::Value { key: of, old, new } if of == key && old == value => Some(new),
        Change::Key { .. } | Change::Value { .. } => None,
    })
}

fn read_as_of(mut raw: Value, kind: FileKind, release: Release) -> (Value, Vec<Renamed>) {
    let mut found = Vec::new();
    let read = |rename: &&Rename| rename.files.contains(&kind) && release < rename.until;
    for rename in RENAMES.iter().filter(read) {
        for (index, table) in tables(&mut raw, rename.table) {
            found.extend(rename.change.apply(table).map(|(key, part, line)| Renamed {
                table: rename.table,
                index,
                key,
                line,
                part,
            }));
        }
    }
    (raw, found)
}

/// The tables of that name, and their places where there is a list of them.
fn tables<'a>(raw: &'a mut Value, name: &str) -> Vec<(Option<usize>, &'a mut Map<String, Value>)> {
    let named = if name.is_empty() { Some(raw) } else { raw.get_mut(name) };
    match named {
        Some(Value::Object(table)) => vec![(None, table)],
        Some(Value::Array(items)) => {
            let items = items.iter_mut().enumerate();
            items.filter_map(|(index, item)| Some((Some(index), item.as_object_mut()?))).collect()
        }
        // What is no table is refused by the reader, with its place.
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => Vec::new(),
    }
}

impl Change {
    /// Changes a table, and says which key stood there and what the line is now. A table that
    /// has the new word as well is left: the reader refuses the old one.
    fn apply(&self, table: &mut Map<String, Value>) -> Option<(&'static str, RenamedPart, String)> {
        match *self {
            Self::Key { old, new, text_only } => {
                if table.contains_key(new) || (text_only && !table.get(old)?.is_string()) {
                    return None;
                }
                let value = table.remove(old)?;
                let line = format!("{new} = {value}");
                table.insert(new.into(), value);
                Some((old, RenamedPart::Key(new), line))
            }
            Self::Value { key, old, new } => {
                let value = table.get_mut(key).filter(|value| value.as_str() == Some(old))?;
                *value = new.into();
                Some((key, RenamedPart::Value(new), format!("{key} = {value}")))
            }
        }
    }
}

/// A number of cargo's, which writes nothing but digits.
const fn number(digits: &str) -> u32 {
    let mut bytes = digits.as_bytes();
    let mut value = 0;
    while let [digit, rest @ ..] = bytes {
        value = value * 10 + (*digit - b'0') as u32;
        bytes = rest;
    }
    value
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LAST: Release = (0, 1);

    #[test]
    fn old_words_are_read_and_the_new_line_is_told() {
        let raw = json!({
            "repair": "afresh",
            "tool": [{ "name": "read_file" }, { "name": "pay", "at_once": 2 }],
        });
        let (now, found) = read_as_of(raw, FileKind::Task, LAST);
        let expected = json!({
            "repair": "from-scratch",
            "tool": [{ "name": "read_file" }, { "name": "pay", "concurrency": 2 }],
        });
        assert_eq!(now, expected);
        let told: Vec<_> = found.iter().map(|found| (found.place(), found.line.as_str())).collect();
        let expected = [
            ("repair".to_owned(), "repair = \"from-scratch\""),
            ("tool[1].at_once".to_owned(), "concurrency = 2"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn the_version_of_an_agent_was_a_text_and_that_of_a_file_is_a_number() {
        let (now, found) = read_as_of(json!({ "version": "7" }), FileKind::Manifest, LAST);
        assert_eq!((now, found.len()), (json!({ "release": "7" }), 1));
        for (raw, kind) in
            [(json!({ "version": 1 }), FileKind::Manifest), (json!({ "version": "7" }), FileKind::Task)]
        {
            assert_eq!(read_as_of(raw.clone(), kind, LAST), (raw, Vec::new()));
        }
    }

    #[test]
    fn a_table_with_both_words_is_left_to_the_reader() {
        let raw = json!({ "tool": [{ "at_once": 2, "concurrency": 3 }] });
        assert_eq!(read_as_of(raw.clone(), FileKind::Task, LAST), (raw, Vec::new()));
    }

    #[test]
    fn what_is_no_table_is_left_to_the_reader() {
        for raw in [json!(null), json!([1, { "repair": 3 }]), json!({ "tool": 4, "repair": ["mend"] })] {
            assert_eq!(read_as_of(raw.clone(), FileKind::Task, LAST), (raw, Vec::new()));
        }
    }

    #[test]
    fn an_old_word_is_not_read_from_its_last_release_on() {
        for rename in RENAMES {
            let (major, minor) = rename.until;
            let (file, kind) = (a_file_with(rename), rename.files[0]);
            assert_eq!(read_as_of(file.clone(), kind, (major, minor - 1)).1.len(), 1);
            assert_eq!(read_as_of(file.clone(), kind, rename.until), (file, Vec::new()));
        }
    }

    fn a_file_with(rename: &Rename) -> Value {
        let table = match rename.change {
            Change::Key { old, text_only, .. } => {
                json!({ old: if text_only { json!("x") } else { json!(1) } })
            }
            Change::Value { key, old, .. } => json!({ key: old }),
        };
        if rename.table.is_empty() { table } else { json!({ rename.table: [table] }) }
    }
}
