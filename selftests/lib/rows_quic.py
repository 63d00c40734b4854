# SPDX-License-Identifier: GPL-2.0
"""The QUIC rows: qoffperf at both ends, the server sends."""

import json
import os
import shutil
import subprocess

import count
import ends
import ksft
import rows_http

# Mode of the sender and of the receiver. "on" and "off" are the same program
# with the same calls; "baseline" is what a stack does without this project.
_MODES = {
    "on": ["--mode", "super", "--rx", "super", "--offload", "kernel"],
    "off": ["--mode", "super", "--rx", "super", "--offload", "kernel"],
    "baseline": ["--mode", "single", "--rx", "single", "--offload", "user"],
}


def row(pair, offload, path, size, sha256, mix, cipher, port=4433):
    """Run one QUIC row; the switches are set already.

    A short download before the counted one loads programs and ciphers. The file
    is hashed here: in the program, hashing would count as the program's work.
    """
    out = os.path.join(os.path.dirname(os.path.dirname(path)), "got")
    if not shutil.which("qoffperf"):
        raise ksft.SkipAll("qoffperf is not in PATH: make tools")
    server = pair.tx.popen(pair.on_cpu(0, [
        "qoffperf", "-s", "-B", pair.tx.addr, "-p", str(port), "-F", path, "-i", "0"]),
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    client = pair.on_cpu(1, [
        "qoffperf", "-c", pair.tx.addr, "-p", str(port), "--reverse", "--mix", mix,
        "--cipher", cipher, "--hash", "none", "-O", out, "--cc", "fixed", "-i", "0", "--json"] +
        _MODES[offload])
    meter = count.Meter(pair, ("qoffperf", "qoffperf"))
    try:
        pair.tx.wait_listening(server, port)
        pair.rx.run(client + ["-n", str(min(size, 1 << 16))], timeout=600)
        meter.start()
        text = pair.rx.run(client + ["-n", str(size)], timeout=3600)
        result = meter.stop()
        server.terminate()
        server.wait(timeout=60)
    finally:
        if server.poll() is None:
            server.terminate()
            server.wait(timeout=20)
    result = _merge(result, json.loads(text), offload)
    result["sha256_ok"] = (result["bytes"] == size and
                           rows_http.sha256_of(out) == sha256)
    os.unlink(out)
    return result


def _merge(result, told, offload):
    """Counts of the meter, and from the program what only it knows."""
    result.update(protocol="quic", offload=offload, bytes=told["bytes"],
                  seconds=round(told["seconds"], 3))
    for key in ("acks_sent", "retransmits", "syscalls_sender", "syscalls_receiver",
                "segments_per_send", "segments_per_receive"):
        result[key] = told[key]
    return result
