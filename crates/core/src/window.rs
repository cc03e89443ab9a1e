//! A window into an output: the part that a minimal repair shows and replaces.
//!
//! Only the output itself has windows; files are mended with tools. What does not fit
//! back into its place is refused, and the output stays as it was.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::unfenced;

/// Lines before and after the one that is named.
pub const RADIUS: u32 = 12;

/// A part of an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Window {
    /// These lines, counted from 1, both included.
    Lines {
        /// The first.
        from: u32,
        /// The last.
        to: u32,
    },
    /// The value at this JSON pointer.
    Value(String),
}

impl Window {
    /// The window around a place of the output: a JSON pointer, or `line 12`.
    #[must_use]
    pub fn around(place: &str) -> Option<Self> {
        if place.starts_with('/') {
            return Some(Self::Value(place.into()));
        }
        let line: u32 = place.strip_prefix("line ")?.trim().parse().ok().filter(|line| *line > 0)?;
        Some(Self::Lines { from: line.saturating_sub(RADIUS).max(1), to: line.saturating_add(RADIUS) })
    }

    /// What is seen through it; `None` if the output has no such part.
    #[must_use]
    pub fn shown(&self, output: &str) -> Option<String> {
        match self {
            Self::Lines { from, to } => {
                let (before, rest) = cut(output, from.saturating_sub(1));
                let (inside, _) = cut(rest, to.saturating_sub(*from).saturating_add(1));
                (before.len() < output.len()).then(|| inside.to_owned())
            }
            Self::Value(at) => {
                let value: Value = serde_json::from_str(unfenced(output)).ok()?;
                value.pointer(at).map(|found| serde_json::to_string_pretty(found).unwrap_or_default())
            }
        }
    }

    /// The output with this in the place of what is seen through the window; or why it
    /// does not fit there.
    pub fn splice(&self, output: &str, replacement: &str) -> Result<String, String> {
        match self {
            Self::Lines { from, to } => {
                let (before, rest) = cut(output, from.saturating_sub(1));
                if before.len() >= output.len() {
                    return Err(format!("the output has no line {from}"));
                }
                let (inside, after) = cut(rest, to.saturating_sub(*from).saturating_add(1));
                let mut part = lines_of(replacement).to_owned();
                if inside.ends_with('\n') && !part.ends_with('\n') {
                    part.push('\n');
                }
                Ok(format!("{before}{part}{after}"))
            }
            Self::Value(at) => {
                let mut whole: Value = serde_json::from_str(unfenced(output))
                    .map_err(|problem| format!("the output is not JSON: {problem}"))?;
                let part: Value = serde_json::from_str(unfenced(replacement))
                    .map_err(|problem| format!("the replacement is not JSON: {problem}"))?;
                let place = whole.pointer_mut(at).ok_or_else(|| format!("there is nothing at {at}"))?;
                *place = part;
                let text = if output.trim_end().contains('\n') {
                    serde_json::to_string_pretty(&whole)
                } else {
                    serde_json::to_string(&whole)
                };
                text.map_err(|problem| problem.to_string())
            }
        }
    }

    /// What people call it.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Lines { from, to } => format!("lines {from} to {to}"),
            Self::Value(at) => format!("the value at {at}"),
        }
    }
}

/// Lines as they are, without a fence around them: their indentation counts.
fn lines_of(replacement: &str) -> &str {
    let Some(inner) = replacement.trim().strip_prefix("```") else { return replacement };
    let inner = inner.split_once('\n').map_or("", |(_, inner)| inner);
    inner.strip_suffix("```").unwrap_or(inner)
}

/// The first so many lines, with their ends, and the rest.
fn cut(text: &str, lines: u32) -> (&str, &str) {
    let Some(last) = lines.checked_sub(1).and_then(|last| usize::try_from(last).ok()) else {
        return ("", text);
    };
    let end = text.match_indices('\n').nth(last).map_or(text.len(), |(at, _)| at + 1);
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_is_shown_and_replaced_where_it_stands() {
        let window = Window::around("/items/1/price").unwrap();
        let output = "{\"items\": [{\"price\": 1}, {\"price\": \"two\"}], \"sum\": 3}";
        assert_eq!(window.shown(output).as_deref(), Some("\"two\""));
        assert_eq!(
            window.splice(output, "```json\n2\n```").unwrap(),
            "{\"items\":[{\"price\":1},{\"price\":2}],\"sum\":3}"
        );
        assert!(window.splice(output, "about two").unwrap_err().contains("replacement is not JSON"));
        assert!(window.splice("prose", "2").unwrap_err().contains("output is not JSON"));
        assert!(Window::around("/none").unwrap().splice(output, "2").unwrap_err().contains("nothing at"));
        assert_eq!(Window::around("/none").unwrap().shown(output), None);
    }

    #[test]
    fn lines_around_a_place_are_replaced_and_the_others_stay() {
        let text: String = (1..=40).map(|line| format!("line {line}\n")).collect();
        let window = Window::around("line 20").unwrap();
        assert_eq!(window, Window::Lines { from: 8, to: 32 });
        let shown = window.shown(&text).unwrap();
        assert!(shown.starts_with("line 8\n") && shown.ends_with("line 32\n"));
        let spliced = window.splice(&text, "one\ntwo").unwrap();
        assert!(spliced.contains("line 7\none\ntwo\nline 33\n"), "{spliced}");
        assert_eq!(Window::around("line 3").unwrap(), Window::Lines { from: 1, to: 15 });
        assert!(Window::around("line 99").unwrap().splice("short", "x").is_err());
    }

    #[test]
    fn only_places_of_the_output_have_windows() {
        for place in ["sum.rs:4", "line 0", "line x", "the second paragraph", ""] {
            assert_eq!(Window::around(place), None, "{place}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_put_back_changes_nothing(text in "([a-z ]{0,8}\n){0,60}[a-z]{0,5}", line in 1..60_u32) {
            let window = Window::around(&format!("line {line}")).unwrap();
            if let Some(shown) = window.shown(&text) {
                prop_assert_eq!(window.splice(&text, &shown).unwrap(), text);
            }
        }
    }
}
