//! What the regulator makes of words, probabilities and failures.

use serde_json::json;

use super::*;

const TASK: &str = "Sum the unpaid invoices of March and tell me the total.";
const FAITHFUL: &str = "The unpaid invoices of March add up to a total of 4,310 euros; the largest of these invoices is number 17.";
const DRIFTED: &str = "Penguins breed on the Antarctic ice. The male keeps the egg warm on his feet for two \
                       months while the female hunts fish and squid in the ocean.";

fn reasons(decision: &Decision) -> Vec<&str> {
    decision.fired.iter().map(|fired| fired.reason.as_str()).collect()
}

fn run(task: &str) -> Event<'_> {
    Event::Run { task: Some(task) }
}

#[test]
fn an_answer_about_something_else_warns_and_one_about_the_task_does_not() {
    let mut regulator = fresh();
    assert_eq!(feed(&mut regulator, &[run(TASK), answer(FAITHFUL)]).verdict, Verdict::Continue);
    let off = feed(&mut regulator, &[answer(DRIFTED)]);
    assert_eq!(rules(&off), [(Rule::ScopeDrift, Verdict::Warn)]);
    assert!(off.fired[0].evidence[1].contains("Penguins"), "{off:?}");
    assert_eq!(feed(&mut restarted(&regulator), &[answer(FAITHFUL)]).verdict, Verdict::Continue);
}

#[test]
fn what_a_person_wrote_later_is_no_drift_and_a_reply_with_calls_is_not_judged() {
    let mut regulator = fresh();
    let later =
        said("Now tell me how penguins breed on the Antarctic ice: who keeps the egg warm, who hunts?");
    assert_eq!(feed(&mut regulator, &[run(TASK), later, answer(DRIFTED)]).verdict, Verdict::Continue);
    let asks = Event::Reply(Reply { text: DRIFTED, calls: 1, ..Reply::default() });
    assert_eq!(feed(&mut fresh(), &[run(TASK), asks]).verdict, Verdict::Continue);
    let first = [Event::Run { task: None }, said(TASK), answer(DRIFTED)];
    assert_eq!(reasons(&feed(&mut fresh(), &first)), ["drift"], "the first words are the task");
    let harness = Event::User { origin: Origin::Harness, text: Some(DRIFTED) };
    assert_eq!(reasons(&feed(&mut fresh(), &[run(TASK), harness, answer(DRIFTED)])), ["drift"]);
}

#[test]
fn corrections_are_read_from_what_people_write_and_told_in_their_words() {
    let mut regulator = fresh();
    let one = [run("Format the module."), said("No, use tabs for indentation."), Event::Step];
    let two = [said("That's wrong, indentation is with tabs."), Event::Step];
    assert_eq!(feed(&mut regulator, &[&one[..], &two[..]].concat()).verdict, Verdict::Continue);
    assert_eq!(regulator.prelude(), None);
    let third = feed(&mut restarted(&regulator), &[said("I told you: tabs for indentation, not spaces!")]);
    assert_eq!(reasons(&third), ["corrected_before"]);
    assert!(third.fired[0].notice.contains("3 times: \"I told you: tabs"), "{third:?}");
    let harness = Event::User { origin: Origin::Harness, text: Some("No, use tabs for indentation.") };
    assert_eq!(feed(&mut regulator, &[harness; 3]).verdict, Verdict::Continue, "a harness corrects nothing");
}

#[test]
fn asking_again_is_a_correction_and_reporting_the_task_twice_is_not() {
    let again = [said(TASK), Event::Step];
    let twice = [run(TASK), said(TASK), Event::Step];
    let mut regulator = fresh();
    feed(&mut regulator, &[&twice[..], &again, &again].concat());
    assert_eq!(regulator.prelude(), None, "asked again twice");
    assert_eq!(reasons(&feed(&mut regulator, &again)), ["corrected_before"]);
}

#[test]
fn unsure_words_are_reported_with_the_reply_they_stand_in() {
    let mut regulator = fresh();
    let spans = feed(&mut regulator, &[Event::Step, Event::Logprobs(&UNSURE), answer("She was born in Ulm")]);
    assert_eq!(spans.verdict, Verdict::Continue, "low probability is no error");
    let places: Vec<_> = spans.low_confidence.iter().map(|span| (span.start, span.end)).collect();
    assert_eq!(places, [(16, 19)]);
    assert_eq!(restarted(&regulator).decide(), spans);
    assert!(feed(&mut regulator.clone(), &[Event::Step]).low_confidence.is_empty());
    assert!(feed(&mut regulator.clone(), &[answer("Yes.")]).low_confidence.is_empty(), "of another reply");
    let next = feed(&mut regulator, &[Event::Logprobs(&UNSURE[..2])]);
    assert!(next.low_confidence.is_empty(), "the next reply begins at its own first byte");
}

#[test]
fn probabilities_that_are_none_change_nothing() {
    let mut regulator = fresh();
    let before = regulator.clone();
    let bad = [UNSURE[2], UNSURE[3], Logprob { token: "x", logprob: Some(0.5) }];
    let refused = regulator.feed(&Event::Logprobs(&bad)).unwrap_err();
    assert!(refused.remedy().contains("natural logarithms"), "{refused}");
    assert_eq!(regulator, before);
}

#[test]
fn failures_of_one_kind_are_told_once_and_again_when_there_are_more() {
    let mut regulator = fresh();
    let paths = ["a", "b", "c", "d"].map(|path| format!("{{\"path\":\"{path}\"}}"));
    let fails = |regulator: &mut Regulator, path: usize| {
        let error = format!("Error: no such file '{path}'");
        feed(regulator, &[call("read_file", &paths[path]), failed("read_file", &error)])
    };
    assert_eq!(fails(&mut regulator, 0).verdict, Verdict::Continue);
    assert_eq!(fails(&mut regulator, 1).verdict, Verdict::Continue);
    let third = fails(&mut regulator, 2);
    assert!(reasons(&third).contains(&"failing_again"), "{third:?}");
    let word = third.fired.iter().find(|fired| fired.reason == "failing_again").unwrap();
    assert_eq!((word.rule, word.verdict), (Rule::Procedural, Verdict::Warn));
    assert!(word.evidence[0].starts_with("read_file failed 3 times alike: error"), "{word:?}");
    let told = feed(&mut regulator, &[Event::Step]);
    assert!(!reasons(&told).contains(&"failing_again"), "{told:?}");
    assert!(reasons(&fails(&mut regulator, 3)).contains(&"failing_again"));
    let worked = feed(&mut regulator, &[call("read_file", "{\"path\":\"e\"}"), came("read_file", "text")]);
    assert!(!reasons(&worked).contains(&"failing_again"), "a success forgives: {worked:?}");
}

#[test]
fn tools_are_counted_by_turn_and_by_run_with_what_they_took() {
    let mut regulator = fresh();
    let settled = |status| Event::Result(Outcome { id: None, tool: "ls", status });
    regulator.at(1000, None);
    feed(&mut regulator, &[call("ls", "1")]);
    regulator.at(1250, None);
    feed(&mut regulator, &[came("ls", "x"), call("ls", "2"), failed("ls", "Error"), call("ls", "3")]);
    feed(&mut regulator, &[settled(Status::Denied), call("ls", "4"), settled(Status::Retry)]);
    let all = regulator.statistics().run().of("ls");
    assert_eq!((all.calls, all.results, all.failures), (4, 2, 1));
    assert_eq!((all.duration_ms_sum, all.duration_ms_max), (250, 250));
    assert_eq!(regulator.statistics().turn().trailing().unwrap().depth, 4);
    feed(&mut regulator, &[said("go on"), call("ls", "5")]);
    assert_eq!(regulator.statistics().turn().total().calls, 1);
    assert_eq!(regulator.statistics().run().total().calls, 5);
    let mut down = restarted(&regulator);
    down.resumed();
    down.at(900_000, None);
    feed(&mut down, &[came("ls", "x")]);
    assert_eq!(down.statistics().run().total().duration_ms_sum, 250, "being down is not the tool's time");
}

#[test]
fn a_blocked_call_is_no_call_in_the_statistics() {
    let mut regulator = regulator(Limits { tools: [("ls".to_owned(), 1)].into(), ..Limits::default() });
    feed(&mut regulator, &[call("ls", "1"), came("ls", "x"), call("ls", "2")]);
    assert_eq!(regulator.statistics().run().total().calls, 1);
}

#[test]
fn what_is_exported_is_imported_whole() {
    let limits = Limits {
        tokens: Cap::At(70),
        micros: Cap::Unlimited,
        tools: [("a".to_owned(), 3)].into(),
        ..Limits::default()
    };
    let mut from = regulator(limits);
    let tabs = Event::Correction { kind: "use tabs" };
    feed(&mut from, &[input(7), Event::Cost { micros: 9 }, call("a", "1"), tabs, tabs]);
    let written = serde_json::to_value(from.export()).unwrap();
    let mut into = fresh();
    into.import(Exchange::read(&written).unwrap()).unwrap();
    assert_eq!((into.spent(), into.settings()), (from.spent(), from.settings()));
    assert_eq!(into.export(), from.export());
    assert_eq!(reasons(&feed(&mut into, &[tabs])), ["corrected_before"], "two came along, one is new");
    feed(&mut into, &[input(20)]);
    into.import(Exchange::read(&written).unwrap()).unwrap();
    assert_eq!(into.spent().tokens, 27, "no counter falls");
}

#[test]
fn an_import_that_is_none_is_refused_and_changes_nothing() {
    let good = serde_json::to_value(fresh().export()).unwrap();
    let with = |key: &str, value: serde_json::Value| {
        let mut bad = good.clone();
        bad[key] = value;
        bad
    };
    let kinds = serde_json::to_value({
        let mut regulator = fresh();
        feed(&mut regulator, &[Event::Correction { kind: "tabs" }]);
        regulator.export()
    })
    .unwrap()["corrections"]["kinds"][0]
        .clone();
    let mut crowded = good["corrections"].clone();
    crowded["kinds"] = json!(vec![kinds; 65]);
    let cases = [
        (with("version", json!(9)), "version 9"),
        (json!("text"), "version none"),
        (with("spent", json!(1)), "no export of a guard"),
        (with("more", json!(1)), "unknown field"),
        (with("corrections", crowded), "more kinds"),
        (with("more", json!("x".repeat(2 << 20))), "exceeds"),
    ];
    for (bad, words) in cases {
        let refused = Exchange::read(&bad).unwrap_err();
        assert!(refused.to_string().contains(words), "{refused}");
        assert!(!refused.remedy().is_empty());
    }
    let mut limits = good["limits"].clone();
    limits["truncations"] = json!(0);
    let mut regulator = fresh();
    let never = Exchange::read(&with("limits", limits)).unwrap();
    assert!(regulator.import(never).unwrap_err().to_string().contains("truncations is 0"));
    assert_eq!(regulator, fresh());
}

#[test]
fn settings_of_the_parts_are_checked_and_used() {
    let mut settings = Settings::default();
    settings.quality.fall_window = 1;
    let refused = Regulator::new(settings.clone()).unwrap_err();
    assert!(refused.to_string().contains("fall_window is 1") && !refused.remedy().is_empty());
    settings.quality.fall_window = 2;
    settings.corrections.pattern_at = 1;
    let mut strict = Regulator::new(settings.clone()).unwrap();
    let falls = [Event::Quality { score: 0.5 }, Event::Quality { score: 0.2 }];
    assert_eq!(reasons(&feed(&mut strict, &falls)), ["falling"]);
    let corrected = feed(&mut strict, &[Event::Correction { kind: "tabs" }]);
    assert_eq!(reasons(&corrected), ["falling", "corrected_before"]);
    settings.confidence.spans_max = 0;
    assert!(Regulator::new(settings).unwrap_err().remedy().contains("spans_max"));
}
