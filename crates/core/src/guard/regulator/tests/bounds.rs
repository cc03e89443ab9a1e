//! What holds exactly at a bound, and what is said beyond it.

use serde_json::{Value, json};

use super::super::subject::Subject;
use super::*;

#[test]
fn other_limits_hold_from_now_on_and_what_was_used_stays_used() {
    let mut regulator = fresh();
    assert_eq!(feed(&mut regulator, &[Event::Step, Event::Step]).verdict, Verdict::Continue);
    regulator.set_limits(Limits { steps: Cap::At(1), ..Limits::default() }).unwrap();
    assert_eq!(regulator.settings().limits.steps, Cap::At(1));
    assert_eq!(rules(&regulator.decide()), [(Rule::Iterations, Verdict::Stop)]);
    let tools = (0..65).map(|number| (number.to_string(), 1)).collect();
    regulator.set_limits(Limits { tools, ..Limits::default() }).unwrap_err();
    assert_eq!(regulator.settings().limits.steps, Cap::At(1), "what is refused changes nothing");
}

#[test]
fn as_many_tools_may_have_limits_of_their_own_as_are_kept() {
    let tools = (0..TOOLS_MAX).map(|number| (number.to_string(), 1)).collect();
    assert_eq!(
        Settings { limits: Limits { tools, ..Limits::default() }, ..Settings::default() }.check(),
        Ok(())
    );
}

#[test]
fn a_cap_holds_from_its_warning_on_when_quality_is_below_a_half_and_not_at_a_half() {
    let at = |score: f64| {
        let mut regulator = regulator(Limits { tokens: Cap::At(1000), ..Limits::default() });
        let scores = [score; 3].map(|score| Event::Quality { score });
        feed(&mut regulator, &scores);
        rules(&feed(&mut regulator, &[input(900)]))
    };
    assert_eq!(at(0.5), [(Rule::Cap, Verdict::Warn)]);
    assert_eq!(at(0.49), [(Rule::Cap, Verdict::Stop)]);
    let mut unused = regulator(Limits { tokens: Cap::At(0), ..Limits::default() });
    let poor = [0.49; 3].map(|score| Event::Quality { score });
    assert_eq!(rules(&feed(&mut unused, &poor)), [], "nothing was used of nothing");
}

#[test]
fn what_users_corrected_can_be_asked_for() {
    let mut regulator = fresh();
    (0..3).for_each(|_| regulator.feed(&Event::Correction { kind: "dates are ISO" }).unwrap());
    assert_eq!(regulator.corrections().patterns()[0].explicit, 3);
}

#[test]
fn a_regulator_says_which_version_wrote_it() {
    assert_eq!(fresh().version(), VERSION);
    let mut written = serde_json::to_value(fresh()).unwrap();
    written["version"] = json!(7);
    assert_eq!(serde_json::from_value::<Regulator>(written).unwrap().version(), 7);
}

#[test]
fn a_call_too_many_of_one_tool_is_blocked_and_names_that_bound() {
    let tools = [("search".to_owned(), 1)].into();
    let mut regulator = regulator(Limits { tools, ..Limits::default() });
    feed(&mut regulator, &[call("search", "1"), came("search", "one")]);
    let decision = feed(&mut regulator, &[call("search", "2")]);
    assert_eq!(rules(&decision), [(Rule::Iterations, Verdict::Block)]);
    assert_eq!(decision.fired[0].reason, "calls_of_one_tool");
    assert_eq!(decision.fired[0].setting, "limits.tools");
    assert_eq!(decision.fired[0].evidence, ["2 of 1 calls of this tool"]);
}

#[test]
fn as_many_calls_may_be_open_as_are_kept_and_one_more_loses_the_oldest() {
    let ids: Vec<String> = (0..=OPEN_MAX).map(|number| number.to_string()).collect();
    let asked = |at: usize| {
        Event::Call(Call { id: Some(&ids[at]), tool: "read", args: &ids[at], effect: None, repeat: None })
    };
    let done = Status::Done { output: "x", ok: Some(true), world: None };
    let first = Event::Result(Outcome { id: Some("0"), tool: "read", status: done });
    let mut regulator = regulator(Limits { tool_calls: Cap::Unlimited, ..Limits::default() });
    for at in 0..OPEN_MAX {
        regulator.feed(&asked(at)).unwrap();
    }
    assert_eq!(regulator.clone().feed(&first), Ok(()));
    regulator.feed(&asked(OPEN_MAX)).unwrap();
    assert_eq!(regulator.feed(&first), Err(Refused::NoCall { tool: "read".into() }));
}

fn kept(subject: &Subject) -> Vec<usize> {
    let written = serde_json::to_value(subject).unwrap();
    written["messages"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().len()).collect()
}

#[test]
fn messages_are_kept_up_to_their_number_and_their_bytes() {
    let mut subject = Subject::default();
    (0..=MESSAGES_MAX).for_each(|at| subject.add(&"x".repeat(at)));
    assert_eq!(kept(&subject), (1..=MESSAGES_MAX).collect::<Vec<_>>(), "the first is the task");
    subject.add("more");
    assert_eq!(kept(&subject).len(), MESSAGES_MAX);
    assert_eq!(kept(&subject)[0], 2, "the oldest makes room");
    let half = MESSAGES_BYTES_MAX / 2;
    let mut subject = Subject::default();
    ["task", &"x".repeat(half), &"y".repeat(half)].iter().for_each(|text| subject.add(text));
    assert_eq!(kept(&subject), [half, half], "to the byte");
    subject.add("z");
    assert_eq!(kept(&subject), [half, 1]);
    subject.add(&"w".repeat(2 * MESSAGES_BYTES_MAX));
    assert_eq!(kept(&subject), [MESSAGES_BYTES_MAX]);
}

#[test]
fn an_export_is_read_up_to_its_length() {
    let read = |bytes: usize| Exchange::read(&Value::String("x".repeat(bytes - 2))).unwrap_err();
    assert!(matches!(read(IMPORT_BYTES_MAX), BadExchange::Version { found: None }));
    assert!(read(IMPORT_BYTES_MAX).remedy().starts_with("export again with this version"));
    let bytes = IMPORT_BYTES_MAX + 1;
    assert_eq!(read(bytes).remedy(), "import what was exported, whole and unchanged");
    assert!(matches!(read(bytes), BadExchange::TooLong { bytes: told } if told == bytes));
}

#[test]
fn an_amount_that_is_none_is_told_how_to_be_written() {
    let remedy = |dollars: &str| micros(dollars).unwrap_err().remedy();
    assert!(remedy("ten").contains("decimal number"));
    assert!(remedy("-1").contains("spend only grows"));
    assert!(remedy("99999999999999999999").contains("in the unit asked for"));
    assert!(micros("1000000000000.0000001").is_err(), "too much to be rounded");
    let share = fresh().feed(&Event::Drift { share: 1.5 }).unwrap_err();
    assert!(share.remedy().contains("from 0"), "{}", share.remedy());
}
