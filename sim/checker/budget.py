"""O9: what a run used, over all its incarnations, against what it was allowed."""

# Limit word in `resumed.raised` → field of the submission's limits.
RAISED = {"steps": "steps", "tool_calls": "tool_calls", "tokens": "tokens", "money": "micros", "repairs": "repairs"}
COUNTED = ("steps", "tool_calls", "repairs", "tokens", "micros")
# Nobody knows what these cost, so they are paid as reserved.
PAID_AS_RESERVED = ("lost", "timed_out")
# A tool call that asks a model is paid as reserved however it went, unless it says what it used or did not happen.
FREE_TROUBLE = "unavailable"
NOTHING = {"tokens": 0, "micros": 0}


def amount(written):
    """A bound as a number: the word is more than any."""
    return float("inf") if written == "unlimited" else written


def place(tool):
    """Where the bound of one tool is kept."""
    return f"calls of {tool}"


class Spend:
    """One run's use of its bounds."""

    def __init__(self, limits):
        self.limits = {name: amount(limits[name]) for name in COUNTED}
        self.limits |= {place(tool): amount(most) for tool, most in limits.get("tools", {}).items()}
        self.used = dict.fromkeys(self.limits, 0)
        self.reserved = {}
        self.overbilled = {"tokens": 0, "micros": 0}

    def held(self, name):
        """Settled plus what is in flight."""
        return self.used[name] + sum(cost.get(name, 0) for cost in self.reserved.values())

    def settle(self, step, cost):
        """A step was answered and cost this much."""
        promised = self.reserved.pop(step, {})
        for name in ("tokens", "micros"):
            self.used[name] += cost[name]
            self.overbilled[name] += max(0, cost[name] - promised.get(name, 0))

    def raise_limits(self, raised):
        """A person set limits higher."""
        for raise_ in raised:
            limit = raise_["limit"]
            name = place(limit["tool"]) if isinstance(limit, dict) else RAISED.get(limit)
            if name in self.limits:
                self.limits[name] = max(self.limits[name], amount(raise_["to"]))


def o9_bounds(world, report):
    """Steps, tool calls, repairs, tokens and money stay within the limits."""
    for run, journal in world.journals.items():
        limits = journal.submission().get("task", {}).get("limits")
        if limits is None:
            report.violation("O9", f"run {run} was submitted without limits")
            continue
        spend = Spend(limits)
        for event in journal.events:
            _take(run, event, spend, report)
        report.saw("O9", len(spend.used))
        _final(run, spend, report)


def _within(run, event, name, spend, report):
    held, limit = spend.held(name), spend.limits[name]
    if held > limit:
        report.violation("O9", f"run {run} holds {held} {name} at event {event.seq}; its limit is {limit}")


def _take(run, event, spend, report):
    body = event.body
    if event.kind == "step_started":
        spend.used["steps"] += 1
        if body["step"] != spend.used["steps"]:
            report.violation("O9", f"run {run} starts step {body['step']} at event {event.seq}, but it is number {spend.used['steps']}")
        spend.reserved[body["step"]] = body["reserved"]
        for name in ("steps", "tokens", "micros"):
            _within(run, event, name, spend, report)
    elif event.kind == "step_finished":
        usage = body["usage"]
        tokens = usage.get("input", 0) + usage.get("output", 0)
        spend.settle(body["step"], {"tokens": tokens, "micros": body.get("micros", 0)})
    elif event.kind == "step_failed":
        reserved = spend.reserved.get(body["step"], {})
        paid = body["why"]["kind"] in PAID_AS_RESERVED
        cost = {name: reserved.get(name, 0) if paid else 0 for name in ("tokens", "micros")}
        spend.settle(body["step"], cost)
    elif event.kind in ("call_started", "call_troubled"):
        if event.kind == "call_troubled":
            _settle_aside(spend, body["action"], NOTHING if body["why"] == FREE_TROUBLE else None)
        spend.used["micros"] += body.get("micros", 0)
        if "reserved" in body:
            spend.used["steps"] += 1
            spend.reserved[body["action"]] = body["reserved"]
            for name in ("steps", "tokens", "micros"):
                _within(run, event, name, spend, report)
        if event.kind == "call_started" and body["attempt"] > 1:
            # It counts from the moment it was decided on, which was the trouble; a restart counts for nothing.
            return
        for name in ("tool_calls", place(body["tool"])):
            if name in spend.used:
                spend.used[name] += 1
                _within(run, event, name, spend, report)
    elif event.kind in ("call_finished", "call_in_doubt"):
        _settle_aside(spend, body["action"], body.get("spent"))
    elif event.kind == "repair_started":
        spend.used["repairs"] += 1
        _within(run, event, "repairs", spend, report)
    elif event.kind == "escalated":
        # Beyond repair something else is tried, and rounds are counted anew.
        spend.used["repairs"] = 0
    elif event.kind == "resumed":
        spend.raise_limits(body.get("raised", []))


def _settle_aside(spend, action, spent):
    """An attempt that asked a model is over; what nobody knows is paid as reserved."""
    if action in spend.reserved:
        cost = spend.reserved[action] if spent is None else spent
        spend.settle(action, {name: cost.get(name, 0) for name in ("tokens", "micros")})


def _final(run, spend, report):
    for name in ("tokens", "micros"):
        excess = spend.overbilled[name]
        if spend.held(name) > spend.limits[name] + excess:
            report.violation("O9", f"run {run} used {spend.held(name)} {name}; its limit is {spend.limits[name]}")
        if excess:
            report.note("O9", f"run {run} was billed {excess} {name} more than reserved")
