#!/usr/bin/env python3
"""Proves from the outside that Bowline kept its promises, or says which it broke.

    check.py --client client.jsonl --ledger ledger.jsonl --journal DIR [--states FILE]

Exit 0: no violation; one line per check says how much it examined.
Exit 1: at least one violation; each is a line `O3: …` with its evidence.
Exit 2: the evidence itself cannot be read.

Python's standard library only: it shares no line with what it judges.
"""

import argparse
import collections
import sys

import budget
import calls
import people
import undo
from evidence import BadInput, World, promote_key_of

FINAL = ("committed", "failed")


class Report:
    """What was examined and what was found, check by check."""

    def __init__(self):
        self.violations = collections.defaultdict(list)
        self.seen = collections.Counter()
        self.notes = collections.defaultdict(list)

    def saw(self, check, count=1):
        """Counts things a check has looked at."""
        self.seen[check] += count

    def violation(self, check, text):
        """A broken promise, with the evidence."""
        self.violations[check].append(text)

    def note(self, check, text):
        """Something worth reading that breaks no promise."""
        self.notes[check].append(text)


def ending_of(event):
    """`committed`, `failed` or `halted` for an `ended` event."""
    (kind, _), = event.body["ending"].items()
    return kind


def o1_one_ending(world, report):
    """Every acknowledged run reaches exactly one ending."""
    for run in dict.fromkeys(row["run"] for row in world.client_lines("ack")):
        report.saw("O1")
        journal = world.journals.get(run)
        if journal is None or not journal.events:
            report.violation("O1", f"run {run} was acknowledged and has no journal")
            continue
        ended = journal.of_kind("ended")
        last = journal.events[-1]
        # What stands behind an ending is looked at by O7.
        is_told = last.kind == "signal_refused" or (last.kind == "promoted" and "settled" in last.body)
        if last.kind not in ("ended", "undo_finished") and not (ended and is_told):
            report.violation("O1", f"run {run} was acknowledged and never ended: last is {last.kind} at event {last.seq}")
        final = [f"{ending_of(event)} at event {event.seq}" for event in ended if ending_of(event) in FINAL]
        if len(final) > 1:
            report.violation("O1", f"run {run} has {len(final)} final endings: {', '.join(final)}")


def o2_submissions(world, report):
    """No run without a submission; one key, one run."""
    keys = {row["key"] for row in world.client_lines("submit")}
    runs_of_key = collections.defaultdict(set)
    for row in world.client_lines("ack"):
        runs_of_key[row["key"]].add(row["run"])
        if row["key"] not in keys:
            report.violation("O2", f"run {row['run']} was acknowledged for key {row['key']!r}, which nobody submitted")
    for run, journal in world.journals.items():
        report.saw("O2")
        if len(journal.of_kind("submitted")) != 1 or not journal.submission():
            report.violation("O2", f"run {run} does not begin with its one submission")
            continue
        key = journal.submission().get("key")
        if key not in keys:
            report.violation("O2", f"run {run} exists for key {key!r}, which nobody submitted")
        runs_of_key[key].add(run)
    for key, runs in runs_of_key.items():
        if len(runs) > 1:
            report.violation("O2", f"key {key!r} has {len(runs)} runs: {', '.join(sorted(runs))}")


def o7_endings_stay(world, report):
    """Committed and failed never change; halted changes only by a journalled reopening."""
    told_of = collections.defaultdict(list)
    for row in world.client_lines("end"):
        if row.get("ending"):
            told_of[row["run"]].append(row["ending"])
    for run, journal in world.journals.items():
        ended = journal.of_kind("ended")
        report.saw("O7", len(ended))
        following = {event.seq: after for event, after in zip(journal.events, journal.events[1:])}
        for event in ended:
            after, how = following.get(event.seq), ending_of(event)
            if after is None or (how == "halted" and after.kind == "resumed"):
                continue
            follows = ("undo_started", "signal_refused") + (("promoted",) if how == "committed" else ())
            if after.kind in follows and not _strays(journal, event.seq):
                continue
            report.violation("O7", f"run {run} {how} at event {event.seq} and is followed by {after.kind}")
        for event in journal.of_kind("promoted"):
            if "begun" in event.body and event.body["begun"]["key"] != promote_key_of(run):
                report.violation("O7", f"run {run} hands its output on with a key that is not H(promote, run) at event {event.seq}")
        kept = [ending_of(event) for event in ended]
        for how in told_of[run]:
            if how not in kept:
                report.violation("O7", f"run {run} was told to have {how}; its journal says {kept or 'nothing'}")
            elif how in FINAL and kept[-1] != how:
                report.violation("O7", f"run {run} was told to have {how} and is now {kept[-1]}")


UNDOING = (
    "undo_started", "undo_finished", "claimed", "not_taken_up", "signal_refused", "restored", "compensation_started",
    "compensation_troubled", "compensated", "alert_raised", "alert_told",
)


def _strays(journal, seq):
    """Events behind an ending that belong to no undo and to no handing on of what was committed."""
    undone, handed, strays = False, False, []
    for event in journal.events:
        if event.seq <= seq or event.kind == "signal_refused":
            continue
        if event.kind == "promoted":
            # One at a time, and nothing is said of one that was not begun or is over.
            if handed == ("begun" in event.body):
                strays.append(event)
            handed = "settled" not in event.body
            continue
        undone |= event.kind == "undo_started"
        is_taken_up = handed and event.kind in ("claimed", "not_taken_up")
        if not (undone and event.kind in UNDOING) and not is_taken_up:
            strays.append(event)
        undone &= event.kind != "undo_finished"
    return strays


def o10_states(world, report):
    """The state seen live after each record equals the state by replay."""
    replayed, live = {}, []
    for row in world.states:
        place = row["run"], row["seq"]
        if "state" in row:
            live.append((place, row))
        elif replayed.setdefault(place, row["replay"]) != row["replay"]:
            report.violation("O10", f"run {place[0]} event {place[1]}: two replays give two states")
    for place, row in live:
        report.saw("O10")
        name = f"run {place[0]} event {place[1]} incarnation {row.get('incarnation')}"
        if place not in replayed:
            report.violation("O10", f"{name}: seen live, and replay never gets there")
        elif replayed[place] != row["state"]:
            report.violation("O10", f"{name}: live {row['state'][:12]}, by replay {replayed[place][:12]}")


def o11_epochs(world, report):
    """The epoch a run shows to the ledger never falls, and was claimed."""
    claims = {}
    for run, journal in world.journals.items():
        claims[run] = [event.body["epoch"] for event in journal.of_kind("claimed")]
        for before, after in zip(claims[run], claims[run][1:]):
            if after <= before:
                report.violation("O11", f"run {run} was claimed with epoch {after} after epoch {before}")
    shown = {}
    for row in world.ledger:
        report.saw("O11")
        run, epoch = row["run"], row["epoch"]
        if epoch < shown.get(run, (0, 0))[0]:
            highest, where = shown[run]
            report.violation("O11", f"run {run} showed epoch {epoch} in ledger entry {row['n']} after {highest} in entry {where}")
        shown[run] = max(shown.get(run, (0, 0)), (epoch, row["n"]))
        if epoch not in claims.get(run, ()):
            report.violation("O11", f"run {run} showed epoch {epoch} in ledger entry {row['n']}, which its journal never claimed")


def j1_chain(world, report):
    """Every record matches its hash and the record before it."""
    for run, journal in world.journals.items():
        report.saw("J1", len(journal.records))
        for trouble in journal.broken_chain:
            report.violation("J1", f"run {run}: {trouble}")


def j2_gapless(world, report):
    """Events are numbered from 1 without a gap or a repeat."""
    for run, journal in world.journals.items():
        report.saw("J2", len(journal.events))
        for gap in journal.gaps:
            report.violation("J2", f"run {run} {gap}")


CHECKS = [
    ("O1", "acknowledged runs", o1_one_ending),
    ("O2", "runs", o2_submissions),
    ("O3", "irreversible effects", calls.o3_at_most_once),
    ("O4", "answered ledger calls", calls.o4_exactly_once),
    ("O5", "ledger entries", calls.o5_intent_first),
    ("O6", "irreversible intents", calls.o6_doubt_is_reported),
    ("O7", "endings", o7_endings_stay),
    ("O8", "undone calls", undo.o8),
    ("O9", "bounds", budget.o9_bounds),
    ("O10", "live states", o10_states),
    ("O11", "ledger entries", o11_epochs),
    ("O12", "questions to people", people.o12_consent),
    ("U1", "alerts", undo.u1_alerts),
    ("J1", "records", j1_chain),
    ("J2", "events", j2_gapless),
    ("J3", "tool calls", calls.j3_answered_once),
]


def examine(world):
    """Makes every check."""
    report = Report()
    for name, _, check in CHECKS:
        try:
            check(world, report)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            # A journal whose events cannot be read proves nothing: never a pass.
            report.violation(name, f"an event is not understood: {type(error).__name__} {error}")
    return report


def lines(report):
    """The report, check by check."""
    for name, things, _ in CHECKS:
        for text in report.violations[name]:
            yield f"{name}: {text}"
        if not report.violations[name]:
            count = report.seen[name]
            notes = "".join(f"; {note}" for note in report.notes[name])
            yield f"{name}: ok, {count} {things}{notes}" if count else f"{name}: examined nothing (no {things})"


def main(arguments):
    parser = argparse.ArgumentParser(description="checks client log, ledger and journals against each other")
    parser.add_argument("--client", required=True, help="the harness's log of submissions and answers")
    parser.add_argument("--ledger", required=True, help="the outside ledger's file")
    parser.add_argument("--journal", required=True, help="folder with one RUN.jsonl for each run")
    parser.add_argument("--states", help="state hashes, seen live and by replay")
    chosen = parser.parse_args(arguments)
    try:
        world = World(chosen.client, chosen.ledger, chosen.journal, chosen.states)
    except BadInput as error:
        print(f"unreadable evidence: {error}", file=sys.stderr)
        return 2
    report = examine(world)
    for line in lines(report):
        print(line)
    return 1 if any(report.violations.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
