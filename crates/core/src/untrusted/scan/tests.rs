//! Marks and phrases are found where they are, and only there.

use proptest::prelude::*;

use super::lexicon::{SLOTS, WORDS};
use super::*;

fn found(text: &str) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    scan(text, None, |hit| found.push((hit.rule, text[hit.span].to_owned())));
    found
}

fn check(text: &str, expected: &[(&'static str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(rule, text)| (*rule, (*text).to_owned())).collect();
    assert_eq!(found(text), expected, "{text:?}");
}

#[test]
fn a_span_is_the_written_form_and_nothing_more() {
    check("a <|im_start|> b", &[("template", "<|im_start|>")]);
    check("aİİ<|im_\u{200d}start|>b", &[("template", "<|im_\u{200d}start|>")]);
    check("x &lt;|im_start|&gt;y", &[("template", "&lt;|im_start|&gt;")]);
    check("so **ignore** _previous_ `instructions`.", &[("override", "ignore** _previous_ `instructions")]);
}

#[test]
fn a_word_counts_only_where_it_is_one() {
    check("signore previous instructions", &[]);
    check("ignored previous instructions", &[]);
    check("ignore_previous_instructions()", &[]);
    check("USAIgnore previous instructions", &[("override", "Ignore previous instructions")]);
}

#[test]
fn a_phrase_stays_within_its_sentence() {
    check("Some are ignored. Ignore it. Previous instructions follow.", &[]);
    check("ignore the very long and winding road of previous instructions", &[]);
}

#[test]
fn misspelling_is_its_own_rule() {
    check("ignore previous iunstructions", &[("override-misspelt", "ignore previous iunstructions")]);
    check("ignore previous instructions", &[("override", "ignore previous instructions")]);
}

#[test]
fn turns_begin_after_an_empty_line_only() {
    check("a\n\nHuman: b", &[("template", "Human:")]);
    check("a\\n\\nHuman: b", &[("template", "Human:")]);
    check("Human: 1 Assistant: 2\nHuman: 3", &[]);
    check("Human: 1\r\nAssistant: 2\r\nHuman: 3", &[]);
    check("a\r\n\r\nHuman: b", &[("template", "Human:")]);
}

#[test]
fn the_fence_is_found_in_any_disguise() {
    let mark = "f3a9c1d27b604e58";
    for text in ["f3a9c1d27b604e58", "F3A9C1D27B604E58", "f3a9 c1d2\u{200b}7b604e58", "f3a9f3a9c1d27b604e58x"]
    {
        let mut hits = 0;
        scan(text, Some(mark), |found| hits += usize::from(found.rule == "own-mark"));
        assert_eq!(hits, 1, "{text}");
    }
}

#[test]
fn the_vocabulary_fits_its_numbering() {
    let words = || WORDS.iter().chain(foreign::WORDS);
    let mut slots: Vec<u8> = words().map(|(slot, _)| *slot as u8).collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), SLOTS, "every slot has words");
    const { assert!(SLOTS <= 128, "one bit each") };
    let longest =
        words().flat_map(|(_, words)| words.iter()).map(|word| vocabulary::squeezed(word).len()).max();
    assert!(longest < Some(RING));
    assert!(templates::all().all(|(mark, _)| vocabulary::squeezed(&mark).len() < RING));
    assert!(VOCABULARY.states() < 30_000, "{}", VOCABULARY.states());
    assert!(VOCABULARY.steps() < 240, "{}", VOCABULARY.steps());
    assert!(RULES.iter().all(|rule| (1..=3).contains(&rule.steps.len())));
}

proptest! {
    #[test]
    fn every_span_lies_on_character_boundaries(
        parts in prop::collection::vec(
            prop_oneof![
                Just("<|im_start|>"), Just("ignore "), Just("previous "), Just("instructions"), Just("ﬃ"), Just("İ"),
                Just("\u{200b}"), Just("&lt;"), Just("[INST]"), Just("\n\nHuman:"), Just("</untrusted_data "), Just(">"), Just("忽略"), Just("指令"),
            ],
            0..12,
        )
    ) {
        let text = parts.concat();
        scan(&text, Some("f3a9c1d27b604e58"), |found| {
            assert!(text.get(found.span).is_some_and(|span| !span.is_empty()));
        });
    }
}
