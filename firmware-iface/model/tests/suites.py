#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""suites.py LIST [SUITE...]: tests that others wrote, on the pair of functions, in the guest.

LIST names every result that is expected: "[suite]", then "case result reason", one a line. A case that ends
otherwise, or that is not in the list, or that is and did not run, is a failure here. Without
SUITE all are run. The suites are where "make suites" has put them."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STAGED = os.path.join(HERE, "../../../build/nicmodel/suites")
KSFT = f"{STAGED}/linux/tools/testing/selftests/drivers/net"
LIMIT = 400     # seconds for one program; the guest has a limit of its own


def run(argv, env=None, cwd=None):
    """(exit status, output); a program that does not end counts as killed."""
    try:
        done = subprocess.run(argv, env={**os.environ, **(env or {})}, cwd=cwd, timeout=LIMIT, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    except subprocess.TimeoutExpired as e:
        text = e.stdout or b""
        return 124, (text if isinstance(text, str) else text.decode("utf-8", "replace")) + f"no end in {LIMIT} s"
    return done.returncode, done.stdout


def netns(ns, *argv):
    return ["ip", "netns", "exec", ns, *argv]


def wait_for(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.05)


# --- the kernel tree's tools/testing/selftests/drivers/net ---

def ksft_env(nics):
    return {"NETIF": nics[0], "LOCAL_V4": "10.0.0.1", "REMOTE_V4": "10.0.0.2", "LOCAL_V6": "fd00::1",
            "REMOTE_V6": "fd00::2", "REMOTE_TYPE": "netns", "REMOTE_ARGS": "n1", "REMOTE_IFNAME": nics[1],
            "PYTHONDONTWRITEBYTECODE": "1"}


def ksft(nics, prog):
    """Cases by the KTAP lines; a program without any is one case, by its exit status."""
    where, name = os.path.split(prog)
    words = ["python3", f"{HERE}/ksft_run.py", name] if name.endswith(".py") else ["bash", name, *nics]
    status, out = run(netns("n0", *words), ksft_env(nics), f"{KSFT}/{where}")
    results = {}
    begin = 0
    for line in re.finditer(r"(?m)^(not )?ok \d+ (\S+)(?: # (SKIP|XFAIL))?.*$", out):
        bad, case, directive = line.groups()
        results[f"ksft.{case}"] = ("skip" if directive else "fail" if bad else "pass", out[begin:line.end()])
        begin = line.end() + 1
    if not results:
        code = {0: "pass", 4: "skip"}.get(status, "fail")
        results[f"ksft.{os.path.splitext(name)[0]}"] = (code, out)
    return results


def suite_ksft(nics):
    return {**ksft(nics, "ping.py"), **ksft(nics, "queues.py"), **ksft(nics, "stats.py")}


def suite_ksft_csum(nics):
    return ksft(nics, "hw/csum.py")


def suite_ksft_rss(nics):
    return ksft(nics, "hw/rss_ctx.py")


def suite_ksft_more(nics):
    results = {}
    for prog in ("hw/pp_alloc_fail.py", "hw/devlink_port_split.py", "hw/ethtool.sh", "hw/ethtool_extended_state.sh",
                 "hw/ethtool_mm.sh", "hw/ethtool_rmon.sh", "hw/hw_stats_l3.sh", "hw/hw_stats_l3_gre.sh",
                 "hw/loopback.sh", "netcons_basic.sh"):
        results.update(ksft(nics, prog))
    return results


# --- iperf3 ---

def iperf(*words):
    listening = netns("n1", "sh", "-c", "ss -ltnH | grep -q :5201")
    with subprocess.Popen(netns("n1", "iperf3", "-s", "-1"), stdout=subprocess.DEVNULL) as server:
        try:
            wait_for("iperf3", lambda: subprocess.run(listening, check=False).returncode == 0)
            status, out = run(netns("n0", "iperf3", "-J", "-c", "10.0.0.2", *words))
        finally:
            server.terminate()
    try:
        end = json.loads(out)["end"]
        good = status == 0 and end.get("sum_received", end.get("sum"))["bytes"] > 0
    except (ValueError, KeyError):
        good = False
    return ("pass" if good else "fail", out)


def suite_iperf3(_nics):
    return {"iperf3.tcp": iperf("-n", "8M"), "iperf3.tcp-reverse": iperf("-n", "4M", "-R"),
            "iperf3.tcp-4-streams": iperf("-n", "4M", "-P", "4"),
            "iperf3.tcp-zerocopy": iperf("-n", "4M", "-Z"),
            "iperf3.udp": iperf("-u", "-b", "20M", "-n", "2M"),
            "iperf3.udp-small": iperf("-u", "-b", "2M", "-l", "64", "-n", "100K")}


# --- ethtool -t: one case a line of its answer ---

def suite_ethtool(nics):
    results = {}
    for mode in ("online", "offline"):
        status, out = run(netns("n0", "ethtool", "-t", nics[0], mode))
        found = re.findall(r"(?m)^(\w[\w ]*\w)\s+(\d+)$", out)
        for name, value in found:
            results[f"ethtool-{mode}.{name.replace(' ', '-').lower()}"] = ("fail" if int(value) else "pass", out)
        if not found:
            results[f"ethtool-{mode}"] = ("fail" if status else "pass", out)
        wait_for("carrier", lambda: run(netns("n0", "cat", f"/sys/class/net/{nics[0]}/carrier"))[1].strip() == "1")
    return results


# --- perftest: raw Ethernet, from function 0 to function 1 ---

def mac_of(ns, nic):
    return json.loads(run(["ip", "-n", ns, "-j", "link", "show", nic])[1])[0]["address"]


def perftest(prog, macs, *words):
    """The receiver counts what has come; it ends with the last of them."""
    with tempfile.TemporaryFile(mode="w+") as log:
        with subprocess.Popen([prog, "--server", "-d", "mlx5_1", "-B", macs[1], "-E", macs[0], *words],
                              stdout=log, stderr=subprocess.STDOUT) as server:
            before = flows()
            try:
                wait_for("the receiver's rule", lambda: flows() > before or server.poll() is not None)
                status, out = run([prog, "--client", "-d", "mlx5_0", "-B", macs[0], "-E", macs[1], *words])
                server.wait(60)
            except (TimeoutError, subprocess.TimeoutExpired):
                server.kill()
                status, out = 1, "the receiver did not end"
        log.seek(0)
        return ("pass" if status == 0 and server.returncode == 0 else "fail", out + log.read())


def flows():
    """Flow resources that the kernel tracks: the receiver is ready when it has a queue pair and a rule."""
    return run(["rdma", "resource", "show", "qp", "link", "mlx5_1"])[1].count("RAW_PACKET")


def suite_perftest(nics):
    macs = (mac_of("n0", nics[0]), mac_of("n1", nics[1]))
    return {"perftest.raw_ethernet_bw-1000": perftest("raw_ethernet_bw", macs, "-s", "1000", "-n", "2000"),
            "perftest.raw_ethernet_bw-64": perftest("raw_ethernet_bw", macs, "-s", "64", "-n", "2000")}


# --- rdma-core: what needs neither RoCE nor another vendor's device ---

def rdma(modules):
    results = {}
    for module in modules:
        status, out = run(netns("n0", "python3", f"{HERE}/rdma_run.py", module), {"PYTHONDONTWRITEBYTECODE": "1"},
                          f"{STAGED}/rdma")
        found = re.findall(r"(?m)^case (\S+) (pass|fail|skip)", out)
        for case, result in found:
            text = out.split(f"case {case} ", 1)[1].split("\ncase ", 1)[0]
            results[f"rdma.{case}"] = (result, text)
        if status or not found:
            results[f"rdma.{module}"] = ("fail", out)
    return results


def suite_rdma(_nics):
    return rdma(["test_device", "test_pd", "test_mr", "test_cq", "test_qp"])


def suite_rdma_more(_nics):
    return rdma(["test_addr", "test_cq_events", "test_flow", "test_fork", "test_mlx5_cq", "test_mlx5_devx", "test_mlx5_flow",
                 "test_mlx5_pp", "test_mlx5_query_port", "test_mlx5_uar", "test_mlx5_var", "test_parent_domain",
                 "test_rss_traffic", "test_shared_pd", "test_srq"])


SUITES = {name[6:].replace("_", "-"): fn for name, fn in globals().items() if name.startswith("suite_")}


def read_list(path):
    """{suite: {case: (result, reason)}}; a line "[suite]" begins one."""
    expected = {}
    suite = None
    with open(path, encoding="utf-8") as f:
        for line in f:
            words = line.split("#")[0].split(None, 2)
            if len(words) == 1:
                suite = expected.setdefault(words[0].strip("[]"), {})
            elif words:
                suite[words[0]] = (words[1], words[2].strip() if len(words) > 2 else "")
    return expected


def main(argv):
    expected = read_list(argv[1])
    chosen = argv[2:] or list(SUITES)
    nics = (os.environ["IF0"], os.environ["IF1"])
    number = failed = 0
    for suite in chosen:
        try:
            results = SUITES[suite](nics)
        except Exception as e:  # one suite that cannot run must not hide the others
            results = {f"{suite}": ("fail", repr(e))}
        wanted = expected.get(suite, {})
        for case in sorted({*results, *wanted}):
            got, text = results.get(case, ("nothing", "it did not run"))
            want, why = wanted.get(case, (None, ""))
            number += 1
            good = got == want
            failed += not good
            note = f" ({why})" if why else ""
            print(f"{'ok' if good else 'not ok'} {number} - {case}: {got}{note}", flush=True)
            if not good:
                print(f"# expected: {want}")
                lines = text.splitlines()
                if len(lines) > 24:
                    lines[8:-16] = ["..."]
                print("".join(f"# {line}\n" for line in lines), end="", flush=True)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
