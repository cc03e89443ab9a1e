"""Makes cases.jsonl: planted defects of known classes, with what the real tools said.

    python3 record.py SCRATCH

The mutants of `fixtures/` are run for real in SCRATCH (pytest, node and cargo
on PATH); the other cases are in `cases/*.json` and are taken over as they are.
Which cases are held out depends on their ids alone.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRATCH = Path(sys.argv[1]).resolve()

RUNS = {
    "python": (["pytest", "-p", "no:cacheprovider", "-q"], "ledger.py"),
    "js": (["node", "--test", "--test-reporter=tap", "slots.test.mjs"], "slots.mjs"),
    "rust": (["cargo", "test", "--offline", "--lib"], "src/lib.rs"),
}

REWRITES = [
    (re.compile(re.escape(str(SCRATCH)) + r"/[a-z]+"), "/project"),
    (re.compile(re.escape(str(Path(sys.base_prefix)))), "/usr"),
    (re.compile(r"/[\w/.-]*/\.rustup/toolchains/[\w.-]+"), "/rustup"),
    (re.compile(r"/[\w/.-]*/site-packages"), "/usr/lib/python3/site-packages"),
    (re.compile(r"/[\w/.-]*/bin/python3?"), "/usr/bin/python3"),
]


def neutral(text):
    for pattern, to in REWRITES:
        text = pattern.sub(to, text)
    return text


def mutate(case):
    program = case["program"]
    command, file = RUNS[program]
    place = SCRATCH / program
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(HERE / "fixtures" / program, place)
    text = (place / file).read_text()
    for find, replace in case.get("replace", []):
        if text.count(find) < 1:
            raise SystemExit(f"{case['id']}: nothing to replace: {find!r}")
        text = text.replace(find, replace)
    (place / file).write_text(text)
    for name, more in case.get("files", {}).items():
        (place / name).write_text(more)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
        "CARGO_TARGET_DIR": str(SCRATCH / program / "target"),
        **case.get("env", {}),
    }
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, timeout=300)
    if done.returncode == 0:
        raise SystemExit(f"{case['id']}: the defect is not seen")
    return {
        "argv": command,
        "exit": done.returncode,
        "output": neutral(done.stdout.decode()),
        "errors": neutral(done.stderr.decode()),
    }


def held_out(name):
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


if __name__ == "__main__":
    cases = []
    for file in sorted((HERE / "cases").glob("*.json")):
        for case in json.loads(file.read_text()):
            made = {
                "id": case["id"],
                "family": case["family"],
                "class": case["class"],
                "without_a_model": case["without_a_model"],
                "held_out": held_out(case["id"]),
                "how": case["how"],
                "given": case.get("given", {}),
            }
            if "program" in case:
                made["printed"] = mutate(case)
            cases.append(made)
    names = [case["id"] for case in cases]
    if len(set(names)) != len(names):
        raise SystemExit("two cases have one id")
    with open(HERE / "cases.jsonl", "w") as out:
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False) + "\n")
    print(len(cases), "cases,", sum(case["held_out"] for case in cases), "held out")
