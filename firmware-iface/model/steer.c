// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Flow steering: matching. */
#include "quic.h"
#include "queue.h"
#include "steer.h"

enum {
	ACT_ALLOW = 0x1, ACT_DROP = 0x2, ACT_FWD = 0x4, ACT_COUNT = 0x8,
};

#define QUIC(m, fld, v) \
	nm_field_set((u8 *)(m)->dw + QOFF_MLX5_MATCH_OFF,		\
		     NM_OFF(fte_match_set_misc6, fld),			\
		     NM_WIDTH(fte_match_set_misc6, fld), v)

#define OUTER(m, fld, v) \
	nm_field_set((m)->dw, NM_OFF(fte_match_param, outer_headers) +	\
		     NM_OFF(fte_match_set_lyr_2_4, fld),		\
		     NM_WIDTH(fte_match_set_lyr_2_4, fld), v)
#define OUTER_PTR(m, fld) \
	((u8 *)(m)->dw + (NM_OFF(fte_match_param, outer_headers) +	\
			  NM_OFF(fte_match_set_lyr_2_4, fld)) / 8)

static void match_ip(struct nm_match *m, const struct nm_pkt *p)
{
	const u8 *ip = p->data + p->l3_off;
	u8 *src = OUTER_PTR(m, src_ipv4_src_ipv6);
	u8 *dst = OUTER_PTR(m, dst_ipv4_dst_ipv6);
	u32 tos = p->ip_ver == 4 ? ip[1] : nm_rd16(ip) >> 4 & 0xff;

	OUTER(m, ip_version, p->ip_ver);
	OUTER(m, ip_protocol, p->l4_proto);
	OUTER(m, ip_dscp, tos >> 2);
	OUTER(m, ip_ecn, tos & 3);
	OUTER(m, frag, p->frag);
	OUTER(m, ttl_hoplimit, p->ip_ver == 4 ? ip[8] : ip[7]);
	if (p->ip_ver == 4) {
		OUTER(m, ipv4_ihl, ip[0] & 0xf);
		memcpy(src + 12, ip + 12, 4);
		memcpy(dst + 12, ip + 16, 4);
	} else {
		memcpy(src, ip + 8, 16);
		memcpy(dst, ip + 24, 16);
	}
}

/* The DCID of a short header has no length: as many bytes as there can be. */
static void match_quic(struct nm_match *m, const struct nm_pkt *p)
{
	const u8 *q = p->data + p->l4_off + 8;
	u8 *dcid = (u8 *)m->dw + QOFF_MLX5_MATCH_OFF +
		   NM_BYTE_OFF(fte_match_set_misc6, dcid);
	u32 len, skip = 1;

	if (p->frag || p->l4_off + 8u >= p->ip_end)
		return;
	len = p->ip_end - p->l4_off - 8;
	QUIC(m, hdr_form, q[0] >> 7);
	QUIC(m, fixed_bit, q[0] >> 6 & 1);
	if (q[0] & 0x80) {
		if (len < 6)
			return;
		QUIC(m, long_type, q[0] >> 4 & 3);
		QUIC(m, quic_version, nm_rd32(q + 1));
		skip = 6;
		if (q[5] < len - skip)
			len = skip + q[5];
	}
	len -= skip;
	memcpy(dcid, q + skip, len < QOFF_MLX5_MAX_DCID ? len : QOFF_MLX5_MAX_DCID);
}

void nm_match_build(struct nm_match *m, const struct nm_pkt *p)
{
	const u8 *d = p->data, *l4 = d + p->l4_off;

	memset(m->dw, 0, NM_BYTES(fte_match_set_lyr_2_4));
	memset((u8 *)m->dw + QOFF_MLX5_MATCH_OFF, 0, NM_BYTES(fte_match_set_misc6));
	m->len = p->len;
	memcpy(OUTER_PTR(m, dmac_47_16), d, 6);
	memcpy(OUTER_PTR(m, smac_47_16), d + 6, 6);
	OUTER(m, ethertype, p->ethertype);
	if (p->vlan) {
		OUTER(m, cvlan_tag, p->vlan_type == NM_ETH_VLAN);
		OUTER(m, svlan_tag, p->vlan_type == NM_ETH_QINQ);
		OUTER(m, first_prio, p->vlan_tci >> 13);
		OUTER(m, first_cfi, p->vlan_tci >> 12 & 1);
		OUTER(m, first_vid, p->vlan_tci & 0xfff);
	}
	if (p->ip_ver)
		match_ip(m, p);
	if (!p->l4_off)
		return;
	if (p->l4_proto == NM_IP_TCP) {
		OUTER(m, tcp_sport, nm_rd16(l4));
		OUTER(m, tcp_dport, nm_rd16(l4 + 2));
		OUTER(m, tcp_flags, nm_rd16(l4 + 12) & 0x1ff);
	} else {
		OUTER(m, udp_sport, nm_rd16(l4));
		OUTER(m, udp_dport, nm_rd16(l4 + 2));
		match_quic(m, p);
	}
}

u32 nm_key_hash(const u32 *key, u32 n)
{
	u32 h = 0x811c9dc5, i;

	for (i = 0; i < n; i++) {
		h ^= key[i];
		h *= 0x01000193;
		h ^= h >> 15;
	}
	return h;
}

static struct nm_fte *fg_match(struct nm_fg *fg, const struct nm_match *m)
{
	u32 key[NM_MATCH_DW], i, hash;
	struct nm_fte *f, *best = NULL;

	if (!fg->nr_fte)
		return NULL;
	for (i = 0; i < fg->nr_dw; i++)
		key[i] = m->dw[fg->dw[i].dw] & fg->dw[i].mask;
	hash = nm_key_hash(key, fg->nr_dw);
	for (f = fg->bucket[hash & (fg->nr_buckets - 1)]; f; f = f->hash_next)
		if (f->hash == hash && (!best || f->index < best->index) &&
		    !memcmp(f->key, key, fg->nr_dw * sizeof(u32)))
			best = f;
	return best;
}

static struct nm_fte *ft_match(struct nm_ft *ft, const struct nm_match *m)
{
	struct nm_fg *fg;
	struct nm_fte *f;

	for (fg = ft->groups; fg; fg = fg->next) {
		f = fg_match(fg, m);
		if (f)
			return f;
	}
	return NULL;
}

static void fte_count(struct nm_fte *f, u32 len)
{
	unsigned int i;

	for (i = 0; i < f->nr_fc; i++) {
		struct nm_fc *fc = container_of(f->fc[i], struct nm_fc, obj);

		fc->packets++;
		fc->octets += len;
	}
}

/*
 * Depth first over the destinations. Levels only grow along a path, which
 * bounds it; the depth is checked all the same, as "ignore flow level" or a
 * mistake here must not become a loop.
 */
static void steer_table(struct nm_ft *ft, const struct nm_match *m,
			struct nm_verdict *v, u32 tag, const struct nm_fte *open,
			unsigned int depth)
{
	while (ft && depth++ < NM_STEER_DEPTH) {
		struct nm_fte *f = ft_match(ft, m);
		struct nm_ft *next = NULL;
		unsigned int i;

		if (!f) {
			if (ft->drop_miss)
				return;
			ft = ft->miss;
			continue;
		}
		if (f->action & ACT_COUNT)
			fte_count(f, m->len);
		if (f->action & ACT_DROP || !(f->action & ACT_FWD))
			return;
		if (f->flow_tag)
			tag = f->flow_tag;
		if (f->quic || f->quic_lookup)
			open = f;
		for (i = 0; i < f->nr_dest; i++) {
			struct nm_obj *d = f->dest[i];

			if (d->type == NM_OBJ_TIR && v->nr < NM_FTE_MAX_DEST) {
				v->tag[v->nr] = tag;
				v->quic[v->nr] = open && open->quic ?
						 nm_quic_ctx_of(open->quic) : NULL;
				v->lookup[v->nr] = open && open->quic_lookup;
				v->tir[v->nr++] = container_of(d, struct nm_tir, obj);
			} else if (d->type == NM_OBJ_FT) {
				if (next)
					steer_table(next, m, v, tag, open, depth);
				next = container_of(d, struct nm_ft, obj);
			}
		}
		ft = next;
	}
}

void nm_steer_rx(struct nm_fn *fn, const struct nm_match *m, struct nm_verdict *v)
{
	struct nm_obj *root = nm_obj_lookup(fn, NM_OBJ_FT, fn->ft_root_rx);

	v->nr = 0;
	if (root)
		steer_table(container_of(root, struct nm_ft, obj), m, v, 0, NULL, 0);
}
