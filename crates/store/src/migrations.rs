//! The numbered list of what was ever done to the layout of a store: the one source of truth
//! about what a store of any version looks like, for every kind of store.
//!
//! A fresh store is made by the whole list, an old one by what it lacks of it, and a store is
//! recognised by what the list up to its version makes. An entry that was released is never
//! edited: stores were made by it, word for word. `CONTRIBUTING.md` says how one is added.

/// One step from a version of the layout to the next.
#[derive(Debug)]
pub struct Migration {
    /// The version a store has after it; they count from 1 without a gap.
    pub number: u32,
    /// What it is called.
    pub name: &'static str,
    /// What it does, in words.
    pub what: &'static str,
    /// How SQLite does it.
    pub(crate) sqlite: SqliteSteps,
}

/// What a step is in SQLite.
///
/// Tables and indexes are only made or dropped: what `ALTER TABLE` leaves behind in a schema
/// depends on the version of SQLite, and a store is recognised word for word.
#[derive(Debug)]
pub(crate) struct SqliteSteps {
    /// Makes tables and indexes.
    pub(crate) make: &'static str,
    /// Fills them from what the store holds. Empty: nothing.
    pub(crate) fill: &'static str,
    /// Temporary views that stand in for them when an older store is read as it is. They must
    /// give what [`Self::fill`] would.
    pub(crate) stand_in: &'static str,
}

/// All of them, in order.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "runs",
        what: "the journals, contents, checkpoints and mailboxes of runs",
        sqlite: SqliteSteps { make: RUNS, fill: "", stand_in: "" },
    },
    Migration {
        number: 2,
        name: "tombstones",
        what: "a place to note which runs were deleted: id, last hash, number of events, when, by whom",
        sqlite: SqliteSteps { make: TOMBSTONES, fill: "", stand_in: NO_TOMBSTONES },
    },
    Migration {
        number: 3,
        name: "classes",
        what: "the class of each run's task, filled from the journals, so that runs of a class are found at once",
        sqlite: SqliteSteps { make: CLASSES, fill: FILL_CLASSES, stand_in: CLASSES_FROM_JOURNALS },
    },
];

/// The version of the layout that this build makes and works on.
pub const VERSION: u32 = newest();

/// From this version on a store notes which runs were deleted.
pub(crate) const WITH_TOMBSTONES: u32 = 2;

/// From this version on it notes the class of each run.
pub(crate) const WITH_CLASSES: u32 = 3;

const fn newest() -> u32 {
    match MIGRATIONS.last() {
        Some(last) => last.number,
        None => 0,
    }
}

/// What a store of this version has had, in order.
pub(crate) fn had_by(version: u32) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().filter(move |step| step.number <= version)
}

/// What a store of this version lacks, in order.
pub fn lacked_by(version: u32) -> impl Iterator<Item = &'static Migration> {
    MIGRATIONS.iter().filter(move |step| step.number > version)
}

const RUNS: &str = "
CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    request TEXT,
    fingerprint BLOB NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    worker TEXT,
    lease INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    ended INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    summary TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX runs_by_request ON runs (request) WHERE request IS NOT NULL;
CREATE INDEX runs_open ON runs (key) WHERE ended = 0;
CREATE INDEX runs_owned ON runs (key) WHERE worker IS NOT NULL;

CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    count INTEGER NOT NULL,
    at INTEGER NOT NULL,
    format INTEGER NOT NULL,
    hash BLOB NOT NULL,
    blobs TEXT,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_seq ON records (run, seq);

CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    hash BLOB NOT NULL,
    size INTEGER NOT NULL,
    piece INTEGER NOT NULL,
    rest BLOB NOT NULL
) STRICT;
CREATE INDEX blobs_by_hash ON blobs (substr(hash, 1, 8));

CREATE TABLE pieces (
    id INTEGER PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE shared (
    blob INTEGER PRIMARY KEY,
    more INTEGER NOT NULL
) STRICT;

CREATE TABLE checkpoints (
    run INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL,
    head BLOB NOT NULL,
    version INTEGER NOT NULL,
    hash BLOB NOT NULL,
    state BLOB NOT NULL
) STRICT;

CREATE TABLE mailbox (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    key TEXT NOT NULL,
    sender TEXT NOT NULL,
    signal TEXT NOT NULL,
    at INTEGER NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX mailbox_by_key ON mailbox (run, key);
CREATE INDEX mailbox_unread ON mailbox (run) WHERE consumed = 0;
";

const TOMBSTONES: &str = "
CREATE TABLE tombstones (
    id INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    head BLOB NOT NULL,
    events INTEGER NOT NULL,
    at INTEGER NOT NULL,
    deleter TEXT NOT NULL
) STRICT;
CREATE INDEX tombstones_by_run ON tombstones (run);
";

const NO_TOMBSTONES: &str = "
CREATE TEMP VIEW tombstones AS
SELECT 0 AS id, '' AS run, x'' AS head, 0 AS events, 0 AS at, '' AS deleter WHERE 0;
";

const CLASSES: &str = "
CREATE TABLE classes (
    run INTEGER PRIMARY KEY,
    class TEXT NOT NULL
) STRICT;
CREATE INDEX classes_by_class ON classes (class, run);
";

// What cannot be read as JSON is damage for an audit to tell, and no reason to keep a store old.
const FILL_CLASSES: &str = "
INSERT INTO classes (run, class)
SELECT run, class FROM (
    SELECT runs.key AS run,
           CASE WHEN json_valid(records.body)
                THEN json_extract(records.body, '$[0].submitted.task.class') END AS class
    FROM runs JOIN records ON records.run = runs.key AND records.seq = 1
) WHERE typeof(class) = 'text';
";

const CLASSES_FROM_JOURNALS: &str = "
CREATE TEMP VIEW classes AS
SELECT run, class FROM (
    SELECT runs.key AS run,
           CASE WHEN json_valid(records.body)
                THEN json_extract(records.body, '$[0].submitted.task.class') END AS class
    FROM main.runs AS runs JOIN main.records AS records ON records.run = runs.key AND records.seq = 1
) WHERE typeof(class) = 'text';
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_count_from_one_without_a_gap_and_say_what_they_do() {
        for (number, step) in (1..).zip(MIGRATIONS) {
            assert_eq!(step.number, number);
            assert!(!step.name.is_empty() && !step.what.is_empty());
        }
        assert_eq!(VERSION as usize, MIGRATIONS.len());
    }

    #[test]
    fn nothing_is_altered_because_what_that_leaves_behind_depends_on_the_version_of_sqlite() {
        for step in MIGRATIONS {
            let words = [step.sqlite.make, step.sqlite.fill].concat().to_uppercase();
            assert!(!words.contains("ALTER"), "{}", step.name);
        }
    }
}
