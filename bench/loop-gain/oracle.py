"""What the loop may not see: reads lines `{"seen": …, "record": …, "tests": …}` and says of each whether the
function with the mended line passes all of the tests."""

import json
import signal
import sys

from check import problems


def late(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, late)
for line in sys.stdin:
    case = json.loads(line)
    signal.alarm(5)
    try:
        held = not problems(case["seen"], case["record"], case["tests"])
    except Exception:
        held = False
    signal.alarm(0)
    print(json.dumps(held))
