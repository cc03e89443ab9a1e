//! Effects, keys, normalisation, signatures, sketches, traces.

use super::*;
use crate::provenance::Digest;
use crate::tool::Repeat;

fn effect(tool: &str, args: &str) -> Effect {
    CallTrace::of(tool, args, None).effect
}

#[test]
fn an_undeclared_tool_is_known_by_its_name() {
    for (tool, expected) in [
        ("get_user_details", Effect::Read),
        ("searchFiles", Effect::Read),
        ("mcp.server.list-issues", Effect::Read),
        ("send_email", Effect::Write),
        ("book_reservation", Effect::Write),
        ("get_and_delete", Effect::Write),
        ("scroll_down", Effect::Cursor),
        ("get_next", Effect::Read),
        ("wait_for_job", Effect::Poll),
        ("get_job_status", Effect::Poll),
        ("execute_ipython_cell", Effect::Exec),
        ("frobnicate", Effect::Exec),
        ("", Effect::Exec),
    ] {
        assert_eq!(effect(tool, "{}"), expected, "{tool}");
    }
}

#[test]
fn an_editor_is_known_by_its_command_and_a_shell_by_its_line() {
    let editor =
        |command: &str| effect("str_replace_editor", &format!(r#"{{"command":"{command}","path":"/a.py"}}"#));
    assert_eq!(editor("view"), Effect::Read);
    assert_eq!(editor("str_replace"), Effect::Write);
    assert_eq!(editor("undo_edit"), Effect::Cursor);
    assert_eq!(effect("bash", r#"{"command":"ls"}"#), Effect::Read);
    assert_eq!(effect("bash", r#"{"command":"rm a"}"#), Effect::Write);
    assert_eq!(effect("run", r#"{"cmd":["ls","-l"]}"#), Effect::Read);
    assert_eq!(effect("execute_bash", r#"{"command":"y","is_input":"true"}"#), Effect::Cursor);
    assert_eq!(effect("bash", "not json"), Effect::Exec);
}

#[test]
fn a_declaration_beats_every_guess() {
    let call = CallTrace::of("delete_everything", "{}", Some(Effect::Read));
    assert_eq!((call.effect, call.change), (Effect::Read, Change::Never));
    assert_eq!(call.with_repeat(Repeat::Never).repeat, Repeat::Never);
}

#[test]
fn one_call_has_one_key_however_it_is_written() {
    let key = |args: &str| CallTrace::of("t", args, None).key;
    assert_eq!(key(r#"{"a":1,"b":2}"#), key(r#"{ "b" : 2.0, "a" : 1 }"#));
    assert_ne!(key(r#"{"a":1}"#), key(r#"{"a":"1"}"#));
    assert_ne!(key("{\"a\":9007199254740993}"), key("{\"a\":9007199254740992}"));
    assert_ne!(key("x"), key("\"x\""), "text that is no JSON never meets text that is");
    assert_ne!(CallTrace::of("ab", "c", None).key, CallTrace::of("a", "bc", None).key);
}

#[test]
fn volatile_tokens_are_taken_out() {
    for (raw, expected) in [
        ("<obj at 0x7f3a>", "<obj at 0x>"),
        ("at 2024-01-02T03:04:05.678Z done", "at <ts> done"),
        ("2024-01-02 03:04:05+01:00", "<ts>"),
        ("12:34:56.1 up", "<t> up"),
        ("Ran 3 tests in 0.012s", "Ran 3 tests in <dur>"),
        ("took 15 seconds, 20 ms", "took <dur>, <dur>"),
        ("wrote /tmp/tmpab12/x.log.", "wrote /tmp/x"),
        ("pid 4711 and PID: 12", "pid <pid> and PID: <pid>"),
        ("utf8 py310s 3 apples 1.5 pears", "utf8 py310s 3 apples 1.5 pears"),
        ("line 12:30", "line 12:30"),
        ("2024-01-02", "2024-01-02"),
        ("é0x1f ü 0x1f", "é0x1f ü 0x"),
        ("", ""),
    ] {
        assert_eq!(normalised(raw), expected, "{raw}");
        assert_eq!(OutputTrace::of(raw, None).digest, Digest::of(expected.as_bytes()), "{raw}");
    }
}

#[test]
fn an_output_that_says_nothing_is_empty() {
    for blank in [
        "",
        " \n",
        "[]",
        "null",
        "<returncode>0</returncode>\n<output>\n</output>",
        "\n[Python Interpreter: /x]\n[Command finished with exit code 1]",
        "[Code executed successfully with no output]",
    ] {
        assert!(OutputTrace::of(blank, Some(true)).empty, "{blank}");
    }
    for text in ["x", "[1]", "<returncode>0</returncode>\n<output>\nx</output>", "0"] {
        assert!(!OutputTrace::of(text, Some(true)).empty, "{text}");
    }
}

#[test]
fn one_kind_of_error_has_one_signature() {
    let sign = |text: &str| error_signature(text, true);
    assert_eq!(
        sign("ERROR:\nNo replacement was performed, old_str `a\nb` did not appear verbatim in /w/x.py."),
        sign("ERROR:\nNo replacement was performed, old_str `c` did not appear verbatim in /w/y/z.py."),
    );
    assert_eq!(
        sign("Traceback (most recent call last):\n  File \"a\", line 3\nValueError: bad value 17"),
        sign("warning\nTraceback (most recent call last):\n  File \"b\", line 9\nValueError: bad value 4"),
    );
    assert_ne!(sign("ValueError: x"), sign("TypeError: x"));
    assert_eq!(error_signature("all good", false), None);
    assert!(error_signature("a\nKeyError: 'x'", false).is_some(), "a pipe hides the exit status");
}

#[test]
fn a_tool_that_does_not_say_is_judged_by_its_text() {
    assert_eq!(OutputTrace::of("Error: no such user", None).outcome, Outcome::Failed);
    assert_eq!(OutputTrace::of("3 users", None).outcome, Outcome::Succeeded);
    assert_eq!(OutputTrace::of("Error: no such user", Some(true)).outcome, Outcome::Succeeded);
}

#[test]
fn sketches_tell_how_similar_texts_are() {
    let text = |seed: u32| (0..200).map(|word| format!("w{} ", (word * seed) % 977)).collect::<String>();
    let one = Sketch::of(&text(3));
    assert_eq!(one.similar_percent(&Sketch::of(&text(3).to_uppercase())), 100);
    assert!(one.similar_percent(&Sketch::of(&text(5))) < 20);
    let near = text(3).replacen("w0 ", "zero ", 1);
    assert!(one.similar_percent(&Sketch::of(&near)) >= 90);
    assert_eq!(Sketch::of("").similar_percent(&Sketch::of(" ")), 100);
    assert!(Sketch::of("a b").similar_percent(&Sketch::of("a c")) < 50);
    let back: Sketch = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
    assert_eq!(back, one);
    assert!(serde_json::from_str::<Sketch>("\"00\"").is_err());
    assert!(serde_json::from_str::<Sketch>(&format!("\"{}\"", "é".repeat(128))).is_err());
}

#[test]
fn replies_that_open_alike_have_one_opening() {
    let opening = |text: &str| ReplyTrace::of(text, 1, false).opening;
    let start = "Let me look at the file again to see what is there in the first place, ";
    assert_eq!(opening(&format!("{start}line 12")), opening(&format!("  {start}and more")));
    assert_eq!(opening(" \n"), None);
    assert_ne!(opening("yes"), opening("no"));
}

proptest::proptest! {
    #[test]
    fn normalising_twice_is_normalising_once(text in "[0-9a-z:./ \\-TZxé]{0,80}") {
        let once = normalised(&text);
        proptest::prop_assert_eq!(normalised(&once), once);
    }

    #[test]
    fn no_text_panics(text in ".{0,200}", tool in ".{0,20}", failed: bool) {
        _ = CallTrace::of(&tool, &text, None);
        _ = OutputTrace::of(&text, Some(!failed));
        _ = ReplyTrace::of(&text, 0, false);
        _ = RoundTrace::of(&text, &tool);
        _ = error_signature(&text, failed);
    }
}
