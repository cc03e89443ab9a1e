//! Whose output a text is.

use super::Format;
use super::colour::without_colour;

/// A tool, and whether a line is one that only it prints.
type Mark = (Format, fn(&str) -> bool);

/// Whose output this is, by lines only that tool prints. `None` where nobody can be told.
///
/// A stranger's tests can print lines of another tool, so the surest marks come first.
#[must_use]
pub fn recognise(text: &str) -> Option<Format> {
    let text = without_colour(text);
    let start = text.trim_start();
    if start.starts_with("<?xml") || start.starts_with("<testsuite") {
        return start.contains("<testsuite").then_some(Format::JunitXml);
    }
    if start.starts_with('{') {
        return json(start);
    }
    let marks: [Mark; 8] = [
        (Format::Nextest, |line| line.trim_start().starts_with("Nextest run ID ")),
        (Format::Pytest, is_pytest),
        (Format::Vitest, |line| line.starts_with(" RUN  v") || line.starts_with(" Test Files ")),
        (Format::Jest, |line| {
            line.starts_with("Test Suites: ") || line.starts_with("No tests found, exiting with code")
        }),
        (Format::CargoTest, is_cargo),
        (Format::GoTest, is_go),
        (Format::Tap, |line| line.starts_with("TAP version 1")),
        (Format::Tap, |line| {
            line.strip_prefix("1..").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        }),
    ];
    let found = marks.iter().find(|(_, is_of)| text.lines().any(is_of));
    found.map(|(format, _)| *format)
}

fn json(start: &str) -> Option<Format> {
    let first = start.lines().next().unwrap_or_default();
    if first.contains("\"Action\":") {
        return Some(Format::GoTestJson);
    }
    start.contains("\"numTotalTests\"").then_some(Format::JestJson)
}

fn is_pytest(line: &str) -> bool {
    line.contains("= test session starts =") || super::pytest::summary(line).is_some()
}

fn is_cargo(line: &str) -> bool {
    line.starts_with("test result: ")
        || line.starts_with("error: could not compile `")
        || line
            .strip_prefix("running ")
            .is_some_and(|rest| rest.ends_with(" tests") || rest.ends_with(" test"))
}

fn is_go(line: &str) -> bool {
    ["ok  \t", "FAIL\t", "?   \t", "--- FAIL: ", "=== RUN   "].iter().any(|start| line.starts_with(start))
}
