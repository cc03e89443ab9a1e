"""Plays a person at a terminal: starts a program on a pseudo-terminal, waits for
what it prints, types, and tells what was on the line and how the program ended.

    terminal.py PLAN PROGRAM [ARGUMENT...]

PLAN is JSON: {"columns": N, "steps": [[DOES, TEXT]...]} with steps
    ["sees", TEXT]   wait until TEXT has been printed since the step before
    ["types", TEXT]  as if on the keyboard; control characters are keys
    ["makes", PATH]  make an empty file
Prints JSON: {"code": N, "printed": TEXT}, or {"missing": TEXT, "printed": TEXT}.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

DEADLINE_SECONDS = 60


def start(columns, argv):
    """The program in a session of its own, with this terminal and no other."""
    child, line = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(argv[0], argv)
    return child, line


class Line:
    """Everything that came over the line."""

    def __init__(self, line):
        self.line, self.printed, self.read_to, self.open = line, b"", 0, True
        self.until = time.monotonic() + DEADLINE_SECONDS

    def more(self):
        """Reads what there is; false when there is nothing more, or no more time."""
        left = self.until - time.monotonic()
        ready = select.select([self.line], [], [], max(left, 0))[0] if self.open else []
        try:
            read = os.read(self.line, 65536) if ready else b""
        except OSError:  # The last process has closed the terminal.
            read = b""
        self.open = self.open and bool(read)
        self.printed += read
        return bool(read)

    def sees(self, text):
        """Waits for the text, and remembers how far it was read."""
        wanted = text.encode()
        while (found := self.printed.find(wanted, self.read_to)) < 0:
            if not self.more():
                return False
        self.read_to = found + len(wanted)
        return True


def play(plan, argv):
    child, terminal = start(plan["columns"], argv)
    line = Line(terminal)
    missing = None
    for does, text in plan["steps"]:
        if does == "sees" and not line.sees(text):
            missing = text
            break
        if does == "types":
            os.write(terminal, text.encode())
        if does == "makes":
            open(text, "x", encoding="utf-8").close()
    while missing is None and line.more():
        pass
    if line.open:
        # It did not end: that is for the caller to judge.
        missing = missing if missing is not None else "its end"
        os.kill(child, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    told = {"code": status, "printed": line.printed.decode(errors="replace")}
    print(json.dumps(told if missing is None else {**told, "missing": missing}))


if __name__ == "__main__":
    play(json.loads(sys.argv[1]), sys.argv[2:])
