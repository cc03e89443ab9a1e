"""O8: what a run did is undone last first, each call once, and never behind a commit unasked.
U1: people are told of what could not be undone, and of nothing else."""

from evidence import alert_key_of, undo_key_of

ENDS = ("call_finished", "call_settled", "call_refused")
UNDONE = ("restored", "compensated")
BEGINS = ("rollback_started", "undo_started")


def completed(journal, until):
    """Calls that can be undone, in the order they came to an end; those nobody knows of last."""
    intents, open_, done = {}, [], []
    for event in journal.events:
        if event.seq >= until:
            break
        action = event.body.get("action")
        if event.kind == "call_started" and (event.body.get("image") or event.body.get("undo")):
            if action not in intents:
                intents[action] = event
                open_.append(action)
        elif event.kind in ENDS and action in open_:
            if event.kind == "call_settled" and event.body["settlement"] == "did_not_happen":
                continue
            open_.remove(action)
            # One that is known not to have happened has nothing to undo but its file.
            if event.kind != "call_refused" or intents[action].body.get("image"):
                done.append(action)
    return intents, done + open_


def segments(journal):
    """Each undo: what it began with, and what it undid."""
    begin, undone, found = None, [], []
    for event in journal.events:
        if event.kind in BEGINS:
            if begin is not None:
                found.append((begin, undone, None))
            begin, undone = event, []
        elif event.kind in UNDONE:
            undone.append(event)
        elif begin is not None and event.kind in ("ended", "undo_finished"):
            # A rollback that was cancelled goes on when the run does.
            if event.kind == "ended" and "halted" in event.body["ending"]:
                continue
            found.append((begin, undone, event))
            begin, undone = None, []
    if begin is not None or undone:
        found.append((begin, undone, None))
    return found


def is_back(event):
    """The call is as if it had not been made."""
    outcome = event.body["outcome"]
    return outcome in ("restored", "already_as_before", "compensated", "was_as_before")


def o8_reverse_order(world, report):
    """Undone calls are the completed ones in reverse, and none in a run that commits unasked."""
    for run, journal in world.journals.items():
        ended = journal.of_kind("ended")
        ending = next(iter(ended[-1].body["ending"])) if ended else None
        must = journal.submission().get("task", {}).get("on_failure") == "rollback"
        back, rolled_back = set(), False
        for begin, events, end in segments(journal):
            undone = [event.body["action"] for event in events]
            report.saw("O8", len(undone))
            if begin is None or (begin.kind == "rollback_started" and ending == "committed"):
                report.violation("O8", f"run {run} {ending} and restored {undone}")
                continue
            intents, done = completed(journal, begin.seq)
            to = begin.body.get("to", 0)
            wanted = [action for action in done[::-1] if intents[action].seq > to and action not in back]
            rolled_back |= begin.kind == "rollback_started"
            expected = wanted if end is not None else wanted[: len(undone)]
            if undone != expected:
                report.violation("O8", f"run {run} {ending or 'goes on'} and restored {undone}, not {expected}")
            back |= {event.body["action"] for event in events if is_back(event)}
        if ending == "failed" and must and not rolled_back:
            _, done = completed(journal, journal.events[-1].seq + 1)
            if done:
                report.violation("O8", f"run {run} failed and restored [], not {done[::-1]}")
        _keys(run, journal, report)


def _keys(run, journal, report):
    # An undo has one key for all its attempts, written down before the call was made, and
    # its own intent before it comes to an end.
    stated = {}
    started = {}
    for event in journal.events:
        action = event.body.get("action")
        if event.kind == "call_started" and event.body.get("undo"):
            stated[action] = event.body["undo"]["key"]
            if stated[action] != undo_key_of(run, action):
                report.violation("O8", f"run {run} action {action} is undone with key {stated[action][:12]}, not H(undo, run, action)")
        elif event.kind == "compensation_started":
            started[action] = event.body["attempt"]
            if event.body["key"] != stated.get(action):
                report.violation("O8", f"run {run} action {action} is undone with a key its intent does not name")
        elif event.kind == "compensated" and action not in started:
            report.violation("O8", f"run {run} action {action} is undone without an intent")


def compensations(journal):
    """(action, key) → the attempts at undoing it, in order."""
    found = {}
    for event in journal.of_kind("compensation_started"):
        found.setdefault((event.body["action"], event.body["key"]), []).append(event)
    return found


def o8_released(world, report):
    """In the ledger: what is given back was taken by that call, and is given back once, in order."""
    for run, journal in world.journals.items():
        rows = [row for row in world.ledger if row["run"] == run and row["kind"] == "effect"]
        taken = {row["action"]: row for row in rows if row["op"] == "reserve"}
        given = [row for row in rows if row["op"] == "release"]
        undone = {event.body["action"]: event.seq for event in journal.of_kind("compensated") if event.body["outcome"] == "compensated"}
        for row in given:
            name = f"run {run} action {row['action']}"
            if row["action"] not in taken or row.get("of") != taken[row["action"]]["n"]:
                report.violation("O8", f"{name}: ledger entry {row['n']} gives back {row.get('of')}, which it did not take")
            same = [other["n"] for other in given if other["key"] == row["key"] or other["action"] == row["action"]]
            if len(same) > 1:
                report.violation("O8", f"{name} was given back {len(same)} times: entries {same}")
        for action in undone:
            times = sum(row["action"] == action for row in given)
            if action in taken and times != 1:
                report.violation("O8", f"run {run} action {action} was undone, and given back {times} times")
        # One that was told not to have worked may have, with its reply lost, before others had their turn.
        failed = {event.body["action"] for event in journal.of_kind("compensated") if not is_back(event)}
        order = [row["action"] for row in given if row["action"] in undone and row["action"] not in failed]
        if order != sorted(order, key=undone.get):
            report.violation("O8", f"run {run} gave back {order}, and says it was {sorted(order, key=undone.get)}")


def o8(world, report):
    """Both halves: what the journal says, and what the ledger has."""
    o8_reverse_order(world, report)
    o8_released(world, report)


def u1_alerts(world, report):
    """An alert exactly where an undo did not work, with those calls; and people were told."""
    for run, journal in world.journals.items():
        wants = journal.submission().get("task", {}).get("on_alert")
        for begin, _, end in segments(journal):
            if begin is None:
                continue
            _alert(run, journal, (begin, end, wants), report)
        told = [row for row in world.ledger if row["run"] == run and row["op"] == "tell"]
        raised = journal.of_kind("alert_raised")
        for row in told:
            if row["key"] != alert_key_of(run) or not any(event.at <= row["at"] for event in raised):
                report.violation("U1", f"run {run} told people in ledger entry {row['n']} of an alert it has not raised")
        works = [event for event in journal.of_kind("alert_told") if not event.body.get("problem")]
        if works and told and sum(row["kind"] == "effect" for row in told) != 1:
            report.violation("U1", f"run {run} says that people were told; entries {[row['n'] for row in told]} say otherwise")
        if works and not told and _tells_the_ledger(wants):
            report.violation("U1", f"run {run} says that people were told, and the ledger knows nothing of it")


def _tells_the_ledger(command):
    argv = command or []
    return any(pair == ("tool", "tell") for pair in zip(argv, argv[1:]))


def _alert(run, journal, segment, report):
    begin, end, wants = segment
    last = end.seq if end is not None else journal.events[-1].seq
    inside = [event for event in journal.events if begin.seq <= event.seq <= last]
    failed = [event.body["action"] for event in inside if event.kind in UNDONE and not isinstance(event.body["outcome"], str)]
    alerts = [event for event in inside if event.kind == "alert_raised"]
    told = [event for event in inside if event.kind == "alert_told"]
    report.saw("U1", max(len(failed), len(alerts)))
    named = [event.body["actions"] for event in alerts]
    # One that goes on may not have come to its alert.
    if named != ([failed] if failed else []) and (end is not None or named):
        report.violation("U1", f"run {run} could not undo {failed} and raised alerts about {named} (from event {begin.seq})")
    if end is not None and wants and len(told) != len(alerts):
        report.violation("U1", f"run {run} raised {len(alerts)} alerts and told people {len(told)} times (from event {begin.seq})")
