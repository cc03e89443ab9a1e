"""Appends one payment to ledger.txt in the workspace, once for each key.

The key is the same for every attempt at one call, over restarts and machines, so a
call that was made before the program died is recognised and not booked again. That
call may even still be at work, so looking and booking happen under one lock.
"""

import fcntl
import json
import os
import sys

args = json.load(sys.stdin)
key = os.environ["BOWLINE_KEY"]

with open("ledger.txt", "a+", encoding="utf-8") as ledger:
    fcntl.flock(ledger, fcntl.LOCK_EX)
    ledger.seek(0)
    if any(line.startswith(key) for line in ledger):
        print("booked before")
        sys.exit(0)
    ledger.write(f"{key} {args['payee']} {args['cents']}\n")
    ledger.flush()
    os.fsync(ledger.fileno())
print("booked")
