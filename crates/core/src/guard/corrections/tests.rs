//! Corrections against labelled messages, and how they add up.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

const CASES: &str = include_str!("../../../../../fixtures/guard/corrections.jsonl");

/// What came of each case when the published figures were measured.
const RECORDED: &str = include_str!("../../../../../fixtures/guard/corrections_recorded.jsonl");

#[derive(Deserialize)]
struct Case {
    id: String,
    part: String,
    label: String,
    earlier: Vec<String>,
    message: String,
}

fn word(remark: Remark) -> &'static str {
    match remark {
        Remark::Explicit => "explicit",
        Remark::Implicit => "implicit",
        Remark::Plain => "none",
    }
}

fn said(messages: &[&str]) -> Corrections {
    let mut corrections = Corrections::default();
    messages.iter().for_each(|message| {
        corrections.record_message(message);
    });
    corrections
}

/// As another process reads what this one wrote.
fn restarted(corrections: &Corrections) -> Corrections {
    serde_json::from_str(&serde_json::to_string(corrections).unwrap()).unwrap()
}

/// (right, found, labelled) of corrections of either sort in one part.
fn figures(part: &str) -> (usize, usize, usize) {
    let (mut right, mut found, mut labelled) = (0, 0, 0);
    let cases = CASES.lines().map(|line| serde_json::from_str::<Case>(line).unwrap());
    for case in cases.filter(|case| case.part == part) {
        let mut corrections = Corrections::default();
        case.earlier.iter().for_each(|message| {
            corrections.record_message(message);
        });
        let remark = word(corrections.record_message(&case.message));
        found += usize::from(remark != "none");
        labelled += usize::from(case.label != "none");
        right += usize::from(remark == case.label && remark != "none");
        if remark != case.label && part == "tune" {
            println!("{} is {} and was called {remark}: {}", case.id, case.label, case.message);
        }
    }
    println!("{part}: {right} right of {found} found and {labelled} labelled");
    (right, found, labelled)
}

#[test]
fn labelled_corrections_are_found_and_little_else() {
    for part in ["tune", "hold"] {
        let (right, found, labelled) = figures(part);
        assert!(right * 100 >= found * 90, "{part} precision: {right} of {found}");
        assert!(right * 100 >= labelled * 85, "{part} recall: {right} of {labelled}");
    }
}

/// With all that is kept of it: the figures are published, and a change of theirs must be meant.
#[test]
fn every_case_comes_out_as_it_was_recorded() {
    let heard = CASES.lines().map(|line| {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut corrections = said(&case.earlier.iter().map(String::as_str).collect::<Vec<_>>());
        let remark = word(corrections.record_message(&case.message));
        serde_json::json!({"id": case.id, "remark": remark, "kept": corrections}).to_string()
    });
    let now: Vec<String> = heard.collect();
    for (now, recorded) in now.iter().zip(RECORDED.lines()) {
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        assert_eq!(read(now), read(recorded));
    }
    assert_eq!(now.len(), RECORDED.lines().count());
}

#[test]
fn the_third_correction_of_a_kind_is_a_pattern_and_the_second_is_not() {
    let mut corrections = said(&["No, use tabs, not spaces.", "Thanks, now the parser.", "I said tabs!"]);
    assert_eq!(corrections.patterns(), []);
    assert_eq!(corrections.prelude(), None);
    corrections.record_message("Don't indent with spaces. Tabs, please.");
    let patterns = corrections.patterns();
    assert_eq!(patterns.len(), 1);
    assert_eq!((patterns[0].explicit, patterns[0].implicit), (3, 0));
    let prelude = corrections.prelude().unwrap();
    assert!(prelude.starts_with("The user's own past corrections"), "{prelude}");
    assert!(prelude.contains("- 3 times: \"Don't indent with spaces. Tabs, please.\""), "{prelude}");
}

#[test]
fn corrections_of_different_things_are_different_kinds() {
    let corrections = said(&["No, use tabs.", "Stop renaming my variables.", "You forgot the tests again."]);
    assert_eq!(corrections.patterns(), []);
    assert_eq!(corrections.kinds.len(), 3);
}

#[test]
fn corrections_of_one_kind_meet_in_every_language() {
    for three in [
        [
            "Nein, bitte mit Tabs einrücken.",
            "Ich habe doch gesagt: Tabs!",
            "Schon wieder Leerzeichen statt Tabs.",
        ],
        ["Non, utilise des tabulations.", "J'ai dit des tabulations !", "Arrête d'oublier les tabulations."],
        ["No, usa tabuladores.", "Te dije que usaras tabuladores.", "Usa tabuladores en lugar de espacios."],
        ["違います。タブを使ってください。", "スペースではなくタブです。", "タブと言いました。"],
        ["不对，应该用制表符。", "我说过用制表符。", "别再用空格，用制表符。"],
    ] {
        assert_eq!(said(&three).patterns().len(), 1, "{three:?}");
    }
}

#[test]
fn asking_again_counts_within_the_window_only() {
    let question = "How many orders were cancelled in March?";
    let fillers = ["Thanks.", "What is a mutex?", "Rename the branch.", "Print the menu.", "Open the door."];
    assert_eq!(Corrections::default().record_message(question), Remark::Plain);
    let mut near = said(&[question, "Hm, please explain."]);
    assert_eq!(near.record_message("how many orders were cancelled in march"), Remark::Implicit);
    let mut far = said(&[question]);
    fillers.iter().for_each(|filler| {
        far.record_message(filler);
    });
    assert_eq!(far.record_message(question), Remark::Plain);
}

#[test]
fn one_word_is_no_question_and_a_much_longer_one_asks_for_more() {
    assert_eq!(said(&["Invoices?"]).record_message("invoices"), Remark::Plain);
    let longer = "cancelled orders by regions, currencies, discounts and refunds";
    assert_eq!(said(&["cancelled orders"]).record_message(longer), Remark::Plain);
    assert_eq!(said(&[longer]).record_message("cancelled orders"), Remark::Plain);
    assert_eq!(said(&["cancelled orders"]).record_message("cancelled orders, refunds"), Remark::Plain);
    assert_eq!(said(&["cancelled orders"]).record_message("orders cancelled"), Remark::Implicit);
}

#[test]
fn answers_to_a_question_are_no_corrections() {
    for answer in [
        "No, I don't want to be transferred.",
        "Nein, ich brauche keine Rechnung.",
        "Non, je préfère attendre.",
    ] {
        assert!(!is_correction(answer), "{answer}");
    }
    assert!(is_correction("No, I wanted the other flight."));
    assert!(!is_correction("The report in euros instead of dollars?"), "a question");
    assert!(is_correction("The report in euros instead of dollars."));
    let mut corrections = said(&["Please cancel reservation 59XX6W."]);
    assert_eq!(corrections.record_message("Yes, cancel reservation 59XX6W."), Remark::Plain);
}

#[test]
fn a_correction_given_by_the_caller_counts_without_any_phrase() {
    let mut corrections = Corrections::default();
    (0..3).for_each(|_| corrections.record_correction("dates are ISO"));
    assert_eq!(corrections.patterns()[0].explicit, 3);
}

#[test]
fn the_prelude_keeps_to_its_length_and_cannot_break_out_of_its_quotes() {
    let mut corrections = Corrections::new(Settings { prelude_bytes_max: 200, ..Settings::default() });
    for subject in ["alpha", "bravo", "charlie", "delta", "echo"] {
        (0..3).for_each(|_| corrections.record_correction(&format!("{subject}\"\n\n- {subject}")));
    }
    let prelude = corrections.prelude().unwrap();
    assert!(prelude.len() <= 200);
    assert_eq!(prelude.lines().count(), prelude.matches("- 3 times: \"").count() + 1);
    assert_eq!(prelude.matches('"').count() % 2, 0);
}

#[test]
fn a_prelude_that_fits_to_the_byte_is_whole_and_one_byte_less_leaves_its_last_line_out() {
    let with = |prelude_bytes_max: usize| {
        let mut corrections = Corrections::new(Settings { prelude_bytes_max, ..Settings::default() });
        (0..3).for_each(|_| corrections.record_correction("dates are ISO"));
        (0..4).for_each(|_| corrections.record_correction("invoices go to customers"));
        corrections.prelude().unwrap_or_default()
    };
    let whole = with(2048);
    assert_eq!(whole.lines().count(), 3);
    assert_eq!(with(whole.len()), whole);
    assert_eq!(with(whole.len() - 1).lines().count(), 2);
}

#[test]
fn a_kind_learns_the_terms_of_its_corrections_each_once_and_keeps_its_latest_words() {
    let mut corrections = Corrections::default();
    for text in ["tabs", "tabs spaces", "spaces indentation", "indentation columns", "columns tabs"] {
        corrections.record_correction(text);
    }
    let patterns = corrections.patterns();
    assert_eq!(patterns.len(), 1, "each shares half of its terms with what is known");
    let terms = patterns[0].terms.iter().collect::<std::collections::BTreeSet<_>>();
    assert_eq!((terms.len(), patterns[0].terms.len()), (4, 4), "{patterns:?}");
    let latest = ["spaces indentation", "indentation columns", "columns tabs"].map(Box::from);
    assert_eq!(patterns[0].examples, latest);
    let words: Vec<String> = (0..40).map(subject).collect();
    for pair in words.windows(2) {
        corrections.record_correction(&pair.join(" "));
    }
    let most = corrections.kinds.iter().map(|kind| kind.topic.telling.len()).max();
    assert_eq!(most, Some(topic::TERMS_MAX), "a chain of forty is longer than a kind");
    assert_eq!(corrections.check_bounds(), Ok(()));
}

#[test]
fn corrections_that_share_nothing_or_little_are_not_one_kind() {
    let mut corrections = Corrections::new(Settings { same_kind: 0.0, ..Settings::default() });
    corrections.record_correction("tabs");
    corrections.record_correction("invoices");
    assert_eq!(corrections.kinds.len(), 2, "nothing in common is no kind, however little is asked for");
    let mut corrections = Corrections::default();
    corrections.record_correction("tabs indentation columns margins");
    corrections.record_correction("tabs invoices customers payments");
    assert_eq!(corrections.kinds.len(), 2, "a quarter in common is not half");
    for [one, other] in [["transport", "translators"], ["card", "cart"]] {
        let mut corrections = Corrections::default();
        corrections.record_correction(one);
        corrections.record_correction(other);
        assert_eq!(corrections.kinds.len(), 2, "a common beginning is not the word");
    }
}

/// A word unlike that of every other number.
fn subject(at: usize) -> String {
    let letter = |at: usize| char::from(b"bcdfghkl"[at % 8]);
    format!("{}{}zebra", letter(at / 8), letter(at))
}

#[test]
fn the_least_corrected_kind_makes_room_for_a_new_one() {
    let mut corrections = Corrections::default();
    for at in 0..KINDS_MAX {
        (0..if at == 5 { 1 } else { 2 }).for_each(|_| corrections.record_correction(&subject(at)));
    }
    let words = |corrections: &Corrections| {
        corrections.kinds.iter().map(|kind| kind.examples[0].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(words(&corrections).len(), KINDS_MAX);
    corrections.record_correction("something entirely different");
    let mut left: Vec<String> = (0..KINDS_MAX).filter(|at| *at != 5).map(subject).collect();
    left.push("something entirely different".into());
    assert_eq!(words(&corrections), left);
}

#[test]
fn a_question_in_han_is_asked_again_by_its_characters_in_any_order_and_by_nothing_else() {
    let asked = "三月取消了多少订单？";
    assert_eq!(said(&[asked]).record_message("订单三月取消了多少？"), Remark::Implicit);
    assert_eq!(said(&[asked]).record_message("四月付款客户名单在哪？"), Remark::Plain);
    let mixed = "order report total 三月取消订单";
    assert_eq!(said(&[mixed]).record_message("order report total"), Remark::Plain, "the months are gone");
    assert_eq!(said(&["order report total"]).record_message(mixed), Remark::Plain);
}

#[test]
fn as_much_as_is_ever_kept_is_within_bounds_and_one_more_is_not() {
    let mut kept = said(&["No, use tabs."]);
    kept.settings.window = WINDOW_MAX;
    let terms = |count: usize| (0..count).map(|at| subject(at).into()).collect::<Vec<Box<str>>>();
    kept.kinds[0].topic = Topic { telling: terms(topic::TERMS_MAX), weak: terms(topic::TERMS_MAX) };
    kept.kinds[0].examples = vec!["x".repeat(EXAMPLE_CHARS_MAX).into(); EXAMPLES_MAX].into();
    kept.kinds = vec![kept.kinds[0].clone(); KINDS_MAX];
    kept.asked = vec![kept.asked[0].clone(); usize::try_from(WINDOW_MAX).unwrap() + 1].into();
    assert_eq!(kept.check_bounds(), Ok(()));
    let more = |change: &dyn Fn(&mut Corrections)| {
        let mut more = kept.clone();
        change(&mut more);
        more.check_bounds().unwrap_err().what
    };
    assert_eq!(more(&|all| all.kinds.push(all.kinds[0].clone())), "kinds");
    assert_eq!(more(&|all| all.kinds[3].topic.telling.push("one".into())), "terms or examples");
    assert_eq!(more(&|all| all.kinds[3].topic.weak.push("one".into())), "terms or examples");
    assert_eq!(more(&|all| all.kinds[3].examples.push_back("one".into())), "terms or examples");
    assert_eq!(more(&|all| all.asked.push_back(all.asked[0].clone())), "turns");
}

#[test]
fn of_a_long_message_the_first_terms_are_kept() {
    let words: Vec<String> = (0..40).map(subject).collect();
    let topic = Topic::of(&words.join(" "));
    assert_eq!(topic.telling.len(), topic::TERMS_MAX);
    assert_eq!(topic.telling, Topic::of(&words[..topic::TERMS_MAX].join(" ")).telling);
}

#[test]
fn of_a_long_message_the_han_are_kept_up_to_a_bound() {
    let message = |count: u32| (0..count).map(|at| char::from_u32(0x5000 + at).unwrap()).collect::<String>();
    let most = 4 * topic::TERMS_MAX;
    assert_eq!(topic::han_bag(&message(60)).len(), 60);
    assert_eq!(topic::han_bag(&message(300)).len(), most);
}

#[test]
fn han_in_one_of_two_questions_makes_them_two_however_much_else_they_share() {
    let words = "orders invoices refunds payments customers regions currencies discounts";
    let dated = format!("{words} 三月底");
    assert_eq!(said(&[words]).record_message(words), Remark::Implicit);
    assert_eq!(said(&[words]).record_message(&dated), Remark::Plain);
    assert_eq!(said(&[&dated]).record_message(words), Remark::Plain);
}

#[test]
fn what_was_written_is_read_whole_and_counted_on() {
    let before = said(&["No, use tabs.", "I said tabs.", "What is new?", "You forgot the tests."]);
    assert_eq!(before.patterns(), []);
    let mut after = restarted(&before);
    assert_eq!(after, before);
    after.record_message("Stop! Tabs instead of spaces.");
    assert_eq!(after.patterns()[0].explicit, 3);
}

#[test]
fn settings_beyond_their_bounds_are_brought_back() {
    let wild = Settings { pattern_at: 0, window: 999, same_kind: f64::NAN, prelude_bytes_max: 2048 };
    let tame = Settings { pattern_at: 1, window: WINDOW_MAX, ..Settings::default() };
    assert_eq!(Corrections::new(wild), Corrections::new(tame));
}

#[test]
fn more_than_is_ever_kept_is_noticed() {
    let kept = said(&["No, use tabs."]);
    assert_eq!(kept.check_bounds(), Ok(()));
    let beyond = |what| Err(BeyondBounds { what });
    let stuffed = |stuff: &dyn Fn(&mut Corrections)| {
        let mut corrections = kept.clone();
        stuff(&mut corrections);
        corrections.check_bounds()
    };
    let kind = kept.kinds[0].clone();
    assert_eq!(stuffed(&|all| all.kinds.resize(KINDS_MAX + 1, kind.clone())), beyond("kinds"));
    let with = |examples: Vec<Box<str>>| stuffed(&|all| all.kinds[0].examples = examples.clone().into());
    assert_eq!(with(vec!["x".into(); EXAMPLES_MAX + 1]), beyond("terms or examples"));
    assert_eq!(with(vec!["x".repeat(EXAMPLE_CHARS_MAX + 1).into()]), beyond("terms or examples"));
    assert_eq!(stuffed(&|all| all.settings.window = WINDOW_MAX + 1), beyond("turns"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_message_panics_a_restart_changes_nothing_and_memory_is_bounded(
        messages in prop::collection::vec("(no, |stop |i said )?(?s).{0,40}", 0..100),
        cut in 0..100_usize,
    ) {
        let mut live = Corrections::default();
        let mut again = Corrections::default();
        for (at, message) in messages.iter().enumerate() {
            if at == cut {
                again = restarted(&again);
                prop_assert_eq!(again.check_bounds(), Ok(()));
            }
            prop_assert_eq!(live.record_message(message), again.record_message(message));
        }
        prop_assert_eq!(&live, &again);
        prop_assert!(live.kinds.len() <= KINDS_MAX);
        prop_assert!(live.asked.len() <= usize::try_from(WINDOW_MAX).unwrap() + 1);
    }
}
