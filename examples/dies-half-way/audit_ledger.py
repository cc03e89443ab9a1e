"""Exits with 0 if the ledger holds each payment of payments.txt exactly once."""

import sys

booked = sorted(tuple(line.split()[1:]) for line in open("ledger.txt", encoding="utf-8"))
wanted = sorted(tuple(line.split()[:2]) for line in open("payments.txt", encoding="utf-8"))
if booked != wanted:
    sys.exit(f"the ledger holds {booked}, wanted are {wanted}")
