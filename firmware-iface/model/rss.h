/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* RQT, TIR and TIS: from a rule to a receive queue. nm_model.lock. */
#ifndef NM_RSS_H
#define NM_RSS_H

#include "pkt.h"
#include "queue.h"

#define NM_RQT_MAX	1024
#define NM_RSS_KEY	40
#define NM_RSS_INPUT	60	/* two IPv6 addresses, two ports, an SPI or a DCID */

struct nm_rqt {
	struct nm_obj obj;
	u32 max;
	u32 size;
	struct nm_rq *rq[NM_RQT_MAX];
};

enum nm_rss_fn {
	NM_RSS_NONE = 0,
	NM_RSS_XOR8 = 1,
	NM_RSS_TOEPLITZ = 2,
};

/* The layouts call the field "self_lb_block"; drivers set a bit to allow. */
#define NM_TIR_SELF_LB_UNICAST	BIT(0)	/* of nm_tir.self_lb */

/**
 * struct nm_tir - transport interface receive
 * @rq: the queue of a direct one; @rqt: the table of an indirect one
 * @table: Toeplitz contributions of each input byte, for the programmed key
 */
struct nm_tir {
	struct nm_obj obj;
	struct nm_rq *rq;
	struct nm_rqt *rqt;
	struct nm_obj *td;
	u8 fn;
	bool symmetric;
	bool l4_udp;
	bool l3_v6;
	u8 self_lb;
	u32 fields;
	u8 key[NM_RSS_KEY];
	u32 (*table)[256];
};

/* Hash and its type as a completion has them; 0 and 0 when none applies. */
u32 nm_rss_hash(const struct nm_tir *tir, const struct nm_pkt *p, u8 *type);
u32 nm_toeplitz(const struct nm_tir *tir, const u8 *in, u32 len);
void nm_toeplitz_init(struct nm_tir *tir);

#endif /* NM_RSS_H */
