//! pytest on a terminal: every traceback style, `-v` and `-q`.

use std::collections::{HashMap, VecDeque};

use bowline_core::defect::traces;
use bowline_core::quality::{Failure, Frame, Stage};

use super::bound::{counted, dedented, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::Pytest;

/// What the last line says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Said {
    failed: u32,
    passed: u32,
    skipped: u32,
    errors: u32,
    others: u32,
}

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let lines: Vec<&str> = texts.lines().collect();
    let Some(said) = lines.iter().rev().find_map(|line| summary(line)) else {
        return Err(match lines.iter().any(|line| line.contains("= test session starts =")) {
            true => ReportError::Cut { format: FORMAT, what: "there is no summary line".to_owned() },
            false => ReportError::Unrecognised { format: FORMAT },
        });
    };
    let mut report = Report::new(FORMAT);
    (report.passed, report.failed) = (said.passed, said.failed);
    (report.skipped, report.errors) = (said.skipped, said.errors);
    let sections = Sections::of(&lines);
    for failure in sections.failures() {
        report.keep(failure);
    }
    agree(&lines, said, &mut report)?;
    Ok(report)
}

/// `== 1 failed, 2 passed in 0.10s ==`, with or without the bars.
pub(super) fn summary(line: &str) -> Option<Said> {
    let (counts, time) = line.trim().trim_matches('=').trim().rsplit_once(" in ")?;
    let seconds = time.split(' ').next()?.strip_suffix('s')?;
    seconds.parse::<f64>().ok()?;
    let mut said = Said::default();
    if counts == "no tests ran" {
        return Some(said);
    }
    for part in counts.split(", ") {
        let (number, word) = counted(part)?;
        match word {
            "failed" => said.failed = number,
            "passed" | "xpassed" => said.passed = said.passed.saturating_add(number),
            "skipped" | "xfailed" => said.skipped = said.skipped.saturating_add(number),
            "error" | "errors" => said.errors = number,
            "warning" | "warnings" | "deselected" | "rerun" | "reruns" => said.others = number,
            _ if word.starts_with("subtest") => said.others = number,
            _ => return None,
        }
    }
    Some(said)
}

/// Counts that cannot all be true are an error.
fn agree(lines: &[&str], said: Said, report: &mut Report) -> Result<(), ReportError> {
    let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
    let bad = said.failed.saturating_add(said.errors);
    let listed = report.listed();
    if listed > 0 && listed != bad {
        return contradiction(format!("{listed} failures are listed, the summary says {bad}"));
    }
    if let Some(collected) = lines.iter().find_map(|line| collected(line)) {
        let stopped = |line: &&str| line.starts_with('!') && line.ends_with('!');
        let ended = said.passed.saturating_add(said.failed).saturating_add(said.skipped);
        let most = ended.saturating_add(said.errors);
        let early = lines.iter().any(stopped);
        if ended > collected || (most < collected && !early) {
            return contradiction(format!("{collected} tests were collected, the summary has {most}"));
        }
    }
    if listed == 0 && bad > 0 {
        report.keep(Failure::new("pytest", format!("{bad} failed, and the output does not name them")));
    }
    Ok(())
}

/// `collected 14 items / 2 errors / 3 deselected / 11 selected`.
fn collected(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("collected ").or_else(|| line.strip_prefix("collecting ... collected "))?;
    let selected = rest.split(" / ").find_map(|part| part.strip_suffix(" selected"));
    selected.or_else(|| rest.split(' ').next())?.parse().ok()
}

/// The parts of the output that speak of failures.
#[derive(Default)]
struct Sections<'a> {
    /// Header and lines of each traceback.
    bodies: Vec<(&'a str, &'a [&'a str])>,
    /// Lines of `FAILURES` where tracebacks have one line each.
    loose: &'a [&'a str],
    /// Test and message of each line of the short summary.
    short: Vec<(&'a str, &'a str, bool)>,
}

impl<'a> Sections<'a> {
    fn of(lines: &'a [&'a str]) -> Self {
        let mut sections = Self::default();
        let mut start: Option<(Section, usize)> = None;
        for (at, line) in lines.iter().enumerate() {
            let next = section(line);
            // The summary line ends the last section; a test may print one, so only the last counts.
            if next.is_none() {
                continue;
            }
            sections.take(start.take(), lines, at);
            start = next.map(|next| (next, at + 1));
        }
        sections.take(start, lines, lines.len());
        sections
    }

    fn take(&mut self, start: Option<(Section, usize)>, lines: &'a [&'a str], end: usize) {
        let Some((section, from)) = start else { return };
        let inside = lines.get(from..end).unwrap_or_default();
        match section {
            Section::Tracebacks => self.take_bodies(inside),
            Section::Short => self.take_short(inside),
            Section::Other => {}
        }
    }

    fn take_bodies(&mut self, inside: &'a [&'a str]) {
        let heads: Vec<(usize, &str)> =
            inside.iter().enumerate().filter_map(|(at, line)| Some((at, header(line)?))).collect();
        if heads.is_empty() {
            self.loose = inside;
        }
        for (number, (at, name)) in heads.iter().enumerate() {
            let end = heads.get(number + 1).map_or(inside.len(), |(next, _)| *next);
            self.bodies.push((name, inside.get(at + 1..end).unwrap_or_default()));
        }
    }

    fn take_short(&mut self, inside: &'a [&'a str]) {
        for line in inside {
            let failed = line.strip_prefix("FAILED ").map(|rest| (rest, false));
            let Some((rest, is_error)) = failed.or_else(|| Some((line.strip_prefix("ERROR ")?, true))) else {
                continue;
            };
            let (node, message) = rest.split_once(" - ").unwrap_or((rest, ""));
            self.short.push((node, message, is_error));
        }
    }

    fn failures(&self) -> Vec<Failure> {
        let failed = self.short.iter().filter(|(_, _, is_error)| !is_error).count();
        if self.bodies.is_empty() || (!self.loose.is_empty() && self.bodies.len() < self.short.len()) {
            return self.brief(failed);
        }
        let mut nodes = self.nodes();
        self.bodies.iter().map(|(header, body)| failure(header, body, &mut nodes)).collect()
    }

    /// Tests by the name that headers use.
    fn nodes(&self) -> HashMap<String, VecDeque<&'a str>> {
        let mut nodes: HashMap<String, VecDeque<&str>> = HashMap::new();
        for (node, _, _) in &self.short {
            let inner = node.split_once("::").map_or(*node, |(_, inner)| inner);
            nodes.entry(inner.replace("::", ".")).or_default().push_back(node);
        }
        nodes
    }

    /// Without tracebacks the short summary is all there is; `--tb=line` adds places.
    fn brief(&self, failed: usize) -> Vec<Failure> {
        let places: Vec<Frame> =
            self.loose.iter().filter_map(|line| location(line)).map(|(f, _)| f).collect();
        let mut places = if places.len() == failed { places } else { Vec::new() }.into_iter();
        let mut failures = Vec::new();
        for (node, message, is_error) in &self.short {
            let frame = if *is_error { None } else { places.next() };
            let said = if message.is_empty() { "failed" } else { message };
            let mut failure = Failure::new(*node, said).at(frame.as_ref().map(super::bound::place_of));
            failure.stage = match (is_error, node.contains("::")) {
                (false, _) => Stage::Test,
                (true, true) => Stage::Around,
                (true, false) => Stage::Build,
            };
            failure.trace = frame.into_iter().collect();
            failure.error = error_of(message);
            (failure.expected, failure.actual) = pair(message).unzip();
            failures.push(failure);
        }
        failures
    }
}

#[derive(Clone, Copy)]
enum Section {
    Tracebacks,
    Short,
    Other,
}

/// A bar that begins a section.
fn section(line: &str) -> Option<Section> {
    let name = line.strip_prefix('=')?.trim_start_matches('=').strip_prefix(' ')?;
    let name = name.trim_end_matches('=').strip_suffix(' ')?;
    match name {
        "FAILURES" | "ERRORS" => Some(Section::Tracebacks),
        "short test summary info" => Some(Section::Short),
        "PASSES" | "XFAILURES" | "XPASSES" | "warnings summary" | "test session starts" => {
            Some(Section::Other)
        }
        _ => None,
    }
}

/// `____ name ____`, but not the `_ _ _` between frames.
fn header(line: &str) -> Option<&str> {
    let name = line.strip_prefix('_')?.trim_start_matches('_').strip_prefix(' ')?;
    let name = name.trim_end_matches('_').strip_suffix(' ')?;
    (!name.is_empty() && !name.starts_with("_ ")).then_some(name)
}

fn failure(header: &str, body: &[&str], nodes: &mut HashMap<String, VecDeque<&str>>) -> Failure {
    let around = ["ERROR at setup of ", "ERROR at teardown of "];
    let (name, stage) = if let Some(name) = around.iter().find_map(|start| header.strip_prefix(start)) {
        (name, Stage::Around)
    } else if let Some(name) = header.strip_prefix("ERROR collecting ") {
        (name, Stage::Build)
    } else {
        (header, Stage::Test)
    };
    let node = nodes.get_mut(name).and_then(VecDeque::pop_front).unwrap_or(name);
    Failure { name: node.to_owned(), stage, ..of_body(body) }
}

/// A failure out of the lines of its traceback, in any style but `line`.
pub(super) fn of_body(body: &[&str]) -> Failure {
    let captured = |line: &&str| line.starts_with("-----") && line.contains(" Captured ");
    let end = body.iter().position(captured).unwrap_or(body.len());
    let body = body.get(..end).unwrap_or_default();
    let said: Vec<&str> = body
        .iter()
        .filter_map(|line| line.strip_prefix('E'))
        .filter(|rest| rest.is_empty() || rest.starts_with("  "))
        .collect();
    if said.is_empty()
        && let Some(trace) = traces(&body.join("\n")).pop()
    {
        return native(&trace);
    }
    let message = dedented(&said);
    let (trace, named) = frames(body);
    let error = error_of(&message).or(named).or_else(|| message.lines().rev().find_map(error_of));
    let (expected, actual) = pair(&message).unzip();
    let place = syntax_error(&message).or_else(|| place_in(&trace));
    Failure { message, place, error, expected, actual, trace, ..Failure::default() }
}

/// `--tb=native`, as Python itself prints it.
fn native(trace: &bowline_core::defect::Trace) -> Failure {
    let error = trace.error.clone().unwrap_or_default();
    let message = trace.message.as_ref().map_or(error.clone(), |message| format!("{error}: {message}"));
    let (expected, actual) = pair(&message).unzip();
    let place = place_in(&trace.frames);
    let trace_frames = trace.frames.clone();
    Failure {
        message,
        place,
        error: trace.error.clone(),
        expected,
        actual,
        trace: trace_frames,
        ..Failure::default()
    }
}

/// Frames, innermost first, and the error the last one names.
fn frames(body: &[&str]) -> (Vec<Frame>, Option<String>) {
    let mut frames = VecDeque::new();
    let (mut function, mut error) = (None, None);
    for line in body {
        if let Some(name) = line.trim_start().strip_prefix("def ") {
            function = name.split('(').next().map(str::to_owned);
        }
        let Some((mut frame, rest)) = location(line) else { continue };
        match rest.strip_prefix("in ") {
            Some(name) => frame.function = Some(name.to_owned()),
            None => {
                frame.function = function.take();
                error = error_of(rest).or(error);
            }
        }
        frames.push_front(frame);
    }
    (frames.into(), error)
}

/// `cart.py:6: ZeroDivisionError`, `cart.py:6: in average`, `cart.py:6: `.
fn location(line: &str) -> Option<(Frame, &str)> {
    if line.starts_with([' ', '>', 'E']) && !line.starts_with("E:") {
        return None;
    }
    let (place, rest) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|place| (place, "")))?;
    let (file, number) = place.rsplit_once(':')?;
    let number = number.parse().ok()?;
    Some((Frame { file: file.to_owned(), line: Some(number), function: None }, rest.trim_end()))
}

/// The type at the start of `ValueError: …`; a bare `assert` has one too.
fn error_of(message: &str) -> Option<String> {
    let first = message.lines().next()?.trim();
    if first.starts_with("assert ") {
        return Some("AssertionError".to_owned());
    }
    let name = first.split_once(": ").map_or(first, |(name, _)| name);
    let fits = |letter: char| letter.is_alphanumeric() || "._".contains(letter);
    let is_type = name.starts_with(char::is_alphabetic) && name.chars().all(fits);
    let last = name.rsplit('.').next().unwrap_or(name);
    (is_type && last.starts_with(char::is_uppercase)).then(|| name.to_owned())
}

/// A file that does not parse is named in the message itself.
fn syntax_error(message: &str) -> Option<String> {
    let rest = message.lines().find_map(|line| line.trim_start().strip_prefix("File \""))?;
    let (file, line) = rest.split_once("\", line ")?;
    let line: u32 = line.trim().parse().ok()?;
    Some(format!("{file}:{line}"))
}
