"""O8: a rollback restores what was written, last write first, each file once."""


def o8_reverse_order(world, report):
    """Restored calls are the written ones in reverse, and none in a run that commits."""
    for run, journal in world.journals.items():
        written = list(dict.fromkeys(
            event.body["action"] for event in journal.of_kind("call_started") if event.body.get("image")
        ))
        restored = [event.body["action"] for event in journal.of_kind("restored")]
        report.saw("O8", len(restored))
        ended = journal.of_kind("ended")
        ending = next(iter(ended[-1].body["ending"])) if ended else None
        must = journal.submission().get("task", {}).get("on_failure") == "rollback"
        undone = written[::-1] if ending == "failed" and must else written[::-1][: len(restored)]
        if ending == "committed" and journal.of_kind("rollback_started", "restored"):
            report.violation("O8", f"run {run} committed and restored {restored}")
        elif restored != undone:
            report.violation("O8", f"run {run} {ending or 'goes on'} and restored {restored}, not {undone}")
