//! The XML that came from JUnit, as pytest, jest-junit, vitest, node, Surefire and Gradle write it.
//!
//! A document type, and with it every entity it could define, is refused; nothing
//! is ever loaded. Depth is bounded; the parser keeps no tree.

use bowline_core::defect::traces;
use bowline_core::quality::{Failure, Stage};
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use super::bound::{BODY_MAX, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts, pytest, vitest};

const FORMAT: Format = Format::JunitXml;

/// Deepest nesting of elements.
const DEPTH_MAX: usize = 64;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut reader = Reader::from_str(texts.document());
    let mut walk = Walk {
        report: Report::new(FORMAT),
        suites: Vec::new(),
        case: None,
        open: None,
        depth: 0,
        root: false,
    };
    loop {
        let event = match reader.read_event() {
            Ok(event) => event,
            Err(quick_xml::Error::Syntax(problem)) => return Err(cut(&problem.to_string())),
            Err(quick_xml::Error::IllFormed(problem)) => return Err(walk.ill_formed(&problem.to_string())),
            Err(problem) => return Err(malformed(&problem.to_string())),
        };
        match event {
            Event::Start(tag) => walk.start(&tag)?,
            Event::Empty(tag) => {
                walk.start(&tag)?;
                walk.end(tag.local_name().as_ref())?;
            }
            Event::End(tag) => walk.end(tag.local_name().as_ref())?,
            Event::Text(text) => walk.text(&text.xml10_content()),
            Event::CData(text) => walk.text(&text.xml10_content()),
            Event::GeneralRef(reference) => {
                let letter =
                    reference.resolve_char_ref().map_err(|problem| malformed(&problem.to_string()))?;
                let named = quick_xml::escape::resolve_xml_entity(&reference);
                match (letter, named) {
                    (Some(letter), _) => walk.text(letter.encode_utf8(&mut [0; 4])),
                    (None, Some(text)) => walk.text(text),
                    (None, None) => return Err(malformed("it uses an entity XML does not have")),
                }
            }
            Event::DocType(_) => return Err(malformed("it has a document type, which may hide anything")),
            Event::Eof => break,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
    }
    if walk.depth > 0 {
        return Err(cut("elements are still open"));
    }
    if !walk.root {
        return Err(ReportError::Unrecognised { format: FORMAT });
    }
    Ok(walk.report)
}

fn cut(what: &str) -> ReportError {
    ReportError::Cut { format: FORMAT, what: what.to_owned() }
}

fn malformed(what: &str) -> ReportError {
    ReportError::Malformed { format: FORMAT, what: what.to_owned() }
}

/// A test suite that is open, and what it says of itself.
#[derive(Default)]
struct Suite {
    declared: [Option<u32>; 3],
    counted: [u32; 3],
}

#[derive(Default)]
struct Case {
    name: String,
    file: Option<String>,
    line: Option<String>,
    skipped: bool,
    failures: Vec<Failure>,
    /// How many `failure` and `error` elements it has.
    elements: [u32; 2],
}

/// A failure or error element that is open.
struct Open {
    is_error: bool,
    message: Option<String>,
    kind: Option<String>,
    text: String,
    depth: usize,
}

struct Walk {
    report: Report,
    suites: Vec<Suite>,
    case: Option<Case>,
    open: Option<Open>,
    depth: usize,
    root: bool,
}

impl Walk {
    fn ill_formed(&self, problem: &str) -> ReportError {
        if self.depth > 0 { cut(problem) } else { malformed(problem) }
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), ReportError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(malformed(&format!("elements are nested deeper than {DEPTH_MAX}")));
        }
        let value = |name: &str| attribute(tag, name);
        match tag.local_name().as_ref() {
            "testsuites" => self.root = true,
            "testsuite" => {
                self.root = true;
                let count = |name: &str| match value(name)? {
                    Some(text) => match text.trim().parse() {
                        Ok(count) => Ok(Some(count)),
                        // Taken for nothing said, it would let failures pass.
                        Err(_) => Err(malformed(&format!("the number of {name} cannot be read"))),
                    },
                    None => Ok(None),
                };
                let declared = [count("tests")?, count("failures")?, count("errors")?];
                self.suites.push(Suite { declared, counted: [0; 3] });
            }
            "testcase" => {
                let (class, name) = (value("classname")?, value("name")?.unwrap_or_default());
                let (class, name) = (class.unwrap_or_default().trim().to_owned(), name.trim().to_owned());
                let full = match class.as_str() {
                    "" | "test" => name,
                    _ if class == name => name,
                    _ => format!("{class}.{name}"),
                };
                let (file, line) = (value("file")?, value("line")?);
                self.case = Some(Case { name: full, file, line, ..Case::default() });
            }
            "failure" | "error" if self.case.is_some() && self.open.is_none() => {
                let is_error = tag.local_name().as_ref() == "error";
                let (message, kind) = (value("message")?, value("type")?);
                self.open = Some(Open { is_error, message, kind, text: String::new(), depth: self.depth });
            }
            "skipped" | "disabled" => {
                if let Some(case) = &mut self.case {
                    case.skipped = true;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn text(&mut self, text: &str) {
        if let Some(open) = &mut self.open
            && open.text.len() + text.len() <= BODY_MAX
        {
            open.text.push_str(text);
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ReportError> {
        if let Some(open) = self.open.take_if(|open| open.depth == self.depth)
            && let Some(case) = &mut self.case
        {
            let [failures, errors] = &mut case.elements;
            let count = if open.is_error { errors } else { failures };
            *count = count.saturating_add(1);
            case.failures.push(failure(case, &open));
        }
        self.depth = self.depth.saturating_sub(1);
        match name {
            "testcase" => {
                if let Some(case) = self.case.take() {
                    self.close(case);
                }
            }
            "testsuite" => {
                let Some(suite) = self.suites.pop() else { return Ok(()) };
                let words = ["tests", "failures", "errors"];
                for ((declared, counted), word) in suite.declared.into_iter().zip(suite.counted).zip(words) {
                    if let Some(declared) = declared.filter(|declared| *declared != counted) {
                        let what = format!("a suite has {counted} {word} and declares {declared}");
                        return Err(ReportError::Contradicts { format: FORMAT, what });
                    }
                }
                // What is in an inner suite is in the outer one too.
                if let Some(outer) = self.suites.last_mut() {
                    for (sum, more) in outer.counted.iter_mut().zip(suite.counted) {
                        *sum = sum.saturating_add(more);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn close(&mut self, case: Case) {
        let errors = case.failures.iter().filter(|failure| failure.stage != Stage::Test).count();
        let (failed, errors) = (case.failures.len() - errors, errors);
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        if let Some(suite) = self.suites.last_mut() {
            let [failures, errors] = case.elements;
            for (sum, more) in suite.counted.iter_mut().zip([1, failures, errors]) {
                *sum = sum.saturating_add(more);
            }
        }
        let report = &mut self.report;
        report.failed = report.failed.saturating_add(number(failed.min(1)));
        report.errors = report.errors.saturating_add(number(errors));
        match (case.failures.is_empty(), case.skipped) {
            (true, true) => report.skipped = report.skipped.saturating_add(1),
            (true, false) => report.passed = report.passed.saturating_add(1),
            (false, _) => {}
        }
        for failure in case.failures {
            report.keep(failure);
        }
    }
}

/// An attribute, its references to characters resolved; an entity of its own is refused.
fn attribute(tag: &BytesStart<'_>, name: &str) -> Result<Option<String>, ReportError> {
    let found = tag.try_get_attribute(name).map_err(|problem| malformed(&problem.to_string()))?;
    let value = found.map(|found| found.normalized_value(XmlVersion::Implicit1_0)).transpose();
    value.map(|value| value.map(String::from)).map_err(|problem| malformed(&problem.to_string()))
}

fn failure(case: &Case, open: &Open) -> Failure {
    let text = open.text.trim();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = if lines.iter().any(|line| line.starts_with("E   ")) {
        pytest::of_body(&lines)
    } else if text.contains("❯ ") {
        vitest::of_body("", text)
    } else {
        traced(text)
    };
    if found.message.is_empty() {
        found.message = open.message.clone().unwrap_or_default();
    }
    if let Some(message) = &open.message {
        let (expected, actual) = (found.expected.take(), found.actual.take());
        (found.expected, found.actual) = expected.zip(actual).or_else(|| pair(message)).unzip();
    }
    let kind = open.kind.clone().filter(|kind| !kind.is_empty() && kind != "testCodeFailure");
    found.error = found.error.or(kind);
    let place = case.file.as_ref().map(|file| match &case.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    found.place = found.place.or(place);
    found.name.clone_from(&case.name);
    // Elsewhere than in pytest an error is a test that threw something.
    found.stage = match (open.is_error, open.message.as_deref().unwrap_or_default()) {
        (true, "collection failure") => Stage::Build,
        (true, message) if message.starts_with("failed on ") => Stage::Around,
        (true | false, _) => Stage::Test,
    };
    found
}

/// A message with a stack trace below it.
fn traced(text: &str) -> Failure {
    let ends = |line: &&str| ["at ", "code: '"].iter().any(|start| line.trim_start().starts_with(start));
    let head = text.lines().take_while(|line| !ends(line)).collect::<Vec<_>>().join("\n");
    // Node wraps every error in one of its own.
    let head = head.trim_start_matches('[');
    let head = head.strip_prefix("Error [ERR_TEST_FAILURE]: ").unwrap_or(head).trim_end();
    let head = head.strip_suffix("] {").unwrap_or(head);
    let Some(trace) = traces(text).into_iter().last() else {
        return Failure::new("", text);
    };
    let (expected, actual) = pair(text).unzip();
    let place = place_in(&trace.frames);
    Failure {
        place,
        error: trace.error,
        expected,
        actual,
        trace: trace.frames,
        ..Failure::new("", head.trim())
    }
}
