# SPDX-License-Identifier: GPL-2.0
"""The list of checks. Each has a name, an area, a sentence for a reader who does
not write drivers, the switches it needs, and the fault of quicsim by which a
device fails it."""

import functools

CIPHERS = ("aes-128-gcm", "aes-256-gcm", "chacha20-poly1305", "aes-128-ccm")
AREAS = {
    "announce": "What the driver announces",
    "segment": "Cutting super-packets into datagrams",
    "seal": "Encrypting what is sent",
    "open": "Decrypting what is received",
    "coalesce": "Joining received datagrams",
    "context": "Life of keys in the device",
    "duty": "Nothing leaks, whatever happens",
    "count": "Counters",
}
# Names of enum qsim_broken
BROKEN = {
    "plain": 1, "number": 2, "reuse": 3, "phase": 4, "hp": 5, "tag": 6, "key": 7, "csum": 8,
    "ipid": 9, "udp-len": 10, "order": 11, "short": 12, "tos": 13, "segs": 14, "bytes": 15,
    "mtu": 16, "one": 17, "drain": 18, "stats": 19, "features": 20, "opened": 32, "raw": 33,
    "dcid": 34, "rx-tos": 35, "rx-csum": 36, "rx-phase": 37, "rx-number": 38, "alone": 39,
    "flow": 40, "byte": 41,
}
ALL = []


class Skip(Exception):
    """The device does not announce what the check is about."""


class Check:
    """One entry of the list."""

    def __init__(self, name, area, text, needs, fault, func):
        self.name, self.area, self.text = name, area, text
        self.needs, self.fault, self.func = needs, fault, func

    def knobs(self):
        """The fault as (port, knob, value, value that ends it)."""
        port, knob, value = self.fault
        if knob == "broken":
            return port, "broken", BROKEN[value], 0
        if knob == "registered":
            return port, knob, 0, 1
        if knob.startswith("forge-"):
            return port, "forge", int(knob[6:]), 0
        return port, knob, value, 0

    def fault_text(self):
        """For the list that is printed."""
        port, knob, value = self.fault
        return f"{'sender' if port == 'a' else 'receiver'} {knob}={value}"


def check(name, text, fault, needs=(), **kw):
    """Decorator; kw is given to the function beside env."""
    def add(func):
        area = name.split("-")[0]
        assert area in AREAS and name not in [c.name for c in ALL]
        ALL.append(Check(name, area, text, needs, fault,
                         functools.partial(func, **kw) if kw else func))
        return func
    return add


def sends(value):
    """A fault of the sending port."""
    return ("a", "broken", value)


def takes(value):
    """A fault of the receiving port."""
    return ("b", "broken", value)
