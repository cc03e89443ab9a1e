//! `bowline show`: everything about one run.

use serde_json::{Value, json};

use super::Desk;
use crate::args::ShowArgs;
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::pick;
use crate::render::story;
use crate::report::Report;

/// Tells about a run.
pub(crate) async fn show(desk: &Desk<'_>, args: &ShowArgs) -> Result<Exit, CliError> {
    let engine = desk.home.observe()?;
    let row = pick::run(engine.store().as_ref(), &args.run).await?;
    let report = Report::load(engine.store().as_ref(), &row.run).await?;
    if args.json {
        let mut told = story::object(&report);
        if let (Value::Object(map), true) = (&mut told, args.events) {
            let events = report.events.iter();
            let events = events.map(|(seq, at, event)| json!({ "seq": seq, "at": at, "event": event }));
            map.insert("journal".into(), events.collect());
        }
        desk.screen.json(&told);
        return Ok(Exit::Committed);
    }
    story::tell(desk.screen, &desk.home, &report, clock::now());
    if args.events {
        desk.screen.line("");
        story::timeline(desk.screen, &report.events);
    }
    Ok(Exit::Committed)
}
