//! Traces whose frames begin with `at`: Node, Java and .NET.

use super::{Frames, Language, Lines, Trace, capped, error_and_message, place};
use crate::quality::Frame;

/// A frame of the `at` kind, and whose it is.
#[must_use]
pub fn at_line(line: &str) -> Option<(Language, Frame)> {
    let rest = line.trim_start().strip_prefix("at ")?.trim_end();
    dot_net(rest).or_else(|| java(rest)).or_else(|| node(rest))
}

/// A line that may announce a trace.
pub(super) fn header(line: &str) -> Option<&str> {
    let line = line.trim();
    let line = line.strip_prefix("Uncaught ").unwrap_or(line);
    let line = line.strip_prefix("Unhandled exception. ").unwrap_or(line);
    let causes = ["Caused by: ", "cause: ", "[cause]: "];
    let line = causes.iter().find_map(|start| line.strip_prefix(start)).unwrap_or(line);
    let line = match line.strip_prefix("Exception in thread \"") {
        Some(rest) => rest.split_once("\" ")?.1,
        None => line,
    };
    let (name, _) = error_and_message(line)?;
    let last = name.rsplit('.').next()?;
    let is_error = ["Error", "Exception", "Failure", "Failed"].iter().any(|word| last.ends_with(word));
    (is_error || (name.contains('.') && line.contains(": "))).then_some(line)
}

pub(super) fn read(header: Option<&str>, first: &str, lines: &mut Lines<'_>) -> Option<Trace> {
    let (language, innermost) = at_line(first)?;
    let mut frames = Frames::default();
    frames.push(innermost);
    loop {
        if let Some((_, frame)) = lines.peek().and_then(at_line) {
            frames.push(frame);
        } else if !lines.peek().is_some_and(is_between) {
            break;
        }
        lines.next();
    }
    let (error, message) = header.and_then(error_and_message).unzip();
    Some(Trace {
        language,
        error: error.map(str::to_owned),
        message: message.filter(|message| !message.is_empty()).map(capped),
        frames: frames.kept,
        left_out: frames.left_out,
    })
}

/// Lines that stand between frames of one trace.
fn is_between(line: &str) -> bool {
    let line = line.trim();
    line.starts_with("--- End of ")
        || line.starts_with("... ") && line.ends_with(" more")
        || line.starts_with("at ") && line.contains("<anonymous>")
}

/// `Ns.Type.Method(args) in /src/File.cs:line 12`.
fn dot_net(rest: &str) -> Option<(Language, Frame)> {
    let (function, at) = rest.split_once(") in ")?;
    let (file, line) = at.rsplit_once(":line ")?;
    let function = function.split('(').next().unwrap_or(function);
    Some((Language::DotNet, frame(file, line.trim().parse().ok(), Some(function))))
}

/// `pkg.Type.method(File.java:12)`, also of Kotlin, Scala and Groovy; `(Native Method)`.
fn java(rest: &str) -> Option<(Language, Frame)> {
    let (function, inside) = rest.strip_suffix(')')?.rsplit_once('(')?;
    let function = function.rsplit('/').next().unwrap_or(function);
    if function.contains(' ') || !function.contains('.') {
        return None;
    }
    if inside == "Native Method" || inside == "Unknown Source" {
        return Some((Language::Java, frame(inside, None, Some(function))));
    }
    let (file, line) =
        inside.split_once(':').map_or((inside, None), |(file, line)| (file, line.parse().ok()));
    let is_source = [".java", ".kt", ".scala", ".groovy"].iter().any(|ending| file.ends_with(ending));
    (is_source && !file.contains('/')).then(|| (Language::Java, frame(file, line, Some(function))))
}

/// `name (file:1:2)`, `async name (file:1:2)`, `file:1:2`.
fn node(rest: &str) -> Option<(Language, Frame)> {
    let (function, at) = match rest.strip_suffix(')').and_then(|rest| rest.rsplit_once(" (")) {
        Some((function, at)) => (Some(function), at),
        None => (None, rest.strip_prefix("async ").unwrap_or(rest)),
    };
    let (file, line) = place(at)?;
    if function.is_none() && file.contains(' ') {
        return None;
    }
    let function = function.map(|name| name.strip_prefix("async ").unwrap_or(name));
    Some((Language::Node, frame(file.strip_prefix("file://").unwrap_or(file), Some(line), function)))
}

fn frame(file: &str, line: Option<u32>, function: Option<&str>) -> Frame {
    Frame { file: capped(file), line, function: function.map(capped) }
}
