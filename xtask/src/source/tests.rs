//! The reader against the corners of the grammar that would fool it.

use super::*;

fn words(text: &str) -> Vec<String> {
    lex(text).tokens.iter().filter_map(|(_, token)| token.word().map(str::to_owned)).collect()
}

#[test]
fn comments_and_literals_hide_what_they_hold() {
    assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
    assert_eq!(words(r##"a "b \" c" r#"d " e"# b"f" br"g" h"##), ["a", "h"]);
    assert_eq!(words(r"a 'b' '\'' '\u{1F600}' c"), ["a", "c"]);
    assert_eq!(words("r#type r"), ["r", "type", "r"]);
}

#[test]
fn lifetimes_are_not_characters() {
    assert_eq!(words("fn f<'a>(x: &'a str) -> &'a str { x }").last().unwrap(), "x");
    assert_eq!(words("loop { break 'outer; } 'x'"), ["loop", "break", "outer"]);
}

#[test]
fn lines_are_counted_through_literals_and_comments() {
    let source = lex("a\n/*\n*/\n\"\n\n\" b\n");
    assert_eq!(source.tokens.last().map(|(line, _)| *line), Some(6));
    assert_eq!(source.code_lines, [1, 4, 5, 6]);
}

#[test]
fn a_text_that_never_ends_is_read_to_its_end() {
    for text in ["\"abc", "r#\"abc\"", "/* abc", "'\\", "fn f() {", "#[cfg(test", "use a::{b"] {
        let source = lex(text);
        let read = (functions(&source).len(), paths(&source).len(), test_code(&source).ranges.len());
        assert!(read.0 <= 1 && read.1 <= 4 && read.2 <= 1, "{text}: {read:?}");
    }
}

#[test]
fn a_function_is_as_long_as_the_code_in_its_body() {
    let text = "trait T { fn declared(&self); }\n\
                fn f(\n a: [u8; 2],\n) -> [u8; 2]\nwhere u8: Copy,\n{\n a;\n\n // why\n \"{\n}\";\n}\n\
                const P: fn(u8) -> u8 = g;\nfn g() {}\n";
    let found: Vec<_> = functions(&lex(text)).into_iter().map(|f| (f.name, f.line, f.lines)).collect();
    assert_eq!(found, [("f".to_owned(), 2, 3), ("g".to_owned(), 14, 0)]);
}

#[test]
fn use_trees_are_spelled_out() {
    let found: Vec<String> =
        paths(&lex("use std::{fs as files, time::{Duration, Instant}};\nx::y::<u8>::z();"))
            .into_iter()
            .map(|(line, path)| format!("{line} {}", path.join("::")))
            .collect();
    assert_eq!(
        found,
        ["1 use", "1 std::fs", "1 std::time::Duration", "1 std::time::Instant", "2 x::y", "2 u8", "2 z"]
    );
}

#[test]
fn names_of_modules_and_types_are_found_and_others_are_not() {
    let found = names(&lex("pub mod a { enum B {} }\nfn c() {}\nlet d = 1;\ntype E = u8;"));
    assert_eq!(found, [(1, "a".to_owned()), (1, "B".to_owned()), (4, "E".to_owned())]);
}

fn outside_tests(text: &str) -> Vec<String> {
    let source = lex(text);
    let tests = test_code(&source);
    let outside = source.tokens.iter().enumerate().filter(|(at, _)| !tests.covers(*at));
    outside.filter_map(|(_, (_, token))| token.word().map(str::to_owned)).collect()
}

#[test]
fn items_for_tests_are_told_from_the_others() {
    assert_eq!(outside_tests("a!(); #[cfg(test)] mod tests { fn x() {} } b!();"), ["a", "b"]);
    assert_eq!(outside_tests("#[cfg(test)] #[path = \"t.rs\"] mod t; a!();"), ["a"]);
    assert_eq!(
        outside_tests("#[test] fn x() { y() } #[tokio::test(flavor = \"x\")] async fn z() {} a!();"),
        ["a"]
    );
    assert_eq!(outside_tests("#[cfg(all(test, unix))] use x::{y}; a!();"), ["a"]);
    assert_eq!(outside_tests("#![cfg(test)] a!();"), Vec::<String>::new());
    assert_eq!(outside_tests("#[cfg(not(test))] fn a() {}"), ["cfg", "not", "test", "fn", "a"]);
    assert_eq!(outside_tests("#[cfg(any(test, feature = \"f\"))] fn a() {}").last().unwrap(), "a");
}

#[test]
fn a_test_module_in_another_file_is_named() {
    let modules = |text: &str| test_code(&lex(text)).modules.into_iter().collect::<Vec<_>>();
    assert_eq!(modules("#[cfg(test)]\npub(crate) mod samples;\nmod other;"), ["samples"]);
    assert_eq!(modules("#[cfg(test)] mod tests { mod inside; }"), Vec::<String>::new());
}
