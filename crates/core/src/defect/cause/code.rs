//! Root causes of failed tests: who used what that is not there, and why.

use super::{Cause, RootCause, Rule};
use crate::quality::{Failure, Frame, Stage};

/// What services, devices and programs that are not there make programs say.
const ENVIRONMENT: [&str; 18] = [
    "ConnectionRefused",
    "ConnectionReset",
    "Connection refused",
    "connection refused",
    "ECONNREFUSED",
    "ECONNRESET",
    "ENOTFOUND",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "fetch failed",
    "No space left on device",
    "ENOSPC",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "command not found",
    "Read-only file system",
    "Cannot allocate memory",
    "Too many open files",
];

/// Types Python brings along: their attributes are not for the output to add.
const PYTHON_TYPES: [&str; 14] = [
    "str",
    "int",
    "float",
    "bool",
    "bytes",
    "list",
    "dict",
    "set",
    "tuple",
    "frozenset",
    "generator",
    "function",
    "range",
    "complex",
];

/// The cause of the failure that says most: what uses things that do not exist
/// explains the tests that merely failed.
pub(super) fn judge(failures: &[Failure]) -> Option<RootCause> {
    let mut found: Option<(Weight, RootCause)> = None;
    for next in failures.iter().filter_map(of_failure) {
        if found.as_ref().is_none_or(|(weight, _)| next.0 > *weight) {
            found = Some(next);
        }
    }
    found.map(|(_, diagnosis)| diagnosis)
}

/// How much a failure says, least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    Failed,
    NotBuilt,
    Missing,
    Invented,
}

/// True if the test met something outside that did not work.
pub(super) fn is_environment(failure: &Failure) -> bool {
    let error = failure.error.as_deref().unwrap_or_default();
    let said = &failure.message;
    let linker = failure.stage == Stage::Build && said.starts_with("linker `") && said.contains("not found");
    let spawned = said.starts_with("spawn ") && said.contains("ENOENT");
    linker
        || spawned
        || ENVIRONMENT.iter().any(|sign| error.contains(sign) || said.contains(sign))
        || no_program(error, said, &failure.trace)
}

/// Python looked for a program, not for a file.
fn no_program(error: &str, said: &str, trace: &[Frame]) -> bool {
    let started = trace.first().is_some_and(|frame| frame.file.ends_with("subprocess.py"));
    error.ends_with("FileNotFoundError") && said.contains("No such file") && started
}

fn of_failure(failure: &Failure) -> Option<(Weight, RootCause)> {
    let why = failure.message.lines().next().unwrap_or_default().to_owned();
    if is_unwritten(failure) {
        return Some((Weight::Missing, RootCause::sure(Cause::Incompleteness, Rule::NotImplemented, why)));
    }
    let (weight, cause, rule) = match missing_name(failure) {
        Name::Invented => (Weight::Invented, Cause::Hallucination, Rule::NameInvented),
        Name::Missing => (Weight::Missing, Cause::Incompleteness, Rule::NameMissing),
        // A package may be invented or merely not installed.
        Name::Unknowable => return None,
        Name::None if failure.stage == Stage::Build => {
            (Weight::NotBuilt, Cause::LogicError, Rule::DoesNotBuild)
        }
        // A function that gave nothing may be wrong or not written.
        Name::None if gave_nothing(failure) => return None,
        Name::None => (Weight::Failed, Cause::LogicError, Rule::TestFailed),
    };
    Some((weight, RootCause::likely(cause, rule, why)))
}

fn is_unwritten(failure: &Failure) -> bool {
    let error = failure.error.as_deref().unwrap_or_default();
    let said = failure.message.to_lowercase();
    let said = said.trim_start_matches("error: ");
    error.ends_with("NotImplementedError")
        || error.ends_with("NotImplementedException")
        || ["not implemented", "not yet implemented"].iter().any(|start| said.starts_with(start))
}

fn gave_nothing(failure: &Failure) -> bool {
    let nothing = |value: &Option<String>| {
        value.as_deref().is_some_and(|value| ["None", "null", "undefined", "nil"].contains(&value))
    };
    nothing(&failure.actual) && failure.expected.is_some() && !nothing(&failure.expected)
}

/// A name that is used and not there.
enum Name {
    None,
    /// Of a library, used by the code that was delivered.
    Invented,
    /// Of that code, used by its tests.
    Missing,
    /// Of a package nobody can say exists.
    Unknowable,
}

fn missing_name(failure: &Failure) -> Name {
    let said = failure.message.as_str();
    match failure.error.as_deref().unwrap_or_default() {
        "ModuleNotFoundError" => Name::Unknowable,
        "ImportError" => imported(said),
        "AttributeError" => attribute(said, failure),
        code if code.starts_with('E') && code.len() == 5 => of_rustc(code, said),
        _ if said.contains("is an invalid keyword argument for") => Name::Invented,
        _ if said.contains(" is not a function") => by_caller(failure),
        _ if said.contains("does not provide an export named") => exported(said),
        _ if said.contains("Cannot find package") => Name::Unknowable,
        _ if said.contains("Cannot find module '.") || said.contains("Cannot find module '/") => {
            Name::Missing
        }
        _ if failure.stage == Stage::Build => of_go(said, failure),
        _ => Name::None,
    }
}

/// `cannot import name 'x' from 'm' (/path/m.py)`.
fn imported(said: &str) -> Name {
    if !said.contains("cannot import name") {
        return Name::None;
    }
    let foreign =
        ["/lib/python", "site-packages", "(unknown location)"].iter().any(|part| said.contains(part));
    if foreign { Name::Invented } else { Name::Missing }
}

/// `'list' object has no attribute 'add'`, `module 'json' has no attribute 'x'`.
fn attribute(said: &str, failure: &Failure) -> Name {
    let Some((owner, _)) = said.split_once(" has no attribute ") else { return Name::None };
    let kind = owner.split('\'').nth(1).unwrap_or_default();
    let of_python = PYTHON_TYPES.contains(&kind) || kind.contains('.');
    if kind == "NoneType" {
        Name::None
    } else if called_by_test(failure) {
        Name::Missing
    } else if of_python || owner.contains("module '") {
        Name::Invented
    } else {
        Name::None
    }
}

/// What rustc says of names; it knows whose type it is.
fn of_rustc(code: &str, said: &str) -> Name {
    match code {
        "E0599" if said.contains("not found for this") || said.contains("field, not a method") => {
            Name::Missing
        }
        "E0599" => Name::Invented,
        "E0432" | "E0433" => {
            let own = ["`crate", "`super", "`self"].iter().any(|start| said.contains(start));
            let library = ["`std::", "`core::", "`alloc::", "in `std`", "in `core`", "in `alloc`"];
            let of_library = library.iter().any(|part| said.contains(part))
                || said.contains("no `") && said.contains(" in `collections`");
            if own {
                Name::Missing
            } else if of_library {
                Name::Invented
            } else {
                Name::Unknowable
            }
        }
        _ => Name::None,
    }
}

/// `undefined: strings.Foo`, or a name of the package's own.
fn of_go(said: &str, failure: &Failure) -> Name {
    let Some(name) = said.strip_prefix("undefined: ") else { return Name::None };
    match (name.contains('.'), called_by_test(failure)) {
        (true, _) => Name::Invented,
        (false, true) => Name::Missing,
        (false, false) => Name::None,
    }
}

/// `The requested module 'node:events' does not provide an export named 'X'`.
fn exported(said: &str) -> Name {
    let module = said.split('\'').nth(1).unwrap_or_default();
    if module.starts_with(['.', '/']) || module.starts_with("file:") { Name::Missing } else { Name::Invented }
}

fn by_caller(failure: &Failure) -> Name {
    if called_by_test(failure) { Name::Missing } else { Name::Invented }
}

/// Whether the innermost frame of the project is in a test.
fn called_by_test(failure: &Failure) -> bool {
    let own = |frame: &&Frame| {
        let foreign = ["/lib/python", "site-packages", "node_modules", "node:"];
        !foreign.iter().any(|part| frame.file.contains(part))
    };
    let file = failure.trace.iter().find(own).map(|frame| frame.file.as_str());
    file.or_else(|| failure.location().map(|(file, _)| file)).is_some_and(is_test)
}

fn is_test(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.starts_with("test_")
        || ["_test.", ".test.", ".spec.", "Test.", "Tests."].iter().any(|part| name.contains(part))
        || file.starts_with("tests/")
        || file.contains("/tests/")
}
