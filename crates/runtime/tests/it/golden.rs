//! Golden journals: what an older build wrote still opens, and means the same.

use bowline::core::event::{Ending, Event};
use bowline::core::journal::Record;
use bowline::core::provenance::Digest;
use bowline::core::view;

use crate::journals::{fixtures, fold, read};

/// The records of a golden journal, in order.
fn records(format: u16) -> Vec<Record> {
    read(&fixtures("journals").join(format!("format-{format}.jsonl"))).remove(0)
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
