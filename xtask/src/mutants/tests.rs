//! Samples of every part, and one small crate from its list of changes to their
//! outcomes.

use std::path::{Path, PathBuf};

use super::asked::Asked;
use super::build::Program;
use super::found::{Mutant, Package, Place, Span};
use super::kept::{Kept, Outcome};
use super::list::{Equivalent, List};
use super::schema::{self, Change};
use super::scratch::{Places, Scratch};
use super::session;
use super::told::Sum;

const FILE: &str = "src/lib.rs";

/// The change of the `nth` place where `old` stands in a text.
fn change(text: &str, old: &str, nth: usize, new: &str) -> Mutant {
    let (at, _) = text.match_indices(old).nth(nth).unwrap();
    let place = |at: usize| {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        Place { line, column }
    };
    let span = Span { start: place(at), end: place(at + old.len()) };
    let name = format!("{FILE}:{}:{}: replace {old} with {new}", span.start.line, span.start.column);
    Mutant { file: FILE.into(), name, replacement: new.into(), span }
}

fn schema_of(text: &str, mutants: &[Mutant]) -> schema::Schema {
    let changes: Vec<Change<'_>> =
        (1..).zip(mutants).map(|(number, mutant)| Change { number, mutant }).collect();
    schema::write(text, &changes, 1).unwrap()
}

fn program(package: &str, target: &str) -> Program {
    Program { package: package.into(), target: target.into(), path: PathBuf::new(), folder: PathBuf::new() }
}

#[test]
fn words_are_a_shard_tests_and_places() {
    let words =
        ["--shard", "1/4", "--tests", "net", "--tests", "tools::it", "crates/net/src/"].map(String::from);
    let asked = Asked::parse(&words).unwrap();
    assert_eq!(asked.places, ["crates/net/src"]);
    let shard = asked.shard.unwrap();
    assert!(shard.has(1) && shard.has(5) && !shard.has(4));
    let counts =
        |asked: &Asked, package: &str, target: &str| asked.counts("core", &program(package, target), "a::t");
    assert!(counts(&asked, "net", "any") && counts(&asked, "tools", "it"));
    assert!(!counts(&asked, "tools", "lib") && !counts(&asked, "core", "core"));
    assert_eq!(asked.packages("core"), ["net", "tools"]);
    let plain = Asked::parse(&[]).unwrap();
    assert_eq!(plain.places, ["crates/core/src/guard"]);
    assert!(counts(&plain, "core", "it") && !counts(&plain, "net", "it"));
    let part = Asked::parse(&["--tests", "core::core::a::"].map(String::from)).unwrap();
    assert!(counts(&part, "core", "core"), "the test is a::t");
    assert!(!part.counts("core", &program("core", "core"), "b::t"));
    assert_eq!((plain.name("core"), part.name("core")), ("core".into(), "core-core.core.a.".into()));
    for bad in [["--fast", "x"], ["--shard", "4/4"], ["--shard", "x"]] {
        assert!(Asked::parse(&bad.map(String::from)).is_err(), "{bad:?}");
    }
}

#[test]
fn a_place_counts_characters_and_is_found_in_bytes() {
    let text = "a\nfür x\n";
    assert_eq!(Place { line: 2, column: 5 }.offset(text), Some(7));
    assert_eq!(Place { line: 1, column: 1 }.offset(text), Some(0));
    assert_eq!(Place { line: 9, column: 1 }.offset(text), None);
}

#[test]
fn a_function_gets_one_more_body_for_each_change() {
    let text = "fn f(a: u8) -> bool { a < 3 && a > 1 }\n";
    let mutants = [change(text, "<", 0, "<="), change(text, "&&", 0, "||")];
    let schema = schema_of(text, &mutants);
    assert_eq!(
        schema.text,
        "fn f(a: u8) -> bool { match crate::__mutant::chosen(1) { 1 => { a <= 3 && a > 1 } \
         2 => { a < 3 || a > 1 } _ => { a < 3 && a > 1 } } }\n"
    );
    assert!(schema.alone.is_empty());
    let at = schema.text.find("||").unwrap();
    assert_eq!(schema.arm_at(&(at..at + 2)), Some(2));
    let base = schema.text.find("_ =>").unwrap();
    assert_eq!(
        (schema.arm_at(&(base..base + 1)), schema.function_at(&(base..base + 1))),
        (None, Some(vec![1, 2]))
    );
}

#[test]
fn a_function_in_a_function_is_changed_in_the_unchanged_body() {
    let text = "fn f() -> u8 { fn g() -> u8 { 1 + 2 } g() * 2 }";
    let schema = schema_of(text, &[change(text, "+", 0, "-"), change(text, "*", 0, "/")]);
    assert_eq!(schema.text.matches("chosen(").count(), 2);
    assert!(schema.text.contains("2 => { fn g() -> u8 { 1 + 2 } g() / 2 }"), "{}", schema.text);
    assert!(syn::parse_file(&schema.text).is_ok());
    assert_ne!(schema.function_of[&1], schema.function_of[&2]);
}

#[test]
fn where_no_choice_can_be_made_at_run_time_a_change_is_left_for_a_build_of_its_own() {
    let text = "const A: u8 = 2 * 3;\nconst fn f() -> u8 { 4 + 5 }\nfn g<'a>(x: &'a [u8]) -> impl Iterator<Item = &'a u8> { x.iter().skip(1 + 1) }";
    let mutants = [change(text, "*", 0, "+"), change(text, "+", 0, "-"), change(text, "+", 1, "-")];
    let schema = schema_of(text, &mutants);
    assert_eq!(schema.alone, [1, 2]);
    assert!(
        schema.text.contains("as ::std::boxed::Box<dyn Iterator < Item = & 'a u8 > + '_>"),
        "{}",
        schema.text
    );
    assert_eq!(schema::write_one(text, &mutants[0]).unwrap(), text.replacen('*', "+", 1));
}

fn entry(mutant: &str, times: usize) -> Equivalent {
    Equivalent { file: FILE.into(), mutant: mutant.into(), times, reason: "it is the same".into() }
}

fn offences(list: &[Equivalent], outcomes: &[Outcome]) -> usize {
    let text = "fn f() { a < b; c < d }";
    let mutants = [change(text, "<", 0, "<="), change(text, "<", 1, "<=")];
    let judged: Vec<_> = mutants.into_iter().zip(outcomes.iter().copied()).collect();
    List { equivalent: list.to_vec() }.judge(&judged).len()
}

#[test]
fn a_survivor_nobody_explains_fails_wherever_it_stands() {
    let what = "replace < with <=";
    assert_eq!(offences(&[], &[Outcome::Killed, Outcome::Survived]), 1);
    assert_eq!(offences(&[entry(what, 1)], &[Outcome::Killed, Outcome::Survived]), 0);
    assert_eq!(offences(&[entry(what, 1)], &[Outcome::Survived; 2]), 1, "two, one explained");
    assert_eq!(offences(&[entry(what, 2)], &[Outcome::Survived; 2]), 0);
}

#[test]
fn an_entry_that_is_noticed_must_go_but_one_that_was_not_run_may_stay() {
    let list = [entry("replace < with <=", 1)];
    assert_eq!(offences(&list, &[Outcome::Killed, Outcome::TimedOut]), 1);
    assert_eq!(offences(&list, &[Outcome::Killed, Outcome::NotRun]), 0, "in another shard");
    assert_eq!(offences(&[entry("replace a with b", 1)], &[Outcome::Killed; 2]), 1, "there is none such");
    assert_eq!(offences(&list, &[]), 0, "its file was not looked at");
    let unexplained = [Equivalent { reason: " ".into(), ..entry("replace < with <=", 1) }];
    assert_eq!(offences(&unexplained, &[Outcome::Killed, Outcome::Survived]), 1);
}

#[test]
fn the_share_that_is_told_leaves_out_what_was_not_run_and_what_does_not_compile() {
    let mut sum = Sum::default();
    for outcome in [Outcome::Killed, Outcome::TimedOut, Outcome::Survived, Outcome::Unviable, Outcome::NotRun]
    {
        sum.add(outcome);
    }
    let line = sum.line("all");
    assert!(
        line.contains("66.6 % noticed: 1 killed, 1 hung, 1 survived; 1 do not compile; 1 not run"),
        "{line}"
    );
}

#[test]
fn outcomes_hold_for_their_file_survivors_for_all_code_and_tests_and_guesses_for_any() {
    let folder = tempfile::tempdir().unwrap();
    let with = |code: u64, text: u64, tests: u64| {
        let (root, target, texts) = (PathBuf::new(), PathBuf::new(), [("a".to_owned(), text)].into());
        let (kept, clone) = (folder.path().into(), PathBuf::new());
        Kept::read(&Scratch { root, target, kept, code, texts, tests, clone }, "core").unwrap()
    };
    let at = |code: u64, tests: u64| with(code, code, tests);
    let mut kept = at(7, 1);
    kept.set("a:1:1: x", Outcome::Killed);
    kept.set("a:2:1: y", Outcome::Survived);
    kept.set_guess("a: x #0".into(), "tests::t".into());
    kept.save().unwrap();
    let outcomes = |kept: &Kept| (kept.outcome("a:1:1: x"), kept.outcome("a:2:1: y"));
    assert_eq!(outcomes(&at(7, 1)), (Some(Outcome::Killed), Some(Outcome::Survived)));
    assert_eq!(outcomes(&at(7, 2)), (Some(Outcome::Killed), None), "another test may notice");
    assert_eq!(outcomes(&with(8, 7, 1)), (Some(Outcome::Killed), None), "another file has changed");
    assert_eq!(outcomes(&at(8, 1)), (None, None));
    assert_eq!(at(8, 1).guess("a: x #0"), Some("tests::t"));
}

const SAMPLE: &str = "
pub const LIMIT: u8 = 2 * 5;
pub fn is_over(used: u8) -> bool { used > LIMIT }
pub fn nobody_tests(used: u8) -> bool { used == LIMIT }
pub fn doubled(list: &[u8]) -> Vec<u8> { list.iter().map(|n| n * 2).collect() }
#[cfg(test)]
mod tests {
    #[test]
    fn over_is_more_than_the_limit() {
        assert!(super::is_over(11) && !super::is_over(10));
    }
    #[test]
    fn each_is_doubled() {
        assert_eq!(super::doubled(&[1, 2]), [2, 4]);
        assert!(super::nobody_tests(10));
    }
}
";

fn crate_at(folder: &Path) {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"sample\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n";
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(folder.join(FILE), SAMPLE).unwrap();
}

#[test]
fn a_change_is_killed_survives_or_does_not_compile_as_it_would_alone() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { clone: folder.path().join("clone"), folder: folder.path().join("scratch") };
    crate_at(&places.clone);
    let package = Package { name: "sample".into(), roots: vec![FILE.into()], places: Vec::new() };
    let mutants = [
        change(SAMPLE, ">", 1, ">="),
        change(SAMPLE, "==", 0, ">="),
        change(SAMPLE, "n * 2", 0, "Vec::new()"),
        change(SAMPLE, "n * 2", 0, "n + 2"),
        change(SAMPLE, "2 * 5", 0, "2 + 5"),
    ];
    let asked = Asked::parse(&[]).unwrap();
    let outcomes = session::run(&places, &asked, &package, &mutants).unwrap();
    let expected = [Outcome::Killed, Outcome::Survived, Outcome::Unviable, Outcome::Killed, Outcome::Killed];
    assert_eq!(outcomes, expected);
    assert_eq!(std::fs::read_to_string(places.clone.join(FILE)).unwrap(), SAMPLE, "the clone is untouched");
    std::fs::remove_dir_all(places.folder.join("build")).unwrap();
    assert_eq!(session::run(&places, &asked, &package, &mutants).unwrap(), expected, "kept, not built again");
    assert!(!places.folder.join("build").exists());
}
