//! What failed answers mean for the next token, on a small vocabulary.

use std::sync::Arc;

use super::*;
use crate::gguf::Gguf;
use crate::tiny::Tiny;

fn vocabulary() -> Arc<Vocabulary> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    Tiny::default().write(&path);
    Arc::new(Vocabulary::read(&Gguf::open(&path).unwrap()).unwrap())
}

fn token(vocabulary: &Vocabulary, text: &str) -> u32 {
    let count = u32::try_from(vocabulary.len()).unwrap();
    (0..count).find(|id| vocabulary.bytes(*id) == text.as_bytes()).unwrap_or_else(|| panic!("no {text:?}"))
}

/// A trail of these pieces.
fn trail(vocabulary: &Vocabulary, pieces: &[(&str, f64)]) -> Trail {
    Trail {
        text: pieces.iter().flat_map(|(piece, _)| piece.bytes()).collect(),
        choices: pieces
            .iter()
            .map(|(piece, share)| Choice { token: token(vocabulary, piece), share: *share })
            .collect(),
    }
}

fn left(vocabulary: &Vocabulary, failed: &[Trail], chosen: &[(&str, f64)]) -> Option<Vec<f32>> {
    let so_far = trail(vocabulary, chosen);
    let detour = Detour::of(vocabulary, failed, &so_far.choices, &so_far.text)?;
    Some(detour.scores(&vec![0.0; vocabulary.len()]))
}

fn at(scores: &[f32], vocabulary: &Vocabulary, text: &str) -> f32 {
    scores[token(vocabulary, text) as usize]
}

#[test]
fn a_token_is_worth_what_does_not_lead_to_a_failed_answer() {
    let vocabulary = vocabulary();
    let failed = [trail(&vocabulary, &[("a", 0.9), ("b", 0.5)])];
    let first = left(&vocabulary, &failed, &[]).unwrap();
    assert!((at(&first, &vocabulary, "a") - 0.5_f32.ln()).abs() < 1e-6);
    assert!(at(&first, &vocabulary, "b").abs() < f32::EPSILON);
    let second = left(&vocabulary, &failed, &[("a", 0.9)]).unwrap();
    assert!(at(&second, &vocabulary, "b").is_infinite());
    assert!(at(&second, &vocabulary, "c").is_finite());
}

#[test]
fn shares_of_several_failed_answers_add_up() {
    let vocabulary = vocabulary();
    let failed =
        [trail(&vocabulary, &[("a", 0.9), ("b", 0.5)]), trail(&vocabulary, &[("a", 0.9), ("c", 0.25)])];
    let first = left(&vocabulary, &failed, &[]).unwrap();
    assert!((at(&first, &vocabulary, "a") - 0.25_f32.ln()).abs() < 1e-6);
    let failed = [failed, [trail(&vocabulary, &[("a", 0.9), ("d", 0.25)]), Trail::default()]].concat();
    let first = left(&vocabulary, &failed, &[]).unwrap();
    assert!(at(&first, &vocabulary, "a").is_infinite(), "nothing else is left behind it");
}

#[test]
fn an_answer_that_has_parted_from_all_that_failed_is_free() {
    let vocabulary = vocabulary();
    let failed = [trail(&vocabulary, &[("a", 0.9), ("b", 0.5)])];
    assert!(left(&vocabulary, &failed, &[("c", 0.1)]).is_none());
    assert!(left(&vocabulary, &[], &[]).is_none());
}

#[test]
fn the_same_text_in_other_pieces_must_part_at_once() {
    let vocabulary = vocabulary();
    // "the" is one token; "th" and "t" begin it too.
    let failed = [trail(&vocabulary, &[("the", 0.9), ("!", 1.0)])];
    let so_far = trail(&vocabulary, &[]);
    let detour = Detour::of(&vocabulary, &failed, &so_far.choices, &so_far.text).unwrap();
    assert_eq!(detour.disguised(token(&vocabulary, "th")), [b"e!"]);
    assert!(detour.disguised(token(&vocabulary, "the")).is_empty(), "it is the trail itself");
    assert!(detour.disguised(token(&vocabulary, "w")).is_empty());
    let beside = left(&vocabulary, &failed, &[("th", 0.1)]).unwrap();
    assert!(at(&beside, &vocabulary, "e").is_infinite());
    assert!(at(&beside, &vocabulary, "er").is_finite());
}

#[test]
fn where_a_failed_text_is_over_its_end_is_what_failed() {
    let vocabulary = vocabulary();
    let failed = [trail(&vocabulary, &[("the", 0.9)])];
    let beside = left(&vocabulary, &failed, &[("th", 0.1), ("e", 0.1)]).unwrap();
    for end in vocabulary.ends() {
        assert!(beside[*end as usize].is_infinite());
    }
    assert!(at(&beside, &vocabulary, "!").is_finite());
}

#[test]
fn a_share_is_of_what_may_come() {
    let scores = [0.0, 0.0, 0.0, f32::NEG_INFINITY];
    assert!((share(&scores, |_| true, 1) - 1.0 / 3.0).abs() < 1e-6);
    assert!((share(&scores, |id| id != 0, 1) - 0.5).abs() < 1e-6);
    assert!(share(&scores, |_| true, 3).abs() < f64::EPSILON);
    assert!(share(&scores, |_| false, 1).abs() < f64::EPSILON);
    assert!(share(&[1e30, 0.0], |_| true, 0) <= 1.0);
}

#[test]
fn an_answer_is_as_likely_as_its_choices_on_the_average() {
    assert_eq!(likelihood(&[]), Ppm::ONE);
    assert_eq!(likelihood(&[1.0, 1.0]), Ppm::ONE);
    assert_eq!(likelihood(&[0.9, 0.4]), Ppm(600_000));
    assert_eq!(likelihood(&[0.0]), Ppm(1), "as unlikely as can be told, and no less");
    assert!(likelihood(&[f64::NAN, 2.0]) <= Ppm::ONE);
}

#[test]
fn so_many_trails_are_kept_and_the_oldest_goes() {
    let mut trails = Trails::default();
    let asked = Asked::of(&[1, 2], "", 10);
    for number in 0..=KEPT_MAX {
        trails.keep(asked, Trail { text: number.to_string().into_bytes(), choices: Vec::new() });
        trails.keep(asked, Trail { text: number.to_string().into_bytes(), choices: Vec::new() });
    }
    assert_eq!(trails.0.len(), KEPT_MAX);
    assert!(trails.find(asked, "0").is_empty());
    assert_eq!(trails.find(asked, "1").len(), 1);
    assert!(trails.find(Asked::of(&[1, 2], "", 11), "1").is_empty());
    assert!(trails.find(Asked::of(&[1, 3], "", 10), "1").is_empty());
}

#[test]
fn a_text_that_came_about_in_two_ways_has_two_trails() {
    let mut trails = Trails::default();
    let asked = Asked::of(&[], "", 1);
    let of = |tokens: &[u32]| Trail {
        text: b"the".to_vec(),
        choices: tokens.iter().map(|token| Choice { token: *token, share: 0.5 }).collect(),
    };
    for trail in [of(&[1]), of(&[2, 3]), of(&[1])] {
        trails.keep(asked, trail);
    }
    assert_eq!(trails.find(asked, "the"), [of(&[1]), of(&[2, 3])]);
}
