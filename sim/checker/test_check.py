"""The checker bites: a clean world passes, and each seeded violation is caught by its own check."""

import contextlib
import io
import json
import os
import tempfile
import unittest

import check
from evidence import ZERO, World, alert_key_of, args_digest, canonical, chain, digest_of_parts, key_of, parse, promote_key_of, undo_key_of

LIMITS = {"steps": 10, "tool_calls": 10, "tokens": 1000, "micros": 1000, "repairs": 2}
OUTPUT = {"inline": "done"}
REPEAT = {"book": "with_same_key", "pay": "never", "slow_pay": "never", "put": "with_same_key", "read": "freely", "ask": "freely", "write": "freely"}


class Run:
    """A journal under construction; every method appends one record."""

    def __init__(self, run="r1", key="k1", limits=None, at=1000, **task):
        self.run, self.at, self.records = run, at, []
        commands = [
            {"name": name, "command": {"argv": ["bowline-sim", "tool", name, "--dir", "d"]}}
            for name in ("pay", "slow_pay", "put")
        ]
        task = {"goal": "é \"quoted\" \u007f", "limits": limits or LIMITS, "review": "never", "on_failure": "rollback",
                "tools": commands + [{"name": "read"}, {"name": "ask"}, {"name": "write"}], **task}
        specs = [{"name": name, "repeat": repeat, "consent": "ask" if name == "ask" else "not-needed"}
                 for name, repeat in REPEAT.items()]
        self.append({"submitted": {"task": task, "tools": specs, "key": key, "seed": "0" * 16}})

    def append(self, *events, at=None):
        self.at = at if at is not None else self.at + 10
        self.records.append({"at": self.at, "events": list(events)})
        return self

    def claim(self, epoch):
        return self.append({"claimed": {"epoch": epoch, "worker": "w"}})

    def step(self, step, *calls, subtask="main", tokens=20, reserved=100):
        asked = [{"id": f"c{i}", "tool": tool, "args": {"inline": json.dumps(args)}} for i, (tool, args) in enumerate(calls)]
        start = {"step": step, "purpose": {"act": subtask}, "request": ZERO, "reserved": {"tokens": reserved, "micros": 0}}
        finish = {"step": step, "stop": "end", "usage": {"input": tokens}, "text": OUTPUT}
        if asked:
            finish["calls"] = asked
        return self.append({"step_started": start}).append({"step_finished": finish})

    def start(self, action, tool, args, attempt=1, **changed):
        body = {"action": action, "tool": tool, "args": args_digest(args), "touch": "exec", "repeat": REPEAT[tool],
                "key": key_of(self.run, action), "attempt": attempt}
        return self.append({"call_started": {**body, **changed}})

    def finish(self, action, outcome="ok"):
        return self.append({"call_finished": {"action": action, "outcome": outcome, "output": OUTPUT, "duration_ms": 1}})

    def trouble(self, action, tool, attempt=1, why="unavailable"):
        return self.append({"call_troubled": {"action": action, "tool": tool, "attempt": attempt, "why": why,
                                              "message": "closed", "duration_ms": 1, "retry_at": 2000}})

    def doubt(self, action, ask="person"):
        return self.append({"call_in_doubt": {"action": action, "why": "crash", "ask": ask}})

    def settle(self, action, settlement):
        return self.append({"call_settled": {"action": action, "settlement": settlement, "by": "ann"}})

    def end(self, how="committed"):
        ending = {"committed": {"output": OUTPUT, "provenance": OUTPUT}, "failed": {"why": "approval_expired"},
                  "halted": {"why": {"cancelled": {"by": "ann"}}}}[how]
        return self.append({"ended": {"contract": 1, "ending": {how: ending}}})

    def sealed(self):
        seq, head, lines = 1, ZERO, []
        for record in self.records:
            line = {"run": self.run, "seq": seq, "format": 2, "prev": head, **record}
            line["hash"] = head = chain(line)
            seq += len(record["events"])
            lines.append(line)
        return lines


class Case(unittest.TestCase):
    """A world of one clean run that each test spoils in one way."""

    PAY, PUT = {"amount": 5, "to": "bob"}, {"value": 1}

    def setUp(self):
        self.client = [{"t": "submit", "key": "k1", "task": "t"}, {"t": "ack", "key": "k1", "run": "r1"}]
        self.ledger, self.states, self.journals = [], [], {}
        self.enter("pay", "a1.0", self.PAY, at=2000)
        self.enter("put", "a1.1", self.PUT, at=2000)

    def clean(self):
        return (Run().claim(1).step(1, ("pay", self.PAY), ("put", self.PUT))
                .start("a1.0", "pay", self.PAY).start("a1.1", "put", self.PUT)
                .finish("a1.0").finish("a1.1").step(2).end())

    def enter(self, op, action, args, run="r1", kind="effect", epoch=1, attempt=1, at=2000, **changed):
        entry = {"n": len(self.ledger) + 1, "kind": kind, "op": op, "run": run, "action": action,
                 "key": key_of(run, action), "epoch": epoch, "attempt": attempt, "args": args_digest(args),
                 "amount": 0, "at": at}
        self.ledger.append({**entry, **changed})

    def verdict(self, *runs):
        """(exit code, codes of the checks that found something, all lines)"""
        for run in runs:
            self.journals[run.run] = run.sealed()
        with tempfile.TemporaryDirectory() as folder:
            def write(name, rows):
                path = os.path.join(folder, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
                return path
            os.mkdir(os.path.join(folder, "journal"))
            for run, lines in self.journals.items():
                write(f"journal/{run}.jsonl", lines)
            arguments = ["--client", write("client.jsonl", self.client), "--ledger", write("ledger.jsonl", self.ledger),
                         "--journal", os.path.join(folder, "journal"), "--states", write("states.jsonl", self.states)]
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                code = check.main(arguments)
        lines = printed.getvalue().splitlines()
        return code, sorted({line.split(":")[0] for line in lines if ": ok, " not in line and ": examined nothing" not in line}), lines

    def passes(self, *runs):
        code, found, lines = self.verdict(*runs)
        self.assertEqual((code, found), (0, []), lines)
        return lines

    def caught(self, by, saying, *runs):
        """Exactly the named checks find something, and one line says this."""
        code, found, lines = self.verdict(*runs)
        self.assertEqual((code, found), (1, sorted(by.split())), lines)
        self.assertTrue(any(line.startswith(by.split()[0] + ": ") and saying in line for line in lines), lines)


class Clean(Case):
    def test_a_clean_world_passes_and_says_how_much_was_examined(self):
        lines = self.passes(self.clean())
        self.assertIn("O3: ok, 1 irreversible effects", lines)
        self.assertIn("O4: ok, 2 answered ledger calls", lines)
        self.assertIn("J3: ok, 2 tool calls", lines)
        self.assertIn("O10: examined nothing (no live states)", lines)
        self.assertEqual(len(lines), len(check.CHECKS))

    def test_a_killed_and_probed_payment_passes(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).claim(2).doubt("a1.0")
               .settle("a1.0", {"happened": {"output": OUTPUT}}).step(2).end())
        self.ledger = self.ledger[:1]
        self.enter("pay", "a1.0", self.PAY, kind="look", epoch=2, attempt=0, found=True)
        self.assertIn("O6: ok, 1 irreversible intents; 1 in doubt, 1 settled, 0 open", self.passes(run))

    def test_a_payment_that_did_not_happen_may_be_made_again(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).claim(2).doubt("a1.0")
               .settle("a1.0", "did_not_happen").start("a1.0", "pay", self.PAY, attempt=2).finish("a1.0").step(2).end())
        self.ledger = []
        self.enter("pay", "a1.0", self.PAY, epoch=2, attempt=2)
        self.passes(run)

    def test_a_repeated_put_with_the_same_key_passes(self):
        run = (Run().claim(1).step(1, ("put", self.PUT)).start("a1.0", "put", self.PUT).claim(2)
               .start("a1.0", "put", self.PUT, attempt=2).finish("a1.0").step(2).end())
        self.ledger = []
        self.enter("put", "a1.0", self.PUT)
        self.enter("put", "a1.0", self.PUT, kind="duplicate", epoch=2, attempt=2)
        self.passes(run)

    def test_a_put_that_met_trouble_is_tried_again_and_counts_twice(self):
        run = (Run(limits={**LIMITS, "tool_calls": 2}).claim(1).step(1, ("put", self.PUT)).start("a1.0", "put", self.PUT)
               .trouble("a1.0", "put").start("a1.0", "put", self.PUT, attempt=2).finish("a1.0").step(2).end())
        self.ledger = []
        self.enter("put", "a1.0", self.PUT, attempt=2)
        self.passes(run)

    def test_a_halted_run_may_be_reopened_with_higher_limits(self):
        run = Run(limits={**LIMITS, "steps": 1}).claim(1).step(1).end("halted")
        run.append({"resumed": {"by": "ann", "raised": [{"limit": "steps", "to": 2}]}}).claim(2).step(2).end()
        self.ledger = []
        self.client += [{"t": "end", "run": "r1", "ending": "halted", "exit": 3},
                        {"t": "kill", "run": "r1", "at": 5}, {"t": "end", "run": "r1", "ending": "committed", "exit": 0}]
        self.passes(run)

    def test_a_submission_that_died_before_its_acknowledgement_is_no_violation(self):
        self.client += [{"t": "submit", "key": "k2", "task": "t"}]
        self.passes(self.clean(), Run("r2", "k2").claim(1))

    def test_a_provider_that_bills_more_than_reserved_is_reported_and_no_violation(self):
        self.ledger = []
        lines = self.passes(Run(limits={**LIMITS, "tokens": 100}).claim(1).step(1, tokens=150, reserved=100).end())
        self.assertIn("O9: ok, 5 bounds; run r1 was billed 50 tokens more than reserved", lines)

    def test_the_open_end_of_a_torn_log_is_ignored(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("client", "ledger"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write('{"n":1,"op"')
            world = World(os.path.join(folder, "client"), os.path.join(folder, "ledger"), folder, None)
            self.assertEqual((world.client, world.ledger), ([], []))


class Endings(Case):
    def test_o1_catches_an_acknowledged_run_that_never_ends(self):
        run = self.clean()
        run.records.pop()
        self.caught("O1", "never ended", run)

    def test_o1_catches_an_acknowledged_run_without_a_journal(self):
        self.client += [{"t": "submit", "key": "k2", "task": "t"}, {"t": "ack", "key": "k2", "run": "r2"}]
        self.caught("O1", "run r2 was acknowledged and has no journal", self.clean())

    def test_o1_and_o7_catch_two_final_endings(self):
        self.caught("O1 O7", "2 final endings", self.clean().end("failed"))

    def test_o2_catches_a_run_nobody_submitted(self):
        self.caught("O2", "nobody submitted", self.clean(), Run("r2", "other").claim(1).end())

    def test_o2_catches_two_runs_of_one_key(self):
        self.caught("O2", "has 2 runs: r1, r2", self.clean(), Run("r2", "k1").claim(1).end())

    def test_o2_catches_a_journal_that_does_not_begin_with_a_submission(self):
        run = self.clean()
        run.records.insert(1, run.records[0])
        self.caught("O2", "its one submission", run)

    def test_o7_catches_a_committed_run_that_goes_on(self):
        self.caught("O7 O1", "committed at event", self.clean().claim(2))

    def test_o7_catches_a_halted_run_that_goes_on_by_itself(self):
        self.ledger = []
        self.caught("O7", "followed by claimed", Run().claim(1).end("halted").claim(2).end())

    def test_o7_catches_a_result_that_was_told_and_is_no_longer_true(self):
        self.client += [{"t": "end", "run": "r1", "ending": "failed", "exit": 1}]
        self.caught("O7", "was told to have failed", self.clean())


class Effects(Case):
    def test_o3_catches_a_second_payment(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).claim(2).doubt("a1.0")
               .settle("a1.0", "did_not_happen").start("a1.0", "pay", self.PAY, attempt=2)
               .doubt("a1.0").settle("a1.0", "given_up").step(2).end())
        self.ledger = []
        self.enter("pay", "a1.0", self.PAY)
        self.enter("pay", "a1.0", self.PAY, epoch=2, attempt=2)
        self.caught("O3 O4", "has 2 irreversible effects", run)

    def test_o4_catches_an_outcome_without_its_effect(self):
        self.ledger.pop()
        self.caught("O4", "a1.1 (put) came back as ok and has 0 effects", self.clean())

    def test_o4_catches_an_error_that_was_a_payment_all_the_same(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).finish("a1.0", "error").step(2).end())
        self.ledger.pop()
        self.caught("O4", "came back as error and has an effect", run)

    def test_o4_catches_a_payment_that_is_said_not_to_have_happened(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).finish("a1.0", "unavailable").step(2).end())
        self.ledger.pop()
        self.caught("O4", "came back as unavailable and has an effect", run)

    def test_o4_excuses_an_error_without_effect_and_a_call_given_up(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY), ("pay", self.PAY)).start("a1.0", "pay", self.PAY)
               .start("a1.1", "pay", self.PAY).finish("a1.0", "error").doubt("a1.1").settle("a1.1", "given_up").step(2).end())
        self.ledger = []
        self.assertIn("O4: ok, 2 answered ledger calls", self.passes(run))

    def test_o5_catches_an_effect_without_intent(self):
        self.enter("pay", "a9.0", self.PAY)
        self.caught("O5", "has no intent", self.clean())

    def test_o5_catches_another_key(self):
        self.ledger[1]["key"] = ZERO
        self.caught("O5", "shows key 000000000000", self.clean())

    def test_o5_catches_other_arguments(self):
        self.ledger[0]["args"] = ZERO
        self.caught("O5", "has argument hash 000000000000", self.clean())

    def test_o5_catches_an_effect_before_its_intent(self):
        self.ledger[0]["at"] = 3
        self.caught("O5", "before its intent", self.clean())

    def test_o5_catches_an_attempt_the_journal_does_not_know(self):
        self.ledger[0]["attempt"] = 2
        self.caught("O5", "is attempt 2", self.clean())

    def test_o5_catches_more_attempts_than_were_announced(self):
        self.enter("put", "a1.1", self.PUT, kind="duplicate")
        self.caught("O5", "1 attempts in the journal, 2 in the ledger", self.clean())

    def test_o5_catches_a_key_that_is_not_the_actions_own(self):
        run = Run().claim(1).step(1, ("put", self.PUT), ("put", self.PUT)).start("a1.0", "put", self.PUT)
        run.start("a1.1", "put", self.PUT, key=key_of("r1", "a1.0")).finish("a1.0").finish("a1.1").step(2).end()
        self.ledger = []
        self.enter("put", "a1.0", self.PUT)
        self.enter("put", "a1.1", self.PUT, key=key_of("r1", "a1.0"))
        self.caught("O5", "not H(run, action)", run)

    def test_o5_catches_an_intent_that_is_not_what_the_model_asked(self):
        other = {"amount": 500}
        run = Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", other).finish("a1.0").step(2).end()
        self.ledger = []
        self.enter("pay", "a1.0", other)
        self.caught("O5", "is another call than the model's", run)


class Doubts(Case):
    def paying(self):
        self.ledger.pop()
        return Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY)

    def test_o6_catches_a_blind_repeat(self):
        self.ledger[0].update(attempt=2, epoch=2)
        run = self.paying().claim(2).start("a1.0", "pay", self.PAY, attempt=2).finish("a1.0").step(2).end()
        self.caught("O6", "is made again while open", run)

    def test_o6_catches_a_repeat_of_a_doubt_nobody_settled(self):
        self.ledger[0].update(attempt=2, epoch=2)
        run = self.paying().claim(2).doubt("a1.0").start("a1.0", "pay", self.PAY, attempt=2).finish("a1.0").step(2).end()
        self.caught("O6", "is made again while in doubt", run)

    def test_o6_catches_an_intent_nobody_was_told_about(self):
        run = self.paying().claim(2).end("halted")
        self.caught("O6", "neither outcome nor report of doubt", run)

    def test_o6_and_o1_catch_an_intent_forgotten_by_a_run_that_goes_on(self):
        run = self.paying().claim(2).append({"paused": {"by": "ann"}})
        self.caught("O6 O1", "was open when the run was taken over", run)

    def test_o6_lets_a_probe_that_cannot_tell_pass_its_doubt_on_to_a_person(self):
        run = self.paying().claim(2).doubt("a1.0", "probe").doubt("a1.0", "person")
        self.passes(run.settle("a1.0", {"happened": {"output": OUTPUT}}).step(2).end())

    def test_o6_catches_a_doubt_that_is_reported_twice(self):
        run = self.paying().claim(2).doubt("a1.0").doubt("a1.0")
        run.settle("a1.0", {"given_up": {"message": ""}}).step(2).end()
        self.caught("O6", "is reported in doubt while in doubt", run)

    def test_o6_catches_a_settlement_without_a_report(self):
        run = self.paying().claim(2).settle("a1.0", {"happened": {"output": OUTPUT}}).step(2).end()
        self.caught("O6", "without a report of doubt", run)

    def test_o6_catches_a_late_reply(self):
        run = self.paying().doubt("a1.0").finish("a1.0").step(2).end()
        self.caught("O6", "gets an outcome while in doubt", run)

    def test_o6_catches_a_time_out_told_as_an_outcome(self):
        run = self.paying().finish("a1.0", "timed_out").step(2).end()
        self.caught("O6", "which is doubt and not an outcome", run)

    def test_o6_catches_an_irreversible_tool_journalled_as_repeatable(self):
        run = self.clean()
        run.records[4]["events"][0]["call_started"]["repeat"] = "freely"
        self.caught("O6", "is freely at event 5; its tool is never", run)


class Bounds(Case):
    def bounded(self, saying, run):
        self.ledger = []
        self.caught("O9", saying, run)

    def test_o9_catches_one_step_too_many(self):
        self.bounded("holds 2 steps", Run(limits={**LIMITS, "steps": 1}).claim(1).step(1).step(2).end())

    def test_o9_catches_one_tool_call_too_many(self):
        run = Run(limits={**LIMITS, "tool_calls": 0}).claim(1).step(1, ("read", {})).start("a1.0", "read", {})
        self.bounded("holds 1 tool_calls", run.finish("a1.0").step(2).end())

    def test_o9_catches_one_call_of_one_tool_too_many(self):
        run = Run(limits={**LIMITS, "tools": {"read": 0}}).claim(1).step(1, ("read", {})).start("a1.0", "read", {})
        self.bounded("holds 1 calls of read", run.finish("a1.0").step(2).end())

    def test_o9_knows_what_was_raised_and_what_is_unlimited(self):
        self.ledger = []
        run = Run(limits={**LIMITS, "tools": {"read": 0}, "tokens": "unlimited", "steps": 1}).claim(1)
        raised = [{"limit": {"tool": "read"}, "to": 1}, {"limit": "steps", "to": "unlimited"}, {"limit": "depth", "to": 4}]
        run.append({"resumed": {"by": "ann", "raised": raised}}).step(1, ("read", {}), reserved=10**9)
        self.passes(run.start("a1.0", "read", {}).finish("a1.0").step(2).end())

    def test_o9_catches_a_reservation_past_the_token_limit(self):
        self.bounded("holds 120 tokens", Run(limits={**LIMITS, "tokens": 110}).claim(1).step(1).step(2).end())

    def test_o9_counts_a_lost_step_as_reserved(self):
        run = Run(limits={**LIMITS, "tokens": 150}).claim(1).step(1)
        lost = run.records.pop()["events"][0]["step_finished"]["step"]
        run.append({"step_failed": {"step": lost, "why": {"kind": "lost", "message": ""}}}).step(2).end()
        self.bounded("holds 200 tokens", run)

    def test_o9_catches_a_counter_that_starts_again(self):
        self.bounded("starts step 1", Run().claim(1).step(1).claim(2).step(1).end())

    def test_o9_catches_one_repair_too_many(self):
        run = Run().claim(1)
        for round_ in (1, 2, 3):
            run.append({"repair_started": {"round": round_}})
        self.bounded("holds 3 repairs", run.end("failed"))


class People(Case):
    def setUp(self):
        super().setUp()
        self.ledger = []

    def asking(self, verdict, subject="a1.0", binds=None):
        binds = binds or digest_of_parts([b"ask", bytes.fromhex(args_digest({}))])
        about = subject if subject == "output" else {"action": subject}
        run = Run().claim(1).step(1, ("ask", {}))
        run.append({"approval_requested": {"subject": about, "binds": binds, "expires_at": 9}})
        return run.append({"approval_settled": {"subject": about, "binds": binds, "verdict": verdict}})

    def started(self, run):
        return run.start("a1.0", "ask", {}).finish("a1.0").step(2).end()

    def test_o12_lets_an_approved_call_run(self):
        self.assertIn("O12: ok, 1 questions to people", self.passes(self.started(self.asking({"approved": {"by": "ann"}}))))

    def test_o12_catches_a_call_nobody_was_asked_about(self):
        self.caught("O12", "needs consent and has none", self.started(Run().claim(1).step(1, ("ask", {}))))

    def test_o12_catches_a_denied_call_that_runs(self):
        self.caught("O12", "after it was denied", self.started(self.asking({"denied": {"by": "ann", "reason": ""}})))

    def test_o12_catches_an_expired_question_that_counts_as_yes(self):
        self.caught("O12", "after it was expired", self.started(self.asking("expired")))

    def test_o12_catches_consent_to_other_arguments(self):
        self.caught("O12", "consent to other bytes", self.started(self.asking({"approved": {"by": "ann"}}, binds=ZERO)))

    def test_o12_catches_an_answer_to_another_question(self):
        run = self.asking({"approved": {"by": "ann"}})
        run.records[-1]["events"][0]["approval_settled"]["binds"] = ZERO
        self.caught("O12", "which nobody asked", self.started(run))

    def test_o12_catches_a_commit_without_the_review_the_task_asks_for(self):
        self.caught("O12", "committed without the review", Run(review="always").claim(1).step(1).end())


class Rollbacks(Case):
    IMAGE = {"path": "f", "before": None, "after": ZERO}

    def setUp(self):
        super().setUp()
        self.ledger = []

    def written(self, **task):
        run = Run(**task).claim(1).step(1, ("write", {}), ("write", {}))
        for action in ("a1.0", "a1.1"):
            run.start(action, "write", {}, image=self.IMAGE).finish(action)
        return run

    def restored(self, run, *actions):
        run.append({"rollback_started": {"why": "approval_expired"}})
        for action in actions:
            run.append({"restored": {"action": action, "outcome": "restored"}})
        return run

    def test_o8_lets_the_last_write_be_undone_first_also_over_a_crash(self):
        run = self.restored(self.written(), "a1.1").claim(2)
        run.append({"restored": {"action": "a1.0", "outcome": "restored"}}).end("failed")
        self.assertIn("O8: ok, 2 undone calls", self.passes(run))

    def test_o8_catches_the_wrong_order(self):
        self.caught("O8", "['a1.0', 'a1.1'], not ['a1.1', 'a1.0']", self.restored(self.written(), "a1.0", "a1.1").end("failed"))

    def test_o8_catches_a_file_that_was_forgotten(self):
        self.caught("O8", "['a1.1'], not", self.restored(self.written(), "a1.1").end("failed"))

    def test_o8_catches_a_file_that_was_restored_twice(self):
        self.caught("O8", "'a1.0', 'a1.0']", self.restored(self.written(), "a1.1", "a1.0", "a1.0").end("failed"))

    def test_o8_catches_a_failed_run_that_undoes_nothing(self):
        self.caught("O8", "failed and restored []", self.written().end("failed"))

    def test_o8_lets_a_task_keep_its_files(self):
        self.passes(self.written(on_failure="keep").end("failed"))

    KEY = undo_key_of("r1", "a1.1")
    UNDO = {"key": KEY, "undo": {"how": "own"}}

    def booked(self, **task):
        run = Run(**task).claim(1).step(1, ("write", {}), ("book", {}))
        run.start("a1.1", "book", {}, undo=self.UNDO)
        run.start("a1.0", "write", {}, image=self.IMAGE).finish("a1.0").finish("a1.1")
        return run

    def compensated(self, run, action="a1.1", key=KEY, outcome="compensated"):
        run.append({"compensation_started": {"action": action, "key": key, "attempt": 1}})
        return run.append({"compensated": {"action": action, "outcome": outcome}})

    def test_o8_goes_by_the_order_of_coming_to_an_end_over_files_and_calls(self):
        run = self.booked().append({"rollback_started": {"why": "approval_expired"}})
        self.compensated(run).append({"restored": {"action": "a1.0", "outcome": "restored"}}).end("failed")
        self.assertIn("O8: ok, 2 undone calls", self.passes(run))
        run = self.booked().append({"rollback_started": {"why": "approval_expired"}})
        run.append({"restored": {"action": "a1.0", "outcome": "restored"}})
        self.caught("O8", "['a1.0', 'a1.1'], not ['a1.1', 'a1.0']", self.compensated(run).end("failed"))

    def test_o8_catches_an_undo_with_another_key_or_without_an_intent(self):
        run = self.booked().append({"rollback_started": {"why": "approval_expired"}})
        self.compensated(run, key="e" * 64).append({"restored": {"action": "a1.0", "outcome": "restored"}})
        self.caught("O8", "a key its intent does not name", run.end("failed"))
        run = self.booked().append({"rollback_started": {"why": "approval_expired"}})
        run.append({"compensated": {"action": "a1.1", "outcome": "compensated"}})
        run.append({"restored": {"action": "a1.0", "outcome": "restored"}})
        self.caught("O8", "without an intent", run.end("failed"))

    def test_o7_and_o8_let_a_person_undo_a_run_that_committed(self):
        run = self.written().end().append({"undo_started": {"by": "ann"}}).claim(2)
        for action in ("a1.1", "a1.0"):
            run.append({"restored": {"action": action, "outcome": "restored"}})
        self.passes(run.append({"undo_finished": {"undone": 2}}))

    def test_o7_catches_work_behind_an_undo(self):
        run = self.written().end().append({"undo_started": {"by": "ann"}}).claim(2)
        for action in ("a1.1", "a1.0"):
            run.append({"restored": {"action": action, "outcome": "restored"}})
        run.append({"undo_finished": {"undone": 2}})
        self.caught("O7 O1", "is followed by undo_started", run.claim(3))

    def handed_on(self, *how, ending="committed"):
        """A run that ends, and what is said of handing its output on."""
        run = Run().claim(1).step(1).end(ending)
        for event in how:
            run.append(event if "claimed" in event else {"promoted": event})
        return run

    def begun(self, key=None):
        return {"begun": {"key": key or promote_key_of("r1")}}

    def test_o1_and_o7_let_a_committed_output_be_handed_on(self):
        tried, claimed = {"tried": {"attempt": 1}}, {"claimed": {"epoch": 2, "worker": "w"}}
        troubled = {"troubled": {"attempt": 1, "message": "no", "retry_at": 9}}
        taken, lost = {"settled": "taken"}, {"settled": {"not_taken": "no"}}
        self.passes(self.handed_on(self.begun(), tried, taken))
        self.passes(self.handed_on(self.begun(), tried, claimed, tried, troubled, tried, lost))
        self.passes(self.handed_on(self.begun(), lost, self.begun(), claimed, tried, taken))

    def test_o7_catches_what_is_handed_on_of_a_run_that_failed_or_with_another_key(self):
        taken = {"settled": "taken"}
        self.caught("O7", "is followed by promoted", self.handed_on(self.begun(), taken, ending="failed"))
        self.caught("O7", "not H(promote, run)", self.handed_on(self.begun("e" * 64), taken))

    def test_o1_and_o7_catch_what_is_handed_on_without_a_beginning_twice_or_without_an_end(self):
        taken = {"settled": "taken"}
        self.caught("O7", "is followed by promoted", self.handed_on(taken))
        self.caught("O7", "is followed by promoted", self.handed_on(self.begun(), self.begun(), taken))
        self.caught("O7", "is followed by promoted", self.handed_on(self.begun(), taken, {"tried": {"attempt": 2}}, taken))
        self.caught("O1", "never ended", self.handed_on(self.begun(), {"tried": {"attempt": 1}}))

    def test_o8_catches_a_person_s_undo_in_the_wrong_order(self):
        run = self.written().end().append({"undo_started": {"by": "ann"}}).claim(2)
        for action in ("a1.0", "a1.1"):
            run.append({"restored": {"action": action, "outcome": "restored"}})
        self.caught("O8", "not ['a1.1', 'a1.0']", run.append({"undo_finished": {"undone": 2}}))

    def test_o8_catches_an_undo_whose_key_is_not_made_from_run_and_action(self):
        run = Run().claim(1).step(1, ("book", {})).start("a1.0", "book", {}, undo={"key": "f" * 64, "undo": {"how": "own"}})
        run.finish("a1.0").append({"rollback_started": {"why": "approval_expired"}})
        self.caught("O8", "not H(undo, run, action)", self.compensated(run, "a1.0", "f" * 64).end("failed"))

    def reserved(self, *actions, **task):
        """A run that reserved under these actions and gives it all back, last first."""
        tools = [{"name": "book", "command": {"argv": ["bowline-sim", "tool", "reserve", "--dir", "d"]}}]
        run = Run(tools=tools, **task).claim(1).step(1, *[("book", {})] * len(actions))
        for action in actions:
            run.start(action, "book", {}, undo={"key": undo_key_of("r1", action), "undo": {"how": "own"}}).finish(action)
            self.enter("reserve", action, {})
        run.append({"rollback_started": {"why": "approval_expired"}})
        for action in actions[::-1]:
            self.compensated(run, action, undo_key_of("r1", action))
        return run

    def release(self, action, of, **changed):
        self.enter("release", action, {}, of=of, **{"key": undo_key_of("r1", action), **changed})

    def test_o8_lets_reservations_be_given_back_last_first_with_duplicates_removed(self):
        run = self.reserved("a1.0", "a1.1").end("failed")
        self.release("a1.1", 2)
        self.release("a1.1", 3, kind="duplicate")
        self.release("a1.0", 1)
        self.assertIn("O8: ok, 2 undone calls", self.passes(run))

    def test_o8_lets_an_undo_that_lost_its_reply_be_told_later_by_a_person(self):
        tools = [{"name": "book", "command": {"argv": ["bowline-sim", "tool", "reserve", "--dir", "d"]}}]
        run = Run(tools=tools).claim(1).step(1, ("book", {}), ("book", {}))
        for action in ("a1.0", "a1.1"):
            run.start(action, "book", {}, undo={"key": undo_key_of("r1", action), "undo": {"how": "own"}}).finish(action)
            self.enter("reserve", action, {})
        run.append({"rollback_started": {"why": "approval_expired"}})
        self.compensated(run, "a1.1", undo_key_of("r1", "a1.1"), {"failed": "the line went dead"})
        self.compensated(run, "a1.0", undo_key_of("r1", "a1.0"))
        run.append({"alert_raised": {"actions": ["a1.1"]}}).end("failed").append({"undo_started": {"by": "ann"}}).claim(2)
        self.compensated(run, "a1.1", undo_key_of("r1", "a1.1")).append({"undo_finished": {"undone": 1}})
        self.release("a1.1", 2)
        self.release("a1.0", 1)
        self.passes(run)

    def test_o8_catches_what_is_given_back_twice_not_at_all_or_in_another_order(self):
        run = self.reserved("a1.0", "a1.1").end("failed")
        self.release("a1.1", 2)
        self.caught("O8", "a1.0 was undone, and given back 0 times", run)
        self.release("a1.0", 1)
        self.release("a1.0", 1, key="e" * 64)
        self.caught("O8 O5", "given back 2 times", run)
        del self.ledger[2:]
        self.release("a1.0", 1)
        self.release("a1.1", 2)
        self.caught("O8", "gave back ['a1.0', 'a1.1'], and says it was ['a1.1', 'a1.0']", run)

    def test_o8_catches_what_is_given_back_and_was_never_taken(self):
        run = self.reserved("a1.0").end("failed")
        self.release("a1.0", 9)
        self.caught("O8", "gives back 9, which it did not take", run)

    FAILED = {"failed": "closed"}

    def alarmed(self, *alerts, told=True, **task):
        run = self.booked(**task).append({"rollback_started": {"why": "approval_expired"}})
        self.compensated(run, outcome=self.FAILED).append({"restored": {"action": "a1.0", "outcome": "restored"}})
        for actions in alerts:
            run.append({"alert_raised": {"actions": actions}})
            if told:
                run.append({"alert_told": {}})
        return run.end("failed")

    def test_u1_lets_people_be_told_of_what_could_not_be_undone(self):
        self.assertIn("U1: ok, 1 alerts", self.passes(self.alarmed(["a1.1"])))

    def test_u1_catches_an_alert_that_is_swallowed_doubled_or_about_something_else(self):
        self.caught("U1", "could not undo ['a1.1'] and raised alerts about []", self.alarmed())
        self.caught("U1", "[['a1.1'], ['a1.1']]", self.alarmed(["a1.1"], ["a1.1"]))
        self.caught("U1", "about [['a1.0']]", self.alarmed(["a1.0"]))
        run = self.restored(self.written(), "a1.1", "a1.0").append({"alert_raised": {"actions": ["a1.0"]}})
        self.caught("U1", "could not undo []", run.end("failed"))

    TELL = ["bowline-sim", "tool", "tell", "--dir", "d"]

    def test_u1_catches_people_who_were_not_told_or_were_told_of_nothing(self):
        self.caught("U1", "told people 0 times", self.alarmed(["a1.1"], told=False, on_alert=["page"]))
        self.caught("U1", "the ledger knows nothing of it", self.alarmed(["a1.1"], on_alert=self.TELL))
        self.enter("tell", "a1.1", {}, key=alert_key_of("r1"))
        self.passes(self.alarmed(["a1.1"], on_alert=self.TELL))
        self.caught("U1", "an alert it has not raised", self.restored(self.written(), "a1.1", "a1.0").end("failed"))

    def test_o9_counts_repairs_anew_once_something_else_is_tried(self):
        run = Run(limits={**LIMITS, "repairs": 1}).claim(1).step(1)
        run.append({"repair_started": {"round": 1}}).append({"escalated": {"step": "redecompose", "why": "no"}})
        run.append({"repair_started": {"round": 2}})
        self.ledger = []
        self.caught("O9", "holds 2 repairs", Run(limits={**LIMITS, "repairs": 1}).claim(1)
                    .append({"repair_started": {"round": 1}}).append({"repair_started": {"round": 2}}).end())
        self.passes(run.end())

    def test_o8_catches_an_undo_in_a_run_that_commits(self):
        self.caught("O8", "committed and restored", self.restored(self.written(), "a1.1", "a1.0").end())


class Journals(Case):
    def test_o10_catches_a_live_state_that_replay_does_not_give(self):
        self.states = [{"run": "r1", "seq": 3, "incarnation": 1, "state": "aa"},
                       {"run": "r1", "seq": 3, "incarnation": 2, "state": "bb"}, {"run": "r1", "seq": 3, "replay": "aa"}]
        self.caught("O10", "incarnation 2: live bb, by replay aa", self.clean())

    def test_o10_catches_a_live_state_past_what_replay_reaches(self):
        self.states = [{"run": "r1", "seq": 99, "incarnation": 1, "state": "aa"}]
        self.caught("O10", "replay never gets there", self.clean())

    def test_o11_catches_an_epoch_that_falls(self):
        run = self.clean()
        run.records.insert(2, {"at": 1025, "events": [{"claimed": {"epoch": 2, "worker": "w"}}]})
        self.ledger[0]["epoch"] = 2
        self.caught("O11", "showed epoch 1 in ledger entry 2 after 2", run)

    def test_o11_catches_a_call_of_an_older_epoch_after_a_probe_of_a_newer_one(self):
        run = self.clean()
        run.records.insert(2, {"at": 1025, "events": [{"claimed": {"epoch": 2, "worker": "w"}}]})
        entry = self.ledger.pop()
        self.enter("put", "a1.1", self.PUT, kind="look", epoch=2, attempt=0, found=False)
        self.ledger.append({**entry, "n": 3})
        self.caught("O11", "showed epoch 1 in ledger entry 3 after 2", run)

    def test_o11_catches_an_epoch_nobody_claimed(self):
        self.ledger[1]["epoch"] = 7
        self.caught("O11", "never claimed", self.clean())

    def test_o11_catches_two_claims_with_one_epoch(self):
        run = self.clean()
        run.records.insert(2, run.records[1])
        self.caught("O11", "claimed with epoch 1 after epoch 1", run)

    def test_j1_catches_a_changed_byte(self):
        self.journals["r1"] = self.clean().sealed()
        self.journals["r1"][1]["at"] += 1
        self.caught("J1", "its bytes give")

    def test_j1_catches_a_record_that_does_not_follow_the_one_before(self):
        lines = self.clean().sealed()
        lines[-1]["prev"] = ZERO
        lines[-1]["hash"] = chain(lines[-1])
        self.journals["r1"] = lines
        self.caught("J1", "but the head is")

    def test_j1_catches_a_format_it_does_not_know(self):
        run = self.clean()
        run.records[-1]["format"] = 9
        self.caught("J1", "has format 9", run)

    def test_j2_catches_a_gap(self):
        run = self.clean()
        lines = run.sealed()
        for line in lines[5:]:
            line["seq"] += 1
        head = ZERO
        for line in lines:
            line["prev"] = head
            line["hash"] = head = chain(line)
        self.journals["r1"] = lines
        self.caught("J2", "continues at event 7 where 6 was expected")

    def test_o6_catches_a_payment_that_is_tried_again(self):
        run = (Run().claim(1).step(1, ("pay", self.PAY)).start("a1.0", "pay", self.PAY).trouble("a1.0", "pay")
               .start("a1.0", "pay", self.PAY, attempt=2).finish("a1.0").step(2).end())
        self.ledger = []
        self.enter("pay", "a1.0", self.PAY, attempt=2)
        self.caught("O6", "though it has one attempt", run)

    def test_o9_counts_another_attempt_as_a_call(self):
        run = (Run(limits={**LIMITS, "tool_calls": 1}).claim(1).step(1, ("read", {})).start("a1.0", "read", {})
               .trouble("a1.0", "read").start("a1.0", "read", {}, attempt=2).finish("a1.0").step(2).end())
        self.ledger = []
        self.caught("O9", "holds 2 tool_calls", run)

    def test_o9_counts_what_a_call_costs(self):
        run = (Run(limits={**LIMITS, "micros": 5}).claim(1).step(1, ("read", {})).start("a1.0", "read", {}, micros=6)
               .finish("a1.0").step(2).end())
        self.ledger = []
        self.caught("O9", "micros", run)

    def asking(self, limits, **reserved):
        run = Run(limits={**LIMITS, **limits}).claim(1).step(1, ("read", {}))
        self.ledger = []
        return run.start("a1.0", "read", {}, reserved={"tokens": 100, **reserved})

    def test_o9_takes_a_call_that_asks_a_model_for_a_step_that_pays_what_it_used(self):
        run = self.asking({"steps": 3, "tokens": 150})
        run.append({"call_finished": {"action": "a1.0", "outcome": "ok", "output": OUTPUT, "duration_ms": 1, "spent": {"tokens": 10}}})
        self.passes(run.step(3).end())

    def test_o9_catches_a_call_that_asks_a_model_beyond_a_limit(self):
        for limits, saying in (({"steps": 1}, "holds 2 steps"), ({"tokens": 110}, "holds 120 tokens")):
            self.caught("O9", saying, self.asking(limits).finish("a1.0").step(3).end())
        self.caught("O9", "holds 6 micros", self.asking({"micros": 5}, micros=6).finish("a1.0").step(3).end())

    def test_o9_counts_a_lost_question_to_a_model_as_reserved(self):
        for why, held in (("lost", 320), ("timed_out", 320), ("unavailable", 220)):
            run = self.asking({"tokens": 210}).trouble("a1.0", "read", why=why)
            run.start("a1.0", "read", {}, attempt=2, reserved={"tokens": 100}).finish("a1.0").step(4).end()
            self.caught("O9", f"holds {held} tokens", run)

    def test_j3_catches_a_call_without_an_answer_when_its_conversation_goes_on(self):
        run = Run().claim(1).step(1, ("read", {})).step(2).start("a1.0", "read", {}).finish("a1.0").end()
        self.ledger = []
        self.caught("J3", "starts step 2 while a1.0 has no answer", run)

    def test_j3_lets_another_conversation_go_on(self):
        run = Run().claim(1).step(1, ("read", {})).step(2, subtask="other").start("a1.0", "read", {}).finish("a1.0").end()
        self.ledger = []
        self.passes(run)

    def asking(self, limits, **reserved):
        run = Run(limits={**LIMITS, **limits}).claim(1).step(1, ("read", {}))
        self.ledger = []
        return run.start("a1.0", "read", {}, reserved={"tokens": 100, **reserved})

    def test_o9_takes_a_call_that_asks_a_model_for_a_step_that_pays_what_it_used(self):
        run = self.asking({"steps": 3, "tokens": 150})
        run.append({"call_finished": {"action": "a1.0", "outcome": "ok", "output": OUTPUT, "duration_ms": 1, "spent": {"tokens": 10}}})
        self.passes(run.step(3).end())

    def test_o9_catches_a_call_that_asks_a_model_beyond_a_limit(self):
        for limits, saying in (({"steps": 1}, "holds 2 steps"), ({"tokens": 110}, "holds 120 tokens")):
            self.caught("O9", saying, self.asking(limits).finish("a1.0").step(3).end())
        self.caught("O9", "holds 6 micros", self.asking({"micros": 5}, micros=6).finish("a1.0").step(3).end())

    def test_o9_counts_a_lost_question_to_a_model_as_reserved(self):
        for why, held in (("lost", 320), ("timed_out", 320), ("unavailable", 220)):
            run = self.asking({"tokens": 210}).trouble("a1.0", "read", why=why)
            run.start("a1.0", "read", {}, attempt=2, reserved={"tokens": 100}).finish("a1.0").step(4).end()
            self.caught("O9", f"holds {held} tokens", run)

    def test_j3_catches_a_call_without_an_answer_when_the_run_commits(self):
        self.ledger = []
        self.caught("J3", "ends while a1.0 has no answer", Run().claim(1).step(1, ("read", {})).end())

    def test_j3_catches_two_answers(self):
        run = Run().claim(1).step(1, ("read", {})).start("a1.0", "read", {}).finish("a1.0").finish("a1.0").step(2).end()
        self.ledger = []
        self.caught("J3", "answers a1.0 a second time", run)

    def test_j3_catches_a_call_no_reply_asked_for(self):
        run = Run().claim(1).step(1).start("a1.0", "read", {}).end()
        self.ledger = []
        self.caught("J3", "which no reply is waiting for", run)

    def test_an_event_that_is_not_understood_is_never_a_pass(self):
        run = self.clean()
        del run.records[4]["events"][0]["call_started"]["tool"]
        code, found, lines = self.verdict(run)
        self.assertEqual(code, 1, lines)
        self.assertIn("O6", found)

    def test_evidence_that_cannot_be_read_is_no_verdict(self):
        self.client = [{"t": "gossip"}]
        code, _, lines = self.verdict(self.clean())
        self.assertEqual(code, 2, lines)

    def test_canonical_json_sorts_by_utf_16_and_escapes_only_what_it_must(self):
        text = '{"\uffff":1, "😀":2, "é":"\\u0001\\n\\"\u007f\u2028\\/", "Z":{}, "a":[null,true]}'
        self.assertEqual(canonical(parse(text)), '{"Z":{},"a":[null,true],"é":"\\u0001\\n\\"\u007f\u2028/","😀":2,"\uffff":1}')

    def test_canonical_numbers_are_those_of_ecmascript_with_all_digits_of_integers(self):
        for text, expected in [
            ("1.0", "1"), ("-0.0", "0"), ("-0", "0"), ("0.50", "0.5"), ("1e16", "10000000000000000"), ("1e21", "1e+21"),
            ("1.5e300", "1.5e+300"), ("1e-6", "0.000001"), ("1e-7", "1e-7"), ("-12.25e-1", "-1.225"), ("123e-9", "1.23e-7"),
            ("18446744073709551617", "18446744073709551617"), ("333333333.33333329", "333333333.3333333"),
        ]:
            self.assertEqual(canonical(parse(text)), expected, text)


if __name__ == "__main__":
    unittest.main()
