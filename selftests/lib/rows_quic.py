# SPDX-License-Identifier: GPL-2.0
"""The QUIC rows: qoffperf at both ends, the server sends."""

import json
import shutil
import subprocess
import time

import count
import ends
import ksft

# Mode of the sender and of the receiver. "on" and "off" are the same program
# with the same calls; "baseline" is what a stack does without this project.
_MODES = {
    "on": ["--mode", "super", "--rx", "super", "--offload", "kernel"],
    "off": ["--mode", "super", "--rx", "super", "--offload", "kernel"],
    "baseline": ["--mode", "single", "--rx", "single", "--offload", "user"],
}


def _pinned(pair, cpu, cmd):
    return ["taskset", "-c", str(cpu)] + cmd if pair.pinned else cmd


def _wait_listening(end, proc, port, limit=20):
    until = time.monotonic() + limit
    while time.monotonic() < until:
        if proc.poll() is not None:
            raise ends.CmdError(f"qoffperf server left with {proc.returncode}: "
                                f"{proc.stderr.read()}")
        if f":{port}" in end.run(f"ss -Htln sport = :{port}"):
            return
        time.sleep(0.05)
    raise ends.CmdError("qoffperf server does not listen")


def row(pair, offload, size, mix, cipher, port=4433):
    """Run one QUIC row; the switches are set already."""
    if not shutil.which("qoffperf"):
        raise ksft.SkipAll("qoffperf is not in PATH: make tools")
    server = pair.tx.popen(_pinned(pair, 0, ["qoffperf", "-s", "-B", pair.tx.addr,
                                             "-p", str(port), "--one-off", "--json"]),
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # The receiver's name must differ for its system calls to be told apart
    meter = count.Meter(pair, ("qoffperf", "qoffperf"))
    try:
        _wait_listening(pair.tx, server, port)
        meter.start()
        text = pair.rx.run(_pinned(pair, 1, [
            "qoffperf", "-c", pair.tx.addr, "-p", str(port), "-n", str(size),
            "--reverse", "--mix", mix, "--cipher", cipher, "--hash", "after",
            "--cc", "fixed", "--json"] + _MODES[offload]), timeout=3600)
        result = meter.stop()
        server_text = server.communicate(timeout=60)[0]
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait(timeout=20)
    return _merge(result, json.loads(text), json.loads(server_text), offload, size)


def _merge(result, client, server, offload, size):
    """Counts of the meter, and from the program what only it knows."""
    result.update(protocol="quic", offload=offload, bytes=client["bytes"],
                  seconds=round(client["seconds"], 3),
                  acks_sent=client["acks_sent"],
                  retransmits=server["retransmits"],
                  syscalls_sender=server["syscalls_send"],
                  syscalls_receiver=client["syscalls_recv"],
                  sha256_ok=bool(client["sha256"]) and client["bytes"] == size and
                  client["sha256"] == server["sha256"])
    return result
