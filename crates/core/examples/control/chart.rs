//! The charts of the page, as plain SVG.

use std::fmt::Write as _;

use bowline_core::control::{Decision, Memory, judge};

use crate::page::Figures;
use crate::policy::{play_round, ppm, settings};
use crate::study::Size;

const WIDE: f64 = 640.0;
const HIGH: f64 = 260.0;
const LEFT: f64 = 48.0;
const FOOT: f64 = 32.0;
const COLOURS: [&str; 5] = ["#888888", "#d08770", "#b48ead", "#5e81ac", "#2e7d32"];

fn opened(title: &str, high: f64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDE} {high}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<title>{title}</title>\n<rect width=\"{WIDE}\" height=\"{high}\" fill=\"white\"/>\n"
    )
}

fn word(svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

fn stroke(svg: &mut String, points: &[(f64, f64)], style: &str) {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(svg, "<polyline points=\"{}\" fill=\"none\" {style}/>", points.join(" "));
}

/// Quality round by round of one plant under the controller, at three levels of noise.
pub(crate) fn rounds(size: Size) -> String {
    const ROUNDS: u32 = 12;
    let place = |round: u32, quality: f64| {
        let across = f64::from(round) / f64::from(ROUNDS);
        (LEFT + across * (WIDE - LEFT - 90.0), (1.0 - quality) * (HIGH - FOOT - 16.0) + 12.0)
    };
    let mut svg = opened("Quality after each round of repair, G 0.3, start 0.2", HIGH);
    for tenth in [0.0, 0.25, 0.5, 0.75, 0.95, 1.0] {
        let (from, to) = (place(0, tenth), place(ROUNDS, tenth));
        let gate =
            if tenth == 0.95 { "stroke=\"#bf616a\" stroke-dasharray=\"4 3\"" } else { "stroke=\"#dddddd\"" };
        stroke(&mut svg, &[from, to], gate);
        let text = if tenth == 0.95 { "gate".into() } else { format!("{tenth:.2}") };
        let down = if tenth == 0.95 { 8.0 } else { 4.0 };
        word(&mut svg, (from.0 - 6.0, from.1 + down), "end", &text);
    }
    for (index, sigma) in [0.0, 0.05, 0.1].into_iter().enumerate() {
        let settings = settings(0.3, sigma, 0.05, 1.0);
        let mut dice = crate::dice::Dice::new(size.seed, 777, u64::try_from(index).unwrap_or(0));
        let (mut quality, mut memory, mut points) = (0.2, Memory::default(), vec![place(0, 0.2)]);
        for round in 1..=ROUNDS {
            let judgement = judge(&settings, &memory, &play_round(quality, ROUNDS - round, settings.slope));
            memory = judgement.memory;
            let intensity = match judgement.decision {
                Decision::Repair { intensity } | Decision::Escalate { intensity, .. } => intensity,
                Decision::Stop { .. } => break,
            };
            let world = crate::world::World {
                repair: crate::world::Repair::Linear { gain: 0.3, sigma },
                start: 0.2,
                spread: 0.0,
            };
            quality = world.repaired(quality, crate::policy::real(intensity), &mut dice);
            points.push(place(round, quality));
            if ppm(1.0 - quality) <= settings.gate {
                break;
            }
        }
        let colour = COLOURS.iter().rev().nth(index).copied().unwrap_or("black");
        stroke(&mut svg, &points, &format!("stroke=\"{colour}\" stroke-width=\"2\""));
        if let Some((x, y)) = points.last() {
            let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
            word(
                &mut svg,
                (x + 6.0, y + 14.0 * f64::from(u8::try_from(index).unwrap_or(0)) - 2.0),
                "start",
                &format!("σ {sigma}"),
            );
        }
    }
    for round in (0..=ROUNDS).step_by(2) {
        word(&mut svg, (place(round, 0.0).0, HIGH - 14.0), "middle", &round.to_string());
    }
    word(&mut svg, (WIDE / 2.0, HIGH - 2.0), "middle", "rounds of repair");
    svg + "</svg>\n"
}

/// What a success costs on every world, way by way, as shares of trying again.
pub(crate) fn costs(figures: &Figures) -> String {
    let whole = crate::study::together("the grid", &figures.grid);
    let rows: Vec<_> = std::iter::once(&whole).chain(&figures.foreign).collect();
    let count = f64::from(u8::try_from(rows.len()).unwrap_or(1));
    let high = 30.0 + count * 76.0;
    let mut svg = opened("What a success costs, against trying again from scratch", high);
    word(
        &mut svg,
        (8.0, 16.0),
        "start",
        "cost of a success; trying again from scratch = 100 %, bars end at 200 %",
    );
    for (index, row) in rows.into_iter().enumerate() {
        let top = 30.0 + 76.0 * f64::from(u8::try_from(index).unwrap_or(0));
        word(&mut svg, (8.0, top + 10.0), "start", &row.name);
        let base = row.tallies.first().map_or(1.0, |(_, tally)| tally.cost_of_success());
        for (bar, (name, tally)) in row.tallies.iter().enumerate() {
            let share = if base.is_infinite() { 0.0 } else { tally.cost_of_success() / base };
            let (y, length) =
                (top + 15.0 + 11.0 * f64::from(u8::try_from(bar).unwrap_or(0)), share.min(2.0) * 220.0);
            let colour = COLOURS.get(bar).copied().unwrap_or("black");
            word(&mut svg, (78.0, y + 8.5), "end", name);
            let _ = writeln!(
                svg,
                "<rect x=\"84\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"9\" fill=\"{colour}\"/>"
            );
            word(&mut svg, (90.0 + length, y + 8.5), "start", &format!("{:.0} %", share * 100.0));
        }
    }
    svg + "</svg>\n"
}
