//! Each rule on a sample that breaks it and on one that does not.

use super::*;

const PAGE: &str = "//! A page.\n";

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files: Vec<File> = files.iter().map(|(path, text)| File::new(*path, *text)).collect();
    check(&files).unwrap().iter().map(ToString::to_string).collect()
}

/// What tidy says of one source, without its path.
fn said(path: &str, code: &str) -> Vec<String> {
    let text = format!("{PAGE}{code}");
    found(&[(path, &text)]).iter().map(|line| line.trim_start_matches(path).to_owned()).collect()
}

fn short(path: &str, code: &str) -> Vec<String> {
    said(path, code).iter().map(|line| line.split(" in ").next().unwrap().to_owned()).collect()
}

#[test]
fn a_source_without_a_page_offends_and_all_offences_are_reported() {
    let offences = found(&[
        ("crates/a/src/lib.rs", "pub mod b;\n"),
        ("crates/a/src/b.rs", "//!\n//! late\n"),
        ("sim/src/main.rs", "//! Fine.\n"),
        ("bench/src/main.rs", "/// Wrong kind.\nfn main() {}\n"),
        ("crates/a/fixtures/x.rs", "no page needed"),
        ("docs/x.rs", "not ours"),
    ]);
    let places: Vec<_> = offences.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["bench/src/main.rs:1", "crates/a/src/b.rs:1", "crates/a/src/lib.rs:1"]);
}

#[test]
fn an_error_page_that_is_referred_to_must_exist() {
    let page = |name: &str| format!("docs/errors/{name}.md");
    let text = format!("{PAGE}// see {} and {} and {}", page("there"), page("gone"), page("{code}"));
    let there = page("there");
    let offences = found(&[("crates/a/src/lib.rs", &text), (&there, "# There")]);
    assert_eq!(offences.len(), 1, "{offences:?}");
    assert!(offences[0].starts_with("crates/a/src/lib.rs:2: error-page: `docs/errors/gone"), "{offences:?}");
}

fn lines(count: usize) -> String {
    PAGE.to_owned() + &"x!();\n".repeat(count - 1)
}

fn function(count: usize) -> String {
    format!("{PAGE}fn long() {{\n{}\n// free\n}}\n", "x!();\n".repeat(count))
}

#[test]
fn a_file_has_at_most_600_lines() {
    assert_eq!(found(&[("sim/src/a.rs", &lines(600))]), Vec::<String>::new());
    assert_eq!(
        found(&[("sim/src/a.rs", &lines(601))]),
        [
            "sim/src/a.rs:1: size: `sim/src/a.rs` has 601 lines, 600 at most: split it, or list it in xtask/ratchet.toml"
        ]
    );
}

#[test]
fn a_function_has_at_most_70_lines_of_code() {
    assert_eq!(found(&[("sim/src/a.rs", &function(70))]), Vec::<String>::new());
    assert_eq!(
        found(&[("sim/src/a.rs", &function(71))]),
        [
            "sim/src/a.rs:2: size: `sim/src/a.rs::long` has 71 lines, 70 at most: split it, or list it in xtask/ratchet.toml"
        ]
    );
}

#[test]
fn a_listed_offender_may_only_shrink() {
    let ratchet = |entry: &str| format!("[files]\n\"sim/src/a.rs\" = {entry}\n");
    let with = |listed: &str, count: usize| {
        found(&[("xtask/ratchet.toml", &ratchet(listed)), ("sim/src/a.rs", &lines(count))])
    };
    assert_eq!(with("650", 650), Vec::<String>::new());
    assert_eq!(
        with("650", 651),
        ["sim/src/a.rs:1: size: `sim/src/a.rs` grew from 650 to 651 lines: a listed offender only shrinks"]
    );
    assert_eq!(
        with("650", 640),
        ["xtask/ratchet.toml: ratchet: `sim/src/a.rs` shrank to 640 lines: write 640 instead of 650"]
    );
    assert_eq!(
        with("650", 600),
        ["xtask/ratchet.toml: ratchet: `sim/src/a.rs` is within 600 lines now: take it off the list"]
    );
}

#[test]
fn the_ratchet_lists_functions_by_path_and_name_and_none_that_are_gone() {
    let ratchet = "[functions]\n\"sim/src/a.rs::long\" = 80\n\"sim/src/a.rs::gone\" = 90\n";
    assert_eq!(
        found(&[("xtask/ratchet.toml", ratchet), ("sim/src/a.rs", &function(80))]),
        ["xtask/ratchet.toml: ratchet: `sim/src/a.rs::gone` is gone: take it off the list"]
    );
}

#[test]
fn a_ratchet_with_an_unknown_heading_is_refused() {
    let files = [File::new("xtask/ratchet.toml", "[fils]\n")];
    assert!(check(&files).unwrap_err().to_string().contains("xtask/ratchet.toml"));
}

#[test]
fn a_nested_clippy_file_repeats_the_roots_lines() {
    let root = "too-many-lines-threshold = 70\ndisallowed-methods = [\n\
                { path = \"a::b\", reason = \"r\" }, { path = \"c::d\", reason = \"r\" } ]\n";
    let whole = format!("{}extra = 1\n", root);
    assert_eq!(found(&[("clippy.toml", root), ("crates/core/clippy.toml", &whole)]), Vec::<String>::new());
    let half = "disallowed-methods = [{ path = \"a::b\", reason = \"r\" }]\n";
    let offences = found(&[("clippy.toml", root), ("crates/core/clippy.toml", half)]);
    assert_eq!(offences.len(), 2, "{offences:?}");
    assert!(offences[0].contains("`disallowed-methods` entry `c::d`"), "{offences:?}");
    assert!(offences[1].contains("`too-many-lines-threshold = 70`"), "{offences:?}");
}

#[test]
fn core_reaches_for_nothing_outside() {
    let core = |code: &str| short("crates/core/src/a.rs", code);
    assert_eq!(core("async fn f() {}"), [":2: purity: `async`"]);
    assert_eq!(core("use std::{collections, fs};"), [":2: purity: `std::fs`"]);
    assert_eq!(core("fn f() { std::env::var(\"X\"); }"), [":2: purity: `std::env::var`"]);
    assert_eq!(core("use std::time::{Duration, Instant};"), [":2: purity: `std::time::Instant`"]);
    assert_eq!(
        core("use std::time;\nfn f() { time::SystemTime::now(); }"),
        [":3: purity: `time::SystemTime::now`"]
    );
    for (code, what) in [
        ("use tokio::sync;", "tokio::sync"),
        ("fn f() { rand::random(); }", "rand::random"),
        ("use log;", "log"),
        ("extern crate log as l;", "log"),
        ("fn f() { tracing::info!(\"x\"); }", "tracing::info"),
        ("fn f() { std::thread::yield_now(); }", "std::thread::yield_now"),
    ] {
        assert_eq!(core(code), [format!(":2: purity: `{what}`")], "{code}");
    }
}

#[test]
fn core_may_talk_about_what_it_may_not_use() {
    let code = "/// Not `async`, no `tokio`.\nstruct S { log: u8, rand: u8 }\nfn f(log: u8) -> u8 { log }\n\
                const X: &str = \"std::fs::read\";\nuse std::time::Duration;\nuse crate::log::Entry;";
    assert_eq!(said("crates/core/src/a.rs", code), Vec::<String>::new());
    assert_eq!(said("crates/store/src/a.rs", "async fn f() {}"), Vec::<String>::new());
}

#[test]
fn words_that_name_nothing_name_no_module_and_no_type() {
    assert_eq!(
        said(
            "crates/a/src/b.rs",
            "struct RunManager;\nmod path_utils {}\ntype HelperFor<T> = T;\nfn helper() {}"
        ),
        [
            ":2: name: `RunManager`: `manager` names nothing: say what it does or holds",
            ":3: name: `path_utils`: `utils` names nothing: say what it does or holds",
            ":4: name: `HelperFor`: `helper` names nothing: say what it does or holds",
        ]
    );
    assert_eq!(
        found(&[("crates/a/src/util/x.rs", PAGE), ("crates/a/src/util/y.rs", PAGE)]),
        ["crates/a/src/util: name: `util` names nothing: say what it does or holds"]
    );
    assert_eq!(said("crates/a/src/b.rs", "struct Utility;\nstruct Managed;"), Vec::<String>::new());
}

#[test]
fn no_text_names_a_folder_of_one_machine() {
    for top in ["home", "root", "work"] {
        let text = format!("cd /{top}/x");
        assert_eq!(found(&[("scripts/test", &text)]).len(), 1, "{top}");
        assert_eq!(found(&[("fixtures/v1/journal.json", &text)]), Vec::<String>::new());
        for fine in
            [format!("cd ~/{top}/x"), format!("a/{top}/b"), format!("${{HOME}}/{top}/x"), format!("/{top}")]
        {
            assert_eq!(found(&[("README.md", &fine)]), Vec::<String>::new(), "{fine}");
        }
    }
    let home = |who: &str| format!("/{}/{who}/.ssh", "home");
    assert_eq!(found(&[("README.md", &home("you"))]), Vec::<String>::new());
    assert_eq!(found(&[("README.md", &home("younger"))]).len(), 1);
}

#[test]
fn shipped_code_neither_unwraps_nor_leaves_gaps() {
    let code = "fn f() { a.unwrap(); b\n.expect(\"x\"); todo!(); unimplemented!(); dbg!(1); }";
    let rules: Vec<String> = short("crates/a/src/lib.rs", code);
    assert_eq!(
        rules,
        [
            ":2: ban: `.unwrap()`",
            ":3: ban: `.expect(`",
            ":3: ban: `dbg!`",
            ":3: ban: `todo!`",
            ":3: ban: `unimplemented!`"
        ]
    );
    assert_eq!(short("xtask/src/main.rs", "fn f() { self.a.unwrap(); }"), [":2: ban: `.unwrap()`"]);
}

#[test]
fn tests_may_unwrap() {
    let code = "fn f() { a.unwrap(); }";
    assert_eq!(said("crates/a/tests/it/main.rs", code), Vec::<String>::new());
    assert_eq!(
        said("crates/a/src/lib.rs", &format!("#[cfg(test)]\nmod tests {{ {code} }}")),
        Vec::<String>::new()
    );
    assert_eq!(
        said("crates/a/src/lib.rs", "fn f() { a.unwrap_or(1); expect(2); self.expect(3)?; }"),
        Vec::<String>::new()
    );
    let offending = format!("{PAGE}{code}");
    let parent = |declares: &str| {
        let text = format!("{PAGE}{declares}");
        found(&[("crates/a/src/run/mod.rs", &text), ("crates/a/src/run/sample.rs", &offending)]).len()
    };
    assert_eq!(parent("#[cfg(test)]\nmod sample;"), 0);
    assert_eq!(parent("mod sample;"), 1);
}
