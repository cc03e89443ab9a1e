//! One decision out of many events: limits, order, restarts, replays.

mod bounds;
mod recorded;
mod wiring;

use proptest::prelude::*;

use super::*;
use crate::guard::loops::Action;
use crate::guard::preset::Preset;

fn regulator(limits: Limits) -> Regulator {
    Regulator::new(Settings { limits, ..Settings::default() }).unwrap()
}

fn fresh() -> Regulator {
    regulator(Limits::default())
}

fn feed(regulator: &mut Regulator, events: &[Event<'_>]) -> Decision {
    for event in events {
        regulator.feed(event).unwrap();
    }
    let decision = regulator.decide();
    assert_eq!(decision, regulator.decide(), "deciding changes nothing");
    decision
}

fn call<'a>(tool: &'a str, args: &'a str) -> Event<'a> {
    Event::Call(Call { id: None, tool, args, effect: None, repeat: None })
}

fn came<'a>(tool: &'a str, output: &'a str) -> Event<'a> {
    let status = Status::Done { output, ok: Some(true), world: None };
    Event::Result(Outcome { id: None, tool, status })
}

fn failed<'a>(tool: &'a str, output: &'a str) -> Event<'a> {
    Event::Result(Outcome { id: None, tool, status: Status::Done { output, ok: Some(false), world: None } })
}

fn said(text: &str) -> Event<'_> {
    Event::User { origin: Origin::Person, text: Some(text) }
}

fn answer(text: &str) -> Event<'_> {
    Event::Reply(Reply { text, ..Reply::default() })
}

/// "was born in Ulm", of which the model is unsure where.
const UNSURE: [Logprob<'static>; 4] = [
    Logprob { token: "She", logprob: Some(-0.01) },
    Logprob { token: " was born in", logprob: Some(-0.01) },
    Logprob { token: " Ul", logprob: Some(-2.5) },
    Logprob { token: "m", logprob: Some(-1.5) },
];

fn reply(calls: u32, truncated: bool) -> Event<'static> {
    Event::Reply(Reply { text: "", calls, truncated, tokens: Tokens::default() })
}

fn input(tokens: u64) -> Event<'static> {
    Event::Tokens(Tokens { input: tokens, ..Tokens::default() })
}

fn rules(decision: &Decision) -> Vec<(Rule, Verdict)> {
    decision.fired.iter().map(|fired| (fired.rule, fired.verdict)).collect()
}

fn restarted(regulator: &Regulator) -> Regulator {
    serde_json::from_str(&serde_json::to_string(regulator).unwrap()).unwrap()
}

#[test]
fn two_million_tokens_on_two_thousand_stop_without_a_word_about_quality() {
    let mut regulator = regulator(Limits { tokens: Cap::At(2000), ..Limits::default() });
    let decision = feed(&mut regulator, &[input(2_000_000)]);
    assert_eq!(rules(&decision), [(Rule::Cap, Verdict::Stop)]);
}

#[test]
fn fifty_turns_of_bad_work_are_stopped() {
    let mut regulator = fresh();
    let stopped_at = (1..=50).find(|_| {
        let turn = [Event::User { origin: Origin::Person, text: None }, Event::Quality { score: 0.05 }];
        feed(&mut regulator, &turn).verdict == Verdict::Stop
    });
    assert_eq!(stopped_at, Some(5));
}

#[test]
fn work_that_gets_worse_is_stopped_and_work_that_recovers_is_not() {
    let ends = |scores: &[f64]| {
        let events: Vec<Event<'_>> = scores.iter().map(|score| Event::Quality { score: *score }).collect();
        feed(&mut fresh(), &events).verdict == Verdict::Stop
    };
    assert!(ends(&[0.6, 0.5, 0.3]));
    assert!(ends(&[0.45, 0.4, 0.3]), "a fall of 0.15 is one, whatever its last bit says");
    assert!(!ends(&[0.6, 0.3, 0.45]), "fell, and rises again");
    assert!(!ends(&[0.6, 0.5, 0.46]), "too small a fall");
    assert!(!ends(&[0.9, 0.8, 0.6]), "still good");
    assert!(!ends(&[0.6, 0.3]), "too few to tell");
    assert!(!ends(&[0.1, 0.1, 0.2, 0.3, 0.4]), "recovers");
    assert!(!ends(&[0.3; 5]), "just not bad enough");
    assert!(ends(&[0.29; 5]));
}

#[test]
fn events_count_although_nobody_asks_for_decisions() {
    let events: Vec<Event<'_>> = (0..400).map(|_| Event::Step).collect();
    let (mut watched, mut unwatched) = (fresh(), fresh());
    for event in &events {
        watched.feed(event).unwrap();
        let _ = watched.decide();
        unwatched.feed(event).unwrap();
    }
    assert_eq!(unwatched.decide(), watched.decide());
    assert_eq!(unwatched.decide().verdict, Verdict::Stop);
}

#[test]
fn exactly_as_many_model_calls_happen_as_are_allowed_retries_included() {
    let mut regulator = regulator(Limits { steps: Cap::At(5), ..Limits::default() });
    let mut made = 0;
    for _ in 0..20 {
        if feed(&mut regulator, &[Event::Step]).verdict == Verdict::Stop {
            break;
        }
        made += 1;
        // Every second one fails and is tried again: no reply comes.
        if made % 2 == 0 {
            feed(&mut regulator, &[reply(1, false)]);
        }
    }
    assert_eq!(made, 5);
}

#[test]
fn replies_that_nobody_announced_are_steps_and_the_last_may_answer_but_not_ask() {
    let limits = Limits { steps: Cap::At(3), ..Limits::default() };
    let mut asks = regulator(limits.clone());
    assert_eq!(feed(&mut asks, &[reply(1, false), reply(1, false)]).verdict, Verdict::Continue);
    assert_eq!(feed(&mut asks, &[reply(1, false)]).verdict, Verdict::Stop);
    let mut answers = regulator(limits);
    assert_eq!(
        feed(&mut answers, &[reply(1, false), reply(1, false), reply(0, false)]).verdict,
        Verdict::Warn
    );
}

#[test]
fn near_a_limit_there_is_a_warning_that_says_what_is_left() {
    let mut regulator = regulator(Limits { tokens: Cap::At(1000), ..Limits::default() });
    assert_eq!(feed(&mut regulator, &[input(799)]).verdict, Verdict::Continue);
    let near = feed(&mut regulator, &[input(1)]);
    assert_eq!(rules(&near), [(Rule::Cap, Verdict::Warn)]);
    assert!(near.acting().unwrap().notice.starts_with("200 of 1000 tokens are left"), "{near:?}");
    assert_eq!(feed(&mut regulator, &[input(200)]).verdict, Verdict::Warn, "all of it may be used");
    assert_eq!(feed(&mut regulator, &[Event::Step]).verdict, Verdict::Stop, "but no step fits any more");
    assert_eq!(feed(&mut regulator, &[input(1)]).verdict, Verdict::Stop);
}

#[test]
fn zero_is_zero_and_unlimited_is_unlimited() {
    let none = Limits { micros: Cap::At(0), ..Limits::default() };
    assert_eq!(feed(&mut regulator(none.clone()), &[Event::Cost { micros: 0 }]).verdict, Verdict::Continue);
    assert_eq!(feed(&mut regulator(none), &[Event::Cost { micros: 1 }]).verdict, Verdict::Stop);
    let all = Limits { micros: Cap::Unlimited, ..Limits::default() };
    assert_eq!(feed(&mut regulator(all), &[Event::Cost { micros: u64::MAX }]).verdict, Verdict::Continue);
    let no_calls = Limits { tool_calls: Cap::At(0), ..Limits::default() };
    assert_eq!(feed(&mut regulator(no_calls), &[call("a", "")]).verdict, Verdict::Stop);
}

#[test]
fn every_kind_of_token_counts() {
    let mut regulator = regulator(Limits { tokens: Cap::At(9), ..Limits::default() });
    let tokens = Tokens { input: 1, output: 2, cached: 3, reasoning: 4 };
    let said = Event::Reply(Reply { text: "", calls: 0, truncated: false, tokens });
    assert_eq!(feed(&mut regulator, &[said]).verdict, Verdict::Stop);
    assert_eq!(regulator.spent().tokens, 10);
}

#[test]
fn an_amount_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut regulator = fresh();
    feed(&mut regulator, &[input(5), Event::Cost { micros: 5 }, call("a", "1"), call("a", "1")]);
    let before = regulator.clone();
    let bad = [
        input(u64::MAX),
        Event::Tokens(Tokens { input: u64::MAX, output: 1, ..Tokens::default() }),
        Event::Cost { micros: u64::MAX },
        Event::Quality { score: f64::NAN },
        Event::Quality { score: -0.1 },
        Event::Quality { score: f64::INFINITY },
        Event::Drift { share: 1.1 },
        came("never asked for", ""),
    ];
    for event in bad {
        let refused = regulator.feed(&event).unwrap_err();
        assert!(!refused.remedy().is_empty());
        assert_eq!(regulator, before, "{event:?}");
    }
}

#[test]
fn dollars_are_read_exactly_and_rounded_up() {
    let cases = [
        ("0", 0),
        ("0.07", 70_000),
        ("2.5", 2_500_000),
        ("1e-6", 1),
        ("0.0000001", 1),
        ("0.1234567", 123_457),
    ];
    for (text, expected) in cases {
        assert_eq!(micros(text), Ok(expected), "{text}");
    }
    for bad in ["NaN", "inf", "-1", "-0.1", "1e30", "", "1,5", "$1", "99999999999999999999"] {
        let refused = micros(bad).unwrap_err();
        assert!(!refused.remedy().is_empty(), "{bad}");
    }
    assert_eq!(micros("-0"), Ok(0));
}

#[test]
fn a_limit_is_written_as_a_number_or_as_the_word() {
    let limits: Limits = serde_json::from_str(r#"{"steps": 7, "tokens": "unlimited"}"#).unwrap();
    assert_eq!((limits.steps, limits.tokens), (Cap::At(7), Cap::Unlimited));
    assert_eq!(limits.micros, Limits::default().micros, "what is left out keeps its finite default");
    for bad in [
        r#"{"steps": -1}"#,
        r#"{"steps": 1.5}"#,
        r#"{"steps": "none"}"#,
        r#"{"steps": null}"#,
        r#"{"stepz": 1}"#,
    ] {
        assert!(serde_json::from_str::<Limits>(bad).is_err(), "{bad}");
    }
}

#[test]
fn one_tool_may_have_a_limit_of_its_own_and_the_run_goes_on() {
    let tools = [("search".to_owned(), 2)].into();
    let mut regulator = regulator(Limits { tools, ..Limits::default() });
    for args in ["1", "2"] {
        assert_eq!(feed(&mut regulator, &[call("search", args)]).verdict, Verdict::Continue);
        feed(&mut regulator, &[came("search", args)]);
    }
    let third = feed(&mut regulator, &[call("search", "3")]);
    assert_eq!(rules(&third), [(Rule::Iterations, Verdict::Block)]);
    assert_eq!(feed(&mut regulator, &[call("read_file", "3")]).verdict, Verdict::Continue);
}

#[test]
fn calls_beyond_the_limit_are_not_made() {
    let mut regulator = regulator(Limits { tool_calls: Cap::At(3), ..Limits::default() });
    let verdicts: Vec<Verdict> =
        ["1", "2", "3", "4"].iter().map(|args| feed(&mut regulator, &[call("a", args)]).verdict).collect();
    assert_eq!(verdicts, [Verdict::Continue, Verdict::Continue, Verdict::Warn, Verdict::Stop]);
    assert_eq!(regulator.spent().tool_calls, 3);
}

#[test]
fn a_call_of_a_truncated_reply_is_not_made() {
    let mut regulator = fresh();
    let decision = feed(&mut regulator, &[reply(1, true), call("write_file", "{\"path\":")]);
    assert_eq!(rules(&decision), [(Rule::Truncation, Verdict::Block)]);
    assert_eq!(feed(&mut regulator, &[reply(1, false), call("write_file", "{}")]).verdict, Verdict::Continue);
}

#[test]
fn truncated_replies_in_a_row_end_the_run_and_any_other_reply_resets_them() {
    let ended_after = |settings: Settings| {
        let mut regulator = Regulator::new(settings).unwrap();
        feed(&mut regulator, &[reply(0, true), reply(0, true), reply(0, false)]);
        (1..=9).find(|_| {
            let fired = feed(&mut regulator, &[reply(0, true)]).fired;
            fired.iter().any(|fired| fired.rule == Rule::Truncation && fired.verdict == Verdict::Stop)
        })
    };
    assert_eq!(ended_after(Settings::default()), Some(3));
    let preset = Settings::of(Preset::AgentLoopV1, Action::Both, Limits::default());
    assert_eq!(ended_after(preset), Some(5));
}

#[test]
fn a_drifting_answer_warns_until_the_next_one() {
    let mut regulator = fresh();
    assert_eq!(feed(&mut regulator, &[Event::Drift { share: 0.49 }]).verdict, Verdict::Continue);
    assert_eq!(
        rules(&feed(&mut regulator, &[Event::Drift { share: 0.5 }])),
        [(Rule::ScopeDrift, Verdict::Warn)]
    );
    assert_eq!(feed(&mut regulator, &[reply(0, false)]).verdict, Verdict::Continue);
}

#[test]
fn the_third_correction_of_a_kind_is_a_pattern_that_outlives_the_run() {
    let mut regulator = fresh();
    let same = |kind| Event::Correction { kind };
    assert_eq!(
        feed(&mut regulator, &[same("use tabs"), same("Use tabs "), same("shorter")]).verdict,
        Verdict::Continue
    );
    let third = feed(&mut regulator, &[same("use tabs")]);
    assert_eq!(rules(&third), [(Rule::Procedural, Verdict::Warn)]);
    assert_eq!(feed(&mut regulator, &[Event::Run { task: None }]), third);
}

#[test]
fn a_run_begins_with_nothing_used() {
    let mut regulator = fresh();
    feed(&mut regulator, &[Event::Cancel, input(7), call("a", ""), Event::Quality { score: 0.1 }]);
    assert_eq!(feed(&mut regulator, &[Event::Run { task: None }]).verdict, Verdict::Continue);
    assert_eq!(regulator, fresh());
}

#[test]
fn a_loop_that_ended_the_run_is_forgiven_when_a_person_writes() {
    let settings = Settings::of(Preset::AgentLoopV1, Action::Stop, Limits::default());
    let mut regulator = Regulator::new(settings).unwrap();
    for _ in 0..2 {
        feed(&mut regulator, &[call("a", "1"), came("a", "x")]);
    }
    assert_eq!(feed(&mut regulator, &[call("a", "1")]).verdict, Verdict::Stop);
    let other = [Event::Cost { micros: 1 }];
    assert_eq!(rules(&feed(&mut regulator, &other)), [(Rule::ToolLoop, Verdict::Stop)], "it stays stopped");
    assert_eq!(
        feed(&mut regulator, &[Event::User { origin: Origin::Harness, text: None }]).verdict,
        Verdict::Stop
    );
    assert_eq!(
        feed(&mut regulator, &[Event::User { origin: Origin::Person, text: None }]).verdict,
        Verdict::Continue
    );
}

#[test]
fn everything_that_fired_is_reported_in_order_of_urgency() {
    let limits = Limits { steps: Cap::At(1), active_ms: Cap::At(1), micros: Cap::At(1), ..Limits::default() };
    let settings = Settings::of(Preset::AgentLoopV1, Action::Stop, Limits { truncations: 3, ..limits });
    let mut regulator = Regulator::new(settings).unwrap();
    for _ in 0..2 {
        feed(&mut regulator, &[call("a", "1"), came("a", "x")]);
    }
    feed(&mut regulator, &[call("a", "1")]);
    for _ in 0..3 {
        feed(&mut regulator, &[Event::Correction { kind: "tabs" }, Event::Quality { score: 0.1 }]);
    }
    feed(&mut regulator, &[Event::Quality { score: 0.1 }, Event::Quality { score: 0.1 }]);
    for _ in 0..5 {
        feed(&mut regulator, &[reply(0, true)]);
    }
    regulator.at(0, None);
    regulator.at(10, None);
    let all = feed(&mut regulator, &[Event::Drift { share: 0.9 }, Event::Cost { micros: 2 }, Event::Cancel]);
    let order: Vec<Rule> = all.fired.iter().map(|fired| fired.rule).collect();
    let expected = [
        Rule::Cancel,
        Rule::Cap,
        Rule::Deadline,
        Rule::QualityDecline,
        Rule::ToolLoop,
        Rule::Truncation,
        Rule::Iterations,
        Rule::ScopeDrift,
        Rule::Procedural,
    ];
    assert_eq!(order, expected);
    assert_eq!(all.acting().unwrap().rule, Rule::Cancel);
}

#[test]
fn waiting_for_a_person_and_being_down_cost_no_time() {
    let mut regulator = fresh();
    regulator.at(1000, None);
    regulator.at(1500, None);
    regulator.at(90_000, Some(Origin::Person));
    regulator.at(90_100, None);
    regulator.at(80_000, None);
    assert_eq!(regulator.spent().active_ms, 600);
    regulator.resumed();
    regulator.at(9_000_000, None);
    assert_eq!(regulator.spent().active_ms, 600);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let refused = |limits: Limits, preset| {
        let settings = Settings { limits, preset, ..Settings::default() };
        Regulator::new(settings).unwrap_err()
    };
    let limits = Limits { truncations: 0, ..Limits::default() };
    assert_eq!(refused(limits, None), BadSettings::NoTruncations);
    let limits = Limits { steps: Cap::At(0), ..Limits::default() };
    assert_eq!(refused(limits, Some(Preset::AgentLoopV1)), BadSettings::NoSteps);
    let tools = (0..65).map(|number| (number.to_string(), 1)).collect();
    assert_eq!(refused(Limits { tools, ..Limits::default() }, None), BadSettings::TooManyTools { count: 65 });
}

#[test]
fn memory_is_bounded_whatever_is_fed() {
    let mut regulator = regulator(Limits { tool_calls: Cap::Unlimited, ..Limits::default() });
    let long = "x".repeat(400);
    let spoken = vec![Logprob { token: " word", logprob: Some(-9.0) }; 5];
    let mut sizes = Vec::new();
    for number in 0..900 {
        let args = format!("{{\"path\":\"{number}{long}\"}}");
        regulator.feed(&call("read_file", &args)).unwrap();
        regulator.feed(&Event::Correction { kind: &format!("{number} {long}") }).unwrap();
        let tool = format!("tool {number} {long}");
        regulator.feed(&call(&tool, "{}")).unwrap();
        let _blocked = regulator.feed(&failed(&tool, &format!("{long} {number}")));
        regulator.feed(&said(&format!("{number} {}", long.repeat(9)))).unwrap();
        regulator.feed(&Event::Logprobs(&spoken)).unwrap();
        regulator.feed(&Event::Logprobs(&[Logprob { token: ".\n", logprob: None }])).unwrap();
        if number % 300 == 299 {
            sizes.push(serde_json::to_string(&regulator).unwrap().len());
        }
    }
    assert!(sizes.iter().all(|size| *size < 512 * 1024), "{sizes:?}");
    assert!(sizes[2] < sizes[1] + 1024, "{sizes:?}");
}

/// What may happen, small enough that rules really fire.
fn happening() -> impl Strategy<Value = Event<'static>> {
    const ARGS: [&str; 3] = ["{\"path\":\"a\"}", "{\"path\":\"b\"}", "not json"];
    const WORDS: [&str; 3] = [
        "No, use tabs for indentation.",
        "Sum the invoices of March.",
        "Penguins breed on the ice of the south.",
    ];
    let score = prop_oneof![Just(0.05), Just(0.4), Just(0.55), Just(0.9)];
    prop_oneof![
        1 => Just(Event::Run { task: None }),
        1 => prop_oneof![Just(Origin::Person), Just(Origin::Harness)].prop_map(|origin| Event::User { origin, text: None }),
        6 => Just(Event::Step),
        6 => (0..3_u32, prop::bool::weighted(0.2)).prop_map(|(calls, truncated)| reply(calls, truncated)),
        20 => (0..3_usize).prop_map(|args| call("read_file", ARGS[args])),
        20 => Just(came("read_file", "text")),
        4 => (0..200_000_u64).prop_map(input),
        4 => (0..900_000_u64).prop_map(|micros| Event::Cost { micros }),
        3 => score.clone().prop_map(|score| Event::Quality { score }),
        2 => score.prop_map(|share| Event::Drift { share }),
        2 => Just(Event::Correction { kind: "tabs" }),
        2 => prop::sample::select(WORDS.to_vec()).prop_map(said),
        2 => prop::sample::select(WORDS.to_vec()).prop_map(answer),
        3 => Just(Event::Logprobs(&UNSURE)),
        6 => Just(failed("read_file", "Error: no such file")),
    ]
}

/// Feeds what can be fed; a result without its call is refused.
fn feed_any(regulator: &mut Regulator, event: &Event<'_>) -> Decision {
    let _refused = regulator.feed(event);
    regulator.decide()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_replay_and_a_restart_anywhere_give_the_same_decisions(
        events in prop::collection::vec(happening(), 1..80),
        restart in 0..80_usize,
        preset in prop::option::of(prop::sample::select(Preset::ALL.to_vec())),
    ) {
        let settings = Settings { preset, ..Settings::default() };
        let (mut live, mut again) = (Regulator::new(settings.clone()).unwrap(), Regulator::new(settings).unwrap());
        for (at, event) in events.iter().enumerate() {
            if at == restart {
                again = restarted(&again);
            }
            prop_assert_eq!(feed_any(&mut live, event), feed_any(&mut again, event));
        }
        prop_assert_eq!(&live, &again);
    }

    #[test]
    fn counters_never_fall_within_a_run(events in prop::collection::vec(happening(), 1..80)) {
        let mut regulator = fresh();
        for event in &events {
            let before = regulator.spent().clone();
            feed_any(&mut regulator, event);
            let after = regulator.spent();
            let grew = after.steps >= before.steps && after.tokens >= before.tokens
                && after.micros >= before.micros && after.tool_calls >= before.tool_calls;
            let is_new_run = matches!(event, Event::Run { .. });
            prop_assert!(grew || is_new_run);
        }
    }

    #[test]
    fn the_order_in_which_rules_are_told_does_not_change_the_outcome(
        tokens in 0..1_200_000_u64,
        micros in 0..6_000_000_u64,
        share in 0.0..1.0_f64,
        steps in 0..60_usize,
        shuffle in Just(()).prop_perturb(|(), mut chance| chance.random::<u64>()),
    ) {
        let mut events = vec![input(tokens), Event::Cost { micros }, Event::Drift { share }, Event::Cancel];
        events.extend(vec![Event::Step; steps]);
        events.extend(vec![Event::Correction { kind: "tabs" }; 3]);
        let told = feed(&mut fresh(), &events);
        let mut state = shuffle;
        for at in (1..events.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            events.swap(at, usize::try_from(state >> 33).unwrap() % (at + 1));
        }
        prop_assert_eq!(feed(&mut fresh(), &events), told);
    }

    #[test]
    fn low_quality_stops_earlier_and_never_later(tokens in 0..1_200_000_u64, micros in 0..6_000_000_u64) {
        let spend = [input(tokens), Event::Cost { micros }];
        let plain = feed(&mut fresh(), &spend).verdict;
        // Low, but neither falling nor bad enough to stop by itself.
        let low = [Event::Quality { score: 0.45 }; 3];
        let careful = feed(&mut fresh(), &[&low[..], &spend[..]].concat()).verdict;
        prop_assert!(careful >= plain);
        let near = tokens >= 800_000 || micros >= 4_000_000;
        prop_assert_eq!(careful == Verdict::Stop, near);
        let good = [Event::Quality { score: 1.0 }; 5];
        prop_assert_eq!(feed(&mut fresh(), &[&good[..], &spend[..]].concat()).verdict, plain, "never later");
    }

    #[test]
    fn agent_loop_v1_keeps_its_sources_meanings(
        steps in prop::collection::vec((0..3_u32, prop::bool::ANY, 0..40_u64), 0..14),
        max_iterations in 1..8_u64,
        max_cost in prop_oneof![Just(0_u64), 1..120_u64],
    ) {
        let limits = Limits { steps: Cap::At(max_iterations), micros: Cap::At(max_cost), ..Limits::default() };
        let settings = Settings::of(Preset::AgentLoopV1, Action::Both, limits);
        let mut regulator = Regulator::new(settings).unwrap();
        let (mut iterations, mut spent, mut cut_off) = (0_u64, 0_u64, 0);
        for (kind, truncated, cost) in steps {
            regulator.feed(&Event::Step).unwrap();
            iterations += 1;
            let breaks = iterations > max_iterations
                || (max_cost > 0 && spent > max_cost)
                || cut_off >= 5;
            prop_assert_eq!(regulator.decide().verdict == Verdict::Stop, breaks);
            if breaks {
                return Ok(());
            }
            feed_any(&mut regulator, &reply(kind, truncated));
            cut_off = if truncated { cut_off + 1 } else { 0 };
            feed_any(&mut regulator, &Event::Cost { micros: cost });
            spent += cost;
        }
    }
}
