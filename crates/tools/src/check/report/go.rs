//! `go test`, with and without `-v`: results of tests, then one line a package.

use std::collections::HashMap;

use bowline_core::defect::traces;
use bowline_core::quality::{Failure, Frame, Stage};

use super::bound::{append, dedented, located, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts};

const FORMAT: Format = Format::GoTest;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut report = Report::new(FORMAT);
    let verbose = texts.output.lines().any(|line| line.starts_with("=== RUN   "));
    report.at_least = !verbose;
    let mut package = Package::default();
    let mut ended = 0_u32;
    for line in texts.output.lines() {
        // A package that is ok has neither failed tests nor open ones: then a test printed this line.
        let end = package_end(line).filter(|end| !matches!(end, End::Good { .. }) || package.may_be_good());
        let Some(end) = end else {
            package.take(line, verbose);
            continue;
        };
        ended = ended.saturating_add(1);
        let whole = std::mem::take(&mut package);
        match end {
            End::Good { nothing: true } | End::NoTests => {}
            End::Good { nothing: false } => {
                // One package that is ok has tested something, nobody knows how much.
                report.passed = report.passed.saturating_add(u32::from(!verbose));
                whole.count("", &mut report);
            }
            End::Failed(name) => whole.close_failed(name, &mut report),
            End::NotBuilt(name) => not_built(name, texts.lines(), &mut report),
        }
    }
    // The rest of this line might be `[no tests to run]`.
    let last = texts.output.lines().next_back().and_then(package_end);
    if matches!(last, Some(End::Good { .. })) && !texts.output.ends_with('\n') {
        return Err(ReportError::Cut { format: FORMAT, what: "the last line is not whole".to_owned() });
    }
    match (ended, package.tests.is_empty()) {
        (0, true) => return Err(ReportError::Unrecognised { format: FORMAT }),
        (_, false) => {
            let what = "tests without the line of their package".to_owned();
            return Err(ReportError::Cut { format: FORMAT, what });
        }
        (1.., true) => {}
    }
    Ok(report)
}

/// How a package ended.
enum End<'a> {
    Good { nothing: bool },
    Failed(&'a str),
    NotBuilt(&'a str),
    NoTests,
}

fn package_end(line: &str) -> Option<End<'_>> {
    if line.starts_with("?   \t") {
        return Some(End::NoTests);
    }
    if let Some(rest) = line.strip_prefix("ok  \t") {
        rest.split_once('\t')?;
        return Some(End::Good {
            nothing: rest.contains("[no tests to run]") || rest.contains("[no test files]"),
        });
    }
    let rest = line.strip_prefix("FAIL\t")?;
    match rest.split_once(" [") {
        Some((name, why)) if why.ends_with("failed]") => Some(End::NotBuilt(name)),
        Some(_) | None => Some(End::Failed(rest.split_once('\t')?.0)),
    }
}

/// How a test ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

/// The tests of one package.
#[derive(Default)]
pub(super) struct Package {
    pub(super) tests: Vec<Test>,
    index: HashMap<String, usize>,
    current: Option<usize>,
    panicked: bool,
    /// What nobody's test printed, and everything while none was open.
    pub(super) aside: String,
}

pub(super) struct Test {
    name: String,
    pub(super) verdict: Option<Verdict>,
    printed: String,
    has_children: bool,
}

impl Package {
    fn take(&mut self, line: &str, verbose: bool) {
        for start in ["=== RUN   ", "=== CONT  ", "=== NAME  ", "=== PAUSE "] {
            if let Some(name) = line.strip_prefix(start) {
                self.current = (!name.is_empty()).then(|| self.test(name));
                return;
            }
        }
        // Without `-v` the tool never says that a test passed.
        // With it every test was announced before; other names were printed by a test.
        let known = |name: &str| if verbose { self.index.contains_key(name) } else { true };
        let result =
            result(line).filter(|(verdict, name)| known(name) && (verbose || *verdict != Verdict::Passed));
        if let Some((verdict, name)) = result {
            let at = self.test(name);
            self.current = Some(at);
            self.judge(at, verdict);
            return;
        }
        if line == "FAIL" || line == "PASS" || line.starts_with("exit status ") {
            return;
        }
        // Without `-v` what a test said is indented below its name; a panic is not, and ends everything.
        self.panicked |= line.starts_with("panic: ") || line.starts_with("fatal error: ");
        let belongs = verbose || self.panicked || line.starts_with("    ");
        let test = self.current.filter(|_| belongs).and_then(|at| self.tests.get_mut(at));
        append(test.map_or(&mut self.aside, |test| &mut test.printed), line);
    }

    pub(super) fn print(&mut self, at: usize, text: &str) {
        if let Some(test) = self.tests.get_mut(at) {
            append(&mut test.printed, text.trim_end_matches('\n'));
        }
    }

    pub(super) fn judge(&mut self, at: usize, verdict: Verdict) {
        if let Some(test) = self.tests.get_mut(at) {
            test.verdict = Some(verdict);
        }
    }

    /// The test of this name, if it was announced.
    pub(super) fn known(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// The test of this name, now known; its parent is a group from here on.
    pub(super) fn test(&mut self, name: &str) -> usize {
        if let Some(at) = self.index.get(name) {
            return *at;
        }
        let parent = name.rsplit_once('/').and_then(|(parent, _)| self.index.get(parent));
        if let Some(parent) = parent.and_then(|at| self.tests.get_mut(*at)) {
            parent.has_children = true;
        }
        let at = self.tests.len();
        self.index.insert(name.to_owned(), at);
        let (name, printed) = (name.to_owned(), String::new());
        self.tests.push(Test { name, verdict: None, printed, has_children: false });
        at
    }

    fn may_be_good(&self) -> bool {
        self.tests.iter().all(|test| test.verdict.is_some_and(|verdict| verdict != Verdict::Failed))
    }

    fn close_failed(self, name: &str, report: &mut Report) {
        let aside = self.aside.clone();
        if self.count(name, report) {
            return;
        }
        report.errors = report.errors.saturating_add(1);
        let mut failure = of_output(name, &aside);
        failure.stage = Stage::Around;
        if failure.message.is_empty() {
            failure.message = "the package failed without a failed test".to_owned();
        }
        report.keep(failure);
    }

    /// Adds the tests to the report. Says whether any failed.
    pub(super) fn count(self, package: &str, report: &mut Report) -> bool {
        let mut any = false;
        for test in self.tests {
            let own = test.printed.lines().any(|line| !line.trim().is_empty() && !line.starts_with("=== "));
            match test.verdict {
                Some(Verdict::Passed) if !test.has_children => {
                    report.passed = report.passed.saturating_add(1)
                }
                Some(Verdict::Skipped) => report.skipped = report.skipped.saturating_add(1),
                Some(Verdict::Failed) => {
                    any = true;
                    if test.has_children && !own {
                        continue;
                    }
                    report.failed = report.failed.saturating_add(1);
                    let dot = if package.is_empty() { "" } else { "." };
                    report.keep(of_output(&format!("{package}{dot}{}", test.name), &test.printed));
                }
                Some(Verdict::Passed) | None => {}
            }
        }
        any
    }
}

/// `    --- FAIL: TestTable/in_2 (0.00s)`.
fn result(line: &str) -> Option<(Verdict, &str)> {
    let rest = line.trim_start_matches(' ').strip_prefix("--- ")?;
    let (word, rest) = rest.split_once(": ")?;
    let (name, time) = rest.rsplit_once(" (")?;
    time.strip_suffix("s)")?.parse::<f64>().ok()?;
    let verdict = match word {
        "PASS" => Verdict::Passed,
        "FAIL" => Verdict::Failed,
        "SKIP" => Verdict::Skipped,
        _ => return None,
    };
    Some((verdict, name))
}

/// A failure out of what its test printed.
fn of_output(name: &str, printed: &str) -> Failure {
    let lines: Vec<&str> = printed.lines().filter(|line| !line.starts_with("=== ")).collect();
    if let Some(trace) = traces(printed).into_iter().next() {
        let place = place_in(&trace.frames);
        let said = trace.message.unwrap_or_default();
        return Failure { place, error: trace.error, trace: trace.frames, ..Failure::new(name, said) };
    }
    // What the test said begins with its place; what it printed otherwise stands before.
    let from = lines.iter().position(|line| logged(line).is_some()).unwrap_or(0);
    let said = dedented(lines.get(from..).unwrap_or_default());
    let message = if said.trim().is_empty() { "failed without a word".to_owned() } else { said };
    let place = message.lines().find_map(logged).map(|(file, line, _)| (file.to_owned(), line));
    let (expected, actual) =
        message.lines().find_map(|line| pair(logged(line).map_or(line, |found| found.2))).unzip();
    Failure { expected, actual, ..located(Failure::new(name, message), place) }
}

/// `    shop_test.go:10: message`.
fn logged(line: &str) -> Option<(&str, u32, &str)> {
    let (file, rest) = line.trim_start().split_once(':')?;
    let (number, said) = rest.split_once(':')?;
    let number = number.parse().ok()?;
    file.ends_with(".go").then(|| (file, number, said.trim_start()))
}

/// What the compiler said of a package: lines below `# package`.
pub(super) fn not_built<'a>(package: &str, lines: impl Iterator<Item = &'a str>, report: &mut Report) {
    let mut inside = false;
    let before = report.errors;
    for line in lines {
        if let Some(header) = line.strip_prefix("# ") {
            inside = header.split(' ').next() == Some(package);
        } else if inside {
            let Some((file, number, said)) = logged(line) else { continue };
            let said = said
                .split_once(": ")
                .filter(|(column, _)| column.parse::<u32>().is_ok())
                .map_or(said, |p| p.1);
            let trace = vec![Frame { file: file.to_owned(), line: Some(number), function: None }];
            report.errors = report.errors.saturating_add(1);
            let place = Some(format!("{file}:{number}"));
            report.keep(Failure { stage: Stage::Build, place, trace, ..Failure::new(package, said) });
        }
    }
    if report.errors == before {
        report.errors = report.errors.saturating_add(1);
        report.keep(Failure { stage: Stage::Build, ..Failure::new(package, "it could not be built") });
    }
}
