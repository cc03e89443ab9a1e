//! Golden journals as files: read, checked against their chain, folded. Used by the tests of
//! old formats and of what earlier versions left.

use std::fs;
use std::path::{Path, PathBuf};

use bowline::core::event::Event;
use bowline::core::id::{Millis, RunId};
use bowline::core::journal::Record;
use bowline::core::provenance::{Digest, canonical_value};
use bowline::core::run::Run;
use bowline::core::view::Provenance;
use serde_json::Value;

/// A folder of fixtures.
pub(crate) fn fixtures(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

/// The journals in a file, run by run, each in order.
pub(crate) fn read(path: &Path) -> Vec<Vec<Record>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut journals: Vec<Vec<Record>> = Vec::new();
    for record in lines.filter(|line| line.get("run").is_some()).map(|line| record(&line)) {
        match journals.iter_mut().find(|journal| journal[0].run == record.run) {
            Some(journal) => journal.push(record),
            None => journals.push(vec![record]),
        }
    }
    journals
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

/// Every event of a journal whose chain holds, with its time.
pub(crate) fn events(records: &[Record]) -> Vec<(Event, Millis)> {
    let mut head = Digest::ZERO;
    let mut events = Vec::new();
    for record in records {
        record.verify(head).unwrap();
        head = record.hash;
        events.extend(record.events().unwrap().into_iter().map(|event| (event, record.at)));
    }
    events
}

/// The state and the provenance a journal folds to.
pub(crate) fn fold(records: &[Record]) -> (Run, Provenance) {
    let mut run: Option<Run> = None;
    let mut provenance = Provenance::new(&records[0].run);
    for (event, at) in events(records) {
        provenance.note(&event, at);
        match &mut run {
            Some(run) => run.apply(&event, at),
            None => run = Run::begin(&records[0].run, &event, at),
        }
    }
    (run.unwrap(), provenance)
}
