#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Uses "make nic" as a person does: through a terminal. Runs in the lab; prints TAP."""

import os
import pty
import re
import select
import signal
import sys
import time

NIC = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "nic")
LIMIT = 240     # seconds for a command: TCG on a loaded machine
BOOT_LIMIT = 2400   # for the boot, which may wait until other guests have ended


class Terminal:
    """A program on a pseudo-terminal; what it printed is kept in self.text."""

    def __init__(self, argv):
        self.text = ""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execv(argv[0], argv)

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 4096)
        except OSError:     # EIO: the other end is closed
            return False
        self.text += data.decode("utf-8", "replace").replace("\r", "")
        return bool(data)

    def wait_for(self, pattern, begin=0, limit=LIMIT):
        """The text from begin up to and with the pattern; None when it does not come."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            found = re.compile(pattern).search(self.text, begin)
            if found:
                return self.text[begin:found.end()]
            if not self.read(1):
                return None
        return None

    def command(self, line):
        begin = len(self.text)
        os.write(self.fd, line.encode() + b"\n")
        # The echo of the line holds no prompt at the start of a line.
        return self.wait_for(r"\nnic# ", begin)

    def wait_end(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not self.read(1):
                return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return None

    def kill(self):
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def main():
    term = Terminal([NIC])
    failed = number = 0

    def check(text, good):
        nonlocal failed, number
        number += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - {text}", flush=True)

    check("a prompt, after both links are up",
          "did not come up" not in (term.wait_for(r"(?m)^nic# ", limit=BOOT_LIMIT) or "did not come up"))
    check("a command in a namespace", " 0% packet loss" in (term.command("n0 ping -c 3 -i 0.2 10.0.0.2") or ""))
    check("the other namespace, IPv6", " 0% packet loss" in (term.command("n1 ping -c 2 -i 0.2 fd00::1") or ""))
    check("the model answers", '"state":"ready"' in (term.command("""ctl '{"cmd":"state"}'""") or ""))
    check("a fault of the model is felt", '"link":false' in (term.command(
        """ctl '{"cmd":"link","fn":0,"up":0}' >/dev/null; ctl '{"cmd":"state","fn":1}'""") or ""))
    os.write(term.fd, b"exit\n")
    check("exit ends the guest, and the model with it", term.wait_end() == 0)
    if failed:
        term.kill()
        for line in term.text.splitlines()[-40:]:
            print(f"# {line}")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
