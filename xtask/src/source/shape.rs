//! What tokens amount to: functions, names, paths and test code.

use std::collections::BTreeSet;
use std::ops::Range;

use super::lex::{Source, Token};

/// A function with a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without its type.
    pub name: String,
    /// Where `fn` stands.
    pub line: usize,
    /// Lines of code between its braces; comments and blank lines are free.
    pub lines: usize,
}

/// Every function of a file, nested ones too.
#[must_use]
pub fn functions(source: &Source) -> Vec<Function> {
    let mut found = Vec::new();
    for at in 0..source.tokens.len() {
        let name = source.token(at + 1).and_then(Token::word);
        let (true, Some(name)) = (source.matches(at, &["fn"]), name) else { continue };
        let Some(open) = item_turn(source, at).filter(|&turn| source.matches(turn, &["{"])) else { continue };
        let close = matching(source, open);
        let (first, last) = (source.line(open), source.line(close));
        let lines = source.code_lines.iter().filter(|&&line| line > first && line < last).count();
        found.push(Function { name: name.to_owned(), line: source.line(at), lines });
    }
    found
}

/// Names of modules and types a file declares, with their lines.
#[must_use]
pub fn names(source: &Source) -> Vec<(usize, String)> {
    const DECLARES: [&str; 6] = ["mod", "struct", "enum", "trait", "union", "type"];
    let declared = |at: usize| {
        let keyword = source.token(at)?.word()?;
        let name = source.token(at + 1)?.word()?;
        DECLARES.contains(&keyword).then(|| (source.line(at), name.to_owned()))
    };
    (0..source.tokens.len()).filter_map(declared).collect()
}

/// Every path in a file with its line; `use a::{b, c::d}` gives `a::b` and `a::c::d`.
#[must_use]
pub fn paths(source: &Source) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.tokens.len() {
        at = match source.token(at) {
            Some(Token::Word(_)) => path_from(source, at, &[], &mut found),
            Some(Token::Mark(_) | Token::Literal) | None => at + 1,
        };
    }
    found
}

/// Reads the path that starts at `at` below `stem`; returns where it ends.
fn path_from(source: &Source, at: usize, stem: &[String], found: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut path = stem.to_vec();
    let mut at = at;
    let line = source.line(at);
    while let Some(word) = source.token(at).and_then(Token::word) {
        path.push(word.to_owned());
        at += 1;
        if !source.matches(at, &[":", ":"]) {
            break;
        }
        if source.matches(at + 2, &["{"]) {
            return group_from(source, at + 3, &path, found);
        }
        if source.token(at + 2).and_then(Token::word).is_none() {
            break;
        }
        at += 2;
    }
    found.push((line, path));
    at
}

/// Reads a `{…}` of a `use` tree from behind its brace.
fn group_from(source: &Source, at: usize, stem: &[String], found: &mut Vec<(usize, Vec<String>)>) -> usize {
    let mut at = at;
    loop {
        at = match source.token(at) {
            Some(Token::Word(word)) if word == "as" => at + 2,
            Some(Token::Word(_)) => path_from(source, at, stem, found),
            Some(Token::Mark('}')) | None => return at + 1,
            Some(Token::Mark(_) | Token::Literal) => at + 1,
        };
    }
}

/// Which part of a file is test code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestCode {
    /// Ranges of token indices.
    pub ranges: Vec<Range<usize>>,
    /// Modules in files of their own that are compiled for tests only.
    pub modules: BTreeSet<String>,
}

impl TestCode {
    /// True when the token at this index is test code.
    #[must_use]
    pub fn covers(&self, at: usize) -> bool {
        self.ranges.iter().any(|range| range.contains(&at))
    }
}

/// Finds items under `#[cfg(test)]` and `#[test]`; `#![cfg(test)]` makes the
/// whole file test code.
#[must_use]
pub fn test_code(source: &Source) -> TestCode {
    let mut found = TestCode::default();
    for at in 0..source.tokens.len() {
        let inner = source.matches(at, &["#", "!", "["]);
        if !inner && !source.matches(at, &["#", "["]) {
            continue;
        }
        let open = at + 1 + usize::from(inner);
        let close = matching(source, open);
        if !is_test_attribute(source, open + 1..close) {
            continue;
        }
        if inner {
            found.ranges.push(0..source.tokens.len());
            continue;
        }
        let item = behind_attributes(source, close + 1);
        let turn = item_turn(source, item).unwrap_or(source.tokens.len());
        if let Some(module) = module_in_file(source, item..turn) {
            found.modules.insert(module);
        }
        let end = if source.matches(turn, &["{"]) { matching(source, turn) } else { turn };
        found.ranges.push(at..end + 1);
    }
    found
}

fn is_test_attribute(source: &Source, range: Range<usize>) -> bool {
    let words: Vec<&str> = range.clone().filter_map(|at| source.token(at)?.word()).collect();
    if words.first() == Some(&"cfg") {
        return words.contains(&"test") && !words.contains(&"not") && !words.contains(&"any");
    }
    // `#[test]` and `#[runtime::test(…)]`: the path ends where its arguments begin.
    let path = range.take_while(|&at| !source.matches(at, &["("]));
    path.filter_map(|at| source.token(at)?.word()).last() == Some("test")
}

fn behind_attributes(source: &Source, at: usize) -> usize {
    let mut at = at;
    while source.matches(at, &["#", "["]) {
        at = matching(source, at + 1) + 1;
    }
    at
}

/// `mod name;` has its code in another file.
fn module_in_file(source: &Source, item: Range<usize>) -> Option<String> {
    if !source.matches(item.end, &[";"]) {
        return None;
    }
    let keyword = item.clone().find(|&at| source.matches(at, &["mod"]))?;
    source.token(keyword + 1)?.word().map(str::to_owned)
}

/// The `{` or `;` where an item's head ends: the first outside `()` and `[]`.
/// A `}` ends what has neither, such as a field.
fn item_turn(source: &Source, from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for at in from..source.tokens.len() {
        match source.token(at)? {
            Token::Mark('(' | '[') => depth += 1,
            Token::Mark(')' | ']') => depth = depth.saturating_sub(1),
            Token::Mark('{' | '}' | ';') if depth == 0 => return Some(at),
            Token::Mark(_) | Token::Word(_) | Token::Literal => {}
        }
    }
    None
}

/// The bracket that closes the one at `open`; the end if none does.
fn matching(source: &Source, open: usize) -> usize {
    let mut depth = 0_usize;
    for at in open..source.tokens.len() {
        match source.token(at) {
            Some(Token::Mark('(' | '[' | '{')) => depth += 1,
            Some(Token::Mark(')' | ']' | '}')) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            Some(Token::Mark(_) | Token::Word(_) | Token::Literal) | None => {}
        }
    }
    source.tokens.len()
}
