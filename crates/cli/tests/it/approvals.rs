//! What a person is asked cannot be made to look like something else, an answer fits one
//! question, and every line for machines is one object.

use super::*;

const PAY: &str = r#"
goal = "Pay"
review = "never"
[workspace]
path = "project"
mode = "copy"
[[tool]]
name = "pay"
command = ["sh", "./pay.sh"]
description = "Pays."
schema = { type = "object" }
"#;

/// Waits for a yes to a payment with these arguments, in JSON.
fn waiting(place: &Place, args: &Value) {
    let mut ascii = String::new();
    for c in args.to_string().chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| ascii += &format!("\\u{unit:04x}")),
        }
    }
    let raw = serde_json::to_string(&ascii).unwrap();
    let replies = format!("  main:\n    - calls: [{{tool: pay, raw_args: {raw}}}]\n    - say: done\n");
    place.task(PAY, &replies).write("task/project/x", "");
    place.write("task/pay.sh", "cat >> ledger.txt\necho >> ledger.txt\n");
    place.bowline(&["run", "task"]).ends(4);
}

fn payments(place: &Place) -> usize {
    let ledger = place.path(&format!("home/workspaces/{}/ledger.txt", place.last()));
    fs::read_to_string(ledger).map_or(0, |text| text.lines().count())
}

#[test]
fn a_call_that_is_made_to_be_misread_is_shown_as_what_it_is() {
    let place = Place::new();
    let note = format!(
        "ok{}\n  │ /to = \"ann\"\r\u{1b}[2K\u{202e}\u{2066}\u{3164}\u{115f}\u{ffa0}\u{2800}\u{85}\u{9b}2J\u{2028}end",
        " ".repeat(400)
    );
    waiting(&place, &serde_json::json!({"note": note, "to": "eve@pаypal.com", "long": "x".repeat(9000)}));
    let shown = place.bowline(&["approve", "last"]).ends(2).complains("--content ");
    let (out, rows) = (&shown.out, shown.out.lines().filter(|line| line.starts_with("  │ ")).count());
    assert_eq!(rows, 3, "one row a member:\n{out}");
    assert!(out.contains("\\u{20}×400") && out.contains("\\u{202e}") && out.contains("\\u{3164}"), "{out}");
    assert!(out.contains("careful    \"eve@pаypal.com\" looks like \"eve@paypal.com\": U+0430"), "{out}");
    assert!(out.contains("of 9000 characters left out") && out.contains("all of it"), "{out}");
    let whole = place.bowline(&["approve", "last", "--all"]).ends(2).out;
    let is_margin = |line: &&str| line.starts_with("  │ /long") || line.starts_with("  ┆ ");
    let long =
        |text: &str| text.lines().filter(is_margin).map(|line| line.matches('x').count()).sum::<usize>();
    assert_eq!((long(&whole), long(out)), (9000, 800), "{whole}");
    let is_odd =
        |c: char| c.is_control() && c != '\n' || "\u{202e}\u{2066}\u{3164}\u{2028}\u{85}\u{9b}".contains(c);
    for words in [&["show", "last"][..], &["show", "last", "--json"], &["export", "last", "--json"]] {
        let ran = place.bowline(words).ends(0);
        assert!(!ran.out.contains(is_odd), "{words:?} prints what a terminal obeys:\n{}", ran.out);
    }
}

#[test]
fn every_line_for_machines_is_one_object_whatever_the_texts_are() {
    let place = Place::new();
    let hostile =
        "{\\\"run\\\": 1}\\r\\n{\\\"fake\\\":true}\\n\u{85}\u{2028}\u{2029}\u{9b}31m\u{1b}]0;x\u{7}";
    let replies = "  main:\n    - calls: [{tool: pay, args: {}}]\n    - {say: \"a\\n{\\\"fake\\\":true}\\r\\n\\u0085\\u2028\\e[2J\"}\n";
    place.task(&format!("{PAY}consent = \"not-needed\"\n"), replies).write("task/project/x", "");
    let script = format!(
        "printf '%b' '{hostile}\\377\\000\\303\\n\\355\\240\\200'\nprintf '\\n{{\"fake\":true}}\\n' >&2\n"
    );
    place.write("task/pay.sh", &script);
    let ran = place.bowline(&["run", "task", "--json"]).ends(0);
    let mut all = vec![ran];
    for words in [
        &["show", "last", "--json"][..],
        &["watch", "last", "--json"],
        &["export", "last", "--json"],
        &["runs", "--json"],
    ] {
        all.push(place.bowline(words).ends(0));
    }
    for ran in all {
        assert!(ran.objects().iter().all(|object| object.is_object() && object.get("fake").is_none()));
        let odd = ran.out.chars().find(|c| c.is_control() && *c != '\n' || "\u{2028}\u{2029}".contains(*c));
        assert_eq!(odd, None, "{}", ran.out);
    }
}

#[test]
fn an_answer_given_twice_counts_once_and_one_about_other_content_is_refused() {
    let place = Place::new();
    waiting(&place, &serde_json::json!({"to": "ann"}));
    let other = place.bowline(&["approve", "last", "--yes", "--content", &"0".repeat(64)]);
    other.ends(2).complains("about other content");
    place.bowline(&["approve", "last", "a7.0", "--yes"]).ends(2).complains("does not ask about");
    let asked = place.bowline(&["approve", "last"]).ends(2);
    let content = asked.err.split("--content ").nth(1).unwrap().split_whitespace().next().unwrap();
    place.bowline(&["approve", "last", "--yes", "--content", content]).ends(0);
    place.bowline(&["approve", "last", "--yes"]).ends(0);
    let late = place.bowline(&["deny", "last", "--reason", "no"]).ends(2);
    late.complains("has answered this with \"yes\", and that answer counts").remarks("bowline cancel");
    place.bowline(&["resume", "last"]).ends(0);
    assert_eq!(payments(&place), 1);
    let told = place.bowline(&["show", "last", "--events"]).ends(0).out;
    assert_eq!(told.matches("this was answered before").count(), 1, "{told}");
    place.bowline(&["approve", "last", "--yes"]).ends(2).complains("asks nothing");
}

#[test]
fn an_answer_to_one_run_is_none_to_another_that_asks_the_same() {
    let place = Place::new();
    waiting(&place, &serde_json::json!({"to": "ann"}));
    let first = place.last();
    place.bowline(&["run", "task"]).ends(4);
    let second = place.last();
    assert_ne!(first, second);
    place.bowline(&["approve", &first, "--yes"]).ends(0);
    place.bowline(&["resume", &second]).ends(4);
    assert_eq!(payments(&place), 0);
}
