//! What holds whatever an agent does.

use proptest::prelude::*;

use super::super::Evidence;
use super::super::recent::Recent;
use super::super::window::WINDOW_MAX;
use super::*;
use crate::guard::Sketch;

fn effects() -> impl Strategy<Value = Effect> {
    prop_oneof![
        Just(Effect::Read),
        Just(Effect::Write),
        Just(Effect::Exec),
        Just(Effect::Cursor),
        Just(Effect::Poll)
    ]
}

fn happenings() -> impl Strategy<Value = Happening> {
    let made = (0..4_u8, effects(), 0..4_u8, any::<bool>(), proptest::option::of(0..3_u8)).prop_map(
        |(args, effect, output, ok, world)| {
            let call = CallTrace::of("tool", &args.to_string(), Some(effect));
            let output = OutputTrace::of(&"x".repeat(output.into()), Some(ok));
            Happening::Call { call, output, world: world.map(|state| Digest::of(&[state])) }
        },
    );
    prop_oneof![
        8 => made,
        1 => (0..2_u8).prop_map(|args| Happening::Unknown(CallTrace::of("none", &args.to_string(), None))),
        1 => (0..2_u8).prop_map(|args| Happening::Denied(CallTrace::of("no", &args.to_string(), None))),
        1 => Just(Happening::Retry),
        3 => (0..3_u8, 0..2_u32, any::<bool>())
            .prop_map(|(text, calls, cut)| Happening::Reply(ReplyTrace::of(&"word ".repeat(text.into()), calls, cut))),
        1 => prop_oneof![Just(Origin::Person), Just(Origin::Harness)].prop_map(Happening::User),
    ]
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![Just(Action::Block), Just(Action::Stop), Just(Action::Both)]
}

proptest! {
    // Each case restarts before every happening, so a few of them go a long way.
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_restart_at_any_point_changes_nothing(scene in prop::collection::vec(happenings(), 0..60), action in actions()) {
        // `play_with` restarts before every happening, and asks every question twice.
        let settings = Settings { action, ..Settings::default() };
        let (said, _) = play_with(&settings, &scene);
        prop_assert!(action != Action::Block || !said.contains('S'));
        prop_assert!(action != Action::Stop || !said.contains(['B', 'b']));
    }

    #[test]
    fn counters_never_fall_and_replay_is_live(scene in prop::collection::vec(happenings(), 0..60)) {
        let mut live = Detector::new(Settings::default());
        let mut said = Said::new();
        for happening in &scene {
            let before = serde_json::to_value(live.counters()).unwrap();
            happen(&mut live, happening, &mut said);
            let after = serde_json::to_value(live.counters()).unwrap();
            for (name, count) in before.as_object().unwrap() {
                prop_assert!(after[name].as_u64() >= count.as_u64(), "{} fell", name);
            }
        }
        let (said_again, replayed) = play(&scene);
        prop_assert_eq!(said, said_again);
        prop_assert_eq!(live, replayed);
    }

    #[test]
    fn settings_of_any_size_never_panic(
        scene in prop::collection::vec(happenings(), 0..40),
        numbers in prop::collection::vec(any::<u32>(), 5),
        weight: i32,
    ) {
        let mut settings = Settings {
            threshold: numbers[0],
            stubborn_at: numbers[1] % 4,
            cycle_periods: numbers[2],
            blocks: numbers[3] % 3,
            truncated_at: numbers[4] % 3,
            ..Settings::default()
        };
        settings.weights.same_error = weight;
        settings.weights.similar_text = weight;
        settings.weights.same_in_one_world = weight;
        play_with(&settings, &scene);
    }
}

#[test]
fn memory_stays_below_its_bound_whatever_is_seen() {
    let mut detector = Detector::new(Settings { action: Action::Block, ..Settings::default() });
    let mut said = Said::new();
    for at in 0..600_u32 {
        let text = format!("{at} {}", at % 7);
        let path = format!(r#"{{"command":"insert","path":"/w/{at}.py"}}"#);
        let targeted = CallTrace::of("editor", &path, None);
        let output = OutputTrace::of(&text, Some(at % 3 == 0));
        happen(&mut detector, &Happening::Call { call: targeted, output, world: None }, &mut said);
        let call = CallTrace::of("tool", &text, Some(Effect::Exec));
        let error = OutputTrace::of(
            &format!("{}Error: x", "ABCDEFGH".get(..1 + at as usize % 8).unwrap()),
            Some(false),
        );
        let world = Some(Digest::of(&at.to_be_bytes()));
        happen(&mut detector, &Happening::Call { call, output: error, world }, &mut said);
        happen(&mut detector, &Happening::Reply(ReplyTrace::of(&text, 1, false)), &mut said);
        happen(&mut detector, &Happening::Unknown(CallTrace::of(&text, "", None)), &mut said);
    }
    assert!(detector.bytes() <= Detector::BYTES_MAX, "{} bytes", detector.bytes());
    let restarted = restarted(&detector);
    assert!(restarted.bytes() <= Detector::BYTES_MAX, "{} bytes", restarted.bytes());
}

#[test]
fn a_full_table_forgets_what_was_not_touched_for_longest() {
    let name = |at: u8| Digest::of(&[at]);
    let mut table = Recent::with_cap(2);
    for at in [1, 2, 1, 3] {
        table.touch(&name(at), || at);
    }
    let mut left: Vec<u8> = table.values().copied().collect();
    left.sort_unstable();
    assert_eq!(left, [1, 3]);
    assert_eq!(Recent::with_cap(0).touch(&name(1), || 1), None);
}

/// A detector of which every table holds something.
fn filled() -> Detector {
    let mut detector = Detector::new(Settings { action: Action::Block, ..Settings::default() });
    let mut said = Said::new();
    for at in 0..40_u32 {
        let text = format!("{at} {}", at % 7);
        let path = format!(r#"{{"command":"insert","path":"/w/{at}.py"}}"#);
        let targeted = CallTrace::of("editor", &path, None);
        let output = OutputTrace::of(&text, Some(true));
        happen(&mut detector, &Happening::Call { call: targeted, output, world: None }, &mut said);
        let call = CallTrace::of("tool", &text, Some(Effect::Exec));
        let error =
            OutputTrace::of(&format!("{}Error: x", "ABCDEFGH".get(..1 + at as usize % 8).unwrap()), None);
        let world = Some(Digest::of(&at.to_be_bytes()));
        happen(&mut detector, &Happening::Call { call, output: error, world }, &mut said);
        happen(&mut detector, &Happening::Reply(ReplyTrace::of(&text, 1, false)), &mut said);
        let spoken = format!("reply {}", "abcdefgh".get(..1 + at as usize % 8).unwrap());
        happen(&mut detector, &Happening::Reply(ReplyTrace::of(&spoken, 1, false)), &mut said);
        happen(&mut detector, &Happening::Unknown(CallTrace::of(&text, "", None)), &mut said);
    }
    detector
}

#[test]
fn every_table_counts_in_the_memory_it_takes() {
    let full = filled();
    let empty = || Detector::new(full.settings.clone());
    let none = empty().bytes();
    assert_eq!(none, size_of::<Detector>(), "nothing was seen");
    let names = |count: usize| count * size_of::<Digest>();
    let steps = full.ladder.trail().count();
    let tables = [
        ("world", names(40 + 40), Detector { world: full.world.clone(), ..empty() }),
        ("calls", names(full.calls.values().count()), Detector { calls: full.calls.clone(), ..empty() }),
        (
            "outputs",
            names(full.outputs.values().count()),
            Detector { outputs: full.outputs.clone(), ..empty() },
        ),
        ("errors", names(full.errors.values().count()), Detector { errors: full.errors.clone(), ..empty() }),
        (
            "openings",
            names(full.openings.values().count()),
            Detector { openings: full.openings.clone(), ..empty() },
        ),
        (
            "refusals",
            names(full.refusals.values().count()),
            Detector { refusals: full.refusals.clone(), ..empty() },
        ),
        ("window", names(2 * WINDOW_MAX), Detector { window: full.window.clone(), ..empty() }),
        ("ladder", steps * size_of::<Evidence>(), Detector { ladder: full.ladder.clone(), ..empty() }),
    ];
    for (name, least, with) in &tables {
        assert!(*least >= 4 * size_of::<Digest>(), "{name} holds something");
        let taken = with.bytes().checked_sub(none);
        assert!(taken.is_some_and(|taken| taken >= *least), "{name} takes {taken:?}, at least {least}");
    }
    let said = Detector { said: full.said.iter().take(3).cloned().collect(), ..empty() };
    let each = size_of::<Sketch>() + Sketch::BYTES;
    assert_eq!((said.said.capacity(), said.bytes() - none), (said.said.len(), said.said.len() * each));
    assert!(said.said.len() > 1);
}
