#!/usr/bin/env python3
"""Makes stores of earlier versions, and says whether a migration lost anything of one.

    stores.py make STATEMENTS HOME PIECES   a store as an earlier version wrote it, with so many
                                            pieces of content besides
    stores.py judge ORIGINAL HOME N|any      the store in HOME holds what the one in ORIGINAL does,
                                            and so does every copy that has its name

`any`: the version may be any from that of ORIGINAL on; else it must be that number.
Exit 0: no violation. Exit 1: each line is one. Exit 2: the evidence itself cannot be read.

Python's standard library only: it shares no line with what it judges.
"""

import json
import os
import re
import shutil
import sqlite3
import sys
import tempfile

# What a run is, whoever works on it.
COLUMNS = {
    "runs": "key, id, request, fingerprint, created, updated, epoch, next_seq, head, ended, waiting, summary",
    "records": "*",
    "blobs": "*",
    "pieces": "*",
    "shared": "*",
    "checkpoints": "*",
    "mailbox": "*",
}
PIECE_BYTES = 1010


def make(statements, home, pieces):
    """Writes a store from statements, with content nobody names besides."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    store = sqlite3.connect(os.path.join(home, "store.db"))
    with open(statements, encoding="utf-8") as text:
        store.executescript(text.read())
    with store:
        rows = ((number.to_bytes(4, "big") * 253)[:PIECE_BYTES] for number in range(pieces))
        store.executemany("INSERT INTO pieces (bytes) VALUES (?)", ((row,) for row in rows))
    store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    store.close()


def opened(folder, name):
    """The database of that name, copied away first, so that looking changes nothing."""
    away = tempfile.mkdtemp(prefix="bowline-judge-")
    for tail in ("", "-wal"):
        path = os.path.join(folder, name + tail)
        if os.path.exists(path):
            shutil.copy(path, os.path.join(away, "store.db" + tail))
    return away, sqlite3.connect(os.path.join(away, "store.db"))


def contents(folder, name):
    """Version, soundness and every row of a database."""
    away, store = opened(folder, name)
    try:
        version = store.execute("PRAGMA user_version").fetchone()[0]
        sound = store.execute("PRAGMA integrity_check").fetchone()[0]
        tables = {row[0] for row in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        rows = {
            table: store.execute(f"SELECT {columns} FROM {table} ORDER BY 1").fetchall()
            for table, columns in COLUMNS.items()
        }
        classes = dict(store.execute("SELECT run, class FROM classes")) if "classes" in tables else None
        return version, sound, tables, rows, classes
    finally:
        store.close()
        shutil.rmtree(away)


def expected_tables(version):
    """What a store of that version has."""
    more = {2: {"tombstones"}, 3: {"classes"}}
    return set(COLUMNS).union(*(names for number, names in more.items() if number <= version))


def expected_classes(rows):
    """The class of each run, read from the first record of its journal."""
    first = {record[1]: record[8] for record in rows["records"] if record[2] == 1}
    found = {}
    for run, body in first.items():
        kind = json.loads(body)[0]["submitted"]["task"].get("class")
        if kind is not None:
            found[run] = kind
    return found


def judge(original, home, wanted):
    """Every violation, as a line."""
    before, _, _, rows, _ = contents(original, "store.db")
    version, sound, tables, found, classes = contents(home, "store.db")
    if wanted == "any" and not before <= version <= 3 or wanted != "any" and version != int(wanted):
        yield f"M1: the store is of version {version}, not {wanted}"
    if sound != "ok":
        yield f"M2: the store is not sound: {sound}"
    if tables != expected_tables(version):
        yield f"M3: a store of version {version} has the tables {sorted(tables)}"
    for table, lines in rows.items():
        if found[table] != lines:
            yield f"M4: {table} is not what it was: {len(found[table])} rows, {len(lines)} before"
    if classes is not None and classes != expected_classes(rows):
        yield f"M5: the classes are {classes}"
    for name in sorted(os.listdir(home)):
        named = re.fullmatch(r"store\.v(\d+)\.backup-\d+\.db", name)
        if named is None:
            continue
        kept, sound, _, copied, _ = contents(home, name)
        if (kept, sound) != (int(named[1]), "ok") or copied != rows:
            yield f"M6: the copy {name} has its name and is not the store as it was"
        if os.stat(os.path.join(home, name)).st_mode & 0o077:
            yield f"M7: others can read the copy {name}"
    if wanted != "any" and [name for name in os.listdir(home) if name.endswith(".part")]:
        yield "M8: half a copy was left after a migration that came to its end"


def main(words):
    """See the module's page."""
    match words:
        case ["make", statements, home, pieces]:
            make(statements, home, int(pieces))
            return 0
        case ["judge", original, home, wanted]:
            lines = list(judge(original, home, wanted))
            for line in lines:
                print(line)
            return 1 if lines else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, sqlite3.Error, ValueError, KeyError) as error:
        print(f"stores.py: {type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(2)
