# SPDX-License-Identifier: GPL-2.0
"""The offload switches of a port: set, and read back, because a switch that is
ignored would make a comparison of two equal things.
"""

import ends

QUIC = ("quic-gso", "quic-gro", "quic-tx-crypto", "quic-rx-crypto")
# Name for ethtool -K, and what ethtool -k calls it
STACK = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "tx-udp-segmentation": "tx-udp-segmentation",
    "tx-gso-list": "tx-gso-list",
}


class SwitchError(Exception):
    """A switch did not do what it was told."""


def _ethtool(end):
    state = {}
    for line in end.run(f"ethtool -k {end.netif}").splitlines():
        name, _, value = line.partition(":")
        state[name.strip()] = value.strip()
    return state


def _set_quic(end, value):
    """ethtool -K on a kernel with the feature patch, else qoffctl dev set."""
    on = "on" if value else "off"
    patched = QUIC[0] in _ethtool(end)
    if patched:
        end.run(["ethtool", "-K", end.netif] + [w for n in QUIC for w in (n, on)])
        state = _ethtool(end)
        wrong = [n for n in QUIC if not state[n].startswith(on)]
    else:
        # Off in the reverse order: quic-tx-crypto depends on quic-gso
        for name in QUIC if value else reversed(QUIC):
            end.run(f"qoffctl dev set {end.netif} {name} {on}")
        shown = end.run(f"qoffctl dev show {end.netif}")
        wrong = [n for n in QUIC if f"{n} {on}" not in " ".join(shown.split())]
    if wrong:
        raise SwitchError(f"{end.netif}: {', '.join(wrong)} did not turn {on}")
    return "ethtool -K" if patched else "qoffctl dev set"


def _set_stack(end, value):
    on = "on" if value else "off"
    state = _ethtool(end)
    names = [n for n, long in STACK.items()
             if long in state and "[fixed]" not in state[long]]
    if names:
        end.run(["ethtool", "-K", end.netif] + [w for n in names for w in (n, on)])
    state = _ethtool(end)
    wrong = [n for n in names if not state[STACK[n]].startswith(on)]
    if wrong:
        raise SwitchError(f"{end.netif}: {', '.join(wrong)} did not turn {on}")


def apply(pair, quic, stack):
    """Set both ends. Return how the QUIC switches were set."""
    how = "none"
    for end in (pair.tx, pair.rx):
        if not quic:
            how = _try_quic(end, False)
        _set_stack(end, stack)
        if quic:
            how = _set_quic(end, True)
    return how


def _try_quic(end, value):
    """Turning off what a device does not have is no error."""
    try:
        return _set_quic(end, value)
    except ends.CmdError:
        if value:
            raise
        return "none"
