//! Lines in, answers out.

use bowline_core::guard::loops::Action;
use bowline_core::guard::preset::Preset;
use bowline_core::guard::regulator::{Cap, Limits};
use serde_json::json;

use super::*;

fn session() -> Session {
    Session::new(Settings::default()).unwrap()
}

fn say(session: &mut Session, line: &Value) -> Answer {
    session.answer(line.to_string().as_bytes(), 0)
}

/// Asks for a call and reports its result; says what was decided about it.
fn call(session: &mut Session, tool: &str, args: &Value, output: &str) -> Answer {
    let answer = say(session, &json!({"event": "tool_call", "tool": tool, "args": args}));
    if matches!(answer.verdict, Word::Continue | Word::Warn) {
        let done = say(session, &json!({"event": "tool_result", "tool": tool, "output": output}));
        assert_ne!(done.verdict, Word::Error, "{done:?}");
    }
    answer
}

#[track_caller]
fn wrong(line: &[u8], words: &str, remedy: &str) {
    let mut session = session();
    let before = session.clone();
    let answer = session.answer(line, 77);
    assert_eq!(answer.verdict, Word::Error);
    let (error, told) = (answer.error.unwrap(), answer.remedy.unwrap());
    assert!(error.contains(words), "{error}");
    assert!(told.contains(remedy), "{told}");
    assert_eq!(session.regulator, before.regulator, "a line that makes no sense changes nothing");
    assert_eq!(say(&mut session, &json!({"event": "step"})).line, 2, "and the session goes on");
}

#[test]
fn a_line_that_makes_no_sense_is_answered_with_what_was_meant() {
    wrong(b"", "not a JSON object", "one JSON object on each line");
    wrong(b"[1]", "not a JSON object", "one JSON object on each line");
    wrong(b"\xff\xfe", "not a JSON object", "one JSON object on each line");
    wrong(br#"{"event":"tool_cal"}"#, "did you mean \"tool_call\"?", "the events are run, turn");
    wrong(br#"{"evnt":"step"}"#, "there is no event \"\"", "the events are");
    wrong(br#"{"event":"step","when":1}"#, "step has no key \"when\"", "step has no keys of its own");
    let misspelt = br#"{"event":"tool_call","tool":"ls","argz":{}}"#;
    wrong(misspelt, "tool_call has no key \"argz\", did you mean \"args\"?", "id, tool, args");
    let inner = br#"{"event":"assistant","calls":[{"tool":"ls","efect":"read"}]}"#;
    wrong(inner, "no key \"efect\", did you mean \"effect\"?", "");
    let inner = br#"{"event":"assistant","tokens":{"outputs":1}}"#;
    wrong(inner, "no key \"outputs\", did you mean \"output\"?", "");
    wrong(br#"{"event":"tool_call","args":{}}"#, "missing field `tool`", "docs/guard-protocol.md");
    wrong(br#"{"event":"tool_call","tool":"x","effect":"reed"}"#, "unknown variant `reed`", "");
    let inner = br#"{"event":"logprobs","tokens":[{"token":"a","logprb":-1}]}"#;
    wrong(inner, "no key \"logprb\", did you mean \"logprob\"?", "");
    wrong(br#"{"event":"step","at_ms":-1}"#, "at_ms is no whole number", "");
}

#[test]
fn amounts_that_are_none_are_refused() {
    wrong(br#"{"event":"cost","usd":-0.5}"#, "-0.5 is below zero", "spend only grows");
    wrong(br#"{"event":"cost","usd":1e300}"#, "does not fit", "");
    wrong(br#"{"event":"cost"}"#, "give either usd or micros", "");
    wrong(br#"{"event":"cost","usd":1,"micros":1}"#, "give either usd or micros", "");
    wrong(br#"{"event":"cost","usd":"NaN"}"#, "invalid type: string", "");
    wrong(br#"{"event":"tokens","input":-1}"#, "invalid value: integer `-1`", "");
    wrong(br#"{"event":"tokens","input":18446744073709551615,"output":1}"#, "does not fit 64 bits", "");
    wrong(br#"{"event":"quality","score":1.5}"#, "quality signal 1.5 is not", "0 is useless and 1 is right");
    wrong(br#"{"event":"drift","share":-0.1}"#, "drift is -0.1", "");
    let likely = br#"{"event":"logprobs","tokens":[{"token":"a","logprob":0.5}]}"#;
    wrong(likely, "log-probability 0.5", "natural logarithms");
    wrong(br#"{"event":"import","export":{"version":9}}"#, "version 9", "export again");
    wrong(br#"{"event":"import","export":7}"#, "version none", "");
    wrong(br#"{"event":"tool_result","tool":"ls","output":""}"#, "no open call waits for", "blocked call");
}

#[test]
fn dollars_are_kept_exactly_and_rounded_up_behind_the_sixth_decimal() {
    let mut session = session();
    for usd in ["0.07", "0.0000011", "1e-9", "0"] {
        let line = format!(r#"{{"event":"cost","usd":{usd}}}"#);
        assert_eq!(session.answer(line.as_bytes(), 0).verdict, Word::Continue, "{usd}");
    }
    assert_eq!(session.regulator.spent().micros, 70_000 + 2 + 1);
}

#[test]
fn a_line_that_is_too_long_is_answered_too() {
    let answer = session().too_long();
    assert_eq!((answer.verdict, answer.line), (Word::Error, 1));
}

#[test]
fn a_read_that_was_just_made_is_blocked_and_the_reason_is_told() {
    let mut session = session();
    let args = json!({"path": "a.txt"});
    assert_eq!(call(&mut session, "read_file", &args, "text").verdict, Word::Continue);
    let again = call(&mut session, "read_file", &json!(r#"{ "path" : "a.txt" }"#), "text");
    assert_eq!(again.verdict, Word::Block, "text and JSON are the same arguments");
    let acting = again.acting.unwrap();
    assert!(!acting.notice.is_empty() && !acting.reason.is_empty() && !acting.setting.is_empty());
}

#[test]
fn parallel_calls_are_told_apart_by_their_ids() {
    let mut session = session();
    for (id, path) in [("1", "a"), ("2", "b")] {
        let line = json!({"event": "tool_call", "id": id, "tool": "read_file", "args": {"path": path}});
        assert_eq!(say(&mut session, &line).verdict, Word::Continue);
    }
    for (id, output) in [("2", "of b"), ("1", "of a")] {
        let line = json!({"event": "tool_result", "id": id, "tool": "read_file", "output": output});
        assert_eq!(say(&mut session, &line).verdict, Word::Continue);
    }
    let unknown = json!({"event": "tool_result", "id": "2", "tool": "read_file", "output": ""});
    assert_eq!(say(&mut session, &unknown).verdict, Word::Error, "each call comes back once");
}

#[test]
fn duplicates_in_one_reply_are_named_unless_they_may_not_be_shared() {
    let mut session = session();
    let twice = |idempotent| json!({"tool": "pay", "args": {"to": "x"}, "idempotent": idempotent});
    let calls = |idempotent| json!({"event": "assistant", "calls": [twice(idempotent), {"tool": "ls"}, twice(idempotent)]});
    assert_eq!(say(&mut session, &calls(true)).duplicates, [None, None, Some(0)]);
    assert!(say(&mut session, &calls(false)).duplicates.is_empty());
}

#[test]
fn a_state_can_be_taken_along() {
    let mut session = session();
    call(&mut session, "read_file", &json!({"path": "a"}), "text");
    say(&mut session, &json!({"event": "cost", "usd": 4.5}));
    let state = say(&mut session, &json!({"event": "state"})).state.unwrap();
    let mut other = Session::new(Settings::default()).unwrap();
    assert_eq!(say(&mut other, &json!({"event": "restore", "state": state})).verdict, Word::Warn);
    assert_eq!(other.regulator.spent(), session.regulator.spent());
    let again = json!({"event": "tool_call", "tool": "read_file", "args": {"path": "a"}});
    assert_eq!(say(&mut other, &again).verdict, Word::Block);
    let mut newer = state.clone();
    newer["version"] = json!(99);
    let refused = say(&mut other, &json!({"event": "restore", "state": newer}));
    assert!(refused.error.unwrap().contains("of version 99, not 2"));
    let mut broken = state;
    broken["spent"] = json!("all of it");
    assert!(
        say(&mut other, &json!({"event": "restore", "state": broken})).error.unwrap().contains("no state")
    );
}

#[test]
fn time_counts_while_the_agent_works_and_not_while_it_waits_for_a_person() {
    let limits = Limits { active_ms: Cap::At(1000), ..Limits::default() };
    let mut session = Session::new(Settings { limits, ..Settings::default() }).unwrap();
    session.answer(br#"{"event":"run","at_ms":1000}"#, 0);
    session.answer(br#"{"event":"user","at_ms":900000}"#, 0);
    assert_eq!(session.answer(br#"{"event":"step","at_ms":900700}"#, 0).verdict, Word::Continue);
    assert_eq!(
        session.answer(br#"{"event":"step","at_ms":900100}"#, 0).verdict,
        Word::Continue,
        "never back"
    );
    assert_eq!(session.answer(br#"{"event":"step"}"#, 900_900).verdict, Word::Warn);
    let late = session.answer(br#"{"event":"step"}"#, 901_001);
    assert_eq!(late.verdict, Word::Stop);
    let restored = Session::restored(&session.state()).unwrap();
    assert_eq!(restored.regulator.spent(), session.regulator.spent(), "being down costs nothing");
}

#[test]
fn a_preset_takes_the_detectors_place() {
    let settings = Settings::of(Preset::NameStreak, Action::Both, Limits::default());
    let mut session = Session::new(settings).unwrap();
    let verdicts: Vec<Word> =
        (0..5).map(|number| call(&mut session, "search", &json!(number), "x").verdict).collect();
    assert_eq!(verdicts, [Word::Continue, Word::Continue, Word::Continue, Word::Continue, Word::Stop]);
}

#[test]
fn what_users_corrected_is_exported_and_imported_with_spend_and_limits() {
    let limits = Limits { tokens: Cap::At(5000), ..Limits::default() };
    let mut session = Session::new(Settings { limits, ..Settings::default() }).unwrap();
    say(&mut session, &json!({"event": "tokens", "input": 900}));
    for text in ["No, use tabs for indentation.", "That's wrong, indentation is with tabs."] {
        assert_eq!(say(&mut session, &json!({"event": "user", "text": text})).verdict, Word::Continue);
    }
    let answer = say(&mut session, &json!({"event": "export"}));
    let export = serde_json::to_value(answer.export.unwrap()).unwrap();
    let mut other = Session::new(Settings::default()).unwrap();
    assert_eq!(say(&mut other, &json!({"event": "import", "export": export})).verdict, Word::Continue);
    assert_eq!(other.regulator.spent().tokens, 900);
    assert_eq!(other.regulator.settings().limits.tokens, Cap::At(5000));
    let third = json!({"event": "user", "text": "I told you: tabs for indentation, not spaces!"});
    let acting = say(&mut other, &third).acting.unwrap();
    assert_eq!(acting.reason, "corrected_before");
    assert!(acting.notice.contains("3 times"), "{acting:?}");
}

#[test]
fn statistics_are_answered_when_asked_for_and_only_then() {
    let mut session = session();
    assert_eq!(call(&mut session, "search", &json!({"q": 1}), "x").statistics, None);
    let statistics = say(&mut session, &json!({"event": "statistics"})).statistics.unwrap();
    assert_eq!((statistics.run().of("search").calls, statistics.turn().total().results), (1, 1));
}

#[test]
fn times_of_calls_are_taken_from_their_events() {
    let mut session = session();
    session.answer(br#"{"event":"tool_call","tool":"ls","at_ms":1000}"#, 0);
    session.answer(br#"{"event":"tool_result","tool":"ls","output":"a","at_ms":1400}"#, 0);
    assert_eq!(session.regulator.statistics().run().total().duration_ms_max, 400);
}
