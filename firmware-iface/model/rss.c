// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* RSS hash functions. */
#include <qoff_mlx5_ifc.h>

#include "rss.h"

enum {
	SEL_SRC_IP = BIT(0), SEL_DST_IP = BIT(1),
	SEL_L4_SPORT = BIT(2), SEL_L4_DPORT = BIT(3), SEL_SPI = BIT(4),
	SEL_DCID = BIT(QOFF_MLX5_RSS_DCID),
};

/* The 32 key bits that begin at bit @n */
static u32 key_window(const u8 *key, u32 n)
{
	u64 v = 0;
	u32 i;

	for (i = 0; i < 5; i++)
		v = v << 8 | (n / 8 + i < NM_RSS_KEY ? key[n / 8 + i] : 0);
	return v >> (8 - n % 8);
}

void nm_toeplitz_init(struct nm_tir *tir)
{
	u32 i, b, bit;

	for (i = 0; i < NM_RSS_INPUT; i++)
		for (b = 0; b < 256; b++) {
			tir->table[i][b] = 0;
			for (bit = 0; bit < 8; bit++)
				if (b & (0x80 >> bit))
					tir->table[i][b] ^=
						key_window(tir->key, i % NM_RSS_KEY * 8 + bit);
		}
}

u32 nm_toeplitz(const struct nm_tir *tir, const u8 *in, u32 len)
{
	u32 h = 0, i;

	for (i = 0; i < len; i++)
		h ^= tir->table[i][in[i]];
	return h;
}

static u32 rss_xor8(const u8 *in, u32 len)
{
	u8 x = 0;
	u32 i;

	for (i = 0; i < len; i++)
		x ^= in[i];
	return (u8)~x;
}

/* A symmetric hash sees the lower end first, whichever way a frame goes. */
static void rss_put_pair(u8 *in, u32 *n, const u8 *a, const u8 *b, u32 size,
			 bool both, bool symmetric, bool use_a, bool use_b)
{
	if (both && symmetric && memcmp(a, b, size) > 0) {
		const u8 *t = a;

		a = b;
		b = t;
	}
	if (use_a) {
		memcpy(in + *n, a, size);
		*n += size;
	}
	if (use_b) {
		memcpy(in + *n, b, size);
		*n += size;
	}
}

/* ESP has its SPI in front, AH behind four bytes. */
static bool rss_spi(const struct nm_pkt *p, u8 *out)
{
	u32 off = p->l4_raw + (p->l4_proto == NM_IP_AH ? 4 : 0);

	if (!p->l4_raw || off + 4 > p->ip_end ||
	    (p->l4_proto != NM_IP_ESP && p->l4_proto != NM_IP_AH))
		return false;
	memcpy(out, p->data + off, 4);
	return true;
}

/* As many bytes as the selector says; a long header has its own, cut to that. */
static bool rss_dcid(const struct nm_tir *tir, const struct nm_pkt *p, u8 *out, u32 *n)
{
	u32 want = tir->fields >> QOFF_MLX5_RSS_DCID_LEN_SHIFT & 0x1f, skip = 1, len;
	const u8 *q = p->data + p->l4_off + 8;

	if (!p->l4_off || p->l4_proto != NM_IP_UDP || p->frag || p->l4_off + 8u >= p->ip_end)
		return false;
	len = p->ip_end - p->l4_off - 8;
	if (q[0] & 0x80) {
		skip = 6;
		if (len < skip)
			return false;
		if (q[5] < want)
			want = q[5];
	}
	if (skip + want > len)
		return false;
	memcpy(out, q + skip, want);
	*n += want;
	return true;
}

u32 nm_rss_hash(const struct nm_tir *tir, const struct nm_pkt *p, u8 *type)
{
	const u8 *ip = p->data + p->l3_off, *l4 = p->data + p->l4_off;
	u32 alen = p->ip_ver == 4 ? 4 : 16, n = 0;
	u8 in[NM_RSS_INPUT];
	bool l4_fields;

	*type = 0;
	if (tir->fn == NM_RSS_NONE || !p->ip_ver || !tir->fields)
		return 0;
	rss_put_pair(in, &n, ip + (p->ip_ver == 4 ? 12 : 8),
		     ip + (p->ip_ver == 4 ? 16 : 24), alen,
		     (tir->fields & 3) == 3, tir->symmetric,
		     tir->fields & SEL_SRC_IP, tir->fields & SEL_DST_IP);
	*type = p->ip_ver == 4 ? NM_CQE_RSS_IPV4 : NM_CQE_RSS_IPV6;
	l4_fields = tir->fields & (SEL_L4_SPORT | SEL_L4_DPORT);
	if (l4_fields && p->l4_off) {
		rss_put_pair(in, &n, l4, l4 + 2, 2, (tir->fields & 12) == 12,
			     tir->symmetric, tir->fields & SEL_L4_SPORT,
			     tir->fields & SEL_L4_DPORT);
		*type |= p->l4_proto == NM_IP_TCP ? NM_CQE_RSS_TCP :
						    NM_CQE_RSS_UDP;
	}
	if (tir->fields & SEL_SPI && rss_spi(p, in + n)) {
		n += 4;
		*type |= NM_CQE_RSS_IPSEC;
	}
	if (tir->fields & SEL_DCID && !(*type & NM_CQE_RSS_TCP) && n <= 36)
		rss_dcid(tir, p, in + n, &n);
	return tir->fn == NM_RSS_TOEPLITZ ? nm_toeplitz(tir, in, n) :
					    rss_xor8(in, n);
}
