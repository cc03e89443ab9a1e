//! Checks a stretch of a journal against the hash chain and the run's row.
//!
//! Both stores hand out journals through here, so what counts as damage is said
//! once. Nothing is repaired and nothing is skipped.

use bowline_core::id::RunId;
use bowline_core::journal::{BadRecord, Record};
use bowline_core::provenance::Digest;

/// A record with the number of events in its body.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    pub(crate) record: Record,
    pub(crate) count: u64,
}

impl Counted {
    /// Sequence number of the event after this record.
    pub(crate) fn next_seq(&self) -> u64 {
        self.record.seq.saturating_add(self.count)
    }
}

/// A place between two records: what comes next, and what it must follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) next_seq: u64,
    pub(crate) head: Digest,
}

impl Place {
    /// Before the first record.
    pub(crate) const START: Self = Self { next_seq: 1, head: Digest::ZERO };
}

/// Proves that `records` lead from one place to the other without a gap.
pub(crate) fn verify(run: &RunId, from: Place, records: &[Counted], to: Place) -> Result<(), BadRecord> {
    let mut place = from;
    for counted in records {
        let record = &counted.record;
        if record.seq != place.next_seq || counted.count == 0 {
            return Err(BadRecord::Gap { run: run.clone(), expected: place.next_seq, found: record.seq });
        }
        record.verify(place.head)?;
        place = Place { next_seq: counted.next_seq(), head: record.hash };
    }
    if place.next_seq != to.next_seq {
        return Err(BadRecord::Gap { run: run.clone(), expected: to.next_seq, found: place.next_seq });
    }
    if place.head != to.head {
        let seq = records.last().map_or(place.next_seq, |last| last.record.seq);
        return Err(BadRecord::Hash { run: run.clone(), seq });
    }
    Ok(())
}

/// Proves that `records`, verified from `from`, pass through a place that was
/// written down before. A place before `from` is not judged.
pub(crate) fn passes(run: &RunId, from: Place, records: &[Counted], through: Place) -> Result<(), BadRecord> {
    if through.next_seq <= from.next_seq {
        return Ok(());
    }
    let last = records.iter().find(|counted| counted.next_seq() >= through.next_seq);
    match last {
        Some(last) if last.next_seq() == through.next_seq && last.record.hash == through.head => Ok(()),
        Some(last) => Err(BadRecord::Hash { run: run.clone(), seq: last.record.seq }),
        None => Err(BadRecord::Gap { run: run.clone(), expected: through.next_seq, found: from.next_seq }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bowline_core::event::Event;
    use bowline_core::id::Millis;

    fn journal(records: u64) -> (RunId, Vec<Counted>, Place) {
        let run = RunId::parse("r").unwrap();
        let mut place = Place::START;
        let mut all = Vec::new();
        for at in 0..records {
            let events = [Event::Paused { by: "a".into() }, Event::Paused { by: "b".into() }];
            let record = Record::seal(place.head, &run, place.next_seq, Millis(at), &events);
            place = Place { next_seq: place.next_seq + 2, head: record.hash };
            all.push(Counted { record, count: 2 });
        }
        (run, all, place)
    }

    #[test]
    fn an_intact_journal_passes_whole_and_from_any_place() {
        let (run, all, end) = journal(4);
        assert_eq!(verify(&run, Place::START, &all, end), Ok(()));
        let middle = Place { next_seq: all[1].next_seq(), head: all[1].record.hash };
        assert_eq!(verify(&run, middle, &all[2..], end), Ok(()));
        assert_eq!(verify(&run, end, &[], end), Ok(()));
    }

    #[test]
    fn a_missing_swapped_or_changed_record_is_named() {
        let (run, all, end) = journal(4);
        let gap = |expected, found| Err(BadRecord::Gap { run: run.clone(), expected, found });
        assert_eq!(verify(&run, Place::START, &all[..3], end), gap(9, 7));
        assert_eq!(verify(&run, Place::START, &all[1..], end), gap(1, 3));
        assert_eq!(verify(&run, Place::START, &[all[0].clone(), all[2].clone()], end), gap(3, 5));
        let mut changed = all.clone();
        changed[2].record.at = Millis(99);
        assert_eq!(
            verify(&run, Place::START, &changed, end),
            Err(BadRecord::Hash { run: run.clone(), seq: 5 })
        );
        let mut miscounted = all.clone();
        miscounted[3].count = 0;
        assert_eq!(verify(&run, Place::START, &miscounted, end), gap(7, 7));
    }

    #[test]
    fn a_journal_that_ends_in_another_head_than_the_row_says_is_damaged() {
        let (run, all, end) = journal(2);
        let other = Place { head: Digest::ZERO, ..end };
        assert_eq!(
            verify(&run, Place::START, &all, other),
            Err(BadRecord::Hash { run: run.clone(), seq: 3 })
        );
    }

    #[test]
    fn a_place_that_was_written_down_must_lie_on_the_journal() {
        let (run, all, end) = journal(4);
        let middle = Place { next_seq: all[1].next_seq(), head: all[1].record.hash };
        assert_eq!(passes(&run, Place::START, &all, middle), Ok(()));
        assert_eq!(passes(&run, Place::START, &all, end), Ok(()));
        assert_eq!(passes(&run, end, &[], middle), Ok(()), "it lies before what was read");
        let hash = |seq| Err(BadRecord::Hash { run: run.clone(), seq });
        assert_eq!(passes(&run, Place::START, &all, Place { head: Digest::ZERO, ..middle }), hash(3));
        assert_eq!(
            passes(&run, Place::START, &all, Place { next_seq: middle.next_seq - 1, ..middle }),
            hash(3)
        );
        let gap = Err(BadRecord::Gap { run: run.clone(), expected: end.next_seq, found: 1 });
        assert_eq!(passes(&run, Place::START, &all[..3], end), gap);
    }
}
