"""Mutants of programs nobody here wrote: modules of Python's standard library, under its own tests.

    python3 blind.py SCRATCH [PER_OPERATOR]

Writes SCRATCH/cases.jsonl in the form of this folder's. The class of a case follows
from the operator that made it; nobody looked at the cases when the rules were made.
Mutants that no test sees, or that do not end, are left out. The sources are
Python's own and stay where they are: nothing of them is kept in this folder.
"""

import ast
import json
import os
import random
import subprocess
import sys
import sysconfig
from pathlib import Path

SCRATCH = Path(sys.argv[1]).resolve()
PER_OPERATOR = int(sys.argv[2]) if len(sys.argv) > 2 else 8
LIBRARY = Path(sysconfig.get_path("stdlib"))
MODULES = ["textwrap", "shlex", "colorsys", "graphlib", "fractions", "bisect"]

SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.And: ast.Or, ast.Or: ast.And,
}


def operator_swaps(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield lambda n=node: n.ops.__setitem__(0, SWAPS[type(n.ops[0])]())
        if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
            yield lambda n=node: setattr(n, "op", SWAPS[type(n.op)]())
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield lambda n=node: setattr(n, "value", n.value + 1)


def stubs(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield lambda n=node: setattr(n, "body", ast.parse("raise NotImplementedError").body)


def deletions(tree):
    for node in ast.walk(tree):
        for child in getattr(node, "body", []) if isinstance(node, (ast.Module, ast.ClassDef)) else []:
            if isinstance(child, ast.FunctionDef) and not child.name.startswith("_"):
                if len(node.body) > 1:
                    yield lambda n=node, c=child: n.body.remove(c)


def inventions(tree):
    imported = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    builtin = {"append", "extend", "pop", "join", "strip", "split", "replace", "startswith", "lower", "items",
               "keys", "values", "get", "format", "find", "insert", "appendleft", "popleft"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of_module = isinstance(node.func.value, ast.Name) and node.func.value.id in imported
            if of_module or node.func.attr in builtin:
                yield lambda n=node: setattr(n.func, "attr", n.func.attr + "_all")


OPERATORS = {
    "operator swapped or constant changed": ("logic_error", operator_swaps),
    "body replaced by NotImplementedError": ("incompleteness", stubs),
    "public function or method deleted": ("incompleteness", deletions),
    "invented method of a library or built-in type": ("hallucination", inventions),
}


def run(module, text):
    place = SCRATCH / "blind"
    place.mkdir(parents=True, exist_ok=True)
    (place / "subject.py").write_text(text)
    tests = (LIBRARY / "test" / f"test_{module}.py").read_text()
    (place / "test_subject.py").write_text(tests.replace(module, "subject"))
    env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    command = ["pytest", "-p", "no:cacheprovider", "-q", "test_subject.py"]
    try:
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return None
    return {"argv": command, "exit": done.returncode, "output": done.stdout.decode(), "errors": done.stderr.decode()}


if __name__ == "__main__":
    chance, cases = random.Random(7), []
    for module in MODULES:
        source = (LIBRARY / f"{module}.py").read_text()
        whole = run(module, ast.unparse(ast.parse(source)))
        if whole is None or whole["exit"] != 0:
            print(module, "does not pass its own tests here")
            continue
        for how, (name, sites) in OPERATORS.items():
            count = len(list(sites(ast.parse(source))))
            for at in chance.sample(range(count), min(PER_OPERATOR, count)):
                tree = ast.parse(source)
                list(sites(tree))[at]()
                printed = run(module, ast.unparse(ast.fix_missing_locations(tree)))
                if printed is None or printed["exit"] == 0:
                    continue
                cases.append({
                    "id": f"{module}-{name}-{how.split()[0]}-{at}", "family": "code", "class": name,
                    "without_a_model": True, "held_out": True, "how": how, "given": {}, "printed": printed,
                })
    with open(SCRATCH / "cases.jsonl", "w") as out:
        for case in cases:
            out.write(json.dumps(case) + "\n")
    print(len(cases), "cases")
