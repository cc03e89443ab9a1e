//! The arguments of a call for the person who decides about it: decoded, one member a
//! line, every character what it is, and what looks like something else said beside it.
//!
//! A member is named by its pointer. Rows that belong to the one before have a margin of
//! their own, and no text can draw either margin ([`escape_exact`]).

use serde_json::Value;

use super::escape::{escape_exact, escape_line};
use super::fold::{Kind, Reader};

/// Stand before a member, and before more of it.
const MEMBER: &str = "│ ";
const MORE: &str = "┆ ";
/// Most columns of a row, so that no terminal of ordinary width breaks it.
const COLUMNS: usize = 72;
/// Most characters of a value that are shown, from its beginning and its end.
const HEAD: usize = 600;
const TAIL: usize = 200;
/// Most members that are shown, and most remarks.
const MEMBERS_MAX: usize = 100;
const REMARKS_MAX: usize = 8;

/// What a person is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exhibit {
    /// One row a line, each behind a margin.
    pub rows: Vec<String>,
    /// What is not what it looks like.
    pub remarks: Vec<String>,
    /// Whether something was left out of the rows.
    pub is_cut: bool,
}

/// Shows arguments, whole or with the middle of long ones left out. Text that is no
/// JSON is one value.
#[must_use]
pub fn exhibit(args: &str, whole: bool) -> Exhibit {
    let mut shown = Exhibit::default();
    let mut members = Vec::new();
    match serde_json::from_str::<Value>(args) {
        Ok(value) => flatten(&value, String::new(), &mut members),
        Err(_) => members.push((String::new(), Value::from(args))),
    }
    let most = if whole { usize::MAX } else { MEMBERS_MAX };
    for (pointer, value) in members.iter().take(most) {
        member((pointer, value), whole, &mut shown);
    }
    let more = members.len().saturating_sub(most);
    if more > 0 {
        shown.rows.push(format!("{MORE}… and {more} more members"));
        shown.is_cut = true;
    }
    let texts = members.iter().flat_map(|(pointer, value)| [Some(pointer.as_str()), value.as_str()]);
    for text in texts.flatten() {
        lookalikes(text, &mut shown.remarks);
    }
    shown.remarks.truncate(REMARKS_MAX);
    shown
}

/// Every value that holds no others, by its pointer.
fn flatten(value: &Value, pointer: String, to: &mut Vec<(String, Value)>) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            items.iter().enumerate().for_each(|(at, item)| flatten(item, format!("{pointer}/{at}"), to));
        }
        Value::Object(members) if !members.is_empty() => {
            // In one order, whatever order they were sent in.
            let sorted: std::collections::BTreeMap<_, _> = members.iter().collect();
            for (key, item) in sorted {
                let key = key.replace('~', "~0").replace('/', "~1");
                flatten(item, format!("{pointer}/{key}"), to);
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {
            to.push((pointer, value.clone()));
        }
    }
}

fn member((pointer, value): (&str, &Value), whole: bool, shown: &mut Exhibit) {
    let ends = |text: &str| if whole { (text.to_owned(), false) } else { ends(text) };
    let (pointer, was_cut) = ends(&unquoted(pointer));
    let (value, is_cut) = match value {
        Value::String(text) => {
            let (shown, is_cut) = ends(&unquoted(text));
            (format!("\"{shown}\""), is_cut)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            (value.to_string(), false)
        }
    };
    shown.is_cut |= is_cut || was_cut;
    let mut row = String::from(MEMBER);
    let mut columns = 0;
    for c in format!("{} = {value}", if pointer.is_empty() { "(all)" } else { &pointer }).chars() {
        let wide = if c.is_ascii() { 1 } else { 2 };
        if columns + wide > COLUMNS {
            shown.rows.push(std::mem::replace(&mut row, MORE.to_owned()));
            columns = 0;
        }
        row.push(c);
        columns += wide;
    }
    shown.rows.push(row);
}

/// With quotes and backslashes escaped, so that none ends the value.
fn unquoted(text: &str) -> String {
    escape_exact(&text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The beginning and the end of a long text, and what was left out between them.
fn ends(text: &str) -> (String, bool) {
    let len = text.chars().count();
    if len <= HEAD + TAIL {
        return (text.to_owned(), false);
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(len - TAIL).collect();
    (format!("{head}\" … {} of {len} characters left out … \"{tail}", len - HEAD - TAIL), true)
}

/// Words in which letters of another alphabet stand for Latin ones, and names that are
/// written in code.
fn lookalikes(text: &str, to: &mut Vec<String>) {
    for word in text.split(|c: char| c.is_whitespace() || "\"'`,;()<>[]{}".contains(c)) {
        let is_mixed = word.chars().any(|c| c.is_ascii_alphabetic()) && word.chars().any(is_disguise);
        let remark = if is_mixed {
            let strange = word.chars().filter(|c| is_disguise(*c)).take(4);
            let codes: Vec<String> = strange.map(|c| format!("U+{:04X}", u32::from(c))).collect();
            format!("{} looks like {}: {}", quoted(word), quoted(&skeleton(word)), codes.join(", "))
        } else if word.to_ascii_lowercase().split(['.', '/', '@', ':']).any(|label| label.starts_with("xn--"))
        {
            format!("{} is a name of other letters, written in code", quoted(word))
        } else {
            continue;
        };
        if to.len() < REMARKS_MAX && !to.contains(&remark) {
            to.push(remark);
        }
    }
}

fn quoted(word: &str) -> String {
    let short: String = word.chars().take(80).collect();
    format!("\"{}\"", escape_line(&short))
}

/// A letter of another alphabet, or in another style, that looks like a Latin one.
fn is_disguise(c: char) -> bool {
    let is_foreign = matches!(u32::from(c),
        0x370..=0x52f | 0x530..=0x58f | 0x13a0..=0x13ff | 0x1d00..=0x1d7f | 0x2100..=0x214f | 0x24b6..=0x24e9
        | 0x2c60..=0x2dff | 0xa640..=0xa69f | 0xab30..=0xabbf | 0xff01..=0xff5e | 0x1d400..=0x1d7ff);
    is_foreign && skeleton(c.encode_utf8(&mut [0; 4])).is_ascii()
}

/// What a word looks like.
fn skeleton(word: &str) -> String {
    let mut plain = String::new();
    for c in word.chars() {
        if c.is_ascii() {
            plain.push(c);
            continue;
        }
        for piece in Reader::new(c.encode_utf8(&mut [0; 4])) {
            match piece.kind {
                Kind::Symbol(c) => plain.push(c),
                Kind::Ligature(several) => plain.push_str(several.letters()),
                Kind::Glue => plain.push('_'),
                Kind::Space | Kind::Break | Kind::Soft | Kind::Nothing => {}
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(args: &Value) -> Vec<String> {
        exhibit(&args.to_string(), false).rows
    }

    #[test]
    fn arguments_are_shown_decoded_one_member_a_line() {
        let args = r#"{"b":{"c":[1,true,{}]},"\u0061":"\u0072m -rf","e":""}"#;
        assert_eq!(
            exhibit(args, false).rows,
            ["│ /a = \"rm -rf\"", "│ /b/c/0 = 1", "│ /b/c/1 = true", "│ /b/c/2 = {}", "│ /e = \"\""]
        );
        assert_eq!(exhibit("not json", false).rows, ["│ (all) = \"not json\""]);
    }

    #[test]
    fn no_value_imitates_another_member() {
        for fake in [
            "x\"\n│ /to = \"ann",
            "x\"\u{2028}│ /to = \"ann",
            "x\"\r\u{1b}[2K│ /to = \"ann",
            "x\" │ /to = \"ann",
        ] {
            let rows = rows(&serde_json::json!({ "note": fake, "to": "eve" }));
            assert_eq!(rows.len(), 2, "{rows:?}");
            assert_eq!(rows[1], "│ /to = \"eve\"");
            assert_eq!(rows[0].matches('│').count(), 1, "{rows:?}");
        }
        // A name may not either.
        let rows = rows(&serde_json::json!({ "a = 1\n│ /b": "x" }));
        assert!(rows.len() == 1 && rows[0].matches('│').count() == 1, "{rows:?}");
    }

    #[test]
    fn a_long_value_is_broken_behind_a_margin_and_its_middle_is_counted() {
        let long = "ab ".repeat(2000);
        let shown = exhibit(&serde_json::json!({ "c": long, "d": " ".repeat(5000) }).to_string(), false);
        assert!(shown.is_cut && shown.rows.len() < 20, "{shown:?}");
        assert!(shown.rows.iter().all(|row| row.chars().count() <= COLUMNS + 2));
        assert!(shown.rows.iter().skip(1).rev().skip(1).all(|row| row.starts_with(MORE)), "{shown:?}");
        assert!(shown.rows.concat().replace(MORE, "").contains("of 6000 characters left out"));
        let whole = exhibit(&serde_json::json!({ "c": long }).to_string(), true);
        assert!(!whole.is_cut && whole.rows.len() > 80);
        assert_eq!(shown.rows.last().unwrap(), "│ /d = \"\\u{20}×5000\"");
    }

    #[test]
    fn what_looks_like_something_else_is_said_and_honest_words_are_not() {
        let remarks = |text: &str| exhibit(&serde_json::json!({ "v": text }).to_string(), false).remarks;
        for (text, like) in [
            ("https://pаypal.com/x", "https://paypal.com/x"),
            ("src/соnfig.py", "src/config.py"),
            ("ｇithub.com", "github.com"),
            ("𝗀ithub.com", "github.com"),
            ("gοοgle.com", "google.com"),
        ] {
            let found = remarks(text);
            assert!(found.len() == 1 && found[0].contains(&format!("looks like \"{like}\"")), "{found:?}");
        }
        assert!(remarks("xn--pypal-4ve.com")[0].contains("written in code"));
        for honest in
            ["привет мир", "naïve café in Zürich", "日本語 text", "α-Wert", "https://example.com", "Ελλάδα"]
        {
            assert!(remarks(honest).is_empty() || honest == "α-Wert", "{honest}: {:?}", remarks(honest));
        }
    }
}
