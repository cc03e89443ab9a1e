//! The controller against references in floating point, which only tests use.

#![expect(clippy::cast_precision_loss, reason = "references, not results")]

use super::*;
use crate::budget::{Cost, UNLIMITED};
use crate::message::Payload;
use crate::quality::{CheckOutcome, CheckResult, Failure};

const GRID: [i64; 12] = [-200, 0, 50, 100, 300, 500, 900, 1100, 1500, 1900, 2100, 3000];

fn real(ppm: Ppm) -> f64 {
    ppm.0 as f64 / 1e6
}

fn gains(p: i64, i: i64, d: i64) -> Gains {
    Gains { proportional: Ppm(p * 1000), integral: Ppm(i * 1000), derivative: Ppm(d * 1000) }
}

/// The largest error of the last rounds of the linear loop, without any band.
fn tail(gains: &Gains, plant: f64) -> f64 {
    let [p, i, d] = [gains.proportional, gains.integral, gains.derivative].map(real);
    let (mut e, mut sum, mut last, mut worst) = (1.0_f64, 0.0, 1.0, 0.0_f64);
    for round in 0..6000 {
        sum += e;
        let u = p * e + i * sum + d * (e - last);
        last = e;
        e -= plant * u;
        if !e.is_finite() || e.abs() > 1e12 {
            return f64::INFINITY;
        }
        if round > 5900 {
            worst = worst.max(e.abs());
        }
    }
    worst
}

#[test]
fn the_jury_test_says_what_a_simulation_shows() {
    let (mut settled, mut diverged) = (0, 0);
    for plant in [100_000, 400_000, 1_000_000] {
        for (p, i, d) in GRID
            .iter()
            .flat_map(|p| GRID.iter().map(move |i| (*p, *i)))
            .flat_map(|(p, i)| [-900, -300, 0, 40, 200, 700, 1200].into_iter().map(move |d| (p, i, d)))
        {
            let gains = gains(p, i, d);
            let tail = tail(&gains, plant as f64 / 1e6);
            // Roots near the circle take longer than a simulation has.
            if tail < 1e-9 {
                assert_eq!(gains.instability(Ppm(plant)), None, "{gains:?} {plant}");
                settled += 1;
            } else if tail > 1e3 {
                assert!(gains.instability(Ppm(plant)).is_some(), "{gains:?} {plant}");
                diverged += 1;
            }
        }
    }
    assert!(settled > 300 && diverged > 300, "{settled} {diverged}");
}

#[test]
fn a_proportional_loop_settles_between_zero_and_two() {
    let check = |p, expected| assert_eq!(gains(p, 0, 0).instability(Ppm(500_000)), expected, "{p}");
    check(0, Some(Instability::NotDriven));
    check(1, None);
    check(3999, None);
    check(4000, Some(Instability::Overshoots));
}

#[test]
fn derived_gains_are_stable_for_every_gain_and_damping() {
    for plant in (10_000..=1_000_000).step_by(10_000) {
        for damping in (200_000..=500_000).step_by(10_000) {
            let (plant, damping) = (Ppm(plant), Ppm(damping));
            assert_eq!(Gains::damped(plant, damping).instability(plant), None);
            assert_eq!(Gains::proportional(plant, damping).instability(plant), None);
        }
    }
}

fn wide() -> Band {
    Band { least: Ppm(-1_000_000_000), most: Ppm(1_000_000_000) }
}

#[test]
fn rounds_of_a_proportional_loop_are_the_closed_form() {
    let mut seen = 0;
    for plant in [100_000, 300_000, 700_000, 1_000_000] {
        for damping in [200_000, 350_000, 500_000] {
            for (start, gate) in [(900_000, 50_000), (400_000, 20_000), (1_000_000, 100_000)] {
                let gains = Gains::proportional(Ppm(plant), Ppm(damping));
                let model = Model { plant: Ppm(plant), gains, band: wide(), gate: Ppm(gate) };
                let (rounds, _) = rounds_to_gate(&model, &Memory::default(), Ppm(start)).unwrap();
                let rate = 1.0 - real(Ppm(plant)) * real(gains.proportional);
                let exact = (gate as f64 / start as f64).ln() / rate.abs().ln();
                // Where it is a hair's breadth from a whole number, either side is right.
                if (exact - exact.round()).abs() > 1e-3 {
                    assert_eq!(f64::from(rounds), exact.ceil(), "{plant} {damping} {start} {gate}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen > 30);
}

#[test]
fn a_loop_that_cannot_reach_its_gate_is_not_foreseen_to() {
    let gains = Gains::proportional(Ppm(500_000), Ppm(300_000));
    let band = Band { least: Ppm::ZERO, most: Ppm::ZERO };
    let model = Model { plant: Ppm(500_000), gains, band, gate: Ppm(50_000) };
    assert_eq!(rounds_to_gate(&model, &Memory::default(), Ppm::ONE), None);
}

#[test]
fn the_floor_of_a_proportional_loop_is_the_formula() {
    for (plant, p) in [(500_000, 1400), (1_000_000, 500), (200_000, 9000), (300_000, 100)] {
        let floor = floor(&gains(p, 0, 0), Ppm(plant), Ppm(40_000)).unwrap();
        let rate = 1.0 - plant as f64 / 1e6 * p as f64 / 1e3;
        let exact = 0.04 / (1.0 - rate * rate).sqrt();
        assert!((real(floor) - exact).abs() < 2e-6, "{floor} {exact}");
    }
}

/// A sum of uniform draws is near enough to a normal one here.
fn noise(state: &mut u64) -> f64 {
    let mut sum = 0.0;
    for _ in 0..12 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        sum += (*state >> 11) as f64 / (1_u64 << 53) as f64;
    }
    sum - 6.0
}

#[test]
fn the_floor_of_every_law_is_what_long_noisy_loops_show() {
    for law in [gains(1000, 0, 0), gains(1000, 200, 0), gains(1000, 0, 300), gains(900, 150, 200)] {
        let expected = real(floor(&law, Ppm(600_000), Ppm(50_000)).unwrap());
        let [p, i, d] = [law.proportional, law.integral, law.derivative].map(real);
        let (mut e, mut sum, mut last, mut squares, mut state) = (0.0, 0.0, 0.0, 0.0, 7);
        for _ in 0..200_000 {
            sum += e;
            let u = p * e + i * sum + d * (e - last);
            last = e;
            e += -0.6 * u + 0.05 * noise(&mut state);
            squares += e * e;
        }
        let seen = (squares / 200_000.0_f64).sqrt();
        assert!((seen / expected - 1.0).abs() < 0.03, "{law:?}: {seen} {expected}");
    }
}

#[test]
fn an_unstable_loop_has_no_floor() {
    assert_eq!(floor(&gains(4000, 0, 0), Ppm(500_000), Ppm(1)), None);
}

#[test]
fn the_first_round_has_no_change() {
    let law = gains(0, 0, 5000);
    let (memory, first) = Memory::default().next(Ppm(800_000), &law, &wide());
    assert_eq!(first, Ppm::ZERO);
    let (_, second) = memory.next(Ppm(500_000), &law, &wide());
    assert_eq!(second, Ppm(-1_500_000));
}

#[test]
fn a_held_intensity_does_not_wind_up() {
    let (law, band) = (gains(1000, 500, 0), Band { least: Ppm::ZERO, most: Ppm(400_000) });
    let mut memory = Memory::default();
    for _ in 0..100 {
        let (after, intensity) = memory.next(Ppm(900_000), &law, &band);
        assert_eq!(intensity, Ppm(400_000));
        memory = after;
    }
    assert_eq!(memory.integral, Ppm::ZERO);
    // Once the error is small the intensity is small at once.
    let (_, intensity) = memory.next(Ppm(10_000), &law, &band);
    assert_eq!(intensity, Ppm(15_000));
}

#[test]
fn the_worst_quality_is_the_error_and_what_nobody_measured_is_left_out() {
    let wanted = Quality::all(Ppm::ONE);
    let seen = Quality { correct: Some(Ppm(900_000)), safe: Some(Ppm(400_000)), ..Quality::default() };
    assert_eq!(seen.error(&wanted), Some(Ppm(600_000)));
    assert_eq!(Quality::default().error(&wanted), None);
    let modest = Quality { safe: Some(Ppm(300_000)), ..wanted };
    assert_eq!(seen.error(&modest), Some(Ppm(100_000)), "better than wanted is no error");
}

fn result(outcome: CheckOutcome) -> CheckResult {
    CheckResult { name: "check".into(), outcome, log: Payload::inline(""), duration_ms: 1, measure: None }
}

fn failed(count: usize) -> CheckResult {
    let failure = Failure::new("one", "no");
    result(CheckOutcome::Failed(vec![failure; count]))
}

#[test]
fn checks_that_pass_are_counted_and_single_failures_weigh() {
    let correct = |results: &[CheckResult], checks| measured(results, checks).correct.unwrap();
    let passed = || result(CheckOutcome::Passed);
    assert_eq!(correct(&[passed(), passed()], 2), Ppm::ONE);
    assert_eq!(correct(&[passed(), result(CheckOutcome::CouldNotRun("no".into()))], 2), Ppm(500_000));
    assert_eq!(correct(&[failed(1)], 4), Ppm(125_000), "what was not reached holds nothing");
    assert!(correct(&[failed(3)], 1) > correct(&[failed(4)], 1));
    assert!(correct(&[failed(0)], 1) < Ppm::ONE);
}

#[test]
fn few_rounds_say_little_and_many_say_it_all() {
    let prior = Plant::default();
    assert_eq!(estimate(&[], &prior), prior);
    let one = Move { intensity: Ppm::ONE, gained: Ppm(100_000) };
    let few = estimate(&[one; 2], &prior);
    assert!(few.gain > Ppm(300_000) && few.gain < prior.gain, "{few:?}");
    let many = estimate(&[one; 400], &prior);
    assert!((many.gain.0 - 100_000).abs() < 5_000 && many.sigma < Ppm(6_000), "{many:?}");
    assert_eq!(estimate(&[Move { gained: Ppm(-900_000), ..one }; 400], &prior).gain, Ppm(10_000));
}

#[test]
fn an_estimate_finds_the_plant_that_made_the_series() {
    let (mut moves, mut state) = (Vec::new(), 3);
    for round in 0..800_i64 {
        let intensity = Ppm(200_000 + 100_000 * (round % 8));
        let gained = 0.7 * real(intensity) + 0.08 * noise(&mut state);
        #[expect(clippy::cast_possible_truncation, reason = "a draw near one")]
        moves.push(Move { intensity, gained: Ppm((gained * 1e6) as i64) });
    }
    let found = estimate(&moves, &Plant::default());
    assert!((real(found.gain) - 0.7).abs() < 0.02 && (real(found.sigma) - 0.08).abs() < 0.005, "{found:?}");
}

#[test]
fn a_series_becomes_moves() {
    let series = [(Ppm(200), Ppm(7)), (Ppm(500), Ppm(8)), (Ppm(400), Ppm(9))];
    let expected =
        [Move { intensity: Ppm(7), gained: Ppm(300) }, Move { intensity: Ppm(8), gained: Ppm(-100) }];
    assert_eq!(moves(&series), expected);
    assert_eq!(moves(&[]), []);
}

fn reading(correct: i64) -> Reading {
    Reading {
        quality: Quality { correct: Some(Ppm(correct)), ..Quality::default() },
        accepted: false,
        rounds_left: 10,
        round_cost: RoundCost { base: Cost { tokens: 1000, micros: 0 }, slope: Ppm::ONE },
        left: Cost { tokens: UNLIMITED, micros: UNLIMITED },
    }
}

fn decided(settings: &Settings, memory: &Memory, reading: &Reading) -> Decision {
    judge(settings, memory, reading).decision
}

#[test]
fn the_harder_the_further_away() {
    let (settings, memory) = (Settings::default(), Memory::default());
    let intensity = |correct| decided(&settings, &memory, &reading(correct)).intensity().unwrap();
    assert!(intensity(300_000) > intensity(600_000));
    assert!(intensity(600_000) > intensity(850_000));
    assert_eq!(intensity(0), Ppm::ONE);
}

#[test]
fn what_is_good_enough_and_accepted_stops_and_what_is_not_accepted_is_mended_lightly() {
    let (settings, memory) = (Settings::default(), Memory::default());
    let good = Reading { accepted: true, ..reading(990_000) };
    assert_eq!(decided(&settings, &memory, &good), Decision::Stop { why: StopWhy::Reached });
    let light = Decision::Repair { intensity: settings.band.least };
    assert_eq!(decided(&settings, &memory, &reading(990_000)), light);
}

#[test]
fn without_a_round_or_means_for_one_it_stops() {
    let (settings, memory) = (Settings::default(), Memory::default());
    let none = Reading { rounds_left: 0, ..reading(500_000) };
    assert_eq!(decided(&settings, &memory, &none), Decision::Stop { why: StopWhy::NoRoundLeft });
    let poor = Reading { left: Cost { tokens: 1200, micros: 0 }, ..reading(500_000) };
    assert_eq!(decided(&settings, &memory, &poor), Decision::Stop { why: StopWhy::NothingLeft });
}

#[test]
fn what_the_forecast_does_not_fit_in_escalates() {
    let (settings, memory) = (Settings::default(), Memory::default());
    let why = |reading: &Reading| match decided(&settings, &memory, reading) {
        Decision::Escalate { why, .. } => why,
        other @ (Decision::Repair { .. } | Decision::Stop { .. }) => panic!("{other:?}"),
    };
    assert_eq!(why(&Reading { rounds_left: 1, ..reading(0) }), Why::RoundsShort);
    let poor = Reading { left: Cost { tokens: 2500, micros: 0 }, ..reading(0) };
    assert_eq!(why(&poor), Why::MeansShort);
}

#[test]
fn noise_above_the_gate_escalates_at_once() {
    let plant = Plant { sigma: Ppm(80_000), ..Plant::default() };
    let settings = Settings::of(plant, Settings::DAMPING);
    let judgement = judge(&settings, &Memory::default(), &reading(500_000));
    assert!(judgement.floor.unwrap() > settings.gate);
    assert_eq!(judgement.decision, Decision::Escalate { why: Why::NoiseFloor, intensity: Ppm::ONE });
}

#[test]
fn rounds_that_only_wobble_are_a_stall_and_small_steps_add_up() {
    let settings = Settings::default();
    let fold = |series: &[i64]| {
        let memory = Memory::default();
        let fold = |memory: Memory, correct: &i64| judge(&settings, &memory, &reading(*correct)).memory;
        series.iter().fold(memory, fold)
    };
    assert_eq!(fold(&[500_000, 510_000, 495_000]).stalled, 2);
    assert_eq!(fold(&[500_000, 520_000, 535_000]).stalled, 0, "3.5 % since the last progress");
    let decision = decided(&settings, &fold(&[500_000, 510_000]), &reading(495_000));
    assert_eq!(decision, Decision::Escalate { why: Why::Stalled, intensity: Ppm::ONE });
}

#[test]
fn after_a_round_that_brought_nothing_every_repair_tries_its_hardest() {
    let settings = Settings::default();
    let next = |memory: Memory, correct| judge(&settings, &memory, &reading(correct));
    let first = next(Memory::default(), 800_000);
    assert!(first.decision.intensity().unwrap() < Ppm(400_000));
    let second = next(first.memory, 790_000);
    assert_eq!(second.decision, Decision::Repair { intensity: Ppm::ONE });
    let third = next(second.memory, 900_000);
    assert_eq!(third.decision, Decision::Repair { intensity: Ppm::ONE }, "progress later changes nothing");
}

#[test]
fn what_was_seen_is_believed_unless_the_task_says_otherwise() {
    let learned = Plant { gain: Ppm(200_000), sigma: Ppm(10_000), rounds: 40 };
    let settings = Settings { gate: Ppm(20_000), ..Settings::default() };
    let believing = settings.believing(Some(learned));
    assert_eq!((believing.plant, believing.gate), (learned, Ppm(20_000)));
    assert_eq!(believing.gains.instability(learned.gain), None);
    let told = Settings::of(Plant { gain: Ppm(900_000), ..Plant::default() }, Settings::DAMPING);
    assert_eq!(told.believing(Some(learned)), told);
    assert_eq!(settings.believing(None), settings);
}

#[test]
fn a_judgement_survives_the_journal() {
    let judgement = judge(&Settings::default(), &Memory::default(), &reading(432_100));
    let text = serde_json::to_string(&judgement).unwrap();
    assert!(!text.contains('.'), "whole numbers only: {text}");
    assert_eq!(serde_json::from_str::<Judgement>(&text).unwrap(), judgement);
}

#[test]
fn a_cost_is_shared_out_over_rounds_and_comes_back() {
    let units = price_of(3, Ppm(1_500_000), Ppm(2_000_000));
    assert_eq!(units, Ppm(6_000_000));
    let base = unit_price(Cost { tokens: 6000, micros: 60 }, units);
    assert_eq!(base, Cost { tokens: 1000, micros: 10 });
    assert_eq!(
        RoundCost { base, slope: Ppm(2_000_000) }.of(3, Ppm(1_500_000)),
        Cost { tokens: 6000, micros: 60 }
    );
}

#[test]
fn strategies_follow_the_intensity() {
    let words = [0, 399_999, 400_000, 899_999, 900_000, 1_000_000].map(|u| Strategy::of(Ppm(u)).words());
    let [edit, section, full] = ["minimal edit", "section rewrite", "full regeneration"];
    assert_eq!(words, [edit, edit, section, section, full, full]);
}

#[test]
fn amounts_read_as_decimals() {
    assert_eq!(Ppm(713_900).to_string(), "0.713");
    assert_eq!(Ppm(-1_050_000).to_string(), "-1.050");
    assert_eq!((Ppm(994_999).percent(), Ppm(995_000).percent()), (99, 100));
}
