//! What changed in a server's list of tools, for a person to read.

use std::fmt;

use bowline_core::untrusted::{escape_line, escape_page};

use crate::listing::Listed;

/// Texts of more lines than this are shown whole, one after the other.
const LINES_COMPARED_MAX: usize = 400;

/// What is other than it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    /// Tools that were not there.
    pub added: Vec<Listed>,
    /// Tools that are gone.
    pub removed: Vec<Listed>,
    /// Tools that say something else about themselves.
    pub edited: Vec<Edited>,
}

/// A tool before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// As it was agreed to.
    pub before: Listed,
    /// As it is.
    pub after: Listed,
}

impl Difference {
    /// Between two lists; tools are the same by their names.
    #[must_use]
    pub fn between(before: &[Listed], after: &[Listed]) -> Self {
        let find = |list: &[Listed], name: &str| list.iter().find(|tool| tool.name == name).cloned();
        let mut difference = Self::default();
        for tool in after {
            match find(before, &tool.name) {
                None => difference.added.push(tool.clone()),
                Some(was) if was.digest() != tool.digest() => {
                    difference.edited.push(Edited { before: was, after: tool.clone() });
                }
                Some(_) => {}
            }
        }
        difference.removed = before.iter().filter(|was| find(after, &was.name).is_none()).cloned().collect();
        difference
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.edited.is_empty()
    }

    /// All of it, line by line, escaped: what a person reads is what is there.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for tool in &self.removed {
            lines.push(format!("- tool {}", escape_line(&tool.name)));
        }
        for tool in &self.added {
            lines.push(format!("+ tool {}", escape_line(&tool.name)));
            lines.extend(page(tool).iter().map(|line| format!("+   {line}")));
        }
        for Edited { before, after } in &self.edited {
            lines.push(format!("~ tool {}", escape_line(&after.name)));
            let compared = compared(&page(before), &page(after));
            lines.extend(compared.into_iter().map(|(mark, line)| format!("{mark}   {line}")));
        }
        lines
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts =
            [(self.added.len(), "added"), (self.removed.len(), "removed"), (self.edited.len(), "changed")];
        let told: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}"))
            .collect();
        f.write_str(if told.is_empty() { "nothing" } else { "" })?;
        f.write_str(&told.join(", "))
    }
}

/// Everything about a tool that a model or a person goes by.
fn page(tool: &Listed) -> Vec<String> {
    let pretty = |value: &serde_json::Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let mut lines: Vec<String> = escape_page(&tool.description).lines().map(str::to_owned).collect();
    lines.push("arguments:".to_owned());
    lines.extend(escape_page(&pretty(&tool.schema)).lines().map(|line| format!("  {line}")));
    lines.push(format!("claims: {}", escape_line(&tool.annotations.to_string())));
    lines
}

/// The longest common lines stay; the rest is marked.
fn compared(before: &[String], after: &[String]) -> Vec<(char, String)> {
    if before.len() > LINES_COMPARED_MAX || after.len() > LINES_COMPARED_MAX {
        let gone = before.iter().map(|line| ('-', line.clone()));
        return gone.chain(after.iter().map(|line| ('+', line.clone()))).collect();
    }
    let common = common_lengths(before, after);
    let length = |i: usize, j: usize| common.get(i).and_then(|row| row.get(j)).copied().unwrap_or_default();
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    loop {
        match (before.get(i), after.get(j)) {
            (None, None) => return lines,
            (Some(was), Some(is)) if was == is => {
                lines.push((' ', was.clone()));
                (i, j) = (i + 1, j + 1);
            }
            (Some(was), is) if is.is_none() || length(i + 1, j) >= length(i, j + 1) => {
                lines.push(('-', was.clone()));
                i += 1;
            }
            (_, Some(is)) => {
                lines.push(('+', is.clone()));
                j += 1;
            }
            (Some(_), None) => return lines,
        }
    }
}

/// For every pair of places, how many lines the rests have in common.
fn common_lengths(before: &[String], after: &[String]) -> Vec<Vec<usize>> {
    let mut rows: Vec<Vec<usize>> = vec![vec![0; after.len() + 1]];
    for was in before.iter().rev() {
        let below = rows.last().cloned().unwrap_or_default();
        let mut row = vec![0; after.len() + 1];
        for (j, is) in after.iter().enumerate().rev() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or_default();
            let value = if was == is { at(&below, j + 1) + 1 } else { at(&below, j).max(at(&row, j + 1)) };
            if let Some(cell) = row.get_mut(j) {
                *cell = value;
            }
        }
        rows.push(row);
    }
    rows.reverse();
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str) -> Listed {
        Listed {
            name: name.into(),
            description: description.into(),
            schema: json!({"type": "object"}),
            annotations: json!({}),
        }
    }

    #[test]
    fn what_was_added_removed_and_changed_is_told_line_by_line() {
        let before = [tool("a", "One.\nTwo.\nThree."), tool("b", "B."), tool("c", "C.")];
        let after =
            [tool("c", "C."), tool("a", "One.\nTwo, and send it on.\nThree."), tool("d", "D.\u{1b}[2J")];
        let difference = Difference::between(&before, &after);
        assert_eq!(difference.to_string(), "1 added, 1 removed, 1 changed");
        let lines = difference.lines();
        for expected in [
            "- tool b",
            "+ tool d",
            "+   D.\\u{1b}[2J",
            "~ tool a",
            "    One.",
            "-   Two.",
            "+   Two, and send it on.",
            "    Three.",
        ] {
            assert!(lines.iter().any(|line| line == expected), "{expected}: {lines:#?}");
        }
    }

    #[test]
    fn the_order_of_a_list_is_no_difference() {
        let (a, b) = (tool("a", "A."), tool("b", "B."));
        assert!(Difference::between(&[a.clone(), b.clone()], &[b, a]).is_empty());
    }
}
