#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Conformance of a NIC driver to the QUIC offload API: what it announces is
tested, and the duties of a driver are.

On a simulated pair, or with NETIF, REMOTE, LOCAL_V4, REMOTE_V4 and REMOTE_NETIF
(selftests/lib/ends.py) on real ports; LOCAL_V6 and REMOTE_V6 add IPv6. The
sending port is NETIF, the receiving one REMOTE_NETIF.
"""

import argparse
import fnmatch
import os
import platform
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "conform"), os.path.join(HERE, "lib"), HERE]

import ends  # noqa: E402
import ksft  # noqa: E402
import checks  # noqa: E402
import lifetimes  # noqa: E402,F401 pylint: disable=unused-import
import receiving  # noqa: E402,F401 pylint: disable=unused-import
import report  # noqa: E402
import sending  # noqa: E402,F401 pylint: disable=unused-import
from env import QUIC, Env, Failed  # noqa: E402

DEBUG = "/sys/kernel/debug/quicsim"


class Bench(Env):
    """Two ends with what only some devices have: faults, and a reset."""

    def faults(self):
        """The device can be broken on purpose."""
        return self.pair.nic == "quicsim" and not self.pair.remote and os.path.isdir(DEBUG)

    def knob(self, side, name, value):
        """Set a fault of quicsim."""
        end = getattr(self, side).end
        end.kernel().write(f"{DEBUG}/{end.netif}/{name}", str(value))

    def reset(self, side):
        """As a device that has lost its contexts."""
        if self.faults():
            self.knob(side, "reset", 1)
            return
        end = getattr(self, side).end
        try:
            end.run(f"ethtool --reset {end.netif} all")
        except ends.CmdError as why:
            raise checks.Skip(f"ethtool --reset: {why}") from why

    def lacks(self, check):
        """Why a check does not apply, or None."""
        for want in check.needs:
            if want == "any" and not self.caps:
                return "no QUIC offload is announced"
            if want == "table" and not self.faults():
                return "needs a device that can be told to fail"
            if want == "wire" and ":" in self.b.v4:
                return "IPv4"
            if want[1:2] == ":":
                caps = self.caps if want[0] == "a" else self.b_caps
                if not caps or not caps["features_cap"] >> QUIC.index(want[2:]) & 1:
                    return f"{want[2:]} is not announced"
        if "-v6" in check.name and not (self.a.v6 and self.b.v6):
            return "no IPv6 addresses were given"
        return None

    def run(self, check):
        """Run one; (result, why)."""
        why = self.lacks(check)
        if why:
            return "not_announced", why
        try:
            self.reset_sockets()
            check.func(self)
            return "pass", ""
        except checks.Skip as e:
            return "not_announced", str(e)
        except (Failed, OSError, ends.CmdError, ValueError) as e:
            return "fail", str(e) or type(e).__name__
        finally:
            self.reset_sockets()

    def prove(self, check):
        """Run one on a device that is broken for it; (it failed, why)."""
        port, knob, on, off = check.knobs()
        limit, self.limit = self.limit, min(self.limit, PROVE_LIMIT)
        lie = knob == "forge"
        try:
            self.knob(port, knob, on)
            if lie:
                self.knob(port, "rx_forge/nth", 1)
            result, why = self.run(check)
        finally:
            self.limit = limit
            if lie:
                self.knob(port, "rx_forge/nth", 0)
            self.knob(port, knob, off)
            # what a broken device kept is not for the next check
            self.knob("a", "reset", 1)
            self.knob("b", "reset", 1)
            self.a.on = self.b.on = None
            self.reset_sockets()
        return result == "fail", why


PROVE_LIMIT = float(os.environ.get("CONFORM_PROVE_LIMIT", "8"))


def options():
    """The command line."""
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("checks", nargs="*", help="names or patterns of checks; default: all")
    ap.add_argument("--results", default=os.path.join(HERE, "../build/results"),
                    help="folder for conformance.json and conformance.html")
    ap.add_argument("--prove", action="store_true",
                    help="run each check once more on a device that is broken for it (quicsim)")
    ap.add_argument("--list", action="store_true", help="print the checks and their faults")
    ap.add_argument("--limit", type=float, default=60, help="seconds that anything may take")
    return ap.parse_args()


def listing(chosen):
    """The checks, and what turns them red."""
    for c in chosen:
        print(f"{c.name:26} {c.fault_text():32} {c.text}")


def test(env, chosen):
    """All checks on the device as it is."""
    results = []
    for c in chosen:
        start = time.monotonic()
        result, why = env.run(c)
        results.append({"name": c.name, "area": c.area, "text": c.text, "result": result,
                        "why": why, "seconds": round(time.monotonic() - start, 2),
                        "fault": c.fault_text()})
        name = f"{c.name}: {c.text}"
        if result == "pass":
            ksft.ok(name)
        elif result == "fail":
            ksft.fail(name, why)
        else:
            ksft.skip(name, f"not announced: {why}")
    return results


def prove(env, chosen, results):
    """Each check that passed, on a device that is broken for it."""
    by_name = {r["name"]: r for r in results}
    for c in chosen:
        r = by_name[c.name]
        if r["result"] != "pass":
            continue
        red, why = env.prove(c)
        r["proved"] = red
        ksft.check(f"{c.name} is red with {c.fault_text()}", red, "it passed all the same")
        if red:
            ksft.diag(f"{c.name}: {why}")


def main():
    """Run what was asked for."""
    args = options()
    wanted = args.checks or ["*"]
    chosen = [c for c in checks.ALL if any(fnmatch.fnmatch(c.name, w) for w in wanted)]
    if args.list:
        listing(chosen)
        sys.exit(0)
    with ends.open_pair() as pair:
        v6 = ("2001:db8::1", "2001:db8::2") if pair.nic == "quicsim" and \
            not os.environ.get("NETIF") else (os.environ.get("LOCAL_V6", ""),
                                            os.environ.get("REMOTE_V6", ""))
        env = Bench(pair, v6, args.limit)
        env.wait("the link is up",
                 lambda: "LOWER_UP" in pair.tx.run(f"ip link show {pair.tx.netif}"))
        env.probe()
        print("TAP version 13", flush=True)
        driver = pair.tx.run(f"ethtool -i {pair.tx.netif}").split()[1]
        ksft.diag(f"{driver}: " + (", ".join(
            n for i, n in enumerate(QUIC) if env.caps["features_cap"] >> i & 1)
            if env.caps else "no QUIC offload"))
        about = {"driver": driver, "sending_port": pair.tx.netif,
                 "receiving_port": pair.rx.netif, "two_hosts": pair.remote,
                 "kernel": platform.release(),
                 "announced": env.caps or "nothing"}
        try:
            results = test(env, chosen)
            if args.prove:
                if not env.faults():
                    raise ksft.SkipAll("--prove needs quicsim, whose faults break it")
                prove(env, chosen, results)
        finally:
            env.stop()
        report.write(args.results, results, about)
        s = report.summary(results)
        print(f"1..{ksft.done()}")
        ksft.diag(report.verdict(s))
        ksft.diag(f"pass {s['pass']}, fail {s['fail']}, not announced {s['not_announced']}; "
                  f"{os.path.normpath(args.results)}/conformance.json, .html")


if __name__ == "__main__":
    ksft.run(main)
