"""Holds a record against the invoice it was read from: every value must stand there, and the
amounts must add up. Says what does not, and fails."""

import json
import pathlib
import re
import sys

record = json.load(sys.stdin)
text = pathlib.Path(sys.argv[1]).read_text()

problems = []
if not re.search(rf"(?<![\w/-]){re.escape(record['invoice_number'])}(?![\w/-])", text):
    problems.append(f"there is no number {record['invoice_number']} in the invoice")
for name in ("net_amount", "tax_amount", "total_amount"):
    if not re.search(rf"(?<![\d.]){record[name]:.2f}(?![\d.])", text):
        problems.append(f"{name}: {record[name]:.2f} does not stand in the invoice")
net, tax, total = (record[name] for name in ("net_amount", "tax_amount", "total_amount"))
if abs(net + tax - total) > 0.005:
    problems.append(f"{net:.2f} and {tax:.2f} do not make {total:.2f}")
if tax >= net:
    problems.append(f"a tax of {tax:.2f} on {net:.2f} cannot be")

print("\n".join(problems))
sys.exit(bool(problems))
