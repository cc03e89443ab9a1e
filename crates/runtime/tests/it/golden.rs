//! Golden journals: what an older build wrote still opens, and means the same.

use std::path::Path;

use bowline::core::event::{Ending, Event};
use bowline::core::id::{Millis, RunId};
use bowline::core::journal::Record;
use bowline::core::provenance::{Digest, canonical_value};
use bowline::core::run::Run;
use bowline::core::view::{self, Provenance};
use serde_json::Value;

/// The records of a golden journal, in order.
fn records(format: u16) -> Vec<Record> {
    let name = format!("../../fixtures/journals/format-{format}.jsonl");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("run").is_some()).map(|line| record(&line)).collect()
}

fn record(line: &Value) -> Record {
    Record {
        run: RunId::parse(line["run"].as_str().unwrap()).unwrap(),
        seq: line["seq"].as_u64().unwrap(),
        at: Millis(line["at"].as_u64().unwrap()),
        format: u16::try_from(line["format"].as_u64().unwrap()).unwrap(),
        body: canonical_value(&line["events"]),
        hash: Digest::parse(line["hash"].as_str().unwrap()).unwrap(),
    }
}

/// The state and the provenance a journal folds to.
fn fold(records: &[Record]) -> (Run, Provenance) {
    let mut head = Digest::ZERO;
    let mut run: Option<Run> = None;
    let mut provenance = Provenance::new(&records[0].run);
    for record in records {
        record.verify(head).unwrap();
        head = record.hash;
        for event in record.events().unwrap() {
            provenance.note(&event, record.at);
            match &mut run {
                Some(run) => run.apply(&event, record.at),
                None => run = Run::begin(&record.run, &event, record.at),
            }
        }
    }
    (run.unwrap(), provenance)
}

#[test]
fn a_journal_of_every_format_opens_and_ends_committed() {
    for format in [1, 2] {
        let records = records(format);
        assert!(records.iter().all(|record| record.format == format));
        let (run, provenance) = fold(&records);
        assert!(matches!(run.ending(), Some(Ending::Committed { .. })), "format {format}");
        assert_eq!((run.seq, run.spend.steps, run.spend.tool_calls, run.spend.repairs), (39, 6, 4, 1));
        assert_eq!(provenance.checks.iter().map(|check| check.passed).collect::<Vec<_>>(), [false, true]);
    }
}

#[test]
fn formats_say_the_same_in_other_words() {
    let lines = |format| -> Vec<String> {
        let events: Vec<Event> = records(format).iter().flat_map(|record| record.events().unwrap()).collect();
        events.iter().filter(|event| !matches!(event, Event::Ended { .. })).map(view::line).collect()
    };
    assert_eq!(lines(1), lines(2));
    let (_, old) = fold(&records(1));
    let (_, new) = fold(&records(2));
    assert_eq!(old, new);
}

#[test]
fn what_this_build_writes_is_the_newest_golden_format() {
    assert_eq!(records(bowline::core::journal::FORMAT)[0].format, bowline::core::journal::FORMAT);
    let sealed =
        Record::seal(Digest::ZERO, &records(2)[0].run, 1, records(2)[0].at, &records(2)[0].events().unwrap());
    assert_eq!(sealed, records(2)[0], "the first record is written today byte by byte as it was then");
}
