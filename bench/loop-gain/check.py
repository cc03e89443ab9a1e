"""What a user would check without knowing the answer: reads `visible.json` beside it and an answer on
standard input, says what does not hold, and fails."""

import json
import pathlib
import re
import sys

SAFE = ("abs all any bool dict enumerate filter float int len list map max min pow print range reversed round "
        "set sorted str sum tuple zip True False None").split()


def stands(value, text):
    """Whether a value occurs in a text as a word or number of its own."""
    if isinstance(value, (int, float)):
        plain = text.replace(",", "")
        forms = {f"{value:g}", f"{value:.2f}", f"{value:.1f}"} if value != int(value) else {str(int(value)), f"{value:.2f}"}
        return any(re.search(rf"(?<![\d.]){re.escape(form)}(?!\.?\d)", plain) for form in forms)
    return bool(value.strip()) and re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", text.lower()) is not None


def arithmetic(rule, record):
    """`a + b = c`, `a * b = c`, `a < b`, `a != b`, over fields of the record."""
    left, sign, right = re.fullmatch(r"(.+?) (=|<|!=) (.+)", rule).groups()
    value = lambda term: eval(term, {"__builtins__": {}}, dict(record))  # the rule is ours, not the model's
    one, other = value(left), value(right)
    if sign == "=":
        return abs(one - other) < 0.005
    return one < other if sign == "<" else one != other


def record_problems(seen, record):
    text = seen["text"]
    # A rule of a tool counts where that tool is chosen.
    rules = seen["rules"].get(record["action"], {}) if "action" in record else seen["rules"]
    for name in rules.get("stands", []):
        if not stands(record[name], text):
            yield f"{name}: {record[name]} does not stand in the text"
    for name, pattern in rules.get("like", {}).items():
        if not re.fullmatch(pattern, str(record[name])):
            yield f"{name}: {record[name]} does not look like one"
    for name, pattern in rules.get("beside", {}).items():
        found = [match.group(1) for match in re.finditer(pattern, text, re.I)]
        if found and not any(str(record[name]).lower() == one.lower() for one in found):
            yield f"{name}: {record[name]} does not stand where one is named"
    for rule in rules.get("holds", []):
        if not arithmetic(rule, record):
            yield f"{rule} does not hold"
    words = rules.get("words")
    if words and not re.search(words, text, re.I):
        yield f"nothing in the request speaks of {record['action']}"


def program(seen, record):
    lines = list(seen["lines"])
    old = lines[seen["wrong"]]
    indent = old[: len(old) - len(old.lstrip())]
    lines[seen["wrong"]] = indent + record["line"].strip()
    return "\n".join(lines)


def program_problems(seen, record, tests):
    space = {}
    builtins = vars(__builtins__) if not isinstance(__builtins__, dict) else __builtins__
    safe = {"__builtins__": {name: builtins[name] for name in SAFE if name in builtins}}
    try:
        exec(compile(program(seen, record), "answer", "exec"), safe)
    except Exception as problem:
        yield f"it does not load: {problem}"
        return
    for test in tests:
        try:
            if eval(test, safe) is not True:
                yield f"{test} does not hold"
        except Exception as problem:
            yield f"{test}: {type(problem).__name__}: {problem}"


def problems(seen, record, hidden=None):
    if "lines" in seen:
        return list(program_problems(seen, record, hidden if hidden is not None else seen["tests"]))
    return list(record_problems(seen, record))


def main():
    here = pathlib.Path(__file__).resolve().parent
    seen = json.loads((here / "visible.json").read_text())
    found = problems(seen, json.load(sys.stdin))
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
