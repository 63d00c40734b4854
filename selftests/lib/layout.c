// SPDX-License-Identifier: GPL-2.0
/* The layouts that programs and the kernel agree on; compiled, never run */
#include <linux/quic_offload.h>
#include <stddef.h>

#define AT(t, m, off)	_Static_assert(offsetof(struct t, m) == (off), #t "." #m)
#define SIZE(t, n)	_Static_assert(sizeof(struct t) == (n), #t)

SIZE(qoff_tx, QOFF_TX_HDR_MIN);
AT(qoff_tx, ctx, 8);
AT(qoff_tx, ctx_gen, 12);
AT(qoff_tx, pn, 16);
AT(qoff_tx, resv, 24);
SIZE(qoff_tx_seg, QOFF_TX_SEG_MIN);
AT(qoff_tx_seg, pn_off, 4);
SIZE(qoff_rx, QOFF_RX_HDR_MIN);
AT(qoff_rx, cookie, 8);
AT(qoff_rx, tstamp_ns, 32);
AT(qoff_rx, nopened, 40);
AT(qoff_rx, resv1, 52);
SIZE(qoff_rx_seg, QOFF_RX_SEG_MIN);
AT(qoff_rx_seg, key_gen, 8);
AT(qoff_rx_seg, pn, 16);
