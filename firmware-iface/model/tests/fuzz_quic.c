// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The QUIC extension with bytes that a guest should not give: context objects,
 * send WQEs, context control, frames. Good ones with a few bytes changed, so that
 * most get past the first check. What must not happen: a crash, a read outside,
 * and a frame that carries the plaintext of a payload that was to be sealed.
 *
 *   fuzz_quic CASES [SEED]
 */
#include <stdio.h>
#include <stdlib.h>

#include "quic_h.h"

#define PKT	400
#define MARK	0x5a	/* every byte of a payload that is to be sealed */

static u64 rng;

static u32 below(u32 n)
{
	rng ^= rng >> 12;
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (u32)((rng * 0x2545f4914f6cdd1dull) >> 32) % n;
}

static void spoil(u8 *p, u32 len)
{
	u32 n = below(4);

	while (n--)
		p[below(len)] ^= below(2) ? 1u << below(8) : below(256);
}

/* Frames on function 1; none has 32 bytes of the mark in a row, unless cut only. */
static void take(struct h *h, bool sealed)
{
	struct nm_cqe *c;
	u32 i, run, len;

	while ((c = h_poll_rx(&h->f[1]))) {
		u8 *d = h_rx_data(&h->f[1], c);

		len = be32toh(c->byte_cnt);
		for (i = 0, run = 0; i < len && sealed; i++) {
			run = d[i] == MARK ? run + 1 : 0;
			if (run == 32) {
				fprintf(stderr, "fuzz: plaintext on the wire\n");
				exit(1);
			}
		}
		h_repost(&h->f[1]);
	}
	while (h_poll_tx(&h->f[0]))
		;
}

static struct hq_ctx ctx(u8 dir)
{
	struct hq_ctx x = {
		.dir = dir, .dcid_len = below(21), .valid = 1, .handle = dir, .gro = dir && below(2),
	};

	hq_keys(&x.keys[0], 1 + below(4), below(1000));
	return x;
}

static void objects(struct h *h)
{
	struct h_fn *f = &h->f[below(2)];
	u8 obj[QOFF_MLX5_BYTES(quic_ctx_obj)];
	struct hq_ctx x = ctx(below(2));
	u32 id, syn;

	if (hq_ctx_create(f, &x))
		return;
	hq_obj(&x, obj);
	spoil(obj, sizeof(obj));
	if (!hq_create(f, 0, below(4) ? 0 : below(14), obj, &id, &syn))
		hq_destroy(f, id);
	NM_SET64(quic_ctx_obj, obj, modify_field_select, below(512));
	hq_modify(f, x.id, obj, &syn);
	hq_query(f, x.id, obj);
	hq_destroy(f, x.id);
}

static void wqes(struct h *h, u64 buf)
{
	struct h_fn *f = &h->f[0];
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB], hdr[64];
	struct hq_ctx x = ctx(QOFF_MLX5_TX);
	struct hq_super s = { .hdr = hdr, .payload = buf };
	u32 i, ds;

	x.in_band = !below(3);
	if (hq_ctx_create(f, &x))
		return;
	if (x.in_band)
		hq_post_ctx(h, f, QOFF_MLX5_CTX_WRITE, &x, 0);
	s.n = 1 + below(20);
	s.ctx = x.id;
	s.flags = QOFF_MLX5_TXF_SEAL | QOFF_MLX5_TXF_PN | QOFF_MLX5_TXF_TABLE |
		  (below(2) ? QOFF_MLX5_TXF_TAG_ROOM : 0) | (below(2) ? QOFF_MLX5_TXF_PN_SKIP : 0);
	s.hdr_len = h_frame(hdr, below(2) ? 4 : 6, 17, 0, 1, 2);
	for (i = 0; i < s.n; i++) {
		u8 *p = h_ptr(f, buf + i * PKT);

		s.len[i] = PKT;
		ref_plain(p, PKT, x.dcid, x.dcid_len, i, 1, 0, 0);
		memset(p + 2 + x.dcid_len, MARK, PKT - 2 - x.dcid_len);
	}
	s.bytes = s.n * PKT;
	ds = hq_wqe(f, &s, w, 8);
	/* not the flag that asks for sealing: without it plain bytes are right */
	spoil(w, ds * 16);
	i = 32 + ((s.hdr_len - 2 + 15) & ~15u);
	((struct nm_wqe_ctrl *)w)->opmod_idx_opcode |= htobe32((u32)QOFF_MLX5_OPMOD_DATA << 24);
	((struct nm_wqe_eth *)(w + 16))->inline_sz = htobe16(s.hdr_len);
	w[i] |= QOFF_MLX5_TXF_SEAL;
	hq_post_raw(h, f, w, below(20) ? ds : 1 + below(63));
	take(h, true);
	hq_destroy(f, x.id);
}

static void control(struct h *h)
{
	struct h_fn *f = &h->f[0];
	struct hq_ctx x = ctx(below(2));
	u8 w[NM_WQE_MAX_BB * NM_WQE_BB] = { };
	struct nm_wqe_ctrl *c = (void *)w;
	struct qoff_mlx5_wqe_ctx *seg = (void *)(c + 1);
	struct qoff_mlx5_wqe_ctx_data *d = (void *)(seg + 1);

	x.in_band = true;
	if (hq_ctx_create(f, &x))
		return;
	c->opmod_idx_opcode = htobe32((u32)QOFF_MLX5_OPMOD_CTX << 24 | NM_OP_UMR);
	seg->op = below(5);
	seg->ctx = htobe32(x.id);
	hq_obj(&x, d->obj);
	spoil((u8 *)seg, sizeof(*seg) + sizeof(*d));
	hq_post_raw(h, f, w, below(4) ? 20 : 1 + below(63));
	take(h, true);
	hq_destroy(f, x.id);
}

static void frames(struct h *h, const struct hq_ctx *x)
{
	u8 frame[2048];
	u32 n = 1 + below(6), len, hdr, i, size;

	for (i = 0; i < n; i++) {
		size = 1 + x->dcid_len + 28 + below(800);
		len = h_frame(frame, 4, 17, size, 1, 4433);
		hdr = len - size;
		ref_plain(frame + hdr, size, x->dcid, x->dcid_len, i, 1 + below(4), below(2), i);
		ref_seal(&x->keys[0], i, x->dcid_len, frame + hdr, size);
		if (below(2))
			spoil(frame + hdr, size);
		if (!below(4))
			spoil(frame, hdr);
		nm_wr16(frame + hdr - 2, 0);	/* no UDP checksum */
		nm_rx_frame(h->f[1].fn, frame, below(8) ? len : NM_FRAME_MIN + below(len - NM_FRAME_MIN));
	}
	h_run(h);
	take(h, false);
}

static struct h *open_pair(struct hq_ctx *x, u64 *buf)
{
	struct nm_opts o = { .seed = 1, .quic = "on" };
	struct h *h = malloc(sizeof(*h));

	h_open(h, &o);
	h_init(&h->f[0]);
	h_init(&h->f[1]);
	h_queues(&h->f[0], 6, 2048);
	h_queues(&h->f[1], 6, 16384);
	*buf = h_alloc(&h->f[0], 1 << 16, 4096);
	*x = ctx(QOFF_MLX5_RX);
	x->gro = true;
	if (hq_ctx_create(&h->f[1], x) || hq_rule(&h->f[1], 0, x, x->id))
		abort();
	return h;
}

int main(int argc, char **argv)
{
	u32 cases = argc > 1 ? strtoul(argv[1], NULL, 0) : 20000, i;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1, buf = 0;
	struct h *h = NULL;
	struct hq_ctx x;

	rng = seed * 0x9e3779b97f4a7c15ull | 1;
	for (i = 0; i < cases; i++) {
		/* A malformed WQE ends its queue: a new pair now and then */
		if (!h || h->f[0].brk > H_MEM_BASE + H_MEM_SIZE - (1 << 20) ||
		    !(i % 200)) {
			if (h)
				h_close(h);
			free(h);
			h = open_pair(&x, &buf);
		}
		switch (below(4)) {
		case 0:
			objects(h);
			break;
		case 1:
			wqes(h, buf);
			break;
		case 2:
			control(h);
			break;
		default:
			frames(h, &x);
		}
	}
	h_close(h);
	free(h);
	printf("ok fuzz quic: %u cases, seed %llu\n", cases, (unsigned long long)seed);
	return 0;
}
