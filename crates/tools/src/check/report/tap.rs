//! The Test Anything Protocol: plan, points, subtests, YAML and comments below a point.

use std::collections::{HashMap, VecDeque};

use bowline_core::defect::{at_line, traces};
use bowline_core::quality::{Failure, Frame, Stage};

use super::bound::{BODY_MAX, append, located, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts, yaml};

const FORMAT: Format = Format::Tap;

/// Deepest nesting of subtests.
const DEPTH_MAX: usize = 32;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut walk = Walk::default();
    for line in texts.document().lines() {
        walk.take(line)?;
    }
    walk.flush();
    let mut diagnostics = Diagnostics::of(&texts.errors);
    let mut report = Report::new(FORMAT);
    for point in walk.points {
        count(point, &mut diagnostics, &mut report);
    }
    if let Some(why) = walk.bailed {
        report.errors = report.errors.saturating_add(1);
        report.keep(Failure { stage: Stage::Around, ..Failure::new("bail out", why) });
        return Ok(report);
    }
    match walk.plan {
        None if walk.version || walk.top > 0 => {
            return Err(ReportError::Cut { format: FORMAT, what: "there is no plan".to_owned() });
        }
        None => return Err(ReportError::Unrecognised { format: FORMAT }),
        Some(plan) if walk.top < plan => {
            let what = format!("{plan} tests were planned, {} are there", walk.top);
            return Err(ReportError::Cut { format: FORMAT, what });
        }
        Some(plan) if walk.top > plan => {
            let what = format!("{plan} tests were planned, {} are there", walk.top);
            return Err(ReportError::Contradicts { format: FORMAT, what });
        }
        Some(_) => {}
    }
    let bad = report.failed.saturating_add(report.errors);
    if let Some(said) = walk.summary_failed.filter(|said| (*said == 0) != (bad == 0)) {
        let what = format!("{bad} failures are listed, the summary says {said}");
        return Err(ReportError::Contradicts { format: FORMAT, what });
    }
    Ok(report)
}

/// One `ok` or `not ok`.
#[derive(Default)]
struct Point {
    ok: bool,
    name: String,
    depth: usize,
    /// Skipped, or expected to fail.
    excused: bool,
    is_group: bool,
    yaml: Vec<String>,
    comments: Vec<String>,
    preface: String,
}

#[derive(Default)]
struct Walk {
    points: Vec<Point>,
    /// The names of the subtests that are open, from the outermost.
    titles: Vec<String>,
    last: Option<Point>,
    /// True while lines belong to the YAML block of the last point.
    in_yaml: bool,
    size: usize,
    /// Comments since the last point: what a file printed before it failed.
    preface: String,
    deepest_done: usize,
    plan: Option<u32>,
    top: u32,
    version: bool,
    bailed: Option<String>,
    summary_failed: Option<u32>,
}

impl Walk {
    fn take(&mut self, line: &str) -> Result<(), ReportError> {
        let inside = line.trim_start_matches(' ');
        let depth = (line.len() - inside.len()) / 4;
        if self.in_yaml {
            if inside.trim_end() == "..." {
                self.in_yaml = false;
            } else {
                self.keep(line, true);
            }
        } else if inside.trim_end() == "---" && self.last.is_some() {
            self.in_yaml = true;
        } else if let Some(point) = point(inside) {
            if depth > DEPTH_MAX {
                let what = format!("subtests are nested deeper than {DEPTH_MAX}");
                return Err(ReportError::Malformed { format: FORMAT, what });
            }
            self.start(Point { depth, ..point });
        } else if let Some(comment) = inside.strip_prefix('#') {
            self.comment(comment, line, depth);
        } else if depth == 0 && inside.starts_with("TAP version ") {
            self.version = true;
        } else if let Some(plan) = plan(inside).filter(|_| depth == 0) {
            if self.plan.is_some_and(|before| before != plan) {
                return Err(ReportError::Contradicts {
                    format: FORMAT,
                    what: "there are two plans".to_owned(),
                });
            }
            self.plan = Some(plan);
        } else if let Some(why) = inside.strip_prefix("Bail out!") {
            self.bailed = Some(why.trim().to_owned());
        }
        Ok(())
    }

    fn comment(&mut self, comment: &str, line: &str, depth: usize) {
        if let Some(title) = comment.trim_start().strip_prefix("Subtest: ") {
            self.flush();
            self.titles.truncate(depth);
            self.titles.push(title.trim().replace("\\#", "#").replace("\\\\", "\\"));
        } else {
            let said = comment.trim().strip_prefix("fail ").and_then(|number| number.parse().ok());
            self.summary_failed = said.filter(|_| depth == 0).or(self.summary_failed);
            if depth == 0 {
                append(&mut self.preface, comment.strip_prefix(' ').unwrap_or(comment));
            }
            if !comment.trim_start().starts_with("Looks like you") {
                self.keep(line.trim_start(), false);
            }
        }
    }

    fn keep(&mut self, line: &str, is_yaml: bool) {
        let Some(last) = &mut self.last else { return };
        if self.size + line.len() <= BODY_MAX {
            self.size += line.len();
            let into = if is_yaml { &mut last.yaml } else { &mut last.comments };
            into.push(line.to_owned());
        }
    }

    fn start(&mut self, mut point: Point) {
        self.flush();
        if point.depth == 0 {
            self.top = self.top.saturating_add(1);
        }
        // A point after deeper ones sums them up.
        point.is_group = self.deepest_done > point.depth;
        self.deepest_done = point.depth;
        let outer = self.titles.iter().take(point.depth).map(String::as_str);
        let own = std::iter::once(point.name.as_str()).filter(|name| !name.is_empty());
        point.name = outer.chain(own).collect::<Vec<_>>().join(" > ");
        self.size = 0;
        point.preface = std::mem::take(&mut self.preface);
        self.last = Some(point);
    }

    fn flush(&mut self) {
        self.in_yaml = false;
        self.points.extend(self.last.take());
    }
}

/// `1..11`, with or without a reason for none.
fn plan(line: &str) -> Option<u32> {
    line.strip_prefix("1..")?.split(' ').next()?.parse().ok()
}

/// `not ok 3 - name # TODO why`.
fn point(line: &str) -> Option<Point> {
    let (ok, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with(' ') {
        return None;
    }
    let rest = rest.trim_start();
    let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (name, directive) = directive(rest);
    let excused = directive.is_some_and(|word| word == "SKIP" || (word == "TODO" && !ok));
    let name = name.trim().trim_end_matches('{').trim().replace("\\#", "#").replace("\\\\", "\\");
    Some(Point { ok, name, excused, ..Point::default() })
}

/// The description and the directive behind the last `#` that is not escaped.
fn directive(text: &str) -> (&str, Option<&'static str>) {
    for (at, _) in text.match_indices('#').rev() {
        let (before, after) = text.split_at(at);
        if before.ends_with('\\') {
            continue;
        }
        let word = after.trim_start_matches('#').trim_start();
        let is =
            |wanted: &str| word.get(..wanted.len()).is_some_and(|start| start.eq_ignore_ascii_case(wanted));
        return match (is("SKIP"), is("TODO")) {
            (true, _) => (before, Some("SKIP")),
            (_, true) => (before, Some("TODO")),
            (false, false) => (text, None),
        };
    }
    (text, None)
}

fn count(point: Point, diagnostics: &mut Diagnostics, report: &mut Report) {
    let said = diagnostics.of_point(&point);
    // Node counts a file without tests as one that passed.
    let is_node = point.yaml.iter().any(|line| line.trim_start().starts_with("duration_ms: "));
    let is_file = is_node && point.depth == 0 && point.name.starts_with('/') && !point.is_group;
    if point.is_group || (is_file && point.ok) {
        return;
    }
    if point.excused {
        report.skipped = report.skipped.saturating_add(1);
    } else if point.ok {
        report.passed = report.passed.saturating_add(1);
    } else {
        let mut failure = failure(&point, said);
        if is_file && let Some(trace) = traces(&point.preface).pop() {
            failure.place = place_in(&trace.frames).or(failure.place);
            failure.message = trace.message.unwrap_or(failure.message);
            (failure.error, failure.trace) = (trace.error, trace.frames);
        }
        let count = if is_file { &mut report.errors } else { &mut report.failed };
        *count = count.saturating_add(1);
        report.keep(Failure { stage: if is_file { Stage::Build } else { Stage::Test }, ..failure });
    }
}

fn failure(point: &Point, said: Option<String>) -> Failure {
    let name = if point.name.is_empty() { "a test without a name" } else { &point.name };
    let lines: Vec<&str> = point.yaml.iter().map(String::as_str).collect();
    let entries = yaml::entries(&lines);
    let value = |keys: &[&str]| {
        let found = entries.iter().find(|(key, _)| keys.contains(&key.as_str()));
        found.map(|(_, value)| value.trim_end().to_owned())
    };
    if entries.is_empty() {
        let own: Vec<&str> = point.comments.iter().map(|line| line.trim_start_matches('#')).collect();
        let text = Some(super::bound::dedented(&own)).filter(|text| !text.is_empty()).or(said);
        return commented(name, &text.unwrap_or_else(|| "failed".to_owned()));
    }
    let stack = value(&["stack"]).unwrap_or_default();
    let trace: Vec<Frame> = stack
        .lines()
        .filter_map(|line| at_line(line).or_else(|| at_line(&format!("at {}", line.trim()))))
        .map(|(_, frame)| frame)
        .collect();
    let message = value(&["error", "message"]).unwrap_or_else(|| "failed".to_owned());
    let told = value(&["location"]).map(|place| without_column(&place).to_owned());
    let at = value(&["file"]).zip(value(&["line"])).map(|(file, line)| format!("{file}:{line}"));
    let pairs = value(&["expected", "wanted"]).zip(value(&["actual", "found", "got"]));
    let (expected, actual) = pairs.or_else(|| pair(&message)).unzip();
    Failure {
        place: place_in(&trace).or(at).or(told),
        error: value(&["name", "type"]).filter(|name| name.ends_with("Error")),
        expected,
        actual,
        trace,
        ..Failure::new(name, message.trim())
    }
}

/// `Failed test 'adds'`, `at adds.t line 8.`, `got:` and `expected:`, as Perl says it.
fn commented(name: &str, text: &str) -> Failure {
    let place = text.lines().find_map(|line| {
        let (_, rest) = line.split_once("at ")?;
        let (file, line) = rest.rsplit_once(" line ")?;
        let line: u32 = line.trim_end_matches('.').parse().ok()?;
        Some((file.to_owned(), line))
    });
    let (expected, actual) = pair(text).unzip();
    Failure { expected, actual, ..located(Failure::new(name, text), place) }
}

fn without_column(place: &str) -> &str {
    match place.rsplit_once(':') {
        Some((before, _)) if before.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok()) => {
            before
        }
        Some(_) | None => place,
    }
}

/// What Perl's tests say on the error stream, by the name of the test.
#[derive(Default)]
struct Diagnostics {
    by_name: HashMap<String, VecDeque<String>>,
}

impl Diagnostics {
    fn of(errors: &str) -> Self {
        let mut found = Self::default();
        let mut open: Option<(String, Vec<&str>)> = None;
        for line in errors.lines() {
            let Some(said) = line.trim_start().strip_prefix('#') else { continue };
            if let Some(name) = said.trim_start().strip_prefix("Failed test") {
                found.close(open.take());
                let name = name.trim().strip_prefix('\'').and_then(|name| name.strip_suffix('\''));
                open = Some((name.unwrap_or_default().to_owned(), vec![said]));
            } else if said.trim_start().starts_with("Looks like you") {
                found.close(open.take());
            } else if let Some((_, lines)) = &mut open {
                lines.push(said);
            }
        }
        found.close(open);
        found
    }

    fn close(&mut self, block: Option<(String, Vec<&str>)>) {
        if let Some((name, lines)) = block {
            self.by_name.entry(name).or_default().push_back(super::bound::dedented(&lines));
        }
    }

    /// The next block of a test that failed.
    fn of_point(&mut self, point: &Point) -> Option<String> {
        if point.ok || point.excused {
            return None;
        }
        let own = point.name.rsplit(" > ").next().unwrap_or_default();
        self.by_name.get_mut(own)?.pop_front()
    }
}
