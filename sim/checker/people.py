"""O12: what needs a person's consent has it, for exactly these bytes."""

from evidence import canonical, digest_of_parts


def verdict_of(event):
    """`approved`, `denied` or `expired`."""
    verdict = event.body["verdict"]
    return verdict if isinstance(verdict, str) else next(iter(verdict))


def o12_consent(world, report):
    """An approved action runs with the approved arguments; denied or expired never."""
    for run, journal in world.journals.items():
        submission = journal.submission()
        asks = {tool["name"] for tool in submission.get("tools", []) if tool.get("consent") == "ask"}
        asked, settled = {}, {}
        for event in journal.events:
            body = event.body
            if event.kind == "approval_requested":
                report.saw("O12")
                asked[canonical(body["subject"])] = body["binds"]
            elif event.kind == "approval_settled":
                subject = canonical(body["subject"])
                if asked.get(subject) != body["binds"]:
                    report.violation("O12", f"run {run} event {event.seq} answers a question about {subject} which nobody asked")
                settled[subject] = verdict_of(event), body["binds"]
            elif event.kind == "call_started":
                _may_start(run, event, settled.get(canonical({"action": body["action"]})), asks, report)
            elif event.kind == "ended" and "committed" in body["ending"]:
                reviewed = settled.get('"output"', (None, None))[0]
                if reviewed in ("denied", "expired"):
                    report.violation("O12", f"run {run} committed at event {event.seq} after its output was {reviewed}")
                elif submission["task"].get("review") == "always" and reviewed != "approved":
                    report.violation("O12", f"run {run} committed without the review its task asks for")


def _may_start(run, event, answer, asks, report):
    body = event.body
    name = f"run {run} action {body['action']} ({body['tool']})"
    if answer is None:
        if body["tool"] in asks:
            report.violation("O12", f"{name} needs consent and has none at event {event.seq}")
        return
    verdict, binds = answer
    if verdict != "approved":
        report.violation("O12", f"{name} starts at event {event.seq} after it was {verdict}")
    elif binds != digest_of_parts([body["tool"].encode(), bytes.fromhex(body["args"])]):
        report.violation("O12", f"{name} starts at event {event.seq} with consent to other bytes")
