"""What the checker looks at: client log, ledger, journals, state hashes.

Reads files and verifies that each is what it claims to be. It knows nothing of
the workspace: hash chain and canonical JSON are written here a second time, so
that a mistake in one of the two shows. Nothing here decides whether a promise
was kept; that is `check.py`.
"""

import collections
import decimal
import hashlib
import json
import math
import os
import re

ZERO = "0" * 64
FORMATS = {2}
INTEGER_MAX = 10**21
HEX = re.compile(r"[0-9a-f]{64}")

Event = collections.namedtuple("Event", "seq at record kind body")


class BadInput(Exception):
    """A file that is missing or is not what it should be."""


class RawNumber(str):
    """A number with a fraction or exponent, kept as it was written."""


def _object(pairs):
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("an object names a field twice")
    return fields


def _refuse_constant(word):
    raise ValueError(f"{word} is no JSON")


def parse(text):
    """Parses JSON; numbers with a fraction keep their text, doubled fields are refused."""
    return json.loads(
        text, parse_float=RawNumber, parse_constant=_refuse_constant, object_pairs_hook=_object
    )


def number(text):
    """A number with a fraction or exponent as ECMAScript writes it."""
    exact = decimal.Decimal(text)
    if exact == exact.to_integral_value() and abs(exact) < INTEGER_MAX:
        return str(int(exact))
    double = float(text)
    if math.isinf(double):
        return str(text)
    negative, digits, exponent = decimal.Decimal(repr(double)).normalize().as_tuple()
    sign, digits, point = "-" if negative else "", "".join(map(str, digits)), len(digits) + exponent
    if digits == "0":
        return "0"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{point - 1:+d}"


def canonical(value):
    """RFC 8785: keys sorted by UTF-16, no white space, few escapes; integers keep their digits."""
    if isinstance(value, RawNumber):
        return number(value)
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def is_plain(value):
    """No number whose canonical form takes more than its digits to agree about."""
    if isinstance(value, (RawNumber, int)):
        return not isinstance(value, RawNumber) and abs(value) < INTEGER_MAX
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(map(is_plain, inner))


def digest_of_parts(parts):
    """SHA-256 of parts that are each prefixed by their length (64 bits, big end first)."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "big"))
        hasher.update(part)
    return hasher.hexdigest()


def args_digest(arguments):
    """What a call's arguments are named by."""
    return digest_of_parts([b"json", canonical(arguments).encode()])


def key_of(run, action):
    """The idempotency key an action must have, in every attempt."""
    return digest_of_parts([b"action", run.encode(), action.encode()])


def undo_key_of(run, action):
    """The key that undoing an action must have, in every attempt: not that of the call."""
    return digest_of_parts([b"undo", run.encode(), action.encode()])


def alert_key_of(run):
    """The key with which people are told that something could not be undone."""
    return digest_of_parts([b"alert", run.encode()])


def promote_key_of(run):
    """The key with which what a run committed is handed on, each time."""
    return digest_of_parts([b"promote", run.encode()])


def chain(record):
    """The hash a record must have."""
    return digest_of_parts([
        bytes.fromhex(record["prev"]),
        record["run"].encode(),
        record["seq"].to_bytes(8, "big"),
        record["at"].to_bytes(8, "big"),
        record["format"].to_bytes(2, "big"),
        canonical(record["events"]).encode(),
    ])


def read_lines(path):
    """The JSON objects of a log. A last line without its end was never acknowledged: it is dropped."""
    try:
        with open(path, encoding="utf-8", newline="\n") as file:
            lines = file.read().split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: {error}") from error
    rows = []
    for number, line in enumerate(lines[:-1], 1):
        try:
            row = parse(line)
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{path}:{number}: {error}") from error
        if not isinstance(row, dict):
            raise BadInput(f"{path}:{number}: not an object")
        rows.append(row)
    return rows


def require(row, where, **fields):
    """Refuses a row that lacks a field or has one of another type."""
    for name, kind in fields.items():
        value = row.get(name)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadInput(f"{where}: field {name!r} is missing or of another type: {canonical(row)[:200]}")


class Journal:
    """The records of one run, and what is wrong with them as a chain."""

    def __init__(self, run, text):
        self.run = run
        self.records = []
        self.events = []
        self.broken_chain = []
        self.gaps = []
        self.head = ZERO
        self.next_seq = 1
        for number, line in enumerate(text.split("\n"), 1):
            if line:
                self._take(number, line)

    def _take(self, number, line):
        try:
            record = parse(line)
            for name in ("run", "hash", "prev"):
                if not isinstance(record[name], str):
                    raise ValueError(f"{name} is no text")
            for name in ("seq", "at", "format"):
                if not isinstance(record[name], int) or isinstance(record[name], bool):
                    raise ValueError(f"{name} is no whole number")
            if not HEX.fullmatch(record["hash"]) or not HEX.fullmatch(record["prev"]):
                raise ValueError("hash or prev is no SHA-256")
            if not isinstance(record["events"], list):
                raise ValueError("events is no list")
            self._link(record)
            self._number(record)
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            self.broken_chain.append(f"line {number} is no record: {type(error).__name__} {error}")

    def _link(self, record):
        place = f"record at event {record['seq']}"
        if record["run"] != self.run:
            self.broken_chain.append(f"{place} belongs to run {record['run']}")
        if record["format"] not in FORMATS:
            self.broken_chain.append(f"{place} has format {record['format']}, which this checker does not know")
        if record["prev"] != self.head:
            self.broken_chain.append(f"{place} follows {record['prev'][:12]}, but the head is {self.head[:12]}")
        found = chain(record)
        if found != record["hash"]:
            self.broken_chain.append(f"{place} says hash {record['hash'][:12]}, its bytes give {found[:12]}")
        self.head = record["hash"]

    def _number(self, record):
        if record["seq"] != self.next_seq:
            self.gaps.append(f"continues at event {record['seq']} where {self.next_seq} was expected")
        if not record["events"]:
            self.gaps.append(f"record at event {record['seq']} is empty")
        place = len(self.records)
        self.records.append(record)
        self.next_seq = record["seq"] + len(record["events"])
        for offset, event in enumerate(record["events"]):
            if not isinstance(event, dict) or len(event) != 1:
                raise ValueError(f"event {record['seq'] + offset} has no single kind")
            (kind, body), = event.items()
            if not isinstance(body, dict):
                raise ValueError(f"event {record['seq'] + offset} ({kind}) has no fields")
            self.events.append(Event(record["seq"] + offset, record["at"], place, kind, body))

    def of_kind(self, *kinds):
        """The events of these kinds, in order."""
        return [event for event in self.events if event.kind in kinds]

    def submission(self):
        """What the run started from, or nothing."""
        first = self.events[0] if self.events else None
        return first.body if first and first.kind == "submitted" else {}


def read_journals(folder):
    """Every `RUN.jsonl` of the folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))
        journals = {}
        for name in names:
            with open(os.path.join(folder, name), encoding="utf-8", newline="\n") as file:
                run = name[: -len(".jsonl")]
                journals[run] = Journal(run, file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{folder}: {error}") from error
    return journals


class World:
    """Everything that is known about a set of runs."""

    CLIENT = {
        "submit": {"key": str},
        "ack": {"key": str, "run": str},
        "kill": {"run": str},
        "end": {"run": str},
    }
    ENDINGS = ("committed", "failed", "halted", None)
    LEDGER = {
        "n": int, "kind": str, "op": str, "run": str, "action": str, "key": str,
        "epoch": int, "attempt": int, "at": int,
    }
    KINDS = ("effect", "duplicate", "look")

    def __init__(self, client, ledger, journals, states):
        self.client = read_lines(client)
        self.ledger = read_lines(ledger)
        self.journals = read_journals(journals)
        self.states = read_lines(states) if states else []
        self._check_client(client)
        self._check_ledger(ledger)
        for row in self.states:
            require(row, states, run=str, seq=int)
            if not isinstance(row.get("state", row.get("replay")), str):
                raise BadInput(f"{states}: a line has neither state nor replay")
        self.effects = [row for row in self.ledger if row["kind"] == "effect"]

    def _check_client(self, path):
        for row in self.client:
            if row.get("t") not in self.CLIENT:
                raise BadInput(f"{path}: unknown kind of line {row.get('t')!r}")
            require(row, path, **self.CLIENT[row["t"]])
            if row["t"] == "end" and row.get("ending") not in self.ENDINGS:
                raise BadInput(f"{path}: unknown ending {row['ending']!r}")

    def _check_ledger(self, path):
        for number, row in enumerate(self.ledger, 1):
            require(row, path, **self.LEDGER)
            if row["n"] != number or row["kind"] not in self.KINDS:
                raise BadInput(f"{path}:{number}: entry {row['n']} of kind {row['kind']!r} is out of place")

    def client_lines(self, kind):
        """The client log's lines of one kind, in order."""
        return [row for row in self.client if row["t"] == kind]

    def intents(self):
        """(run, action) → its `call_started` events, in order."""
        found = collections.defaultdict(list)
        for run, journal in self.journals.items():
            for event in journal.of_kind("call_started"):
                found[run, event.body["action"]].append(event)
        return found
