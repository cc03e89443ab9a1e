"""The checks about tool calls: intent, effect, outcome, doubt (O3 to O6, J3)."""

import collections

import undo
from evidence import args_digest, canonical, is_plain, key_of, parse

IRREVERSIBLE = ("pay", "slow_pay")
OPERATIONS = ("pay", "slow_pay", "put", "reserve", "release")
FINAL = ("committed", "failed")


def by_action(rows):
    """(run, action) → its ledger entries, in order."""
    found = collections.defaultdict(list)
    for row in rows:
        found[row["run"], row["action"]].append(row)
    return found


def entries(rows):
    """Ledger entries by number, for people."""
    return ", ".join(f"{row['n']} ({row['op']}, epoch {row['epoch']}, attempt {row['attempt']})" for row in rows)


def settlement_of(event):
    """`happened`, `did_not_happen` or `given_up`."""
    settlement = event.body["settlement"]
    return settlement if isinstance(settlement, str) else next(iter(settlement))


def ledger_tools(journal):
    """Tool name → ledger operation: by the command of the task, or by name for a tool without one."""
    tools = {}
    for tool in journal.submission().get("task", {}).get("tools", []):
        argv = (tool.get("command") or {}).get("argv", [])
        if not argv and tool["name"] in OPERATIONS:
            tools[tool["name"]] = tool["name"]
        for word, operation in zip(argv, argv[1:]):
            if word == "tool" and operation in OPERATIONS:
                tools[tool["name"]] = operation
    return tools


def repeat_classes(journal):
    """Tool name → what the submission says to do in doubt."""
    return {tool["name"]: tool["repeat"] for tool in journal.submission().get("tools", [])}


def o3_at_most_once(world, report):
    """Irreversible: at most one ledger entry for each action, always."""
    found = by_action(row for row in world.ledger if row["op"] in IRREVERSIBLE and row["kind"] != "look")
    for (run, action), rows in found.items():
        report.saw("O3", len(rows))
        if len(rows) > 1:
            report.violation("O3", f"run {run} action {action} has {len(rows)} irreversible effects: entries {entries(rows)}")


def o4_exactly_once(world, report):
    """What is taken as done was done once; what is told as an error was not done."""
    effects = by_action(world.effects)
    for run, journal in world.journals.items():
        tools = ledger_tools(journal)
        operation, answers = {}, {}
        for event in journal.of_kind("call_started", "call_finished", "call_settled"):
            action = event.body["action"]
            if event.kind == "call_started" and event.body["tool"] in tools:
                operation[action] = tools[event.body["tool"]]
            elif event.kind == "call_finished":
                answers[action] = event.body["outcome"]
            elif event.kind == "call_settled":
                answers[action] = settlement_of(event)
        ended = journal.of_kind("ended")
        committed = bool(ended) and "committed" in ended[-1].body["ending"]
        for action, op in operation.items():
            rows = [row for row in effects[run, action] if row["op"] == op]
            _compare(report, f"run {run} action {action} ({op})", answers.get(action), rows, committed)


def _compare(report, name, answer, rows, committed):
    done = answer in ("ok", "happened")
    if done or (answer is None and committed):
        report.saw("O4")
        if len(rows) != 1:
            report.violation("O4", f"{name} came back as {answer or 'nothing'} and has {len(rows)} effects: {entries(rows) or 'none'}")
    elif answer in ("error", "unavailable") and rows and rows[0]["op"] in IRREVERSIBLE:
        report.saw("O4")
        report.violation("O4", f"{name} came back as {answer} and has an effect all the same: {entries(rows)}")
    elif answer is not None:
        report.saw("O4")
        if len(rows) > 1:
            report.violation("O4", f"{name} came back as {answer} and has {len(rows)} effects: {entries(rows)}")


def o5_intent_first(world, report):
    """Every ledger entry has an intent that was durable before it."""
    intents = world.intents()
    _keys_are_ours(intents, report)
    _intents_are_what_was_asked(world, report)
    undos = {run: undo.compensations(journal) for run, journal in world.journals.items()}
    for row in world.ledger:
        report.saw("O5")
        if row["op"] == "tell":
            # No call of a model: U1 looks at it.
            continue
        if _is_undo(undos, row):
            _undo_was_announced(undos, row, report)
            continue
        name = f"ledger entry {row['n']} ({row['op']} by run {row['run']} action {row['action']})"
        started = intents.get((row["run"], row["action"]), [])
        if not started:
            report.violation("O5", f"{name} has no intent in the journal")
            continue
        if all(event.body["key"] != row["key"] for event in started):
            report.violation("O5", f"{name} shows key {row['key'][:12]}, the intent has {started[0].body['key'][:12]}")
        # A probe may be asked without arguments; an effect never is.
        if row.get("args") is None and row["kind"] == "look":
            continue
        if all(event.body["args"] != row.get("args") for event in started):
            report.violation("O5", f"{name} has argument hash {str(row.get('args'))[:12]}, the intent {started[0].body['args'][:12]}")
        if row["kind"] != "look":
            _attempt_was_announced(name, row, started, report)
    own = [row for row in world.ledger if row["kind"] != "look" and row["op"] != "tell" and not _is_undo(undos, row)]
    for (run, action), rows in by_action(own).items():
        made, announced = len(rows), len(intents.get((run, action), []))
        if announced and made > announced:
            report.violation("O5", f"run {run} action {action}: {announced} attempts in the journal, {made} in the ledger: {entries(rows)}")


def _is_undo(undos, row):
    return (row["action"], row["key"]) in undos.get(row["run"], {})


def _undo_was_announced(undos, row, report):
    same = [event for event in undos[row["run"]][row["action"], row["key"]] if event.body["attempt"] == row["attempt"]]
    name = f"ledger entry {row['n']} ({row['op']}, undo of run {row['run']} action {row['action']})"
    if row["kind"] != "look" and not same:
        report.violation("O5", f"{name} is attempt {row['attempt']}, which the journal does not know")
    elif row["kind"] != "look" and min(event.at for event in same) > row["at"]:
        report.violation("O5", f"{name} happened at {row['at']}, before its intent at {same[0].at}")


def _attempt_was_announced(name, row, started, report):
    same = [event for event in started if event.body["attempt"] == row["attempt"]]
    if not same:
        report.violation("O5", f"{name} is attempt {row['attempt']}, which the journal does not know")
    elif min(event.at for event in same) > row["at"]:
        report.violation("O5", f"{name} happened at {row['at']}, before its intent at {same[0].at} (event {same[0].seq})")


def _keys_are_ours(intents, report):
    # Derived from run and action alone, a key is stable, shared with nobody, and no model chose it.
    for (run, action), started in intents.items():
        for event in started:
            if event.body["key"] != key_of(run, action):
                report.violation("O5", f"run {run} action {action} has key {event.body['key'][:12]} at event {event.seq}, not H(run, action)")


def _intents_are_what_was_asked(world, report):
    for run, journal in world.journals.items():
        asked = {}
        for event in journal.of_kind("step_finished", "call_started"):
            body = event.body
            if event.kind == "step_finished":
                for index, call in enumerate(body.get("calls", [])):
                    asked[f"a{body['step']}.{index}"] = call
                continue
            call = asked.get(body["action"])
            if call and (body["tool"] != call["tool"] or not _is_of(call, body["args"])):
                report.violation("O5", f"run {run} action {body['action']}: the intent at event {event.seq} is another call than the model's")


def _is_of(call, stated):
    """Whether a call's arguments have the stated hash. Inline ones are hashed here;
    stored ones carry theirs; numbers that other programs round are left alone."""
    if "sha256" in call:
        return stated == call["sha256"]
    # What was started had arguments that are JSON: others are refused before.
    arguments = parse(call["args"]["inline"])
    return not is_plain(arguments) or stated == args_digest(arguments)


def o6_doubt_is_reported(world, report):
    """An irreversible intent without outcome is reported, and never repeated blindly."""
    doubts = settled = 0
    for run, journal in world.journals.items():
        classes = repeat_classes(journal)
        never = {}
        for event in journal.of_kind("call_started"):
            body = event.body
            declared = classes.get(body["tool"], body["repeat"])
            if declared != body["repeat"]:
                report.violation("O6", f"run {run} action {body['action']} is {body['repeat']} at event {event.seq}; its tool is {declared}")
            if "never" in (declared, body["repeat"]):
                never.setdefault(body["action"], Doubt(run, body["action"], report))
        for event in journal.events:
            if event.body.get("action") in never:
                never[event.body["action"]].take(event)
            elif event.kind == "ended":
                for doubt in never.values():
                    doubt.at_ending(event)
        for doubt in never.values():
            doubt.at_the_end(journal)
            doubts += doubt.reported
            settled += doubt.settled
    if doubts:
        report.note("O6", f"{doubts} in doubt, {settled} settled, {doubts - settled} open")


class Doubt:
    """One irreversible action: idle, open (intent, no outcome), in doubt, free (did not happen), done."""

    def __init__(self, run, action, report):
        self.name = f"run {run} action {action}"
        self.report = report
        self.state = "idle"
        self.attempt = 0
        self.started = None
        self.asked = None
        self.reported = 0
        self.settled = 0

    def violation(self, event, text):
        self.report.violation("O6", f"{self.name} {text} at event {event.seq}")

    def take(self, event):
        """Moves on by one event of this action."""
        move = getattr(self, f"_{event.kind}", None)
        if move:
            move(event)

    def _call_started(self, event):
        self.report.saw("O6")
        if self.state not in ("idle", "free"):
            self.violation(event, f"is made again while {self.state}")
        if event.body["attempt"] != self.attempt + 1:
            self.violation(event, f"counts attempt {event.body['attempt']} after {self.attempt}")
        self.attempt = event.body["attempt"]
        self.state, self.started = "open", event

    def _call_in_doubt(self, event):
        # A probe that cannot tell passes the same doubt on to a person.
        ask = event.body.get("ask", "person")
        passed_on = self.state == "in doubt" and (self.asked, ask) == ("probe", "person")
        if self.state != "open" and not passed_on:
            self.violation(event, f"is reported in doubt while {self.state}")
        self.reported += not passed_on
        self.state, self.asked = "in doubt", ask

    def _call_settled(self, event):
        if self.state != "in doubt":
            self.violation(event, f"is settled while {self.state}, without a report of doubt")
        self.settled += 1
        self.state = "free" if settlement_of(event) == "did_not_happen" else "done"

    def _call_finished(self, event):
        if self.state != "open":
            self.violation(event, f"gets an outcome while {self.state}")
        if event.body["outcome"] in ("timed_out", "cancelled"):
            self.violation(event, f"comes back as {event.body['outcome']}, which is doubt and not an outcome,")
        self.state = "done"

    def _call_troubled(self, event):
        self.violation(event, "is to be tried again, though it has one attempt,")
        self.state = "free"

    def _call_refused(self, event):
        if self.state not in ("idle", "free"):
            self.violation(event, f"is refused while {self.state}")
        self.state = "done"

    def _call_blocked(self, event):
        if self.state != "idle":
            self.violation(event, f"is blocked while {self.state}")
        self.state = "done"

    def at_ending(self, event):
        """No run ends with an intent nobody was told about."""
        if self.state == "open":
            self.violation(event, "has neither outcome nor report of doubt when the run ends")

    def at_the_end(self, journal):
        """A worker that took the run over and went on has reported it."""
        if self.state != "open" or (journal.events and journal.events[-1].kind == "ended"):
            return
        claims = [event for event in journal.of_kind("claimed") if event.seq > self.started.seq]
        if claims and journal.events[-1].record > claims[0].record:
            self.violation(claims[0], "was open when the run was taken over and never reported: claimed")


def j3_answered_once(world, report):
    """Every call of a reply is answered exactly once before its conversation goes on."""
    for run, journal in world.journals.items():
        batch = Batch(run, report)
        for event in journal.events:
            batch.take(event)


class Batch:
    """The calls of one run that wait for their answer."""

    def __init__(self, run, report):
        self.run = run
        self.report = report
        self.conversation = {}
        self.waiting = {}
        self.answered = {}

    def violation(self, event, text):
        self.report.violation("J3", f"run {self.run} {text} (event {event.seq})")

    def take(self, event):
        """Moves on by one event of the run."""
        body = event.body
        if event.kind == "step_started":
            purpose = canonical(body["purpose"])
            self.conversation[body["step"]] = purpose
            self._none_waits(event, f"starts step {body['step']}", purpose)
        elif event.kind == "step_finished":
            for index, _ in enumerate(body.get("calls", [])):
                self.report.saw("J3")
                self.waiting[f"a{body['step']}.{index}"] = self.conversation.get(body["step"])
        elif event.kind == "call_started" and body["action"] not in self.waiting:
            self.violation(event, f"starts {body['action']}, which no reply is waiting for")
        elif event.kind in ("call_finished", "call_refused", "call_blocked"):
            self._answer(event)
        elif event.kind == "call_settled" and settlement_of(event) != "did_not_happen":
            self._answer(event)
        elif event.kind == "ended" and any(how in FINAL for how in body["ending"]):
            self._none_waits(event, "ends", None)

    def _answer(self, event):
        action = event.body["action"]
        if action in self.waiting:
            del self.waiting[action]
            self.answered[action] = event.seq
        elif action in self.answered:
            self.violation(event, f"answers {action} a second time, after event {self.answered[action]}")
        else:
            self.violation(event, f"answers {action}, which nobody asked for")

    def _none_waits(self, event, does, purpose):
        left = [action for action, of in self.waiting.items() if purpose in (None, of)]
        if left:
            self.violation(event, f"{does} while {', '.join(left)} has no answer")
