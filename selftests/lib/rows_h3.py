# SPDX-License-Identifier: GPL-2.0
"""The HTTP/3 rows: h3server at the sending end, h3client at the receiving end.

"on" and "off" are the same programs with the same calls; "baseline" seals and
opens in ngtcp2, with a system call for each datagram.
"""

import json
import os
import shutil
import subprocess
import time

import count
import ends
import ksft
import rows_http

_OFFLOAD = {"on": "kernel", "off": "kernel", "baseline": "baseline"}
_SUITES = {"aes-128-gcm": "TLS_AES_128_GCM_SHA256", "aes-256-gcm": "TLS_AES_256_GCM_SHA384",
           "chacha20-poly1305": "TLS_CHACHA20_POLY1305_SHA256",
           "aes-128-ccm": "TLS_AES_128_CCM_SHA256"}
# All datagrams as long as the path takes, from the start: the paper's mix
_LENGTH = ["--max-udp", "1472", "--no-pmtud"]
# cubic leaves slow start when the round trip grows (HyStart++), which a window that grows by
# whole super-packets in an emulated guest does at once; the link itself loses nothing
_SERVER = ["--window", "64M", "--cc", "reno"]


def _wait(end, server, port):
    until = time.monotonic() + 30
    while f":{port}" not in end.run(f"ss -Hlun sport = :{port}"):
        if server.poll() is not None:
            raise ends.CmdError(f"h3server: exit {server.returncode}: {server.stderr.read()}")
        if time.monotonic() > until:
            raise ends.CmdError(f"h3server: does not listen on port {port}")
        time.sleep(0.05)


def row(pair, offload, top, size, sha256, cipher, port=4433):
    """Run one HTTP/3 row; the switches are set already.

    A short download before the counted one loads programs and ciphers.
    """
    if not shutil.which("h3server"):
        raise ksft.SkipAll("h3server is not in PATH: make tools, with libngtcp2-dev")
    mode = ["--offload", _OFFLOAD[offload]] + _LENGTH
    server = pair.tx.popen(pair.on_cpu(0, [
        "h3server", "-B", pair.tx.addr, "-p", str(port), "--cert", f"{top}/cert.pem",
        "--key", f"{top}/key.pem", "--ciphers", _SUITES[cipher], "--json"] +
        _SERVER + mode + [f"{top}/www"]),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    client = pair.on_cpu(1, [
        "h3client", "--json", "--timeout", "3600", "--profile", "--window", "64M",
        "-o", f"{top}/got"] + mode)
    url = f"https://{pair.tx.addr}:{port}/file"
    meter = count.Meter(pair, ("h3server", "h3client"))
    try:
        _wait(pair.tx, server, port)
        pair.rx.run(client + ["-r", f"0-{min(size, 1 << 16) - 1}", url], timeout=600)
        meter.start()
        text = pair.rx.run(client + [url], timeout=3600)
        result = meter.stop()
        server.terminate()
        server_text, _ = server.communicate(timeout=60)
    finally:
        if server.poll() is None:
            server.kill()
            server.wait(timeout=20)
    result = _merge(result, json.loads(text), json.loads(server_text), offload)
    result["sha256_ok"] = (result["bytes"] == size and
                           rows_http.sha256_of(f"{top}/got") == sha256)
    os.unlink(f"{top}/got")
    return result


def _merge(result, client, server, offload):
    """Counts of the meter, and from the programs what only they know."""
    result.update(protocol="h3", offload=offload, bytes=client["bytes"],
                  seconds=round(client["seconds"], 3),
                  acks_sent=client["tx_datagrams"], retransmits=server["packets_lost"],
                  segments_per_send=round(server["segments_per_send"], 2),
                  bytes_per_send=round(server["bytes_per_send"]),
                  segments_per_receive=round(client["segments_per_receive"], 2),
                  batches_received=client["rx_batches"],
                  sealed_below=server["tx_sealed_below"],
                  opened_below=client["rx_opened_below"],
                  datagrams_received=client["rx_datagrams"],
                  profile={k[5:]: round(v, 4) for k, v in client.items()
                           if k.startswith("time_")})
    calls = client["rx_calls"] + client["tx_calls"] + client["polls"]
    result["syscalls_receiver"] = calls
    result["syscalls_per_batch"] = round(calls / max(1, client["rx_batches"]), 2)
    return result
