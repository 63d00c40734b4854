#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One end of the conformance suite: does what it is told on its interface.

It runs where the interface is (here, in a network namespace, or on another host
by ssh), reads one request a line, {"op": name, "args": [...], "kw": {...}}, and
answers with a line, {"ret": value} or {"err": text, "errno": number}. Bytes
travel as hex. It needs libqoff.so and Python, nothing else of the suite.
"""

import ctypes as C
import json
import os
import select
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIB = os.environ.get("LIBQOFF") or os.path.join(HERE, "../../build/tools/libqoff/libqoff.so.0")
CIPHERS = ("", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aes-128-ccm")
PN_NONE = (1 << 64) - 1
ETH_P_ALL, SO_RCVBUFFORCE = 3, 33


class Keys(C.Structure):
    """struct qoff_keys"""
    _fields_ = [("cipher", C.c_uint32), ("key_len", C.c_uint8), ("hp_len", C.c_uint8),
                ("resv", C.c_uint8 * 2), ("key", C.c_uint8 * 32), ("iv", C.c_uint8 * 12),
                ("hp", C.c_uint8 * 32)]


class Stats(C.Structure):
    """struct qoff_stats"""
    _fields_ = [("present", C.c_uint64), ("v", C.c_uint64 * 64)]


class SockInfo(C.Structure):
    """struct qoff_sock_info"""
    _fields_ = [("group", C.c_uint32), ("dcid_len", C.c_uint8), ("resv", C.c_uint8),
                ("rx_hdr_size", C.c_uint16), ("rx_seg_size", C.c_uint16),
                ("resv2", C.c_uint16), ("stats", Stats)]


class CtxParam(C.Structure):
    """struct qoff_ctx_param"""
    _fields_ = [("keys", C.POINTER(Keys)), ("first_pn", C.c_uint64), ("flags", C.c_uint32),
                ("path_id", C.c_uint32), ("dcid_len", C.c_uint8), ("phase", C.c_uint8)]


class CtxId(C.Structure):
    """struct qoff_ctx_id"""
    _fields_ = [("id", C.c_uint32), ("gen", C.c_uint32)]


class CtxInfo(C.Structure):
    """struct qoff_ctx_info"""
    _fields_ = [("id", CtxId), ("cipher", C.c_uint32), ("flags", C.c_uint32),
                ("next_pn", C.c_uint64), ("key_used", C.c_uint64), ("key_limit", C.c_uint64),
                ("dev_id", C.c_uint32), ("dcid_len", C.c_uint8), ("phase", C.c_uint8),
                ("stats", Stats)]


class FlowParam(C.Structure):
    """struct qoff_flow_param"""
    _fields_ = [("local", C.c_char_p), ("remote", C.c_char_p), ("dcid", C.c_char_p),
                ("dcid_len", C.c_size_t), ("keys", C.POINTER(Keys)), ("cookie", C.c_uint64),
                ("largest_pn", C.c_uint64), ("key_gen", C.c_uint32), ("keys_of", C.c_uint32),
                ("phase", C.c_uint8)]


class FlowInfo(C.Structure):
    """struct qoff_flow_info"""
    _fields_ = [("id", C.c_uint32), ("cipher", C.c_uint32), ("local", C.c_uint64 * 16),
                ("remote", C.c_uint64 * 16), ("dcid", C.c_uint8 * 20), ("dcid_len", C.c_uint8),
                ("phase", C.c_uint8), ("key_gen", C.c_uint32), ("cookie", C.c_uint64),
                ("largest_pn", C.c_uint64), ("failed", C.c_uint64),
                ("failed_limit", C.c_uint64), ("dev_id", C.c_uint32), ("stats", Stats)]


class TxSeg(C.Structure):
    """struct qoff_tx_seg"""
    _fields_ = [("len", C.c_uint16), ("flags", C.c_uint16), ("pn_off", C.c_uint32)]


class Iovec(C.Structure):
    """struct iovec"""
    _fields_ = [("base", C.c_char_p), ("len", C.c_size_t)]


class TxMsg(C.Structure):
    """struct qoff_tx_msg"""
    _fields_ = [("ctx", CtxId), ("pn", C.c_uint64), ("segs", C.POINTER(TxSeg)),
                ("nseg", C.c_uint16), ("flags", C.c_uint16), ("iov", C.POINTER(Iovec)),
                ("iovlen", C.c_size_t), ("addr", C.c_char_p), ("addrlen", C.c_uint32),
                ("tos", C.c_int), ("control", C.c_void_p), ("controllen", C.c_size_t)]


class RxSeg(C.Structure):
    """struct qoff_rx_seg"""
    _fields_ = [("len", C.c_uint16), ("status", C.c_uint8), ("tos", C.c_uint8),
                ("hdr_len", C.c_uint8), ("pn_len", C.c_uint8), ("resv", C.c_uint16),
                ("key_gen", C.c_uint32), ("resv2", C.c_uint32), ("pn", C.c_uint64)]


class Batch(C.Structure):
    """struct qoff_batch, with struct qoff_rx in it"""
    _fields_ = [("data", C.c_void_p), ("size", C.c_size_t), ("control", C.c_void_p),
                ("control_size", C.c_size_t), ("len", C.c_size_t), ("addr", C.c_uint64 * 16),
                ("addrlen", C.c_uint32), ("msg_flags", C.c_int), ("control_len", C.c_size_t),
                ("hdr_size", C.c_uint16), ("seg_size", C.c_uint16), ("nseg", C.c_uint16),
                ("flags", C.c_uint16), ("cookie", C.c_uint64), ("pn_min", C.c_uint64),
                ("pn_largest", C.c_uint64), ("tstamp_ns", C.c_uint64), ("nopened", C.c_uint16),
                ("nfailed", C.c_uint16), ("ect0", C.c_uint16), ("ect1", C.c_uint16),
                ("ce", C.c_uint16), ("resv0", C.c_uint16), ("resv1", C.c_uint32),
                ("seg", RxSeg * 128)]


class DevInfo(C.Structure):
    """struct qoff_dev_info"""
    _fields_ = [("id", C.c_uint32), ("ifindex", C.c_uint32), ("ifname", C.c_char * 16),
                ("driver", C.c_char * 32), ("features_cap", C.c_uint32),
                ("features", C.c_uint32), ("tx_ciphers", C.c_uint32),
                ("rx_ciphers", C.c_uint32), ("max_segs", C.c_uint32), ("max_bytes", C.c_uint32),
                ("max_ctx", C.c_uint32), ("max_flow", C.c_uint32), ("dcid_lens", C.c_uint32),
                ("tap_policy", C.c_uint32), ("ethtool", C.c_bool)]


def load():
    """libqoff, with the types that ctypes would get wrong."""
    lib = C.CDLL(LIB, use_errno=True)
    for name in ("qoff_open", "qoff_cipher_new"):
        getattr(lib, name).restype = C.c_void_p
    for name in ("qoff_error", "qoff_stat_name"):
        getattr(lib, name).restype = C.c_char_p
    lib.qoff_send.restype = C.c_ssize_t
    lib.qoff_secret_len.restype = C.c_size_t
    return lib


Q = load()


def keys(cipher, secret):
    """Keys of a cipher's name and a secret's number."""
    k, c = Keys(), CIPHERS.index(cipher)
    raw = (struct.pack(">Q", secret) * 6)[:Q.qoff_secret_len(c)]
    err = Q.qoff_derive_keys(C.c_uint32(1), C.c_uint32(c), raw, C.c_size_t(len(raw)),
                             C.byref(k))
    if err:
        raise OSError(-err, f"keys for {cipher}")
    return k


def seal(k, pkt, dcid_len, pn):
    """What OpenSSL makes of a plain packet that has room for the tag."""
    c = Q.qoff_cipher_new(C.byref(k))
    buf = C.create_string_buffer(pkt, len(pkt))
    err = Q.qoff_seal(C.c_void_p(c), buf, C.c_size_t(len(pkt)), C.c_size_t(1 + dcid_len),
                      C.c_uint64(pn))
    Q.qoff_cipher_free(C.c_void_p(c))
    if err:
        raise OSError(-err, "seal")
    return buf.raw


def sockaddr(addr, port=0):
    """struct sockaddr_in or sockaddr_in6 as bytes."""
    if ":" in addr:
        return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0) + \
            socket.inet_pton(socket.AF_INET6, addr) + struct.pack("=I", 0)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + \
        socket.inet_aton(addr) + bytes(8)


def stats(s):
    """struct qoff_stats by name."""
    return {Q.qoff_stat_name(i).decode(): s.v[i] for i in range(64)
            if s.present >> i & 1 and Q.qoff_stat_name(i)}


def good(ret, what):
    """ret, unless it is a negative errno."""
    if ret < 0:
        raise OSError(-ret, f"{what}: {os.strerror(-ret)} ({Q.qoff_error().decode()})")
    return ret


class Agent:
    """The operations; public methods are requests."""

    def __init__(self, dev):
        self.dev = dev
        self.handle = None
        self.socks = {}
        self.cap = None

    def _q(self):
        if not self.handle:
            self.handle = Q.qoff_open(1)        # QOFF_KERNEL
            if not self.handle:
                raise OSError(C.get_errno(), "the module quic_offload is not loaded here")
        return C.c_void_p(self.handle)

    def _s(self, n):
        return self.socks[n][1]

    def probe(self):
        """What the driver announces, or None."""
        info = DevInfo()
        err = Q.qoff_dev_get(self._q(), C.c_uint(socket.if_nametoindex(self.dev)),
                             C.byref(info))
        if err:
            return None
        d = {n: getattr(info, n) for n, _ in DevInfo._fields_}
        return {k: v.decode() if isinstance(v, bytes) else v for k, v in d.items()}

    def dev_set(self, features):
        """The switches without ethtool's names."""
        good(Q.qoff_dev_set(self._q(), C.c_uint(socket.if_nametoindex(self.dev)),
                            C.byref(C.c_uint32(features)), None), "dev_set")

    def dev_stats(self):
        """The device's counters."""
        s = Stats()
        good(Q.qoff_dev_stats(self._q(), C.c_uint(socket.if_nametoindex(self.dev)),
                              C.byref(s)), "dev_stats")
        return stats(s)

    def open(self, addr, dcid_len=None, port=0):
        """A UDP socket, attached unless dcid_len is None; [number, port]."""
        s = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET,
                          socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        s.setsockopt(socket.SOL_SOCKET, 32, 16 << 20)   # SO_SNDBUFFORCE
        s.bind((addr, port))
        q = C.c_void_p()
        if dcid_len is not None:
            good(Q.qoff_attach(self._q(), s.fileno(), -1, C.c_uint(dcid_len), C.c_uint(0),
                               C.byref(q)), "attach")
        n = len(self.socks) + 1
        self.socks[n] = (s, q)
        return [n, s.getsockname()[1]]

    def close(self, n):
        """Close a socket."""
        s, q = self.socks[n]
        self.socks[n] = None
        if q:
            Q.qoff_detach(q)
        s.close()

    def close_all(self):
        """Close what is open."""
        for n, s in list(self.socks.items()):
            if s:
                self.close(n)
        self.cap = None

    def sock_stats(self, n):
        """An attached socket's counters."""
        info = SockInfo()
        good(Q.qoff_sock_get(self._s(n), C.byref(info)), "sock_get")
        return stats(info.stats)

    def ctx_add(self, n, cipher, secret, dcid_len, phase=0, first_pn=0):
        """A context; [id, generation]."""
        k, cid = keys(cipher, secret), CtxId()
        p = CtxParam(C.pointer(k), first_pn, 0, 0, dcid_len, phase)
        good(Q.qoff_ctx_add(self._s(n), C.byref(p), C.byref(cid)), "ctx_add")
        return [cid.id, cid.gen]

    def ctx_update(self, n, ctx, cipher, secret, phase):
        """The next key of a context."""
        k = keys(cipher, secret)
        return good(Q.qoff_ctx_update(self._s(n), CtxId(*ctx), C.c_uint(phase), C.byref(k)),
                    "ctx_update")

    def ctx_del(self, n, ctx):
        """Delete a context."""
        return good(Q.qoff_ctx_del(self._s(n), CtxId(*ctx)), "ctx_del")

    def ctx_get(self, n, ctx):
        """The device that holds a context, 0: software; and its counters."""
        info = CtxInfo()
        good(Q.qoff_ctx_get(self._s(n), C.c_uint32(ctx[0]), C.byref(info)), "ctx_get")
        return {"dev": info.dev_id, "next_pn": info.next_pn, "stats": stats(info.stats)}

    def send(self, n, addr, port, ctx, pn, pkts, tos=-1, offs=None):
        """A super-packet: sealed with ctx, or raw when it is None."""
        data = b"".join(bytes.fromhex(p) for p in pkts)
        segs = (TxSeg * len(pkts))(*[TxSeg(len(p) // 2, 0, offs[i] if offs else 0)
                                     for i, p in enumerate(pkts)])
        iov = Iovec(data, len(data))
        to = sockaddr(addr, port)
        m = TxMsg(CtxId(*(ctx or (0, 0))), pn if ctx else 0, segs, len(pkts),
                  (0 if ctx else 1) | (2 if offs else 0), C.pointer(iov), 1, to, len(to), tos)
        return good(Q.qoff_send(self._s(n), C.byref(m), 0), "send")

    def udp(self, n, addr, port, payloads, tos=0):
        """Ordinary datagrams."""
        s = self.socks[n][0]
        if ":" in addr:
            s.setsockopt(socket.IPPROTO_IPV6, 67, tos)  # IPV6_TCLASS
        else:
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        for p in payloads:
            s.sendto(bytes.fromhex(p), (addr, port))

    def frames(self, frames):
        """Frames as they are."""
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as s:
            s.bind((self.dev, 0))
            for f in frames:
                s.send(bytes.fromhex(f))

    def mac(self):
        """The interface's address."""
        with open(f"/sys/class/net/{self.dev}/address", encoding="ascii") as f:
            return f.read().strip().replace(":", "")

    def flow_add(self, n, local, remote, port, dcid, cipher=None, secret=0, phase=0, gen=1):
        """A flow, with keys when cipher is given; its id."""
        k = keys(cipher, secret) if cipher else None
        fid, raw = C.c_uint32(), bytes.fromhex(dcid)
        p = FlowParam(sockaddr(local), sockaddr(remote, port), raw, len(raw),
                      C.pointer(k) if k else None, 4711, PN_NONE, gen, 0, phase)
        good(Q.qoff_flow_add(self._s(n), C.byref(p), C.byref(fid)), "flow_add")
        return fid.value

    def flow_update(self, n, fid, cipher, secret, phase, gen):
        """The next key of a flow."""
        k = keys(cipher, secret)
        return good(Q.qoff_flow_update(self._s(n), C.c_uint32(fid), C.byref(k), C.c_uint(phase),
                                       C.c_uint32(gen), C.c_uint64(PN_NONE)), "flow_update")

    def flow_retire(self, n, fid, phase):
        """Empty a slot."""
        return good(Q.qoff_flow_retire(self._s(n), C.c_uint32(fid), C.c_uint(phase)),
                    "flow_retire")

    def flow_del(self, n, fid):
        """Delete a flow."""
        return good(Q.qoff_flow_del(self._s(n), C.c_uint32(fid)), "flow_del")

    def flow_get(self, n, fid):
        """The device that holds a flow, 0: software; and its counters."""
        info = FlowInfo()
        good(Q.qoff_flow_get(self._s(n), C.c_uint32(fid), C.byref(info)), "flow_get")
        return {"dev": info.dev_id, "failed": info.failed, "stats": stats(info.stats)}

    def recv(self, n, end, limit):
        """Everything that arrives until a packet that ends with end does, or the
        limit (seconds) is over: {"ended", "segs", "batches"}."""
        s, q = self.socks[n]
        stop, out = time.monotonic() + limit, {"ended": False, "segs": [], "batches": []}
        buf = C.create_string_buffer(65536)
        while not out["ended"]:
            b = Batch(data=C.cast(buf, C.c_void_p), size=65536)
            ret = Q.qoff_recv(q, C.byref(b), socket.MSG_DONTWAIT)
            if ret == -11:
                left = stop - time.monotonic()
                if left <= 0 or not select.select([s], [], [], left)[0]:
                    break
                continue
            good(ret, "recv")
            off = 0
            out["batches"].append({"n": b.nseg, "flags": b.flags, "cookie": b.cookie,
                                   "opened": b.nopened, "ce": b.ce, "ect0": b.ect0,
                                   "min": b.pn_min, "largest": b.pn_largest})
            for i in range(b.nseg):
                g = b.seg[i]
                data = buf.raw[off:off + g.len]
                off += g.len
                if data.endswith(bytes.fromhex(end)):
                    out["ended"] = True
                    continue
                out["segs"].append({"status": g.status, "tos": g.tos, "gen": g.key_gen,
                                    "hdr": g.hdr_len, "pn_len": g.pn_len, "pn": g.pn,
                                    "data": data.hex()})
        return out

    def capture(self):
        """Record the frames that arrive here from now on."""
        self.cap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.cap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.cap.bind((self.dev, 0))
        self.cap.setblocking(False)

    def captured(self, end, limit):
        """The frames until one that ends with end: [ended, frames]."""
        stop, out, end = time.monotonic() + limit, [], bytes.fromhex(end)
        while True:
            left = stop - time.monotonic()
            if left <= 0 or not select.select([self.cap], [], [], left)[0]:
                return [False, out]
            data, sa = self.cap.recvfrom(70000)
            if sa[2] == 4:                      # PACKET_OUTGOING
                continue
            if data.endswith(end):
                return [True, out]
            out.append(data.hex())


def main():
    """Serve until the input ends."""
    agent = Agent(sys.argv[1])
    for line in sys.stdin:
        req = json.loads(line)
        try:
            ans = {"ret": getattr(agent, req["op"])(*req["args"], **req["kw"])}
        except OSError as e:
            ans = {"err": e.strerror or str(e), "errno": e.errno}
        except Exception as e:  # pylint: disable=broad-except
            ans = {"err": f"{type(e).__name__}: {e}", "errno": 0}
        print(json.dumps(ans), flush=True)


if __name__ == "__main__":
    main()
