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

#[test]
fn what_varies_from_run_to_run_is_taken_out_and_nothing_else() {
    for (text, expected) in [
        ("at 12:00:01 done", "at <t> done"),
        ("9:05:07,123 x", "<t> x"),
        ("1:02:03.", "<t>."),
        ("12:30 1:2:3 12:30:4", "12:30 1:2:3 12:30:4"),
        ("2026-03-01T12:30:45.123Z x", "<ts> x"),
        ("2026-03-01 12:30:45+01:00 x", "<ts> x"),
        ("2026-03-01 12:30:45-0500 x", "<ts> x"),
        ("2026-03-01 12:30:45+01 x", "<ts>+01 x"),
        ("2026-03-01 12:30:45*01:00", "<ts>*01:00"),
        ("2026-03-01 x 2026-03-01_12:30:45", "2026-03-01 x 2026-03-01_12:30:45"),
        ("20260-03-01 12:30:45", "20260-03-01 <t>"),
        ("2026-3-011 12:30:45", "2026-3-011 <t>"),
        ("took 12.5ms.", "took <dur>."),
        ("1,5 s", "<dur>"),
        ("3 seconds ago, 3 secondsx", "<dur> ago, 3 secondsx"),
        ("10µs 10us 10ns 4s", "<dur> <dur> <dur> <dur>"),
        ("2 minutes 7 m 5.s 6  s", "<dur> 7 m 5.s 6  s"),
        ("0x7ffd12ab z 0xg 1x2", "0x z 0xg 1x2"),
        ("pid 4711 PID=[(4711 Pid#7", "pid <pid> PID=[(<pid> Pid#<pid>"),
        ("pid    4711", "pid    <pid>"),
        ("pid     4711 pid4711 pie 4711", "pid     4711 pid4711 pie 4711"),
        ("pid 5s", "pid <dur>"),
        ("pid 0xg", "pid <pid>xg"),
        ("/tmp/a-b.c+d@e%f~g/h x", "/tmp/x x"),
        ("/var/folders/ab/T, /var/tmp/q", "/tmp/x, /tmp/x"),
        ("/tmpx /var/log a/b", "/tmpx /var/log a/b"),
        ("é5s x5s _5s", "é5s x5s _5s"),
        ("7 items, 8,000 more, 99%", "7 items, 8,000 more, 99%"),
    ] {
        assert_eq!(normalised(text), expected, "{text}");
        assert_eq!(normalise::digest(text), normalise::digest(expected), "{text}");
    }
}

#[test]
fn an_output_that_is_only_wrapping_is_blank() {
    let blank = [
        "",
        "  \n ",
        "[]",
        "{}",
        "null",
        "None",
        "\"\"",
        "''",
        "()",
        "[The command ended with exit code 0.]",
        "[no output]",
        "[Python Interpreter: x]",
        "<returncode>0</returncode>",
        "<a>1</a><b>23</b>",
        "(no output)",
        "No output",
        "no output",
        "Your command ran and did not produce any output.",
        "[]\n\n{}\n",
    ];
    for text in blank {
        assert!(normalise::is_blank(text), "{text:?}");
    }
    let telling = [
        "x",
        "[1, 2]",
        "[exit code 0",
        "exit code 0]",
        "exit code 0",
        "<b>text</b>",
        "<b>1",
        "1</b>",
        "0",
        "no output yet",
        "[] x",
        "[Python: x]",
        "did not produce any output. Or did it?",
        "[]\nx",
    ];
    for text in telling {
        assert!(!normalise::is_blank(text), "{text:?}");
    }
    let longest = "[]\n".repeat(170) + "{}";
    assert_eq!(longest.len(), 512);
    assert!(normalise::is_blank(&longest));
    assert!(!normalise::is_blank(&("[]\n".repeat(170) + "\n{}")));
}

#[test]
fn an_error_keeps_its_name_when_numbers_paths_and_quoted_words_change() {
    let name = |text: &str| error_signature(text, true);
    let same = [
        ("error: file 'a b' line 3", "error: file 'zz' line 44"),
        ("error: no such file: /a/b.c", "error: no such file: /x"),
        ("error at 0x12af, code 7", "error at 0x9, code 812"),
        ("Error: `x` is \"y\"", "Error: `other` is \"words\""),
        ("ERROR: error: bad", "error: bad"),
        ("one\nfatal: two\nthree", "other\nfatal: two"),
        ("\n\n  first line\nsecond", "first line"),
        ("x\nValueError: bad\n", "y z\nValueError: bad"),
        ("pkg.errors.OopsError: a", "pkg.errors.OopsError: a\nat the end"),
    ];
    for (one, other) in same {
        assert_eq!(name(one), name(other), "{one:?} {other:?}");
        assert!(name(one).is_some());
    }
    let apart = [
        ("error: bad", "error: worse"),
        ("error: don't", "error: do"),
        ("error: /a, b", "error: /a, c"),
        ("error: 'a' b", "error: 'a' c"),
        ("error: 12 b", "error: 12 c"),
        ("ValueError: a", "TypeError: a"),
    ];
    for (one, other) in apart {
        assert_ne!(name(one), name(other), "{one:?} {other:?}");
    }
    assert_eq!((name(""), name(" \n ")), (None, None));
    assert_eq!(error_signature("error: bad", false), None, "the tool says it went well");
    assert!(error_signature("done\nValueError: bad", false).is_some(), "a pipe hid the exit status");
    for no_exception in
        ["valueError: x", "Value-Error: x", "ValueErrors: x", " ValueError: x", "Error-Value: x"]
    {
        assert_eq!(error_signature(no_exception, false), None, "{no_exception}");
    }
    let long = |end: &str| format!("error {}{end}", "x".repeat(234));
    assert_eq!(name(&long("a")), name(&long("b")), "only the beginning of a line counts");
    assert_ne!(name(&long("a")[1..]), name(&long("b")[1..]));
}

#[test]
fn an_output_that_opens_with_a_failure_looks_failed() {
    for text in [
        "error: x",
        "  ERROR",
        "Traceback (most",
        "exception",
        "Fatal",
        "failed",
        "Invalid x",
        "a\nKeyError: 1",
    ] {
        assert!(signature::looks_failed(text), "{text}");
    }
    for text in ["", "no error", "ok\nerror: x", "terror", "0 failed"] {
        assert!(!signature::looks_failed(text), "{text}");
    }
}

#[test]
fn arguments_given_as_words_stay_words() {
    assert_eq!(effect("run", r#"{"cmd":["ls","a;rm b"]}"#), Effect::Read);
    assert_eq!(effect("run", r#"{"cmd":["sh","-c","rm 'x'"]}"#), Effect::Write);
    assert_eq!(effect("run", r#"{"cmd":["ls","it's"]}"#), Effect::Read);
    assert_eq!(effect("run", r#"{"cmd":["","rm","x"]}"#), Effect::Exec, "an empty word is a word");
    assert_eq!(effect("run", r#"{"argv":["rm","x"]}"#), Effect::Write);
    assert_eq!(effect("run", r#"{"cmd":["rm",1]}"#), Effect::Exec);
    assert_eq!(effect("run", r#"{"cmd":["then","rm","x"]}"#), Effect::Write, "rather than a look");
}

#[test]
fn a_call_whose_arguments_are_kept_elsewhere_is_guessed_by_nothing() {
    let args = Digest::of(b"args");
    let kept = CallTrace::of_kept("delete_everything", args, None);
    assert_eq!((kept.effect, kept.change, kept.target), (Effect::Exec, Effect::Exec.change(), None));
    assert_eq!(CallTrace::of_kept("delete_everything", args, Some(Effect::Read)).effect, Effect::Read);
    assert_ne!(kept.key, CallTrace::of_kept("delete_everything", Digest::of(b"other"), None).key);
    assert_ne!(kept.key, CallTrace::of("delete_everything", "", None).key);
}

#[test]
fn a_reply_without_words_has_no_opening_and_no_sketch() {
    let empty = ReplyTrace::of(" \n", 2, true);
    assert_eq!((empty.opening, empty.words, empty.calls, empty.truncated), (None, None, 2, true));
    let numbers = ReplyTrace::of("42!", 0, false);
    assert!(numbers.opening.is_none() && numbers.words.is_some());
    let spoken = |text: &str| ReplyTrace::of(text, 0, false).opening;
    assert_eq!(spoken("Now I LOOK, 2 files"), spoken("now i look  files"));
    assert_ne!(spoken("Now I look"), spoken("Now I wait"));
    let long = "a".repeat(60);
    assert_eq!(spoken(&format!("{long}b")), spoken(&format!("{long}c")));
    assert_ne!(spoken(&format!("{}b", &long[1..])), spoken(&format!("{}c", &long[1..])));
}

#[test]
fn input_for_a_running_program_is_known_by_its_flag_only() {
    let with = |flag: &str| effect("bash", &format!(r#"{{"command":"ls","is_input":{flag}}}"#));
    assert_eq!((with("true"), with(r#""true""#)), (Effect::Cursor, Effect::Cursor));
    assert_eq!((with("false"), with(r#""false""#), with("null")), (Effect::Read, Effect::Read, Effect::Read));
}

#[test]
fn an_editors_verb_without_a_file_is_a_command_like_any_other() {
    for verb in ["create", "str_replace", "insert", "delete", "write", "append"] {
        assert_eq!(effect("bash", &format!(r#"{{"command":"{verb}"}}"#)), Effect::Exec, "{verb}");
        let with_path = format!(r#"{{"command":"{verb}","path":"/w/a.py"}}"#);
        assert_eq!(effect("bash", &with_path), Effect::Write, "{verb}");
    }
}

#[test]
fn an_exception_of_a_module_is_seen_although_the_tool_says_it_went_well() {
    for text in ["ok\nmy_pkg.errors.OopsError: a", "ok\nHttp_Error: a", "ok\npkg.OopsException: a"] {
        assert!(error_signature(text, false).is_some(), "{text}");
    }
}

#[test]
fn a_result_that_failed_is_one_after_it_was_written_down() {
    for ok in [true, false] {
        let trace = OutputTrace::of("x", Some(ok));
        let written = serde_json::to_value(trace).unwrap();
        assert_eq!(written.get("outcome").is_none(), ok, "success goes without saying");
        assert_eq!(serde_json::from_value::<OutputTrace>(written).unwrap(), trace);
    }
}

#[test]
fn texts_that_agree_by_chance_only_are_not_similar() {
    let sketch = |letters: &str| serde_json::from_value::<Sketch>(letters.into()).unwrap();
    let one = sketch(&"A".repeat(64));
    let sharing = |cells: usize| sketch(&format!("{}{}", "A".repeat(cells), "B".repeat(64 - cells)));
    let similar: Vec<u32> = [0, 1, 2, 32, 64].map(|cells| one.similar_percent(&sharing(cells))).to_vec();
    assert_eq!(similar, [0, 0, 3, 50, 100]);
}

#[test]
fn what_was_taken_out_of_an_error_counts_towards_its_length() {
    let named = |end: &str| error_signature(&format!("error {}{end}", "'a' ".repeat(120)), true);
    assert_eq!(named("x"), named("y"));
    let shorter = |end: &str| error_signature(&format!("error {}{end}", "'a' ".repeat(110)), true);
    assert_ne!(shorter("x"), shorter("y"));
}
