//! `cargo test`: one group of results a target, each with a verdict of its own.

use bowline_core::defect::traces;
use bowline_core::quality::{Failure, Stage};

use super::bound::{append, counted, place_in};
use super::expected::pair;
use super::{Format, Report, ReportError, Texts, rustc};

const FORMAT: Format = Format::CargoTest;

pub(super) fn read(texts: &Texts<'_>) -> Result<Report, ReportError> {
    let mut report = Report::new(FORMAT);
    let mut group: Option<Group> = None;
    let mut groups = 0_u32;
    for line in texts.output.lines() {
        if let Some(open) = &mut group {
            if open.take(line)? == Open::No {
                groups = groups.saturating_add(1);
                group.take().map(|group| group.close(&mut report)).transpose()?;
            }
        } else if let Some(announced) = announced(line) {
            group = Some(Group { announced, ..Group::default() });
        }
    }
    let crashed: Vec<Failure> = crashes(texts).collect();
    if let Some(open) = group {
        if crashed.is_empty() {
            let what = format!("a group of {} tests has no result", open.announced);
            return Err(ReportError::Cut { format: FORMAT, what });
        }
        open.into_partial(&mut report);
        groups = groups.saturating_add(1);
    }
    for failure in rustc::errors(texts.lines()).into_iter().chain(crashed) {
        report.errors = report.errors.saturating_add(1);
        report.keep(failure);
    }
    finished(texts, groups, &report)?;
    Ok(report)
}

/// Every target that was started has to have a verdict.
fn finished(texts: &Texts<'_>, groups: u32, report: &Report) -> Result<(), ReportError> {
    let is_start = |line: &&str| line.starts_with("     Running ") || line.starts_with("   Doc-tests ");
    let started = u32::try_from(texts.errors.lines().filter(is_start).count()).unwrap_or(u32::MAX);
    if groups == 0 && report.errors == 0 {
        let compiling = |line: &str| line.trim_start().starts_with("Compiling ") || is_start(&line);
        return Err(match texts.lines().any(compiling) {
            true => ReportError::Cut { format: FORMAT, what: "no target has a result".to_owned() },
            false => ReportError::Unrecognised { format: FORMAT },
        });
    }
    // A target may have a harness of its own; then only a good exit code vouches for it.
    if started > groups && texts.exit != Some(0) && report.errors == 0 {
        let what = format!("{started} targets were started, {groups} have a result");
        return Err(ReportError::Cut { format: FORMAT, what });
    }
    Ok(())
}

/// `running 3 tests`.
fn announced(line: &str) -> Option<u32> {
    let rest = line.strip_prefix("running ")?;
    let number = rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test"))?;
    number.parse().ok()
}

/// A test process that was killed has no verdict: cargo says how it ended.
fn crashes<'a>(texts: &'a Texts<'_>) -> impl Iterator<Item = Failure> + 'a {
    let said = |line: &'a str| line.trim_start().strip_prefix("process didn't exit successfully: ");
    let by_signal = |said: &&str| said.contains("(signal: ") || said.contains("(exit code: 0xc");
    texts.lines().filter_map(said).filter(by_signal).map(|said| Failure {
        stage: Stage::Around,
        ..Failure::new("the test process", format!("it did not end by itself: {said}"))
    })
}

#[derive(PartialEq, Eq)]
enum Open {
    Yes,
    No,
}

#[derive(Default, PartialEq, Eq, Clone, Copy)]
enum Part {
    #[default]
    Results,
    Details,
    Names,
}

/// The results of one target.
#[derive(Default)]
struct Group {
    announced: u32,
    part: Part,
    passed: u32,
    failed: Vec<String>,
    ignored: u32,
    blocks: Vec<(String, String)>,
    said: Option<[u32; 4]>,
}

impl Group {
    fn take(&mut self, line: &str) -> Result<Open, ReportError> {
        match self.part {
            Part::Results => {
                if line == "failures:" {
                    self.part = Part::Details;
                } else if let Some((name, result)) = result(line) {
                    self.count(name, result);
                } else if announced(line).is_some() {
                    let what = "a group of tests begins inside another".to_owned();
                    return Err(ReportError::Cut { format: FORMAT, what });
                }
            }
            Part::Details => {
                let header = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
                let named = header.and_then(|header| header.rsplit_once(" std")).map(|(name, _)| name);
                if let Some(name) = named {
                    self.blocks.push((name.to_owned(), String::new()));
                } else if line == "failures:" {
                    self.part = Part::Names;
                } else if let Some((_, body)) = self.blocks.last_mut() {
                    append(body, line);
                }
                return Ok(Open::Yes);
            }
            Part::Names => {}
        }
        let Some(said) = verdict(line) else { return Ok(Open::Yes) };
        // In the details this line belongs to a test; here it is the tool's.
        self.said = Some(said);
        Ok(Open::No)
    }

    fn count(&mut self, name: &str, result: &str) {
        if result == "ok" {
            self.passed = self.passed.saturating_add(1);
        } else if result == "FAILED" || result.starts_with("FAILED ") {
            self.failed.push(name.strip_suffix(" - should panic").unwrap_or(name).to_owned());
        } else if result.starts_with("ignored") {
            self.ignored = self.ignored.saturating_add(1);
        }
    }

    /// Adds a whole group to the report, if its counts agree.
    fn close(self, report: &mut Report) -> Result<(), ReportError> {
        let [passed, failed, ignored, measured] = self.said.unwrap_or_default();
        let listed = u32::try_from(self.failed.len()).unwrap_or(u32::MAX);
        let sum = passed.saturating_add(failed).saturating_add(ignored).saturating_add(measured);
        let contradiction = |what: String| Err(ReportError::Contradicts { format: FORMAT, what });
        if sum != self.announced {
            return contradiction(format!("{} tests were announced, the result has {sum}", self.announced));
        }
        if listed > failed || self.passed > passed || self.ignored > ignored {
            return contradiction(format!("{listed} failures are listed, the result says {failed}"));
        }
        report.passed = report.passed.saturating_add(passed).saturating_add(measured);
        report.failed = report.failed.saturating_add(failed);
        report.skipped = report.skipped.saturating_add(ignored);
        let unseen = usize::try_from(failed).unwrap_or(usize::MAX).saturating_sub(self.blocks.len());
        let missing: Vec<String> = match unseen {
            0 => Vec::new(),
            _ => self
                .failed
                .iter()
                .filter(|name| !self.blocks.iter().any(|(seen, _)| seen == *name))
                .cloned()
                .collect(),
        };
        for (name, body) in &self.blocks {
            report.keep(failure(name, body));
        }
        for name in missing {
            report.keep(Failure::new(name, "failed"));
        }
        Ok(())
    }

    /// What is known of a group whose process was killed.
    fn into_partial(self, report: &mut Report) {
        report.passed = report.passed.saturating_add(self.passed);
        report.skipped = report.skipped.saturating_add(self.ignored);
        for name in self.failed {
            report.failed = report.failed.saturating_add(1);
            report.keep(Failure::new(name, "failed"));
        }
    }
}

/// `test name ... ok`.
fn result(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.rsplit_once(" ... ")
}

/// `test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`.
fn verdict(line: &str) -> Option<[u32; 4]> {
    let rest = line.strip_prefix("test result: ")?;
    let rest = rest.strip_prefix("ok. ").or_else(|| rest.strip_prefix("FAILED. "))?;
    let mut counts = [None; 5];
    let words = ["passed", "failed", "ignored", "measured", "filtered out"];
    for part in rest.split("; ") {
        let Some((number, word)) = counted(part) else { continue };
        let slot = words.iter().position(|known| *known == word).and_then(|at| counts.get_mut(at));
        if let Some(slot) = slot {
            *slot = Some(number);
        }
    }
    let [passed, failed, ignored, measured, filtered] = counts;
    filtered?;
    Some([passed?, failed?, ignored?, measured?])
}

/// A failure out of what its test printed.
pub(super) fn failure(name: &str, body: &str) -> Failure {
    let noted =
        body.lines().find_map(|line| line.trim_start().strip_prefix("note: test did not panic as expected"));
    if let Some(rest) = noted {
        let place =
            rest.strip_prefix(" at ").and_then(|at| at.rsplit_once(':')).map(|(place, _)| place.to_owned());
        return Failure::new(name, "test did not panic as expected").at(place);
    }
    let (expected, actual) = pair(body).unzip();
    let Some(trace) = traces(body).pop() else {
        let said = body.lines().find_map(|line| line.trim_start().strip_prefix("Error: "));
        let message = said.map_or_else(|| body.trim().to_owned(), |said| format!("Error: {said}"));
        return Failure { expected, actual, ..Failure::new(name, message) };
    };
    let mut message = trace.message.unwrap_or_default();
    if let Some(at) = body.find("note: panic did not contain expected string") {
        let note = body.get(at..).unwrap_or_default().lines().take(3).collect::<Vec<_>>().join("\n");
        message = format!("{message}\n{note}");
    }
    let place = place_in(&trace.frames);
    Failure {
        place,
        error: trace.error,
        expected,
        actual,
        trace: trace.frames,
        ..Failure::new(name, message.trim())
    }
}
