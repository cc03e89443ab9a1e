//! Scope drift against labelled answers, and what must hold for any text.

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::provenance::Digest;

const CASES: &str = include_str!("../../../../../fixtures/guard/drift.jsonl");
const UNSEEN: &str = include_str!("../../../../../fixtures/guard/drift_unseen.jsonl");

/// What came of each case when the published figures were measured.
const RECORDED: &str = include_str!("../../../../../fixtures/guard/drift_recorded.jsonl");

#[derive(Deserialize)]
struct Case {
    id: String,
    part: String,
    language: String,
    label: String,
    task: String,
    #[serde(default)]
    grounding: Vec<String>,
    answer: String,
}

fn cases() -> Vec<Case> {
    CASES.lines().chain(UNSEEN.lines()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn flagged(case: &Case) -> bool {
    let grounding: Vec<&str> = case.grounding.iter().map(String::as_str).collect();
    judge(&Settings::default(), &case.task, &grounding, &case.answer).is_drift()
}

/// (flagged, all) of the cases of a part that pass.
fn figures(part: &str, passes: impl Fn(&Case) -> bool) -> (usize, usize) {
    let cases: Vec<Case> = cases().into_iter().filter(|case| case.part == part && passes(case)).collect();
    (cases.iter().filter(|case| flagged(case)).count(), cases.len())
}

fn score(task: &str, grounding: &[&str], answer: &str) -> f64 {
    match judge(&Settings::default(), task, grounding, answer) {
        Judgement::Judged(drift) => drift.score,
        Judgement::NotJudged(why) => panic!("not judged: {why:?}"),
    }
}

fn unjudged(task: &str, answer: &str) -> Option<Unjudged> {
    match judge(&Settings::default(), task, &[], answer) {
        Judgement::Judged(_) => None,
        Judgement::NotJudged(why) => Some(why),
    }
}

/// The figures the documentation states. No case of the part `hold` was looked
/// at while the constants were chosen, but its totals were, and the constants
/// were loosened once because of them; the cases of `drift_unseen.jsonl` were
/// written afterwards and changed nothing.
#[test]
fn few_faithful_answers_are_flagged_and_most_drifted_ones_are() {
    for part in ["tune", "hold"] {
        let (false_alarms, faithful) = figures(part, |case| case.label == "faithful");
        let (found, drifted) = figures(part, |case| case.label == "drifted");
        println!("{part}: {false_alarms} of {faithful} faithful, {found} of {drifted} drifted");
        assert!(false_alarms * 100 <= faithful * 5, "{part}: {false_alarms} of {faithful}");
        assert!(found * 100 >= drifted * 80, "{part}: {found} of {drifted}");
    }
}

#[test]
fn cases_written_after_the_last_change_come_out_alike() {
    let (false_alarms, faithful) = figures("unseen", |case| case.label == "faithful");
    let (found, drifted) = figures("unseen", |case| case.label == "drifted");
    println!("unseen: {false_alarms} of {faithful} faithful, {found} of {drifted} drifted");
    assert!(false_alarms * 100 <= faithful * 10, "{false_alarms} of {faithful}");
    assert!(found * 100 >= drifted * 80, "{found} of {drifted}");
}

/// To the last digit and term: the figures are published, and a change of theirs must be meant.
#[test]
fn every_case_comes_out_as_it_was_recorded() {
    let judged = cases().into_iter().map(|case| {
        let grounding: Vec<&str> = case.grounding.iter().map(String::as_str).collect();
        let judgement = judge(&Settings::default(), &case.task, &grounding, &case.answer);
        serde_json::json!({"id": case.id, "judgement": judgement}).to_string()
    });
    let now: Vec<String> = judged.collect();
    for (now, recorded) in now.iter().zip(RECORDED.lines()) {
        let read = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
        assert_eq!(read(now), read(recorded));
    }
    assert_eq!(now.len(), RECORDED.lines().count());
}

#[test]
fn drift_is_seen_in_every_language() {
    for language in ["en", "de", "fr", "es", "ja", "zh"] {
        let both = |label: &str| {
            let one = |part| figures(part, |case| case.language == language && case.label == label);
            let (tune, hold) = (one("tune"), one("hold"));
            (tune.0 + hold.0, tune.1 + hold.1)
        };
        let ((false_alarms, faithful), (found, drifted)) = (both("faithful"), both("drifted"));
        println!("{language}: {false_alarms} of {faithful} faithful, {found} of {drifted} drifted");
        assert!(false_alarms * 100 <= faithful * 12, "{language}: {false_alarms} of {faithful}");
        assert!(found * 100 >= drifted * 75, "{language}: {found} of {drifted}");
    }
}

#[test]
fn the_parts_are_drawn_by_hash_and_large_enough() {
    let cases = cases();
    let labelled: Vec<&Case> = cases.iter().filter(|case| case.part != "unseen").collect();
    assert!(labelled.len() >= 120);
    for case in labelled {
        let drawn = if Digest::of(case.id.as_bytes()).0[0].is_multiple_of(2) { "tune" } else { "hold" };
        assert_eq!(case.part, drawn, "{}", case.id);
    }
}

#[test]
fn short_answers_and_empty_tasks_are_not_judged() {
    let long = "The invoice was sent to the customer on Tuesday, and the accountant booked the transfer from Oslo yesterday evening.";
    assert_eq!(unjudged("What is the capital of Australia?", "Canberra."), Some(Unjudged::ShortAnswer));
    assert_eq!(unjudged("", long), Some(Unjudged::EmptyTask));
    assert_eq!(unjudged("?!", long), Some(Unjudged::EmptyTask));
    assert_eq!(unjudged("Was the invoice sent to the customer?", ""), Some(Unjudged::ShortAnswer));
    assert_eq!(unjudged("Was the invoice sent to the customer?", long), None);
}

#[test]
fn an_answer_in_another_language_is_not_called_drift() {
    let answer =
        "Le chat noir dort sur le vieux canapé de la voisine pendant que les enfants jouent dans le jardin.";
    let task =
        "Put this into French: the black cat sleeps on the neighbour's old sofa while the kids play outside";
    assert_eq!(unjudged(task, answer), Some(Unjudged::OtherLanguage));
}

#[test]
fn an_answer_with_just_enough_content_is_judged_and_one_at_the_limit_is_warned_of() {
    let task = "Was the invoice sent to the customer?";
    let answer = "Penguins breed on Antarctic ice. The invoice was sent to the customer on Tuesday.";
    let settings = Settings::new(0.5, 0.0).unwrap();
    let Judgement::Judged(drift) = judge(&settings, task, &[], answer) else { panic!("not judged") };
    assert!(drift.score > 0.0 && drift.score < 1.0, "{drift:?}");
    let at = Settings::new(drift.score, 0.0).unwrap();
    assert!(judge(&at, task, &[], answer).is_drift(), "a score at the limit is drift");
    let pieces =
        score::weigh(&segments::segments(answer), Language::English, &known(task, &[], Language::English).0);
    let content: f64 = pieces.iter().map(|piece| piece.weight).sum();
    let enough = Settings::new(0.5, content).unwrap();
    assert!(matches!(judge(&enough, task, &[], answer), Judgement::Judged(_)), "as much as is asked for");
    let short = Settings::new(0.5, content * 1.01).unwrap();
    assert_eq!(judge(&short, task, &[], answer), Judgement::NotJudged(Unjudged::ShortAnswer));
}

#[test]
fn grounding_counts_like_the_task() {
    let task = "What did the customer write?";
    let answer = "The dishwasher leaks, the technician missed an appointment, and she demands a replacement by Friday.";
    let mail =
        "My dishwasher is leaking. Your technician did not keep the appointment. Replace it by Friday!";
    assert!(score(task, &[], answer) >= 0.5);
    assert!(score(task, &[mail], answer) < 0.2);
}

#[test]
fn inflection_compounds_and_identifiers_are_recognised() {
    let same = [
        (
            "Migrate the databases.",
            "The migration of both databases finished; migrating took nine minutes, and a checksum over every row was verified afterwards.",
        ),
        (
            "Der Rechnungsversand stockt.",
            "Alle Rechnungen wurden gestern Abend wieder verschickt, keine einzige Rechnung fehlt; die Warteschlange ist leer und der Dienst läuft stabil.",
        ),
        (
            "Rename `parse_http_date`.",
            "parseHttpDate was renamed, every caller of the date parser was adapted, and the changelog mentions the breaking interface.",
        ),
        (
            "Les commandes échouent.",
            "Toute commande échouait à cause du stock négatif ; commander fonctionne de nouveau partout depuis le redémarrage du service.",
        ),
    ];
    for (task, answer) in same {
        assert!(score(task, &[], answer) < 0.5, "{answer}");
    }
}

#[test]
fn a_warning_names_the_terms_that_hang_on_nothing_most_frequent_first() {
    let task = "Fix the login timeout.";
    let answer = "The login timeout is fixed. By the way, sourdough needs patience. Sourdough also needs flour, water \
                  and salt. Bakers feed sourdough with flour daily. Crusts crackle nicely.";
    let Judgement::Judged(drift) = judge(&Settings::default(), task, &[], answer) else {
        panic!("not judged")
    };
    assert_eq!(drift.ungrounded.first().map(String::as_str), Some("sourdough"));
    assert_eq!(drift.ungrounded.get(1).map(String::as_str), Some("flour"));
    assert!(drift.grounded.contains(&"timeout".to_owned()));
    assert!(drift.ungrounded.len() <= TERMS_NAMED_MAX);
}

#[test]
fn more_that_leaves_the_subject_is_never_less_drift() {
    let task = "Why does the nightly backup fail?";
    let mut answer =
        "The nightly backup fails because the volume is full; the backup needs 400 GB more.".to_owned();
    let mut last = 0.0;
    for more in [
        "Dolphins sleep with half a brain.",
        "Otters hold paws while floating.",
        "Penguins propose with pebbles.",
    ] {
        answer = format!("{answer} By the way: {more}");
        let now = score(task, &[], &answer);
        assert!(now >= last, "{now} after {last}");
        last = now;
    }
    assert!(last > 0.3);
}

#[test]
fn settings_that_cannot_work_are_refused_by_name() {
    let refused = Settings::new(f64::NAN, 6.0).unwrap_err();
    assert_eq!(refused.to_string(), "warn_at is NaN and must be between 0 and 1");
    assert!(refused.remedy().contains("warn_at"));
    assert!(Settings::new(0.5, -1.0).is_err());
    assert!(serde_json::from_str::<Settings>(r#"{"warn_at": 7}"#).is_err());
    let read: Settings = serde_json::from_str(r#"{"warn_at": 0.7}"#).unwrap();
    assert_eq!(read, Settings::new(0.7, 6.0).unwrap());
}

#[test]
fn stems_join_forms_of_one_word() {
    let rows = [
        (Language::English, "deployments", "deploying"),
        (Language::English, "queries", "query"),
        (Language::English, "stopped", "stops"),
        (Language::English, "failure", "fails"),
        (Language::German, "bestellungen", "bestellt"),
        (Language::German, "nachtliche", "nacht"),
        (Language::German, "geloscht", "loschen"),
        (Language::French, "commandes", "commander"),
        (Language::Spanish, "cobrado", "cobraron"),
    ];
    for (language, one, other) in rows {
        assert_eq!(
            stem::stem(one.to_owned(), language),
            stem::stem(other.to_owned(), language),
            "{one} {other}"
        );
    }
    for word in ["string", "ski"] {
        assert_eq!(stem::stem(word.to_owned(), Language::English), word, "has no ending");
    }
}

#[test]
fn irregular_forms_have_the_stem_of_their_word() {
    let rows = [
        ("bought", "buy"),
        ("broke", "break"),
        ("broken", "break"),
        ("built", "build"),
        ("chose", "choose"),
        ("chosen", "choose"),
        ("children", "child"),
        ("fallen", "fall"),
        ("fell", "fall"),
        ("felt", "feel"),
        ("found", "find"),
        ("grew", "grow"),
        ("held", "hold"),
        ("hidden", "hide"),
        ("indices", "index"),
        ("kept", "keep"),
        ("led", "lead"),
        ("left", "leave"),
        ("lost", "lose"),
        ("meant", "mean"),
        ("mice", "mouse"),
        ("paid", "pay"),
        ("ran", "run"),
        ("said", "say"),
        ("sent", "send"),
        ("sold", "sell"),
        ("spent", "spend"),
        ("spoken", "speak"),
        ("thought", "think"),
        ("thrown", "throw"),
        ("told", "tell"),
        ("written", "write"),
        ("wrote", "write"),
    ];
    let stem = |word: &str| stem::stem(word.to_owned(), Language::English);
    for (form, word) in rows {
        assert_eq!(stem(form), stem(word), "{form}");
    }
}

#[test]
fn languages_are_told_apart() {
    let rows = [
        ("Why does the test fail on the second run?", Language::English),
        ("Warum schlägt der Test beim zweiten Lauf fehl?", Language::German),
        ("Pourquoi le test échoue-t-il au deuxième passage ?", Language::French),
        ("¿Por qué falla la prueba en la segunda ejecución?", Language::Spanish),
        ("なぜ二回目のテストは失敗しますか。", Language::Japanese),
        ("为什么第二次测试会失败？", Language::Chinese),
        ("Почему тест падает?", Language::Other),
    ];
    for (text, language) in rows {
        assert_eq!(Language::of(text), language, "{text}");
    }
}

#[test]
fn a_language_is_told_by_the_first_sixteen_hundred_characters() {
    let english = "the ".repeat(400);
    assert_eq!(Language::of(&format!("{english}{}", "测".repeat(9000))), Language::English);
    let mixed = format!("{}{}", "the ".repeat(125), "测".repeat(1100));
    assert_eq!(Language::of(&mixed), Language::Chinese, "most of it is Han");
    assert_eq!(Language::of(&format!("{}か", "测".repeat(8))), Language::Chinese, "one syllable in nine");
    assert_eq!(Language::of(&format!("{}か", "测".repeat(7))), Language::Japanese);
    assert_eq!(["3", "٣", "½"].map(|digit| cut(digit).len()), [1, 1, 1], "digits of every script");
    for nothing in ["", "12 + 3 = 15", "xyz测"] {
        assert_eq!(Language::of(nothing), Language::Other, "{nothing}");
    }
}

#[test]
fn an_answer_has_at_most_so_many_pieces_and_the_last_is_all_the_rest() {
    let text = "Rows were copied. ".repeat(segments::SEGMENTS_MAX + 9);
    let pieces = segments::segments(&text);
    assert_eq!(pieces.len(), segments::SEGMENTS_MAX);
    assert_eq!(pieces.last().unwrap().text.matches("copied").count(), 10);
    let most = "Rows were copied. ".repeat(segments::SEGMENTS_MAX);
    assert_eq!(segments::segments(&most).last().unwrap().text.matches("copied").count(), 1);
}

fn cut(text: &str) -> Vec<&str> {
    terms::terms(text, Language::Other).into_iter().map(|term| term.surface).collect()
}

#[test]
fn an_identifier_is_cut_where_a_word_begins_and_a_plural_is_none() {
    assert_eq!(cut("parseHTTPDate_v2"), ["parse", "HTTP", "Date", "v2"]);
    assert_eq!(cut("parseURLSsl"), ["parse", "URL", "Ssl"]);
    assert_eq!(cut("URLSsl"), ["URL", "Ssl"]);
    assert_eq!(cut("PDFs"), ["PDFs"]);
    assert_eq!(cut("parseHTMLs"), ["parse", "HTMLs"]);
    assert_eq!(cut("HTTPQx"), ["HTTP", "Qx"]);
    assert_eq!(cut("re\u{301}sume\u{301}"), ["re\u{301}sume\u{301}"], "an accent is part of its letter");
}

#[test]
fn a_language_nobody_knows_is_no_reason_not_to_judge() {
    let english =
        "The invoice was sent to the customer on Tuesday, and the accountant booked the transfer from Oslo.";
    let russian = "Счёт отправлен клиенту вчера вечером, бухгалтер провёл перевод из Осло, отдел закрыт.";
    assert_eq!(unjudged("Почему тест падает?", english), None);
    assert_eq!(unjudged("Why does the nightly backup fail?", russian), None);
}

/// Words of no language, none of which begins or ends like another.
fn made_up(count: usize) -> Vec<String> {
    let letters = |of: &'static str| of.chars();
    let words = letters("qxzjwv").flat_map(|first| {
        letters("aeiou")
            .flat_map(move |vowel| letters("qxzjw").map(move |last| format!("{first}{vowel}{last}k")))
    });
    words.take(count).collect()
}

#[test]
fn a_sentence_that_hangs_on_the_task_by_half_is_neither_loose_nor_tied_by_its_own_words() {
    let words = made_up(114);
    let task = words[..100].join(" ");
    // Of a hundred terms, a quarter is a full hold; two of sixteen are half of that.
    let answer = words[..2].iter().chain(&words[100..]).cloned().collect::<Vec<_>>().join(" ");
    let Judgement::Judged(drift) = judge(&Settings::default(), &task, &[], &answer) else {
        panic!("not judged")
    };
    assert!((drift.score - 0.5).abs() < 1e-12, "{drift:?}");
    assert_eq!(drift.ungrounded, Vec::<String>::new());
    assert_eq!(drift.grounded.len(), 2);
}

#[test]
fn an_answer_without_content_is_no_drift() {
    assert!(score::share_without_hold(&[]).abs() < f64::EPSILON);
    let settings = Settings::new(0.5, 0.0).unwrap();
    let judged = judge(&settings, "Was the invoice sent to the customer?", &[], "It is.");
    assert!(!judged.is_drift(), "{judged:?}");
}

#[test]
fn a_term_is_at_home_by_a_part_of_it_that_is_long_enough() {
    let home = |task: &str, word: &str| {
        let known = vocabulary::Vocabulary::of(&terms::terms(task, Language::Other));
        let asked = terms::terms(word, Language::Other);
        assert_eq!(asked.len(), 1, "{word}");
        known.knows(&asked[0])
    };
    let rows = [
        ("keyboard", "keyboard", 1.0),
        ("keyboard", "board", 0.7),
        ("keyboard", "keybo", 0.7),
        ("board", "keyboard", 0.7),
        ("keyboard", "oard", 0.0),
        ("cupboar", "pboar", 0.0),
        ("取消订单", "单", 0.8),
        ("取消订单", "取单", 0.6),
        ("取消订单", "取货", 0.25),
        ("取消订单", "货", 0.0),
    ];
    for (task, word, expected) in rows {
        let found = home(task, word);
        assert!((found - expected).abs() < 1e-9, "{word} for {task}: {found}");
    }
}

#[test]
fn a_number_that_stands_in_a_known_name_too_never_counts_against_an_answer() {
    let task = "alpha_20245 bravo charlie delta foxtrot";
    let with = |year: u32| {
        let answer =
            format!("Released in {year}. The bravo uses zulu_2024 beside dolphins, otters and penguins.");
        score(task, &[], &answer)
    };
    assert!(with(2024) <= with(1999), "{} {}", with(2024), with(1999));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_judged_without_panic_and_the_same_way_twice(
        task in "(?s).{0,300}", answer in "(?s).{0,300}", grounding in "(?s).{0,100}",
    ) {
        let judged = judge(&Settings::default(), &task, &[&grounding], &answer);
        prop_assert_eq!(&judged, &judge(&Settings::default(), &task, &[&grounding], &answer));
        let read: Judgement = serde_json::from_str(&serde_json::to_string(&judged).unwrap()).unwrap();
        prop_assert_eq!(&judged, &read);
        if let Judgement::Judged(drift) = judged {
            prop_assert!((0.0..=1.0).contains(&drift.score));
            prop_assert!(drift.ungrounded.len() <= TERMS_NAMED_MAX && drift.grounded.len() <= TERMS_NAMED_MAX);
        }
    }

    #[test]
    fn an_answer_that_repeats_its_task_never_drifts(task in "([a-z]{3,9} ){8,40}") {
        prop_assert!(!judge(&Settings::default(), &task, &[], &task).is_drift());
    }
}

#[test]
fn text_is_read_as_far_as_the_pages_say_and_no_further() {
    assert_eq!((TEXT_BYTES_MAX, GROUNDING_BYTES_MAX), (65_536, 262_144));
}
