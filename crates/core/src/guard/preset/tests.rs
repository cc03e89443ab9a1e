//! Each rule row by row, then against a naive reading of its source: lists of
//! whole texts, searched from the front.

use proptest::prelude::*;

use super::*;

fn ls() -> Asked {
    ask("bash", r#"{"command":"ls"}"#)
}

fn ask(tool: &str, args: &str) -> Asked {
    Asked::of(tool, args)
}

/// Runs a call through a rule as a caller would; says whether it was blocked.
fn step(rule: &mut Rule, call: &Asked, output: &str, ok: Option<bool>) -> Option<Cause> {
    let cause = rule.check(call);
    assert_eq!(cause, rule.check(call), "asking changes nothing");
    match cause {
        Some(_) => rule.blocked(call),
        None => rule.record(call, output, ok),
    }
    cause
}

fn causes(preset: Preset, calls: &[(&str, &str, &str)]) -> Vec<Option<Cause>> {
    let mut rule = preset.rule();
    calls.iter().map(|(tool, args, output)| step(&mut rule, &ask(tool, args), output, None)).collect()
}

#[test]
fn every_preset_is_found_by_its_name() {
    for preset in Preset::ALL {
        assert_eq!(Preset::parse(preset.name()), Some(preset));
        assert_eq!(serde_json::to_value(preset).unwrap(), preset.name());
    }
    assert_eq!(Preset::parse("agent-loop"), None);
}

#[test]
fn the_same_call_is_blocked_the_third_time_in_a_run_whatever_came_between() {
    let mut rule = Preset::AgentLoopV1.rule();
    for round in 1..=2 {
        assert_eq!(step(&mut rule, &ls(), &format!("{round}"), Some(true)), None);
        assert_eq!(step(&mut rule, &ask("edit_file", &format!("{round}")), "ok", Some(true)), None);
        rule.user(Origin::Person);
    }
    assert_eq!(step(&mut rule, &ls(), "3", Some(true)), Some(Cause::SameCall { times: 3 }));
    assert_eq!(step(&mut rule, &ls(), "4", Some(true)), Some(Cause::SameCall { times: 4 }));
    assert_eq!(step(&mut rule, &ask("bash", r#"{"command":"pwd"}"#), "/", Some(true)), None);
}

#[test]
fn as_many_different_calls_as_are_remembered_are_and_one_more_forgets_the_oldest() {
    let mut rule = Preset::AgentLoopV1.rule();
    for _ in 0..2 {
        assert_eq!(step(&mut rule, &ls(), "", None), None);
    }
    for number in 0..4095 {
        rule.record(&ask("bash", &number.to_string()), "", None);
    }
    assert_eq!(rule.check(&ls()), Some(Cause::SameCall { times: 3 }));
    rule.record(&ask("bash", "4095"), "", None);
    assert_eq!(rule.check(&ls()), None);
}

#[test]
fn a_streak_of_five_fires_and_says_how_deep_it_is() {
    let mut rule = Preset::NameStreak.rule();
    let mut depths = Vec::new();
    for number in 0..8 {
        let cause = step(&mut rule, &ask("search", &number.to_string()), "", None);
        depths.extend(cause.map(|cause| match cause {
            Cause::NameStreak { depth } => depth,
            Cause::SameCall { .. } | Cause::SameResult { .. } | Cause::AnyResult { .. } => 0,
        }));
    }
    assert_eq!(depths, [5, 6, 7, 8]);
}

#[test]
fn another_tool_or_another_turn_ends_a_streak() {
    let a = ("a", "", "");
    let b = ("b", "", "");
    assert!(causes(Preset::NameStreak, &[a, a, a, a, b, a, a, a, a]).iter().all(Option::is_none));
    let mut rule = Preset::NameStreak.rule();
    for origin in [Origin::Person, Origin::Harness] {
        for _ in 0..4 {
            assert_eq!(step(&mut rule, &ls(), "", None), None);
        }
        rule.user(origin);
    }
    assert_eq!(
        step(&mut rule, &ls(), "", None),
        Some(Cause::NameStreak { depth: 5 }),
        "the harness is nobody"
    );
}

#[test]
fn the_third_identical_result_is_blocked_and_blocked_calls_are_not_recorded() {
    let same = ("bash", "make", "error");
    let found = causes(Preset::CrossBatch, &[same; 6]);
    let blocked = Some(Cause::SameResult { ran: 2 });
    assert_eq!(
        found,
        [None, None, blocked, blocked, blocked, blocked],
        "two ran, however often it was asked"
    );
}

#[test]
fn a_drifting_result_is_blocked_the_sixth_time_with_another_message() {
    let mut rule = Preset::CrossBatch.rule();
    for number in 0..5 {
        assert_eq!(step(&mut rule, &ls(), &number.to_string(), None), None);
    }
    let cause = step(&mut rule, &ls(), "5", None).unwrap();
    assert_eq!(cause, Cause::AnyResult { ran: 5 });
    assert!(cause.notice("bash").contains("differs"));
    assert!(Cause::SameResult { ran: 5 }.notice("bash").contains("the same each time"));
    assert_ne!(cause.word(), Cause::SameResult { ran: 5 }.word());
}

#[test]
fn success_is_part_of_the_result() {
    let mut rule = Preset::CrossBatch.rule();
    assert_eq!(step(&mut rule, &ls(), "x", Some(true)), None);
    assert_eq!(step(&mut rule, &ls(), "x", Some(false)), None);
    assert_eq!(step(&mut rule, &ls(), "x", Some(true)), None);
}

#[test]
fn a_new_successful_edit_forgets_what_ran_before_it() {
    let test = ("bash", "test", "failed");
    let edit = |args| ("edit_file", args, "ok");
    let found = causes(Preset::CrossBatch, &[test, test, edit("1"), test, test, test]);
    assert_eq!(found.iter().position(Option::is_some), Some(5), "counted anew after the edit");
    let found = causes(Preset::CrossBatch, &[edit("1"), test, test, edit("1"), test]);
    assert_eq!(found.last(), Some(&Some(Cause::SameResult { ran: 2 })), "the same edit again is no news");
    let mut rule = Preset::CrossBatch.rule();
    step(&mut rule, &ls(), "x", None);
    step(&mut rule, &ls(), "x", None);
    step(&mut rule, &ask("edit_file", "2"), "no such file", Some(false));
    assert!(rule.check(&ls()).is_some(), "an edit that failed changed nothing");
}

#[test]
fn only_the_variant_knows_editors_that_name_the_edit_in_their_arguments() {
    let view = ("str_replace_editor", r#"{"command":"view","path":"a"}"#, "text");
    let edit = ("str_replace_editor", r#"{"command":"create","path":"b"}"#, "ok");
    let calls = [view, view, edit, view];
    assert!(causes(Preset::CrossBatch, &calls).last().unwrap().is_some());
    assert!(causes(Preset::CrossBatchEditors, &calls).last().unwrap().is_none());
    let other = ("str_replace_editor", r#"{"command":"view","path":"b"}"#, "ok");
    assert!(causes(Preset::CrossBatchEditors, &[view, view, other, view]).last().unwrap().is_some());
}

#[test]
fn a_call_that_leaves_the_window_is_forgotten() {
    let mut rule = Preset::CrossBatch.rule();
    step(&mut rule, &ls(), "x", None);
    step(&mut rule, &ls(), "x", None);
    for number in 0..30 {
        assert!(rule.check(&ls()).is_some());
        step(&mut rule, &ask("read", &number.to_string()), "y", None);
    }
    assert!(rule.check(&ls()).is_some(), "32 calls: both are still there");
    step(&mut rule, &ask("read", "last"), "y", None);
    assert!(rule.check(&ls()).is_none());
}

#[test]
fn white_space_and_key_order_do_not_make_another_call() {
    for preset in [Preset::AgentLoopV1, Preset::CrossBatch] {
        let variants = [r#"{"a":1,"b":"x"}"#, r#"{ "a": 1, "b": "x" }"#, r#"{"b":"x","a":1}"#];
        let calls = variants.map(|args| ("glob", args, "out"));
        assert!(causes(preset, &calls).last().unwrap().is_some(), "{preset:?}");
        let apart = [r#"{"a":1}"#, r#"{"a":1.0}"#, r#"{"a":"1"}"#].map(|args| ("glob", args, "out"));
        assert!(causes(preset, &apart).iter().all(Option::is_none), "{preset:?}");
    }
}

#[test]
fn tool_and_arguments_do_not_run_together() {
    for preset in [Preset::AgentLoopV1, Preset::CrossBatch] {
        let found = causes(preset, &[("foo", "bar", ""), ("foo", "bar", ""), ("foob", "ar", "")]);
        assert!(found.iter().all(Option::is_none));
    }
}

#[test]
fn memory_is_bounded() {
    for preset in Preset::ALL {
        let mut rule = preset.rule();
        for number in 0..10_000 {
            rule.record(&ask("read", &number.to_string()), "x", None);
        }
        let size = serde_json::to_string(&rule).unwrap().len();
        assert!(size < 4096 * 150, "{preset:?}: {size}");
    }
}

/// What can happen to a rule.
#[derive(Clone, Debug)]
enum Happening {
    User(Origin),
    Call { tool: usize, args: usize, output: usize, ok: Option<bool> },
}

const TOOLS: [&str; 4] = ["bash", "edit_file", "str_replace_editor", "read"];
const ARGS: [&str; 4] = [r#"{"command":"view"}"#, r#"{"command":"create"}"#, "plain", "2"];
const OUTPUTS: [&str; 2] = ["same", "other"];

fn happening() -> impl Strategy<Value = Happening> {
    let user = prop_oneof![Just(Origin::Person), Just(Origin::Harness)].prop_map(Happening::User);
    let ok = prop_oneof![4 => Just(None), 4 => Just(Some(true)), 1 => Just(Some(false))];
    // Few different calls, so that rules really fire.
    let call = (0..4_usize, 0..4_usize, prop_oneof![6 => Just(0_usize), 1 => Just(1)], ok)
        .prop_map(|(tool, args, output, ok)| Happening::Call { tool, args, output, ok });
    prop_oneof![1 => user, 24 => call]
}

/// The sources, read naively: everything that ever happened, as texts.
#[derive(Default)]
struct Naive {
    /// Everything asked for in the run, blocked or not.
    asked: Vec<(String, String)>,
    /// Everything asked for in the turn.
    turn: Vec<String>,
    /// Everything that ran since the turn or the last new edit.
    ran: Vec<(String, String, String, bool)>,
}

impl Naive {
    fn fires(&self, preset: Preset, tool: &str, args: &str) -> bool {
        match preset {
            Preset::AgentLoopV1 => {
                self.asked.iter().filter(|asked| *asked == &(tool.into(), args.into())).count() >= 2
            }
            Preset::NameStreak => {
                self.turn.len() >= 4 && self.turn[self.turn.len() - 4..].iter().all(|last| last == tool)
            }
            Preset::CrossBatch | Preset::CrossBatchEditors => {
                let window = &self.ran[self.ran.len().saturating_sub(32)..];
                let same: Vec<_> = window.iter().filter(|ran| ran.0 == tool && ran.1 == args).collect();
                let stable = same.windows(2).all(|two| two[0].2 == two[1].2 && two[0].3 == two[1].3);
                same.len() >= 5 || (same.len() >= 2 && stable)
            }
        }
    }

    fn ran(&mut self, preset: Preset, (tool, args): (&str, &str), output: &str, ok: bool) {
        let window = &self.ran[self.ran.len().saturating_sub(32)..];
        let is_new = !window.iter().any(|ran| ran.0 == tool && ran.1 == args);
        let editor =
            preset == Preset::CrossBatchEditors && tool == "str_replace_editor" && args.contains("create");
        if ok && is_new && (tool == "edit_file" || editor) {
            self.ran.clear();
        }
        self.ran.push((tool.into(), args.into(), output.into(), ok));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_rule_agrees_with_a_naive_reading_of_its_source_even_over_restarts(
        happenings in prop::collection::vec(happening(), 0..120),
        restart in 0..120_usize,
    ) {
        for preset in Preset::ALL {
            let mut rule = preset.rule();
            let mut naive = Naive::default();
            for (at, happening) in happenings.iter().enumerate() {
                if at == restart {
                    rule = serde_json::from_str(&serde_json::to_string(&rule).unwrap()).unwrap();
                }
                match happening {
                    Happening::User(origin) => {
                        rule.user(*origin);
                        if *origin == Origin::Person {
                            naive.turn.clear();
                            naive.ran.clear();
                        }
                    }
                    Happening::Call { tool, args, output, ok } => {
                        let (tool, args, output) = (TOOLS[*tool], ARGS[*args], OUTPUTS[*output]);
                        let cause = step(&mut rule, &ask(tool, args), output, *ok);
                        prop_assert_eq!(cause.is_some(), naive.fires(preset, tool, args), "{:?} at {}", preset, at);
                        naive.asked.push((tool.into(), args.into()));
                        naive.turn.push(tool.into());
                        if cause.is_none() {
                            naive.ran(preset, (tool, args), output, ok.unwrap_or(true));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn no_text_makes_a_rule_panic(tool in ".*", args in ".*", output in ".*") {
        for preset in Preset::ALL {
            let mut rule = preset.rule();
            for _ in 0..7 {
                step(&mut rule, &ask(&tool, &args), &output, None);
            }
            prop_assert!(rule.check(&ask(&tool, &args)).is_some());
        }
    }
}
