//! `bowline calibrate`: how far the confidence of runs can be relied upon.

use bowline_core::gate::{ENOUGH, Reliability, fit, reliability};

use super::Desk;
use crate::args::CalibrateArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::looks::Calibrated;
use crate::render::{table, words};

/// Holds what people said about outputs against how sure the runs were of them.
pub(crate) async fn calibrate(desk: &Desk<'_>, args: &CalibrateArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let recorded = engine.outcomes(args.class.as_deref()).await?;
    let learned = fit(&recorded);
    let (as_it_was, corrected) = (reliability(&recorded, None), reliability(&recorded, learned));
    if args.json {
        desk.screen.json(&Calibrated {
            class: &args.class,
            outcomes: recorded.len(),
            enough: ENOUGH,
            as_it_was: &as_it_was,
            learned,
            corrected: learned.map(|_| &corrected),
        });
        return Ok(Exit::Committed);
    }
    let of = args.class.as_ref().map_or_else(|| "all classes".to_owned(), |class| format!("class {class}"));
    let count = u64::try_from(recorded.len()).unwrap_or(u64::MAX);
    desk.screen.line(&format!("{} people judged, of {of}", words::several(count, "output")));
    show(desk, &as_it_was);
    match learned {
        Some(learned) => {
            desk.screen.line(&format!(
                "corrected by slope {} and shift {}, from {} outcomes:",
                learned.slope, learned.shift, learned.outcomes
            ));
            show(desk, &corrected);
        }
        None => desk.screen.line(&format!(
            "  → {ENOUGH} outcomes are needed before confidence is corrected; answer with approve, deny or revise"
        )),
    }
    if args.class.is_none() {
        desk.screen.line("  → runs learn from their own class: calibrate --class NAME shows what they learn");
    }
    Ok(Exit::Committed)
}

fn show(desk: &Desk<'_>, found: &Reliability) {
    let rows: Vec<Vec<String>> = found
        .bins
        .iter()
        .map(|bin| {
            vec![
                format!("{} – {}", bin.from, bin.to),
                bin.outcomes.to_string(),
                bin.right.to_string(),
                format!("{} %", bin.believed.percent()),
                format!("{} %", bowline_core::control::Ppm::share(bin.right, bin.outcomes).percent()),
            ]
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    let headings = ["CONFIDENCE", "OUTPUTS", "RIGHT", "BELIEVED", "CAME TRUE"];
    for line in table::lines(&headings, &rows, desk.screen.width()) {
        desk.screen.line(&format!("  {line}"));
    }
    desk.screen.line(&format!("  off by {} on average", found.error));
}
