//! Everything we depend on has a permissive licence, on every platform and in
//! tests too. Expressions are SPDX, with the old `/` for `OR`.

use std::path::Path;

use anyhow::Result;

use crate::metadata::{self, Package, Reach};
use crate::offence::Offence;

/// Licences that ask for no more than to be named. `deny.toml` lists the same.
pub const PERMISSIVE: [&str; 22] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BlueOak-1.0.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "bzip2-1.0.6",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "NCSA",
    "PostgreSQL",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "X11",
    "Zlib",
    "zlib-acknowledgement",
];

/// Asks cargo and judges.
pub fn run(root: &Path) -> Result<Vec<Offence>> {
    Ok(judge(&metadata::ask(root, Reach::Everything)?.packages))
}

/// Names every foreign package whose licence is not permissive or not stated.
#[must_use]
pub fn judge(packages: &[Package]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for package in packages.iter().filter(|package| package.source.is_some()) {
        let problem = match package.license.as_deref().map(|licence| (licence, is_permissive(licence))) {
            None => "states no licence expression".to_owned(),
            Some((_, Ok(true))) => continue,
            Some((licence, Ok(false))) => format!("`{licence}` is not permissive"),
            Some((licence, Err(why))) => format!("`{licence}` is no licence expression: {why}"),
        };
        let place = format!("{} {}", package.name, package.version);
        offences.push(Offence::new("licences", place, format!("{problem}: use another crate")));
    }
    offences.sort();
    offences
}

/// Whether an expression leaves a way to use the package under permissive
/// terms: one branch of `OR`, all of `AND`, which binds tighter.
pub fn is_permissive(expression: &str) -> Result<bool, String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = either(&mut words)?;
    match words.next() {
        None => Ok(verdict),
        Some(word) => Err(format!("`{word}` was not expected")),
    }
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>) -> Result<bool, String> {
    let mut verdict = all(words)?;
    while words.next_if(|word| word.eq_ignore_ascii_case("OR")).is_some() {
        verdict |= all(words)?;
    }
    Ok(verdict)
}

fn all(words: &mut Words<'_>) -> Result<bool, String> {
    let mut verdict = single(words)?;
    while words.next_if(|word| word.eq_ignore_ascii_case("AND")).is_some() {
        verdict &= single(words)?;
    }
    Ok(verdict)
}

fn single(words: &mut Words<'_>) -> Result<bool, String> {
    let word = words.next().ok_or("it ends early")?;
    if word == "(" {
        let verdict = either(words)?;
        return match words.next() {
            Some(")") => Ok(verdict),
            _ => Err("a bracket is not closed".into()),
        };
    }
    if word == ")" || ["OR", "AND", "WITH"].iter().any(|operator| word.eq_ignore_ascii_case(operator)) {
        return Err(format!("`{word}` stands where a licence should"));
    }
    let licence = word.strip_suffix('+').unwrap_or(word);
    if words.next_if(|word| word.eq_ignore_ascii_case("WITH")).is_none() {
        return Ok(is_listed(licence));
    }
    let exception = words.next().ok_or("`WITH` needs an exception")?;
    Ok(is_listed(&format!("{licence} WITH {exception}")))
}

fn is_listed(licence: &str) -> bool {
    PERMISSIVE.iter().any(|listed| listed.eq_ignore_ascii_case(licence))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: bool, expressions: &[&str]) {
        for expression in expressions {
            assert_eq!(is_permissive(expression), Ok(expected), "{expression}");
        }
    }

    #[test]
    fn one_branch_of_or_is_enough() {
        check(true, &["MIT", "MIT OR GPL-3.0-only", "LGPL-2.1/MIT", "GPL-2.0/Apache-2.0", "GPL-2.0 or MIT"]);
        check(false, &["GPL-3.0-only", "GPL-2.0 OR LGPL-3.0", "MPL-2.0", "LicenseRef-own", "AGPL-3.0+"]);
    }

    #[test]
    fn and_needs_all_and_binds_tighter_than_or() {
        check(true, &["MIT AND ISC", "GPL-3.0 AND MIT OR ISC", "(MIT OR GPL-3.0) AND BSD-3-Clause"]);
        check(false, &["MIT AND GPL-3.0", "MIT AND (GPL-3.0 OR LGPL-3.0)", "ISC AND GPL-3.0 OR MPL-2.0"]);
    }

    #[test]
    fn an_exception_counts_with_its_licence() {
        check(true, &["Apache-2.0 WITH LLVM-exception", "Apache-2.0 WITH LLVM-exception OR GPL-3.0", "MIT+"]);
        check(false, &["GPL-2.0 WITH Classpath-exception-2.0", "MIT WITH strange-exception"]);
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for broken in ["", "MIT OR", "(MIT", "MIT)", "MIT Apache-2.0", "AND MIT", "MIT WITH", "()"] {
            assert!(is_permissive(broken).is_err(), "{broken}");
        }
    }

    fn package(name: &str, licence: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: name.into(),
            version: "1.0.0".into(),
            license: licence.map(Into::into),
            source: source.map(Into::into),
            manifest_path: String::new(),
            dependencies: Vec::new(),
            publish: None,
            targets: Vec::new(),
        }
    }

    #[test]
    fn every_foreign_package_is_judged_and_each_offender_named() {
        let offences = judge(&[
            package("ours", None, None),
            package("fine", Some("MIT"), Some("registry")),
            package("silent", None, Some("registry")),
            package("sticky", Some("GPL-3.0"), Some("registry")),
            package("odd", Some("MIT,"), Some("registry")),
        ]);
        let said: Vec<String> = offences.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "odd 1.0.0: licences: `MIT,` is not permissive: use another crate",
                "silent 1.0.0: licences: states no licence expression: use another crate",
                "sticky 1.0.0: licences: `GPL-3.0` is not permissive: use another crate",
            ]
        );
    }
}
