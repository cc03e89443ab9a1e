//! What was expected and what came, out of the many ways assertions say so.

/// Expected and actual.
pub(super) type Pair = (String, String);

/// The first way of saying it that fits.
pub(super) fn pair(message: &str) -> Option<Pair> {
    labelled(message, "Expected", "Received")
        .or_else(|| labelled(message, "right", "left"))
        .or_else(|| labelled(message, "expected substring", "panic message"))
        .or_else(|| labelled(message, "expected", "actual"))
        .or_else(|| labelled(message, "expected", "got"))
        .or_else(|| diffed(message))
        .or_else(|| message.lines().find_map(one_line))
}

/// `Expected: 4` and `Received: 3` on lines of their own; values may go on over lines.
fn labelled(message: &str, expected: &str, actual: &str) -> Option<Pair> {
    let mut found: [Option<String>; 2] = [None, None];
    let mut open: Option<usize> = None;
    for line in message.lines() {
        let label = |word: &str| {
            let rest = line.trim_start().strip_prefix(word)?.trim_start();
            let (before, value) = rest.split_once(':')?;
            // `Expected substring: "x"` is a label too; `expected 3 to be: …` is none.
            (before.len() <= 12 && !before.contains(|c: char| c.is_ascii_digit() || c == '<'))
                .then(|| value.trim().trim_end_matches(',').to_owned())
        };
        if let Some(value) = label(expected) {
            found[0] = Some(value);
            open = (!line.ends_with(',')).then_some(0);
        } else if let Some(value) = label(actual) {
            found[1] = Some(value);
            open = (!line.ends_with(',')).then_some(1);
        } else if line.trim().is_empty() || ["at ", "note: "].iter().any(|s| line.trim_start().starts_with(s))
        {
            open = None;
        } else if let Some(value) = open.and_then(|open| found.get_mut(open)?.as_mut()) {
            value.push('\n');
            value.push_str(line);
        }
    }
    let [expected, actual] = found;
    Some((expected?, actual?)).filter(|(expected, actual)| !expected.is_empty() && !actual.is_empty())
}

/// A diff under `- Expected` and `+ Received`, or under `+ actual - expected`.
fn diffed(message: &str) -> Option<Pair> {
    let mut lines = message.lines().skip_while(|line| !is_legend(line)).skip_while(|line| is_legend(line));
    let (mut expected, mut actual) = (Vec::new(), Vec::new());
    for line in lines.by_ref().skip_while(|line| line.trim().is_empty()) {
        let ends = line.trim().is_empty() && !expected.is_empty() && !actual.is_empty();
        if ends || line.trim_start().starts_with("at ") {
            break;
        }
        match line.chars().next() {
            Some('-') => expected.push(after_sign(line)),
            Some('+') => actual.push(after_sign(line)),
            Some(' ') | None if !line.trim_start().starts_with('^') => {
                expected.push(after_sign(line));
                actual.push(after_sign(line));
            }
            Some(_) | None => break,
        }
    }
    let is_something = expected != actual && !expected.is_empty() && !actual.is_empty();
    is_something.then(|| (expected.join("\n"), actual.join("\n")))
}

fn is_legend(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("- Expected")
        || line.starts_with("+ Received")
        || line.starts_with("+ actual - expected")
}

fn after_sign(line: &str) -> &str {
    let rest = line.get(1..).unwrap_or_default();
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// Everything that fits one line.
fn one_line(line: &str) -> Option<Pair> {
    let line = line.trim();
    let bare = line.strip_prefix("AssertionError: ").unwrap_or(line);
    if let Some(claim) = bare.strip_prefix("assert ") {
        return around(claim, " == ").map(|(actual, expected)| (expected, actual));
    }
    if let Some(rest) = line.find("expected:").and_then(|at| line.get(at..)?.strip_prefix("expected:"))
        && let Some((expected, actual)) = rest.split_once("but was:")
    {
        let value = |text: &str| text.trim().trim_start_matches('<').trim_end_matches('>').to_owned();
        return Some((value(expected), value(actual)));
    }
    if let Some((before, expected)) = line.split_once(", want ") {
        let from = [" = ", "got ", "got: "].iter().filter_map(|word| Some(before.rfind(word)? + word.len()));
        let actual = before.get(from.max()?..)?;
        return Some((expected.trim().to_owned(), actual.trim().to_owned()));
    }
    for between in [" but got ", ", got ", ", but got "] {
        let expected = line.split_once("expected ").map(|(_, rest)| rest);
        if let Some((expected, actual)) = expected.and_then(|rest| rest.split_once(between)) {
            return Some((expected.trim().to_owned(), actual.trim().to_owned()));
        }
    }
    let chai = bare.strip_prefix("expected ").map(|rest| rest.split(" // ").next().unwrap_or(rest));
    for between in [" to be ", " to equal ", " to deeply equal ", " to strictly equal "] {
        if let Some((actual, expected)) = chai.and_then(|rest| around(rest, between))
            && is_value(&expected)
        {
            return Some((expected, actual));
        }
    }
    [" !== ", " != "].iter().find_map(|between| {
        let (actual, expected) = around(bare, between)?;
        (is_value(&actual) && is_value(&expected)).then_some((expected, actual))
    })
}

/// Both sides of an operator that stands outside quotes and brackets.
fn around(text: &str, operator: &str) -> Option<Pair> {
    let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
    for (at, letter) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (letter, quote) {
            ('\\', Some(_)) => escaped = true,
            (letter, Some(open)) if letter == open => quote = None,
            (_, Some(_)) => {}
            ('\'' | '"', None) => quote = Some(letter),
            ('(' | '[' | '{', None) => depth += 1,
            (')' | ']' | '}', None) => depth = depth.saturating_sub(1),
            (' ', None) if depth == 0 && text.get(at..)?.starts_with(operator) => {
                let (left, right) = (text.get(..at)?, text.get(at + operator.len()..)?);
                return Some((left.trim().to_owned(), right.trim().to_owned()));
            }
            (_, None) => {}
        }
    }
    None
}

/// A literal rather than prose.
fn is_value(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_digit() || "-'\"[{(<".contains(first));
    starts
        || ["True", "False", "None", "true", "false", "null", "undefined"].contains(&text)
        || !text.contains(' ')
}
