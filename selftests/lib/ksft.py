# SPDX-License-Identifier: GPL-2.0
"""TAP output and exit codes of kselftest, for the Python tests of this tree.

A test calls plan(), then one of ok(), fail() or skip() per case, then finish().
"""

import sys
import time

PASS, FAIL, XFAIL, SKIP = 0, 1, 2, 4

_planned = 0
_done = 0
_failed = 0
_skipped = 0


class SkipAll(Exception):
    """Nothing can be tested here; the text says why."""


def plan(count):
    """Announce how many cases follow."""
    global _planned
    _planned = count
    print("TAP version 13", flush=True)
    print(f"1..{count}", flush=True)


def diag(text):
    """Print lines that are no result."""
    for line in str(text).splitlines():
        print(f"# {line}", flush=True)


def _result(word, name, note=""):
    global _done
    _done += 1
    print(f"{word} {_done} {name}{note}", flush=True)


def ok(name):
    """The case passed."""
    _result("ok", name)


def fail(name, why=""):
    """The case failed."""
    global _failed
    _failed += 1
    if why:
        diag(why)
    _result("not ok", name)


def skip(name, why):
    """The case cannot run here."""
    global _skipped
    _skipped += 1
    _result("ok", name, f" # SKIP {why}")


def check(name, condition, why=""):
    """Pass or fail by a condition; return it."""
    if condition:
        ok(name)
    else:
        fail(name, why)
    return bool(condition)


def run_cases(cases):
    """Run functions by name, each returns why it failed; then finish()."""
    for name, case in cases.items():
        start = time.monotonic()
        try:
            why = case()
        except RuntimeError as err:
            why = str(err)
        check(name, not why, why)
        diag(f"{time.monotonic() - start:.1f} s")
    finish()


def done():
    """How many results there are."""
    return _done


def finish():
    """Print the totals and leave with kselftest's exit code."""
    passed = _done - _failed - _skipped
    missing = max(0, _planned - _done)
    print(f"# Totals: pass:{passed} fail:{_failed + missing} xfail:0 xpass:0 "
          f"skip:{_skipped} error:0", flush=True)
    if _failed or missing:
        sys.exit(FAIL)
    sys.exit(SKIP if _done == _skipped else PASS)


def run(main):
    """Run main(); a SkipAll or an exception becomes the right exit code."""
    try:
        main()
    except SkipAll as why:
        print(f"1..0 # SKIP {why}", flush=True)
        sys.exit(SKIP)
    except KeyboardInterrupt:
        sys.exit(FAIL)
    finish()
