#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""rdma_run.py MODULE: one file of rdma-core's tests (in ./tests), a line a case."""

import sys
import traceback
import unittest

sys.path[:0] = [".", "tests"]


class Lines(unittest.TestResult):
    """Cases by their short names, as in rdma-core's own documentation."""

    def say(self, test, result, why=""):
        name = ".".join(test.id().split(".")[-3:])
        if "setUpClass" in test.id():
            name = test.id().replace(" ", "-")
        print(f"case {name} {result}", flush=True)
        if why:
            print(why.rstrip(), flush=True)

    def addSuccess(self, test):
        self.say(test, "pass")

    def addSkip(self, test, reason):
        self.say(test, "skip", reason)

    def addFailure(self, test, err):
        self.say(test, "fail", "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        self.addFailure(test, err)

    def addExpectedFailure(self, test, err):
        self.say(test, "pass")


def main():
    from args_parser import parser
    parser.parse_args()
    suite = unittest.defaultTestLoader.loadTestsFromName(f"tests.{MODULE}")
    suite.run(Lines())


MODULE = sys.argv.pop(1)
if __name__ == "__main__":
    main()
