//! A short version of the study.

use super::*;

#[test]
fn the_promises_of_the_page_hold_in_a_short_study() {
    let series = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/control/series.json");
    let moves = moves(Path::new(series)).unwrap();
    let size = Size { runs: 2500, seed: 4 };
    let figures = page::Figures::short(size, &moves);
    assert_eq!(figures.broken(), Vec::<String>::new());
}

#[test]
fn the_same_words_give_the_same_figures() {
    let figures = |seed| -> Vec<f64> {
        let size = Size { runs: 20, seed };
        let floors = study::floors(size).into_iter().map(|floor| floor.simulated);
        let foreign = study::foreign(size, &[0.3, -0.1]).into_iter().map(|row| row.saving());
        floors.chain(foreign).collect()
    };
    assert_eq!(figures(1), figures(1));
    assert_ne!(figures(1), figures(2));
}

#[test]
fn unknown_words_are_refused() {
    let asked =
        |words: &[&str]| super::asked(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert!(asked(&["--runs", "12", "--seed", "3"]).is_ok());
    assert!(asked(&["--runs", "many"]).is_err());
    assert!(asked(&["--rounds", "3"]).is_err());
    assert!(asked(&["--runs"]).is_err());
}
