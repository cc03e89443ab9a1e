//! Reading one value of a raw task, or noting why it cannot be read.
//!
//! `None` always means that a problem was noted: whoever reads on with a
//! stand-in never returns it, because the task is refused at the end.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::limits::Bound;
use super::problem::{Problems, described, quoted, shown_key};
use super::section::Section;
use super::{renamed, suggest};
use crate::budget::word;
use crate::provenance::{Decimal, canonical_value};

/// Longest program name or argument of a command, in bytes.
const ARGUMENT_MAX: usize = 8 * 1024;
/// Most words in one command.
const ARGUMENTS_MAX: usize = 256;
/// Largest schema, in bytes of canonical JSON.
const SCHEMA_MAX: usize = 64 * 1024;
/// Deepest nesting in a schema. A journal record puts it a few levels deeper,
/// and must still be readable.
const SCHEMA_NESTING_MAX: usize = 64;

/// A table whose keys are all known.
pub(crate) struct Table<'a> {
    map: &'a Map<String, Value>,
    place: String,
    problems: &'a Problems,
}

impl<'a> Table<'a> {
    /// The field of that name, if the table has it.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        let value = self.map.get(key)?;
        Some(Field { value, place: self.place_of(key), problems: self.problems })
    }

    /// The field of that name, which must be there.
    pub(crate) fn require(&self, key: &str, remedy: &str) -> Option<Field<'a>> {
        let field = self.get(key);
        if field.is_none() {
            self.problems.note(&self.place_of(key), format!("`{key}` is missing"), remedy);
        }
        field
    }

    /// Where it stands.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Notes what is wrong with the table as a whole.
    pub(crate) fn wrong(&self, what: impl Into<String>, remedy: impl Into<String>) {
        self.problems.note(&self.place, what, remedy);
    }

    fn place_of(&self, key: &str) -> String {
        let key = shown_key(key);
        if self.place.is_empty() { key } else { format!("{}.{key}", self.place) }
    }
}

/// One value and where it stands.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    value: &'a Value,
    place: String,
    pub(crate) problems: &'a Problems,
}

impl<'a> Field<'a> {
    /// The whole raw task.
    pub(crate) fn whole(value: &'a Value, problems: &'a Problems) -> Self {
        Self { value, place: String::new(), problems }
    }

    /// A value that is not the whole of what is read.
    pub(crate) fn at(value: &'a Value, place: &str, problems: &'a Problems) -> Self {
        Self { value, place: place.into(), problems }
    }

    /// Notes a problem here.
    pub(crate) fn wrong(&self, what: impl Into<String>, remedy: impl Into<String>) {
        let place = if self.place.is_empty() { "task" } else { &self.place };
        self.problems.note(place, what, remedy);
    }

    fn mistyped(&self, expected: &str) {
        let remedy =
            if self.value.is_null() { "give it a value, or leave the key out" } else { "write that" };
        self.wrong(format!("expected {expected}, found {}", described(self.value)), remedy);
    }

    /// Whether it is a table, for keys that may also be a word.
    pub(crate) fn is_table(&self) -> bool {
        self.value.is_object()
    }

    /// The text as it stands, without a word about what is none.
    pub(crate) fn plain_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// Whether it is exactly this number.
    pub(crate) fn is_whole_number(&self, number: u64) -> bool {
        let Value::Number(found) = self.value else { return false };
        settled_number(found).and_then(|found| found.as_u64()) == Some(number)
    }

    /// `true` or `false`.
    pub(crate) fn yes_or_no(&self) -> Option<bool> {
        let Value::Bool(word) = self.value else {
            self.mistyped("true or false");
            return None;
        };
        Some(*word)
    }

    /// A table of that section, its keys checked.
    pub(crate) fn table(&self, section: Section) -> Option<Table<'a>> {
        let Value::Object(map) = self.value else {
            self.mistyped("a table");
            return None;
        };
        let table = Table { map, place: self.place.clone(), problems: self.problems };
        // Some builds keep the order in which keys were written; problems have one order.
        for key in map.keys().collect::<BTreeSet<_>>() {
            section.admit(key, &table.place_of(key), self.problems);
        }
        Some(table)
    }

    /// The entries of a table whose keys the user chooses.
    pub(crate) fn members(&self) -> Vec<(&'a str, Self)> {
        let Value::Object(map) = self.value else {
            self.mistyped("a table");
            return Vec::new();
        };
        let member = |(key, value): (&'a String, &'a Value)| {
            let place = format!("{}.{}", self.place, shown_key(key));
            (key.as_str(), Self { value, place, problems: self.problems })
        };
        map.iter().collect::<BTreeMap<_, _>>().into_iter().map(member).collect()
    }

    /// A list of tables of that section.
    pub(crate) fn tables(&self, section: Section, most: usize) -> Vec<Table<'a>> {
        if self.value.is_object() {
            self.wrong("expected a list of tables, found a table", format!("write {}", section.header()));
            return Vec::new();
        }
        self.list(most).into_iter().flatten().filter_map(|item| item.table(section)).collect()
    }

    /// A list of at most so many values.
    pub(crate) fn list(&self, most: usize) -> Option<Vec<Self>> {
        let Value::Array(items) = self.value else {
            self.mistyped("a list");
            return None;
        };
        if items.len() > most {
            self.wrong(format!("{} entries are too many", items.len()), format!("keep it to {most}"));
            return None;
        }
        Some(self.plain_list())
    }

    /// The values of a list, without a word about what is none.
    pub(crate) fn plain_list(&self) -> Vec<Self> {
        let item = |(index, value): (usize, &'a Value)| Self {
            value,
            place: format!("{}[{index}]", self.place),
            problems: self.problems,
        };
        self.value.as_array().into_iter().flatten().enumerate().map(item).collect()
    }

    /// A text that is neither blank nor longer than so many bytes.
    pub(crate) fn text(&self, most: usize) -> Option<&'a str> {
        let text = self.any_text(most)?;
        if text.trim().is_empty() {
            self.wrong("the text is blank", "write something, or leave the key out");
            return None;
        }
        Some(text)
    }

    /// A text that may be empty.
    pub(crate) fn text_or_nothing(&self, most: usize) -> Option<&'a str> {
        self.any_text(most)
    }

    fn any_text(&self, most: usize) -> Option<&'a str> {
        let Value::String(text) = self.value else {
            self.mistyped("a text");
            return None;
        };
        if text.len() > most {
            self.wrong(format!("{} bytes are too long", text.len()), format!("keep it to {most} bytes"));
            return None;
        }
        if text.contains('\0') {
            self.wrong("the text holds a NUL character", "remove it");
            return None;
        }
        Some(text)
    }

    /// A whole number that may be below nothing.
    pub(crate) fn whole_number(&self, least: i32, most: i32) -> Option<i32> {
        let remedy = format!("write a whole number from {least} to {most}");
        let Value::Number(number) = self.value else {
            self.mistyped("a whole number");
            return None;
        };
        let whole = settled_number(number).and_then(|number| number.as_i64());
        let kept = whole.and_then(|whole| i32::try_from(whole).ok());
        let kept = kept.filter(|kept| (least..=most).contains(kept));
        if kept.is_none() {
            self.wrong(format!("{number} does not fit"), remedy);
        }
        kept
    }

    /// Any value of bounded size and depth, in the form a journal gives it back: the state
    /// of a run must not depend on whether it was read from there.
    pub(crate) fn json(&self, most: usize, levels: usize) -> Option<Value> {
        let Some(mut value) = settled(self.value, levels) else {
            self.wrong(format!("nested deeper than {levels} levels"), "look at something flatter");
            return None;
        };
        value.sort_all_objects();
        let size = canonical_value(&value).len();
        if size > most {
            self.wrong(format!("{size} bytes are too long"), format!("keep it to {most} bytes"));
            return None;
        }
        Some(value)
    }

    /// One of these words.
    pub(crate) fn one_of<T: Clone>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let known = || words.iter().map(|(word, _)| *word);
        let choice = || known().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or ");
        let Value::String(text) = self.value else {
            self.mistyped(&choice());
            return None;
        };
        let found = words.iter().find(|(word, _)| word == text).map(|(_, meaning)| meaning.clone());
        if found.is_none() {
            let key = self.place.rsplit('.').next().unwrap_or_default();
            let near = || suggest::nearest(text, known()).map(|near| format!("did you mean \"{near}\"?"));
            let remedy = renamed::new_value(key, text)
                .map(|new| format!("it is called \"{new}\" now"))
                .or_else(near)
                .unwrap_or_else(|| format!("write {}", choice()));
            self.wrong(format!("{} is none of {}", quoted(text), choice()), remedy);
        }
        found
    }

    /// An amount within its bound, in the unit it is kept in.
    pub(crate) fn amount(&self, bound: &Bound) -> Option<u64> {
        if let Value::String(text) = self.value {
            return self.word(bound, text);
        }
        let Value::Number(number) = self.value else {
            self.mistyped(bound.kind());
            return None;
        };
        let text = number.to_string();
        match Decimal::read(&text)
            .ok_or_else(|| format!("{text} is no number"))
            .and_then(|it| bound.keep(&it, &text))
        {
            Ok(amount) => Some(amount),
            Err(what) => {
                self.wrong(what, bound.remedy());
                None
            }
        }
    }

    /// The one word that may stand where an amount does.
    fn word(&self, bound: &Bound, text: &str) -> Option<u64> {
        let is_near = || suggest::nearest(text, [word::WORD]).is_some();
        match bound.unlimited() {
            Some(unlimited) if text == word::WORD => return Some(unlimited),
            None if text == word::WORD => {
                self.wrong("this always has an end and cannot be unlimited", bound.remedy());
            }
            Some(_) if is_near() => {
                let what = format!("{} is no amount", quoted(text));
                self.wrong(what, format!("did you mean {:?}?", word::WORD));
            }
            Some(_) | None => self.mistyped(bound.kind()),
        }
        None
    }

    /// A program and its arguments.
    pub(crate) fn argv(&self) -> Option<Vec<String>> {
        if !self.value.is_array() {
            self.mistyped("a list of words, as in [\"make\", \"test\"]");
            return None;
        }
        let words = self.list(ARGUMENTS_MAX)?;
        let Some(program) = words.first() else {
            self.wrong("the command is empty", "name a program, as in [\"make\", \"test\"]");
            return None;
        };
        let program = program.text(ARGUMENT_MAX);
        let arguments: Vec<_> = words.iter().skip(1).map(|word| word.any_text(ARGUMENT_MAX)).collect();
        std::iter::once(program).chain(arguments).map(|word| word.map(str::to_owned)).collect()
    }

    /// A JSON Schema: a table of bounded size and depth.
    pub(crate) fn schema(&self) -> Option<Value> {
        if !self.value.is_object() {
            self.mistyped("a table that is a JSON Schema");
            return None;
        }
        let Some(schema) = settled(self.value, SCHEMA_NESTING_MAX) else {
            self.wrong(format!("nested deeper than {SCHEMA_NESTING_MAX} levels"), "flatten the schema");
            return None;
        };
        let size = canonical_value(&schema).len();
        if size > SCHEMA_MAX {
            self.wrong(
                format!("{size} bytes are too long"),
                format!("keep the schema to {SCHEMA_MAX} bytes"),
            );
            return None;
        }
        Some(schema)
    }
}

/// The value as it will come back from a journal, where `1.0` is written `1`;
/// `None` if it is nested too deep.
fn settled(value: &Value, levels: usize) -> Option<Value> {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => Some(value.clone()),
        Value::Number(number) => Some(settled_number(number).map_or_else(|| value.clone(), Value::from)),
        Value::Array(items) => {
            let levels = levels.checked_sub(1)?;
            items.iter().map(|item| settled(item, levels)).collect()
        }
        Value::Object(map) => {
            let levels = levels.checked_sub(1)?;
            let member = |(key, value): (&String, &Value)| Some((key.clone(), settled(value, levels)?));
            map.iter().map(member).collect::<Option<_>>().map(Value::Object)
        }
    }
}

fn settled_number(number: &serde_json::Number) -> Option<serde_json::Number> {
    let decimal = Decimal::read(&number.to_string())?;
    let magnitude = decimal.magnitude(0).ok()?;
    if decimal.negative {
        0_i64.checked_sub_unsigned(magnitude).map(serde_json::Number::from)
    } else {
        Some(magnitude.into())
    }
}
