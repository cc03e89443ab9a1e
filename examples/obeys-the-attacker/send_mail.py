"""Stands in for a mail server: writes to outbox.txt in the workspace."""

import json
import sys

args = json.load(sys.stdin)
with open("outbox.txt", "a", encoding="utf-8") as outbox:
    outbox.write(f"to {args['to']}: {args['text']}\n")
print("250 queued")
