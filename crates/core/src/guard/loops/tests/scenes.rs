//! Loops as agents make them, one scene each.

use super::*;
use crate::guard::RoundTrace;
use crate::guard::loops::world::TARGETS_MAX;
use crate::guard::loops::{Layer, Reason, Rounds};
use crate::tool::Repeat;

#[test]
fn the_same_look_is_blocked_the_second_time_switched_after_three_blocks_and_ended_after_three_more() {
    check(&times(8, &read("a", "text")), ".BBbBBSS");
}

#[test]
fn a_failed_edit_is_blocked_the_second_time_and_code_the_third() {
    check(&times(2, &call("edit", "x", Effect::Write, "no such text", false)), ".B");
    check(&times(3, &exec("test", "2 failed")), "..B");
    check(&times(3, &call("run", "test", Effect::Exec, "boom", false)), "..B");
}

#[test]
fn the_same_call_with_drifting_output_is_blocked_the_sixth_time() {
    let drifting: Vec<_> = (0..7).map(|at| exec("test", &format!("output {at} apples"))).collect();
    check(&drifting, ".....BB");
    let noisy: Vec<_> = (0..3).map(|at| exec("test", &format!("2 failed in 0.{at}s"))).collect();
    check(&noisy, "..B");
}

#[test]
fn two_alternating_calls_are_blocked_by_the_sixth_and_ended_by_the_tenth() {
    check(&rounds(6, &[exec("a", "one"), exec("b", "two")]), "....BBSSSSSS");
    let (said, _) = play(&rounds(5, &[read("a", "one"), read("b", "two")]));
    assert!(said.starts_with("..BBb"), "{said}");
    assert!(said.ends_with('S'), "{said}");
    let cursor = |args: &str| call("page", args, Effect::Cursor, args, true);
    let (said, _) = play(&rounds(5, &[cursor("next"), cursor("back")]));
    assert_eq!(said.find('B'), Some(5), "{said}");
    assert!(said.ends_with('S'), "{said}");
}

#[test]
fn a_cycle_of_three_is_blocked_within_three_periods() {
    let cursor = |args: &str| call("page", args, Effect::Cursor, args, true);
    let cycle = rounds(3, &[cursor("a"), cursor("b"), cursor("c")]);
    check(&cycle, "........B");
    let (_, detector) = play(&cycle[..8]);
    let Verdict::Block(finding) = detector.check(&CallTrace::of("page", "c", Some(Effect::Cursor))) else {
        panic!("the ninth call goes on with the cycle")
    };
    assert_eq!((finding.layer, finding.reason), (Layer::Cycle, Reason::Cycle));
    assert_eq!(finding.setting, "cycle_periods");
}

#[test]
fn a_cycle_of_seventeen_is_stagnation() {
    let cycle: Vec<_> = (0..17)
        .map(|at| call("page", &at.to_string(), Effect::Cursor, &format!("page {at}"), true))
        .collect();
    let (said, detector) = play(&rounds(5, &cycle));
    assert!(!said.contains('B'), "no layer knows such a cycle by its period: {said}");
    assert_eq!(said.chars().last(), Some('S'));
    assert!(said.find('S').is_some_and(|at| at < 3 * 17), "{said}");
    let Verdict::Stop(finding) = detector.check_run() else { panic!("the circuit is broken") };
    assert_eq!(finding.layer, Layer::Stagnation);
    assert!(finding.trail.iter().any(|step| step.reason == Reason::Stagnation));
}

#[test]
fn undoing_and_redoing_an_edit_is_blocked_within_six_edits() {
    check(&rounds(3, &[edit("a to b"), edit("b to a")]), ".....B");
}

#[test]
fn a_workspace_that_swings_between_two_states_is_no_progress() {
    let to = |args: &str, state: &str| {
        let call = CallTrace::of("server", args, Some(Effect::Exec));
        Happening::Call {
            call,
            output: OutputTrace::of("done", Some(true)),
            world: Some(Digest::of(state.as_bytes())),
        }
    };
    // Other arguments each time: only the fingerprint shows that nothing is gained.
    let swings: Vec<_> =
        (0..12).map(|at| to(&at.to_string(), if at % 2 == 0 { "one" } else { "two" })).collect();
    let (said, detector) = play(&swings);
    assert!(said.contains('S'), "{said}");
    let Verdict::Stop(finding) = detector.check_run() else { panic!("the circuit is broken") };
    assert_eq!(finding.reason, Reason::Oscillation);
    let marches: Vec<_> = (0..12).map(|at| to(&at.to_string(), &at.to_string())).collect();
    check(&marches, "............");
}

#[test]
fn a_read_tool_that_finds_nothing_under_ever_new_noise_is_blocked_the_fifth_time() {
    let nothing: Vec<_> = (0..5)
        .map(|at| call("search", &format!(r#"{{"q":"x","nonce":{at}}}"#), Effect::Read, "[]", true))
        .collect();
    check(&nothing, "....B");
}

#[test]
fn a_shell_that_finds_nothing_five_times_is_not_blocked() {
    let nothing: Vec<_> = (0..6)
        .map(|at| {
            let call = CallTrace::of("bash", &format!(r#"{{"command":"grep x{at} f"}}"#), None);
            Happening::Call { call, output: OutputTrace::of("", Some(false)), world: None }
        })
        .collect();
    check(&nothing, "......");
}

#[test]
fn reading_five_files_is_nothing() {
    let files: Vec<_> = (0..5).map(|at| read(&format!("file {at}"), &format!("text {at} here"))).collect();
    let (said, detector) = play(&files);
    assert_eq!(said, ".....");
    assert_eq!(detector.evidence(), 0);
}

#[test]
fn testing_and_editing_ten_times_is_never_blocked() {
    let test = exec("test", "1 failed");
    let by_tool: Vec<_> = (0..10).flat_map(|at| [test.clone(), edit(&format!("edit {at}"))]).collect();
    check(&by_tool, &".".repeat(20));
    let sed = |at: u32| {
        let call = CallTrace::of("bash", &format!(r#"{{"command":"sed -i {at}d f"}}"#), None);
        Happening::Call { call, output: OutputTrace::of("", Some(true)), world: None }
    };
    let by_shell: Vec<_> = (0..10).flat_map(|at| [test.clone(), sed(at)]).collect();
    check(&by_shell, &".".repeat(20));
    // A server nobody knows, always called alike: the fingerprint tells.
    let by_server: Vec<_> = (0..10_u32)
        .flat_map(|at| {
            let world = |at: u32| Some(Digest::of(&at.to_be_bytes()));
            let step = |args: &str, output: &str, world| Happening::Call {
                call: CallTrace::of("server", args, Some(Effect::Exec)),
                output: OutputTrace::of(output, Some(true)),
                world,
            };
            [step("test", "1 failed", world(at)), step("improve", "done", world(at + 1))]
        })
        .collect();
    check(&by_server, &".".repeat(20));
}

#[test]
fn a_look_after_an_edit_or_after_code_is_made_again() {
    check(&[read("a", "old"), edit("a"), read("a", "new")], "...");
    check(&[read("a", "old"), exec("generate", "ok"), read("a", "new")], "...");
    // The same code with the same output again tells of no further change.
    check(&[exec("make", "ok"), read("a", "x"), exec("make", "ok"), read("a", "x")], "...B");
}

#[test]
fn an_edit_of_another_file_does_not_outdate_a_look_at_this_one() {
    let view = |path: &str| {
        let call = CallTrace::of("editor", &format!(r#"{{"command":"view","path":"{path}"}}"#), None);
        Happening::Call { call, output: OutputTrace::of("text", Some(true)), world: None }
    };
    let insert = |path: &str| {
        let call = CallTrace::of("editor", &format!(r#"{{"command":"insert","path":"{path}"}}"#), None);
        Happening::Call { call, output: OutputTrace::of("edited", Some(true)), world: None }
    };
    check(&[view("/w/a.py"), insert("/w/b.py"), view("/w/a.py")], "..B");
    check(&[view("/w/a.py"), insert("/w/a.py"), view("/w/a.py")], "...");
    check(&[view("/w"), insert("/w/a.py"), view("/w")], "...");
}

#[test]
fn a_declared_poll_may_see_twenty_outputs_and_has_its_own_maximum() {
    let poll = |at: usize| call("job", "7", Effect::Poll, &format!("{at} of 20 done"), true);
    check(&(0..20).map(poll).collect::<Vec<_>>(), &".".repeat(20));
    let (said, detector) = play(&times(60, &call("job", "7", Effect::Poll, "running", true)));
    assert_eq!(said, format!("{}B", ".".repeat(59)));
    assert_eq!(detector.evidence(), Settings::default().weights.blocked.unsigned_abs());
}

#[test]
fn a_hallucinated_tool_is_blocked_the_third_time() {
    let unknown = |args: &str| Happening::Unknown(CallTrace::of("frobnicate", args, None));
    let (said, detector) = play(&[unknown("1"), unknown("2"), unknown("3")]);
    assert_eq!(said, "..B");
    assert_eq!(detector.counters().unknown, 2);
}

#[test]
fn a_refused_call_counts_and_is_blocked_the_third_time() {
    let denied = Happening::Denied(CallTrace::of("rm", "x", None));
    let (said, detector) = play(&times(3, &denied));
    assert_eq!(said, "..B");
    assert!(detector.evidence() > 0);
}

#[test]
fn the_third_truncated_reply_in_a_row_ends_the_run() {
    let cut = Happening::Reply(ReplyTrace::of("", 0, true));
    let whole = Happening::Reply(ReplyTrace::of("", 1, false));
    check(&[cut.clone(), cut.clone(), whole, cut.clone(), cut.clone()], "");
    check(&times(3, &cut), "S");
    let patient = Settings { truncated_at: 5, threshold: 1000, ..Settings::default() };
    assert_eq!(play_with(&patient, &times(4, &cut)).0, "");
    assert_eq!(play_with(&patient, &times(5, &cut)).0, "S");
}

#[test]
fn retries_of_the_infrastructure_are_no_loop() {
    let (_, detector) = play(&times(50, &Happening::Retry));
    assert_eq!((detector.evidence(), detector.stage()), (0, Stage::Watching));
    assert_eq!(detector.counters().retries, 50);
}

#[test]
fn the_same_kind_of_error_under_ever_new_arguments_ends_the_run() {
    let failing: Vec<_> = (0..20)
        .map(|at| {
            call("edit", &at.to_string(), Effect::Write, &format!("no text like `{at}` in line {at}"), false)
        })
        .collect();
    let (said, detector) = play(&failing);
    assert!(said.ends_with('S') && !said.contains('B'), "{said}");
    let Verdict::Stop(finding) = detector.check_run() else { panic!("the circuit is broken") };
    assert!(finding.trail.iter().any(|step| step.reason == Reason::SameError));
}

#[test]
fn a_monologue_ends_the_run() {
    let talk = Happening::Reply(ReplyTrace::of("I will now fix the bug in the parser.", 0, false));
    let mut scene = vec![read("a", "x"), read("a", "x")];
    scene.extend(times(20, &talk));
    let (said, detector) = play(&scene);
    assert!(said.ends_with('S'), "{said}");
    assert_eq!(detector.stage(), Stage::Broken);
}

#[test]
fn saying_the_same_while_getting_on_is_no_evidence() {
    let scene: Vec<_> = (0..20)
        .flat_map(|at| {
            let reply =
                Happening::Reply(ReplyTrace::of("Let me go on with the next file of the list.", 1, false));
            [reply, read(&at.to_string(), &format!("text {at} here"))]
        })
        .collect();
    let (_, detector) = play(&scene);
    assert_eq!(detector.evidence(), 0);
}

#[test]
fn a_person_resets_everything_and_the_harness_nothing() {
    let looped = times(4, &read("a", "x"));
    let mut forgiven = looped.clone();
    forgiven.push(Happening::User(Origin::Person));
    forgiven.extend(looped.clone());
    check(&forgiven, ".BBb.BBb");
    let mut held = looped.clone();
    held.push(Happening::User(Origin::Harness));
    held.extend(looped);
    check(&held, ".BBbBBSS");
}

#[test]
fn something_new_between_blocks_forgives_them() {
    let mut scene = vec![read("a", "x")];
    for at in 0..6 {
        scene.extend([read("a", "x"), read(&format!("b{at}"), &format!("new {at} text"))]);
    }
    let (said, detector) = play(&scene);
    assert_eq!(said, format!(".{}", "B.".repeat(6)));
    assert_eq!(detector.stage(), Stage::Watching);
}

#[test]
fn with_block_only_nothing_ends_and_with_stop_only_nothing_is_blocked() {
    let scene = times(20, &read("a", "x"));
    let block = Settings { action: Action::Block, ..Settings::default() };
    assert!(!play_with(&block, &scene).0.contains('S'));
    let stop = Settings { action: Action::Stop, ..Settings::default() };
    let (said, _) = play_with(&stop, &scene);
    assert!(!said.contains('B') && said.contains('S'), "{said}");
}

#[test]
fn the_switch_is_announced_once() {
    let (_, mut detector) = play(&times(4, &read("a", "x")));
    let notice = detector.switch_due().unwrap();
    assert_eq!(notice.reason, Reason::Blocked);
    assert!(!notice.trail.is_empty() && !notice.notice.is_empty());
    detector.record_switch();
    assert_eq!(detector.switch_due(), None);
    assert_eq!(detector.stage(), Stage::Switched);
}

#[test]
fn a_lower_threshold_never_ends_a_run_later() {
    let mut last = usize::MAX;
    for threshold in [400, 200, 100, 50, 10] {
        let settings = Settings { action: Action::Stop, threshold, ..Settings::default() };
        let said = play_with(&settings, &rounds(30, &[exec("a", "x"), read("b", "y")])).0;
        let at = said.find('S').unwrap_or(said.len());
        assert!(at <= last, "{threshold}: {said}");
        last = at;
    }
}

#[test]
fn a_call_twice_in_one_batch_is_made_once_unless_it_must_not_be_folded() {
    let look = CallTrace::of("get", "{}", None);
    let other = CallTrace::of("get", "{\"a\":1}", None);
    let send = CallTrace::of("send", "{}", None);
    let safe = send.with_repeat(Repeat::WithSameKey);
    assert_eq!(Detector::duplicates(&[look, other, look, look]), [None, None, Some(0), Some(0)]);
    assert_eq!(Detector::duplicates(&[send, send]), [None, None]);
    assert_eq!(Detector::duplicates(&[safe, safe]), [None, Some(0)]);
    assert_eq!(Detector::duplicates(&[look, safe, look, look]), [None, None, None, Some(2)]);
    let undo = CallTrace::of("send", "{\"back\":1}", None).with_repeat(Repeat::WithSameKey);
    assert_eq!(Detector::duplicates(&[safe, undo, safe]), [None, None, None], "meant twice");
    assert_eq!(Detector::duplicates(&[]), []);
}

#[test]
fn a_repair_round_like_an_earlier_one_is_reported() {
    let long = |word: &str| {
        format!("{word} ").repeat(5)
            + "the parser returns the wrong line for nested blocks in the second pass"
    };
    let mut rounds = Rounds::default();
    let mut record = |output: &str, diagnosis: &str| {
        let round = RoundTrace::of(output, diagnosis);
        let like = rounds.like(&round, Settings::default().similar_percent);
        rounds.record(round);
        like
    };
    let same = "off by one in the loop over all lines";
    assert_eq!(record(&long("a"), same), None);
    assert_eq!(record("something else entirely, from another place", "other"), None);
    assert_eq!(record(&long("a"), "an unrelated diagnosis of the matter"), None);
    assert_eq!(record(&long("a"), same), Some(3));
    for at in 0..8 {
        record(&format!("filler number {at} with its own words"), "x y z");
    }
    assert_eq!(record(&long("a"), same), None, "only the last eight rounds are remembered");
}

#[test]
fn a_poll_at_its_maximum_and_a_stubborn_look_are_told_apart() {
    let reason = |happening: Happening, times: usize| {
        let settings = Settings { action: Action::Block, read_repeats: 99, ..Settings::default() };
        let mut detector = Detector::new(settings.clone());
        assert_eq!(detector.settings(), &settings);
        let Happening::Call { call, output, .. } = happening else { panic!("no call") };
        (0..times).for_each(|_| detector.record_call(&call, &output, None));
        match detector.check(&call) {
            Verdict::Block(finding) | Verdict::Stop(finding) => Some((finding.reason, finding.times)),
            Verdict::Allow => None,
        }
    };
    let settings = Settings::default();
    let (poll_at, stubborn_at) = (settings.poll_at as usize, settings.stubborn_at as usize);
    let poll = || call("job", "7", Effect::Poll, "waiting", true);
    assert_eq!(reason(poll(), poll_at - 1), Some((Reason::PolledOut, settings.poll_at)));
    assert_eq!(reason(read("a", "x"), stubborn_at - 1), Some((Reason::Stubborn, settings.stubborn_at)));
}

#[test]
fn every_reason_has_words_of_its_own() {
    let all = [
        Reason::SameInARow,
        Reason::SameInOneWorld,
        Reason::SameChange,
        Reason::Oscillation,
        Reason::Stubborn,
        Reason::PolledOut,
        Reason::SeenOutput,
        Reason::SeenError,
        Reason::SameError,
        Reason::FailuresInARow,
        Reason::NameStreak,
        Reason::Cycle,
        Reason::Stagnation,
        Reason::EmptyInARow,
        Reason::SimilarText,
        Reason::SameOpening,
        Reason::RepliesWithoutCall,
        Reason::Truncated,
        Reason::UnknownTool,
        Reason::Denied,
        Reason::Blocked,
        Reason::DuplicateInBatch,
        Reason::SimilarRound,
        Reason::NewChange,
        Reason::NewOutput,
        Reason::NewError,
        Reason::ChangedResult,
    ];
    let words: std::collections::BTreeSet<&str> = all.iter().map(|reason| reason.words()).collect();
    assert_eq!(words.len(), all.len());
    for reason in all {
        assert!(reason.words().contains(' ') && reason.advice().contains(' '), "{reason:?}");
        assert!(!reason.setting().is_empty());
    }
    assert_eq!(Reason::Stagnation.words(), "nothing new");
}

#[test]
fn what_was_seen_is_outdated_when_somebody_else_changed_the_world() {
    let (_, mut detector) = play(&[read("a", "text")]);
    let Happening::Call { call, .. } = read("a", "text") else { panic!("no call") };
    assert!(matches!(detector.check(&call), Verdict::Block(_)));
    detector.record_elsewhere();
    assert_eq!(detector.check(&call), Verdict::Allow);
}

#[test]
fn a_plain_repeat_is_no_cycle() {
    let next = call("next", "page", Effect::Cursor, "the end", true);
    let Happening::Call { call, output, .. } = &next else { panic!("no call") };
    let mut detector = Detector::new(Settings { stubborn_at: 99, ..Settings::default() });
    for _ in 0..12 {
        match detector.check(call) {
            Verdict::Block(finding) | Verdict::Stop(finding) => assert_ne!(finding.reason, Reason::Cycle),
            Verdict::Allow => {}
        }
        detector.record_call(call, output, None);
        assert!(detector.ladder.trail().all(|step| step.reason != Reason::Cycle));
    }
}

#[test]
fn every_further_repeat_in_a_row_weighs_as_much_as_the_last_that_has_a_weight() {
    let Happening::Call { call, output, .. } = exec("make", "done") else { panic!("no call") };
    let mut detector = Detector::new(Settings::default());
    (0..9).for_each(|_| detector.record_call(&call, &output, None));
    let repeats = detector.ladder.trail().filter(|step| step.reason == Reason::SameInARow);
    let points: Vec<i32> = repeats.map(|step| step.points).collect();
    let weights = Settings::default().weights.same_in_a_row;
    assert_eq!(points.last(), weights.last(), "{points:?}");
    assert!(points.len() > weights.len(), "{points:?}");
}

#[test]
fn a_file_whose_change_was_forgotten_for_want_of_room_may_be_looked_at_again() {
    let editor = |command: &str, file: usize| {
        let args = format!(r#"{{"command":"{command}","path":"/w/{file}.py"}}"#);
        CallTrace::of("editor", &args, None)
    };
    let mut detector = Detector::new(Settings { action: Action::Block, ..Settings::default() });
    let text = OutputTrace::of("text", Some(true));
    detector.record_call(&editor("view", 0), &text, None);
    assert!(matches!(detector.check(&editor("view", 0)), Verdict::Block(_)));
    for file in 0..=TARGETS_MAX {
        detector.record_call(
            &editor("insert", file),
            &OutputTrace::of(&format!("edit {file}"), Some(true)),
            None,
        );
    }
    assert_eq!(detector.check(&editor("view", 0)), Verdict::Allow);
}
