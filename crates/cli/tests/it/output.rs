//! What is printed with `--json` is what its published schema says: every line of every command that any
//! test runs to its end is held against it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{HELLO, PLAIN, Place};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/output")
}

fn validator(command: &str) -> &'static Validator {
    static READ: OnceLock<Mutex<BTreeMap<String, &'static Validator>>> = OnceLock::new();
    let mut read = READ.get_or_init(Mutex::default).lock().unwrap();
    read.entry(command.to_owned()).or_insert_with(|| {
        let path = folder().join(format!("{command}.schema.json"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{command} has no published schema"));
        let schema: Value = serde_json::from_str(&text).unwrap();
        Box::leak(Box::new(jsonschema::validator_for(&schema).unwrap()))
    })
}

/// The command whose output is for machines, by the words it was started with.
fn command<'a>(words: impl Iterator<Item = &'a OsStr>) -> Option<String> {
    let words: Vec<&str> = words.filter_map(OsStr::to_str).collect();
    let is_json = words.contains(&"--json") || words.windows(2).any(|pair| pair == ["--format", "json"]);
    let command = words.iter().find(|word| !word.starts_with('-'))?;
    let named = match *command {
        "audit" | "mcp" | "model" | "guard" => format!("{command}-{}", words.get(1)?),
        _ => (*command).to_owned(),
    };
    is_json.then_some(named)
}

/// Holds every line against the schema of its command.
pub(crate) fn hold(ran: &Command, printed: &str) {
    let is_ours = Path::new(ran.get_program()).file_name() == Some(OsStr::new("bowline"));
    let Some(command) = command(ran.get_args()).filter(|_| is_ours) else { return };
    for line in printed.lines() {
        let value: Value =
            serde_json::from_str(line).unwrap_or_else(|bad| panic!("{command}: {bad}\n{line}"));
        let flaws: Vec<String> =
            validator(&command).iter_errors(&value).map(|flaw| flaw.to_string()).collect();
        assert!(flaws.is_empty(), "bowline {command} printed\n{line}\n{flaws:#?}");
    }
}

/// The line with each of its keys under another name, and without it.
fn renamed_and_removed(line: &Value) -> Vec<(String, Value, Value)> {
    let keys = line.as_object().unwrap().keys();
    let changed = keys.map(|key| {
        let mut removed = line.clone();
        let value = removed.as_object_mut().unwrap().remove(key).unwrap();
        let mut renamed = removed.clone();
        renamed.as_object_mut().unwrap().insert(format!("{key}_"), value);
        (key.clone(), renamed, removed)
    });
    changed.collect()
}

#[test]
fn a_key_with_another_name_or_a_key_less_is_not_what_was_published() {
    let place = Place::new();
    place.task(PLAIN, HELLO).bowline(&["run", "task", "--json"]).ends(0);
    let rows: [(&str, &[&str], i32); 10] = [
        ("run", &["run", "task", "--json"], 0),
        ("watch", &["watch", "last", "--json"], 0),
        ("runs", &["runs", "--json"], 0),
        ("show", &["show", "last", "--events", "--json"], 0),
        ("replay", &["replay", "last", "--json"], 0),
        ("export", &["export", "last", "--json"], 0),
        ("audit-verify", &["audit", "verify", "--json"], 0),
        ("calibrate", &["calibrate", "--json"], 0),
        ("doctor", &["doctor", "--json"], 0),
        ("show", &["show", "nobody", "--json"], 2),
    ];
    // Left out where they say nothing; everything else is always there.
    let optional = [("run", "waiting"), ("watch", "waiting"), ("show", "problems"), ("show", "journal")];
    for (command, words, code) in rows {
        let lines = place.bowline(words).ends(code).objects();
        assert!(!lines.is_empty(), "{words:?}");
        for line in lines {
            for (key, renamed, removed) in renamed_and_removed(&line) {
                assert!(!validator(command).is_valid(&renamed), "{command}: {key} may be renamed in {line}");
                let may_go = validator(command).is_valid(&removed);
                assert_eq!(may_go, optional.contains(&(command, key.as_str())), "{command}: {key} of {line}");
            }
        }
    }
}

#[test]
fn every_command_that_prints_for_machines_has_a_schema_and_every_schema_a_command() {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut published: Vec<String> = files
        .map(|file| file.unwrap().file_name().to_str().unwrap().replace(".schema.json", "").replace('-', " "))
        .collect();
    published.sort();
    let place = Place::new();
    let mut found = Vec::new();
    let commands = |text: &str| -> Vec<String> {
        let list = text.split("Commands:").nth(1).unwrap_or_default().lines().skip(1);
        let names =
            list.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
        names.filter(|name| *name != "help").map(str::to_owned).collect()
    };
    for command in commands(&place.bowline(&["--help"]).ends(0).out) {
        let help = place.bowline(&[&command, "--help"]).ends(0).out;
        let inner = commands(&help);
        if inner.is_empty() && tells_machines(&help) {
            found.push(command.clone());
        }
        for inner in inner {
            if tells_machines(&place.bowline(&[&command, &inner, "--help"]).ends(0).out) {
                found.push(format!("{command} {inner}"));
            }
        }
    }
    found.sort();
    assert_eq!(found, published);
}

fn tells_machines(help: &str) -> bool {
    help.contains("--json") || help.contains("[possible values: text, json")
}

#[test]
fn a_line_of_another_command_is_not_taken_for_one_of_this() {
    let health = json!({ "check": "disk", "health": "ok", "found": "room", "remedy": null });
    assert!(validator("doctor").is_valid(&health));
    assert!(!validator("runs").is_valid(&health));
    let word = json!({ "check": "disk", "health": "fine", "found": "room", "remedy": null });
    assert!(!validator("doctor").is_valid(&word), "a word that is not among those published");
}
