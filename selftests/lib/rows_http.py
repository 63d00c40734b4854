# SPDX-License-Identifier: GPL-2.0
"""The TCP rows: nginx at the sending end, curl at the receiving end."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile

import count
import ends
import ksft

_CONF = """
daemon off;
master_process off;
pid {dir}/nginx.pid;
error_log {dir}/error.log warn;
events {{ worker_connections 64; }}
http {{
	access_log off;
	client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2;
	fastcgi_temp_path {dir}/t3; uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
	sendfile {sendfile};
	sendfile_max_chunk 2m;
	tcp_nopush on;
	server {{
		listen {addr}:4443 ssl;
		http2 {http2};
		root {dir}/www;
		ssl_certificate {dir}/cert.pem;
		ssl_certificate_key {dir}/key.pem;
		ssl_protocols TLSv1.3;
		ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
		{ktls}
	}}
}}
"""

_WANTED = {"http2": ("on", "off", ""),
           "https-ktls": ("off", "on", "ssl_conf_command Options KTLS;")}


def make_file(size):
    """A directory in memory with the file to serve; return it and the hash."""
    base = "/dev/shm" if os.path.isdir("/dev/shm") else None
    top = tempfile.mkdtemp(prefix="qoff-", dir=base)
    os.chmod(top, 0o755)
    os.mkdir(f"{top}/www")
    digest = hashlib.sha256()
    seed = hashlib.sha256(b"quic-offload").digest()
    block = b"".join(hashlib.sha256(seed + i.to_bytes(4, "big")).digest()
                     for i in range(32768))
    left = size
    with open(f"{top}/www/file", "wb") as out:
        while left:
            part = block[:min(left, len(block))]
            out.write(part)
            digest.update(part)
            left -= len(part)
    return top, digest.hexdigest()


def make_certificate(top):
    """A self-signed certificate beside the file."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=qoff", "-keyout", f"{top}/key.pem", "-out",
                    f"{top}/cert.pem"], check=True, capture_output=True)


def sha256_of(path):
    """Hash of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while part := f.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()


def _ktls_tx(end):
    """Sockets so far whose sending TLS is the kernel's."""
    try:
        found = re.search(r"^TlsTxSw\s+(\d+)", end.read("/proc/net/tls_stat"), re.M)
    except ends.CmdError:
        return 0
    return int(found.group(1)) if found else 0


def _download(pair, proto, top, name="file"):
    out = f"{top}/got"
    version = "--http2" if proto == "http2" else "--http1.1"
    text = pair.rx.run(pair.on_cpu(1, [
        "curl", "-sS", "-k", version, "-o", out, "-w",
        "%{http_version} %{size_download} %{time_pretransfer} %{time_total}",
        f"https://{pair.tx.addr}:4443/{name}"]), timeout=3600)
    got_version, size, began, ended = text.split()
    want = "2" if proto == "http2" else "1.1"
    if got_version != want:
        raise ends.CmdError(f"curl spoke HTTP/{got_version}, not HTTP/{want}")
    return out, int(size), float(ended) - float(began)


def _whole_segments(pair):
    """A sending TCP that fills its TSO packets as on a fast host.

    tcp_tso_autosize() makes them smaller the longer the shortest round trip is, from 512
    microseconds on. Between two real ports the round trip is below that; between two ports of an
    emulated machine it is not, and packets would be a third of what the paper's host sent.
    """
    if pair.nic == "quicsim":
        pair.tx.run("sysctl -qw net.ipv4.tcp_tso_rtt_log=20")


def row(pair, proto, offload, top, size, sha256):
    """Run one TCP row; the switches are set already."""
    for tool in ("nginx", "curl", "openssl"):
        if not shutil.which(tool):
            raise ksft.SkipAll(f"{tool} is not installed")
    http2, sendfile, ktls = _WANTED[proto]
    conf = f"{top}/nginx.conf"
    with open(conf, "w", encoding="ascii") as f:
        f.write(_CONF.format(dir=top, addr=pair.tx.addr, http2=http2,
                             sendfile=sendfile, ktls=ktls))
    shutil.copyfile(conf, f"{top}/www/nginx.conf.txt")
    _whole_segments(pair)
    server = pair.tx.popen(pair.on_cpu(0, ["nginx", "-e", f"{top}/error.log",
                                             "-c", conf]),
                           stderr=subprocess.PIPE)
    meter = count.Meter(pair, ("nginx", "curl"))
    try:
        pair.tx.wait_listening(server, 4443)
        # A small one first, which loads programs and ciphers
        _download(pair, proto, top, "nginx.conf.txt")
        tls_before = _ktls_tx(pair.tx)
        meter.start()
        out, got, seconds = _download(pair, proto, top)
        result = meter.stop()
        tls = _ktls_tx(pair.tx) - tls_before
    finally:
        server.terminate()
        server.wait(timeout=20)
    result.update(protocol=proto, offload=offload, bytes=got, seconds=round(seconds, 3),
                  sha256_ok=got == size and sha256_of(out) == sha256)
    if proto == "https-ktls":
        result["tls_tx_sw"] = tls
    os.unlink(out)
    return result
